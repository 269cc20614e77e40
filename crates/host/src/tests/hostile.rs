//! Whatever arrives, nothing breaks and nothing grows.

mod forgery;

use proptest::prelude::*;

use super::groups::*;
use super::link::*;
use crate::neighbours::ENTRIES_MAX;
use crate::{Handled, Host, Read};
use forgery::*;

/// What must hold whatever happened: bounded output, and a host that still works.
fn still_works(mut host: Host, now: u64) -> Result<(), TestCaseError> {
    let output = frames(&mut host, now);
    prop_assert!(output.len() < 3000, "{} frames", output.len());
    prop_assert!(output.iter().all(|frame| (14..=1514).contains(&frame.len())));
    prop_assert!(output.iter().all(|frame| frame[6..12] == MAC_B.0));
    prop_assert!(host.neighbour_count() <= ENTRIES_MAX);
    host.handle_timeout(now + 1000 * SECOND);
    frames(&mut host, now + 1000 * SECOND);
    let packet = roce_packet(A4, B4, b"still there?");
    let frame = ethernet(MAC_B, MAC_A, 0x0800, &packet);
    prop_assert_eq!(host.handle_frame(now, &frame), Handled::Roce(&packet));
    Ok(())
}

/// All frames of a lively exchange: ARP, NDP, pings, a connection by each family.
fn specimens() -> Vec<Vec<u8>> {
    let mut link = Link::new();
    let listener = link.b.listen(80).unwrap();
    let streams = [B4, B6].map(|address| link.a.connect((address, 80).into()).unwrap());
    link.a.send_roce(0, &mut roce_frame(A4, B4, b"roce"));
    link.a.send_roce(0, &mut roce_frame(A6, B6, b"roce"));
    link.pass(SECOND);
    for stream in streams {
        link.a.write(stream, b"request").unwrap();
        link.a.shut_down(stream).unwrap();
    }
    link.pass(SECOND);
    while let Some(accepted) = link.b.accept(listener) {
        link.b.write(accepted, b"answer").unwrap();
        link.b.close(accepted).unwrap();
    }
    link.pass(SECOND);
    link.a.announce();
    link.pass(SECOND);
    link.sent.push(ethernet(MAC_B, MAC_A, 0x0800, &udp_packet(A4, B4, 9, b"discard")));
    link.sent.push(ethernet(MAC_B, MAC_A, 0x86dd, &udp_packet(A6, B6, 9, b"discard")));
    link.sent.push(ethernet(
        MAC_B,
        MAC_A,
        0x86dd,
        &ip_packet(A6, B6, 0, &[58, 0, 5, 2, 0, 0, 1, 0, 128, 0, 0, 0]),
    ));
    for current in [true, false] {
        let questions = [igmp_query(1, ALL4, ANY4, current), igmp_query(1, G4, G4, current)];
        link.sent.extend(questions.map(from_a));
        let questions = [mld_query(100, ALL6, ANY6, current), mld_query(100, G6, G6, current)];
        link.sent.extend(questions.map(from_a));
    }
    link.sent
}

fn from_a(mut frame: Vec<u8>) -> Vec<u8> {
    frame[6..12].copy_from_slice(&MAC_A.0);
    frame
}

#[derive(Clone, Debug)]
enum Mutation {
    Byte { at: usize, value: u8 },
    Cut { length: usize },
    Grow { by: usize },
}

fn mutation() -> impl Strategy<Value = Mutation> {
    prop_oneof![
        6 => (any::<usize>(), any::<u8>()).prop_map(|(at, value)| Mutation::Byte { at, value }),
        1 => any::<usize>().prop_map(|length| Mutation::Cut { length }),
        1 => (0..64_usize).prop_map(|by| Mutation::Grow { by }),
    ]
}

