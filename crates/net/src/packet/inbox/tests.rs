//! Frames as a kernel hands them over, without a kernel.

use super::super::checksum;
use super::*;

const ENDS: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// A datagram over IPv4 whose checksum is left open; `cut` to that payload, or not at all.
fn left_open(payload: &[u8], cut: u16) -> Vec<u8> {
    let [c0, c1] = 34_u16.to_ne_bytes();
    let [o0, o1] = 6_u16.to_ne_bytes();
    let [s0, s1] = cut.to_ne_bytes();
    let mut bytes = vec![1, if cut == 0 { 0 } else { 5 }, 0, 0, s0, s1, c0, c1, o0, o1];
    bytes.extend(ENDS);
    bytes.extend([0x08, 0x00, 0x45, 0, 0, 28 + payload.len() as u8, 0, 1, 0x40, 0, 64, 17, 0, 0]);
    bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    let pseudo = checksum::fold(checksum::sum(&bytes[36..44]) + 17 + 8 + payload.len() as u64);
    bytes.extend([0xc0, 0, 0x12, 0xb7, 0, 8 + payload.len() as u8]);
    bytes.extend(pseudo.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

fn inbox(arrivals: &[(Vec<u8>, Arrival)]) -> Inbox {
    let mut inbox = Inbox::new();
    for (index, (bytes, arrival)) in arrivals.iter().enumerate() {
        inbox.buffers[index][..bytes.len()].copy_from_slice(bytes);
        inbox.arrivals[index] = Arrival { length: bytes.len(), ..*arrival };
    }
    inbox.filled = arrivals.len();
    inbox
}

fn frames(inbox: &mut Inbox) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    while let Some(frame) = inbox.next() {
        frames.push(inbox.frame(frame).to_vec());
    }
    assert!(inbox.is_empty());
    frames
}

fn datagram_sum(frame: &[u8], network: usize) -> u16 {
    let datagram = &frame[network + 20..];
    let addresses = &frame[network + 12..network + 20];
    checksum::fold(checksum::sum(addresses) + 17 + datagram.len() as u64 + checksum::sum(datagram))
}

#[test]
fn a_tagged_frame_gets_its_tag_and_its_checksum_and_is_cut_where_it_must_be() {
    let tagged = Arrival { vlan: Some((0x8100, 0x6005)), ..Arrival::default() };
    let bytes = left_open(&[7; 21], 0);
    let mut one = inbox(&[(bytes.clone(), tagged), (bytes.clone(), Arrival::default())]);
    let [with, without] = &frames(&mut one)[..] else { panic!("not two") };
    assert_eq!((&with[..12], &with[12..18]), (&ENDS[..], &[0x81, 0x00, 0x60, 0x05, 0x08, 0x00][..]));
    assert_eq!(with[18..], without[14..]);
    assert_eq!((datagram_sum(with, 18), datagram_sum(without, 14)), (0xffff, 0xffff));

    let mut many = inbox(&[(left_open(&[7; 21], 10), tagged), (bytes, Arrival::default())]);
    let frames = frames(&mut many);
    assert_eq!(frames.iter().map(Vec::len).collect::<Vec<_>>(), [56, 56, 47, 63]);
    for frame in &frames[..3] {
        assert_eq!(frame[..18], with[..18]);
        assert_eq!(datagram_sum(frame, 18), 0xffff);
    }
}

#[test]
fn what_cannot_be_made_whole_is_counted_and_the_rest_arrives() {
    let fine = left_open(b"fine", 0);
    let plain = Arrival::default();
    let mut unknown = fine.clone();
    unknown[1] = 3;
    let mut outside = fine.clone();
    outside[6..8].copy_from_slice(&1000_u16.to_ne_bytes());
    let mut inbox = inbox(&[
        (fine.clone(), Arrival { cut_off: true, ..plain }),
        (fine.clone(), plain),
        (unknown, plain),
        (outside, plain),
        (fine[..21].to_vec(), Arrival { vlan: Some((0x8100, 5)), ..plain }),
        (fine, plain),
    ]);
    assert_eq!(frames(&mut inbox).len(), 2);
    assert_eq!(inbox.unusable, 4);
}
