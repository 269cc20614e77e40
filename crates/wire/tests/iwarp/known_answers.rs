//! FPDUs with markers and CRCs. No capture of a real peer has them, so Wireshark is the judge: the numbers
//! here are those that tshark 4.0 showed for these streams, each CRC with the words "Good CRC32".

use rdmalab_wire::iwarp::{Body, Segment, SendKind, Tagged};
use rdmalab_wire::iwarp::{Event, FpduEncoder, Framer, Framing, Stag};

const FRAMING: Framing = Framing { markers: true, crc: true };

fn write(length: usize, offset: u64) -> (Body<'static>, Vec<u8>) {
    (Body::Write(Tagged { stag: Stag::new(0x1234), offset }), (0..length).map(|byte| byte as u8).collect())
}

/// The CRCs as four bytes of the stream, and the FPDU pointers.
fn crcs_and_pointers(segments: &[(Body<'_>, Vec<u8>)]) -> (Vec<u32>, Vec<u16>) {
    let mut encoder = FpduEncoder::new(FRAMING);
    let mut stream = Vec::new();
    for (body, payload) in segments {
        let segment = Segment { body: *body, payload, last: true };
        let mut ulpdu = vec![0; segment.encoded_length()];
        segment.encode(&mut ulpdu).unwrap();
        let mut fpdu = vec![0; encoder.layout(ulpdu.len()).unwrap().length()];
        encoder.encode(&[&ulpdu], &mut fpdu).unwrap();
        stream.extend_from_slice(&fpdu);
    }
    let mut framer = Framer::new(FRAMING);
    let mut piece = &stream[..];
    let (mut crcs, mut pointers) = (Vec::new(), Vec::new());
    while let Some(event) = framer.next_event(&mut piece) {
        match event {
            Event::Marker(marker) => {
                assert!(marker.is_right());
                pointers.push(marker.pointer);
            }
            Event::End(end) => {
                assert!(end.crc.is_right());
                crcs.push(end.crc.found.swap_bytes());
            }
            Event::Head(_) | Event::Payload(_) => {}
        }
    }
    (crcs, pointers)
}

#[test]
fn fpdus_with_markers_as_wireshark_reads_them() {
    let send = Body::Send { kind: SendKind::Plain, msn: 1, offset: 0 };
    let segments =
        [write(100, 0), write(700, 0x1000), (send, b"hello".repeat(10)), write(1000, 0x2000), write(2000, 0)];
    let (crcs, pointers) = crcs_and_pointers(&segments);
    assert_eq!(crcs, [0x99c5_5db8, 0xe926_3ef2, 0xd0e1_4110, 0x720b_84d8, 0xa5f0_dd74]);
    assert_eq!(pointers, [0, 388, 100, 612, 96, 608, 1120, 1632]);
}

#[test]
fn a_marker_falls_wherever_it_falls() {
    let segments: Vec<_> = (0..6).map(|_| write(300, 0)).collect();
    let (crcs, pointers) = crcs_and_pointers(&segments);
    let expected = [0x782f_a89c, 0xbaaa_13da, 0x2533_47ea, 0x4a18_f229, 0x017d_87bb, 0x2533_47ea];
    assert_eq!(crcs, expected);
    assert_eq!(pointers, [0, 188, 56, 244]);
    let (crcs, pointers) = crcs_and_pointers(&[write(2000, 0)]);
    assert_eq!((crcs, pointers), (vec![0x740b_93d7], vec![0, 508, 1020, 1532]));
}
