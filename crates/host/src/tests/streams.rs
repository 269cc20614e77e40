//! TCP between two hosts.

use core::net::IpAddr;

use super::link::*;
use crate::{
    CloseReason, ConnectError, Handled, ListenError, Read, STREAMS_MAX, StreamError, StreamId, StreamState,
};

const PORT: u16 = 18515;

fn open(link: &mut Link, address: IpAddr) -> (StreamId, StreamId) {
    let listener = link.b.listen(PORT).unwrap();
    let client = link.a.connect((address, PORT).into()).unwrap();
    let mut server = None;
    let deadline = link.now + 30 * SECOND;
    link.run(deadline, |link| {
        server = server.or_else(|| link.b.accept(listener));
        server.is_some() && link.a.stream_state(client) == Some(StreamState::Open)
    });
    link.b.close_listener(listener);
    (client, server.expect("accepted"))
}

fn pattern(length: usize, salt: u8) -> Vec<u8> {
    (0..length).map(|n| (n / 251) as u8 ^ n as u8 ^ salt).collect()
}

/// Sends all of `data` both ways, each side finishing when it has written all, and returns what arrived.
fn transfer(link: &mut Link, client: StreamId, server: StreamId, data: [&[u8]; 2]) -> [Vec<u8>; 2] {
    let mut written = [0, 0];
    let mut arrived = [Vec::new(), Vec::new()];
    let mut ended = [false, false];
    let deadline = link.now + 1000 * SECOND;
    let done = link.run(deadline, |link| {
        for (side, host, id) in [(0, &mut link.a, client), (1, &mut link.b, server)] {
            if written[side] < data[side].len() {
                written[side] += host.write(id, &data[side][written[side]..]).unwrap();
                if written[side] == data[side].len() {
                    host.shut_down(id).unwrap();
                }
            }
            let mut into = [0; 3000];
            loop {
                match host.read(id, &mut into).unwrap() {
                    Read::Bytes(length) => arrived[side].extend_from_slice(&into[..length]),
                    Read::Nothing => break,
                    Read::End => {
                        ended[side] = true;
                        break;
                    }
                }
            }
        }
        ended == [true, true]
    });
    assert!(done, "did not finish; arrived {:?}", arrived.map(|side| side.len()));
    arrived
}

#[test]
fn a_megabyte_goes_both_ways_and_the_connection_finishes() {
    for address in [B4, B6] {
        let mut link = Link::new();
        let (client, server) = open(&mut link, address);
        let (to_b, to_a) = (pattern(1 << 20, 1), pattern(1 << 20, 2));
        let arrived = transfer(&mut link, client, server, [&to_b, &to_a]);
        assert!(arrived == [to_a, to_b], "the bytes that were written");
        link.pass(SECOND);
        assert_eq!(link.a.stream_state(client), Some(StreamState::Closed(CloseReason::Finished)));
        assert_eq!(link.b.stream_state(server), Some(StreamState::Closed(CloseReason::Finished)));
        assert!(link.sent.iter().all(|frame| frame.len() <= 1514));
        link.a.close(client).unwrap();
        link.b.close(server).unwrap();
        link.pass(20 * SECOND);
        assert_eq!((link.a.next_timeout(link.now), link.b.next_timeout(link.now)), (None, None));
        assert_eq!(link.a.read(client, &mut [0; 1]), Err(StreamError::Unknown));
    }
}

#[test]
fn a_megabyte_goes_both_ways_though_every_25th_frame_is_lost() {
    for address in [B4, B6] {
        let mut link = Link::new();
        let mut state = 1_u32;
        link.loss = Box::new(move |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16).is_multiple_of(25)
        });
        let (client, server) = open(&mut link, address);
        let (to_b, to_a) = (pattern(1 << 20, 3), pattern(1 << 20, 4));
        let arrived = transfer(&mut link, client, server, [&to_b, &to_a]);
        assert!(arrived == [to_a, to_b], "the bytes that were written");
        assert!(link.lost > 20, "only {} frames were lost", link.lost);
    }
}

#[test]
fn every_frame_of_a_short_connection_may_be_lost_once() {
    // Three frames of ARP and the handshake, two of data, the finish: fewer than 20 in all.
    for lost in 0..20 {
        let mut link = Link::new();
        link.loss = Box::new(move |number, _| number == lost);
        let (client, server) = open(&mut link, B4);
        let arrived = transfer(&mut link, client, server, [b"ping", b"pong"]);
        assert_eq!(arrived, [b"pong".to_vec(), b"ping".to_vec()], "frame {lost} lost");
        link.pass(5 * SECOND);
        for state in [link.a.stream_state(client), link.b.stream_state(server)] {
            assert_eq!(state, Some(StreamState::Closed(CloseReason::Finished)), "frame {lost} lost");
        }
    }
}

