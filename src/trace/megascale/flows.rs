//! Arrows from sends and receives over the transfers of the host to where the TPU waits for them
//! (XProf's `ResolveFlows`).

use super::model::{Extra, FileEvent, Flow, NO_RUN, Trace, TraceEvent};
use super::names::{TransferOp, collective_in, op_number, rendezvous_in};
use crate::xplane::schema::XLA_OP_LINE;
use std::collections::{HashMap, VecDeque};

/// A run of a collective on a device.
type Key<'a> = (i64, i64, &'a str);

/// Arrows that have begun, the first first.
#[derive(Default)]
struct Queue<'a>(HashMap<Key<'a>, VecDeque<i64>>);

/// Numbers arrows.
struct Flows<'e> {
    last: i64,
    extras: &'e mut Vec<Extra>,
}

impl Flows<'_> {
    /// An arrow leaves an event.
    fn push<'a>(&mut self, queue: &mut Queue<'a>, key: Key<'a>, event: &mut TraceEvent) {
        self.last += 1;
        event.extra(self.extras).flows.push(Flow { id: self.last, leaves: true });
        queue.0.entry(key).or_default().push_back(self.last);
    }

    /// The first arrow of a queue arrives at an event.
    fn pop<'a>(&mut self, queue: &mut Queue<'a>, key: Key<'a>, event: &mut TraceEvent) {
        if let Some(id) = queue.0.get_mut(&key).and_then(VecDeque::pop_front) {
            event.extra(self.extras).flows.push(Flow { id, leaves: false });
        }
    }
}

impl Trace<'_> {
    /// Finds the arrows. XProf numbers them in the hash order of devices; here in the order of their
    /// numbers.
    pub(super) fn resolve_flows(&mut self) {
        let lines = &self.lines;
        let mut flows = Flows { last: 0, extras: &mut self.extras };
        let [mut send_to_done, mut send_to_host, mut host_to_done, mut recv_to_host] =
            [(); 4].map(|()| Queue::default());
        let mut sends: HashMap<(i64, i64, i64), &str> = HashMap::new();
        for (&tpu, tracks) in &mut self.tpus {
            let ops = tracks.iter_mut().filter(|track| track.name == XLA_OP_LINE);
            for event in ops.flat_map(|track| &mut track.events) {
                let name = event.name(lines);
                let op = TransferOp::named(name).filter(|_| event.run_id != NO_RUN);
                let Some(op @ (TransferOp::Send | TransferOp::Recv)) = op else { continue };
                let Some(rendezvous) = event.file(lines).and_then(rendezvous) else { continue };
                let key = (tpu, event.run_id, rendezvous);
                if op == TransferOp::Send {
                    sends.insert((tpu, event.run_id, op_number(name)), rendezvous);
                    flows.push(&mut send_to_done, key, event);
                    // XProf keeps one more for `recv-done`, and takes it nowhere.
                    flows.push(&mut Queue::default(), key, event);
                    flows.push(&mut send_to_host, key, event);
                } else {
                    flows.push(&mut Queue::default(), key, event);
                    flows.push(&mut recv_to_host, key, event);
                }
            }
        }
        for (&tpu, tracks) in &mut self.graphs {
            for event in tracks.iter_mut().flat_map(|track| &mut track.events) {
                let transfer = match event.name(lines) {
                    "DeviceToHost START" => (true, true),
                    "DeviceToHost END" => (true, false),
                    "HostToDevice START" => (false, true),
                    "HostToDevice END" => (false, false),
                    _ => continue,
                };
                let Some(file) = event.file(lines).filter(|_| event.run_id != NO_RUN) else {
                    continue;
                };
                let key = file.find_text("graph_key").and_then(collective_in);
                let Some(key) = key.map(|name| (tpu, event.run_id, name)) else { continue };
                let is_first = || file.find_int("action_index") == Some(0);
                match transfer {
                    (true, true) if is_first() => flows.pop(&mut send_to_host, key, event),
                    (false, true) if is_first() => flows.pop(&mut recv_to_host, key, event),
                    (true, false) if is_last(event, file, flows.extras) => {
                        flows.push(&mut host_to_done, key, event);
                    }
                    (false, false) if is_last(event, file, flows.extras) => {
                        // Perfetto would let the arrow leave the graph where both end together.
                        event.duration_ps = event.duration_ps.wrapping_sub(1000).max(0);
                        flows.push(&mut Queue::default(), key, event);
                    }
                    _ => {}
                }
            }
        }
        for (&tpu, tracks) in &mut self.tpus {
            let ops = tracks.iter_mut().filter(|track| track.name == XLA_OP_LINE);
            for event in ops.flat_map(|track| &mut track.events) {
                let name = event.name(lines);
                let op = TransferOp::named(name).filter(|_| event.run_id != NO_RUN);
                if op != Some(TransferOp::SendDone) {
                    continue;
                }
                let Some(rendezvous) = sends.get(&(tpu, event.run_id, op_number(name))) else {
                    continue;
                };
                let key = (tpu, event.run_id, *rendezvous);
                flows.pop(&mut send_to_done, key, event);
                flows.pop(&mut host_to_done, key, event);
            }
        }
    }
}

/// The rendezvous of an op; none where it is empty.
fn rendezvous(event: FileEvent<'_>) -> Option<&str> {
    let name = event.find_text("long_name").and_then(rendezvous_in);
    name.filter(|name| !name.is_empty())
}

/// Whether a transfer is the last of its action graph: as the file says, or as was noted.
fn is_last(event: &TraceEvent, file: FileEvent<'_>, extras: &[Extra]) -> bool {
    let noted = || event.extra.is_some_and(|extra| extras[extra as usize].is_last_of > 0);
    file.find_int("is_last_instance").map_or_else(noted, |is_last| is_last == 1)
}
