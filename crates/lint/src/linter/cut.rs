//! Packets that were not read, as the capture cut them within their headers, or they are IP fragments or several datagrams in one:
//! which conversations they may be of.
//!
//! One whose base header is there says which queue pair it goes to. One that has addresses alone, or is several datagrams, may be of any
//! conversation between the two hosts, and one without addresses of any at all. Those conversations are judged up to there, and behind it as if the capture began there.

use std::collections::HashMap;

use rdmalab_trace::{Dissection, Network, Record};
use rdmalab_wire::{Address, Qpn, TransportKind};

use super::Linter;
use crate::flow::{Flow, Out};
use crate::observer::Observer;
use crate::packet::FlowKey;
use crate::reason::Reason;

/// Pairs of hosts that are remembered; beyond them, all of those packets may be of any conversation.
const MOST_PAIRS: usize = 4_096;

/// The frame of a packet that was not read, and why it was not.
type Cut = (u64, Reason);

/// The last packets that were not read, by what is known of them.
#[derive(Default)]
pub(super) struct Cuts {
    /// It may be of any conversation.
    anywhere: Option<Cut>,
    /// It is of one between these hosts, the smaller address first.
    between: HashMap<(Address, Address), Cut>,
}

impl Cuts {
    fn note(&mut self, ends: Option<(Address, Address)>, cut: Cut) {
        match ends {
            Some((one, other)) if self.between.len() < MOST_PAIRS => {
                self.between.insert((one.min(other), one.max(other)), cut);
            }
            _ => {
                self.between.clear();
                self.anywhere = Some(cut);
            }
        }
    }

    /// Why the last packet was not read that may be of this flow, if there was one since one of it was heard last.
    fn interrupted(&self, flow: &Flow) -> Option<Reason> {
        if self.anywhere.is_none() && self.between.is_empty() {
            return None;
        }
        let last = |key: &FlowKey| {
            let (one, other) = (key.source, key.destination);
            self.between.get(&(one.min(other), one.max(other))).copied()
        };
        let (frame, why) = last(&flow.key).max(flow.alternate.as_ref().and_then(last)).max(self.anywhere)?;
        (flow.heard != 0 && frame > flow.heard).then_some(why)
    }

    /// A flow ends: what nobody has answered for is judged, if its end is known.
    pub fn finish(&self, flow: &mut Flow, out: &mut Out<'_>) {
        match self.interrupted(flow) {
            Some(why) => flow.interrupt(why, out),
            None => flow.finish(out),
        }
    }
}

impl Linter {
    /// A packet that was not read, and why.
    pub(super) fn cut(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        why: Reason,
        observer: &mut dyn Observer,
    ) {
        let ends = match (dissection.roce(), &dissection.network) {
            (Some(roce), _) => Some((roce.carrier.source(), roce.carrier.destination())),
            (None, Some(Network::V4 { header, .. })) => {
                Some((Address::Ip(header.source.into()), Address::Ip(header.destination.into())))
            }
            (None, Some(Network::V6(header))) => {
                Some((Address::Ip(header.source.into()), Address::Ip(header.destination.into())))
            }
            (None, None) => None,
        };
        // What stands behind the first datagram may go to any queue pair.
        let bth = dissection.roce().and_then(|roce| roce.packet.bth).filter(|_| why != Reason::Merged);
        let (Some((source, destination)), Some(bth)) = (ends, bth) else {
            return self.cuts.note(ends, (record.frame, why));
        };
        let row = dissection.roce().and_then(|roce| roce.packet.opcode?.row());
        if bth.destination.value() <= Qpn::GSI.value()
            || row.is_some_and(|row| row.transport == TransportKind::Cnp)
        {
            // It is of no conversation.
            return;
        }
        let place = self.table.find(&FlowKey { source, destination, queue_pair: bth.destination });
        let of = match row {
            Some(row) if row.is_request => place,
            // It answers requests of the other direction.
            _ => match place.and_then(|place| self.table.get_mut(place)?.peer) {
                Some(peer) => Some(peer),
                None => return self.cuts.note(ends, (record.frame, why)),
            },
        };
        if let Some(place) = of {
            self.interrupt(place, why, observer);
        }
    }

    /// Something of a flow comes: first it is interrupted, if a packet was cut since the last one.
    pub(super) fn hear(&mut self, place: u32, frame: u64, observer: &mut dyn Observer) {
        let Some(flow) = self.table.get_mut(place) else { return };
        let interrupted = self.cuts.interrupted(flow);
        flow.heard = frame;
        if let Some(why) = interrupted {
            self.interrupt(place, why, observer);
        }
    }

    fn interrupt(&mut self, place: u32, why: Reason, observer: &mut dyn Observer) {
        let Some(flow) = self.table.get_mut(place) else { return };
        let kept = flow.window.len();
        let mut out = Out { flow: flow.number, findings: &mut self.findings, observer, now: self.now };
        flow.interrupt(why, &mut out);
        self.table.requests = self.table.requests.saturating_sub(kept);
    }
}
