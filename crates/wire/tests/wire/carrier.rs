//! Every way to carry an InfiniBand packet: packets of hardware and of the specification, packets that lie,
//! packets cut off.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use rdmalab_wire::carrier::VCRC_LENGTH;
use rdmalab_wire::{
    Address, Body, Bth, Carried, Carrier, Ecn, EncodeError, Frame, Gid, Grh, Layer, LinkNextHeader, Lrh,
    Packet, ParseError, RawPacket, Transport, vcrc,
};

use crate::generate;
use crate::samples::{LINK_GLOBAL, LINK_LOCAL, ROCE_V1_ACKNOWLEDGE, ROCE_V1_WRITE, hexadecimal, link_sample};

fn in_frame(bytes: &[u8]) -> Carried<'_> {
    Carried::in_frame(&Frame::parse(bytes).unwrap()).unwrap().unwrap()
}

fn in_link_packet(bytes: &[u8]) -> Carried<'_> {
    Carried::in_link_packet(bytes).unwrap().unwrap()
}

/// One of each kind, with a typical packet behind, whole and right.
fn one_of_each() -> Vec<(Carrier, Vec<u8>)> {
    let v6 = |last| IpAddr::V6(Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, last));
    let v4 = |last| IpAddr::V4(Ipv4Addr::new(10, 9, 0, last));
    let gid = |last| Gid::from(v6(last));
    let carriers = [
        Carrier::roce_v2(v4(1), v4(2), 0xc000).unwrap(),
        Carrier::roce_v2(v6(1), v6(2), 0xc000).unwrap(),
        Carrier::roce_v1(gid(1), gid(2)),
        Carrier::native(4, 1),
        Carrier::native(4, 1).with_grh(Grh::new(gid(1), gid(2))),
    ];
    let packet =
        Packet { bth: Bth::default(), transport: Transport::Rc, body: Body::SendOnly, payload: b"hello" };
    carriers.map(|carrier| (carrier, build(carrier, &packet))).to_vec()
}

/// The packet behind its carrier with right lengths and checksums.
fn build(carrier: Carrier, packet: &Packet<'_>) -> Vec<u8> {
    let carrier = carrier.with_lengths(packet.encoded_length() + 4).unwrap();
    let mut bytes = vec![0xaa; carrier.header_length() + packet.encoded_length() + carrier.trailer_length()];
    packet.encode(&mut bytes[carrier.header_length()..]).unwrap();
    carrier.finish(&mut bytes).unwrap();
    bytes
}

fn ethernet(ethertype: u16, network: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &ethertype.to_be_bytes(), network].concat()
}

/// What carries such a packet: found in an Ethernet frame or in a link packet. Offsets count from its headers.
fn find(carrier: &Carrier, bytes: &[u8]) -> Option<Result<(Carrier, usize), ParseError>> {
    let found = match carrier {
        Carrier::Native(..) => Carried::in_link_packet(bytes)?,
        Carrier::RoceV1(_) => {
            let frame = ethernet(0x8915, bytes);
            return in_ethernet(&frame);
        }
        Carrier::RoceV2Ipv4(..) | Carrier::RoceV2Ipv6(..) => Ok(Carried::in_ip(bytes)?),
    };
    Some(found.map(|found| (found.carrier, found.ib.len())))
}

fn in_ethernet(frame: &[u8]) -> Option<Result<(Carrier, usize), ParseError>> {
    let found = Carried::in_frame(&Frame::parse(frame).unwrap())?;
    Some(found.map(|found| (found.carrier, found.ib.len())))
}

