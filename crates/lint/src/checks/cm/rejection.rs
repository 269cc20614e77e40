//! What a REJ ends: the queue pairs of its connection are used no more.

use super::{Call, Connections, MOST_CONNECTIONS};
use crate::checks::recurrence::REMADE;
use crate::finding::Findings;
use crate::packet::{FlowKey, Seen};
use crate::rules::RuleId;

impl Connections {
    /// A REJ ends a connection.
    pub(super) fn end(&mut self, call: &Call, by_caller: bool, (frame, time): (u64, i64)) {
        let Some(connection) = self.calls.get_mut(call) else { return };
        connection.rejected.get_or_insert((by_caller, frame));
        let (caller, called, _) = *call;
        let to_caller = FlowKey { source: called, destination: caller, queue_pair: connection.req.local_qpn };
        let to_called = connection.called_pair.map(|pair| FlowKey {
            source: caller,
            destination: called,
            queue_pair: pair,
        });
        if self.ended.len() >= MOST_CONNECTIONS {
            self.ended.clear();
        }
        self.ended.extend([Some(to_caller), to_called].into_iter().flatten().map(|key| (key, (frame, time))));
    }

    /// A connection that was rejected goes no further.
    pub(super) fn is_rejected(&self, call: &Call, name: &str, seen: &Seen<'_>, findings: &mut Findings) {
        let rejected = self.calls.get(call).and_then(|connection| connection.rejected);
        // Two packets that the capture has in each other's place are no proof.
        if let Some((_, frame)) = rejected.filter(|(_, frame)| frame + 1 < seen.frame) {
            findings.add(RuleId::CmRejected, None, &[seen.frame, frame], || {
                format!("{name} of a connection that was rejected")
            });
        }
    }

    /// A packet to a queue pair whose connection was rejected.
    pub fn is_over(&mut self, seen: &Seen<'_>, findings: &mut Findings) {
        // Two packets that the capture has in each other's place are no proof.
        let Some((frame, time)) = self.ended.get(&seen.key).copied().filter(|end| end.0 + 1 < seen.frame)
        else {
            return;
        };
        self.ended.remove(&seen.key);
        if seen.time.saturating_sub(time) >= REMADE {
            // Without connection management, its number may be another queue pair's by now.
            return;
        }
        findings.add(RuleId::CmRejected, None, &[seen.frame, frame], || {
            format!("{} to {}, whose connection was rejected", seen.row.name, seen.key.queue_pair)
        });
    }
}
