//! Our queue pair in the place of one side of a conversation, in either role: it hears what the other side said, gets the work
//! that siw's application must have posted, and must say what siw said.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use rdmalab_iwarp::{
    Asked, Identity, Initiator, Negotiated, Profile, QueuePair, QueuePairConfig, Reply, Responder, Role,
    StreamSettings, Terms,
};
use rdmalab_verbs::{
    Access, Capabilities, CompletionQueueId, CompletionStatus, Context, HeapMemory, Memory, Operation,
    ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::iwarp::{
    FpduEncoder, Framing, Header, Opcode, Place, RawSegment, ReadRequest, Stag, fpdu_pad,
};
use rdmalab_wire::{Qpn, RKey};

use crate::capture::{Conversation, Said, What};

/// Longer than any message of the captures.
const MESSAGE: usize = 1 << 16;

/// More bytes than either side sends in any capture.
const OUTGOING: usize = 1 << 21;

/// Bytes of a TCP segment that siw makes use of, in all captures. The MTU is 4200, and headers with a time stamp leave 4148, of
/// which siw takes a multiple of eight.
const SEGMENT: usize = 4144;

/// A region that the peer reaches, or that the side's own READs fill.
struct Region {
    /// Its tag in the capture, and the one that it has here.
    theirs: u32,
    ours: u32,
    base: u64,
    memory: Arc<HeapMemory>,
}

/// What a side has said, compared.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Compared {
    pub segments: usize,
    /// Of these, those that we say later than siw.
    pub later: usize,
}

pub struct Party {
    name: String,
    context: Context,
    queue_pair: QueuePair,
    completions: CompletionQueueId,
    regions: Vec<Region>,
    /// The bytes of our messages, one behind the other.
    outgoing: Arc<HeapMemory>,
    outgoing_key: u32,
    outgoing_used: usize,
    /// Between two segments of a message of ours.
    is_in_message: bool,
    incoming_key: u32,
    peer: FpduEncoder,
    /// READs of the peer that are not answered yet: source, and how much of it has gone.
    reads: VecDeque<(ReadRequest, u64)>,
    /// What siw had said already when we were not allowed to speak yet.
    held: VecDeque<Vec<u8>>,
    compared: Compared,
}

/// Plays `role` in the conversation from the start-up to its end. `waits` says that a responder waits for the initiator's first
/// FPDU, as siw does not.
pub fn play(name: &str, conversation: &Conversation, role: Role, waits: bool) -> Compared {
    let negotiated = start_up(name, conversation, role);
    let mut party = Party::new(name, conversation, &negotiated, waits);
    for (at, said) in conversation.said.iter().enumerate() {
        let What::Segment { ulpdu, crc, .. } = &said.what else { continue };
        // What siw does without CRCs, and what we must do in its place.
        assert_eq!(*crc, 0, "{name}, frame {}", said.frame);
        if said.by == role {
            party.post(said, &conversation.said[at..]);
            party.held.push_back(ulpdu.clone());
        } else {
            party.hear(said, ulpdu);
        }
        party.speak(said.frame);
        party.compared.later += usize::from(said.by == role && !party.held.is_empty());
    }
    party.finish()
}

/// Our frame must be siw's, byte for byte, and its frame must be to our liking.
fn start_up(name: &str, conversation: &Conversation, role: Role) -> Negotiated {
    let theirs = conversation.start_up(role);
    let enhanced = theirs.enhanced.expect("siw sends revision 2");
    let terms = Terms::of(&Profile::SIW, enhanced.ird, enhanced.ord);
    let bytes = |by: Role| {
        conversation.said.iter().find_map(|said| match &said.what {
            What::StartUp(bytes) if said.by == by => Some(&bytes[..]),
            _ => None,
        })
    };
    let (request, reply) = (bytes(Role::Initiator).unwrap(), bytes(Role::Responder).unwrap());
    match role {
        Role::Initiator => {
            let mut ours = Initiator::new(&Profile::SIW, &terms, theirs.private_data).unwrap();
            assert_eq!(ours.request(), request, "{name}: the request");
            match ours.handle_bytes(&mut &*reply).unwrap() {
                Some(Reply::Accepted(negotiated)) => negotiated,
                other => panic!("{name}: {other:?}"),
            }
        }
        Role::Responder => {
            let mut ours = Responder::new(&Profile::SIW);
            assert_eq!(ours.handle_bytes(request).unwrap(), Some(Asked::Requested));
            let negotiated = ours.accept(&terms, theirs.private_data).unwrap().unwrap();
            assert_eq!(ours.reply(), reply, "{name}: the reply");
            negotiated
        }
    }
}