#[test]
fn roce_v1_write_of_hardware_has_the_golden_icrc_and_is_built_again_to_the_same_bytes() {
    let bytes = hexadecimal(ROCE_V1_WRITE);
    let found = in_frame(&bytes);
    assert_eq!(found.error, None);
    assert_eq!(found.carrier.to_string(), "RoCEv1");
    assert_eq!(found.icrc_expected().to_le_bytes(), [0xe3, 0xd8, 0x56, 0xbb]);
    assert_eq!(found.verify_icrc(), Ok(()));
    assert_eq!(found.verify_vcrc(), None);
    let Carrier::RoceV1(grh) = found.carrier else { panic!("{found:?}") };
    assert_eq!((grh.traffic_class, grh.payload_length, grh.hop_limit), (2, 40, 64));
    let packet = Packet::parse(found.ib).unwrap();
    let line = "WRITE_ONLY psn=10979516 va=0x55d4c0726000 rkey=0x47b3 dmalen=5 len=5 ackreq migrated";
    assert_eq!((packet.bth.pad_count, packet.to_string()), (3, line.to_owned()));
    assert_eq!(found.packet().to_string(), line);
    assert_eq!([&bytes[..14], &build(found.carrier, &packet)].concat(), bytes);
}

#[test]
fn roce_v1_acknowledgement_of_hardware_has_the_golden_icrc_and_its_ethernet_padding_is_ignored() {
    let mut bytes = hexadecimal(ROCE_V1_ACKNOWLEDGE);
    let found = in_frame(&bytes);
    assert_eq!(found.icrc_expected().to_le_bytes(), [0x25, 0xf0, 0xc0, 0x38]);
    assert_eq!(found.verify_icrc(), Ok(()));
    assert_eq!(found.packet().to_string(), "ACKNOWLEDGE psn=10979520 ack credits=0 msn=5 migrated");
    let packet = Packet::parse(found.ib).unwrap();
    assert_eq!([&bytes[..14], &build(found.carrier, &packet)].concat(), bytes);

    let (carrier, ib) = (found.carrier, found.ib.to_vec());
    bytes.extend_from_slice(&[0xee; 20]);
    let padded = in_frame(&bytes);
    assert_eq!((padded.carrier, padded.ib, padded.error), (carrier, &ib[..], None));
}

#[test]
fn sample_packet_of_the_specification_has_its_icrc_on_a_local_link() {
    let bytes = link_sample(LINK_LOCAL);
    let found = in_link_packet(&bytes);
    assert_eq!((found.error, found.verify_icrc()), (None, Ok(())));
    assert_eq!(found.icrc_expected().to_le_bytes(), [0x96, 0x25, 0xb7, 0x5a]);
    assert_eq!(found.verify_vcrc(), Some(Ok(())));
    assert_eq!(found.carrier.to_string(), "InfiniBand");
    let Carrier::Native(lrh, None) = found.carrier else { panic!("{found:?}") };
    assert_eq!((lrh.virtual_lane, lrh.service_level, lrh.next_header), (7, 1, LinkNextHeader::Local));
    assert_eq!((lrh.source, lrh.destination, lrh.packet_bytes()), (0x17d2, 0x375c, 56));
    assert_eq!(found.carrier.source(), Address::Lid(0x17d2));
    assert_eq!(found.carrier.destination().to_string(), "lid:0x375c");
    let packet = Packet::parse(found.ib).unwrap();
    let line = "WRITE_ONLY psn=912426 va=0x1710a1c015d4002 rkey=0x38f27a05 dmalen=14 len=14";
    assert_eq!(packet.to_string(), line);
    assert_eq!(build(found.carrier, &packet), bytes);
}

/// The sample with a global route header counts the VCRC in its payload length, and has 0 for its next header.
#[test]
fn packet_with_a_global_route_header_is_found_whatever_its_payload_length_says() {
    let bytes = link_sample(LINK_GLOBAL);
    let found = in_link_packet(&bytes);
    assert_eq!(found.error, Some(ParseError::bad_value(Layer::Grh, 8 + 6, "next_header", 0)));
    assert_eq!((found.verify_icrc(), found.verify_vcrc()), (Ok(()), Some(Ok(()))));
    assert_eq!(found.carrier.to_string(), "InfiniBand/GRH");
    let Carrier::Native(_, Some(grh)) = found.carrier else { panic!("{found:?}") };
    assert_eq!((grh.payload_length, found.ib.len()), (50, 48));
    assert_eq!(found.carrier.source().to_string(), "::125:0:0:0:26");
    assert_eq!(Packet::parse(found.ib).unwrap().payload.len(), 14);
}

