//! REQ and REP: what a connection is agreed on.

use rdmalab_wire::mad::{Rep, TransportService};
use rdmalab_wire::{Address, PKey, PathMtu, Psn, Qpn, TransportKind};

use super::again::Message;
use super::path::{Alternate, Route, ends_like};
use super::{Connections, RTU};
use crate::finding::Findings;
use crate::packet::Seen;
use crate::rules::RuleId;

/// A REP says by this code that it takes the alternate path.
const FAILOVER_ACCEPTED: u8 = 0;

/// A connection as REQ and REP agree on it.
pub(crate) struct Agreement {
    /// Who called, and who was called.
    pub ends: [Address; 2],
    /// Their queue pairs.
    pub queue_pairs: [Qpn; 2],
    /// The first PSN of each one's requests.
    pub first_psns: [Psn; 2],
    /// READs and atomics that each may have outstanding.
    pub depths: [u8; 2],
    /// How often each sends again; the one who was called chose for itself what REQ says.
    pub retry_counts: [Option<u8>; 2],
    /// How often each sends again what a receiver was not ready for.
    pub rnr_retry_counts: [u8; 2],
    /// Whether each one's receives come from a shared queue.
    pub shared_receives: [bool; 2],
    pub path_mtu: Option<PathMtu>,
    /// `None` where REQ says that it is one of those beyond the four.
    pub transport: Option<TransportKind>,
    pub partition_key: PKey,
    /// What became of the alternate path in the REQ, if there is one.
    pub alternate: Option<Alternate>,
    pub frames: [u64; 2],
    /// The capture has an RTU in front of the REP: clocks of two places of capture differ, or it missed an earlier REP.
    pub was_answered: bool,
}

impl Connections {
    /// A REP. Gives back what is agreed on, if it is the first.
    pub(super) fn reply(
        &mut self,
        rep: &Rep,
        message: &Message,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) -> Option<Agreement> {
        let (from, to) = (seen.key.source, seen.key.destination);
        let call = (to, from, rep.remote_communication_id);
        if !self.calls.contains_key(&call) {
            let caller = (from, to, rep.local_communication_id);
            if self.calls.contains_key(&caller) {
                self.is_of_the_caller(&call, &caller, "REP", seen, findings);
                return None;
            }
            let ids = (rep.local_communication_id, rep.remote_communication_id);
            self.is_astray(ids, message, seen, findings);
            return None;
        }
        self.is_of_transaction(&call, false, message, seen, findings);
        self.again(&call, message, false, seen, findings);
        self.is_rejected(&call, "REP", seen, findings);
        let connection = self.calls.get_mut(&call)?;
        if let Some((named, frame)) =
            connection.named.filter(|(named, _)| *named != rep.local_communication_id)
        {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                format!(
                    "the REP has the communication ID {:#010x}, its sender named {named:#010x} before",
                    rep.local_communication_id
                )
            });
        }
        if connection.answered.is_some() {
            return None;
        }
        let was_answered = connection.said.contains_key(&(RTU, true));
        connection.answered = Some((rep.local_communication_id, seen.frame));
        connection.called_pair = Some(rep.local_qpn);
        let (req, frame) = (&connection.req, connection.frame);
        if rep.initiator_depth > req.responder_resources {
            findings.add(RuleId::CmDepth, None, &[seen.frame, frame], || {
                format!(
                    "the REP asks for {} READs at once, the REQ's sender answers {}",
                    rep.initiator_depth, req.responder_resources
                )
            });
        }
        let queue_pairs = [req.local_qpn, rep.local_qpn];
        let primary = Route { ends: [to, from], queue_pairs };
        let path = &req.alternate;
        let ends = ends_like(to, [path.local_lid, path.remote_lid], [path.local_gid, path.remote_gid]);
        let offered = ends.map(|ends| Route { ends, queue_pairs });
        let alternate = offered.map(|offered| Alternate {
            primary,
            offered,
            is_taken: rep.failover_accepted == FAILOVER_ACCEPTED,
            frames: [frame, seen.frame],
        });
        for key in primary.flows() {
            self.ended.remove(&key);
        }
        Some(Agreement {
            ends: [to, from],
            queue_pairs,
            first_psns: [rep.starting_psn, req.starting_psn],
            depths: [rep.responder_resources, req.responder_resources],
            retry_counts: [None, Some(req.retry_count)],
            rnr_retry_counts: [rep.rnr_retry_count, req.rnr_retry_count],
            shared_receives: [req.shared_receive_queue, rep.shared_receive_queue],
            path_mtu: PathMtu::from_code(req.path_mtu_code),
            transport: match req.transport_service {
                TransportService::Rc => Some(TransportKind::Rc),
                TransportService::Uc => Some(TransportKind::Uc),
                TransportService::Rd => Some(TransportKind::Rd),
                TransportService::Extended => None,
            },
            partition_key: req.partition_key,
            alternate,
            frames: [frame, seen.frame],
            was_answered,
        })
    }
}