#[test]
fn jumbo_frames_fill_the_mtu() {
    let [a, b] = [(MAC_A, A4, A6), (MAC_B, B4, B6)].map(|(mac, v4, v6)| {
        crate::Host::new(&crate::HostConfig { mtu: 4200, ..config(mac, v4, v6) }).unwrap()
    });
    let mut link = Link::between(a, b);
    let (client, server) = open(&mut link, B4);
    transfer(&mut link, client, server, [&pattern(100_000, 0), b"x"]);
    assert_eq!(link.sent.iter().map(Vec::len).max(), Some(4214));
}

#[test]
fn nobody_listening_is_a_refusal() {
    let mut link = Link::new();
    let client = link.a.connect((B4, PORT).into()).unwrap();
    assert_eq!(link.a.stream_state(client), Some(StreamState::Connecting));
    assert_eq!(link.a.write(client, b"too early"), Ok(0));
    link.pass(SECOND);
    assert_eq!(link.a.stream_state(client), Some(StreamState::Closed(CloseReason::Refused)));
    assert_eq!(link.a.read(client, &mut [0; 9]), Err(StreamError::Closed(CloseReason::Refused)));
    assert_eq!(link.a.write(client, b"x"), Err(StreamError::Closed(CloseReason::Refused)));
}

#[test]
fn a_silent_neighbour_and_a_silent_peer_end_a_connection_attempt() {
    let mut link = Link::new();
    let client = link.a.connect(("10.0.0.9".parse::<IpAddr>().unwrap(), PORT).into()).unwrap();
    link.pass(4 * SECOND);
    assert_eq!(link.a.stream_state(client), Some(StreamState::Closed(CloseReason::Unreachable)));

    let mut link = Link::new();
    link.loss = Box::new(|_, frame| frame[12..14] == [0x08, 0x00]);
    let client = link.a.connect((B4, PORT).into()).unwrap();
    link.pass(60 * SECOND);
    assert_eq!(link.a.stream_state(client), Some(StreamState::Closed(CloseReason::TimedOut)));
}

#[test]
fn connections_that_cannot_even_be_tried_say_why() {
    let mut a = host_a();
    assert_eq!(a.connect((B4, 0).into()), Err(ConnectError::NoPort));
    assert_eq!(a.connect((A4, 1).into()), Err(ConnectError::OwnAddress));
    let far = "2001:db8::1".parse().unwrap();
    assert_eq!(a.connect((far, 1).into()), Err(ConnectError::NoRoute(far)));
    let group: IpAddr = "224.0.0.1".parse().unwrap();
    assert_eq!(a.connect((group, 1).into()), Err(ConnectError::NoRoute(group)));
    assert_eq!(a.listen(0), Err(ListenError::NoPort));
    a.listen(5).unwrap();
    assert_eq!(a.listen(5), Err(ListenError::PortTaken(5)));
}

/// As many connections from A to B as there can be; what B accepted.
fn all_connections(link: &mut Link) -> Vec<StreamId> {
    let listener = link.b.listen(PORT).unwrap();
    let mut accepted = Vec::new();
    for count in 1..=STREAMS_MAX {
        link.a.connect((B4, PORT).into()).unwrap();
        let deadline = link.now + SECOND;
        link.run(deadline, |link| {
            accepted.extend(link.b.accept(listener));
            accepted.len() == count
        });
    }
    assert_eq!(accepted.len(), STREAMS_MAX);
    accepted
}

/// Another host in the place of A, which is heard no more.
fn replace_a(link: &mut Link) {
    let mut config =
        config(rdmalab_wire::EthernetAddress([2, 0, 0, 0, 0, 0xc]), "10.0.0.3".parse().unwrap(), A6);
    config.seed = 8;
    link.a = crate::Host::new(&config).unwrap();
}

#[test]
fn the_65th_connection_is_refused_on_both_sides() {
    let mut link = Link::new();
    let accepted = all_connections(&mut link);
    assert_eq!(link.a.connect((B4, PORT).into()), Err(ConnectError::TooMany));

    replace_a(&mut link);
    let refused = link.a.connect((B4, PORT).into()).unwrap();
    link.pass(SECOND);
    assert_eq!(link.a.stream_state(refused), Some(StreamState::Closed(CloseReason::Refused)));

    // One less, and there is room again.
    link.b.abort(accepted[0]).unwrap();
    link.pass(SECOND);
    let welcome = link.a.connect((B4, PORT).into()).unwrap();
    link.pass(SECOND);
    assert_eq!(link.a.stream_state(welcome), Some(StreamState::Open));
}

