//! The unreliable datagrams that came last, to tell one that is in the capture twice: nothing ever sends one again.

use rdmalab_wire::{Psn, Qpn};

use super::heard::{IDENTIFIES, SOON};
use crate::packet::Seen;

/// So many are kept; copies follow each other closely.
const KEPT: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Datagram {
    psn: Psn,
    source: Option<Qpn>,
    ip_id: u16,
    length: usize,
    sum: u32,
}

/// The last datagrams of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams {
    last: [Option<(Datagram, i64)>; KEPT],
    next: usize,
}

impl Datagrams {
    /// Takes note of a datagram. Says whether it was there before.
    pub fn is_again(&mut self, seen: &Seen<'_>) -> bool {
        let now = Datagram {
            psn: seen.bth.psn,
            source: seen.headers.deth.map(|deth| deth.source),
            ip_id: seen.ip_id,
            length: seen.payload_length,
            sum: crc32fast::hash(seen.payload),
        };
        let is_known = self.last.iter().flatten().any(|(before, time)| {
            // Numbers may stand still at a sender that does not count them.
            *before == now && (now.ip_id >= IDENTIFIES || seen.time.abs_diff(*time) <= SOON.unsigned_abs())
        });
        if !is_known && let Some(place) = self.last.get_mut(self.next) {
            *place = Some((now, seen.time));
            self.next = (self.next + 1) % KEPT;
        }
        is_known
    }
}