#[test]
fn global_route_header_gives_the_same_icrc_on_a_native_link_and_on_roce_v1() {
    let bytes = hexadecimal(ROCE_V1_WRITE);
    let v1 = in_frame(&bytes);
    let Carrier::RoceV1(grh) = v1.carrier else { panic!("{v1:?}") };
    let covered = &v1.ib[..v1.ib.len() - 4];
    assert_eq!(Carrier::native(1, 2).with_grh(grh).icrc(covered), v1.icrc_expected());
}

#[test]
fn each_carrier_is_found_again_with_all_checksums_right() {
    for (carrier, bytes) in one_of_each() {
        let (found, length) = find(&carrier, &bytes).unwrap().unwrap();
        assert_eq!(found, carrier.with_lengths(length).unwrap(), "{carrier}");
        assert_eq!(length, 12 + 8 + 4, "{carrier}");
    }
}

#[test]
fn each_truncation_of_each_carrier_finds_nothing_or_names_the_headers_or_says_that_it_is_cut() {
    for (carrier, bytes) in one_of_each() {
        let headers = carrier.header_length();
        for length in 0..bytes.len() {
            let cut = &bytes[..length];
            let found = match carrier {
                Carrier::Native(..) => Carried::in_link_packet(cut),
                Carrier::RoceV1(_) => {
                    let frame = ethernet(0x8915, cut);
                    let error = in_ethernet(&frame).unwrap().err();
                    let expected = ParseError::truncated(Layer::Grh, 14, 40, length);
                    assert_eq!(error, (length < 40).then_some(expected));
                    continue;
                }
                _ => Carried::in_ip(cut).map(Ok),
            };
            if length < headers {
                let expected = match carrier {
                    Carrier::Native(..) if length < 8 => ParseError::truncated(Layer::Lrh, 0, 8, length),
                    Carrier::Native(..) => ParseError::truncated(Layer::Grh, 8, 40, length - 8),
                    _ => {
                        assert_eq!(found, None, "{carrier} {length}");
                        continue;
                    }
                };
                assert_eq!(found, Some(Err(expected)), "{carrier} {length}");
                continue;
            }
            let found = found.unwrap().unwrap();
            let whole = bytes.len() + 4 - carrier.trailer_length();
            assert_eq!(found.ib, &cut[headers..length.min(whole)]);
            assert_eq!(found.vcrc, None);
            assert_eq!(found.is_cut(), length < whole, "{carrier} {length}");
            if length < whole {
                let error = found.error.unwrap();
                assert_eq!(error, ParseError::truncated(error.layer, 0, whole, length), "{carrier}");
                let need = whole - headers;
                let missing = ParseError::truncated(Layer::Icrc, headers, need, length - headers);
                assert_eq!(found.verify_icrc(), Err(missing));
                let inside = found.packet().error.unwrap();
                let expected = match length - headers {
                    have @ 0..12 => ParseError::truncated(Layer::Bth, 0, 12, have),
                    have => ParseError::truncated(Layer::Payload, 12, 12, have - 12),
                };
                assert_eq!(inside, expected, "{carrier} {length}");
            } else {
                assert_eq!((found.error, found.verify_icrc(), found.verify_vcrc()), (None, Ok(()), None));
            }
        }
    }
}

#[test]
fn bytes_behind_the_stated_length_are_ignored() {
    for (carrier, mut bytes) in one_of_each() {
        let before = find(&carrier, &bytes);
        bytes.extend_from_slice(&[0xee; 17]);
        assert_eq!(find(&carrier, &bytes), before, "{carrier}");
    }
}