#[test]
fn connections_that_only_their_peer_keeps_open_make_room_for_others() {
    let mut link = Link::new();
    for stream in all_connections(&mut link) {
        link.b.close(stream).unwrap();
    }
    link.pass(SECOND);
    replace_a(&mut link);
    let welcome = link.a.connect((B4, PORT).into()).unwrap();
    link.pass(SECOND);
    assert_eq!(link.a.stream_state(welcome), Some(StreamState::Open));
}

#[test]
fn connections_that_nobody_accepts_do_not_pile_up() {
    let mut link = Link::new();
    link.b.listen(PORT).unwrap();
    let clients: Vec<_> = (0..60).map(|_| link.a.connect((B4, PORT).into()).unwrap()).collect();
    link.pass(SECOND);
    let open = clients.iter().filter(|id| link.a.stream_state(**id) == Some(StreamState::Open)).count();
    assert_eq!(open, 48);
}

#[test]
fn a_connection_for_which_too_many_wait_has_its_turn_when_one_is_accepted() {
    let mut link = Link::new();
    let listener = link.b.listen(PORT).unwrap();
    let connect = |link: &mut Link| {
        let client = link.a.connect((B4, PORT).into()).unwrap();
        link.pass(SECOND / 10);
        (client, link.a.stream_state(client).unwrap())
    };
    for _ in 0..48 {
        assert_eq!(connect(&mut link).1, StreamState::Open);
    }
    let (late, state) = connect(&mut link);
    assert_eq!(state, StreamState::Connecting);
    link.b.accept(listener).unwrap();
    link.pass(10 * SECOND);
    assert_eq!(link.a.stream_state(late), Some(StreamState::Open));
}

#[test]
fn a_thousand_connections_one_after_the_other_find_room_in_spite_of_time_wait() {
    let mut link = Link::new();
    let listener = link.b.listen(PORT).unwrap();
    for round in 0..1000 {
        let client = link.a.connect((B4, PORT).into()).unwrap();
        let mut server = None;
        let deadline = link.now + SECOND;
        let done = link.run(deadline, |link| {
            server = server.or_else(|| link.b.accept(listener));
            server.is_some()
        });
        assert!(done, "round {round}: {:?}", link.a.stream_state(client));
        link.a.close(client).unwrap();
        link.b.close(server.unwrap()).unwrap();
        link.pass(MILLISECOND);
        link.sent.clear();
    }
}

#[test]
fn a_flood_of_syns_from_nowhere_leaves_room_for_a_real_connection() {
    let mut link = Link::new();
    let listener = link.b.listen(PORT).unwrap();
    introduce(&mut link.b, 0, &mut link.a);
    for port in 1..2000_u16 {
        let mut tcp = vec![0; 20];
        tcp[..2].copy_from_slice(&port.to_be_bytes());
        tcp[2..4].copy_from_slice(&PORT.to_be_bytes());
        (tcp[12], tcp[13], tcp[14]) = (0x50, 0x02, 0xff);
        let (IpAddr::V4(from), IpAddr::V4(to)) = (A4, B4) else { unreachable!() };
        smoltcp::wire::TcpPacket::new_unchecked(&mut tcp).fill_checksum(&from.into(), &to.into());
        link.b.handle_frame(0, &ethernet(MAC_B, MAC_A, 0x0800, &ip_packet(A4, B4, 6, &tcp)));
    }
    assert!(link.b.counters().received_ip >= 1999);
    frames(&mut link.b, 0);
    let client = link.a.connect((B4, PORT).into()).unwrap();
    let mut server = None;
    link.run(5 * SECOND, |link| {
        server = server.or_else(|| link.b.accept(listener));
        server.is_some()
    });
    assert_eq!(link.a.stream_state(client), Some(StreamState::Open));
}

#[test]
fn a_reset_and_a_vanished_peer_are_told_apart() {
    let mut link = Link::new();
    let (client, server) = open(&mut link, B4);
    link.b.write(server, b"last words").unwrap();
    link.pass(SECOND);
    link.b.abort(server).unwrap();
    link.pass(SECOND);
    assert_eq!(link.a.stream_state(client), Some(StreamState::Closed(CloseReason::Reset)));
    let mut into = [0; 20];
    assert_eq!(link.a.read(client, &mut into), Ok(Read::Bytes(10)), "what came before the reset");
    assert_eq!(link.a.read(client, &mut into), Err(StreamError::Closed(CloseReason::Reset)));

    let mut link = Link::new();
    let (client, _) = open(&mut link, B4);
    link.pass(300 * SECOND);
    assert_eq!(link.a.stream_state(client), Some(StreamState::Open), "idle is not dead");
    link.loss = Box::new(|_, _| true);
    link.pass(60 * SECOND);
    assert_eq!(link.a.stream_state(client), Some(StreamState::Closed(CloseReason::TimedOut)));
}

