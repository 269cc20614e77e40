//! Packets that are in order: found, and written as they were described.

use proptest::prelude::*;
use rdmalab_wire::{
    Bth, Carried, Carrier, Ecn, EncodeError, Frame, Ipv4Header, Ipv6Header, Layer, LinkNextHeader, Lrh,
    Packet, RawPacket, VlanTag, vcrc,
};

use super::{Place, build, ethernet, one_of_each};
use crate::generate;

#[test]
fn each_carrier_is_found_again_with_all_checksums_right() {
    for (carrier, bytes) in one_of_each() {
        let place = Place::new(carrier, &bytes);
        let found = place.found();
        assert_eq!(found.carrier, carrier.with_lengths(found.ib.len()).unwrap(), "{carrier}");
        assert_eq!((found.ib.len(), found.stated), (12 + 8 + 4, 12 + 8 + 4), "{carrier}");
        assert_eq!(found.offset, place.front + carrier.header_length(), "{carrier}");
        assert_eq!((found.error, found.verify_icrc(), found.verify_checksums()), (None, Ok(()), Ok(())));
        let vcrc = matches!(carrier, Carrier::Native(..)).then_some(Ok(()));
        assert_eq!(found.verify_vcrc(), vcrc, "{carrier}");
    }
}

#[test]
fn bytes_behind_the_stated_length_are_ignored() {
    for (carrier, mut bytes) in one_of_each() {
        let plain = Place::new(carrier, &bytes);
        bytes.extend_from_slice(&[0xee; 17]);
        assert_eq!(Place::new(carrier, &bytes).found(), plain.found(), "{carrier}");
    }
}

#[test]
fn priority_tag_in_front_is_looked_through_and_shown() {
    for (carrier, bytes) in one_of_each() {
        let Place { mut bytes, front: 14, .. } = Place::new(carrier, &bytes) else { continue };
        let tag = VlanTag { priority: 3, drop_eligible: false, id: 0 };
        bytes.splice(12..12, [0x81, 0x00, 0x60, 0x00]);
        let frame = Frame::parse(&bytes).unwrap();
        assert_eq!(frame.vlan, [Some(tag), None, None]);
        let found = Carried::in_frame(&frame).unwrap().unwrap();
        assert_eq!(found.offset, 18 + carrier.header_length(), "{carrier}");
        assert_eq!((found.error, found.verify_icrc()), (None, Ok(())), "{carrier}");
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
    for ethertype in [0x0806, 0x86dd] {
        let frame = ethernet(ethertype, v4);
        assert_eq!(Carried::in_frame(&Frame::parse(&frame).unwrap()), None);
    }
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
                Carrier::RoceV2Ipv4(Ipv4Header { dscp: 26, ecn: Ecn::Ce, ..ip }, udp)
            }
            Carrier::RoceV2Ipv6(ip, udp) => {
                Carrier::RoceV2Ipv6(Ipv6Header { dscp: 26, ecn: Ecn::Ce, ..ip }, udp)
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
        let bytes = [&build(carrier, &packet)[..], &padding].concat();
        let place = Place::new(carrier, &bytes);
        let found = place.found();
        let vcrc = matches!(carrier, Carrier::Native(..));
        prop_assert_eq!(found.error, None);
        prop_assert_eq!(found.verify_icrc(), Ok(()));
        prop_assert_eq!(found.verify_vcrc(), vcrc.then_some(Ok(())));
        prop_assert_eq!(found.carrier, carrier.with_lengths(found.ib.len()).unwrap());
        let pad_count = (4 - payload.len() as u8 % 4) % 4;
        let again = Packet::parse(found.ib).unwrap();
        prop_assert_eq!(again, Packet { bth: Bth { pad_count, ..bth }, ..packet });
        prop_assert_eq!(found.packet(), RawPacket::parse(found.ib));
    }
}
