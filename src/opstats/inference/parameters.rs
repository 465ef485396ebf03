//! How models are batched, from the counters of TensorFlow Serving
//! (`ParseTfstreamzForBatchingParameter`).

use super::model::BatchingParameters;
use crate::timeline::Timeline;
use crate::xplane::schema::TF_STREAMZ_PLANE;
use std::collections::BTreeMap;

const PREFIX: &str = "/tensorflow/serving/batching/";

/// The parameters of a host's models. The profile has two snapshots of the counters; the second
/// counts.
pub(super) fn read(timeline: &Timeline, models: &[String]) -> BTreeMap<String, BatchingParameters> {
    let mut known: BTreeMap<&str, BatchingParameters> = BTreeMap::new();
    let first_line = timeline.plane_named(TF_STREAMZ_PLANE).and_then(|plane| plane.lines().next());
    let Some(line) = first_line.filter(|line| line.event_count() == 2) else {
        return BTreeMap::new();
    };
    for stat in line.event(1).stats() {
        let Some(parameter) = stat.name.strip_prefix(PREFIX) else { continue };
        let Some(model) = model_name(parameter) else { continue };
        let of_model = known.entry(model).or_default();
        let numbers = [
            ("num_batch_threads", &mut of_model.num_batch_threads),
            ("batch_timeout_micros", &mut of_model.batch_timeout_micros),
            ("max_batch_size", &mut of_model.max_batch_size),
            ("max_enqueued_batches", &mut of_model.max_enqueued_batches),
        ];
        if let Some((_, number)) = numbers.into_iter().find(|(name, _)| parameter.starts_with(name))
        {
            *number = stat.int_value();
        } else if parameter.starts_with("allowed_batch_sizes") {
            stat.str_value().clone_into(&mut of_model.allowed_batch_sizes);
        }
    }
    let of_model = |model: &String| known.get(without_version(model)?).cloned();
    models.iter().filter_map(|model| Some((model.clone(), of_model(model)?))).collect()
}

/// The model of `parameter{model_name=NAME, op_name=...}`.
fn model_name(parameter: &str) -> Option<&str> {
    let begin = parameter.find('{')? + 1;
    let labels = parameter.get(begin..parameter.rfind('}')?)?;
    labels.split(", ").find_map(|label| {
        let (name, value) = label.split_once('=')?;
        (name == "model_name" && !value.contains('=')).then_some(value)
    })
}

/// `NAME` of `NAME:VERSION`; none where what stands for the version is no number.
fn without_version(model: &str) -> Option<&str> {
    match model.rsplit_once(':') {
        None => Some(model),
        Some((name, version)) => version.trim_ascii().parse::<i64>().is_ok().then_some(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_among_labels() {
        assert_eq!(model_name("max_batch_size{model_name=m}"), Some("m"));
        assert_eq!(model_name("x{op_name=o, model_name=a:b}"), Some("a:b"));
        assert_eq!(model_name("x{model_name=a=b}"), None);
        assert_eq!(model_name("x}model_name=a{"), None);
        assert_eq!(model_name("model_name=a"), None);
    }

    #[test]
    fn versions_are_numbers() {
        assert_eq!(without_version("clip"), Some("clip"));
        assert_eq!(without_version("a:clip:17"), Some("a:clip"));
        assert_eq!(without_version("clip:latest"), None);
    }
}
