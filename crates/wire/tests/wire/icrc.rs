//! The ICRC against golden values of hardware and against a second implementation, which shares no code
//! with the first: the other CRC library, and one buffer masked in place.

use proptest::prelude::*;
use rdmalab_wire::{Datagram, Frame, icrc_global, icrc_ipv4, icrc_ipv6, icrc_local};

use crate::pcap;
use crate::samples::hexadecimal;

/// `network` from the IP header to the end of the padding.
fn second_opinion(network: &[u8], ip_length: usize) -> u32 {
    let mut covered = vec![0xff; 8];
    covered.extend_from_slice(network);
    let packet = &mut covered[8..];
    let masked: &[usize] =
        if ip_length == 20 { &[1, 8, 10, 11, 26, 27, 32] } else { &[1, 2, 3, 7, 46, 47, 52] };
    for at in masked {
        packet[*at] = 0xff;
    }
    if ip_length == 40 {
        packet[0] |= 0x0f;
    }
    crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&covered)
}

fn first_opinion(network: &[u8], ip_length: usize) -> u32 {
    let (udp, ib) = network[ip_length..].split_first_chunk().unwrap();
    if ip_length == 20 {
        icrc_ipv4(network.first_chunk().unwrap(), udp, ib)
    } else {
        icrc_ipv6(network.first_chunk().unwrap(), udp, ib)
    }
}

/// `packet` from the global route header to the end of the padding.
fn second_opinion_global(packet: &[u8]) -> u32 {
    let mut covered = vec![0xff; 8];
    covered.extend_from_slice(packet);
    covered[8] |= 0x0f;
    for at in [9, 10, 11, 15, 52] {
        covered[at] = 0xff;
    }
    crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&covered)
}

/// `packet` from the local route header to the end of the padding.
fn second_opinion_local(packet: &[u8]) -> u32 {
    let mut covered = packet.to_vec();
    covered[0] |= 0xf0;
    covered[12] = 0xff;
    crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&covered)
}

#[test]
fn hardware_congestion_notification_has_the_golden_icrc() {
    let frames = pcap::frames("hardware.pcap");
    let datagram = Datagram::parse(Frame::parse(&frames[0]).unwrap().network).unwrap();
    assert_eq!(datagram.icrc_expected().to_le_bytes(), [0x82, 0xfd, 0x00, 0x2a]);
    assert_eq!(datagram.icrc_expected(), datagram.icrc_found());
}

#[test]
fn hardware_uc_send_with_two_pad_bytes_has_the_golden_icrc() {
    let frames = pcap::frames("hardware.pcap");
    let datagram = Datagram::parse(Frame::parse(&frames[1]).unwrap().network).unwrap();
    assert_eq!(datagram.icrc_expected().to_le_bytes(), [0x78, 0xf3, 0x53, 0xf3]);
    assert_eq!(datagram.icrc_expected(), datagram.icrc_found());
}

#[test]
fn second_opinion_agrees_on_the_captures_of_both_ip_versions() {
    for (name, ip_length) in [("rc_pingpong.pcap", 20), ("rc_pingpong_v6.pcap", 40)] {
        let mut judged = 0;
        for frame in pcap::frames(name) {
            let Some(network) = rdmalab_wire::roce_v2(&frame) else { continue };
            let covered = &network[..network.len() - 4];
            let found = u32::from_le_bytes(*network.last_chunk().unwrap());
            assert_eq!(second_opinion(covered, ip_length), found);
            judged += 1;
        }
        assert_eq!(judged, 24, "{name}");
    }
}

#[test]
fn less_than_a_base_header_is_no_panic() {
    let ib = hexadecimal("ff ff ff ff 00 00 00 00 00 00 00");
    for length in 0..=ib.len() {
        let _ = icrc_ipv4(&[0; 20], &[0; 8], &ib[..length]);
        let _ = icrc_ipv6(&[0; 40], &[0; 8], &ib[..length]);
        let _ = icrc_global(&[0; 40], &ib[..length]);
        let _ = icrc_local(&[0; 8], &ib[..length]);
    }
}

proptest! {
    #[test]
    fn both_implementations_agree_over_ipv4(network in prop::collection::vec(any::<u8>(), 40..400)) {
        prop_assert_eq!(first_opinion(&network, 20), second_opinion(&network, 20));
    }

    #[test]
    fn both_implementations_agree_over_ipv6(network in prop::collection::vec(any::<u8>(), 60..400)) {
        prop_assert_eq!(first_opinion(&network, 40), second_opinion(&network, 40));
    }

    #[test]
    fn both_implementations_agree_behind_a_global_route_header(
        packet in prop::collection::vec(any::<u8>(), 52..400),
    ) {
        let (grh, ib) = packet.split_first_chunk().unwrap();
        prop_assert_eq!(icrc_global(grh, ib), second_opinion_global(&packet));
    }

    #[test]
    fn both_implementations_agree_behind_a_local_route_header(
        packet in prop::collection::vec(any::<u8>(), 20..400),
    ) {
        let (lrh, ib) = packet.split_first_chunk().unwrap();
        prop_assert_eq!(icrc_local(lrh, ib), second_opinion_local(&packet));
    }
}
