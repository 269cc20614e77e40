//! Connection management: who calls whom, what they agree on, and which flows that makes.

use std::collections::{BTreeMap, VecDeque};

use rdmalab_wire::mad::{Rep, Req};
use rdmalab_wire::{Address, CmMessage, PKey, PathMtu, Psn, QKey, Qpn, RawMad};

use crate::finding::Findings;
use crate::packet::Seen;
use crate::rules::RuleId;

/// Connections that are remembered; the oldest make room.
pub(crate) const MOST_CONNECTIONS: usize = 8192;

/// The class of communication management.
const CLASS: u8 = 0x07;

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
    pub path_mtu: Option<PathMtu>,
    pub partition_key: PKey,
    pub frames: [u64; 2],
}

/// What names a connection: who sent the REQ, to whom, and its communication ID.
type Call = (Address, Address, u32);

struct Connection {
    req: Req,
    frame: u64,
    /// The answering side's communication ID and where it was told.
    answered: Option<(u32, u64)>,
    /// Sums of messages that may come again: REQ, REP, RTU, DREQ of either side, DREP.
    sums: BTreeMap<(u16, bool), (u32, u64)>,
}

/// All connections under way.
#[derive(Default)]
pub(crate) struct Connections {
    calls: BTreeMap<Call, Connection>,
    order: VecDeque<Call>,
    pub messages: u64,
    pub forgotten: u64,
}

impl Connections {
    /// A datagram to a general services interface. Gives back what is agreed on by it, if it is the first REP.
    pub fn datagram(
        &mut self,
        seen: &Seen<'_>,
        mad: &RawMad<'_>,
        findings: &mut Findings,
    ) -> Option<Agreement> {
        let header = mad.header?;
        self.form(seen, mad, findings);
        let message = mad.message().filter(|_| header.class.0 == CLASS)?;
        self.messages += 1;
        let sum = crc32fast::hash(mad.data);
        let (from, to) = (seen.key.source, seen.key.destination);
        match message {
            CmMessage::Req(req) => {
                let call = (from, to, req.local_communication_id);
                let is_known =
                    self.calls.get(&call).is_some_and(|connection| connection.req.local_qpn == req.local_qpn);
                if !is_known {
                    self.begin(
                        call,
                        Connection { req, frame: seen.frame, answered: None, sums: BTreeMap::new() },
                    );
                }
                self.again(&call, header.attribute_id, true, sum, seen, findings);
                None
            }
            CmMessage::Rep(rep) => self.reply(&rep, sum, seen, findings),
            CmMessage::Rtu(rtu) => {
                let call = (from, to, rtu.local_communication_id);
                self.names(&call, rtu.remote_communication_id, "RTU", seen, findings);
                self.again(&call, header.attribute_id, true, sum, seen, findings);
                None
            }
            CmMessage::Dreq(dreq) => {
                self.either_way(
                    dreq.local_communication_id,
                    dreq.remote_communication_id,
                    "DREQ",
                    sum,
                    seen,
                    findings,
                );
                None
            }
            CmMessage::Drep(drep) => {
                self.either_way(
                    drep.local_communication_id,
                    drep.remote_communication_id,
                    "DREP",
                    sum,
                    seen,
                    findings,
                );
                None
            }
            _ => None,
        }
    }

    fn form(&self, seen: &Seen<'_>, mad: &RawMad<'_>, findings: &mut Findings) {
        let Some(header) = mad.header else { return };
        let queue_key = seen.headers.deth.map(|deth| deth.queue_key);
        let wrong = if header.base_version != 1 {
            format!("base version {}", header.base_version)
        } else if header.class.0 == CLASS && header.class_version != 2 {
            format!("class version {}", header.class_version)
        } else if let Some(key) = queue_key.filter(|key| *key != QKey::GSI) {
            format!("queue key {key}")
        } else {
            return;
        };
        findings.add(RuleId::CmForm, None, &[seen.frame], || wrong);
    }