#[test]
fn one_flipped_bit_is_noticed_by_the_checksums_or_shown_by_the_headers() {
    for (carrier, bytes) in one_of_each() {
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let frame = ethernet(0x8915, &damaged);
                let found = match carrier {
                    Carrier::Native(..) => Carried::in_link_packet(&damaged),
                    Carrier::RoceV1(_) => Carried::in_frame(&Frame::parse(&frame).unwrap()),
                    _ => Carried::in_ip(&damaged).map(Ok),
                };
                let Some(Ok(found)) = found else { continue };
                let place = format!("{carrier} byte {at} bit {bit}");
                // Native links: whatever it is, the VCRC tells, unless the length moved it.
                let vcrc_tells = found.verify_vcrc().is_none_or(|verdict| verdict.is_err());
                assert!(vcrc_tells || !matches!(carrier, Carrier::Native(..)), "{place}");
                let shown = found.carrier != find(&carrier, &bytes).unwrap().unwrap().0;
                let icrc_tells = found.verify_icrc().is_err() || found.error.is_some();
                let in_bth_byte_4 = at == carrier.header_length() + 4;
                let in_vcrc = matches!(carrier, Carrier::Native(..)) && at >= bytes.len() - VCRC_LENGTH;
                assert!(shown || icrc_tells || in_bth_byte_4 || in_vcrc, "{place}");
            }
        }
    }
}

#[test]
fn what_carries_no_infiniband_packet_is_not_found() {
    let each = one_of_each();
    let (v4, v6, local) = (&each[0].1, &each[1].1, &each[3].1);
    let changed = |bytes: &[u8], at: usize, byte: u8| {
        let mut bytes = bytes.to_vec();
        bytes[at] = byte;
        bytes
    };
    // Version, header length, protocol, later fragment, port.
    for (at, byte) in [(0, 0x55), (0, 0x44), (9, 6), (7, 1), (23, 0xb8)] {
        assert_eq!(Carried::in_ip(&changed(v4, at, byte)), None, "byte {at}");
    }
    for (at, byte) in [(6, 44), (43, 0xb8)] {
        assert_eq!(Carried::in_ip(&changed(v6, at, byte)), None, "byte {at}");
    }
    assert_eq!(Carried::in_ip(&[]), None);
    for next_header in [LinkNextHeader::RawEthertype, LinkNextHeader::RawIpv6] {
        assert_eq!(Carried::in_link_packet(&changed(local, 1, next_header.bits())), None);
    }
    assert_eq!(in_ethernet(&ethernet(0x0806, v4)), None);
    assert_eq!(in_ethernet(&ethernet(0x86dd, v4)), None);
}

