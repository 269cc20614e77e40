//! iWARP in captures: what TCP does to a stream does not show in what is found in it.

#[path = "support/crafted.rs"]
#[allow(dead_code)]
mod crafted;
#[path = "support/found.rs"]
#[allow(dead_code)]
mod found;
#[path = "support/frames.rs"]
#[allow(dead_code)]
mod frames;

use std::collections::BTreeMap;

use crafted::{ACK, FIRST, Side, every_segment, fpdus, opening, said, segment, start_up};
use found::{crcs, found, found_in, names, packets, pcap};
use proptest::prelude::*;
use rdmalab_trace::{DumpOptions, LinkType, dump};
use rdmalab_wire::iwarp::{Framing, MpaKind, Segment};
use serde_json::Value;

/// FPDUs by opcode, packets with start-up frames, payload bytes of tagged segments: as tshark 4.0 counts them, but
/// for `siw_write_loss`, where it leaves out what comes out of order.
#[test]
fn captures_of_siw_have_every_fpdu_and_no_crc() {
    let captures = [
        ("siw_rping", vec![("READ_REQUEST", 2), ("READ_RESPONSE", 2), ("SEND", 8), ("WRITE", 2)], 2, 800),
        ("siw_write_bw", vec![("SEND", 32), ("WRITE", 15)], 4, 50_000),
        ("siw_read_bw", vec![("READ_REQUEST", 5), ("READ_RESPONSE", 15), ("SEND", 32)], 4, 50_005),
        ("siw_rstream", vec![("SEND", 22), ("WRITE", 20)], 2, 40_064),
        ("siw_write_loss", vec![("SEND", 32), ("WRITE", 150)], 4, 600_000),
    ];
    for (name, opcodes, start_ups, tagged_bytes) in captures {
        let (found, summary) = found_in(&pcap(name));
        let mut counts = BTreeMap::new();
        names(&found).into_iter().for_each(|name| *counts.entry(name).or_insert(0) += 1);
        assert_eq!(counts.into_iter().collect::<Vec<_>>(), opcodes, "{name}");
        assert!(crcs(&found).iter().all(|crc| *crc == "absent"), "{name}");
        let handshakes: Vec<&Value> =
            found.iter().map(|(_, unit)| unit).filter(|unit| unit["iwarp_mpa.rev"] == 2).collect();
        assert_eq!(handshakes.len(), start_ups, "{name}");
        assert!(handshakes.iter().all(|unit| unit["rdmalab.iwarp_mpa.ird"].is_number()), "{name}");
        let tagged = found.iter().filter(|(_, unit)| unit["iwarp_ddp.tagged_flag"] == 1);
        let bytes: u64 = tagged.map(|(_, unit)| unit["rdmalab.payload_length"].as_u64().unwrap()).sum();
        assert_eq!(bytes, tagged_bytes, "{name}");
        assert!(summary.is_fine() && summary.gaps_given_up == 0 && summary.streams_forgotten == 0, "{name}");
        assert_eq!(summary.iwarp_bytes_not_captured(), 0, "{name}");
    }
}

