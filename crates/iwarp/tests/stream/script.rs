//! One side of a connection, played against by hand: what it is given are segments, and what it must say are their lines.

use rdmalab_iwarp::{End, Event, Role, TerminatedBy};
use rdmalab_verbs::{
    Completion, CompletionStatus, Operation, PostError, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::RKey;
use rdmalab_wire::iwarp::{
    Event as Found, FpduEncoder, Framer, Framing, Header, Opcode, Place, RawSegment, ReadRequest, Stag,
    TerminateError,
};

use crate::side::{BASE, Setup, Side, pattern};

/// The peer's key and address, in what we ask of it.
pub const PEER_KEY: u32 = 0x777;
pub const PEER_ADDRESS: u64 = 0x2000;

#[derive(Debug)]
pub struct Script {
    pub side: Side,
    pub setup: Setup,
    encoder: FpduEncoder,
    framer: Framer,
    /// How many requests were taken.
    pub posted: u64,
}

/// A request for the side to post.
#[derive(Clone, Debug)]
pub struct Work {
    pub operation: Operation,
    pub flags: SendFlags,
    pub inline: Option<Vec<u8>>,
    pub offset: usize,
    pub length: usize,
    pub elements: Option<Vec<Sge>>,
}

/// A segment for the side to take.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub header: Header,
    pub payload: Vec<u8>,
}

impl Script {
    /// We are the initiator, and nothing holds us back.
    pub fn new() -> Self {
        Self::with(Setup::default())
    }

    pub fn responder() -> Self {
        Self::with(Setup { role: Role::Responder, ..Setup::default() })
    }

    pub fn with(setup: Setup) -> Self {
        let framing = Framing { markers: setup.markers, crc: setup.crc };
        let encoder = FpduEncoder::new(framing);
        Self { side: Side::new(&setup), setup, encoder, framer: Framer::new(framing), posted: 0 }
    }

    /// Posts work; ids count from 0.
    #[track_caller]
    pub fn post(&mut self, work: Work) -> u64 {
        self.try_post(work).unwrap()
    }

    pub fn try_post(&mut self, work: Work) -> Result<u64, PostError> {
        let id = self.posted;
        let elements = work.elements.unwrap_or_else(|| match &work.inline {
            None if work.length > 0 => vec![self.side.sge(work.offset, work.length)],
            _ => Vec::new(),
        });
        let request = SendRequest {
            id,
            operation: work.operation,
            flags: work.flags,
            elements: &elements,
            inline: work.inline.as_deref(),
            ..SendRequest::default()
        };
        self.side.post(&request)?;
        self.posted += 1;
        Ok(id)
    }

    /// Gives it a segment in one piece.
    pub fn deliver(&mut self, segment: Incoming) {
        let fpdu = self.encode(&segment);
        self.deliver_bytes(&fpdu);
    }

    /// The FPDU of a segment, at its place in the stream.
    pub fn encode(&mut self, segment: &Incoming) -> Vec<u8> {
        let header = segment.header.encode();
        self.encode_ulpdu(&[&header[..segment.header.length()], &segment.payload].concat())
    }

    pub fn encode_ulpdu(&mut self, ulpdu: &[u8]) -> Vec<u8> {
        let mut fpdu = vec![0; 70_000];
        let length = self.encoder.encode(&[ulpdu], &mut fpdu).unwrap();
        fpdu.truncate(length);
        fpdu
    }

    pub fn deliver_bytes(&mut self, bytes: &[u8]) {
        self.side.queue_pair.handle_bytes(&mut self.side.context, bytes);
    }

    pub fn end(&mut self, end: End) {
        self.side.queue_pair.handle_end(&mut self.side.context, end);
    }

    pub fn disconnect(&mut self) {
        self.side.queue_pair.disconnect(&mut self.side.context);
    }

    pub fn abort(&mut self) {
        self.side.queue_pair.abort(&mut self.side.context);
    }

