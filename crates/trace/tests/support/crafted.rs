//! Packets that no capture of a peer has: every opcode on every carrier, iWARP in TCP segments of any size.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::iwarp::{
    AtomicOperation, AtomicRequest, AtomicResponse, Body, FpduEncoder, Framing, MpaFrame, MpaKind, Opcode,
    ReadRequest, Segment, SendKind, Stag, Tagged, Terminate, TerminateError,
};
use rdmalab_wire::mad::DATA_LENGTH;
use rdmalab_wire::{Bth, Carrier, CmMad, CmMessage, Deth, Gid, Grh, OpcodeRow, Psn, QKey, Qpn, row};

const ENDS: [&[u8]; 2] = [&[2, 0, 0, 0, 0, 2], &[2, 0, 0, 0, 0, 1]];

/// An Ethernet frame from one side to the other.
pub(crate) fn ethernet(ethertype: u16, behind: &[u8]) -> Vec<u8> {
    [ENDS[1], ENDS[0], &ethertype.to_be_bytes(), behind].concat()
}

/// A packet of this opcode with what the opcode has behind the base header, and 12 bytes of payload or what it must
/// have. It goes to queue pair 0x1234, in which there are no management datagrams.
pub(crate) fn infiniband(row: &OpcodeRow) -> Vec<u8> {
    let bth = Bth { ack_request: true, ..Bth::new(Qpn::new(0x1234), Psn::new(0x56)) };
    let mut packet = bth.encode(rdmalab_wire::Opcode(row.opcode)).to_vec();
    packet.extend((0..row.headers.length()).map(|byte| byte as u8 | 1));
    let length = [12, 0, 8, 16].into_iter().find(|length| row.payload.allows_on_some_path(*length)).unwrap();
    packet.extend(std::iter::repeat_n(0x11, length));
    packet
}

/// Datagrams of management with every message of communication management, of which every byte is another.
pub(crate) fn management() -> impl Iterator<Item = Vec<u8>> {
    let data: [u8; DATA_LENGTH] = std::array::from_fn(|at| (at as u8).wrapping_mul(7) | 1);
    (0x10..0x20).filter_map(move |attribute| CmMessage::decode(attribute, &data)).map(|message| {
        let bth = Bth::new(Qpn::GSI, Psn::new(3)).encode(rdmalab_wire::Opcode(0x64));
        let deth = Deth { queue_key: QKey::GSI, reserved: 0, source: Qpn::GSI };
        [&bth[..], &deth.encode(), &CmMad::new(0x1234_5678_9abc_def0, message).encode()].concat()
    })
}

/// Every opcode that there is.
pub(crate) fn opcodes() -> impl Iterator<Item = &'static OpcodeRow> {
    (0..=255).filter_map(row)
}

/// A packet behind the headers of a carrier, with its checksums.
pub(crate) fn carried(carrier: Carrier, packet: &[u8]) -> Vec<u8> {
    let carrier = carrier.with_lengths(packet.len() + 4).unwrap();
    let mut bytes = vec![0; carrier.header_length()];
    bytes.extend_from_slice(packet);
    bytes.resize(bytes.len() + carrier.trailer_length(), 0);
    carrier.finish(&mut bytes).unwrap();
    bytes
}

pub(crate) fn grh() -> Grh {
    let gid = |last| Gid(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, last).octets());
    Grh { traffic_class: 3, flow_label: 0x12345, hop_limit: 7, ..Grh::new(gid(1), gid(2)) }
}

pub(crate) fn roce_v2() -> [Carrier; 2] {
    let ip = |last| IpAddr::V4(Ipv4Addr::new(10, 9, 0, last));
    let ipv6 = |last| IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, last));
    [Carrier::roce_v2(ip(1), ip(2), 0xc001).unwrap(), Carrier::roce_v2(ipv6(1), ipv6(2), 0xc001).unwrap()]
}

/// Which side of a TCP connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Initiator,
    Responder,
}

pub(crate) const SYN: u8 = 0x02;
pub(crate) const ACK: u8 = 0x10;

/// A TCP segment in its frame. Checksums are not computed: nobody looks at them.
pub(crate) fn segment(
    side: Side,
    port: u16,
    flags: u8,
    sequence: u32,
    acknowledged: u32,
    payload: &[u8],
) -> Vec<u8> {
    let (from, to) = if side == Side::Initiator { ((2, port), (1, 7174)) } else { ((1, 7174), (2, port)) };
    let mut ip = vec![0x45, 0];
    ip.extend((40 + payload.len() as u16).to_be_bytes());
    ip.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 9, 0, from.0, 10, 9, 0, to.0]);
    ip.extend(from.1.to_be_bytes());
    ip.extend(to.1.to_be_bytes());
    ip.extend(sequence.to_be_bytes());
    ip.extend(acknowledged.to_be_bytes());
    ip.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
    ip.extend_from_slice(payload);
    ethernet(0x0800, &ip)
}