#[test]
fn rping_is_named_from_the_handshake_to_the_last_send() {
    let (found, summary) = found_in(&pcap("siw_rping"));
    let number = |unit: &Value, name: &str| unit[name].as_u64().unwrap();
    for (index, key) in [(0, "iwarp_mpa.key.req"), (1, "iwarp_mpa.key.rep")] {
        let (_, unit) = &found[index];
        assert!(unit[key].is_string());
        let names = ["iwarp_mpa.rev", "rdmalab.iwarp_mpa.ird", "rdmalab.iwarp_mpa.ord"];
        assert_eq!(names.map(|name| number(unit, name)), [2, 1, 1]);
    }
    let rows: Vec<String> = found[2..]
        .iter()
        .map(|(frame, unit)| {
            let place = if unit["iwarp_ddp.tagged_flag"] == 1 {
                format!("stag {}", unit["iwarp_ddp.stag"].as_str().unwrap())
            } else {
                let [queue, msn, mo] =
                    ["iwarp_ddp.qn", "iwarp_ddp.msn", "iwarp_ddp.mo"].map(|name| number(unit, name));
                format!("queue {queue} msn {msn} mo {mo}")
            };
            let [name, crc] =
                ["rdmalab.opcode_name", "rdmalab.iwarp_mpa.crc"].map(|name| unit[name].as_str().unwrap());
            format!("{frame} {name} {place} crc {crc}")
        })
        .collect();
    let expected = [
        "8 SEND queue 0 msn 1 mo 0 crc absent",
        "9 READ_REQUEST queue 1 msn 1 mo 0 crc absent",
        "10 READ_RESPONSE stag 0x18475d00 crc absent",
        "11 SEND queue 0 msn 1 mo 0 crc absent",
        "12 SEND queue 0 msn 2 mo 0 crc absent",
        "13 WRITE stag 0xcff30c00 crc absent",
        "14 SEND queue 0 msn 2 mo 0 crc absent",
        "16 SEND queue 0 msn 3 mo 0 crc absent",
        "17 READ_REQUEST queue 1 msn 2 mo 0 crc absent",
        "18 READ_RESPONSE stag 0x18475d00 crc absent",
        "19 SEND queue 0 msn 3 mo 0 crc absent",
        "20 SEND queue 0 msn 4 mo 0 crc absent",
        "21 WRITE stag 0xcff30c00 crc absent",
        "22 SEND queue 0 msn 4 mo 0 crc absent",
    ];
    assert_eq!(rows, expected);
    assert_eq!(
        summary.to_string(),
        "28 packets, 0 of them RoCE v2: ICRC right in 0; 14 FPDUs: CRC right in 0, absent in 14"
    );
}

/// A connection whose responder asks for these things, and what its initiator sends.
fn conversation(framing: Framing) -> (Vec<Vec<u8>>, Vec<u8>) {
    let request = start_up(MpaKind::Request, false, framing.crc);
    let reply = start_up(MpaKind::Reply, framing.markers, false);
    let mut packets = opening(4000);
    packets.push(said(Side::Initiator, 4000, 0, &request));
    packets.push(said(Side::Responder, 4000, 0, &reply));
    let stream = fpdus(&every_segment(), framing).concat();
    (packets, [request, stream].concat())
}

const REQUEST: usize = 22;

fn expected_names(segments: &[Segment<'_>]) -> Vec<&'static str> {
    segments.iter().map(|segment| segment.body.opcode().row().unwrap().name).collect()
}

#[test]
fn every_kind_of_segment_is_found_in_one_packet_with_and_without_markers_and_crcs() {
    for (markers, crc) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut packets, stream) = conversation(Framing { markers, crc });
        packets.push(said(Side::Initiator, 4000, REQUEST, &stream[REQUEST..]));
        let (found, summary) = found(&packets);
        assert_eq!(names(&found), expected_names(&every_segment()), "{markers} {crc}");
        let state = if crc { "ok" } else { "absent" };
        assert!(crcs(&found).iter().all(|found| *found == state), "{markers} {crc}");
        assert!(found[2..].iter().all(|(frame, _)| *frame == 6));
        let with_markers = found.iter().any(|(_, unit)| unit["iwarp_mpa.marker_fpduptr"].is_array());
        assert_eq!(with_markers, markers);
        assert!(summary.is_fine(), "{summary}");
    }
    let all = expected_names(&every_segment());
    assert!(crafted::rdmap_names().iter().all(|name| all.contains(name)));
}

