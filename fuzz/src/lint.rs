//! A capture to judge: arbitrary bytes as a file, or steps of a conversation with right checksums, over RoCE or over TCP, that a
//! capture may have lost, doubled or put out of order.

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::iwarp::{
    FpduEncoder, Framing, Header, MpaFrame, MpaKind, Opcode as Rdmap, Place, Stag,
};
use rdmalab_craft::wire::{
    Carrier, Ecn, EthernetAddress, Msn, NakCode, Opcode, PayloadRule, Psn, Qpn, Syndrome,
};
use rdmalab_craft::{Capture, CarriedBy, Flow, Frame, Host, Payload, Stream, Way};
use rdmalab_lint::{Finding, MOST_FINDINGS, Observer, RULES, Report, lint};

/// Judges what the bytes stand for, twice.
pub fn run(bytes: &[u8]) {
    let Some((kind, rest)) = bytes.split_first() else { return };
    match kind % 4 {
        0 => {
            judge(rest);
        }
        1 | 2 => {
            judge(&roce(&mut Steps(rest)));
        }
        _ => {
            judge(&tcp(&mut Steps(rest)));
        }
    }
}

/// Counts what is told.
#[derive(Default)]
struct Told(usize);

impl Observer for Told {
    fn finding(&mut self, finding: &Finding) {
        assert!(!finding.what.is_empty());
        self.0 += 1;
    }
}

fn judge(file: &[u8]) -> Report {
    let once = |told: &mut Told| match lint(file, told) {
        Ok(report) => report,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            *error.report
        }
    };
    let mut told = Told::default();
    let report = once(&mut told);
    let again = once(&mut Told::default());
    assert_eq!(report.to_string(), again.to_string(), "the same capture is judged alike");
    assert_eq!(report.json(), again.json());
    assert_eq!(told.0, report.findings.len(), "each finding that is kept is told of once");
    assert!(report.findings.len() <= MOST_FINDINGS);
    assert_eq!(report.counts.len(), RULES.len());
    assert!(report.counts.iter().sum::<u64>() >= report.findings.len() as u64);
    for finding in &report.findings {
        assert!(!finding.frames.is_empty(), "{finding:?}");
        assert!(
            finding.frames.iter().all(|frame| (1..=report.totals.packets).contains(frame)),
            "{finding:?}"
        );
    }
    let mut numbers: Vec<u64> = report.flows.iter().map(|flow| flow.number).collect();
    numbers.extend(report.streams.iter().map(|stream| stream.number));
    let all = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), all, "each flow has a number of its own");
    report
}

/// Bytes, one by one; zeros behind the last.
struct Steps<'s>(&'s [u8]);