/// Sequence numbers at which both sides begin; those of the initiator soon go round.
pub(crate) const FIRST: [u32; 2] = [u32::MAX - 100, 1000];

/// A connection: its first three packets.
pub(crate) fn opening(port: u16) -> Vec<Vec<u8>> {
    vec![
        segment(Side::Initiator, port, SYN, FIRST[0], 0, &[]),
        segment(Side::Responder, port, SYN | ACK, FIRST[1], FIRST[0].wrapping_add(1), &[]),
        segment(Side::Initiator, port, ACK, FIRST[0].wrapping_add(1), FIRST[1].wrapping_add(1), &[]),
    ]
}

/// A segment of what a side says, `at` bytes behind its start.
pub(crate) fn said(side: Side, port: u16, at: usize, payload: &[u8]) -> Vec<u8> {
    let sequence = FIRST[side as usize].wrapping_add(1).wrapping_add(at as u32);
    segment(side, port, ACK, sequence, FIRST[1 - side as usize].wrapping_add(1), payload)
}

pub(crate) fn start_up(kind: MpaKind, markers: bool, crc: bool) -> Vec<u8> {
    let frame = MpaFrame { markers, crc, private_data: b"hi", ..MpaFrame::new(kind) };
    let mut bytes = vec![0; frame.encoded_length()];
    frame.encode(&mut bytes).unwrap();
    bytes
}

/// Segments of every kind.
pub(crate) fn every_segment() -> Vec<Segment<'static>> {
    let tagged = Tagged { stag: Stag::new(0x1234_5601), offset: 0x1_0000_0002 };
    let read = ReadRequest {
        sink_stag: Stag::new(0x0a0b_0c01),
        sink_offset: 0x10,
        length: 300,
        source_stag: Stag::new(0x0d0e_0f02),
        source_offset: 0x7f00_0000_0000,
    };
    let atomic = |operation| AtomicRequest {
        reserved: 0,
        operation,
        request_id: 77,
        stag: Stag::new(0x0a0b_0c01),
        offset: 64,
        add_or_swap: 5,
        add_or_swap_mask: u64::MAX,
        compare: 6,
        compare_mask: 0xff,
    };
    let blamed =
        Segment { body: Body::ReadRequest { msn: 3, request: read }, payload: &[], last: true }.header();
    let error = TerminateError::DDP_INVALID_STAG;
    let terminate = Terminate::about(error, 46, blamed, Some(&[0xab; 28]));
    let send = |kind| Body::Send { kind, msn: 1, offset: 0 };
    let whole = |body| Segment { body, payload: b"", last: true };
    vec![
        Segment { body: Body::Write(tagged), payload: &[0x55; 1200], last: false },
        Segment { body: Body::Write(tagged), payload: b"", last: true },
        Segment { body: Body::ReadResponse(tagged), payload: b"read this", last: true },
        Segment { body: send(SendKind::Plain), payload: b"hello", last: true },
        Segment { body: send(SendKind::Invalidate(Stag::new(0x99))), payload: b"hello", last: true },
        Segment { body: send(SendKind::Solicited), payload: b"hello!", last: true },
        Segment { body: send(SendKind::SolicitedInvalidate(Stag::new(0x98))), payload: b"", last: true },
        whole(Body::ReadRequest { msn: 1, request: read }),
        whole(Body::Immediate { solicited: false, msn: 5, data: *b"12345678" }),
        whole(Body::Immediate { solicited: true, msn: 6, data: *b"12345678" }),
        whole(Body::AtomicRequest { msn: 2, request: atomic(AtomicOperation::FetchAdd) }),
        whole(Body::AtomicRequest { msn: 3, request: atomic(AtomicOperation::CompareSwap) }),
        whole(Body::AtomicResponse { msn: 1, response: AtomicResponse { request_id: 77, original: 42 } }),
        whole(Body::Terminate { msn: 1, terminate }),
    ]
}

/// Segments as FPDUs of one direction, each by itself.
pub(crate) fn fpdus(segments: &[Segment<'_>], framing: Framing) -> Vec<Vec<u8>> {
    let mut encoder = FpduEncoder::new(framing);
    let of = |segment: &Segment<'_>| {
        let mut ulpdu = vec![0; segment.encoded_length()];
        segment.encode(&mut ulpdu).unwrap();
        let mut bytes = vec![0; encoder.layout(ulpdu.len()).unwrap().length()];
        encoder.encode(&[&ulpdu], &mut bytes).unwrap();
        bytes
    };
    segments.iter().map(of).collect()
}

/// The opcodes of RDMAP by name.
pub(crate) fn rdmap_names() -> Vec<&'static str> {
    (0..12).map(|opcode| Opcode::new(opcode).row().unwrap().name).collect()
}
