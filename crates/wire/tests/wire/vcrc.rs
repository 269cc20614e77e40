//! The VCRC against a second implementation, the `crc` library's, and against figures that were published.

use proptest::prelude::*;
use rdmalab_wire::vcrc;

use crate::samples::{LINK_LOCAL, hexadecimal};

const VCRC: crc::Algorithm<u16> = crc::Algorithm {
    width: 16,
    poly: 0x100b,
    init: 0xffff,
    refin: true,
    refout: true,
    xorout: 0xffff,
    check: 0,
    residue: 0,
};

fn second_opinion(packet: &[u8]) -> u16 {
    crc::Crc::<u16>::new(&VCRC).checksum(packet)
}

/// What a byte adds to an empty register, the entries of a table: some of those in the packet generator that
/// Mellanox published with the first OpenIB stack.
#[test]
fn polynomial_bit_order_and_direction_are_those_of_the_published_table() {
    for (byte, entry) in
        [(0x80, 0xd008), (0x81, 0xcba9), (0xa0, 0xe40a), (0xc0, 0xb80c), (0xe0, 0x8c0e), (0xff, 0x0960)]
    {
        // The seed shifts out of the register within two bytes: what is left is linear in the third.
        let difference = vcrc(&[0, 0, byte]) ^ vcrc(&[0, 0, 0]);
        assert_eq!(difference, entry, "{byte:#04x}");
    }
}

#[test]
fn sample_packet_of_the_specification_has_the_vcrc_of_both_implementations() {
    let packet = hexadecimal(LINK_LOCAL);
    assert_eq!(vcrc(&packet).to_le_bytes(), [0x45, 0xfa]);
    assert_eq!(second_opinion(&packet).to_le_bytes(), [0x45, 0xfa]);
}

/// A packet with its VCRC behind it always leaves the same in the register.
#[test]
fn packet_and_its_vcrc_leave_a_constant() {
    for length in [0, 1, 7, 56, 300] {
        let mut packet: Vec<u8> = (0..length).map(|byte| byte as u8).collect();
        packet.extend_from_slice(&vcrc(&packet).to_le_bytes());
        // The VCRC of nothing is zero.
        assert_eq!(vcrc(&packet), vcrc(&[0; 2]), "{length} bytes");
    }
}

proptest! {
    #[test]
    fn both_implementations_agree(packet in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(vcrc(&packet), second_opinion(&packet));
    }

    #[test]
    fn every_changed_bit_is_noticed(
        mut packet in prop::collection::vec(any::<u8>(), 1..200),
        at in any::<prop::sample::Index>(),
        bit in 0..8u8,
    ) {
        let before = vcrc(&packet);
        let at = at.index(packet.len());
        packet[at] ^= 1 << bit;
        prop_assert_ne!(vcrc(&packet), before);
    }
}