#[test]
fn headers_that_lie_are_told_and_the_packet_is_found_all_the_same() {
    let each = one_of_each();
    let told = |kind: usize, change: &[(usize, u8)]| {
        let (carrier, mut bytes) = each[kind].clone();
        for (at, byte) in change {
            bytes[*at] = *byte;
        }
        let length = match carrier {
            Carrier::Native(..) => in_link_packet(&bytes).ib.len(),
            Carrier::RoceV1(_) => in_frame(&ethernet(0x8915, &bytes)).ib.len(),
            _ => Carried::in_ip(&bytes).unwrap().ib.len(),
        };
        let error = match carrier {
            Carrier::Native(..) => in_link_packet(&bytes).error,
            Carrier::RoceV1(_) => in_frame(&ethernet(0x8915, &bytes)).error,
            _ => Carried::in_ip(&bytes).unwrap().error,
        };
        (error.unwrap(), length)
    };
    let bad = ParseError::bad_value;
    assert_eq!(told(0, &[(2, 0), (3, 27)]), (bad(Layer::Ipv4, 2, "total_length", 27), 24));
    assert_eq!(told(0, &[(6, 0x20)]), (bad(Layer::Ipv4, 6, "fragment", 0x2000), 24));
    assert_eq!(told(0, &[(25, 7)]), (bad(Layer::Udp, 24, "length", 7), 24));
    assert_eq!(told(0, &[(25, 33)]), (bad(Layer::Udp, 24, "length", 33), 24));
    assert_eq!(told(1, &[(5, 7)]), (bad(Layer::Ipv6, 4, "payload_length", 7), 24));
    assert_eq!(told(1, &[(45, 33)]), (bad(Layer::Udp, 44, "length", 33), 24));
    assert_eq!(told(2, &[(0, 0x50)]), (bad(Layer::Grh, 14, "version", 5), 24));
    assert_eq!(told(2, &[(6, 17)]), (bad(Layer::Grh, 14 + 6, "next_header", 17), 24));
    assert_eq!(told(3, &[(0, 1)]), (bad(Layer::Lrh, 0, "link_version", 1), 24));
    assert_eq!(told(3, &[(5, 2)]), (bad(Layer::Lrh, 4, "packet_length", 2), 24));
    assert_eq!(told(4, &[(14, 17)]), (bad(Layer::Grh, 14, "next_header", 17), 24));
    assert_eq!(told(4, &[(8, 0x50)]), (bad(Layer::Grh, 8, "version", 5), 24));
    assert_eq!(told(4, &[(5, 12)]), (bad(Layer::Lrh, 4, "packet_length", 12), 24));
}

#[test]
fn udp_may_state_fewer_bytes_than_ip() {
    let (_, mut bytes) = one_of_each().swap_remove(0);
    bytes[25] -= 4;
    let found = Carried::in_ip(&bytes).unwrap();
    assert_eq!((found.ib.len(), found.stated, found.error), (20, 20, None));
}

