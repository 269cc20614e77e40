//! The queue pair under test and what is known of it.

use std::collections::VecDeque;
use std::sync::Arc;

use rdmalab_iwarp::{
    End, Event, Identity, Negotiated, QueuePair, QueuePairConfig, ReadyToReceive, Role, StreamSettings,
};
use rdmalab_verbs::{
    Access, Capabilities, CompletionQueueId, CompletionStatus, Context, HeapMemory, Memory, Operation,
    PostError, ProtectionDomainId, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::iwarp::{Body, Event as Found, FpduEncoder, Framer, Framing, Segment};
use rdmalab_wire::{ImmDt, Qpn, RKey};

use super::answers::Asked;
use super::segment::Due;

pub const BASE: u64 = 0x10_0000;
pub const MEMORY: usize = 8 * 1024;
/// Requests that a queue holds.
const DEPTH: u32 = 16;
/// FPDUs that may go out without a word of the peer: sixteen requests and sixteen answers, each of twice the memory at most,
/// in segments of a hundred bytes, are fewer.
const MOST_FPDUS: usize = 16_384;
/// Of a request, so that it is done within [`MOST_FPDUS`].
const MOST_BYTES: u32 = 2 * MEMORY as u32;

pub struct Rig {
    context: Context,
    queue_pair: QueuePair,
    completions: CompletionQueueId,
    domain: ProtectionDomainId,
    memory: Arc<HeapMemory>,
    /// Changed only by those who may: the one that the peer reads, and the one of another protection domain.
    protected: [Arc<HeapMemory>; 2],
    may_go: Option<u32>,
    due: Due,
    encoder: FpduEncoder,
    framer: Framer,
    crc: bool,
    /// Bytes of the pieces that FPDUs come in.
    piece: usize,
    next_id: u64,
    /// Numbers of what is posted and not complete: requests and receives.
    posted: [VecDeque<u64>; 2],
    asked: VecDeque<Asked>,
    /// Of the peer's atomic responses.
    response_msn: u32,
    /// What was told, by kind.
    told: Vec<Event>,
    terminates: usize,
}

impl Rig {
    /// A connection as the four bytes have it: bits of flags; IRD and ORD; the segment size; the pieces.
    pub fn new([flags, reads, segment_size, piece]: [u8; 4]) -> Self {
        let mut context = Context::default();
        let domain = context.allocate_protection_domain().expect("an empty context");
        let other = context.allocate_protection_domain().expect("an empty context");
        let completions = context.create_completion_queue(4 * DEPTH).expect("an empty context");
        let [memory, read_only, foreign] = [(); 3].map(|()| Arc::new(HeapMemory::new(MEMORY)));
        let mut register = |domain, memory: &Arc<HeapMemory>, access| {
            context.register(domain, BASE, memory.clone(), access).expect("an empty context")
        };
        let usual = register(domain, &memory, Access::FULL);
        let read_only_key = register(domain, &read_only, Access::REMOTE_READ);
        let may_go = register(domain, &memory, Access::FULL);
        let foreign_key = register(other, &foreign, Access::FULL);
        let keys = [usual, read_only_key, may_go, foreign_key, 1];
        let capabilities =
            Capabilities { max_send_requests: DEPTH, max_receive_requests: DEPTH, ..Capabilities::default() };
        let config = QueuePairConfig::new(domain, completions, capabilities);
        let identity = Identity { number: Qpn::new(0x11), accessor: 1 };
        let mut queue_pair = QueuePair::new(&mut context, identity, &config).expect("an empty context");
        let bit = |n: u8| flags >> n & 1 != 0;
        let ready = [ReadyToReceive::Empty, ReadyToReceive::Write, ReadyToReceive::Read];
        let framing = Framing { markers: bit(2), crc: bit(1) };
        let negotiated = Negotiated {
            role: if bit(0) { Role::Responder } else { Role::Initiator },
            revision: 2,
            crc: framing.crc,
            send_markers: framing.markers,
            receive_markers: framing.markers,
            ird: u16::from(reads & 0x0f),
            ord: u16::from(reads >> 4),
            ready_to_receive: ready.get(usize::from(flags >> 5 & 0b11)).copied(),
        };
        let stream = StreamSettings {
            segment_size: 128 + 16 * usize::from(segment_size),
            rfc7306: bit(3),
            swapped_terminates: bit(4),
            waits_for_initiator: !bit(7),
        };
        queue_pair.establish(&context, &negotiated, &stream).expect("it is in INIT");
        let mut rig = Self {
            context,
            queue_pair,
            completions,
            domain,
            memory,
            protected: [read_only, foreign],
            may_go: Some(may_go),
            due: Due { keys, msn: [1; 4], offset: 0 },
            encoder: FpduEncoder::new(framing),
            framer: Framer::new(framing),
            crc: framing.crc,
            piece: if piece == 0 { usize::MAX } else { usize::from(piece) },
            next_id: 0,
            posted: [VecDeque::new(), VecDeque::new()],
            asked: VecDeque::new(),
            response_msn: 1,
            told: Vec::new(),
            terminates: 0,
        };
        for n in 0..4 {
            rig.receive(1000, 1000 * n);
        }
        rig
    }

    /// A segment comes, set right where the step says so; the eighth kind with a wrong CRC.
    pub fn segment(&mut self, step: u8, bytes: &[u8]) {
        let ulpdu = self.due.set_right(step, bytes);
        self.say(&ulpdu, step & 0x0f == 7);
    }

    fn say(&mut self, ulpdu: &[u8], is_damaged: bool) {
        let mut fpdu = vec![0; ulpdu.len() + ulpdu.len() / 64 + 64];
        let Ok(length) = self.encoder.encode(&[ulpdu], &mut fpdu) else { return };
        fpdu.truncate(length);
        if is_damaged && let Some(last) = fpdu.last_mut() {
            *last ^= 1;
        }
        self.deliver(&fpdu);
    }

    /// Bytes come. Behind some that are no FPDU nobody knows where the next one begins; the markers of what is said later stand
    /// wrong then.
    pub fn deliver(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(self.piece) {
            self.queue_pair.handle_bytes(&mut self.context, piece);
        }
    }

    pub fn answer(&mut self, count: usize) {
        for _ in 0..count {
            let Some(asked) = self.asked.pop_front() else { return };
            for ulpdu in asked.answer(&mut self.response_msn) {
                self.say(&ulpdu, false);
            }
        }
    }

    pub fn post(&mut self, kind: u8, flags: u8, length: u16, at: u16) {
        let remote = RemoteAddress { address: 0x5000, key: RKey::new(0x1234) };
        let may_go = RKey::new(self.may_go.unwrap_or(1));
        let operation = match kind % 11 {
            0 => Operation::Send,
            1 => Operation::SendWithInvalidate(RKey::new(9)),
            2 => Operation::RdmaWrite(remote),
            3 => Operation::RdmaWriteWithImmediate(remote, ImmDt([8; 4])),
            4 => Operation::RdmaRead(remote),
            5 => Operation::RdmaReadWithInvalidate(remote, may_go),
            6 => Operation::FetchAndAdd { remote, add: 1 },
            7 => Operation::CompareAndSwap { remote, compare: 0, swap: 1 },
            8 => Operation::MaskedFetchAndAdd { remote, add: 1, boundary: 1 << 31 },
            9 => Operation::SendWithImmediate(ImmDt([9; 4])),
            _ => Operation::LocalInvalidate(may_go),
        };
        let length = if operation.is_atomic() { 8 } else { u32::from(length) % MOST_BYTES };
        let elements: &[Sge] =
            if operation.is_local() { &[] } else { &[self.sge(at, length, flags & 0x80 != 0)] };
        let id = self.id(0);
        // All are signaled, so that each can be counted.
        let flags = SendFlags::from_bits_truncate(flags) | SendFlags::SIGNALED;
        let request = SendRequest { id, operation, elements, flags, ..SendRequest::default() };
        match self.queue_pair.post_send(&mut self.context, &request) {
            Ok(()) => self.posted[0].push_back(id),
            Err(error) => expect_sensible(error),
        }
    }

    pub fn receive(&mut self, length: u16, at: u16) {
        let id = self.id(1);
        let elements = [self.sge(at, u32::from(length), false)];
        match self.queue_pair.post_receive(&mut self.context, &ReceiveRequest { id, elements: &elements }) {
            Ok(()) => self.posted[1].push_back(id),
            Err(error) => expect_sensible(error),
        }
    }

    /// Requests have even numbers, receives odd ones.
    fn id(&mut self, kind: u64) -> u64 {
        self.next_id += 2;
        self.next_id + kind
    }

    /// In a region that is there from beginning to end, or in one that may go, or in nobody's.
    fn sge(&self, at: u16, length: u32, may_go: bool) -> Sge {
        let key = if may_go { self.may_go.unwrap_or(1) } else { self.due.keys[0] };
        Sge { address: BASE + u64::from(at), length, key }
    }

    /// Takes FPDUs out and looks at each.
    pub fn poll(&mut self, most: usize) {
        let mut out = vec![0xa5; self.queue_pair.max_fpdu()];
        for _ in 0..most {
            let has_work = self.queue_pair.has_work();
            let length = self.queue_pair.poll_transmit(&mut self.context, &mut out);
            assert!(has_work || length == 0, "what has no work has nothing to send");
            if length == 0 {
                return;
            }
            let is_over = self.told.iter().any(|event| matches!(event, Event::CloseSending | Event::Reset));
            assert!(!is_over && self.terminates == 0, "nothing goes out behind the end");
            self.look_at(&out[..length]);
        }
        assert!(most < MOST_FPDUS, "the queue pair does not come to rest");
    }

    fn look_at(&mut self, mut fpdu: &[u8]) {
        let (mut ulpdu, mut ends) = (Vec::new(), 0);
        while let Some(found) = self.framer.next_event(&mut fpdu) {
            match found {
                Found::Marker(marker) => assert!(marker.is_right(), "{marker:?}"),
                Found::Head(head) => ulpdu.extend_from_slice(head.header_bytes()),
                Found::Payload(bytes) => ulpdu.extend_from_slice(bytes),
                Found::End(end) => {
                    assert!(if self.crc { end.crc.is_right() } else { end.crc.found == 0 });
                    ends += 1;
                }
            }
        }
        assert_eq!(ends, 1, "one FPDU at a time");
        if ulpdu.is_empty() {
            return;
        }
        let segment = Segment::parse(&ulpdu).expect("what goes out is legal");
        self.terminates += usize::from(matches!(segment.body, Body::Terminate { .. }));
        if self.asked.len() < 64 {
            self.asked.extend(Asked::of(&segment));
        }
    }

    pub fn peer_ends(&mut self, in_order: bool) {
        let end = if in_order { End::Graceful } else { End::Abortive };
        self.queue_pair.handle_end(&mut self.context, end);
    }

    pub fn disconnect(&mut self) {
        self.queue_pair.disconnect(&mut self.context);
    }

    pub fn abort(&mut self) {
        self.queue_pair.abort(&mut self.context);
    }

    /// The region that may go, goes or comes back with another key.
    pub fn change_region(&mut self) {
        self.may_go = match self.may_go {
            // It may be gone by an invalidation.
            Some(key) => {
                let _ = self.context.deregister(key);
                None
            }
            None => self.context.register(self.domain, BASE, self.memory.clone(), Access::FULL).ok(),
        };
        self.due.keys[2] = self.may_go.unwrap_or(1);
    }

    /// What holds after every step.
    pub fn check(&mut self) {
        while let Some(completion) = self.context.poll_completion(self.completions) {
            let posted = &mut self.posted[(completion.id % 2) as usize];
            assert_eq!(posted.pop_front(), Some(completion.id), "{completion:?}");
            let fits = completion.length <= u32::from(u16::MAX);
            assert!(fits || completion.status != CompletionStatus::Success, "{completion:?}");
        }
        assert!(!self.context.is_overrun(self.completions));
        while let Some(event) = self.queue_pair.poll_event() {
            let same = |told: &Event| std::mem::discriminant(told) == std::mem::discriminant(&event);
            assert!(!self.told.iter().any(same), "{event:?} twice");
            self.told.push(event);
        }
        if self.queue_pair.state() == State::Err {
            assert!(self.posted.iter().all(VecDeque::is_empty), "ERR keeps {:?}", self.posted);
        }
    }

    /// Everything comes to an end, and nothing was touched that nobody may touch.
    pub fn end(&mut self) {
        self.poll(MOST_FPDUS);
        self.check();
        self.abort();
        self.check();
        assert_eq!(self.queue_pair.state(), State::Err);
        self.poll(1);
        self.check();
        assert!(!self.queue_pair.has_work());
        for memory in &self.protected {
            let mut bytes = vec![0; MEMORY];
            memory.read(0, &mut bytes).expect("all of it");
            assert!(bytes == [0; MEMORY], "memory changed that nobody may write");
        }
    }
}

fn expect_sensible(error: PostError) {
    assert!(!matches!(error, PostError::NoSuchQueue | PostError::TooManyElements { .. }), "{error}");
}