fn mutate(frame: &mut Vec<u8>, mutations: &[Mutation]) {
    for mutation in mutations {
        match *mutation {
            Mutation::Byte { at, value } if frame.len() > 12 => {
                // The Ethernet addresses stay, or nearly nothing would get in.
                let length = frame.len();
                frame[12 + at % (length - 12)] = value;
            }
            Mutation::Cut { length } => frame.truncate(length % (frame.len() + 1)),
            Mutation::Grow { by } => frame.resize(frame.len() + by, 0x5a),
            Mutation::Byte { .. } => {}
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_no_harm(
        inputs in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..20),
        addressed in any::<bool>(),
    ) {
        let mut host = host_b();
        host.listen(80).unwrap();
        for (now, mut frame) in inputs.into_iter().enumerate() {
            if addressed && frame.len() >= 14 {
                frame[..6].copy_from_slice(&MAC_B.0);
                frame[12..14].copy_from_slice(&[[0x08, 0], [0x86, 0xdd], [0x08, 0x06]][now % 3]);
            }
            host.handle_frame(now as u64, &frame);
        }
        still_works(host, 100)?;
    }

    #[test]
    fn damaged_frames_of_a_real_exchange_do_no_harm(
        changes in proptest::collection::vec(
            (any::<usize>(), proptest::collection::vec(mutation(), 0..4), any::<bool>(), 0..SECOND),
            1..40,
        ),
    ) {
        let specimens = specimens();
        let mut host = host_b();
        let listener = host.listen(80).unwrap();
        host.join(0, G4).unwrap();
        host.join(0, G6).unwrap();
        let mut now = 0;
        for (index, mutations, mended, wait) in changes {
            let mut frame = specimens[index % specimens.len()].clone();
            if frame[6..12] == MAC_B.0 {
                continue;
            }
            mutate(&mut frame, &mutations);
            if mended {
                mend(&mut frame);
            }
            host.handle_frame(now, &frame);
            now += wait;
            frames(&mut host, now);
            if let Some(stream) = host.accept(listener) {
                let _ = host.write(stream, b"hello");
            }
        }
        still_works(host, now)?;
    }

    #[test]
    fn forged_segments_of_a_connection_do_no_harm(
        forgeries in proptest::collection::vec(forgery(), 1..60),
        connects in any::<bool>(),
        opened in any::<bool>(),
        writes in any::<bool>(),
        finishes in 0..60_usize,
    ) {
        let (mut a, mut b) = (host_a(), host_b());
        introduce(&mut b, 0, &mut a);
        let listener = b.listen(80).unwrap();
        let mut seen = [Seen { own_port: 80, peer_port: 5000, ..Seen::default() }; 2];
        let mut streams = Vec::new();
        if connects {
            streams = [A4, A6].map(|peer| b.connect((peer, 7).into()).unwrap()).to_vec();
        }
        let mut now = 1;
        if opened {
            let flags = if connects { 0x12 } else { 0x02 };
            for flags in [flags, 0x10] {
                for frame in frames(&mut b, now) {
                    watch(&mut seen, &frame);
                }
                for v6 in [false, true] {
                    let forgery = Forgery {
                        v6,
                        from_other_port: false,
                        flags,
                        sequence: 0,
                        acknowledges: 0,
                        window: 60_000,
                        options: vec![],
                        payload: 0,
                        wait: 0,
                    };
                    b.handle_frame(now, &forge(&seen[usize::from(v6)], &forgery));
                }
            }
        }
        let mut into = [0; 1000];
        for (index, forgery) in forgeries.iter().enumerate() {
            for frame in frames(&mut b, now) {
                watch(&mut seen, &frame);
            }
            b.handle_frame(now, &forge(&seen[usize::from(forgery.v6)], forgery));
            now += forgery.wait;
            streams.extend(b.accept(listener));
            for stream in &streams {
                if writes {
                    let _ = b.write(*stream, &[1; 3000]);
                }
                while let Ok(Read::Bytes(_)) = b.read(*stream, &mut into) {}
                if index == finishes {
                    let _ = b.shut_down(*stream);
                }
            }
        }
        prop_assert!(streams.len() <= crate::STREAMS_MAX);
        still_works(b, now)?;
    }
}

/// A connection from `a`'s address opened by hand, and what is known of it.
fn opened_by_hand(host: &mut Host, syn: &Forgery) -> [Seen; 2] {
    introduce(host, 0, &mut host_a());
    let mut seen = [Seen { own_port: 80, peer_port: 5000, ..Seen::default() }; 2];
    host.handle_frame(1, &forge(&seen[0], syn));
    for frame in frames(host, 1) {
        watch(&mut seen, &frame);
    }
    seen
}

#[test]
fn regression_data_beyond_the_buffer_before_the_handshake_ends() {
    let mut host = host_b();
    host.listen(80).unwrap();
    let syn = Forgery { options: vec![1, 3, 3, 0], ..exact(0x02, 0) };
    let seen = opened_by_hand(&mut host, &syn);
    let data = Forgery { sequence: 64_886, payload: 651, ..exact(0x10, 0) };
    host.handle_frame(1, &forge(&seen[0], &data));
    still_works(host, 1).unwrap();
}

#[test]
fn regression_a_window_closed_by_the_segment_that_confirms_our_fin() {
    let mut host = host_b();
    let listener = host.listen(80).unwrap();
    let mut seen = opened_by_hand(&mut host, &exact(0x02, 60_000));
    host.handle_frame(1, &forge(&seen[0], &exact(0x10, 60_000)));
    let stream = host.accept(listener).unwrap();
    host.write(stream, &[1; 1000]).unwrap();
    host.shut_down(stream).unwrap();
    for frame in frames(&mut host, 1) {
        watch(&mut seen, &frame);
    }
    // First all but the last byte and the FIN, which starts the probing, then these too.
    for missing in [-2, 0] {
        host.handle_frame(2, &forge(&seen[0], &Forgery { acknowledges: missing, ..exact(0x10, 0) }));
    }
    let later: usize = (1..50).map(|tick| frames(&mut host, 2 + tick * SECOND / 5).len()).sum();
    assert!(later < 5, "{later} frames in ten seconds");
}

#[test]
fn a_peer_that_closes_its_window_while_we_finish_gets_everything_when_it_opens_it() {
    let mut host = host_b();
    let listener = host.listen(80).unwrap();
    let mut seen = opened_by_hand(&mut host, &exact(0x02, 1000));
    host.handle_frame(1, &forge(&seen[0], &exact(0x10, 1000)));
    let stream = host.accept(listener).unwrap();
    host.write(stream, &[1; 1500]).unwrap();
    host.shut_down(stream).unwrap();
    for frame in frames(&mut host, 1) {
        watch(&mut seen, &frame);
    }
    host.handle_frame(2, &forge(&seen[0], &exact(0x10, 0)));
    let full = seen[0];
    let probes: Vec<_> = (0..50).flat_map(|tick| frames(&mut host, 2 + tick * SECOND / 10)).collect();
    assert!((1..10).contains(&probes.len()), "{} probes in five seconds", probes.len());
    assert!(probes.iter().all(|probe| probe.len() == 14 + 20 + 20 + 1));
    host.handle_frame(6 * SECOND, &forge(&full, &exact(0x10, 1000)));
    let rest = frames(&mut host, 6 * SECOND);
    watch(&mut seen, rest.last().unwrap());
    // 500 bytes and the FIN.
    assert_eq!(seen[0].next.wrapping_sub(full.next), 501);
}
