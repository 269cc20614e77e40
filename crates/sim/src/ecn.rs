//! The ECN bits of an IP header inside an Ethernet frame: what a congested switch changes (RFC 3168).
//!
//! ```text
//! header  bits                                        holds
//! IPv4    byte 1, the low two bits                    the ECN field (behind 6 bits of DSCP)
//! IPv6    byte 1, the 0x30 bits                       the ECN field (end of the traffic class)
//! ```
//!
//! The header stands behind the Ethernet header and up to [`TAGS_MAX`] VLAN tags. A frame that is no whole
//! IP header is not touched. RoCE v2's ICRC masks these bits and the IPv4 header checksum, so that marking
//! does not break it.

/// VLAN tags looked behind.
pub const TAGS_MAX: usize = 4;

/// The four values of the field (RFC 3168 §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codepoint {
    /// 00: the sender does not take part.
    NotCapable,
    /// 01: the sender takes part, ECT(1).
    Capable1,
    /// 10: the sender takes part, ECT(0).
    Capable0,
    /// 11: congestion experienced, CE.
    CongestionExperienced,
}

#[derive(Clone, Copy)]
enum Version {
    V4,
    V6,
}

/// The ECN field of the frame's IP header; `None` when the frame has none.
#[must_use]
pub fn codepoint(frame: &[u8]) -> Option<Codepoint> {
    let (version, header) = network_header(frame)?;
    let byte = *frame.get(header + 1)?;
    let bits = match version {
        Version::V4 => byte & 3,
        Version::V6 => byte >> 4 & 3,
    };
    Some(match bits {
        0 => Codepoint::NotCapable,
        1 => Codepoint::Capable1,
        2 => Codepoint::Capable0,
        _ => Codepoint::CongestionExperienced,
    })
}

/// Whether [`mark`] would change the frame: it is IP, and its sender is ECN-capable, and nobody marked it yet.
#[must_use]
pub fn markable(frame: &[u8]) -> bool {
    matches!(codepoint(frame), Some(Codepoint::Capable0 | Codepoint::Capable1))
}

/// Sets Congestion Experienced if the sender is ECN-capable, and keeps the IPv4 header checksum as right
/// (or as wrong) as it was. Whether the frame changed.
pub fn mark(frame: &mut [u8]) -> bool {
    if !markable(frame) {
        return false;
    }
    let Some((version, header)) = network_header(frame) else { return false };
    match version {
        Version::V6 => match frame.get_mut(header + 1) {
            Some(byte) => *byte |= 0x30,
            None => return false,
        },
        Version::V4 => {
            let Some([first, second, .., high, low]) = frame.get_mut(header..header + 12) else {
                return false;
            };
            let before = u16::from_be_bytes([*first, *second]);
            *second |= 3;
            let after = u16::from_be_bytes([*first, *second]);
            [*high, *low] = updated_checksum(u16::from_be_bytes([*high, *low]), before, after).to_be_bytes();
        }
    }
    true
}

