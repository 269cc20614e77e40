//! Packets that are cut off, damaged, or lie.

use proptest::prelude::*;
use rdmalab_wire::{Carried, Carrier, Gid, Layer, ParseError, UdpHeader};

use super::{Place, ethernet, in_frame, in_link_packet, one_of_each};

#[test]
fn each_truncation_of_each_carrier_finds_nothing_or_names_the_headers_or_says_that_it_is_cut() {
    for (carrier, bytes) in one_of_each() {
        let headers = carrier.header_length();
        // To the end of the ICRC.
        let whole = bytes.len() + 4 - carrier.trailer_length();
        for length in 0..bytes.len() {
            let place = Place::new(carrier, &bytes[..length]);
            let front = place.front;
            let found = match (carrier, place.find()) {
                (Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..), None) => {
                    assert!(length < headers, "{carrier} {length}");
                    continue;
                }
                (_, Some(Err(error))) => {
                    let expected = match carrier {
                        Carrier::Native(..) if length < 8 => ParseError::truncated(Layer::Lrh, 0, 8, length),
                        Carrier::Native(..) => ParseError::truncated(Layer::Grh, 8, 40, length - 8),
                        _ => ParseError::truncated(Layer::Grh, front, 40, length),
                    };
                    assert_eq!(error, expected, "{carrier} {length}");
                    assert!(length < headers, "{carrier} {length}");
                    continue;
                }
                (_, found) => found.unwrap().unwrap(),
            };
            assert_eq!(found.ib, &bytes[headers..length.min(whole)], "{carrier} {length}");
            assert_eq!((found.vcrc, found.is_cut()), (None, length < whole), "{carrier} {length}");
            if length >= whole {
                assert_eq!((found.error, found.verify_icrc(), found.verify_vcrc()), (None, Ok(()), None));
                continue;
            }
            let layer = match carrier {
                Carrier::RoceV2Ipv4(..) => Layer::Ipv4,
                Carrier::RoceV2Ipv6(..) => Layer::Ipv6,
                Carrier::RoceV1(_) => Layer::Grh,
                Carrier::Native(..) => Layer::Lrh,
            };
            assert_eq!(found.error, Some(ParseError::truncated(layer, front, whole, length)), "{carrier}");
            let (need, have) = (whole - headers, length - headers);
            let missing = ParseError::truncated(Layer::Icrc, front + headers, need, have);
            assert_eq!(found.verify_icrc(), Err(missing), "{carrier} {length}");
            let inside = match have {
                0..12 => ParseError::truncated(Layer::Bth, 0, 12, have),
                _ => ParseError::truncated(Layer::Payload, 12, 12, have - 12),
            };
            assert_eq!(found.packet().error, Some(inside), "{carrier} {length}");
        }
    }
}

/// What the ICRC leaves out, by offset from the carrier's headers: with the bits of that byte.
fn masked(carrier: &Carrier) -> Vec<(usize, u8)> {
    let bth = carrier.header_length() + 4;
    let forty = |at: usize| [(at, 0x0f), (at + 1, 0xff), (at + 2, 0xff), (at + 3, 0xff), (at + 7, 0xff)];
    let mut masked = vec![(bth, 0xff)];
    match carrier {
        Carrier::RoceV2Ipv4(..) => {
            masked.extend([(1, 0xff), (8, 0xff), (10, 0xff), (11, 0xff), (26, 0xff), (27, 0xff)]);
        }
        Carrier::RoceV2Ipv6(..) => masked.extend(forty(0).into_iter().chain([(46, 0xff), (47, 0xff)])),
        Carrier::RoceV1(_) => masked.extend(forty(0)),
        Carrier::Native(_, None) => masked.push((0, 0xf0)),
        Carrier::Native(_, Some(_)) => {
            masked.extend((0..8).map(|at| (at, 0xff)).chain(forty(8)));
        }
    }
    masked
}

#[test]
fn each_flipped_bit_is_told_by_the_icrc_unless_it_is_masked_and_on_a_link_by_the_vcrc() {
    for (carrier, bytes) in one_of_each() {
        let masked = masked(&carrier);
        let icrc_end = bytes.len() + 4 - carrier.trailer_length();
        for (at, bit) in (0..bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let place = Place::new(carrier, &damaged);
            // Of another protocol now, or raw: not found at all.
            let Some(Ok(found)) = place.find() else { continue };
            let name = format!("{carrier} byte {at} bit {bit}");
            if matches!(found.carrier, Carrier::Native(..)) && found.vcrc.is_some() {
                assert!(found.verify_vcrc().unwrap().is_err(), "{name}");
            }
            if found.error.is_some() || found.ib.len() != icrc_end - carrier.header_length() {
                continue; // a version or a length, told already
            }
            let is_masked = masked.iter().any(|(byte, bits)| *byte == at && bits & 1 << bit != 0);
            let is_vcrc = at >= icrc_end;
            assert_eq!(found.verify_icrc().is_ok(), is_masked || is_vcrc, "{name}");
        }
    }
}

