//! Connection management: who calls whom, by which messages. What REQ and REP agree on is in `agreement`, alternate paths are in
//! `path`, messages that come again in `again`, what a REJ ends in `rejection`, services for datagrams in `service`.

mod again;
mod agreement;
mod path;
mod rejection;
mod service;

use std::collections::{BTreeMap, HashMap, VecDeque};

use rdmalab_wire::mad::{Req, response_timeout_nanoseconds};
use rdmalab_wire::{Address, CmMessage, QKey, Qpn, RawMad};

use crate::finding::Findings;
use crate::packet::{FlowKey, Seen};
use crate::rules::RuleId;
use again::{Message, Said};
pub(crate) use agreement::Agreement;
use path::Offer;
pub(crate) use path::{Alternate, Route};
use service::Question;

/// Connections that are remembered; the oldest make room.
pub(crate) const MOST_CONNECTIONS: usize = 8192;

/// The class of communication management.
const CLASS: u8 = 0x07;
/// The method of all its messages.
const SEND: u8 = 0x03;
/// Attributes of its messages.
const REQ: u16 = 0x10;
const MRA: u16 = 0x11;
const REJ: u16 = 0x12;
const REP: u16 = 0x13;
const RTU: u16 = 0x14;
const DREQ: u16 = 0x15;
const DREP: u16 = 0x16;
const LAP: u16 = 0x19;
const APR: u16 = 0x1a;

/// What names a connection: who sent the REQ, to whom, and its communication ID.
type Call = (Address, Address, u32);

struct Connection {
    req: Req,
    /// The transaction of the REQ, which its REP is of, too.
    transaction: u64,
    frame: u64,
    /// The answering side's communication ID and where it was told.
    answered: Option<(u32, u64)>,
    /// The communication ID that the answering side named before its REP.
    named: Option<(u32, u64)>,
    /// Its queue pair, from the REP.
    called_pair: Option<Qpn>,
    /// Paths offered by LAP, of the caller and of the one who was called, until they are answered.
    offers: [Option<Offer>; 2],
    /// Who rejected, and where.
    rejected: Option<(bool, u64)>,
    /// Messages that may come again, by attribute and whether the caller sends them.
    said: BTreeMap<(u16, bool), Said>,
    /// Until when an MRA asks the caller, and the one who was called, to wait.
    waits: [i64; 2],
}

/// All connections under way.
#[derive(Default)]
pub(crate) struct Connections {
    calls: BTreeMap<Call, Connection>,
    order: VecDeque<Call>,
    /// By who asks, who is asked, and the question's ID.
    questions: BTreeMap<Call, Question>,
    questions_in_order: VecDeque<Call>,
    /// To queue pairs of connections that a REJ ended, with its frame.
    ended: HashMap<FlowKey, u64>,
    pub messages: u64,
    pub forgotten: u64,
}

/// What two sides agree on by a message.
pub(crate) enum Agreed {
    /// A connection, by its first REP.
    Connection(Agreement),
    /// Whether there is an alternate path, by an APR.
    Path(Alternate),
}

impl Connections {
    /// A datagram to a general services interface. Gives back what is agreed on by it.
    pub fn datagram(&mut self, seen: &Seen<'_>, mad: &RawMad<'_>, findings: &mut Findings) -> Option<Agreed> {
        let header = mad.header?;
        self.form(seen, mad, findings);
        let message = mad.message().filter(|_| header.class.0 == CLASS)?;
        self.messages += 1;
        let said = |name| Message {
            attribute: header.attribute_id,
            name,
            sum: crc32fast::hash(mad.data),
            timeout: None,
            transaction: header.transaction_id,
        };
        let (from, to) = (seen.key.source, seen.key.destination);
        match message {
            CmMessage::Req(req) => {
                let call = (from, to, req.local_communication_id);
                let is_known =
                    self.calls.get(&call).is_some_and(|connection| connection.req.local_qpn == req.local_qpn);
                if !is_known {
                    // Its number may have been another connection's.
                    self.ended.remove(&FlowKey { source: to, destination: from, queue_pair: req.local_qpn });
                    self.begin(call, Connection::new(req, header.transaction_id, seen.frame));
                }
                self.again(&call, &said("REQ"), true, seen, findings);
            }
            CmMessage::Rep(rep) => {
                return self.reply(&rep, &said("REP"), seen, findings).map(Agreed::Connection);
            }
            CmMessage::Rtu(rtu) => {
                let call = (from, to, rtu.local_communication_id);
                let called = (to, from, rtu.remote_communication_id);
                self.is_of_the_caller(&call, &called, "RTU", seen, findings);
                self.names(&call, rtu.remote_communication_id, "RTU", seen, findings);
                self.is_rejected(&call, "RTU", seen, findings);
                self.again(&call, &said("RTU"), true, seen, findings);
            }
            CmMessage::Dreq(dreq) => {
                let ids = (dreq.local_communication_id, dreq.remote_communication_id);
                self.either_way(ids, &said("DREQ"), seen, findings);
            }
            CmMessage::Drep(drep) => {
                let ids = (drep.local_communication_id, drep.remote_communication_id);
                self.either_way(ids, &said("DREP"), seen, findings);
            }
            CmMessage::Mra(mra) => {
                let ids = (mra.local_communication_id, mra.remote_communication_id);
                if let Some((call, by_caller)) = self.either_way(ids, &said("MRA"), seen, findings)
                    && let Some(connection) = self.calls.get_mut(&call)
                {
                    // Who is told to wait is the other one.
                    let wait = response_timeout_nanoseconds(mra.service_timeout).cast_signed();
                    let until = &mut connection.waits[usize::from(by_caller)];
                    *until = (*until).max(seen.time.saturating_add(wait));
                }
            }
            CmMessage::Rej(rej) => {
                let ids = (rej.local_communication_id, rej.remote_communication_id);
                if let Some((call, by_caller)) = self.either_way(ids, &said("REJ"), seen, findings) {
                    self.end(&call, by_caller, seen.frame);
                }
            }
            CmMessage::Lap(lap) => {
                let said = Message { timeout: Some(lap.remote_response_timeout), ..said("LAP") };
                self.offer(&lap, &said, seen, findings);
            }
            CmMessage::Apr(apr) => return self.judge(&apr, &said("APR"), seen, findings).map(Agreed::Path),
            CmMessage::SidrReq(req) => self.ask(&req, &said("SIDR_REQ"), seen, findings),
            CmMessage::SidrRep(rep) => self.find_service(&rep, seen, findings),
        }
        None
    }