/// The checksum after one 16-bit word of what it covers changed: HC' = ~(~HC + ~m + m') (RFC 1624 §3, eqn. 3).
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// The IP version and where its header begins.
fn network_header(frame: &[u8]) -> Option<(Version, usize)> {
    let mut offset = 12;
    for _ in 0..=TAGS_MAX {
        let ethertype = frame.get(offset..offset + 2)?;
        match ethertype {
            // 802.1Q and 802.1ad: a tag of four bytes, this being the first half.
            [0x81, 0x00] | [0x88, 0xa8] => offset += 4,
            [0x08, 0x00] => {
                let header = frame.get(offset + 2..)?;
                let first = *header.first()?;
                let length = usize::from(first & 0xf) * 4;
                let whole = first >> 4 == 4 && length >= 20 && header.len() >= length;
                return whole.then_some((Version::V4, offset + 2));
            }
            [0x86, 0xdd] => {
                let header = frame.get(offset + 2..)?;
                let whole = header.len() >= 40 && *header.first()? >> 4 == 6;
                return whole.then_some((Version::V6, offset + 2));
            }
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ethernet(tags: usize, ethertype: [u8; 2], packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        for tag in 0..tags {
            frame.extend_from_slice(if tag == 0 { &[0x88, 0xa8, 0, 5] } else { &[0x81, 0, 0, 6] });
        }
        frame.extend_from_slice(&ethertype);
        frame.extend_from_slice(packet);
        frame
    }

    fn sum(header: &[u8]) -> u16 {
        let total: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        let folded = (total & 0xffff) + (total >> 16);
        ((folded & 0xffff) + (folded >> 16)) as u16
    }

    fn ipv4(tos: u8, identification: [u8; 2]) -> [u8; 28] {
        let mut packet = [0; 28];
        packet[..2].copy_from_slice(&[0x45, tos]);
        packet[3] = 28;
        packet[4..6].copy_from_slice(&identification);
        packet[8..10].copy_from_slice(&[64, 17]);
        packet[12..20].copy_from_slice(&[192, 168, 1, 1, 192, 168, 1, 2]);
        let checksum = !sum(&packet[..20]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        packet
    }

    fn ipv6(traffic_class: u8) -> [u8; 48] {
        let mut packet = [0x11; 48];
        packet[0] = 0x60 | traffic_class >> 4;
        packet[1] = traffic_class << 4 | 0xb;
        packet
    }

    proptest! {
        #[test]
        fn marking_an_ipv4_header_keeps_its_checksum_right(
            dscp in 0u8..64, bits in 0u8..4, id: [u8; 2], tags in 0usize..=TAGS_MAX,
        ) {
            let mut frame = ethernet(tags, [8, 0], &ipv4(dscp << 2 | bits, id));
            let before = frame.clone();
            let header = 14 + 4 * tags;
            prop_assert_eq!(mark(&mut frame), bits == 1 || bits == 2);
            prop_assert_eq!(sum(&frame[header..header + 20]), 0xffff);
            if bits == 0 {
                prop_assert_eq!(&frame, &before);
            } else {
                prop_assert_eq!(frame[header + 1], dscp << 2 | 3);
                prop_assert_eq!(codepoint(&frame), Some(Codepoint::CongestionExperienced));
            }
            frame[header + 1] = before[header + 1];
            frame[header + 10..header + 12].copy_from_slice(&before[header + 10..header + 12]);
            prop_assert_eq!(frame, before, "nothing else changed");
        }

        #[test]
        fn marking_an_ipv6_header_changes_the_two_bits_alone(class: u8, tags in 0usize..=TAGS_MAX) {
            let mut frame = ethernet(tags, [0x86, 0xdd], &ipv6(class));
            prop_assert_eq!(mark(&mut frame), matches!(class & 3, 1 | 2));
            let expected = if class & 3 == 0 { class } else { class | 3 };
            prop_assert_eq!(frame, ethernet(tags, [0x86, 0xdd], &ipv6(expected)));
        }

        #[test]
        fn arbitrary_bytes_are_never_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let changed = markable(&bytes);
            prop_assert_eq!(mark(&mut bytes), changed);
        }
    }

    #[test]
    fn a_wrong_checksum_stays_wrong_by_as_much() {
        let mut packet = ipv4(2, [0, 0]);
        packet[10] ^= 0x40;
        let wrong = sum(&packet[..20]);
        let mut frame = ethernet(0, [8, 0], &packet);
        assert!(mark(&mut frame));
        assert_eq!(sum(&frame[14..34]), wrong);
    }

    #[test]
    fn cut_short_foreign_and_too_often_tagged_frames_are_left_alone() {
        let whole = ethernet(1, [8, 0], &ipv4(2, [1, 2]));
        for length in 0..38 {
            assert_eq!(codepoint(&whole[..length]), None, "{length}");
        }
        assert_eq!(codepoint(&whole[..38]), Some(Codepoint::Capable0));
        assert_eq!(codepoint(&ethernet(0, [8, 6], &ipv4(2, [1, 2]))), None, "ARP");
        assert_eq!(
            codepoint(&ethernet(0, [0x86, 0xdd], &ipv4(2, [1, 2]))),
            None,
            "ethertype and version differ"
        );
        assert_eq!(codepoint(&ethernet(TAGS_MAX + 1, [8, 0], &ipv4(2, [1, 2]))), None);
        let mut short_header = ipv4(2, [1, 2]);
        short_header[0] = 0x44;
        assert_eq!(codepoint(&ethernet(0, [8, 0], &short_header)), None);
    }
}