impl Steps<'_> {
    fn has_more(&self) -> bool {
        !self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

fn host(n: u8) -> Host {
    Host::new(EthernetAddress([2, 0, 0, 0, 0, n]), [10, 0, 0, n].into())
}

const REQUESTS_AND_ANSWERS: [u8; 24] = [
    0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x11,
    0x11, 0x12, 0x13, 0x14, 0x16, 0x1c, 0x1d,
];

fn roce(steps: &mut Steps<'_>) -> Vec<u8> {
    let mut flow = Flow::new(&host(1), &host(2), CarriedBy::RoceV2).unwrap_or_else(|| panic!("one family"));
    for way in [Way::Forth, Way::Back] {
        flow.side_mut(way).qpn = Qpn::new(if way == Way::Forth { 0x11 } else { 0x22 });
    }
    let base = if steps.byte() & 1 == 0 { 0 } else { 0xff_fff0 };
    let mut capture = Capture::pcapng(Vec::new()).unwrap_or_else(|error| panic!("{error}"));
    let (mut bytes, mut time) = (Vec::new(), 0_u64);
    for id in 0..2_000_u16 {
        if !steps.has_more() {
            break;
        }
        let [what, number, more, wait] = [steps.byte(), steps.byte(), steps.byte(), steps.byte()];
        let way = if what & 0x80 == 0 { Way::Forth } else { Way::Back };
        let operation = REQUESTS_AND_ANSWERS[usize::from(what & 0x1f) % REQUESTS_AND_ANSWERS.len()];
        let opcode = match what & 0x60 {
            0x20 => 0xa0 | operation,
            0x40 if number == 0x40 => 0x81,
            0x60 if number > 0xf0 => 0x20 | operation,
            _ => operation,
        };
        let opcode = Opcode(opcode);
        let Some(row) = opcode.row() else { continue };
        let mut packet = flow.packet(way, opcode);
        packet.bth.psn = Psn::new(base).add(u32::from(number) & 0x3f);
        packet.bth.ack_request = more & 1 != 0;
        packet.bth.solicited = more & 2 != 0;
        if let Some(reth) = &mut packet.headers.reth {
            reth.length = [0, 8, 256, 1000, 2048, 4000, u32::MAX, 300][usize::from(more >> 5)];
        }
        if let Some(aeth) = &mut packet.headers.aeth {
            aeth.syndrome = match more & 0x18 {
                0x00 | 0x08 => Syndrome::ACK,
                0x10 => Syndrome::Nak(NakCode::PsnSequenceError),
                _ => Syndrome::from_byte(steps.byte()),
            };
            aeth.msn = Msn::new(u32::from(number >> 3));
        }
        packet.payload = match row.payload {
            PayloadRule::None => Payload::EMPTY,
            PayloadRule::Exactly(length) => Payload::Fill { length, byte: number },
            _ => Payload::Fill { length: [0, 8, 256, 1024][usize::from(more >> 6)], byte: 1 },
        };
        if let Carrier::RoceV2Ipv4(ip, _) = &mut packet.carrier {
            ip.identification = if more & 4 == 0 { 1_000 + id } else { 7 };
            ip.ecn = if number > 0xe0 { Ecn::Ce } else { Ecn::Ect0 };
        }
        time += 1 << (wait & 0x1f);
        if packet.encode(&mut bytes).is_ok() {
            put(&mut capture, time, &bytes);
        }
    }
    capture.finish().unwrap_or_else(|error| panic!("{error}"))
}

fn put(capture: &mut Capture<Vec<u8>>, time: u64, bytes: &[u8]) {
    capture
        .write(&Frame::new(time, LinkType::ETHERNET, bytes))
        .unwrap_or_else(|error| panic!("a vector takes everything: {error}"));
}

/// Where an Ethernet frame of TCP over IPv4 has its sequence number and its acknowledgement.
const SEQUENCE: usize = 14 + 20 + 4;
const ACKNOWLEDGMENT: usize = SEQUENCE + 4;

fn tcp(steps: &mut Steps<'_>) -> Vec<u8> {
    let mut stream = Stream::new(&host(1), &host(2), [49_152, 7174], 1 + 37 * usize::from(steps.byte()))
        .unwrap_or_else(|| panic!("one family"));
    let mut capture = Capture::pcapng(Vec::new()).unwrap_or_else(|error| panic!("{error}"));
    let mut time = 0;
    let mut encoders = [false, true].map(|markers| FpduEncoder::new(Framing { markers, crc: true }));
    for _ in 0..2_000 {
        if !steps.has_more() {
            break;
        }
        let [what, fate] = [steps.byte(), steps.byte()];
        let way = if what & 0x80 == 0 { Way::Forth } else { Way::Back };
        let said = match what & 0x70 {
            0x00 => start_up(steps),
            0x10 => (0..what & 0x0f).map(|_| steps.byte()).collect(),
            0x20 => {
                let _ = stream.open(&mut |_, bytes| frame(&mut capture, &mut time, bytes, fate));
                continue;
            }
            0x30 if what & 0x0f == 0 => {
                let _ = stream.close(&mut |_, bytes| frame(&mut capture, &mut time, bytes, fate));
                continue;
            }
            _ => fpdu(steps, &mut encoders[usize::from(what & 0x0f == 0x0f)]),
        };
        let _ = stream.send(way, &said, &mut |_, bytes| frame(&mut capture, &mut time, bytes, fate));
    }
    capture.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// A TCP segment, and what becomes of it.
fn frame(capture: &mut Capture<Vec<u8>>, time: &mut u64, bytes: &[u8], fate: u8) -> Result<(), ()> {
    *time += 1 << (fate & 0x1f);
    let mut changed = bytes.to_vec();
    let mut shift = |at: usize, by: i32| {
        let Some(field) = changed.get_mut(at..at + 4) else { return };
        let number = u32::from_be_bytes([field[0], field[1], field[2], field[3]]);
        field.copy_from_slice(&number.wrapping_add_signed(by).to_be_bytes());
    };
    match fate >> 5 {
        1 => return Ok(()),
        2 => put(capture, *time, bytes),
        3 => shift(SEQUENCE, 24),
        4 => shift(SEQUENCE, -24),
        5 => shift(ACKNOWLEDGMENT, -24),
        6 => shift(ACKNOWLEDGMENT, 24),
        _ => {}
    }
    put(capture, *time, &changed);
    Ok(())
}

fn start_up(steps: &mut Steps<'_>) -> Vec<u8> {
    let flags = steps.byte();
    let kind = if flags & 1 == 0 { MpaKind::Request } else { MpaKind::Reply };
    let mut bytes = vec![0; 24];
    let frame = MpaFrame { revision: 2, ..MpaFrame::new(kind) };
    let length = frame.encode(&mut bytes).unwrap_or_else(|error| panic!("{error}"));
    bytes.truncate(length);
    bytes[16] = flags & 0xfe;
    bytes[17] = steps.byte() & 3;
    if flags & 0x10 != 0 {
        bytes[19] = 4;
        bytes.extend([steps.byte(), steps.byte(), steps.byte(), steps.byte()]);
    }
    bytes
}

/// An FPDU with a right CRC, whose segment may have any header.
fn fpdu(steps: &mut Steps<'_>, encoder: &mut FpduEncoder) -> Vec<u8> {
    let [opcode, number, more] = [steps.byte(), steps.byte(), steps.byte()];
    let rdmap = Rdmap::new(opcode);
    let row = rdmap.row();
    let is_tagged = matches!(opcode & 0x0f, 0 | 2) != (opcode & 0xf0 == 0xf0);
    let place = if is_tagged {
        Place::Tagged { stag: Stag::new(u32::from(number & 3)), offset: u64::from(more & 0x38) }
    } else {
        let queue = [0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 3, 0, 0, 0, 0][usize::from(opcode & 0x0f)];
        let offset = if more & 0x40 == 0 { 0 } else { u32::from(more & 0x38) };
        Place::Untagged { upper: u32::from(opcode & 0x10), queue, msn: u32::from(number & 0x0f), offset }
    };
    let mut header = Header::new(rdmap, more & 1 == 0, place);
    header.ddp_reserved = u8::from(more == 0xff);
    let mut ulpdu = header.encode()[..header.length()].to_vec();
    let length = match row.map(|row| row.payload) {
        Some(rdmalab_craft::wire::iwarp::PayloadRule::Exactly(length)) => length,
        Some(rdmalab_craft::wire::iwarp::PayloadRule::AtLeast(length)) => length + usize::from(more & 0x3f),
        _ => usize::from(more & 0x38),
    };
    ulpdu.extend((0..length).map(|at| if at % 4 == 3 { steps.byte() & 0x18 } else { 0 }));
    if opcode == 0xff {
        ulpdu.clear();
    }
    let Ok(layout) = encoder.layout(ulpdu.len()) else { return Vec::new() };
    let mut bytes = vec![0; layout.length()];
    let _ = encoder.encode(&[&ulpdu], &mut bytes);
    bytes
}
