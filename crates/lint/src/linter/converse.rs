//! A packet's way to its flow, and to that of the requests which it answers.

use rdmalab_trace::Roce;
use rdmalab_wire::{Ecn, Psn, Qpn, TransportKind};

use super::Linter;
use crate::checks::lengths;
use crate::flow::{Flow, Out};
use crate::observer::{Observer, Placed, Role};
use crate::packet::{FlowKey, OperationKind, Seen};
use crate::reason::Reason;

impl Linter {
    /// A packet whose base header is whole and right.
    pub(super) fn converse(&mut self, seen: &Seen<'_>, roce: &Roce<'_>, observer: &mut dyn Observer) {
        if seen.key.queue_pair.value() <= Qpn::GSI.value() {
            self.datagram(seen, roce, observer);
            return;
        }
        if seen.row.transport == TransportKind::Cnp {
            self.notification(seen, observer);
            return;
        }
        self.is_over(seen, observer);
        let place = self.flow(&seen.key, seen.row.transport, seen.frame, observer);
        self.hear(place, seen.frame, observer);
        let Some(flow) = self.table.get_mut(place) else { return };
        let seen = &Seen { sent: flow.numbering.next(seen.ip_id, seen.frame), ..*seen };
        flow.udp_source = seen.udp_source.or(flow.udp_source);
        let (before, conversations) = (flow.window.len(), flow.stats.conversations);
        let mut out = Out { flow: flow.number, findings: &mut self.findings, observer, now: self.now };
        flow.partition(seen, &mut out);
        let is_of_it = flow.transport(seen, &mut out);
        flow.queue_key(seen, &mut out);
        flow.effect.packet(seen.time, seen.payload_length as u64);
        if seen.ecn == Some(Ecn::Ce) {
            flow.marked = Some(seen.frame);
            flow.stats.marked += 1;
        }
        let mut number = flow.number;
        let role = match (seen.row.transport, seen.kind()) {
            _ if !is_of_it => Role::Alone,
            (TransportKind::Rd, _) => {
                // Whose sequence its PSN is of, the end-to-end context says.
                flow.doubt(Reason::ReliableDatagrams);
                flow.stats.saw_request(seen.frame, seen.time);
                Role::Alone
            }
            (TransportKind::Ud, _) => {
                lengths::datagram(seen, &mut out);
                flow.stats.saw_request(seen.frame, seen.time);
                if flow.datagrams.is_again(seen) {
                    flow.stats.duplicates += 1;
                    Role::Duplicate
                } else {
                    flow.stats.operation(
                        OperationKind::Send,
                        seen.payload_length as u64,
                        seen.time,
                        seen.time,
                    );
                    Role::Alone
                }
            }
            (_, Some(kind)) if seen.row.is_request => flow.request(seen, kind, &mut out),
            _ => match self.table.requests_of(place, seen) {
                Some(asker) => {
                    self.hear(asker, seen.frame, observer);
                    let Some(flow) = self.table.get_mut(asker) else { return };
                    flow.is_fresh = true;
                    number = flow.number;
                    let before = flow.window.len();
                    let mut out = Out { flow: number, findings: &mut self.findings, observer, now: self.now };
                    flow.answer(seen, &mut out);
                    let now = flow.window.len();
                    self.table.requests = (self.table.requests + now).saturating_sub(before);
                    Role::Response
                }
                None => {
                    if let Some(flow) = self.table.get_mut(place) {
                        flow.stats.saw_response(seen.frame, seen.time);
                    }
                    self.totals.unpaired += 1;
                    Role::Unpaired
                }
            },
        };
        observer.packet(Placed { frame: seen.frame, flow: number, role, psn: seen.bth.psn });
        let is_another = |flow: &&mut Flow| seen.row.is_request && flow.stats.conversations != conversations;
        if self.table.get_mut(place).as_ref().is_some_and(is_another) {
            self.table.separate(place);
        }
        let now = self.table.get_mut(place).map_or(before, |flow| flow.window.len());
        self.table.requests = (self.table.requests + now).saturating_sub(before);
        self.make_room(observer);
    }

    /// The flow of a key, which may be new.
    pub(super) fn flow(
        &mut self,
        key: &FlowKey,
        transport: TransportKind,
        frame: u64,
        observer: &mut dyn Observer,
    ) -> u32 {
        let place = match self.table.find(key) {
            Some(place) => place,
            None => {
                let place = self.table.add(*key, transport);
                self.make_room(observer);
                self.went_elsewhere(key, place, frame, observer);
                place
            }
        };
        if let Some(flow) = self.table.get_mut(place) {
            flow.is_fresh = true;
        }
        place
    }

    fn make_room(&mut self, observer: &mut dyn Observer) {
        while self.table.is_full() {
            let Some(mut flow) = self.table.take_oldest() else { return };
            let mut out = Out { flow: flow.number, findings: &mut self.findings, observer, now: self.now };
            self.cuts.finish(&mut flow, &mut out);
        }
    }

    fn notification(&mut self, seen: &Seen<'_>, observer: &mut dyn Observer) {
        self.totals.notifications += 1;
        // It goes to who sent the packets of the other direction. Before the first answer that is known only of a single one.
        let known = self.table.find(&seen.key).and_then(|place| self.table.get_mut(place)?.peer);
        let notified = known.or_else(|| self.table.only_without_peer(seen.key.destination, seen.key.source));
        let Some(flow) = notified.and_then(|notified| self.table.get_mut(notified)) else { return };
        let mut out = Out { flow: flow.number, findings: &mut self.findings, observer, now: self.now };
        flow.notified(seen, &mut out);
        observer.packet(Placed { frame: seen.frame, flow: flow.number, role: Role::Alone, psn: Psn::new(0) });
    }
}