proptest! {
    /// Cut into segments anywhere, sent in any order, some twice and overlapping.
    #[test]
    fn segmentation_order_and_repetition_do_not_matter(
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        swaps in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 0..20),
        again in prop::collection::vec((any::<prop::sample::Index>(), 1..600_usize), 0..6),
        markers in any::<bool>(),
    ) {
        let (mut packets, stream) = conversation(Framing { markers, crc: true });
        let mut cuts: Vec<usize> =
            cuts.iter().map(|cut| REQUEST + cut.index(stream.len() - REQUEST)).collect();
        cuts.extend([REQUEST, stream.len()]);
        cuts.sort();
        let mut ranges: Vec<_> = cuts.windows(2).map(|ends| ends[0]..ends[1]).collect();
        for (at, length) in again {
            let start = REQUEST + at.index(stream.len() - REQUEST);
            ranges.push(start..stream.len().min(start + length));
        }
        for [one, other] in &swaps {
            let (one, other) = (one.index(ranges.len()), other.index(ranges.len()));
            ranges.swap(one, other);
        }
        packets.extend(ranges.into_iter().map(|range| said(Side::Initiator, 4000, range.start, &stream[range])));
        let (found, summary) = found(&packets);
        prop_assert_eq!(names(&found), expected_names(&every_segment()));
        prop_assert!(crcs(&found).iter().all(|crc| *crc == "ok"));
        prop_assert!(summary.is_fine());
    }

    /// Whatever TCP carries, nothing panics, and memory stays within its limit.
    #[test]
    fn arbitrary_segments_never_panic(
        segments in prop::collection::vec(
            (any::<bool>(), 0..3_u16, any::<u8>(), 0..4000_u32, any::<u32>(), 0..2000_usize, 0..2000_usize, any::<u8>()),
            0..40,
        ),
        markers in any::<bool>(),
    ) {
        let (mut packets, stream) = conversation(Framing { markers, crc: true });
        for (initiator, port, flags, sequence, acknowledged, start, length, change) in segments {
            let side = if initiator { Side::Initiator } else { Side::Responder };
            let start = start.min(stream.len());
            let mut payload = stream[start..stream.len().min(start + length)].to_vec();
            if let Some(byte) = payload.get_mut(usize::from(change)) {
                *byte ^= change;
            }
            let sequence = crafted::FIRST[side as usize].wrapping_add(sequence);
            packets.push(crafted::segment(side, 4000 + port, flags, sequence, acknowledged, &payload));
        }
        let file = frames::capture(LinkType::ETHERNET, packets.iter().map(Vec::as_slice));
        for json in [false, true] {
            dump(&file[..], &mut std::io::sink(), DumpOptions { json, ..DumpOptions::default() }).unwrap();
        }
    }
}

#[test]
fn a_capture_that_begins_in_the_middle_shows_what_comes_later() {
    let all = packets("siw_rping");
    // Without the connection's start and without the start-up: three FPDUs prove each other.
    let (later, summary) = found(&all[7..]);
    assert_eq!(later.len(), 14, "{later:?}");
    assert!(summary.is_fine());
    // They are told when they are believed.
    assert_eq!(later[0].0, 5);
    let (mut packets, stream) = conversation(Framing { markers: false, crc: true });
    packets.clear();
    // In the middle of the first FPDU; with CRCs one FPDU is proof.
    packets.push(said(Side::Initiator, 4000, 500, &stream[500..]));
    let (found, _) = found(&packets);
    assert_eq!(names(&found), expected_names(&every_segment()[1..]));
    assert_eq!(found[0].0, 1);
}

#[test]
fn what_the_capture_lost_is_told_and_what_comes_behind_is_found() {
    for markers in [false, true] {
        let (mut packets, stream) = conversation(Framing { markers, crc: true });
        packets.push(said(Side::Initiator, 4000, REQUEST, &stream[REQUEST..1400]));
        packets.push(said(Side::Initiator, 4000, 1500, &stream[1500..]));
        // The responder has it all.
        let end = crafted::FIRST[0].wrapping_add(1).wrapping_add(stream.len() as u32);
        packets.push(crafted::segment(Side::Responder, 4000, crafted::ACK, 1001 + 22, end, &[]));
        // What was held comes out with the next segment, here one that came before.
        packets.push(said(Side::Initiator, 4000, stream.len() - 4, &stream[stream.len() - 4..]));
        let (found, summary) = found(&packets);
        assert_eq!(summary.iwarp_bytes_not_captured(), 100);
        assert!(summary.to_string().contains("; 100 bytes of iWARP not captured") && summary.is_fine());
        let is_gap = |(_, unit): &(u64, Value)| unit["rdmalab.iwarp.not_captured"] == "100";
        let gap = found.iter().position(is_gap).unwrap();
        let (front, back) = found.split_at(gap);
        let (front, back) = (front.to_vec(), back.to_vec());
        let (front, back) = (names(&front), names(&back));
        let all = expected_names(&every_segment());
        assert_eq!(front, all[..front.len()]);
        assert_eq!(back, all[all.len() - back.len()..]);
        // The gap cuts or swallows four, other ones where markers stand between.
        assert_eq!(front.len() + back.len(), all.len() - 4, "{front:?} {back:?}");
    }
}

