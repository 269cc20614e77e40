//! What two sides agree on, and which flows are theirs by that.

use rdmalab_trace::Roce;
use rdmalab_wire::{Psn, TransportKind};

use super::Linter;
use crate::checks::cm::{self, Agreement, Route};
use crate::flow::{Agreed, Flow, Out, QueueKey};
use crate::observer::Observer;
use crate::packet::{FlowKey, Seen};
use crate::reason::Reason;
use crate::rules::RuleId;

impl Linter {
    /// A datagram to a general services interface.
    pub(super) fn datagram(&mut self, seen: &Seen<'_>, roce: &Roce<'_>, observer: &mut dyn Observer) {
        let before = self.findings.kept.len();
        let mad = roce.mad();
        if seen.is_cut && mad.is_none_or(|mad| mad.message().is_none()) {
            self.unjudged.management += 1;
        }
        let agreed = mad.and_then(|mad| self.connections.datagram(seen, &mad, &mut self.findings));
        self.tell(before, observer);
        match agreed {
            Some(cm::Agreed::Connection(agreement)) => self.agree(&agreement, observer),
            Some(cm::Agreed::Path(alternate)) => self.table.alternate(&alternate),
            Some(cm::Agreed::Service(service)) => {
                let place = self.flow(&service.flow, TransportKind::Ud, service.frame, observer);
                if let Some(flow) = self.table.get_mut(place) {
                    flow.queue_key = Some(QueueKey::told(service.queue_key, service.frame));
                }
            }
            None => {}
        }
    }

    /// The two flows of a connection that has been agreed on.
    fn agree(&mut self, agreement: &Agreement, observer: &mut dyn Observer) {
        let route = Route { ends: agreement.ends, queue_pairs: agreement.queue_pairs };
        let keys = route.flows();
        let mut places = [0; 2];
        for (side, key) in keys.iter().enumerate() {
            let [_, frame] = agreement.frames;
            let place = self.flow(key, TransportKind::Rc, frame, observer);
            self.table.stay(place);
            let Some(flow) = self.table.get_mut(place) else { return };
            let mut out = Out { flow: flow.number, findings: &mut self.findings, observer, now: self.now };
            flow.heard = frame;
            // Requests behind the REQ: this REP is one that came again.
            let has_requests =
                flow.window.get(0).is_some_and(|entry| entry.first_frame > agreement.frames[0]);
            let was_answered = agreement.was_answered || has_requests;
            let has_begun = was_answered && flow.requests.is_some();
            let kept = if has_begun { 0 } else { flow.window.len() };
            if was_answered {
                flow.doubt(Reason::Reordered);
            }
            if !has_begun {
                self.cuts.finish(flow, &mut out);
                flow.begin_again();
            }
            let agreed = |pair: [Psn; 2]| if side == 0 { pair[0] } else { pair[1] };
            let [first, second] = agreement.depths;
            let [first_retries, second_retries] = agreement.retry_counts;
            let [first_rnr_retries, second_rnr_retries] = agreement.rnr_retry_counts;
            let [first_shares, second_shares] = agreement.shared_receives;
            flow.agreed = Some(Agreed {
                first_psn: (!was_answered).then_some(agreed(agreement.first_psns)),
                depth: if side == 0 { first } else { second },
                retry_count: if side == 0 { first_retries } else { second_retries },
                rnr_retry_count: if side == 0 { first_rnr_retries } else { second_rnr_retries },
                // Those of the one who answers.
                shared_receives: if side == 0 { second_shares } else { first_shares },
                frames: agreement.frames,
            });
            if let Some(transport) = agreement.transport {
                (flow.transport, flow.changed) = (transport, None);
            }
            flow.partition = Some((agreement.partition_key, agreement.frames[0]));
            if let Some(size) = agreement.path_mtu {
                flow.sizes.keep(|other| other as usize == size.bytes());
            }
            self.table.requests = self.table.requests.saturating_sub(kept);
            if let Some(place_of) = places.get_mut(side) {
                *place_of = place;
            }
        }
        self.table.pair(places[0], places[1]);
        if let Some(alternate) = &agreement.alternate {
            self.table.alternate(alternate);
        }
    }

    /// A flow is new: it may be that of a connection, over a path that it was refused.
    pub(super) fn went_elsewhere(
        &mut self,
        key: &FlowKey,
        place: u32,
        frame: u64,
        observer: &mut dyn Observer,
    ) {
        let (Some([offer, refusal]), Some(flow)) = (self.table.is_refused(key), self.table.get_mut(place))
        else {
            return;
        };
        let mut out = Out { flow: flow.number, findings: &mut self.findings, observer, now: self.now };
        out.find(RuleId::CmMigrated, &[frame, offer, refusal], || {
            format!(
                "packets to {} go from {} to {}, a path that was refused",
                key.queue_pair, key.source, key.destination
            )
        });
    }

    /// A packet may be to a queue pair whose connection was rejected.
    pub(super) fn is_over(&mut self, seen: &Seen<'_>, observer: &mut dyn Observer) {
        let before = self.findings.kept.len();
        self.connections.is_over(seen, &mut self.findings);
        self.tell(before, observer);
    }

    /// The number of each flow's peer.
    pub(super) fn peers(flows: &[Flow]) -> Vec<Option<u64>> {
        let by_key: std::collections::HashMap<FlowKey, u64> =
            flows.iter().map(|flow| (flow.key, flow.number)).collect();
        flows
            .iter()
            .map(|flow| flow.peer.and(flow.peer_key).and_then(|key| by_key.get(&key).copied()))
            .collect()
    }
}