#[test]
fn what_was_written_before_close_arrives() {
    let mut link = Link::new();
    let (client, server) = open(&mut link, B4);
    let data = pattern(50_000, 9);
    assert_eq!(link.a.write(client, &data), Ok(data.len()));
    assert_eq!(link.a.unfinished_streams(), 0, "it is not closed");
    link.a.close(client).unwrap();
    assert_eq!(link.a.stream_state(client), None);
    assert_eq!(link.a.unfinished_streams(), 1);
    let mut arrived = Vec::new();
    let done = link.run(30 * SECOND, |link| {
        let mut into = [0; 4096];
        loop {
            match link.b.read(server, &mut into).unwrap() {
                Read::Bytes(length) => arrived.extend_from_slice(&into[..length]),
                Read::Nothing => return false,
                Read::End => return true,
            }
        }
    });
    assert!(done && arrived == data);
    assert_eq!(link.b.stream_state(server), Some(StreamState::PeerFinished));
    assert!(link.run(link.now + SECOND, |link| link.a.unfinished_streams() == 0));
}

#[test]
fn who_has_closed_confirms_the_peers_end_without_delay() {
    let mut link = Link::new();
    let (client, server) = open(&mut link, B4);
    link.a.close(client).unwrap();
    assert!(link.run(link.now + SECOND, |link| link.a.unfinished_streams() == 0));
    assert_eq!(link.a.half_closed_streams(), 1);
    link.b.close(server).unwrap();
    let start = link.now;
    assert!(link.run(start + SECOND, |link| link.b.unfinished_streams() == 0));
    assert!(link.now - start < MILLISECOND, "{} ns", link.now - start);
    assert_eq!(link.a.half_closed_streams(), 0);
}

#[test]
fn a_closed_stream_of_a_peer_that_never_finishes_is_reset_after_a_minute() {
    let mut link = Link::new();
    let (client, server) = open(&mut link, B4);
    link.a.close(client).unwrap();
    link.pass(50 * SECOND);
    assert_eq!(link.b.write(server, &[1; 300_000]), Ok(262_144), "taken and thrown away");
    link.pass(5 * SECOND);
    assert_eq!(link.b.writable(server), 262_144);
    assert_eq!(link.b.stream_state(server), Some(StreamState::PeerFinished));
    link.pass(10 * SECOND);
    assert_eq!(link.b.stream_state(server), Some(StreamState::Closed(CloseReason::Reset)));
}

#[test]
fn data_left_unread_survives_time_wait() {
    let mut link = Link::new();
    let (client, server) = open(&mut link, B4);
    link.a.shut_down(client).unwrap();
    assert_eq!(link.a.write(client, b"x"), Err(StreamError::ShutDown));
    link.b.write(server, b"good bye").unwrap();
    link.b.shut_down(server).unwrap();
    link.pass(100 * SECOND);
    assert_eq!(link.a.readable(client), 8);
    let mut into = [0; 5];
    assert_eq!(link.a.read(client, &mut into), Ok(Read::Bytes(5)));
    assert_eq!(link.a.read(client, &mut into), Ok(Read::Bytes(3)));
    assert_eq!(link.a.read(client, &mut into), Ok(Read::End));
}

#[test]
fn both_ends_are_known_while_the_connection_lasts() {
    let mut link = Link::new();
    let (client, server) = open(&mut link, B6);
    let (own, peer) = link.a.stream_ends(client).unwrap();
    assert_eq!((own.ip(), peer), (A6, (B6, PORT).into()));
    assert!(own.port() >= 49152);
    assert_eq!(link.b.stream_ends(server), Some((peer, own)));
}

#[test]
fn tcp_in_a_broadcast_frame_is_not_looked_at() {
    let mut b = host_b();
    b.listen(PORT).unwrap();
    let frame =
        ethernet(rdmalab_wire::EthernetAddress::BROADCAST, MAC_A, 0x0800, &ip_packet(A4, B4, 6, &[0; 20]));
    assert_eq!(b.handle_frame(0, &frame), Handled::Dropped(crate::DropReason::OtherStation));
}
