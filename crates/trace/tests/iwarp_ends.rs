//! Captures of iWARP that end with bytes missing: no later data tells that, but acknowledgements, a FIN, or nothing do.

#[path = "support/crafted.rs"]
#[allow(dead_code)]
mod crafted;
#[path = "support/found.rs"]
#[allow(dead_code)]
mod found;
#[path = "support/frames.rs"]
#[allow(dead_code)]
mod frames;

use crafted::{ACK, FIRST, SYN, Side, every_segment, fpdus, opening, said, segment, start_up};
use found::{Found, found, found_in, names, packets};
use rdmalab_trace::{LinkType, Reader, Streams};
use rdmalab_wire::iwarp::{Framing, MpaKind};

const FIN: u8 = 0x01;
const RST: u8 = 0x04;
const PORT: u16 = 4000;

/// The last byte of what a side says, in the numbers of TCP.
fn behind(side: Side, length: usize) -> u32 {
    FIRST[side as usize].wrapping_add(1).wrapping_add(length as u32)
}

/// A connection and what its initiator says; all but the last `lost` bytes of it are captured.
fn cut_short(lost: usize) -> (Vec<Vec<u8>>, usize) {
    let request = start_up(MpaKind::Request, false, false);
    let reply = start_up(MpaKind::Reply, false, false);
    let stream = [request.clone(), fpdus(&every_segment(), Framing::default()).concat()].concat();
    let mut packets = opening(PORT);
    packets.push(said(Side::Initiator, PORT, 0, &request));
    packets.push(said(Side::Responder, PORT, 0, &reply));
    packets.push(said(Side::Initiator, PORT, request.len(), &stream[request.len()..stream.len() - lost]));
    (packets, stream.len())
}

fn from(side: Side, flags: u8, sequence: u32, acknowledged: u32) -> Vec<u8> {
    segment(side, PORT, ACK | flags, sequence, acknowledged, &[])
}

/// The frames that tell of bytes which the capture does not have.
fn told_in(found: &Found) -> Vec<u64> {
    let told = found.iter().filter(|(_, unit)| unit["rdmalab.iwarp.not_captured"].is_string());
    told.map(|(frame, _)| *frame).collect()
}

#[test]
fn a_hole_in_front_of_a_fin_is_told_once_the_other_side_had_it() {
    for lost in [1, 8, 100] {
        let (mut packets, length) = cut_short(lost);
        let end = behind(Side::Initiator, length);
        let reply = behind(Side::Responder, 22);
        packets.push(from(Side::Initiator, FIN, end, reply));
        packets.push(from(Side::Responder, FIN, reply, end.wrapping_add(1)));
        let (told, summary) = found(&packets);
        // Nothing that the initiator says comes behind the acknowledgement: counted, but no packet is there to tell it.
        assert_eq!((told_in(&told), summary.iwarp_bytes_not_captured()), (vec![], lost as u64));
        packets.push(from(Side::Initiator, 0, end.wrapping_add(1), reply.wrapping_add(1)));
        let (told, summary) = found(&packets);
        assert_eq!((told_in(&told), summary.iwarp_bytes_not_captured()), (vec![9], lost as u64));
    }
}

#[test]
fn a_hole_in_front_of_a_reset_or_an_acknowledgement_is_told_as_well() {
    let (mut packets, length) = cut_short(100);
    let end = behind(Side::Initiator, length);
    packets.push(from(Side::Responder, 0, behind(Side::Responder, 22), end));
    for flags in [0, RST] {
        packets.push(from(Side::Initiator, flags, end, behind(Side::Responder, 22)));
        let (told, summary) = found(&packets);
        assert_eq!((told_in(&told), summary.iwarp_bytes_not_captured()), (vec![8], 100));
        packets.pop();
    }
    // Of what the initiator says it has not sent, and of what the responder has not got, nothing is concluded.
    packets.push(from(
        Side::Initiator,
        0,
        behind(Side::Initiator, length - 100),
        behind(Side::Responder, 22),
    ));
    assert!(told_in(&found(&packets).0).is_empty());
    packets.drain(6..);
    packets.push(from(Side::Initiator, RST, end, behind(Side::Responder, 22)));
    assert_eq!(found(&packets).1.iwarp_bytes_not_captured(), 0);
}