    fn begin(&mut self, call: Call, connection: Connection) {
        if self.calls.insert(call, connection).is_none() {
            self.order.push_back(call);
        }
        while self.order.len() > MOST_CONNECTIONS {
            if let Some(old) = self.order.pop_front() {
                self.calls.remove(&old);
                self.forgotten += 1;
            }
        }
    }

    fn reply(&mut self, rep: &Rep, sum: u32, seen: &Seen<'_>, findings: &mut Findings) -> Option<Agreement> {
        let (from, to) = (seen.key.source, seen.key.destination);
        let call = (to, from, rep.remote_communication_id);
        if !self.calls.contains_key(&call) {
            self.unknown(to, from, rep.remote_communication_id, "REP", seen, findings);
            return None;
        }
        self.again(&call, 0x13, false, sum, seen, findings);
        let connection = self.calls.get_mut(&call)?;
        if connection.answered.is_some() {
            return None;
        }
        connection.answered = Some((rep.local_communication_id, seen.frame));
        let (req, frame) = (&connection.req, connection.frame);
        if rep.initiator_depth > req.responder_resources {
            findings.add(RuleId::CmDepth, None, &[seen.frame, frame], || {
                format!(
                    "the REP asks for {} READs at once, the REQ's sender answers {}",
                    rep.initiator_depth, req.responder_resources
                )
            });
        }
        Some(Agreement {
            ends: [to, from],
            queue_pairs: [req.local_qpn, rep.local_qpn],
            first_psns: [rep.starting_psn, req.starting_psn],
            depths: [rep.responder_resources, req.responder_resources],
            retry_counts: [None, Some(req.retry_count)],
            path_mtu: PathMtu::from_code(req.path_mtu_code),
            partition_key: req.partition_key,
            frames: [frame, seen.frame],
        })
    }

    /// An answer's ID of the other side, by a side that called.
    fn names(&self, call: &Call, id: u32, name: &str, seen: &Seen<'_>, findings: &mut Findings) {
        let answered = self.calls.get(call).and_then(|connection| connection.answered);
        if let Some((told, frame)) = answered.filter(|(told, _)| *told != id) {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                format!("{name} names the communication ID {id:#010x}, the REP's is {told:#010x}")
            });
        }
    }

    /// A message that the side that called may send, or the other one.
    fn either_way(
        &mut self,
        local: u32,
        remote: u32,
        name: &str,
        sum: u32,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        let (from, to) = (seen.key.source, seen.key.destination);
        let attribute = if name == "DREQ" { 0x15 } else { 0x16 };
        if self.calls.contains_key(&(from, to, local)) {
            self.names(&(from, to, local), remote, name, seen, findings);
            self.again(&(from, to, local), attribute, true, sum, seen, findings);
        } else if let Some(connection) = self.calls.get(&(to, from, remote)) {
            if let Some((told, frame)) = connection.answered.filter(|(told, _)| *told != local) {
                findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                    format!("{name} has the communication ID {local:#010x}, its sender's REP {told:#010x}")
                });
            }
            self.again(&(to, from, remote), attribute, false, sum, seen, findings);
        }
    }

    /// An answer to a call that is not known: wrong if the two have a call open that is not answered.
    fn unknown(
        &self,
        caller: Address,
        called: Address,
        id: u32,
        name: &str,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        let calls = self.calls.range((caller, called, 0)..=(caller, called, u32::MAX));
        // One that the capture does not have may be meant, but hardly where there is one that waits.
        if let Some((call, connection)) = calls.take(64).find(|(_, connection)| connection.answered.is_none())
        {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, connection.frame], || {
                format!("{name} names the communication ID {id:#010x}, the REQ's is {:#010x}", call.2)
            });
        }
    }

    /// A message that has come before is the same.
    fn again(
        &mut self,
        call: &Call,
        attribute: u16,
        by_caller: bool,
        sum: u32,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        let Some(connection) = self.calls.get_mut(call) else { return };
        let (before, frame) = *connection.sums.entry((attribute, by_caller)).or_insert((sum, seen.frame));
        if before != sum {
            findings.add(RuleId::CmRepeat, None, &[seen.frame, frame], || {
                "the message comes again with another content".to_owned()
            });
        }
    }
}
