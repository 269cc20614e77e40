//! The captures of Linux siw: every start-up frame and every FPDU of both directions decodes, and encodes
//! again to the very bytes of the stream.

use std::collections::BTreeMap;

use rdmalab_wire::iwarp::{
    CrcVerdict, Enhanced, Event, FpduEncoder, Framer, Framing, MpaFrame, MpaKind, RawSegment, Segment,
};

use crate::pcap;
use crate::tcp::{Direction, directions};

/// An FPDU: where in the stream it stands, its ULPDU and its padding.
struct Fpdu {
    position: u64,
    ulpdu: Vec<u8>,
    pad: Vec<u8>,
}

/// A stream: its start-up frame and its FPDUs.
fn read(direction: &Direction) -> (MpaFrame<'_>, Vec<Fpdu>) {
    let (frame, length) = MpaFrame::parse(&direction.stream).unwrap().expect("a whole start-up frame");
    // siw uses neither; computing the CRC shows that it is absent and not wrong.
    let mut framer = Framer::new(Framing { markers: false, crc: true });
    let mut piece = &direction.stream[length..];
    let mut fpdus = Vec::new();
    let mut ulpdu = Vec::new();
    while let Some(event) = framer.next_event(&mut piece) {
        match event {
            Event::Marker(marker) => panic!("siw sends no markers: {marker:?}"),
            Event::Head(head) => ulpdu.extend_from_slice(head.header_bytes()),
            Event::Payload(bytes) => ulpdu.extend_from_slice(bytes),
            Event::End(end) => {
                assert_eq!(end.crc.verdict(), CrcVerdict::Absent);
                let ulpdu = std::mem::take(&mut ulpdu);
                fpdus.push(Fpdu { position: end.position, ulpdu, pad: end.pad().to_vec() });
            }
        }
    }
    assert!(framer.is_between_fpdus(), "the stream ends with an FPDU");
    (frame, fpdus)
}

/// All of it put together again.
fn write(frame: &MpaFrame<'_>, fpdus: &[Fpdu]) -> Vec<u8> {
    let mut stream = vec![0; frame.encoded_length()];
    frame.encode(&mut stream).unwrap();
    let mut encoder = FpduEncoder::new(Framing::default());
    for Fpdu { position, ulpdu, pad } in fpdus {
        let segment = Segment::parse(ulpdu).unwrap();
        let mut again = vec![0; segment.encoded_length()];
        segment.encode(&mut again).unwrap();
        assert_eq!(again, *ulpdu, "{segment}");
        assert_eq!(RawSegment::parse(ulpdu).to_string(), segment.to_string());
        assert_eq!(encoder.position(), *position);
        let layout = encoder.layout(again.len()).unwrap();
        let mut fpdu = vec![0; layout.length()];
        encoder.encode(&[&again], &mut fpdu).unwrap();
        for (place, byte) in layout.pad().flatten().zip(pad) {
            fpdu[place] = *byte;
        }
        stream.extend_from_slice(&fpdu);
    }
    stream
}

/// Streams, FPDUs by opcode, and bytes of payload of WRITEs and READ responses in a capture.
#[track_caller]
fn check(name: &str, streams: usize, opcodes: &[(&str, usize)], tagged_bytes: usize) {
    let directions = directions(&pcap::frames(name));
    assert_eq!(directions.len(), streams, "{name}");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut bytes = 0;
    for direction in &directions {
        let (frame, fpdus) = read(direction);
        let expected =
            if direction.from.port() > direction.to.port() { MpaKind::Request } else { MpaKind::Reply };
        assert_eq!(frame.kind, expected, "{name}");
        assert_eq!((frame.revision, frame.markers, frame.crc, frame.reject), (2, false, false, false));
        assert!(frame.enhanced.is_some());
        for fpdu in &fpdus {
            let segment = Segment::parse(&fpdu.ulpdu).unwrap();
            *counts.entry(segment.body.opcode().to_string()).or_default() += 1;
            if segment.header().is_tagged() {
                bytes += segment.payload.len();
            }
        }
        assert_eq!(write(&frame, &fpdus), direction.stream, "{name}");
    }
    let opcodes: BTreeMap<String, usize> =
        opcodes.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(counts, opcodes, "{name}");
    assert_eq!(bytes, tagged_bytes, "{name}");
}