impl Party {
    fn new(name: &str, conversation: &Conversation, negotiated: &Negotiated, waits: bool) -> Self {
        let role = negotiated.role;
        let mut context = Context::default();
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(256).unwrap();
        let regions = reached(&conversation.said, role).into_iter().map(|(theirs, addresses)| {
            let memory = Arc::new(HeapMemory::new((addresses.end - addresses.start) as usize));
            let base = addresses.start;
            let ours = context.register(domain, base, memory.clone(), Access::FULL).unwrap();
            Region { theirs, ours, base, memory }
        });
        let regions = regions.collect();
        let outgoing = Arc::new(HeapMemory::new(OUTGOING));
        let outgoing_key = context.register(domain, 0, outgoing.clone(), Access::LOCAL_WRITE).unwrap();
        let incoming = Arc::new(HeapMemory::new(MESSAGE));
        let incoming_key = context.register(domain, 0, incoming, Access::LOCAL_WRITE).unwrap();
        let config = QueuePairConfig::new(domain, completions, Capabilities::default());
        let identity = Identity { number: Qpn::new(0x11), accessor: 1 };
        let mut queue_pair = QueuePair::new(&mut context, identity, &config).unwrap();
        let siws = StreamSettings::of(&Profile::SIW, SEGMENT);
        let stream = StreamSettings { waits_for_initiator: siws.waits_for_initiator || waits, ..siws };
        queue_pair.establish(&context, negotiated, &stream).unwrap();
        let framing = Framing { markers: negotiated.receive_markers, crc: negotiated.crc };
        Self {
            name: format!("{name}, {role:?}"),
            context,
            queue_pair,
            completions,
            regions,
            outgoing,
            outgoing_key,
            outgoing_used: 0,
            is_in_message: false,
            incoming_key,
            peer: FpduEncoder::new(framing),
            reads: VecDeque::new(),
            held: VecDeque::new(),
            compared: Compared::default(),
        }
    }

    /// Our queue pair hears a segment of the other side, with our tags in it.
    fn hear(&mut self, said: &Said, ulpdu: &[u8]) {
        let mut header = said.header().unwrap();
        let mut payload = said.payload().to_vec();
        match &mut header.place {
            Place::Tagged { stag, .. } => *stag = Stag::new(self.region(stag.value()).ours),
            Place::Untagged { offset: 0, .. } if header.opcode == Opcode::SEND => self.receive(),
            Place::Untagged { .. } if header.opcode == Opcode::READ_REQUEST => {
                let mut request = ReadRequest::decode(payload.first_chunk().unwrap());
                self.reads.push_back((request, 0));
                request.source_stag = Stag::new(self.region(request.source_stag.value()).ours);
                payload = request.encode().to_vec();
            }
            Place::Untagged { .. } => {}
        }
        let ulpdu = [&header.encode()[..ulpdu.len() - payload.len()], &payload].concat();
        let mut fpdu = vec![0; ulpdu.len() + 16];
        let length = self.peer.encode(&[&ulpdu], &mut fpdu).unwrap();
        self.queue_pair.handle_bytes(&mut self.context, &fpdu[..length]);
    }

    fn receive(&mut self) {
        let elements = [Sge { address: 0, length: MESSAGE as u32, key: self.incoming_key }];
        self.queue_pair
            .post_receive(&mut self.context, &ReceiveRequest { id: 0, elements: &elements })
            .unwrap();
    }

