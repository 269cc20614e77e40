//! No bytes make any parser panic, and what can be taken apart can be put together again.

use proptest::prelude::*;
use rdmalab_wire::{Datagram, Frame, Packet, RawPacket, roce_v2, row};

use crate::pcap;

/// Everything there is to do with bytes from the base header on.
fn check_packet(ib: &[u8]) {
    let raw = RawPacket::parse(ib);
    let line = raw.to_string();
    assert!(!line.is_empty());
    let mut again = vec![0; ib.len()];
    assert_eq!(raw.encode(&mut again), Ok(ib.len()), "{line}");
    assert_eq!(again, ib, "{line}");
    if let Ok(packet) = Packet::parse(ib) {
        assert_eq!(raw.error, None, "{line}");
        assert_eq!(packet.to_string(), line);
        let mut again = vec![0; packet.encoded_length()];
        packet.encode(&mut again).unwrap();
        // All but the padding, which need not have been zero.
        let padding = packet.encoded_length() - usize::from(packet.bth.pad_count);
        assert_eq!(again[..padding], ib[..padding]);
    }
}

fn check_network(network: &[u8]) {
    if let Ok(datagram) = Datagram::parse(network) {
        let _ = datagram.verify_checksums();
        let found = datagram.icrc_found();
        assert_eq!(datagram.verify_icrc().is_ok(), found == datagram.icrc_expected());
        check_packet(datagram.ib);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn arbitrary_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = Frame::parse(&bytes);
        let _ = roce_v2(&bytes);
        check_network(&bytes);
        check_packet(&bytes);
    }

    /// Random bytes seldom have a known opcode and version 0; these always do.
    #[test]
    fn arbitrary_bytes_behind_a_known_opcode_are_no_panic(
        opcode in (0..=255u8).prop_filter("a known opcode", |opcode| row(*opcode).is_some()),
        mut bytes in prop::collection::vec(any::<u8>(), 2..120),
    ) {
        bytes[0] = opcode;
        bytes[1] &= 0xf0;
        check_packet(&bytes);
    }

    /// A real datagram with a few bytes changed and its end cut off.
    #[test]
    fn damaged_datagrams_are_no_panic(
        v6 in any::<bool>(),
        damage in prop::collection::vec((0..100usize, any::<u8>()), 0..4),
        cut in 0..20usize,
    ) {
        let name = if v6 { "rping_v6.pcap" } else { "rping.pcap" };
        let frames = pcap::frames(name);
        for frame in &frames {
            let mut frame = frame.clone();
            for (at, byte) in &damage {
                if let Some(place) = frame.get_mut(*at) {
                    *place = *byte;
                }
            }
            frame.truncate(frame.len().saturating_sub(cut));
            if let Ok(parsed) = Frame::parse(&frame) {
                check_network(parsed.network);
            }
            if let Some(network) = roce_v2(&frame) {
                check_network(network);
            }
        }
    }
}
