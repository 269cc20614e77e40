//! Packets of hardware and of the specification.

use rdmalab_wire::{Address, Carrier, Layer, LinkNextHeader, Packet, ParseError};

use super::{build, in_frame, in_link_packet};
use crate::samples::{LINK_GLOBAL, LINK_LOCAL, ROCE_V1_ACKNOWLEDGE, ROCE_V1_WRITE, hexadecimal, link_sample};

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
