//! What the time of a request went into: at each moment the part that counts most
//! (`GenerateRequestDetailedBreakdown`, `ToNonOverlappedEvents`).

use super::requests::RequestEvents;
use crate::opstats::moments::for_each_moment;
use crate::timeline::timespan::Timespan;

/// What time goes into; of two at a time the later one here counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Nothing was traced.
    Idle,
    /// The host prepares.
    Preprocess,
    /// The host answers.
    Postprocess,
    /// The request waits for a batch.
    BatchFormation,
    /// The host launches the program.
    Runtime,
    /// From the host to the device.
    ToDevice,
    /// From the device to the host.
    FromDevice,
    /// The device computes.
    Compute,
}

const PARTS: [Part; 8] = [
    Part::Idle,
    Part::Preprocess,
    Part::Postprocess,
    Part::BatchFormation,
    Part::Runtime,
    Part::ToDevice,
    Part::FromDevice,
    Part::Compute,
];

/// Adds what moments of the host tell of a request.
pub(super) fn add_host_parts(request: &mut RequestEvents<'_>) {
    let moments = || request.moments.values();
    let execute = moments().filter_map(|moments| moments.execute).min();
    let concat = moments().filter_map(|moments| moments.concat_input).min();
    let complete = moments().filter_map(|moments| moments.complete).max();
    let schedule = moments().find_map(|moments| moments.schedule);
    let span = |begin: i64, end: i64| Timespan::from_end_points(begin as u64, end as u64);
    // Each batch that the request was split into is launched on its own.
    let launches = moments().filter_map(|moments| moments.execute.zip(moments.launch));
    let mut parts: Vec<(Part, Timespan)> =
        launches.map(|(execute, launch)| (Part::Runtime, span(execute, launch))).collect();
    let (begin_ps, end_ps) = (request.span.begin_ps as i64, request.span.end_ps() as i64);
    if let Some(execute) = execute {
        parts.push((Part::Preprocess, span(begin_ps, execute)));
    }
    let computes = request.parts.iter().filter(|(part, _)| *part == Part::Compute);
    let computed = computes.map(|(_, span)| span.end_ps()).max().filter(|&end_ps| end_ps != 0);
    if let Some(done) = complete.or(computed.map(|end_ps| end_ps as i64)) {
        parts.push((Part::Postprocess, span(done, end_ps)));
    }
    if let Some((schedule, concat)) = schedule.zip(concat) {
        parts.push((Part::BatchFormation, span(schedule, concat)));
    }
    request.parts.append(&mut parts);
}

/// Visits the stretches between the ends of parts with what counts there and its picoseconds.
pub(super) fn for_each_part(parts: &[(Part, Timespan)], mut visit: impl FnMut(Part, u64)) {
    let ranked = parts.iter().map(|&(part, span)| (part as u8, span));
    for_each_moment(ranked, |rank, span| visit(PARTS[rank], span.duration_ps));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(begin_ps: u64, end_ps: u64) -> Timespan {
        Timespan::from_end_points(begin_ps, end_ps)
    }

    #[test]
    fn what_counts_most_hides_the_rest_and_gaps_are_idle() {
        let parts = [
            (Part::Preprocess, span(0, 40)),
            (Part::ToDevice, span(30, 50)),
            (Part::Compute, span(60, 90)),
            (Part::Compute, span(70, 80)),
        ];
        let mut sums = [0; PARTS.len()];
        for_each_part(&parts, |part, duration_ps| sums[part as usize] += duration_ps);
        assert_eq!(sums, [10, 30, 0, 0, 0, 20, 0, 30]);
    }

    #[test]
    fn a_request_without_callbacks_is_answered_from_the_end_of_computing() {
        let mut request = RequestEvents { span: span(10, 100), ..RequestEvents::default() };
        request.parts.push((Part::Compute, span(50, 70)));
        add_host_parts(&mut request);
        assert_eq!(request.parts[1], (Part::Postprocess, span(70, 100)));
        request.moments.entry(1).or_default().complete = Some(80);
        add_host_parts(&mut request);
        assert_eq!(request.parts[2], (Part::Postprocess, span(80, 100)));
    }
}
