//! Conversations over iWARP, one thing of which may be changed.

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::EthernetAddress;
use rdmalab_craft::wire::iwarp::{
    AtomicOperation, AtomicRequest, AtomicResponse, Enhanced, FpduEncoder, Framing, Header, MpaFrame,
    MpaKind, Opcode, Place, ReadRequest, Stag, Terminate, TerminateError, crc32c, queue,
};
use rdmalab_craft::{Capture, EachFrame, Frame, Host, Stream, Way};
use rdmalab_lint::{Report, lint};

/// One thing that a side says, in TCP segments of its own.
#[derive(Clone)]
pub struct Step {
    pub way: Way,
    pub what: What,
}

#[derive(Clone)]
pub enum What {
    /// A start-up frame.
    Mpa(Vec<u8>),
    /// An FPDU: its ULPDU, and what is done to its bytes behind that.
    Fpdu { ulpdu: Vec<u8>, edit: Option<fn(&mut Vec<u8>)>, is_crc_right: bool },
}

impl Step {
    fn mpa(way: Way, frame: &MpaFrame<'_>) -> Step {
        let mut bytes = vec![0; frame.encoded_length()];
        frame.encode(&mut bytes).unwrap();
        Step { way, what: What::Mpa(bytes) }
    }

    fn fpdu(way: Way, header: Header, body: &[u8]) -> Step {
        let mut ulpdu = header.encode()[..header.length()].to_vec();
        ulpdu.extend_from_slice(body);
        Step { way, what: What::Fpdu { ulpdu, edit: None, is_crc_right: true } }
    }

    /// The frame's or the ULPDU's bytes.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        match &mut self.what {
            What::Mpa(bytes) | What::Fpdu { ulpdu: bytes, .. } => bytes,
        }
    }

    /// Changes the FPDU once it is made; its CRC fits the change.
    pub fn edit(&mut self, change: fn(&mut Vec<u8>)) {
        let What::Fpdu { edit, .. } = &mut self.what else { panic!("no FPDU") };
        *edit = Some(change);
    }

    pub fn break_crc(&mut self) {
        let What::Fpdu { is_crc_right, .. } = &mut self.what else { panic!("no FPDU") };
        *is_crc_right = false;
    }
}

/// Something untagged.
fn untagged(way: Way, opcode: Opcode, queue: u32, msn: u32, offset: u32, last: bool, body: &[u8]) -> Step {
    Step::fpdu(way, Header::new(opcode, last, Place::Untagged { upper: 0, queue, msn, offset }), body)
}

pub fn send(way: Way, msn: u32, offset: u32, last: bool, length: usize) -> Step {
    untagged(way, Opcode::SEND, queue::SEND, msn, offset, last, &vec![7; length])
}

pub fn send_invalidate(way: Way, msn: u32, stag: u32) -> Step {
    let place = Place::Untagged { upper: stag, queue: queue::SEND, msn, offset: 0 };
    Step::fpdu(way, Header::new(Opcode::SEND_INV, true, place), b"done")
}

pub fn write(way: Way, stag: u32, offset: u64, last: bool, length: usize) -> Step {
    let place = Place::Tagged { stag: Stag::new(stag), offset };
    Step::fpdu(way, Header::new(Opcode::WRITE, last, place), &vec![1; length])
}

pub fn read(way: Way, msn: u32, sink: u64, length: u32) -> Step {
    let request = ReadRequest {
        sink_stag: Stag::new(0x100),
        sink_offset: sink,
        length,
        source_stag: Stag::new(0x200),
        source_offset: 0x2000,
    };
    untagged(way, Opcode::READ_REQUEST, queue::REQUEST, msn, 0, true, &request.encode())
}

pub fn response(way: Way, offset: u64, last: bool, length: usize) -> Step {
    let place = Place::Tagged { stag: Stag::new(0x100), offset };
    Step::fpdu(way, Header::new(Opcode::READ_RESPONSE, last, place), &vec![2; length])
}

fn atomic(way: Way, msn: u32, id: u32) -> Step {
    let request = AtomicRequest {
        operation: AtomicOperation::FetchAdd,
        request_id: id,
        stag: Stag::new(0x200),
        add_or_swap: 1,
        ..AtomicRequest::default()
    };
    untagged(way, Opcode::ATOMIC_REQUEST, queue::REQUEST, msn, 0, true, &request.encode())
}

fn atomic_response(way: Way, msn: u32, id: u32) -> Step {
    let response = AtomicResponse { request_id: id, original: 41 };
    untagged(way, Opcode::ATOMIC_RESPONSE, queue::ATOMIC_RESPONSE, msn, 0, true, &response.encode())
}

/// About a segment that the other side sent.
pub fn terminate(way: Way, about: &mut Step) -> Step {
    let ulpdu = about.bytes();
    let header = Header::parse(ulpdu).unwrap();
    let length = ulpdu.len() as u16;
    let body = Terminate::about(TerminateError::DDP_NO_BUFFER, length, header, None);
    let mut bytes = vec![0; body.encoded_length()];
    body.encode(&mut bytes).unwrap();
    untagged(way, Opcode::TERMINATE, queue::TERMINATE, 1, 0, true, &bytes)
}

const FORTH: Way = Way::Forth;
const BACK: Way = Way::Back;

pub fn start_up(enhanced: Enhanced, markers: bool) -> [Step; 2] {
    [(FORTH, MpaKind::Request), (BACK, MpaKind::Reply)].map(|(way, kind)| {
        let frame = MpaFrame { enhanced: Some(enhanced), revision: 2, markers, ..MpaFrame::new(kind) };
        Step::mpa(way, &frame)
    })
}

