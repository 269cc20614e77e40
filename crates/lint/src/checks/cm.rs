//! Connection management: who calls whom, what they agree on, and which flows that makes.

use std::collections::{BTreeMap, VecDeque};

use rdmalab_wire::mad::{Rep, Req, ServiceId, SidrRep, SidrReq, SidrStatus, response_timeout_nanoseconds};
use rdmalab_wire::{Address, CmMessage, PKey, PathMtu, Psn, QKey, Qpn, RawMad};

use crate::finding::Findings;
use crate::packet::Seen;
use crate::rules::RuleId;

/// Connections that are remembered; the oldest make room.
pub(crate) const MOST_CONNECTIONS: usize = 8192;

/// The class of communication management.
const CLASS: u8 = 0x07;
/// Attributes of its messages.
const REQ: u16 = 0x10;
const MRA: u16 = 0x11;
const REJ: u16 = 0x12;
const REP: u16 = 0x13;
const DREQ: u16 = 0x15;
const DREP: u16 = 0x16;
const LAP: u16 = 0x19;
const APR: u16 = 0x1a;
/// What comes again so soon, in nanoseconds, is the same packet seen twice.
const AT_ONCE: i64 = 20_000;

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
    /// The communication ID that the answering side named before its REP.
    named: Option<(u32, u64)>,
    /// Who rejected, and where.
    rejected: Option<(bool, u64)>,
    /// Messages that may come again, by attribute and whether the caller sends them.
    said: BTreeMap<(u16, bool), Said>,
    /// Until when an MRA asks the caller, and the one who was called, to wait.
    waits: [i64; 2],
}

/// A message, and how often it came.
#[derive(Clone, Copy)]
struct Said {
    sum: u32,
    frame: u64,
    count: u32,
    last_time: i64,
    last_ip_id: u16,
}

/// A question for the queue pair of a service.
struct Question {
    service: ServiceId,
    said: Said,
}

