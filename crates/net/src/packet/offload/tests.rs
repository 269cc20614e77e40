//! Superframes made by hand; what real kernels make is in the tests of the whole crate.

use super::*;

fn checksum_is_right(frame: &[u8], network: usize, transport: usize) -> bool {
    let (addresses, protocol) =
        if frame[network] >> 4 == 4 { (12..20, frame[network + 9]) } else { (8..40, frame[network + 6]) };
    let datagram = &frame[transport..];
    let pseudo = checksum::sum(&frame[network..][addresses]) + u64::from(protocol) + datagram.len() as u64;
    checksum::fold(pseudo + checksum::sum(datagram)) == 0xffff
}

/// A TCP superframe over IPv4 with options of 12 bytes; flags: all.
fn tcp_superframe(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    frame.extend([0x45, 0x00, 0x00, 0x00, 0xff, 0xff, 0x40, 0x00, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0, 1, 0, 2, 0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 9, 0x80, 0xff, 1, 1, 0, 0, 0, 0]);
    frame.extend([1; 12]);
    frame.extend_from_slice(payload);
    frame
}

fn tcp(size: u16) -> Offload {
    Offload { checksum: Some((34, 16)), cut: (TCP_V4, size) }
}

#[test]
fn a_tcp_superframe_is_cut_into_frames_that_say_what_it_said() {
    let payload: Vec<u8> = (0..250).collect();
    let mut superframe = tcp_superframe(&payload);
    let mut cut = Cut::new(&superframe, &tcp(100)).unwrap();
    let mut frames = Vec::new();
    while let Some(place) = cut.next(&mut superframe) {
        frames.push(superframe[place].to_vec());
    }
    let payloads: Vec<&[u8]> = frames.iter().map(|frame| &frame[66..]).collect();
    assert_eq!(payloads, payload.chunks(100).collect::<Vec<_>>());
    let numbers: Vec<_> = frames.iter().map(|f| u16::from_be_bytes([f[18], f[19]])).collect();
    assert_eq!(numbers, [0xffff, 0, 1], "identifications count on");
    let sequences: Vec<_> = frames.iter().map(|f| u32::from_be_bytes([f[38], f[39], f[40], f[41]])).collect();
    assert_eq!(sequences, [0xffff_fff0, 0x54, 0xb8], "sequence numbers too");
    assert_eq!(frames.iter().map(|f| f[47]).collect::<Vec<_>>(), [0xf6, 0x76, 0x7f], "CWR, then FIN and PSH");
    for frame in &frames {
        assert_eq!(usize::from(u16::from_be_bytes([frame[16], frame[17]])), frame.len() - 14);
        assert_eq!(checksum::fold(checksum::sum(&frame[14..34])), 0xffff);
        assert!(checksum_is_right(frame, 14, 34));
    }
}

#[test]
fn a_udp_superframe_behind_two_tags_and_ipv6_is_cut() {
    let mut superframe =
        vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x86, 0xdd];
    superframe.extend([0x60, 0, 0, 0, 0, 0, 17, 64]);
    superframe.extend([0xfd; 32]);
    superframe.extend([0, 1, 0, 2, 0, 0, 0, 0]);
    superframe.extend((0..21).collect::<Vec<u8>>());
    let offload = Offload { checksum: Some((62, 6)), cut: (UDP, 10) };
    let mut cut = Cut::new(&superframe, &offload).unwrap();
    let mut lengths = Vec::new();
    while let Some(place) = cut.next(&mut superframe) {
        let frame = &superframe[place];
        assert!(checksum_is_right(frame, 22, 62));
        assert_eq!(usize::from(u16::from_be_bytes([frame[26], frame[27]])), frame.len() - 62);
        assert_eq!(usize::from(u16::from_be_bytes([frame[66], frame[67]])), frame.len() - 62);
        lengths.push(frame.len() - 70);
    }
    assert_eq!(lengths, [10, 10, 1]);
}

#[test]
fn what_contradicts_itself_is_not_cut_and_no_byte_makes_it_panic() {
    let whole = tcp_superframe(&[7; 64]);
    assert!(Cut::new(&whole, &tcp(10)).is_some());
    assert!(Cut::new(&whole, &tcp(0)).is_none(), "frames without end");
    assert!(Cut::new(&whole, &Offload { checksum: None, ..tcp(10) }).is_none());
    assert!(Cut::new(&whole, &Offload { checksum: Some((35, 16)), ..tcp(10) }).is_none());
    for kind in (0..=255).filter(|kind| !matches!(kind, 1 | 4)) {
        assert!(Cut::new(&whole, &Offload { cut: (kind, 10), ..tcp(10) }).is_none(), "kind {kind}");
    }
    assert!(Cut::new(&tcp_superframe(&[7; 3000]), &tcp(1)).is_none(), "more frames than a stack makes");
    for length in 0..whole.len() {
        // With all headers and a byte of payload, there is one; before, there is none.
        assert_eq!(Cut::new(&whole[..length], &tcp(10)).is_some(), length > 66, "{length} bytes");
    }
    for at in 0..66 {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            let Some(mut cut) = Cut::new(&damaged, &tcp(10)) else { continue };
            while let Some(place) = cut.next(&mut damaged) {
                assert!(place.end <= damaged.len());
            }
        }
    }
}

#[test]
fn a_checksum_is_written_where_it_belongs_and_only_inside_the_frame() {
    let mut frame = tcp_superframe(b"odd");
    // The sum of the pseudo header stands there, as a kernel leaves it.
    let datagram = (frame.len() - 34) as u64;
    let pseudo = checksum::fold(checksum::sum(&frame[26..34]) + 6 + datagram);
    put(&mut frame, 50, pseudo).unwrap();
    write_checksum(&mut frame, (34, 16)).unwrap();
    assert!(checksum_is_right(&frame, 14, 34));
    let end = frame.len();
    for outside in [(end + 1, 0), (34, end - 35), (end - 1, 0), (usize::MAX / 2, 6), (34, usize::MAX / 2)] {
        assert_eq!(write_checksum(&mut frame.clone(), outside), None, "{outside:?}");
    }
}

#[test]
fn the_header_reads_as_it_was_written() {
    let header = Offload::of_datagrams(42, 4112);
    assert_eq!(Offload::decode(&header), Offload { checksum: Some((34, 6)), cut: (UDP, 4112) });
    assert_eq!(Offload::decode(&[0; 10]), Offload::default());
    assert!(!Offload::default().is_superframe());
    let marked = [1, TCP_V4 | WITH_ECN, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(Offload::decode(&marked).cut.0, TCP_V4);
}