    fn form(&self, seen: &Seen<'_>, mad: &RawMad<'_>, findings: &mut Findings) {
        let Some(header) = mad.header else { return };
        let queue_key = seen.headers.deth.map(|deth| deth.queue_key);
        let wrong = if header.base_version != 1 {
            format!("base version {}", header.base_version)
        } else if header.class.0 == CLASS && header.class_version != 2 {
            format!("class version {}", header.class_version)
        } else if header.class.0 == CLASS && header.attribute_id >= REQ && header.method.0 != SEND {
            format!("method {:#04x}", header.method.0)
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
        message: &Message,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) -> Option<(Call, bool)> {
        let (from, to) = (seen.key.source, seen.key.destination);
        let (called, caller) = ((to, from, remote), (from, to, local));
        if self.calls.contains_key(&caller) {
            self.names(&caller, remote, message.name, seen, findings);
            self.again(&caller, message, true, seen, findings);
            return Some((caller, true));
        }
        let connection = self.calls.get_mut(&called)?;
        // Before its REP, it need not have chosen an ID.
        let told = connection.answered.or(connection.named).filter(|_| local != 0);
        if let Some((told, frame)) = told.filter(|(told, _)| *told != local) {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                let name = message.name;
                format!("{name} has the communication ID {local:#010x}, its sender named {told:#010x} before")
            });
        }
        if local != 0 && connection.answered.is_none() {
            connection.named.get_or_insert((local, seen.frame));
        }
        self.again(&called, message, false, seen, findings);
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

    /// A message that only who called sends, or only who was called: wrong where the call is known from the other side alone.
    fn is_of_the_caller(
        &self,
        right: &Call,
        wrong: &Call,
        name: &str,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        if self.calls.contains_key(right) {
            return;
        }
        if let Some(connection) = self.calls.get(wrong) {
            findings.add(RuleId::CmOrder, None, &[seen.frame, connection.frame], || {
                format!("{name} comes from the side whose answer it would be")
            });
        }
    }

    /// A REP to a call that is not known: wrong if it is of the transaction of one that is, and that waits. Another one, which the
    /// capture does not have, may be meant otherwise.
    fn unknown(
        &self,
        (from, to): (Address, Address),
        id: u32,
        rep: &Message,
        frame: u64,
        findings: &mut Findings,
    ) {
        let mut calls = self.calls.range((to, from, 0)..=(to, from, u32::MAX)).take(64);
        let meant = calls.find(|(_, connection)| {
            connection.answered.is_none() && connection.transaction == rep.transaction
        });
        if let Some((call, connection)) = meant {
            findings.add(RuleId::CmAnswer, None, &[frame, connection.frame], || {
                format!("{} names the communication ID {id:#010x}, the REQ's is {:#010x}", rep.name, call.2)
            });
        }
    }
}

impl Connection {
    fn new(req: Req, transaction: u64, frame: u64) -> Connection {
        Connection {
            req,
            transaction,
            frame,
            answered: None,
            named: None,
            called_pair: None,
            offers: [None, None],
            rejected: None,
            said: BTreeMap::new(),
            waits: [i64::MIN; 2],
        }
    }
}