    /// The next FPDU's bytes.
    pub fn poll(&mut self) -> Option<Vec<u8>> {
        let mut out = vec![0; self.side.queue_pair.max_fpdu()];
        let length = self.side.queue_pair.poll_transmit(&mut self.side.context, &mut out);
        out.truncate(length);
        (length > 0).then_some(out)
    }

    /// The next segment's ULPDU; its FPDU must be sound.
    #[track_caller]
    pub fn poll_ulpdu(&mut self) -> Option<Vec<u8>> {
        let fpdu = self.poll()?;
        let mut piece = &fpdu[..];
        let mut ulpdu = Vec::new();
        let mut ended = false;
        while let Some(found) = self.framer.next_event(&mut piece) {
            assert!(!ended, "more than one FPDU");
            match found {
                Found::Marker(marker) => assert!(marker.is_right(), "{marker:?}"),
                Found::Head(head) => ulpdu.extend_from_slice(head.header_bytes()),
                Found::Payload(bytes) => ulpdu.extend_from_slice(bytes),
                Found::End(end) => {
                    assert!(!self.setup.crc || end.crc.is_right());
                    assert!(self.setup.crc || end.crc.found == 0, "without CRCs the field is zero");
                    assert!(end.pad().iter().all(|byte| *byte == 0));
                    ended = true;
                }
            }
        }
        assert!(ended, "an FPDU in pieces");
        Some(ulpdu)
    }

    #[track_caller]
    pub fn line(&mut self) -> Option<String> {
        Some(RawSegment::parse(&self.poll_ulpdu()?).to_string())
    }

    #[track_caller]
    pub fn lines(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.line()).take(10_000).collect()
    }

    #[track_caller]
    pub fn expect(&mut self, line: &str) {
        assert_eq!(self.line().as_deref(), Some(line));
    }

    #[track_caller]
    pub fn expect_nothing(&mut self) {
        assert_eq!(self.line(), None);
    }

    #[track_caller]
    pub fn expect_completion(&mut self, id: u64, status: CompletionStatus) -> Completion {
        let completion = self.side.context.poll_completion(self.side.completions).expect("a completion");
        assert_eq!((completion.id, completion.status), (id, status));
        completion
    }

    #[track_caller]
    pub fn expect_done(&mut self, id: u64) -> Completion {
        self.expect_completion(id, CompletionStatus::Success)
    }

    #[track_caller]
    pub fn expect_all_done(&mut self, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            self.expect_done(id);
        }
        self.expect_no_completion();
    }

    #[track_caller]
    pub fn expect_flushed(&mut self, ids: impl IntoIterator<Item = u64>) {
        for id in ids {
            self.expect_completion(id, CompletionStatus::WorkRequestFlushed);
        }
        self.expect_no_completion();
    }

    #[track_caller]
    pub fn expect_no_completion(&mut self) {
        assert_eq!(self.side.take_completions(), []);
    }

    #[track_caller]
    pub fn expect_event(&mut self, event: Event) {
        assert_eq!(self.side.queue_pair.poll_event(), Some(event));
    }

    #[track_caller]
    pub fn expect_no_event(&mut self) {
        assert_eq!(self.side.queue_pair.poll_event(), None);
    }

    #[track_caller]
    pub fn expect_state(&mut self, state: State) {
        assert_eq!(self.side.queue_pair.state(), state);
    }

    /// It ends the connection by a Terminate message with this line behind its error, says so, and nothing more.
    #[track_caller]
    pub fn expect_terminate(&mut self, error: TerminateError, of: &str) {
        self.expect_state(State::Err);
        self.expect_event(Event::Terminated { by: TerminatedBy::Us, error });
        let of = if of.is_empty() { String::new() } else { format!(" of {of}") };
        self.expect(&format!("RDMAP TERMINATE msn=1 error={error}{of}"));
        self.expect_event(Event::CloseSending);
        self.expect_no_event();
        self.expect_nothing();
        assert!(!self.side.queue_pair.has_work());
    }

    /// The connection goes on.
    #[track_caller]
    pub fn expect_alive(&mut self) {
        self.expect_no_event();
        self.expect_state(State::Rts);
    }

    /// Bytes of the side's memory.
    #[track_caller]
    pub fn expect_bytes(&self, offset: usize, expected: &[u8]) {
        assert_eq!(self.side.bytes(offset, expected.len()), expected);
    }
}

