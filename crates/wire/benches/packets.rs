//! What one packet costs: taken apart and its ICRC verified, as a receiver does; put together with its ICRC,
//! as a sender does. `cargo bench -p rdmalab-wire`

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use rdmalab_wire::{
    Body, Bth, Carried, Carrier, Datagram, Ecn, Frame, NetworkHeader, Packet, Psn, Qpn, RKey, RawPacket,
    Reth, Transport, encode_headers, vcrc,
};

const PAYLOADS: [usize; 3] = [64, 1024, 4096];

fn main() {
    divan::main();
}

fn flow(v6: bool) -> NetworkHeader {
    let address = |last: u8| {
        if v6 {
            IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, last.into()))
        } else {
            IpAddr::V4(Ipv4Addr::new(10, 9, 0, last))
        }
    };
    NetworkHeader::new(address(1), address(2), 0xc000, 0, Ecn::NotEct, 64).unwrap()
}

/// Puts a WRITE ONLY together whose payload is in its place already; the bytes of the whole packet.
fn build(header: &NetworkHeader, psn: u32, payload: usize, buffer: &mut [u8]) -> usize {
    let bth = Bth::new(Qpn::new(0x11), Psn::new(psn));
    let reth = Reth { virtual_address: 0x7f00_0000_1000, key: RKey::new(0x200), length: payload as u32 };
    let body = Body::WriteOnly(reth);
    let ib = &mut buffer[header.length()..];
    let headers = encode_headers(&bth, &Transport::Rc, &body, payload, ib).unwrap();
    let length = header.length() + headers + payload + 4;
    header.finish(&mut buffer[..length], psn as u16).unwrap();
    length
}

fn packet(v6: bool, payload: usize) -> Vec<u8> {
    let mut buffer: Vec<u8> = (0..8192).map(|byte| byte as u8).collect();
    let length = build(&flow(v6), 1, payload, &mut buffer);
    buffer.truncate(length);
    buffer
}

fn receive(bencher: Bencher<'_, '_>, v6: bool, payload: usize) {
    let bytes = packet(v6, payload);
    bencher.counter(BytesCount::new(payload)).bench(|| {
        let datagram = Datagram::parse(black_box(&bytes)).unwrap();
        datagram.verify_icrc().unwrap();
        let packet = Packet::parse(datagram.ib).unwrap();
        (packet.bth.psn, packet.payload.len())
    });
}

#[divan::bench(args = PAYLOADS)]
fn decode_and_verify_ipv4(bencher: Bencher<'_, '_>, payload: usize) {
    receive(bencher, false, payload);
}

#[divan::bench(args = PAYLOADS)]
fn decode_and_verify_ipv6(bencher: Bencher<'_, '_>, payload: usize) {
    receive(bencher, true, payload);
}

fn send(bencher: Bencher<'_, '_>, v6: bool, payload: usize) {
    let header = flow(v6);
    let mut buffer = vec![0x5a; 8192];
    let mut psn = 0_u32;
    bencher.counter(BytesCount::new(payload)).bench_local(|| {
        psn = psn.wrapping_add(1);
        build(black_box(&header), psn, payload, black_box(&mut buffer))
    });
}

#[divan::bench(args = PAYLOADS)]
fn build_with_icrc_ipv4(bencher: Bencher<'_, '_>, payload: usize) {
    send(bencher, false, payload);
}

#[divan::bench(args = PAYLOADS)]
fn build_with_icrc_ipv6(bencher: Bencher<'_, '_>, payload: usize) {
    send(bencher, true, payload);
}

/// Without the ICRC: what the headers alone cost.
#[divan::bench]
fn decode_without_icrc_ipv4(bencher: Bencher<'_, '_>) {
    let bytes = packet(false, 64);
    bencher.bench(|| {
        let datagram = Datagram::parse(black_box(&bytes)).unwrap();
        let packet = Packet::parse(datagram.ib).unwrap();
        (datagram.source, packet.bth.psn, packet.payload.len())
    });
}

#[divan::bench]
fn datagram_alone_ipv4(bencher: Bencher<'_, '_>) {
    let bytes = packet(false, 64);
    bencher.bench(|| Datagram::parse(black_box(&bytes)).is_ok());
}

#[divan::bench]
fn tell_roce_v2_frames_from_others(bencher: Bencher<'_, '_>) {
    let mut frame = vec![0; 12];
    frame.extend_from_slice(&[0x08, 0x00]);
    frame.extend_from_slice(&packet(false, 64));
    bencher.bench(|| rdmalab_wire::is_roce_v2(black_box(&frame)));
}

