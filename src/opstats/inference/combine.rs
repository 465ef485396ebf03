//! Hosts together: one list of models and one of tensor patterns (`CombineInferenceStatsResult`).

use super::model::{Batch, BatchingParameters, HostInference, InferenceStats, Request};
use super::models;
use super::names::Names;
use super::requests::NO_MODEL;
use std::collections::BTreeMap;

/// All hosts of a session, by model.
pub fn combine(hosts: impl IntoIterator<Item = HostInference>) -> InferenceStats {
    let mut all = Combined::default();
    hosts.into_iter().for_each(|host| all.add(host));
    models::of_all_hosts(all)
}

/// Hosts with common indexes.
#[derive(Debug, Default)]
pub(super) struct Combined {
    pub models: Vec<String>,
    pub parameters: BTreeMap<String, BatchingParameters>,
    pub patterns: Vec<String>,
    pub requests: Vec<Request>,
    pub batches: Vec<Batch>,
}

impl Combined {
    fn add(&mut self, mut host: HostInference) {
        if self.models.is_empty() {
            self.models = host.models;
            self.parameters = host.parameters;
        } else {
            for (model, parameters) in host.parameters {
                self.parameters.entry(model).or_insert(parameters);
            }
            let indexes = merge(&mut self.models, &host.models);
            // XProf leaves the models of batches as they are.
            for request in host.requests.iter_mut().filter(|request| request.model != NO_MODEL) {
                if let Some(&index) = indexes.get(request.model as usize) {
                    request.model = index as i32;
                }
            }
        }
        if self.patterns.is_empty() {
            self.patterns = host.patterns;
        } else {
            let indexes = merge(&mut self.patterns, &host.patterns);
            let changed = indexes.iter().enumerate().any(|(old, &new)| old != new);
            let own = host.requests.iter_mut().filter_map(|request| request.tensors.as_mut());
            own.for_each(|tensors| tensors.pattern = indexes[tensors.pattern]);
            for batch in host.batches.iter_mut().filter(|_| changed) {
                // XProf gives a batch without tensors the first pattern of its host here.
                let tensors = batch.tensors.get_or_insert_default();
                tensors.pattern = indexes[tensors.pattern];
            }
        }
        self.requests.append(&mut host.requests);
        self.batches.append(&mut host.batches);
    }
}

/// Adds new names; gives the place of each.
fn merge(known: &mut Vec<String>, names: &[String]) -> Vec<usize> {
    let mut all = Names::default();
    for name in known.iter() {
        all.place_of(name);
    }
    let places = names.iter().map(|name| all.place_of(name)).collect();
    *known = all.into_texts();
    places
}

#[cfg(test)]
mod tests {
    use super::super::model::TensorTransfer;
    use super::*;

    fn host(models: &[&str], patterns: &[&str], request_model: i32) -> HostInference {
        let texts = |of: &[&str]| of.iter().map(|&text| text.to_owned()).collect();
        HostInference {
            models: texts(models),
            patterns: texts(patterns),
            requests: vec![Request { model: request_model, ..Request::default() }],
            batches: vec![Batch::default()],
            ..HostInference::default()
        }
    }

    #[test]
    fn requests_follow_their_model_and_batches_get_a_pattern() {
        let mut all = Combined::default();
        all.add(host(&["a", "b"], &["p"], 1));
        all.add(host(&["b"], &["q", "p"], 0));
        assert_eq!(all.models, ["a", "b"]);
        let models: Vec<i32> = all.requests.iter().map(|request| request.model).collect();
        assert_eq!(models, [1, 1]);
        assert_eq!(all.batches[0].tensors, None);
        assert_eq!(all.batches[1].tensors, Some(TensorTransfer { pattern: 1, time_ps: 0 }));
    }

    #[test]
    fn equal_lists_change_nothing() {
        let mut all = Combined::default();
        all.add(host(&["a"], &["p"], 0));
        all.add(host(&["a"], &["p"], NO_MODEL));
        assert_eq!(all.requests[1].model, NO_MODEL);
        assert_eq!(all.batches[1].tensors, None);
    }
}