fn work(operation: Operation, length: usize) -> Work {
    Work { operation, flags: SendFlags::SIGNALED, inline: None, offset: 0, length, elements: None }
}

pub fn peer() -> RemoteAddress {
    RemoteAddress { address: PEER_ADDRESS, key: RKey::new(PEER_KEY) }
}

pub fn send(length: usize) -> Work {
    work(Operation::Send, length)
}

pub fn write(length: usize) -> Work {
    work(Operation::RdmaWrite(peer()), length)
}

pub fn read(length: usize) -> Work {
    work(Operation::RdmaRead(peer()), length)
}

pub fn operation(operation: Operation, length: usize) -> Work {
    work(operation, length)
}

impl Work {
    pub fn at(self, offset: usize) -> Self {
        Self { offset, ..self }
    }

    pub fn with(self, flags: SendFlags) -> Self {
        Self { flags: self.flags | flags, ..self }
    }

    pub fn in_elements(self, elements: &[Sge]) -> Self {
        Self { elements: Some(elements.to_vec()), ..self }
    }
}

pub fn tagged(opcode: Opcode, stag: u32, offset: u64, payload: &[u8]) -> Incoming {
    let place = Place::Tagged { stag: Stag::new(stag), offset };
    Incoming { header: Header::new(opcode, true, place), payload: payload.to_vec() }
}

pub fn untagged(opcode: Opcode, queue: u32, msn: u32, payload: &[u8]) -> Incoming {
    let place = Place::Untagged { upper: 0, queue, msn, offset: 0 };
    Incoming { header: Header::new(opcode, true, place), payload: payload.to_vec() }
}

/// A SEND of the peer.
pub fn incoming_send(msn: u32, length: usize) -> Incoming {
    untagged(Opcode::SEND, 0, msn, &pattern(msn as usize, length))
}

impl Incoming {
    pub fn not_last(mut self) -> Self {
        self.header.last = false;
        self
    }

    /// The message offset.
    pub fn mo(mut self, value: u32) -> Self {
        if let Place::Untagged { offset, .. } = &mut self.header.place {
            *offset = value;
        }
        self
    }

    /// The tag to invalidate.
    pub fn upper(mut self, value: u32) -> Self {
        if let Place::Untagged { upper, .. } = &mut self.header.place {
            *upper = value;
        }
        self
    }

    pub fn opcode(mut self, opcode: Opcode) -> Self {
        self.header.opcode = opcode;
        self
    }
}

impl Script {
    /// A WRITE of the peer into our memory.
    pub fn incoming_write(&self, offset: usize, length: usize) -> Incoming {
        tagged(Opcode::WRITE, self.side.key, BASE + offset as u64, &pattern(offset, length))
    }

    /// A READ request of the peer for our memory; its sink is its key and address.
    pub fn incoming_read(&self, msn: u32, offset: usize, length: usize) -> Incoming {
        read_request(msn, self.side.key, BASE + offset as u64, length as u32)
    }

    /// A READ response of the peer into our memory.
    pub fn response(&self, offset: usize, length: usize) -> Incoming {
        tagged(Opcode::READ_RESPONSE, self.side.key, BASE + offset as u64, &pattern(offset, length))
    }
}

pub fn read_request(msn: u32, stag: u32, offset: u64, length: u32) -> Incoming {
    let request = ReadRequest {
        sink_stag: Stag::new(PEER_KEY),
        sink_offset: PEER_ADDRESS,
        length,
        source_stag: Stag::new(stag),
        source_offset: offset,
    };
    untagged(Opcode::READ_REQUEST, 1, msn, &request.encode())
}