#[divan::bench]
fn frame_alone(bencher: Bencher<'_, '_>) {
    let mut frame = vec![0; 12];
    frame.extend_from_slice(&[0x08, 0x00]);
    frame.extend_from_slice(&packet(false, 64));
    bencher.bench(|| Frame::parse(black_box(&frame)).is_ok());
}

#[divan::bench]
fn encode_headers_alone(bencher: Bencher<'_, '_>) {
    let bth = Bth::new(Qpn::new(0x11), Psn::new(1));
    let body = Body::WriteOnly(Reth::default());
    let mut buffer = [0; 64];
    bencher.bench_local(|| {
        encode_headers(black_box(&bth), &Transport::Rc, black_box(&body), 64, black_box(&mut buffer)).is_ok()
    });
}

#[divan::bench]
fn packet_alone(bencher: Bencher<'_, '_>) {
    let bytes = packet(false, 64);
    let ib = Datagram::parse(&bytes).unwrap().ib;
    bencher.bench(|| match Packet::parse(black_box(ib)) {
        Ok(packet) => packet.bth.psn.value() as usize + packet.payload.len(),
        Err(_) => 0,
    });
}

fn frame(payload: usize) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend_from_slice(&[0x08, 0x00]);
    frame.extend_from_slice(&packet(false, payload));
    frame
}

/// As a dump does, without the checksum.
#[divan::bench]
fn carried_in_frame_and_packet(bencher: Bencher<'_, '_>) {
    let frame = frame(64);
    bencher.bench(|| {
        let carried = Carried::in_frame(&Frame::parse(black_box(&frame)).unwrap()).unwrap().unwrap();
        let packet = Packet::parse(carried.ib).unwrap();
        packet.bth.psn.value() as usize + packet.payload.len()
    });
}

#[divan::bench]
fn carried_in_frame_alone(bencher: Bencher<'_, '_>) {
    let frame = frame(64);
    bencher.bench(|| {
        let frame = Frame::parse(black_box(&frame)).unwrap();
        Carried::in_frame(&frame).unwrap().unwrap().ib.len()
    });
}

#[divan::bench]
fn raw_packet_alone(bencher: Bencher<'_, '_>) {
    let bytes = packet(false, 64);
    let ib = Datagram::parse(&bytes).unwrap().ib;
    bencher.bench(|| RawPacket::parse(black_box(ib)).payload.len());
}

/// What a dump that verifies takes, to be held against the CRC alone.
#[divan::bench(args = PAYLOADS)]
fn carried_in_frame_and_icrc(bencher: Bencher<'_, '_>, payload: usize) {
    let frame = frame(payload);
    bencher.counter(BytesCount::new(payload)).bench(|| {
        let carried = Carried::in_frame(&Frame::parse(black_box(&frame)).unwrap()).unwrap().unwrap();
        carried.verify_icrc().unwrap();
        Packet::parse(carried.ib).unwrap().payload.len()
    });
}

#[divan::bench(args = PAYLOADS)]
fn crc32_alone(bencher: Bencher<'_, '_>, payload: usize) {
    let bytes = packet(false, payload);
    bencher.counter(BytesCount::new(payload)).bench(|| crc32fast::hash(black_box(&bytes)));
}

/// A packet of a native link: both checksums.
#[divan::bench(args = PAYLOADS)]
fn link_packet_and_both_checksums(bencher: Bencher<'_, '_>, payload: usize) {
    let payload_bytes = vec![0x5a; payload];
    let bth = Bth::new(Qpn::new(0x11), Psn::new(1));
    let packet = Packet { bth, transport: Transport::Rc, body: Body::SendOnly, payload: &payload_bytes };
    let carrier = Carrier::native(4, 1).with_lengths(packet.encoded_length() + 4).unwrap();
    let mut bytes = vec![0; carrier.header_length() + packet.encoded_length() + carrier.trailer_length()];
    packet.encode(&mut bytes[carrier.header_length()..]).unwrap();
    carrier.finish(&mut bytes).unwrap();
    bencher.counter(BytesCount::new(payload)).bench(|| {
        let carried = Carried::in_link_packet(black_box(&bytes)).unwrap().unwrap();
        carried.verify_icrc().unwrap();
        carried.verify_vcrc().unwrap().unwrap();
    });
}

#[divan::bench]
fn vcrc_of_4096_bytes(bencher: Bencher<'_, '_>) {
    let bytes = vec![0x5a; 4096];
    bencher.counter(BytesCount::new(4096_usize)).bench(|| vcrc(black_box(&bytes)));
}
