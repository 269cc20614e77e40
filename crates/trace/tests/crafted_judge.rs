//! Wireshark as judge of every opcode, header, segment and carrier: one crafted capture for each link type.

#[path = "support/crafted.rs"]
#[allow(dead_code)]
mod crafted;
#[path = "support/frames.rs"]
#[allow(dead_code)]
mod frames;
#[path = "support/judge.rs"]
#[allow(dead_code)]
mod judge;
#[path = "support/tshark.rs"]
#[allow(dead_code)]
mod tshark;

use crafted::{
    Side, carried, ethernet, every_segment, fpdus, grh, infiniband, opcodes, opening, said, start_up,
};
use frames::{capture, hex};
use judge::{compare, compare_two};
use rdmalab_trace::LinkType;
use rdmalab_wire::Carrier;
use rdmalab_wire::iwarp::{Framing, MpaKind};

/// RoCE with every opcode, iWARP with every segment, flow control.
fn on_ethernet() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let [v4, v6] = crafted::roce_v2();
    for (carrier, ethertype) in [(v4, 0x0800), (v6, 0x86dd), (Carrier::RoceV1(grh()), 0x8915)] {
        frames.extend(opcodes().map(|row| ethernet(ethertype, &carried(carrier, &infiniband(row)))));
    }
    for (port, framing) in [
        (40_000, Framing { markers: false, crc: true }),
        (40_001, Framing::default()),
        (40_002, Framing { markers: true, crc: true }),
    ] {
        let request = start_up(MpaKind::Request, framing.markers, framing.crc);
        let reply = start_up(MpaKind::Reply, framing.markers, framing.crc);
        frames.extend(opening(port));
        frames.push(said(Side::Initiator, port, 0, &request));
        frames.push(said(Side::Responder, port, 0, &reply));
        let mut at = request.len();
        for fpdu in fpdus(&every_segment(), framing) {
            frames.push(said(Side::Initiator, port, at, &fpdu));
            at += fpdu.len();
        }
    }
    frames.extend(crafted::management().map(|packet| ethernet(0x0800, &carried(v4, &packet))));
    let mut pause = ethernet(0x8808, &hex("0001 ffff"));
    let mut priorities = ethernet(0x8808, &hex("0101 0018 0000 0000 0000 1234 0000 0000 0000 0000"));
    for frame in [&mut pause, &mut priorities] {
        frame[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 1]);
        frame.resize(60, 0);
    }
    frames.extend([pause, priorities]);
    frames
}

fn on_infiniband() -> Vec<Vec<u8>> {
    let native = Carrier::native(4, 5);
    let with_grh = native.with_grh(grh());
    opcodes().flat_map(|row| [native, with_grh].map(|carrier| carried(carrier, &infiniband(row)))).collect()
}

/// A capture of these packets in records of ERF (link type 197), the only way in which tshark 4.0 reads
/// those of a native link.
fn in_erf(packets: &[Vec<u8>]) -> Vec<u8> {
    let records: Vec<Vec<u8>> = packets
        .iter()
        .map(|packet| {
            let length = (packet.len() as u16).to_be_bytes();
            let whole = (packet.len() as u16 + 16).to_be_bytes();
            // Time, type 21 (InfiniBand), flags (of varying length), lengths and losses.
            [&[0; 8][..], &[21, 4], &whole, &[0; 2], &length, packet].concat()
        })
        .collect();
    capture(LinkType(197), records.iter().map(Vec::as_slice))
}

#[test]
fn every_opcode_and_header_has_wiresharks_fields_and_no_difference_is_listed_in_vain() {
    if !tshark::is_there() {
        return;
    }
    let packets = on_ethernet();
    let path =
        tshark::scratch("crafted.pcapng", &capture(LinkType::ETHERNET, packets.iter().map(Vec::as_slice)));
    let ethernet = compare(&path);
    assert_eq!(ethernet.packets, packets.len());
    let packets = on_infiniband();
    let ours =
        tshark::scratch("native.pcapng", &capture(LinkType::INFINIBAND, packets.iter().map(Vec::as_slice)));
    let theirs = tshark::scratch("native_erf.pcapng", &in_erf(&packets));
    let native = compare_two(&ours, &theirs);
    assert_eq!(native.packets, packets.len());
    println!("{ethernet}\n{native}");
    let idle: Vec<usize> =
        (0..judge::rows()).filter(|row| !ethernet.rows.contains(row) && !native.rows.contains(row)).collect();
    assert!(idle.is_empty(), "rows {idle:?} of DIFFERENCES.md, counted from 0");
}
