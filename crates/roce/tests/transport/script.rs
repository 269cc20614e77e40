//! One side alone, driven line by line: what is posted, what comes in, what must go out, what must be told.
//!
//! ```text
//! let mut t = Script::new();
//! t.post(send(2500));
//! t.expect("SEND_FIRST psn=0 len=1024");
//! t.expect("SEND_MIDDLE psn=1 len=1024");
//! t.expect("SEND_LAST psn=2 len=452 ackreq");
//! t.deliver(ack(2).msn(1));
//! t.expect_done(0);
//! ```
//!
//! Packets are expected by their line, as logs and dumps print it, and must be sound down to the ICRC. Packets leave
//! only when something is expected, so that a script decides what is answered together. Whatever a script did not
//! expect, packet or completion, fails it at its end.

mod expect;
pub mod keys;
pub mod packet;
pub mod work;

use std::collections::VecDeque;
use std::net::IpAddr;

use rdmalab_roce::Counters;
use rdmalab_verbs::{
    Attributes, Completion, CompletionStatus, PostError, QueuePairType, SendRequest, Sge,
    SharedReceiveQueueId, State, Target,
};
use rdmalab_wire::{Body, Datagram, Ecn, NetworkHeader, Packet, PathMtu, Qpn, Transport};

pub use crate::script::keys::*;
pub use crate::script::packet::*;
pub use crate::script::work::*;
pub use crate::side::{Application, BASE, CREDITS, MEMORY, QUEUE_KEY, Setup, Side};

/// The queue pair of the peer that the script plays.
pub const PEER_QUEUE_PAIR: Qpn = Qpn::new(0x777);
/// The shared receive queue that requests over XRC name.
pub const PEER_SHARED_QUEUE: SharedReceiveQueueId = SharedReceiveQueueId::from_number(0x333);
/// One microsecond and one millisecond on the script's clock.
pub const MICROSECOND: u64 = 1_000;
pub const MILLISECOND: u64 = 1_000_000;

/// The peer's address.
pub fn peer() -> IpAddr {
    crate::side::address(2)
}

pub struct Script {
    pub side: Side,
    pub now: u64,
    setup: Setup,
    /// Whom requests are for that do not say it themselves.
    target: Target,
    /// Sent, and not expected yet.
    sent: VecDeque<Vec<u8>>,
    /// Completions not expected yet.
    completions: VecDeque<Completion>,
    /// The last packet that was expected.
    last: Vec<u8>,
    posted: u64,
    received: u64,
    /// Discards already expected.
    discarded: Counters,
}

impl Script {
    /// In RTS, with a path MTU of 1024 and both PSNs at 0.
    pub fn new() -> Self {
        Self::with(Setup::default())
    }

    /// In RTS.
    pub fn with(setup: Setup) -> Self {
        Self::in_state(State::Rts, setup)
    }

    /// In RTS, a queue pair of this kind.
    pub fn of(kind: QueuePairType) -> Self {
        Self::with(Setup { kind, ..Setup::default() })
    }

    /// In RTS, all PSNs beginning at `psn`.
    pub fn from_psn(psn: u32) -> Self {
        Self::with(Setup { first_psn: psn, ..Setup::default() })
    }

    /// In RTS with this path MTU.
    pub fn with_mtu(mtu: PathMtu) -> Self {
        Self::with(Setup { mtu, ..Setup::default() })
    }

    /// In any state, reached the shortest way.
    pub fn in_state(state: State, setup: Setup) -> Self {
        let mut side = Side::new(1, &setup);
        let target = match setup.kind {
            QueuePairType::Ud => Target::Datagram {
                path: side.handle_to(peer()),
                queue_pair: PEER_QUEUE_PAIR,
                queue_key: QUEUE_KEY,
            },
            QueuePairType::XrcInitiator => Target::Xrc(PEER_SHARED_QUEUE),
            _ => Target::Connected,
        };
        let mut script = Self {
            side,
            now: 0,
            setup,
            target,
            sent: VecDeque::new(),
            completions: VecDeque::new(),
            last: Vec::new(),
            posted: 0,
            received: 100,
            discarded: Counters::default(),
        };
        assert_eq!(script.side.key, KEY.value(), "scripts write the key down");
        script.go_to(state);
        script
    }

    /// Walks from RESET to a state.
    pub fn go_to(&mut self, state: State) {
        let [init, rtr, rts] = self.side.steps(&self.setup, peer(), PEER_QUEUE_PAIR);
        let to = |state| Attributes { state: Some(state), ..Attributes::default() };
        let way = match state {
            State::Reset => vec![],
            State::Init => vec![init],
            State::Rtr => vec![init, rtr],
            State::Rts => vec![init, rtr, rts],
            State::Sqd => vec![init, rtr, rts, to(State::Sqd)],
            State::Err => vec![to(State::Err)],
            State::Sqe => return self.go_to_sqe(),
        };
        for attributes in way {
            self.modify(attributes);
        }
    }

    /// A request with a bad element stops the send queue.
    fn go_to_sqe(&mut self) {
        self.go_to(State::Rts);
        let id = self.post(send(1).in_elements(&[Sge { address: BASE, length: 1, key: 0 }]));
        self.expect_completion(id, CompletionStatus::LocalProtectionError);
        self.expect_state(State::Sqe);
    }

    /// As [`go_to`](Self::go_to), with another beginning.
    pub fn reconnect(&mut self, setup: Setup) {
        self.setup = setup;
        self.go_to(State::Rts);
    }

