//! Runs of datagrams: what becomes one superframe, and that cutting it gives back what went in.

use super::*;

/// A RoCE-like datagram over IPv4 with this identification.
fn v4(identification: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00];
    frame.extend([0x45, 0x02, 0, 0, 0, 0, 0x40, 0x00, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([0xc0, 0, 0x12, 0xb7, 0, 0, 0, 0]);
    frame.extend_from_slice(payload);
    let length = frame.len() as u16;
    put(&mut frame, 16, length - 14).unwrap();
    put(&mut frame, 18, identification).unwrap();
    put(&mut frame, 38, length - 34).unwrap();
    let sum = checksum::complete(checksum::sum(&frame[14..34]));
    put(&mut frame, 24, sum).unwrap();
    frame
}

fn v6(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    frame.extend([0x60, 0, 0, 0, 0, 8 + payload.len() as u8, 17, 64]);
    frame.extend([0xfd; 32]);
    frame.extend([0xc0, 0, 0x12, 0xb7, 0, 8 + payload.len() as u8, 0, 0]);
    frame.extend_from_slice(payload);
    frame
}

fn outbox(frames: &[Vec<u8>]) -> Outbox {
    let mut outbox = Outbox::new();
    for frame in frames {
        assert!(outbox.push(frame));
    }
    outbox
}

/// The frames that a kernel makes of each message.
fn cut(outbox: &mut Outbox) -> Vec<Vec<Vec<u8>>> {
    let messages: Vec<_> = outbox.messages().map(<[u8]>::to_vec).collect();
    let cut = |mut message: Vec<u8>| {
        let (header, frame) = message.split_first_chunk_mut().unwrap();
        let offload = Offload::decode(header);
        if !offload.is_superframe() {
            assert_eq!(*header, [0; OFFLOAD_HEADER]);
            return vec![frame.to_vec()];
        }
        let mut cut = Cut::new(frame, &offload).unwrap();
        let mut frames = Vec::new();
        while let Some(place) = cut.next(frame) {
            frames.push(frame[place].to_vec());
        }
        frames
    };
    messages.into_iter().map(cut).collect()
}

fn lengths(outbox: &mut Outbox) -> Vec<usize> {
    cut(outbox).iter().map(Vec::len).collect()
}

/// The datagram without the checksum that cutting has added.
fn without_checksum(mut frame: Vec<u8>) -> Vec<u8> {
    let at = if frame[12] == 0x08 { 40 } else { 60 };
    assert_ne!(frame[at..at + 2], [0, 0]);
    put(&mut frame, at, 0);
    frame
}

#[test]
fn a_run_of_datagrams_is_one_superframe_that_cuts_into_what_went_in() {
    let ipv4: Vec<_> = (0..5).map(|n| v4(0xfffd_u16.wrapping_add(n), &vec![n as u8; 1000])).collect();
    let ipv6: Vec<_> = (0..5).map(|n| v6(&[n; 100])).collect();
    for mut frames in [ipv4, ipv6] {
        let last = if frames[4][12] == 0x08 { v4(1, &[4; 993]) } else { v6(&[4; 93]) };
        frames[4] = last;
        let mut outbox = outbox(&frames);
        let [superframe] = &cut(&mut outbox)[..] else { panic!("not one message") };
        assert_eq!(superframe.iter().cloned().map(without_checksum).collect::<Vec<_>>(), frames);
    }
}

#[test]
fn what_differs_begins_a_message_of_its_own() {
    let first = v4(1, &[0; 100]);
    let second = v4(2, &[1; 100]);
    assert_eq!(lengths(&mut outbox(&[first.clone(), second.clone()])), [2]);
    let sealed = |mut frame: Vec<u8>| {
        put(&mut frame, 24, 0);
        let sum = checksum::complete(checksum::sum(&frame[14..34]));
        put(&mut frame, 24, sum);
        frame
    };
    // Addresses, type of service, flags, time to live, addresses, ports; lengths and sums that are wrong on purpose;
    // a checksum that somebody has written.
    for at in [0, 5, 6, 11, 15, 17, 20, 22, 26, 29, 30, 33, 34, 35, 36, 37, 39, 40, 41] {
        let mut other = second.clone();
        other[at] ^= 0x40;
        let other = sealed(other);
        assert_eq!(lengths(&mut outbox(&[first.clone(), other])), [1, 1], "byte {at}");
    }
    let mut broken = second.clone();
    broken[25] ^= 1;
    let others =
        [v4(3, &[1; 100]), v4(2, &[1; 101]), v4(2, &[]), v6(&[1; 100]), broken, second[..60].to_vec()];
    for (case, other) in others.into_iter().enumerate() {
        assert_eq!(lengths(&mut outbox(&[first.clone(), other.clone()])), [1, 1], "case {case}");
        assert_eq!(cut(&mut outbox(std::slice::from_ref(&other)))[0][0], other, "and is left as it is");
    }
    // Behind a shorter one nothing follows.
    assert_eq!(lengths(&mut outbox(&[first, v4(2, &[1; 99]), v4(3, &[1; 99])])), [2, 1]);
}

#[test]
fn a_run_ends_before_it_is_longer_than_a_packet_can_be_or_than_kernels_take() {
    let large: Vec<_> = (0..20).map(|n| v4(n, &[0; 4112])).collect();
    assert_eq!(lengths(&mut outbox(&large)), [15, 5]);
    let small: Vec<_> = (0..100).map(|n| v4(n, &[0; 20])).collect();
    assert_eq!(lengths(&mut outbox(&small)), [64, 36]);
}

#[test]
fn nothing_is_merged_once_that_is_forbidden_and_what_was_comes_apart_again() {
    let mut frames: Vec<_> = (0..3).map(|n| v4(n, &[0; 50])).collect();
    frames.push(vec![0xff; 60]);
    let mut outbox = outbox(&frames);
    assert_eq!(lengths(&mut outbox), [3, 1]);
    assert!(outbox.begins_with_superframe());
    outbox.unmerge();
    assert!(!outbox.begins_with_superframe());
    assert!(outbox.push(&v4(3, &[0; 50])) && outbox.push(&v4(4, &[0; 50])));
    assert_eq!(lengths(&mut outbox), [1; 6]);
    let apart = cut(&mut outbox);
    assert_eq!(without_checksum(apart[1][0].clone()), frames[1]);
    assert_eq!(apart[3][0], frames[3]);
}

#[test]
fn it_takes_so_many_messages_and_bytes_and_again_when_they_have_gone() {
    let mut outbox = Outbox::new();
    let frame = [0xff; 60];
    let mut taken = 0;
    while outbox.push(&frame) {
        taken += 1;
    }
    assert_eq!(taken, MESSAGES_MAX);
    outbox.sent(MESSAGES_MAX - 1);
    assert!(!outbox.is_empty() && !outbox.push(&frame), "room comes back when all have gone");
    outbox.sent(1);
    assert!(outbox.is_empty() && outbox.push(&frame));
    outbox.clear();
    let large = vec![0xff; 65_000];
    let mut taken = 0;
    while outbox.push(&large) {
        taken += 1;
    }
    assert_eq!(taken, 8);
    assert_eq!(outbox.messages().count(), 8);
    assert!(outbox.bytes.capacity() <= BYTES_MAX);
}

#[test]
fn what_a_kernel_was_offered_is_not_added_to() {
    let mut outbox = outbox(&[v4(1, &[0; 50]), v4(2, &[0; 50])]);
    assert_eq!(lengths(&mut outbox), [2]);
    assert!(outbox.push(&v4(3, &[0; 50])));
    assert_eq!(lengths(&mut outbox), [2, 1]);
}
