//! Follows sends and receives and sums up each collective (XProf's `DcnTracker`).

use super::instruction::{Transfer, bytes_sent};
use super::{CollectiveSummary, Collectives};
use crate::hlo::fields::Fields;
use crate::hlo::{Modules, Opcode, Programs};
use crate::opstats::units::{pico_to_micro, pico_to_nano, wrapping_u64};
use crate::xplane::schema::StatType;
use crate::xplane::{Event, EventMetadata, Line, Plane, StatValue};
use std::collections::HashMap;

/// A collective between its `send` and its `recv-done`.
#[derive(Debug, Default)]
struct Open {
    /// Start of the last `send`; 0 before the first.
    start_ns: u64,
    /// What the clock of transfers showed then.
    transfers_before_ns: u64,
    stall_ns: u64,
    transfer_type: String,
    send_op: String,
    group_size: i32,
    send_ps: u64,
    send_done_ps: u64,
    recv_ps: u64,
    recv_done_ps: u64,
}

pub(super) struct Tracker<'a> {
    programs: &'a Programs,
    modules: &'a Modules<'a>,
    /// By the names of module and instruction.
    transfers: HashMap<(&'a str, &'a str), Option<Transfer>>,
    rendezvous_of_channel: HashMap<i64, String>,
    group_sizes: HashMap<String, i32>,
    open: HashMap<String, Open>,
    /// Time in all transfers so far.
    transfers_ns: u64,
    summaries: Collectives,
}

impl<'a> Tracker<'a> {
    pub fn new(programs: &'a Programs, modules: &'a Modules<'a>) -> Self {
        Self {
            programs,
            modules,
            transfers: HashMap::new(),
            rendezvous_of_channel: HashMap::new(),
            group_sizes: HashMap::new(),
            open: HashMap::new(),
            transfers_ns: 0,
            summaries: Collectives::new(),
        }
    }

    /// Notes one run of a send or receive in a run of a module.
    pub fn visit(
        &mut self,
        module: &'a str,
        op: &EventMetadata<'a>,
        line: &Line<'_>,
        event: &Event<'_>,
    ) {
        let key = (module, op.display_name());
        let found = self.transfers.entry(key).or_insert_with(|| {
            let program = self.programs.named(module)?;
            Transfer::find(self.modules.module(program.program_id)?, op.display_name())
        });
        let Some(transfer) = found else { return };
        if let Some(name) = &transfer.rendezvous
            && self.rendezvous_of_channel.get(&transfer.channel_id) != Some(name)
        {
            self.rendezvous_of_channel.insert(transfer.channel_id, name.clone());
        }
        let name = match &transfer.rendezvous {
            Some(name) => name,
            None => match self.rendezvous_of_channel.get(&transfer.channel_id) {
                Some(name) => name,
                None => return,
            },
        };
        let duration_ps = event.duration_ps as u64;
        let duration_ns = pico_to_nano(duration_ps);
        let start_ns = (line.timestamp_ns() as f64 + pico_to_nano(event.offset_ps as u64)) as i64;
        if !self.open.contains_key(name) {
            self.open.insert(
                name.clone(),
                Open { transfers_before_ns: self.transfers_ns, ..Open::default() },
            );
        }
        let Some(open) = self.open.get_mut(name) else { return };
        open.stall_ns = wrapping_u64(open.stall_ns as f64 + duration_ns);
        match transfer.opcode {
            Opcode::Send => {
                open.start_ns = start_ns as u64;
                open.transfer_type = transfer.kind.clone().unwrap_or_default();
                open.transfers_before_ns = self.transfers_ns;
                open.stall_ns = wrapping_u64(duration_ns);
                op.display_name().clone_into(&mut open.send_op);
                open.send_ps = duration_ps;
                open.group_size = match self.group_sizes.get(name) {
                    Some(&size) => size,
                    None => *self
                        .group_sizes
                        .entry(name.clone())
                        .or_insert(group_size(line.plane(), op)),
                };
            }
            Opcode::Recv => open.recv_ps = duration_ps,
            Opcode::SendDone => open.send_done_ps = duration_ps,
            Opcode::RecvDone => {
                open.recv_done_ps = duration_ps;
                if open.start_ns != 0 {
                    let end_ns = (start_ns as f64 + duration_ns) as i64;
                    let summary = self.summaries.entry(name.clone()).or_default();
                    add_run(summary, open, start_ns as u64, end_ns as u64, self.transfers_ns);
                    summary.bytes =
                        bytes_sent(&open.transfer_type, transfer.bytes, open.group_size);
                    op.display_name().clone_into(&mut summary.recv_op);
                }
            }
            _ => {}
        }
        self.transfers_ns = self.transfers_ns.wrapping_add(wrapping_u64(duration_ns));
    }

    /// The summaries, with means.
    pub fn finish(mut self) -> Collectives {
        self.summaries.values_mut().for_each(CollectiveSummary::divide);
        self.summaries
    }
}

/// Adds a run whose `recv-done` took from `start_ns` to `end_ns`.
fn add_run(
    summary: &mut CollectiveSummary,
    open: &Open,
    start_ns: u64,
    end_ns: u64,
    transfers_ns: u64,
) {
    let nano_to_micro = |ns: u64| wrapping_u64(ns as f64 / 1e3);
    let add = |sum: &mut u64, more: u64| *sum = sum.wrapping_add(more);
    let add_ps = |sum: &mut u64, ps: u64| *sum = wrapping_u64(*sum as f64 + pico_to_micro(ps));
    let overlapping_ns = transfers_ns.wrapping_sub(open.transfers_before_ns);
    let slack_ns = start_ns.wrapping_sub(open.start_ns).wrapping_sub(overlapping_ns);
    add(&mut summary.slack_us, nano_to_micro(slack_ns));
    let observed_us = nano_to_micro(end_ns).wrapping_sub(nano_to_micro(open.start_ns));
    add(&mut summary.observed_us, observed_us);
    add(&mut summary.stall_us, nano_to_micro(open.stall_ns));
    add_ps(&mut summary.send_us, open.send_ps);
    add_ps(&mut summary.send_done_us, open.send_done_ps);
    add_ps(&mut summary.recv_done_us, open.recv_done_ps);
    summary.recv_us = wrapping_u64(summary.recv_us as f64 + pico_to_micro(open.recv_ps) / 1e6);
    summary.occurrences += 1;
    summary.transfer_type.clone_from(&open.transfer_type);
    summary.send_op.clone_from(&open.send_op);
}

/// How many devices take part, as the op's `DcnCollectiveInfoProto` says; 0 where it is not known.
fn group_size(core: Plane<'_>, op: &EventMetadata<'_>) -> i32 {
    const ENDPOINT_GROUPS: u32 = 2;
    const ONE_TO_ONE_GROUPS: u32 = 3;
    const ENDPOINTS: u32 = 1;
    let Some(kind) = core.stat_metadata().of_type(StatType::DcnCollectiveInfo) else {
        return 0;
    };
    let stat = op.stats().find(|stat| stat.metadata_id == kind.id());
    let Some(StatValue::Bytes(info)) = stat.map(|stat| stat.value) else { return 0 };
    let info = Fields::of_message(info);
    if info.has(ONE_TO_ONE_GROUPS) {
        return 1;
    }
    let first = info.messages(ENDPOINT_GROUPS).next();
    first.map_or(0, |group| group.messages(ENDPOINTS).count() as i32)
}