    #[track_caller]
    pub fn modify(&mut self, attributes: Attributes) {
        self.try_modify(attributes).unwrap();
    }

    pub fn try_modify(&mut self, attributes: Attributes) -> Result<(), rdmalab_verbs::ModifyError> {
        let Side { endpoint, context, queue_pair, .. } = &mut self.side;
        endpoint.modify(context, *queue_pair, &attributes)
    }

    #[track_caller]
    pub fn modify_state(&mut self, state: State) {
        self.modify(Attributes { state: Some(state), ..Attributes::default() });
    }

    /// Posts to the send queue and returns the request's number; they count from 0.
    #[track_caller]
    pub fn post(&mut self, work: Work) -> u64 {
        self.try_post(work).unwrap();
        self.posted - 1
    }

    pub fn try_post(&mut self, work: Work) -> Result<(), PostError> {
        let elements = work.elements(&self.side);
        let request = SendRequest {
            id: self.posted,
            operation: work.operation,
            target: work.target.unwrap_or(self.target),
            elements: &elements,
            flags: work.flags,
            inline: work.inline.as_deref(),
        };
        let Side { endpoint, context, queue_pair, .. } = &mut self.side;
        endpoint.post_send(context, *queue_pair, &request)?;
        self.posted += 1;
        Ok(())
    }

    /// Posts a receive of `length` bytes at the start of the region; their numbers count from 100.
    #[track_caller]
    pub fn receive(&mut self, length: usize) -> u64 {
        self.receive_at(0, length)
    }

    #[track_caller]
    pub fn receive_at(&mut self, offset: usize, length: usize) -> u64 {
        let id = self.received;
        self.side.receive(id, offset, length).unwrap();
        self.received += 1;
        id
    }

    /// A packet from the peer arrives.
    pub fn deliver(&mut self, packet: Incoming) {
        let bytes = self.encode(&packet);
        self.deliver_bytes(&bytes);
    }

    pub fn deliver_bytes(&mut self, bytes: &[u8]) {
        let Side { endpoint, context, .. } = &mut self.side;
        endpoint.handle_packet(context, self.now, bytes);
    }

    /// The bytes of a packet from the peer to this side, with a right ICRC.
    pub fn encode(&self, packet: &Incoming) -> Vec<u8> {
        self.encode_between(peer(), self.side.address, packet)
    }

    pub fn encode_between(&self, source: IpAddr, destination: IpAddr, packet: &Incoming) -> Vec<u8> {
        let mut bth = packet.bth;
        if bth.destination == Qpn::default() {
            bth.destination = self.side.queue_pair;
        }
        let network = NetworkHeader::new(source, destination, 0xc000, 0, Ecn::NotEct, 64).unwrap();
        let Incoming { transport, body, ref payload, .. } = *packet;
        let transport = transport.unwrap_or_else(|| self.transport(&body));
        let packet = Packet { bth, transport, body, payload };
        let start = network.length();
        let mut bytes = vec![0; start + packet.encoded_length() + 4];
        packet.encode(&mut bytes[start..]).unwrap();
        network.finish(&mut bytes, 1).unwrap();
        bytes
    }

    /// How the peer of this side's queue pair speaks.
    fn transport(&self, body: &Body) -> Transport {
        match self.setup.kind {
            QueuePairType::Rc => Transport::Rc,
            QueuePairType::Uc => Transport::Uc,
            QueuePairType::Ud => deth(QUEUE_KEY, PEER_QUEUE_PAIR),
            QueuePairType::XrcInitiator | QueuePairType::XrcTarget if body.is_response() => {
                Transport::Xrc(None)
            }
            QueuePairType::XrcInitiator | QueuePairType::XrcTarget => {
                xrceth(self.side.shared.unwrap_or_default())
            }
        }
    }

    /// Lets time pass, with everything that falls due on the way.
    pub fn advance(&mut self, nanoseconds: u64) {
        self.poll();
        let end = self.now + nanoseconds;
        while let Some(due) = self.side.endpoint.next_timeout().filter(|&due| due <= end) {
            self.now = self.now.max(due);
            let Side { endpoint, context, .. } = &mut self.side;
            endpoint.handle_timeout(context, self.now);
            assert!(endpoint.next_timeout().is_none_or(|next| next > self.now), "a timer that stays due");
            self.poll();
        }
        self.now = end;
    }

    /// How long until something falls due.
    pub fn until_timeout(&mut self) -> Option<u64> {
        self.poll();
        self.side.endpoint.next_timeout().map(|due| due - self.now)
    }

    /// Takes out what can be sent and what completed.
    fn poll(&mut self) {
        let packets = self.side.drain(self.now);
        self.sent.extend(packets);
        let completions = self.side.completions();
        self.completions.extend(completions);
    }

    pub fn counters(&self) -> &Counters {
        self.side.endpoint.counters()
    }
}

/// An IPv4 packet with lengths that agree with its size, and a right ICRC whatever else is wrong with it.
pub fn with_right_icrc(mut bytes: Vec<u8>) -> Vec<u8> {
    let header = *bytes.first_chunk().unwrap();
    NetworkHeader::V4(header).finish(&mut bytes, 1).unwrap();
    bytes
}

pub fn line_of(bytes: &[u8]) -> String {
    Packet::parse(Datagram::parse(bytes).unwrap().ib).unwrap().to_string()
}

/// What a script did not expect must not have happened.
impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.expect_nothing();
            self.expect_no_completion();
        }
    }
}