#[test]
fn a_fin_is_no_byte_even_if_the_capture_does_not_have_it() {
    let (mut packets, length) = cut_short(0);
    let (end, reply) = (behind(Side::Initiator, length), behind(Side::Responder, 22));
    let fin = from(Side::Initiator, FIN, end, reply);
    let rest = [
        from(Side::Responder, FIN, reply, end.wrapping_add(1)),
        from(Side::Initiator, 0, end.wrapping_add(1), reply.wrapping_add(1)),
        from(Side::Responder, 0, reply.wrapping_add(1), end.wrapping_add(1)),
    ];
    packets.extend(rest.clone());
    assert_eq!(found(&packets).1.iwarp_bytes_not_captured(), 0);
    packets.insert(6, fin);
    assert_eq!(found(&packets).1.iwarp_bytes_not_captured(), 0);
}

#[test]
fn what_waits_behind_a_hole_comes_out_with_an_acknowledgement_or_is_counted_at_the_end() {
    let (mut packets, length) = cut_short(0);
    let whole = packets.pop().unwrap();
    let stream = &whole[54..];
    packets.push(said(Side::Initiator, PORT, 22 + 1300, &stream[1300..]));
    let (nothing, summary) = found(&packets);
    assert_eq!(names(&nothing), [""; 0]);
    assert_eq!(
        (summary.iwarp_bytes_not_captured(), summary.iwarp_left.waiting),
        (1300, stream.len() as u64 - 1300)
    );
    let told = format!(", {} behind them left alone at the end", stream.len() - 1300);
    assert!(summary.to_string().ends_with(&told), "{summary}");
    let end = behind(Side::Initiator, length);
    packets.push(from(Side::Responder, 0, behind(Side::Responder, 22), end));
    packets.push(from(Side::Initiator, 0, end, behind(Side::Responder, 22)));
    let (all, summary) = found(&packets);
    assert_eq!((summary.iwarp_bytes_not_captured(), summary.iwarp_left.waiting), (1300, 0));
    assert!(names(&all).len() > 3 && all.iter().all(|(frame, _)| [4, 5, 8].contains(frame)), "{all:?}");
}

#[test]
fn what_earlier_connections_of_the_ports_left_is_kept() {
    let (mut packets, length) = cut_short(100);
    packets.push(from(Side::Responder, 0, behind(Side::Responder, 22), behind(Side::Initiator, length)));
    packets.push(segment(Side::Initiator, PORT, SYN, 77, 0, &[]));
    assert_eq!(found(&packets).1.iwarp_bytes_not_captured(), 100);
}

/// Of captures of a real peer, without losses.
#[test]
fn whichever_segment_a_capture_lacks_its_bytes_are_counted() {
    for name in ["siw_rping", "siw_write_bw", "siw_read_bw", "siw_rstream"] {
        let packets = packets(name);
        let length_of = |packet: &Vec<u8>| {
            let file = frames::capture(LinkType::ETHERNET, [&packet[..]]);
            let mut reader = Reader::new(&file[..]).unwrap();
            let record = reader.next().unwrap().unwrap();
            Streams::new().dissect(&record).tcp().map_or(0, |segment| segment.length as u64)
        };
        for (index, lost) in packets.iter().enumerate().filter(|(_, packet)| length_of(packet) > 0) {
            let mut rest = packets.clone();
            rest.remove(index);
            let file = frames::capture(LinkType::ETHERNET, rest.iter().map(Vec::as_slice));
            let (_, summary) = found_in(&file);
            assert_eq!(summary.iwarp_bytes_not_captured(), length_of(lost), "{name}, frame {}", index + 1);
            assert!(summary.is_fine(), "{name}, frame {}: {summary}", index + 1);
        }
    }
}