#[test]
fn headers_that_lie_are_told_and_the_packet_is_found_all_the_same() {
    let each = one_of_each();
    let told = |kind: usize, change: &[(usize, u8)]| {
        let (carrier, mut bytes) = each[kind].clone();
        for (at, byte) in change {
            bytes[*at] = *byte;
        }
        let place = Place::new(carrier, &bytes);
        let found = place.found();
        // Offsets from the carrier's headers, as the changes.
        let error = found.error.unwrap();
        (ParseError { offset: error.offset - place.front, ..error }, found.ib.len())
    };
    let bad = ParseError::bad_value;
    assert_eq!(told(0, &[(2, 0), (3, 27)]), (bad(Layer::Ipv4, 2, "total_length", 27), 24));
    assert_eq!(told(0, &[(6, 0x20)]), (bad(Layer::Ipv4, 6, "fragment", 0x2000), 24));
    assert_eq!(told(0, &[(25, 7)]), (bad(Layer::Udp, 24, "length", 7), 24));
    assert_eq!(told(0, &[(25, 33)]), (bad(Layer::Udp, 24, "length", 33), 24));
    assert_eq!(told(1, &[(5, 7)]), (bad(Layer::Ipv6, 4, "payload_length", 7), 24));
    assert_eq!(told(1, &[(45, 33)]), (bad(Layer::Udp, 44, "length", 33), 24));
    assert_eq!(told(2, &[(0, 0x50)]), (bad(Layer::Grh, 0, "version", 5), 24));
    assert_eq!(told(2, &[(6, 17)]), (bad(Layer::Grh, 6, "next_header", 17), 24));
    assert_eq!(told(3, &[(0, 1)]), (bad(Layer::Lrh, 0, "link_version", 1), 24));
    assert_eq!(told(3, &[(5, 2)]), (bad(Layer::Lrh, 4, "packet_length", 2), 24));
    assert_eq!(told(4, &[(14, 17)]), (bad(Layer::Grh, 14, "next_header", 17), 24));
    assert_eq!(told(4, &[(8, 0x50)]), (bad(Layer::Grh, 8, "version", 5), 24));
    assert_eq!(told(4, &[(5, 12)]), (bad(Layer::Lrh, 4, "packet_length", 12), 24));
}

#[test]
fn wrong_checksums_of_ip_and_udp_are_told_where_they_lie() {
    let (carrier, bytes) = one_of_each().swap_remove(0);
    let mut frame = ethernet(0x0800, &bytes);
    assert_eq!(in_frame(&frame).verify_checksums(), Ok(()));
    frame[14 + 11] ^= 1;
    let error = in_frame(&frame).verify_checksums().unwrap_err();
    assert_eq!((error.layer, error.offset), (Layer::Ipv4, 14 + 10));

    let Carrier::RoceV2Ipv4(ip, udp) = carrier.with_lengths(24).unwrap() else { unreachable!() };
    let wrong = Carrier::RoceV2Ipv4(ip, UdpHeader { checksum: 1, ..udp });
    let mut bytes = bytes;
    wrong.finish(&mut bytes).unwrap();
    let frame = ethernet(0x0800, &bytes);
    let error = in_frame(&frame).verify_checksums().unwrap_err();
    assert_eq!((error.layer, error.offset), (Layer::Udp, 14 + 20 + 6));
    assert_eq!(in_frame(&frame).verify_icrc(), Ok(()), "the ICRC does not cover it");
}

#[test]
fn checksums_are_told_where_they_lie() {
    for (carrier, bytes) in one_of_each() {
        let Carrier::Native(..) = carrier else { continue };
        let end = bytes.len();
        let mut damaged = bytes.clone();
        damaged[end - 6] ^= 1;
        let found = in_link_packet(&damaged);
        let right = u32::from_le_bytes(*bytes[..end - 2].last_chunk().unwrap());
        let error = ParseError::bad_checksum(Layer::Icrc, end - 6, right, right ^ 1);
        assert_eq!(found.verify_icrc(), Err(error));
        let mut damaged = bytes.clone();
        damaged[end - 2] ^= 1;
        let found = in_link_packet(&damaged);
        let right = u32::from(u16::from_le_bytes(*bytes.last_chunk().unwrap()));
        let error = ParseError::bad_checksum(Layer::Vcrc, end - 2, right, right ^ 1);
        assert_eq!(found.verify_vcrc(), Some(Err(error)));
        assert_eq!(found.verify_icrc(), Ok(()));
    }
}

proptest! {
    #[test]
    fn arbitrary_link_packets_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let found = [
            Place::new(Carrier::native(0, 0), &bytes),
            Place::new(Carrier::roce_v1(Gid::default(), Gid::default()), &bytes),
        ];
        let found = found.iter().flat_map(Place::find).flatten().chain(Carried::in_ip(&bytes));
        for found in found {
            let _ = (found.verify_icrc(), found.verify_vcrc(), found.verify_checksums());
            let _ = found.packet().to_string();
        }
    }

    /// A real packet with a few bytes changed and its end cut off, or bytes behind it.
    #[test]
    fn damaged_packets_are_no_panic_and_never_longer_than_the_bytes(
        kind in 0..5usize,
        damage in prop::collection::vec((0..90usize, any::<u8>()), 0..4),
        cut in 0..20usize,
    ) {
        let (carrier, mut bytes) = one_of_each().swap_remove(kind);
        for (at, byte) in damage {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        bytes.truncate(bytes.len() - cut);
        let place = Place::new(carrier, &bytes);
        if let Some(Ok(found)) = place.find() {
            prop_assert!(found.ib.len() <= found.stated);
            prop_assert_eq!(found.is_cut(), found.ib.len() < found.stated);
            let _ = (found.verify_icrc(), found.verify_vcrc(), found.verify_checksums());
            let mut again = vec![0; found.ib.len()];
            let raw = found.packet();
            prop_assert_eq!(raw.encode(&mut again), Ok(found.ib.len()));
            prop_assert_eq!(again, found.ib);
        }
    }
}
