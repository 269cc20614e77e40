//! A host in a VLAN: what it tags, and what it takes.

use rdmalab_wire::{EthernetAddress, VlanTag};

use super::link::*;
use crate::{DropReason, Handled, Host, HostConfig, Sent};

const TAG: VlanTag = VlanTag { priority: 3, drop_eligible: false, id: 5 };
/// As bytes, behind both addresses.
const TAG_BYTES: [u8; 4] = [0x81, 0x00, 0x60, 0x05];

fn in_vlan(config: HostConfig) -> Host {
    Host::new(&HostConfig { vlan: Some(TAG), ..config }).unwrap()
}

fn tagged(protocol: [u8; 2], priority_and_id: [u8; 2], packet: &[u8]) -> Vec<u8> {
    let mut payload = priority_and_id.to_vec();
    payload.extend([0x08, 0x00]);
    payload.extend_from_slice(packet);
    ethernet(MAC_B, MAC_A, u16::from_be_bytes(protocol), &payload)
}

#[test]
fn hosts_in_one_vlan_resolve_each_other_and_talk_tcp_and_roce_and_everything_carries_the_tag() {
    let mut link = Link::between(in_vlan(config(MAC_A, A4, A6)), in_vlan(config(MAC_B, B4, B6)));
    link.b.listen(7).unwrap();
    let stream = link.a.connect((B4, 7).into()).unwrap();
    assert_eq!(link.a.headroom(), 18);
    for (source, destination) in [(A4, B4), (A6, B6)] {
        let packet = roce_packet(source, destination, b"held");
        let mut frame = vec![0xee; 18];
        frame.extend_from_slice(&packet);
        assert_eq!(link.a.send_roce(link.now, &mut frame.clone()), Sent::Held);
        link.pass(10 * MILLISECOND);
        assert_eq!(link.roce.pop(), Some((true, packet)));
        assert_eq!(link.a.send_roce(link.now, &mut frame), Sent::Ready);
        assert_eq!((&frame[..12], &frame[12..16]), (&[MAC_B.0, MAC_A.0].concat()[..], &TAG_BYTES[..]));
        assert_eq!(link.b.handle_frame(link.now, &frame), Handled::Roce(&frame[18..]));
    }
    assert_eq!(link.a.stream_state(stream), Some(crate::StreamState::Open));
    link.a.announce();
    link.pass(MILLISECOND);
    assert!(link.sent.len() > 10);
    for frame in &link.sent {
        assert_eq!(frame[12..16], TAG_BYTES, "{frame:02x?}");
    }
}

#[test]
fn a_host_takes_only_frames_of_its_vlan_whatever_their_priority() {
    let packet = roce_packet(A4, B4, b"InfiniBand");
    let untagged = ethernet(MAC_B, MAC_A, 0x0800, &packet);
    let of_none = tagged([0x81, 0x00], [0xe0, 0x00], &packet);
    let of_five = tagged([0x81, 0x00], [0xe0, 0x05], &packet);
    let of_service_five = tagged([0x88, 0xa8], [0x00, 0x05], &packet);
    let of_six = tagged([0x81, 0x00], [0x60, 0x06], &packet);
    let (yes, no) = (Handled::Roce(&packet[..]), Handled::Dropped(DropReason::OtherVlan));
    let mut outside = host_b();
    let mut inside = in_vlan(config(MAC_B, B4, B6));
    let only_priority = VlanTag { id: 0, ..TAG };
    let mut with_priority =
        Host::new(&HostConfig { vlan: Some(only_priority), ..config(MAC_B, B4, B6) }).unwrap();
    for (frame, by_outside, by_inside) in [
        (&untagged, yes, no),
        (&of_none, yes, no),
        (&of_five, no, yes),
        (&of_service_five, no, yes),
        (&of_six, no, no),
    ] {
        assert_eq!(outside.handle_frame(0, frame), by_outside);
        assert_eq!(with_priority.handle_frame(0, frame), by_outside);
        assert_eq!(inside.handle_frame(0, frame), by_inside);
    }
    assert_eq!((outside.counters().other_vlan, inside.counters().other_vlan), (3, 3));
    with_priority.announce();
    assert_eq!(frames(&mut with_priority, 0)[0][12..16], [0x81, 0x00, 0x60, 0x00]);
}

#[test]
fn a_headroom_without_room_for_the_tag_is_no_packet() {
    let mut host = in_vlan(config(MAC_A, A4, A6));
    let mut short = vec![0xee; 17];
    assert_eq!(host.send_roce(0, &mut short), Sent::Dropped(crate::SendError::NoPacket));
    let group = EthernetAddress([0x01, 0, 0x5e, 1, 2, 3]);
    let mut frame = vec![0xee; 18];
    frame.extend(roce_packet(A4, "239.1.2.3".parse().unwrap(), b""));
    assert_eq!(host.send_roce(0, &mut frame), Sent::Ready);
    assert_eq!(frame[..6], group.0);
}