#[test]
fn a_capture_that_cut_every_packet_still_names_the_segments_with_payload() {
    let mut writer = rdmalab_trace::Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("eth0").unwrap();
    for packet in packets("siw_write_loss") {
        let kept = &packet[..packet.len().min(128)];
        let entry = rdmalab_trace::Entry::new(interface, 0, kept).original_length(packet.len() as u32);
        writer.write(entry).unwrap();
    }
    let (found, summary) = found_in(&writer.finish().unwrap());
    assert!(summary.iwarp_bytes_not_captured() > 500_000, "{summary}");
    let writes = names(&found).iter().filter(|name| **name == "WRITE").count();
    assert_eq!((writes, summary.malformed.count), (150, 0));
    assert!(summary.fpdus.crc_unknown > 150 && summary.is_fine(), "{summary}");
    let (_, cut) = found.iter().find(|(_, unit)| unit["rdmalab.iwarp_mpa.crc"] == "unknown").unwrap();
    assert!(cut["iwarp_mpa.crc"].is_null() && cut["rdmalab.iwarp.not_captured"].is_string());
}

#[test]
fn a_wrong_crc_a_missing_one_and_a_wrong_marker_are_told() {
    let (mut packets, mut stream) = conversation(Framing { markers: true, crc: true });
    // A byte of the first FPDU's payload, and the CRC of the last.
    stream[100] ^= 1;
    let end = stream.len();
    stream[end - 4..].fill(0);
    packets.push(said(Side::Initiator, 4000, REQUEST, &stream[REQUEST..]));
    let (found_with, summary) = found(&packets);
    let states = crcs(&found_with);
    assert_eq!((states[0], states[states.len() - 1]), ("bad", "bad"));
    assert!(states[1..states.len() - 1].iter().all(|state| *state == "ok"));
    assert_eq!(summary.fpdus.crc_wrong.count, 2);
    assert!(summary.to_string().contains("WRONG in 2 (frame 6, 6)"), "{summary}");
    assert!(!summary.is_fine());
    // The second marker stands 512 bytes behind the first.
    let (mut packets, mut stream) = conversation(Framing { markers: true, crc: true });
    stream[REQUEST + 512 + 3] ^= 0x40;
    packets.push(said(Side::Initiator, 4000, REQUEST, &stream[REQUEST..]));
    let (found, summary) = found(&packets);
    assert_eq!(summary.malformed.count, 1);
    assert!(found[2].1["rdmalab.iwarp.malformed"].as_str().unwrap().contains("FPDU pointer"));
}

#[test]
fn a_broken_start_up_and_other_protocols_are_told_apart() {
    let mut packets = opening(4000);
    let mut request = start_up(MpaKind::Request, false, true);
    request[18..20].copy_from_slice(&[0xff, 0xff]);
    packets.push(said(Side::Initiator, 4000, 0, &request));
    let (broken, summary) = found(&packets);
    assert_eq!(summary.malformed.count, 1);
    assert!(broken[0].1["rdmalab.iwarp.malformed"].as_str().unwrap().contains("private data length"));
    let mut packets = opening(4000);
    packets.push(said(Side::Initiator, 4000, 0, b"GET / HTTP/1.1\r\n\r\n"));
    packets.push(said(Side::Initiator, 4000, 18, &fpdus(&every_segment(), Framing::default()).concat()));
    assert_eq!(found(&packets).0, []);
}

#[test]
fn ports_used_again_begin_a_new_conversation() {
    let (mut packets, stream) = conversation(Framing { markers: false, crc: true });
    packets.push(said(Side::Initiator, 4000, REQUEST, &stream[REQUEST..]));
    // The second time the sequence numbers, and those acknowledged, are other ones, as they must be.
    let again = packets.iter().map(|packet| {
        let mut packet = packet.clone();
        for at in [38, 42] {
            let field: &mut [u8; 4] = (&mut packet[at..at + 4]).try_into().unwrap();
            *field = u32::from_be_bytes(*field).wrapping_add(500_000).to_be_bytes();
        }
        packet
    });
    let twice: Vec<Vec<u8>> = packets.iter().cloned().chain(again).collect();
    let (found, _) = found(&twice);
    assert_eq!(names(&found).len(), 2 * every_segment().len());
}