#[test]
fn ipv4_options_are_shown_and_not_covered() {
    let (_, plain) = one_of_each().swap_remove(0);
    let mut bytes = [&plain[..20], &[1, 1, 1, 0], &plain[20..]].concat();
    bytes[0] = 0x46;
    bytes[3] += 4;
    let found = Carried::in_ip(&bytes).unwrap();
    assert_eq!((found.ipv4_options, found.offset, found.error), (&[1, 1, 1, 0][..], 32, None));
    let error = found.verify_checksums().unwrap_err();
    assert_eq!((error.layer, error.offset), (Layer::Ipv4, 10));
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
    let wrong = Carrier::RoceV2Ipv4(ip, rdmalab_wire::UdpHeader { checksum: 1, ..udp });
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

#[test]
fn headers_are_written_as_they_stand_however_wrong() {
    let lrh = Lrh {
        virtual_lane: 15,
        link_version: 9,
        service_level: 3,
        reserved_2: 2,
        next_header: LinkNextHeader::RawIpv6,
        destination: 0xffff,
        reserved_5: 0x1f,
        packet_length: 3,
        source: 0,
    };
    let carrier = Carrier::Native(lrh, None);
    let mut bytes = [0; 8 + 12 + 6];
    carrier.finish(&mut bytes).unwrap();
    assert_eq!(Lrh::decode(bytes.first_chunk().unwrap()), lrh);
    assert_eq!(bytes[24..], vcrc(&bytes[..24]).to_le_bytes());
}

#[test]
fn lengths_too_long_for_their_fields_are_refused() {
    for (carrier, _) in one_of_each() {
        let headers = carrier.header_length();
        let longest = match carrier {
            Carrier::RoceV2Ipv4(..) => 65_535 - headers,
            Carrier::RoceV2Ipv6(..) => 65_535 - 8,
            Carrier::RoceV1(_) => 65_535,
            Carrier::Native(..) => 2047 * 4 - headers,
        };
        assert!(carrier.with_lengths(longest).is_ok(), "{carrier}");
        let refused = EncodeError::TooLong { length: headers + longest + 1 };
        assert_eq!(carrier.with_lengths(longest + 1), Err(refused), "{carrier}");
        assert!(carrier.with_lengths(usize::MAX).is_err(), "{carrier}");
        let need = headers + carrier.trailer_length();
        assert_eq!(carrier.finish(&mut vec![0; need]), Ok(()), "{carrier}");
        let refused = EncodeError::TooShort { need, have: need - 1 };
        assert_eq!(carrier.finish(&mut vec![0; need - 1]), Err(refused), "{carrier}");
    }
}

#[test]
fn dscp_and_ecn_are_shown_where_there_are_any() {
    for (carrier, _) in one_of_each() {
        let marked = match carrier {
            Carrier::RoceV2Ipv4(ip, udp) => {
                Carrier::RoceV2Ipv4(rdmalab_wire::Ipv4Header { dscp: 26, ecn: Ecn::Ce, ..ip }, udp)
            }
            Carrier::RoceV2Ipv6(ip, udp) => {
                Carrier::RoceV2Ipv6(rdmalab_wire::Ipv6Header { dscp: 26, ecn: Ecn::Ce, ..ip }, udp)
            }
            other => {
                assert_eq!(other.dscp_and_ecn(), None);
                continue;
            }
        };
        assert_eq!(marked.dscp_and_ecn(), Some((26, Ecn::Ce)));
    }
}

proptest! {
    #[test]
    fn packet_of_every_opcode_survives_every_carrier(
        carrier in generate::carrier(),
        bth in generate::bth(),
        (transport, body) in generate::operation(),
        payload in prop::collection::vec(any::<u8>(), 0..70),
        padding in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        let row = transport.kind().opcode(body.operation()).row().unwrap();
        let payload = generate::fitting(row.payload, payload);
        let packet = Packet { bth, transport, body, payload: &payload };
        let mut bytes = build(carrier, &packet);
        let vcrc = matches!(carrier, Carrier::Native(..));
        bytes.extend_from_slice(&padding);
        let bytes = match carrier {
            Carrier::RoceV2Ipv4(..) => ethernet(0x0800, &bytes),
            Carrier::RoceV2Ipv6(..) => ethernet(0x86dd, &bytes),
            Carrier::RoceV1(_) => ethernet(0x8915, &bytes),
            Carrier::Native(..) => bytes,
        };
        let found = if vcrc { in_link_packet(&bytes) } else { in_frame(&bytes) };
        prop_assert_eq!(found.error, None);
        prop_assert_eq!(found.verify_icrc(), Ok(()));
        prop_assert_eq!(found.verify_vcrc(), vcrc.then_some(Ok(())));
        prop_assert_eq!(found.carrier, carrier.with_lengths(found.ib.len()).unwrap());
        let pad_count = (4 - payload.len() as u8 % 4) % 4;
        let again = Packet::parse(found.ib).unwrap();
        prop_assert_eq!(again, Packet { bth: Bth { pad_count, ..bth }, ..packet });
        prop_assert_eq!(found.packet(), RawPacket::parse(found.ib));
    }

    #[test]
    fn arbitrary_link_packets_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let frame = ethernet(0x8915, &bytes);
        let found = [
            Carried::in_link_packet(&bytes).and_then(Result::ok),
            Carried::in_frame(&Frame::parse(&frame).unwrap()).and_then(Result::ok),
            Carried::in_ip(&bytes),
        ];
        for found in found.into_iter().flatten() {
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
        let frame = ethernet(0x8915, &bytes);
        let found = match carrier {
            Carrier::Native(..) => Carried::in_link_packet(&bytes),
            Carrier::RoceV1(_) => Carried::in_frame(&Frame::parse(&frame).unwrap()),
            _ => Carried::in_ip(&bytes).map(Ok),
        };
        if let Some(Ok(found)) = found {
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
