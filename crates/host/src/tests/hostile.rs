//! Whatever arrives, nothing breaks and nothing grows.

use proptest::prelude::*;

use super::link::*;
use crate::neighbours::ENTRIES_MAX;
use crate::{Handled, Host, Read};

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

/// Sets every checksum right that a stack would otherwise drop the packet for.
fn mend(frame: &mut [u8]) {
    use smoltcp::wire::{Icmpv4Packet, Icmpv6Packet, IpAddress, Ipv4Packet, Ipv6Packet, TcpPacket};
    let Some(packet) = frame.get_mut(14..) else { return };
    let (source, destination, protocol, payload): (IpAddress, IpAddress, u8, &mut [u8]) = match packet.first()
    {
        Some(byte) if byte >> 4 == 4 && packet.len() >= 20 => {
            let mut ip = Ipv4Packet::new_unchecked(&mut *packet);
            if ip.check_len().is_err() {
                return;
            }
            ip.fill_checksum();
            let (source, destination, protocol) = (ip.src_addr(), ip.dst_addr(), ip.next_header().into());
            let start = usize::from(ip.header_len());
            (source.into(), destination.into(), protocol, &mut packet[start..])
        }
        Some(byte) if byte >> 4 == 6 && packet.len() >= 40 => {
            let ip = Ipv6Packet::new_unchecked(&mut *packet);
            let (source, destination, protocol) = (ip.src_addr(), ip.dst_addr(), ip.next_header().into());
            (source.into(), destination.into(), protocol, &mut packet[40..])
        }
        _ => return,
    };
    match (protocol, source, destination) {
        (6, ..) if payload.len() >= 20 => {
            TcpPacket::new_unchecked(payload).fill_checksum(&source, &destination)
        }
        (1, ..) if payload.len() >= 4 => Icmpv4Packet::new_unchecked(payload).fill_checksum(),
        (58, IpAddress::Ipv6(source), IpAddress::Ipv6(destination)) if payload.len() >= 4 => {
            Icmpv6Packet::new_unchecked(payload).fill_checksum(&source, &destination);
        }
        _ => {}
    }
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
    link.sent
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

/// One segment of an attacker who sees the connection: numbers near the right ones, anything else as it comes.
#[derive(Clone, Debug)]
struct Forgery {
    v6: bool,
    from_other_port: bool,
    flags: u8,
    sequence: i32,
    acknowledges: i32,
    window: u16,
    options: Vec<u8>,
    payload: usize,
    wait: u64,
}

fn near() -> impl Strategy<Value = i32> {
    prop_oneof![4 => -3..4_i32, 2 => -70_000..70_000_i32, 1 => any::<i32>()]
}

fn option() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => Just(vec![]),
        1 => any::<u16>().prop_map(|mss| vec![2, 4, (mss >> 8) as u8, mss as u8]),
        1 => any::<u8>().prop_map(|shift| vec![1, 3, 3, shift]),
        1 => Just(vec![1, 1, 4, 2]),
        1 => any::<[u8; 8]>().prop_map(|t| [&[1, 1, 8, 10][..], &t].concat()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

fn forgery() -> impl Strategy<Value = Forgery> {
    let flags =
        prop_oneof![6 => Just(0x10_u8), 2 => Just(0x02), 2 => Just(0x12), 2 => Just(0x11), 1 => any::<u8>()];
    let window = prop_oneof![Just(0), Just(u16::MAX), any::<u16>()];
    let payload = prop_oneof![3 => Just(0), 2 => 1..1500_usize];
    let wait = prop_oneof![6 => Just(0), 2 => 0..SECOND, 1 => 0..100 * SECOND];
    (any::<bool>(), proptest::bool::weighted(0.1), flags, near(), near(), window, option(), payload, wait)
        .prop_map(|(v6, from_other_port, flags, sequence, acknowledges, window, options, payload, wait)| {
            Forgery { v6, from_other_port, flags, sequence, acknowledges, window, options, payload, wait }
        })
}

/// What is known of a connection: a port of the peer, and the numbers last seen from our side.
#[derive(Clone, Copy, Default)]
struct Seen {
    own_port: u16,
    peer_port: u16,
    next: u32,
    acknowledged: u32,
}

fn forge(seen: &Seen, forgery: &Forgery) -> Vec<u8> {
    let mut tcp = vec![0; 20];
    let port = seen.peer_port.wrapping_add(u16::from(forgery.from_other_port));
    tcp[..2].copy_from_slice(&port.to_be_bytes());
    tcp[2..4].copy_from_slice(&seen.own_port.to_be_bytes());
    tcp[4..8].copy_from_slice(&seen.acknowledged.wrapping_add_signed(forgery.sequence).to_be_bytes());
    tcp[8..12].copy_from_slice(&seen.next.wrapping_add_signed(forgery.acknowledges).to_be_bytes());
    tcp[13] = forgery.flags;
    tcp[14..16].copy_from_slice(&forgery.window.to_be_bytes());
    tcp.extend_from_slice(&forgery.options);
    tcp.resize(tcp.len().next_multiple_of(4).min(60), 0);
    tcp[12] = ((tcp.len() / 4) << 4) as u8;
    tcp.resize(tcp.len() + forgery.payload, 0xda);
    let (source, destination, kind) = if forgery.v6 { (A6, B6, 0x86dd) } else { (A4, B4, 0x0800) };
    let mut frame = ethernet(MAC_B, MAC_A, kind, &ip_packet(source, destination, 6, &tcp));
    mend(&mut frame);
    frame
}

/// Takes in what our side says.
fn watch(seen: &mut [Seen; 2], frame: &[u8]) {
    let (v6, tcp) = match frame.get(12..14) {
        Some([0x08, 0x00]) => (false, frame.get(34..)),
        Some([0x86, 0xdd]) if frame[20] == 6 => (true, frame.get(54..)),
        _ => return,
    };
    let Some([s0, s1, d0, d1, n0, n1, n2, n3, a0, a1, a2, a3, offset, flags, ..]) = tcp else { return };
    if flags & 4 != 0 {
        return;
    }
    let length = tcp.map_or(0, <[u8]>::len) as u32 - u32::from(offset >> 4) * 4 + u32::from(flags & 3 != 0);
    seen[usize::from(v6)] = Seen {
        own_port: u16::from_be_bytes([*s0, *s1]),
        peer_port: u16::from_be_bytes([*d0, *d1]),
        next: u32::from_be_bytes([*n0, *n1, *n2, *n3]).wrapping_add(length),
        acknowledged: u32::from_be_bytes([*a0, *a1, *a2, *a3]),
    };
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

/// A forgery that fits exactly where the connection is.
fn exact(flags: u8, window: u16) -> Forgery {
    Forgery {
        v6: false,
        from_other_port: false,
        flags,
        sequence: 0,
        acknowledges: 0,
        window,
        options: vec![],
        payload: 0,
        wait: 0,
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
