//! Steps of a conversation over TCP: start-up frames, FPDUs with right CRCs and any header, other bytes; segments lost, doubled, shifted.

use rdmalab_craft::wire::iwarp::{
    FpduEncoder, Framing, Header, MpaFrame, MpaKind, Opcode as Rdmap, PayloadRule, Place, Stag,
};
use rdmalab_craft::{Capture, Stream, Way};

use super::{Steps, host, put};

/// Where an Ethernet frame of TCP over IPv4 has its sequence number and its acknowledgement.
const SEQUENCE: usize = 14 + 20 + 4;
const ACKNOWLEDGMENT: usize = SEQUENCE + 4;

pub fn tcp(steps: &mut Steps<'_>) -> Vec<u8> {
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
        Some(PayloadRule::Exactly(length)) => length,
        Some(PayloadRule::AtLeast(length)) => length + usize::from(more & 0x3f),
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
