//! Steps of a conversation over RoCE with right checksums: requests and answers of any kind, messages of connection management,
//! notifications and pauses.

use rdmalab_craft::wire::ethernet::ETHERTYPE_FLOW_CONTROL;
use rdmalab_craft::wire::pause::PAUSE_DESTINATION;
use rdmalab_craft::wire::{
    Carrier, Ecn, EthernetAddress, EthernetHeader, Mad, Msn, NakCode, Opcode, Pause, PayloadRule,
    PriorityPause, Psn, Qpn, Syndrome,
};
use rdmalab_craft::{Capture, CarriedBy, Flow, Packet, Payload, Way};

use super::{Steps, host, put};

const REQUESTS_AND_ANSWERS: [u8; 24] = [
    0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x07, 0x08, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x11,
    0x11, 0x12, 0x13, 0x14, 0x16, 0x1c, 0x1d,
];

pub fn roce(steps: &mut Steps<'_>) -> Vec<u8> {
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
        time += 1 << (wait & 0x1f);
        if what & 0x60 == 0x60 && matches!(number, 0xef | 0xf0) {
            if number == 0xef {
                put(&mut capture, time, &pause(way, steps));
            } else if datagram(&flow, way, more, steps).encode(&mut bytes).is_ok() {
                put(&mut capture, time, &bytes);
            }
            continue;
        }
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
        if packet.encode(&mut bytes).is_ok() {
            put(&mut capture, time, &bytes);
        }
    }
    capture.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// A message of connection management: its IDs, and some bytes of it.
fn datagram(flow: &Flow, way: Way, attribute: u8, steps: &mut Steps<'_>) -> Packet {
    let mut packet = flow.packet(way, Opcode(0x64));
    packet.bth.destination = Qpn::GSI;
    let mut mad = vec![0; Mad::LENGTH];
    mad[..4].copy_from_slice(&[1, 7, 2, 3]);
    mad[17] = 0x10 | attribute & 0x0f;
    for id in [27, 31] {
        mad[id] = steps.byte() & 3;
    }
    for _ in 0..steps.byte() & 0x0f {
        let at = usize::from(steps.byte());
        mad[at.max(24)] = steps.byte();
    }
    packet.payload = Payload::Bytes(mad);
    packet
}

/// A PAUSE, or one for some priorities, of either host.
fn pause(way: Way, steps: &mut Steps<'_>) -> Vec<u8> {
    let source = EthernetAddress([2, 0, 0, 0, 0, if way == Way::Forth { 2 } else { 1 }]);
    let header = EthernetHeader { destination: PAUSE_DESTINATION, source, ethertype: ETHERTYPE_FLOW_CONTROL };
    let (time, enabled) = (u16::from(steps.byte()) << 8, steps.byte());
    let pause = match enabled {
        0 => Pause::Link { time },
        _ => Pause::Priorities(PriorityPause { enabled, times: [time; 8], reserved: 0 }),
    };
    [&header.encode()[..], &pause.encode()[..pause.length()], &[0; 42]].concat()
}