/// A host that still remembers an earlier connection of these ports answers the SYN with what it expected then
/// (RFC 9293 §3.10.7.4), perhaps far ahead of what is sent now.
#[test]
fn an_acknowledgement_left_from_an_earlier_connection_is_not_believed() {
    let (mut packets, stream) = conversation(Framing { markers: false, crc: true });
    let left_over = segment(Side::Responder, 4000, ACK, 77, FIRST[0].wrapping_add(500_000), &[]);
    packets.insert(1, left_over);
    let middle = stream.len() / 2;
    packets.push(said(Side::Initiator, 4000, middle, &stream[middle..]));
    packets.push(said(Side::Initiator, 4000, REQUEST, &stream[REQUEST..middle]));
    let (found, summary) = found(&packets);
    assert_eq!(names(&found), expected_names(&every_segment()));
    assert_eq!(summary.iwarp_bytes_not_captured(), 0);
}

#[test]
fn a_syn_that_comes_again_behind_data_forgets_nothing_of_the_start_up() {
    let (mut packets, mut stream) = conversation(Framing { markers: true, crc: true });
    let end = stream.len();
    stream[end - 4..].fill(0);
    let middle = stream.len() / 2;
    let first_packets = opening(4000);
    packets.push(said(Side::Initiator, 4000, REQUEST, &stream[REQUEST..middle]));
    packets.extend_from_slice(&first_packets);
    packets.push(said(Side::Initiator, 4000, middle, &stream[middle..]));
    let (found_with, summary) = found(&packets);
    assert_eq!(names(&found_with), expected_names(&every_segment()));
    // CRCs were agreed on, so that zeros are not an absent one.
    assert_eq!(crcs(&found_with).last(), Some(&"bad"));
    assert_eq!((summary.fpdus.crc_wrong.count, summary.fpdus.crc_absent), (1, 0));
    // Nor does the SYN that comes late, behind the first data.
    packets.drain(..3);
    packets.splice(1..1, first_packets);
    let (late, summary) = found(&packets);
    assert_eq!(crcs(&late).last(), Some(&"bad"));
    assert_eq!(summary.fpdus.crc_wrong.count, 1);
}

/// A capture may have the reply and the first data in front of the SYN: what the reply asked for holds.
#[test]
fn a_syn_behind_the_data_that_follow_it_begins_no_other_connection() {
    let (packets, stream) = conversation(Framing { markers: true, crc: true });
    let middle = stream.len() / 2;
    let [syn, syn_ack, ack, request, reply] = &packets[..] else { panic!("{}", packets.len()) };
    let data = |from: usize, to: usize| said(Side::Initiator, 4000, from, &stream[from..to]);
    let (first, second) = (data(REQUEST, middle), data(middle, stream.len()));
    // What was in front of the SYN comes once more.
    let late = [syn_ack, reply, &second, syn, ack, request, &first, &second].map(Clone::clone);
    let (found, summary) = found(&late);
    assert_eq!(names(&found), expected_names(&every_segment()));
    assert!(crcs(&found).iter().all(|crc| *crc == "ok"), "{:?}", crcs(&found));
    assert_eq!(summary.iwarp_bytes_not_captured(), 0);
}

#[test]
fn memory_has_a_limit_and_the_summary_says_when_it_is_reached() {
    // Connections that each hold a segment behind one that never comes.
    let block = vec![0x5a; 1400];
    let packets = (0..60_000_u16).flat_map(|port| {
        let mut packets = opening(port);
        packets.truncate(1);
        packets.push(said(Side::Initiator, port, 1, &block));
        packets
    });
    let mut streams = rdmalab_trace::Streams::new();
    let mut most = 0;
    for packet in packets {
        let file = frames::capture(LinkType::ETHERNET, [&packet[..]]);
        let mut reader = rdmalab_trace::Reader::new(&file[..]).unwrap();
        streams.dissect(&reader.next().unwrap().unwrap());
        most = most.max(streams.held_bytes());
    }
    assert!(most <= rdmalab_trace::MOST_BYTES && most > 16_000 * 1400, "{most}");
    assert_eq!(streams.forgotten(), 60_000 - rdmalab_trace::MOST_CONNECTIONS as u64);
    // One connection that holds more and more.
    let mut packets = opening(4000);
    packets.extend((0..1000).map(|index| said(Side::Initiator, 4000, 1 + index * 2800, &block)));
    let (_, summary) = found(&packets);
    assert!(summary.gaps_given_up > 0);
    assert!(summary.to_string().contains("given up"), "{summary}");
}