#[test]
fn rping() {
    let opcodes = [("WRITE", 2), ("READ_REQUEST", 2), ("READ_RESPONSE", 2), ("SEND", 8)];
    check("siw_rping.pcap", 2, &opcodes, 4 * 200);
}

#[test]
fn write_bw() {
    check("siw_write_bw.pcap", 4, &[("WRITE", 15), ("SEND", 32)], 5 * 10_000);
}

#[test]
fn read_bw() {
    let opcodes = [("READ_REQUEST", 5), ("READ_RESPONSE", 15), ("SEND", 32)];
    check("siw_read_bw.pcap", 4, &opcodes, 5 * 10_001);
}

#[test]
fn rstream() {
    check("siw_rstream.pcap", 2, &[("WRITE", 20), ("SEND", 22)], 2 * (4 * 5000 + 32));
}

#[test]
fn write_bw_through_a_bad_network() {
    check("siw_write_loss.pcap", 4, &[("WRITE", 150), ("SEND", 32)], 10 * 60_000);
}

/// RFC 6581 §9, as siw fills it in.
#[test]
fn rping_says_how_many_reads_it_takes() {
    let directions = directions(&pcap::frames("siw_rping.pcap"));
    for (direction, kind) in directions.iter().zip([MpaKind::Request, MpaKind::Reply]) {
        let (frame, _) = read(direction);
        assert_eq!(frame.kind, kind);
        let enhanced = Enhanced { ird: 1, ord: 1, ..Enhanced::default() };
        assert_eq!((frame.enhanced, frame.private_data), (Some(enhanced), &[][..]));
    }
    let (request, _) = read(&directions[0]);
    assert_eq!(request.to_string(), "MPA REQUEST rev=2 ird=1 ord=1 len=0");
}

/// RFC 5044 §4.1 wants zeros for padding. In the runs of perftest the fourth SEND of the first connection has
/// a byte of something else there, from either side, so a receiver had better not look at it.
#[test]
fn siw_leaves_something_in_the_padding() {
    for name in ["siw_write_bw.pcap", "siw_read_bw.pcap", "siw_write_loss.pcap"] {
        let directions = directions(&pcap::frames(name));
        let left: Vec<(u64, Vec<u8>)> = directions
            .iter()
            .flat_map(|direction| read(direction).1)
            .filter(|fpdu| fpdu.pad.iter().any(|byte| *byte != 0))
            .map(|fpdu| (fpdu.position, fpdu.pad))
            .collect();
        assert_eq!(left, [(96, vec![0x00, 0x40]), (96, vec![0x00, 0x40])], "{name}");
    }
}

#[test]
fn rping_as_lines() {
    let directions = directions(&pcap::frames("siw_rping.pcap"));
    let lines: Vec<String> = directions
        .iter()
        .flat_map(|direction| read(direction).1)
        .map(|fpdu| Segment::parse(&fpdu.ulpdu).unwrap().to_string())
        .collect();
    let expected = [
        "RDMAP SEND msn=1 mo=0 len=16 last",
        "RDMAP READ_RESPONSE stag=0x18475d00 to=0x5590dfacb960 len=200 last",
        "RDMAP SEND msn=2 mo=0 len=16 last",
        "RDMAP SEND msn=3 mo=0 len=16 last",
        "RDMAP READ_RESPONSE stag=0x18475d00 to=0x5590dfacb960 len=200 last",
        "RDMAP SEND msn=4 mo=0 len=16 last",
        "RDMAP READ_REQUEST msn=1 sink_stag=0x18475d00 sink_to=0x5590dfacb960 size=200 \
         src_stag=0x4e4b1100 src_to=0x561983da3540",
        "RDMAP SEND msn=1 mo=0 len=16 last",
        "RDMAP WRITE stag=0xcff30c00 to=0x561983da3430 len=200 last",
        "RDMAP SEND msn=2 mo=0 len=16 last",
        "RDMAP READ_REQUEST msn=2 sink_stag=0x18475d00 sink_to=0x5590dfacb960 size=200 \
         src_stag=0x4e4b1100 src_to=0x561983da3540",
        "RDMAP SEND msn=3 mo=0 len=16 last",
        "RDMAP WRITE stag=0xcff30c00 to=0x561983da3430 len=200 last",
        "RDMAP SEND msn=4 mo=0 len=16 last",
    ];
    assert_eq!(lines, expected);
}
