//! Packets in a capture of all interfaces at once, which has them once for each that they pass.
//!
//! Linux' cooked header says which interface it was, or at least whether the packet came or went. One that was just seen elsewhere
//! is the same packet; one that is sent again comes by the same interface first. So this needs no IP identification and no guess
//! by times.

use rdmalab_trace::{Cooked, Dissection, Roce, StandIn};
use rdmalab_wire::{Psn, TransportKind};

use super::Linter;
use crate::observer::{Observer, Placed, Role};
use crate::packet::{FlowKey, Seen};

/// Places for packets; a later one takes the place of an earlier one.
const PLACES: usize = 1024;
/// From the first interface to the last a packet takes less, in nanoseconds.
const PASSES_WITHIN: u64 = 1_000_000_000;

/// A packet, as it was seen first.
#[derive(Clone, Copy)]
struct First {
    key: FlowKey,
    psn: Psn,
    icrc: [u8; 4],
    opcode: u8,
    interface: (Option<u32>, u16),
    time: i64,
}

/// The packets that were seen last. Takes no memory until there is a cooked header.
#[derive(Default)]
pub(super) struct Copies {
    last: Vec<Option<First>>,
}

impl Copies {
    /// Whether the packet was seen on another interface before.
    pub fn is_one(&mut self, dissection: &Dissection<'_>, roce: &Roce<'_>, seen: &Seen<'_>) -> bool {
        let Some(StandIn::Cooked(Cooked { interface, packet_type, .. })) = dissection.stand_in else {
            return false;
        };
        // Over payload, PSN, addresses and identification.
        let Some(icrc) = roce.packet.icrc else { return false };
        let now = First {
            key: seen.key,
            psn: seen.bth.psn,
            icrc,
            opcode: seen.row.opcode,
            interface: (interface, packet_type),
            time: seen.time,
        };
        self.last.resize(PLACES, None);
        let Some(place) = self.last.get_mut(u32::from_be_bytes(icrc) as usize % PLACES) else { return false };
        let is_same = |first: &First| {
            (first.key, first.psn, first.icrc, first.opcode) == (now.key, now.psn, now.icrc, now.opcode)
        };
        match place {
            Some(first) if is_same(first) && first.time.abs_diff(now.time) < PASSES_WITHIN => {
                let is_elsewhere = first.interface != now.interface;
                if !is_elsewhere {
                    *first = now;
                }
                is_elsewhere
            }
            _ => {
                *place = Some(now);
                false
            }
        }
    }
}

impl Linter {
    /// A packet that was seen on another interface before: it is counted, and nothing else.
    pub(super) fn copy(&mut self, seen: &Seen<'_>, observer: &mut dyn Observer) {
        if seen.row.transport == TransportKind::Cnp {
            // Neither a request nor an answer.
            return;
        }
        let Some(place) = self.table.find(&seen.key) else { return };
        let asker = if seen.row.is_request { None } else { self.table.requests_of(place, seen) };
        let Some(flow) = self.table.get_mut(asker.unwrap_or(place)) else { return };
        let role = if seen.row.is_request {
            flow.stats.saw_request(seen.frame, seen.time);
            flow.stats.duplicates += 1;
            Role::Duplicate
        } else {
            flow.stats.saw_response(seen.frame, seen.time);
            flow.stats.duplicate_responses += 1;
            Role::Response
        };
        observer.packet(Placed { frame: seen.frame, flow: flow.number, role, psn: seen.bth.psn });
    }
}
