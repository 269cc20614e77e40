//! Connection management: who calls whom, by which messages. What REQ and REP agree on is in `agreement`, alternate paths are in
//! `path`, messages that come again in `again`, whose a message is in `identity`, what is to be in each in `form`, what a REJ ends in
//! `rejection`, services for datagrams in `service`.

mod again;
mod agreement;
mod form;
mod identity;
mod path;
mod rejection;
mod service;

use std::collections::{BTreeMap, HashMap, VecDeque};

use rdmalab_wire::mad::{Req, response_timeout_nanoseconds};
use rdmalab_wire::{Address, CmMessage, Qpn, RawMad};

use crate::finding::Findings;
use crate::packet::{FlowKey, Seen};
use again::{Message, Said};
pub(crate) use agreement::Agreement;
use path::Offer;
pub(crate) use path::{Alternate, Route};
use service::Question;
pub(crate) use service::Service;

/// Connections that are remembered; the oldest make room.
pub(crate) const MOST_CONNECTIONS: usize = 8192;

/// So many of them between two hosts are looked through for one that a message with wrong IDs may be of.
const MOST_SEARCHED: usize = 64;

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
    /// To queue pairs of connections that a REJ ended, with its frame and time.
    ended: HashMap<FlowKey, (u64, i64)>,
    pub messages: u64,
    pub forgotten: u64,
}

/// What two sides agree on by a message.
pub(crate) enum Agreed {
    /// A connection, by its first REP.
    Connection(Agreement),
    /// Whether there is an alternate path, by an APR.
    Path(Alternate),
    /// The queue key of a service for datagrams, by a SIDR_REP.
    Service(Service),
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
                let is_known = self.calls.get(&call).is_some_and(|connection| {
                    connection.req.local_qpn == req.local_qpn
                        && connection.transaction == header.transaction_id
                });
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
                let rtu_said = said("RTU");
                if !self.calls.contains_key(&call) && !self.calls.contains_key(&called) {
                    let ids = (rtu.local_communication_id, rtu.remote_communication_id);
                    self.is_astray(ids, &rtu_said, seen, findings);
                }
                self.is_of_the_caller(&call, &called, "RTU", seen, findings);
                self.names(&call, rtu.remote_communication_id, "RTU", seen, findings);
                self.is_rejected(&call, "RTU", seen, findings);
                self.is_of_transaction(&call, true, &rtu_said, seen, findings);
                self.again(&call, &rtu_said, true, seen, findings);
            }
            CmMessage::Dreq(dreq) => {
                let ids = (dreq.local_communication_id, dreq.remote_communication_id);
                if let Some((call, by_caller)) = self.either_way(ids, &said("DREQ"), seen, findings) {
                    self.is_for_queue_pair(&call, by_caller, &dreq, seen, findings);
                }
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
                    self.end(&call, by_caller, (seen.frame, seen.time));
                }
            }
            CmMessage::Lap(lap) => {
                let said = Message { timeout: Some(lap.remote_response_timeout), ..said("LAP") };
                self.offer(&lap, &said, seen, findings);
            }
            CmMessage::Apr(apr) => return self.judge(&apr, &said("APR"), seen, findings).map(Agreed::Path),
            CmMessage::SidrReq(req) => self.ask(&req, &said("SIDR_REQ"), seen, findings),
            CmMessage::SidrRep(rep) => {
                return self.find_service(&rep, &said("SIDR_REP"), seen, findings).map(Agreed::Service);
            }
        }
        None
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