    /// Posts the message that begins here, if one does that siw's application must have posted; `from` is what was said from
    /// here on.
    fn post(&mut self, said: &Said, from: &[Said]) {
        let header = said.header().unwrap();
        let (operation, length, element) = match (header.opcode, header.place) {
            // The rest of a message.
            (Opcode::SEND | Opcode::WRITE, _) if self.is_in_message => {
                self.is_in_message = !header.last;
                return;
            }
            (Opcode::SEND, _) => (Operation::Send, None, None),
            (Opcode::WRITE, Place::Tagged { stag, offset }) => {
                let remote = RemoteAddress { address: offset, key: RKey::new(stag.value()) };
                (Operation::RdmaWrite(remote), None, None)
            }
            (Opcode::READ_REQUEST, _) => {
                let request = ReadRequest::decode(said.payload().first_chunk().unwrap());
                let key = RKey::new(request.source_stag.value());
                let remote = RemoteAddress { address: request.source_offset, key };
                let sink = self.region(request.sink_stag.value()).ours;
                (Operation::RdmaRead(remote), Some(request.length), Some((request.sink_offset, sink)))
            }
            // An answer.
            _ => return,
        };
        let (address, key) = element.unwrap_or((self.outgoing_used as u64, self.outgoing_key));
        let length = length.unwrap_or_else(|| {
            self.is_in_message = !header.last;
            let bytes = message(from);
            self.outgoing.write(self.outgoing_used, &bytes).unwrap();
            self.outgoing_used += bytes.len();
            bytes.len() as u32
        });
        let request = SendRequest {
            operation,
            elements: &[Sge { address, length, key }],
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        self.queue_pair.post_send(&mut self.context, &request).unwrap();
    }

    /// Says what siw has said by now, as far as our queue pair has something to say.
    fn speak(&mut self, frame: u64) {
        while let Some(theirs) = self.held.front().cloned() {
            let answered = self.fill(&theirs);
            let mut out = vec![0; self.queue_pair.max_fpdu()];
            let length = self.queue_pair.poll_transmit(&mut self.context, &mut out);
            if length == 0 {
                break;
            }
            let ours = self.ulpdu(&out[..length]);
            let line = |ulpdu| RawSegment::parse(ulpdu).to_string();
            assert_eq!(ours, theirs, "{}, frame {frame}: {}; {}", self.name, line(&ours), line(&theirs));
            self.held.pop_front();
            self.compared.segments += 1;
            if let Some((request, sent)) = self.reads.front_mut() {
                *sent += answered;
                if *sent == u64::from(request.length) {
                    self.reads.pop_front();
                }
            }
        }
        while let Some(completion) = self.context.poll_completion(self.completions) {
            assert_eq!(completion.status, CompletionStatus::Success, "{}, frame {frame}", self.name);
        }
    }

    /// Fills the memory that the oldest READ reads from, if this is a part of the answer to it. How many bytes that is.
    fn fill(&mut self, ulpdu: &[u8]) -> u64 {
        let header = Header::parse(ulpdu).unwrap();
        if header.opcode != Opcode::READ_RESPONSE {
            return 0;
        }
        let (request, sent) = self.reads.front().expect("siw answers what was asked");
        let payload = &ulpdu[header.length()..];
        let region = self.region(request.source_stag.value());
        region.memory.write((request.source_offset + sent - region.base) as usize, payload).unwrap();
        payload.len() as u64
    }

    /// The ULPDU of an FPDU of ours, with siw's tag for the sink of a READ. The rest must be as siw's: padding and, without
    /// CRCs, their field of zeros.
    fn ulpdu(&self, fpdu: &[u8]) -> Vec<u8> {
        let length = usize::from(u16::from_be_bytes(*fpdu.first_chunk().unwrap()));
        let behind = 2 + length;
        assert_eq!(fpdu.len(), behind + fpdu_pad(length) + 4);
        assert!(fpdu[behind..].iter().all(|byte| *byte == 0));
        let mut ulpdu = fpdu[2..behind].to_vec();
        let header = Header::parse(&ulpdu).unwrap();
        if header.opcode == Opcode::READ_REQUEST {
            let body = &mut ulpdu[header.length()..];
            let mut request = ReadRequest::decode(body.first_chunk().unwrap());
            let region = self.regions.iter().find(|region| region.ours == request.sink_stag.value()).unwrap();
            request.sink_stag = Stag::new(region.theirs);
            body.copy_from_slice(&request.encode());
        }
        ulpdu
    }

    /// The region that has this tag in the capture.
    fn region(&self, tag: u32) -> &Region {
        self.regions.iter().find(|region| region.theirs == tag).unwrap()
    }

    fn finish(self) -> Compared {
        assert!(self.held.is_empty(), "{}: siw said more", self.name);
        assert!(!self.queue_pair.has_work(), "{}: we have more to say", self.name);
        assert_eq!(self.queue_pair.state(), State::Rts, "{}", self.name);
        self.compared
    }
}

/// The bytes of the message that begins in the first of these segments.
fn message(from: &[Said]) -> Vec<u8> {
    let first = &from[0];
    let opcode = first.header().unwrap().opcode;
    let mut bytes = Vec::new();
    for said in from.iter().filter(|said| said.by == first.by) {
        let Some(header) = said.header().filter(|header| header.opcode == opcode) else { continue };
        bytes.extend_from_slice(said.payload());
        if header.last {
            return bytes;
        }
    }
    panic!("frame {}: a message without an end", first.frame);
}

/// For each tag of the side's, the addresses that are reached with it: by the peer's tagged segments and READs, and as
/// sinks of its own READs.
fn reached(said: &[Said], role: Role) -> BTreeMap<u32, Range<u64>> {
    let mut found: BTreeMap<u32, Range<u64>> = BTreeMap::new();
    let mut add = |tag: Stag, offset: u64, length: u64| {
        let range = found.entry(tag.value()).or_insert(offset..offset);
        *range = range.start.min(offset)..range.end.max(offset + length);
    };
    for said in said {
        let Some(header) = said.header() else { continue };
        match header.place {
            Place::Tagged { stag, offset } if said.by != role => {
                add(stag, offset, said.payload().len() as u64);
            }
            _ if header.opcode == Opcode::READ_REQUEST => {
                let request = ReadRequest::decode(said.payload().first_chunk().unwrap());
                let length = u64::from(request.length);
                if said.by == role {
                    add(request.sink_stag, request.sink_offset, length);
                } else {
                    add(request.source_stag, request.source_offset, length);
                }
            }
            _ => {}
        }
    }
    found
}