/// Everything in both directions: SENDs and WRITEs in pieces, READs, an atomic.
pub fn ordinary() -> Vec<Step> {
    let mut steps = start_up(Enhanced { ird: 4, ord: 4, ..Enhanced::default() }, false).to_vec();
    steps.extend([
        send(FORTH, 1, 0, true, 9),
        send(BACK, 1, 0, false, 1000),
        send(BACK, 1, 1000, true, 5),
        write(FORTH, 0x200, 0x1000, false, 1000),
        write(FORTH, 0x200, 0x13e8, true, 500),
        read(FORTH, 1, 0x5000, 1500),
        read(FORTH, 2, 0x6000, 8),
        response(BACK, 0x5000, false, 1000),
        response(BACK, 0x53e8, true, 500),
        response(BACK, 0x6000, true, 8),
        atomic(FORTH, 3, 77),
        atomic_response(BACK, 1, 77),
        send(FORTH, 2, 0, true, 3),
        send(FORTH, 3, 0, true, 0),
    ]);
    steps
}

/// Of the first revision, without enhanced data.
pub fn oldest() -> Vec<Step> {
    let frame = |kind| MpaFrame { revision: 1, ..MpaFrame::new(kind) };
    vec![
        Step::mpa(FORTH, &frame(MpaKind::Request)),
        Step::mpa(BACK, &frame(MpaKind::Reply)),
        send(FORTH, 1, 0, true, 9),
        send(BACK, 1, 0, true, 9),
    ]
}

/// The initiator says that it is ready by a WRITE of no bytes.
pub fn peer_to_peer() -> Vec<Step> {
    let offered =
        Enhanced { peer_to_peer: true, rtr_write: true, rtr_read: true, ird: 1, ord: 1, rtr_empty: false };
    let picked = Enhanced { rtr_read: false, ..offered };
    let [request, _] = start_up(offered, false);
    let [_, reply] = start_up(picked, false);
    vec![request, reply, write(FORTH, 1, 0, true, 0), send(BACK, 1, 0, true, 20), send(FORTH, 1, 0, true, 30)]
}

/// Both want to receive markers.
pub fn marked() -> Vec<Step> {
    let mut steps = start_up(Enhanced { ird: 1, ord: 1, ..Enhanced::default() }, true).to_vec();
    steps.extend([
        send(FORTH, 1, 0, true, 700),
        send(BACK, 1, 0, true, 700),
        write(FORTH, 0x200, 0, true, 1200),
        send(FORTH, 2, 0, true, 10),
    ]);
    steps
}

/// A tag is invalidated, and others are used from then on.
pub fn invalidated() -> Vec<Step> {
    let mut steps = start_up(Enhanced { ird: 1, ord: 1, ..Enhanced::default() }, false).to_vec();
    steps.extend([
        write(FORTH, 0x300, 0, true, 16),
        send_invalidate(FORTH, 1, 0x300),
        write(FORTH, 0x200, 0, true, 16),
    ]);
    steps
}

/// A SEND finds no receive.
pub fn terminated() -> Vec<Step> {
    let mut steps = start_up(Enhanced { ird: 1, ord: 1, ..Enhanced::default() }, false).to_vec();
    let mut refused = send(FORTH, 1, 0, true, 64);
    let answer = terminate(BACK, &mut refused);
    steps.extend([refused, answer]);
    steps
}

/// A capture of a conversation, in segments of so many bytes at most.
pub fn capture(steps: &[Step], segment: usize) -> Vec<u8> {
    let host = |n: u8| Host::new(EthernetAddress([2, 0, 0, 0, 0, n]), [10, 0, 0, n].into());
    let mut stream = Stream::new(&host(1), &host(2), [49_152, 7174], segment).unwrap();
    let mut capture = Capture::pcapng(Vec::new()).unwrap();
    let mut time = 0;
    let mut put = |_: Way, frame: &[u8]| {
        time += 10_000;
        capture.write(&Frame::new(time, LinkType::ETHERNET, frame))
    };
    stream.open(&mut put).unwrap();
    say(&mut stream, steps, &mut put);
    stream.close(&mut put).unwrap();
    capture.finish().unwrap()
}

/// Both sides of a stream say what they have to, which is put somewhere frame by frame.
pub fn say<E: core::fmt::Debug>(stream: &mut Stream, steps: &[Step], put: EachFrame<'_, E>) {
    // Who wants markers receives them.
    let mut markers = [false; 2];
    let mut encoders = [None, None];
    for step in steps {
        let back = usize::from(step.way == BACK);
        let bytes = match &step.what {
            What::Mpa(bytes) => {
                markers[back] = bytes[16] & 0x80 != 0;
                bytes.clone()
            }
            What::Fpdu { ulpdu, edit, is_crc_right } => {
                let framing = Framing { markers: markers[1 - back], crc: true };
                let encoder = encoders[back].get_or_insert_with(|| FpduEncoder::new(framing));
                let mut bytes = vec![0; encoder.layout(ulpdu.len()).unwrap().length()];
                encoder.encode(&[ulpdu], &mut bytes).unwrap();
                if let Some(edit) = edit {
                    edit(&mut bytes);
                    let at = bytes.len() - 4;
                    let crc = crc32c(&bytes[..at]);
                    bytes[at..].copy_from_slice(&crc.to_le_bytes());
                }
                if !is_crc_right {
                    *bytes.last_mut().unwrap() ^= 1;
                }
                bytes
            }
        };
        stream.send(step.way, &bytes, put).unwrap();
    }
}

/// What is found in a conversation.
pub fn judge(steps: &[Step]) -> Report {
    lint(&capture(steps, 1460)[..], &mut ()).unwrap()
}
