//! Ethernet frames with and without VLAN tags.

use rdmalab_wire::{EthernetAddress, Frame, VlanTag, is_roce_v2, roce_v2};

use crate::pcap;

/// A frame with these bytes between the addresses and the network layer.
fn with_tags(frame: &[u8], tags: &[u8]) -> Vec<u8> {
    [&frame[..12], tags, &frame[12..]].concat()
}

fn roce_frame() -> Vec<u8> {
    pcap::frames("rping.pcap").swap_remove(0)
}

#[test]
fn untagged_frame_leads_to_its_network_layer() {
    let bytes = roce_frame();
    let frame = Frame::parse(&bytes).unwrap();
    assert_eq!(frame.vlan, [None; 3]);
    assert_eq!((frame.ethertype, frame.network_offset), (0x0800, 14));
    assert_eq!(frame.network, &bytes[14..]);
    assert_eq!(frame.ethernet.ethertype, 0x0800);
}

#[test]
fn one_and_two_tags_are_looked_through() {
    let bytes = roce_frame();
    let one = with_tags(&bytes, &[0x81, 0x00, 0x60, 0x0a]);
    let frame = Frame::parse(&one).unwrap();
    let inner = VlanTag { priority: 3, drop_eligible: false, id: 10 };
    assert_eq!(frame.vlan, [Some(inner), None, None]);
    assert_eq!((frame.ethertype, frame.network_offset), (0x0800, 18));
    assert_eq!(frame.ethernet.ethertype, 0x8100);
    assert_eq!(frame.network, &bytes[14..]);

    let two = with_tags(&bytes, &[0x88, 0xa8, 0x1f, 0xff, 0x81, 0x00, 0x60, 0x0a]);
    let frame = Frame::parse(&two).unwrap();
    let outer = VlanTag { priority: 0, drop_eligible: true, id: 0xfff };
    assert_eq!(frame.vlan, [Some(outer), Some(inner), None]);
    assert_eq!(frame.network_offset, 22);
    assert_eq!(roce_v2(&two), Some(&bytes[14..]));
}

#[test]
fn a_third_tag_and_the_old_ethertype_are_looked_through_a_fourth_tag_is_a_protocol() {
    let bytes = roce_frame();
    let mut tags = vec![0x91, 0, 0, 1, 0x88, 0xa8, 0, 2, 0x81, 0, 0, 3];
    let three = with_tags(&bytes, &tags);
    let frame = Frame::parse(&three).unwrap();
    assert_eq!((frame.ethertype, frame.network_offset), (0x0800, 26));
    assert_eq!(frame.vlan.map(|tag| tag.unwrap().id), [1, 2, 3]);
    assert_eq!(roce_v2(&three), Some(&bytes[14..]));
    tags.extend([0x81, 0, 0, 4]);
    let four = with_tags(&bytes, &tags);
    let frame = Frame::parse(&four).unwrap();
    assert_eq!((frame.ethertype, frame.network_offset), (0x8100, 26));
    assert!(!is_roce_v2(&four));
}

#[test]
fn a_frame_behind_another_header_counts_from_its_own_start() {
    let bytes = roce_frame();
    let header = Frame::parse(&bytes).unwrap().ethernet;
    let cooked = [&[0; 20][..], &[0x60, 0x0a, 0x08, 0x00], &bytes[14..]].concat();
    let tagged = rdmalab_wire::EthernetHeader { ethertype: 0x8100, ..header };
    let frame = Frame::behind(tagged, &cooked, 20).unwrap();
    assert_eq!((frame.ethertype, frame.network_offset), (0x0800, 24));
    assert_eq!(frame.network, &bytes[14..]);
    assert_eq!(frame.vlan[0].unwrap().id, 10);
    assert_eq!(Frame::behind(tagged, &cooked[..22], 20).unwrap_err().offset, 20);
    assert_eq!(Frame::behind(tagged, &cooked[..7], 20).unwrap_err().offset, 20);
}

#[test]
fn addresses_display_and_know_groups() {
    let address = EthernetAddress([0x02, 0x00, 0x5e, 0x10, 0x00, 0xff]);
    assert_eq!(address.to_string(), "02:00:5e:10:00:ff");
    assert!(!address.is_multicast());
    assert!(EthernetAddress::BROADCAST.is_multicast());
    assert!(EthernetAddress([0x33, 0x33, 0, 0, 0, 1]).is_multicast());
}