/// All connections under way.
#[derive(Default)]
pub(crate) struct Connections {
    calls: BTreeMap<Call, Connection>,
    order: VecDeque<Call>,
    /// By who asks, who is asked, and the question's ID.
    questions: BTreeMap<Call, Question>,
    questions_in_order: VecDeque<Call>,
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
                        Connection {
                            req,
                            frame: seen.frame,
                            answered: None,
                            named: None,
                            rejected: None,
                            said: BTreeMap::new(),
                            waits: [i64::MIN; 2],
                        },
                    );
                }
                self.again(&call, header.attribute_id, true, sum, seen, findings);
                None
            }
            CmMessage::Rep(rep) => self.reply(&rep, sum, seen, findings),
            CmMessage::Rtu(rtu) => {
                let call = (from, to, rtu.local_communication_id);
                self.names(&call, rtu.remote_communication_id, "RTU", seen, findings);
                self.is_rejected(&call, "RTU", seen, findings);
                self.again(&call, header.attribute_id, true, sum, seen, findings);
                None
            }
            CmMessage::Dreq(dreq) => {
                let ids = (dreq.local_communication_id, dreq.remote_communication_id);
                self.either_way(ids, DREQ, "DREQ", sum, seen, findings);
                None
            }
            CmMessage::Drep(drep) => {
                let ids = (drep.local_communication_id, drep.remote_communication_id);
                self.either_way(ids, DREP, "DREP", sum, seen, findings);
                None
            }
            CmMessage::Mra(mra) => {
                let ids = (mra.local_communication_id, mra.remote_communication_id);
                if let Some((call, by_caller)) = self.either_way(ids, MRA, "MRA", sum, seen, findings)
                    && let Some(connection) = self.calls.get_mut(&call)
                {
                    // Who is told to wait is the other one.
                    let wait = response_timeout_nanoseconds(mra.service_timeout).cast_signed();
                    let until = &mut connection.waits[usize::from(by_caller)];
                    *until = (*until).max(seen.time.saturating_add(wait));
                }
                None
            }
            CmMessage::Rej(rej) => {
                let ids = (rej.local_communication_id, rej.remote_communication_id);
                if let Some((call, by_caller)) = self.either_way(ids, REJ, "REJ", sum, seen, findings)
                    && let Some(connection) = self.calls.get_mut(&call)
                {
                    connection.rejected.get_or_insert((by_caller, seen.frame));
                }
                None
            }
            CmMessage::Lap(lap) => {
                let ids = (lap.local_communication_id, lap.remote_communication_id);
                self.either_way(ids, LAP, "LAP", sum, seen, findings);
                None
            }
            CmMessage::Apr(apr) => {
                let ids = (apr.local_communication_id, apr.remote_communication_id);
                self.either_way(ids, APR, "APR", sum, seen, findings);
                None
            }
            CmMessage::SidrReq(req) => {
                self.ask(&req, sum, seen, findings);
                None
            }
            CmMessage::SidrRep(rep) => {
                self.find_service(&rep, seen, findings);
                None
            }
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
        self.again(&call, REP, false, sum, seen, findings);
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
            rnr_retry_counts: [rep.rnr_retry_count, req.rnr_retry_count],
            shared_receives: [req.shared_receive_queue, rep.shared_receive_queue],
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

    /// A message that the side that called may send, or the other one, with its communication IDs, its sender's first. Gives the
    /// connection, and whether the caller sends it.
    fn either_way(
        &mut self,
        (local, remote): (u32, u32),
        attribute: u16,
        name: &str,
        sum: u32,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) -> Option<(Call, bool)> {
        let (from, to) = (seen.key.source, seen.key.destination);
        let (called, caller) = ((to, from, remote), (from, to, local));
        if self.calls.contains_key(&caller) {
            self.names(&caller, remote, name, seen, findings);
            self.again(&caller, attribute, true, sum, seen, findings);
            return Some((caller, true));
        }
        let connection = self.calls.get_mut(&called)?;
        // Before its REP, it need not have chosen an ID.
        let told = connection.answered.or(connection.named).filter(|_| local != 0);
        if let Some((told, frame)) = told.filter(|(told, _)| *told != local) {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                format!("{name} has the communication ID {local:#010x}, its sender named {told:#010x} before")
            });
        }
        if local != 0 && connection.answered.is_none() {
            connection.named.get_or_insert((local, seen.frame));
        }
        self.again(&called, attribute, false, sum, seen, findings);
        Some((called, false))
    }

    /// A connection that was rejected goes no further.
    fn is_rejected(&self, call: &Call, name: &str, seen: &Seen<'_>, findings: &mut Findings) {
        let rejected = self.calls.get(call).and_then(|connection| connection.rejected);
        // Two packets that the capture has in each other's place are no proof.
        if let Some((_, frame)) = rejected.filter(|(_, frame)| frame + 1 < seen.frame) {
            findings.add(RuleId::CmRejected, None, &[seen.frame, frame], || {
                format!("{name} of a connection that was rejected")
            });
        }
    }

    /// A question for a service.
    fn ask(&mut self, req: &SidrReq, sum: u32, seen: &Seen<'_>, findings: &mut Findings) {
        let call = (seen.key.source, seen.key.destination, req.request_id);
        let said = Said::of(sum, seen);
        if let Some(question) = self.questions.get_mut(&call) {
            if question.said.sum != sum {
                let frame = question.said.frame;
                findings.add(RuleId::CmRepeat, None, &[seen.frame, frame], || {
                    "the SIDR_REQ comes again with another content".to_owned()
                });
            }
            return;
        }
        self.questions.insert(call, Question { service: req.service_id, said });
        self.questions_in_order.push_back(call);
        if self.questions_in_order.len() > MOST_CONNECTIONS
            && let Some(old) = self.questions_in_order.pop_front()
        {
            self.questions.remove(&old);
        }
    }

    /// An answer to it.
    fn find_service(&mut self, rep: &SidrRep, seen: &Seen<'_>, findings: &mut Findings) {
        let (from, to) = (seen.key.source, seen.key.destination);
        // To one that the capture missed.
        let Some(question) = self.questions.get(&(to, from, rep.request_id)) else { return };
        let wrong = if rep.service_id != question.service {
            format!("SIDR_REP is about the service {}, asked for was {}", rep.service_id, question.service)
        } else if rep.status == SidrStatus::VALID && rep.qpn.value() == 0 {
            "SIDR_REP says that the service is there, and names no queue pair".to_owned()
        } else {
            return;
        };
        findings.add(RuleId::CmService, None, &[seen.frame, question.said.frame], || wrong);
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

    /// A message that has come before is the same, comes again no sooner than there may be an answer, and not too often.
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
        let req_time = connection.said.get(&(REQ, true)).map(|said| said.last_time);
        let Some(said) = connection.said.get_mut(&(attribute, by_caller)) else {
            connection.said.insert((attribute, by_caller), Said::of(sum, seen));
            return;
        };
        if said.sum != sum {
            // A wait may be asked for several times, an alternate path loaded anew.
            if !matches!(attribute, MRA | REJ | LAP | APR) {
                let frame = said.frame;
                findings.add(RuleId::CmRepeat, None, &[seen.frame, frame], || {
                    "the message comes again with another content".to_owned()
                });
            }
            return;
        }
        let passed = seen.time.saturating_sub(said.last_time);
        let is_same = seen.ip_id == said.last_ip_id || passed < AT_ONCE;
        if is_same || !seen.has_time {
            return;
        }
        let is_answer_to_again =
            attribute == REP && req_time.is_some_and(|req_time| req_time > said.last_time);
        (said.last_time, said.last_ip_id) = (seen.time, seen.ip_id);
        if !matches!(attribute, REQ | REP | DREQ) || is_answer_to_again {
            return;
        }
        said.count = said.count.saturating_add(1);
        let (count, frame) = (said.count, said.frame);
        let (most, req) = (u32::from(connection.req.max_cm_retries), &connection.req);
        if count == most + 2 {
            findings.add(RuleId::CmRetries, None, &[seen.frame, frame], || {
                format!("the message comes for the {count}th time, the REQ allows {most} repetitions")
            });
        }
        let code = if by_caller { req.remote_response_timeout } else { req.local_response_timeout };
        let wait = response_timeout_nanoseconds(code).cast_signed();
        let until = connection.waits.get(usize::from(!by_caller)).copied().unwrap_or(i64::MIN);
        // Places of capture have clocks of their own making: one in a hundred is granted.
        if passed < wait - wait / 100 || seen.time < until.saturating_sub(wait / 100) {
            findings.add(RuleId::CmWait, None, &[seen.frame, frame], || {
                format!(
                    "the message comes again after {:.3} ms; the other side may take {:.3} ms, or what its MRA says",
                    passed as f64 / 1e6,
                    wait as f64 / 1e6
                )
            });
        }
    }
}

impl Said {
    fn of(sum: u32, seen: &Seen<'_>) -> Said {
        Said { sum, frame: seen.frame, count: 1, last_time: seen.time, last_ip_id: seen.ip_id }
    }
}
