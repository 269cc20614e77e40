//! How connections end, and what is left of what was under way.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rdmalab_device::{
    Attributes, CompletionStatus, Connection, ConnectionParameters, IwarpSettings, ModifyError, Operation,
    RemoteAddress, State, Transport,
};
use rdmalab_iwarp::{Asked, Profile, Responder, Terms};

use crate::side::{LENGTH, PATIENCE, Side, connect, connect_with, pattern};

#[track_caller]
fn wait_until_over(connection: &Connection) {
    let begun = Instant::now();
    while !connection.is_over().unwrap() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not over");
        std::thread::yield_now();
    }
    assert_eq!(connection.queue_pair.state(), Some(State::Err));
}

fn kernel() -> [Side; 2] {
    Side::over_kernel([IwarpSettings::default(), IwarpSettings::default()], Transport::Iwarp)
}

#[test]
fn what_was_posted_before_disconnecting_arrives_and_receives_that_are_left_are_flushed() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        let [ours, theirs] = connect_with(&a, &b, &ConnectionParameters::default(), |queue_pair| {
            b.receive(queue_pair, 1, 0, LENGTH);
            b.receive(queue_pair, 2, 0, LENGTH);
        });
        a.memory.write(0, &pattern(LENGTH, 3)).unwrap();
        a.receive(&ours.queue_pair, 10, 0, 100);
        a.post(&ours.queue_pair, 11, Operation::Send, 0, LENGTH);
        ours.disconnect().unwrap();
        wait_until_over(&ours);
        wait_until_over(&theirs);
        let seen: Vec<_> = (0..2).map(|_| a.completion()).map(|seen| (seen.id, seen.status)).collect();
        let expected = [(11, CompletionStatus::Success), (10, CompletionStatus::WorkRequestFlushed)];
        assert_eq!(seen, expected, "{name}");
        let seen: Vec<_> = (0..2).map(|_| b.completion()).map(|seen| (seen.id, seen.status)).collect();
        let expected = [(1, CompletionStatus::Success), (2, CompletionStatus::WorkRequestFlushed)];
        assert_eq!(seen, expected, "{name}");
        assert!(b.bytes(0, LENGTH) == pattern(LENGTH, 3), "{name}");
    }
}

#[test]
fn either_side_or_both_at_once_may_disconnect() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        for who in [[true, false], [false, true], [true, true]] {
            let connections = connect(&a, &b);
            for (connection, disconnects) in connections.iter().zip(who) {
                if disconnects {
                    connection.disconnect().unwrap();
                }
            }
            connections.iter().for_each(wait_until_over);
            // Who is late is told nothing new.
            connections.iter().for_each(|connection| connection.disconnect().unwrap());
        }
        // Nothing is left that would keep later ones out.
        for _ in 0..70 {
            let [ours, _theirs] = connect(&a, &b);
            ours.disconnect().unwrap();
            wait_until_over(&ours);
        }
        assert_eq!(a.device.iwarp_counters().sent_terminates, 0, "{name}");
    }
}

#[test]
fn what_has_completed_arrives_though_queue_pair_and_device_are_gone_at_once() {
    let [a, b] = kernel();
    let [ours, theirs] = connect_with(&a, &b, &ConnectionParameters::default(), |queue_pair| {
        b.receive(queue_pair, 1, 0, LENGTH);
    });
    a.post(&ours.queue_pair, 2, Operation::Send, 0, LENGTH);
    a.success();
    drop(ours);
    drop(a);
    assert_eq!(b.success().length as usize, LENGTH);
    wait_until_over(&theirs);
}

#[test]
fn moving_a_queue_pair_to_err_ends_the_connection_for_both() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        let [ours, theirs] = connect(&a, &b);
        let to = |state| Attributes { state: Some(state), ..Attributes::default() };
        let refused = ours.queue_pair.modify(&to(State::Sqd)).unwrap_err();
        assert_eq!(refused, ModifyError::NoSuchTransition { from: State::Rts, to: State::Sqd });
        assert!(ours.queue_pair.modify(&Attributes { timeout: Some(14), ..Attributes::default() }).is_err());
        b.receive(&theirs.queue_pair, 1, 0, 100);
        ours.queue_pair.modify(&to(State::Err)).unwrap();
        wait_until_over(&ours);
        wait_until_over(&theirs);
        assert_eq!(b.completion().status, CompletionStatus::WorkRequestFlushed, "{name}");
    }
}

#[test]
fn a_wrong_key_fails_the_request_and_ends_the_connection_and_no_other() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        let ([ours, theirs], others) = (connect(&a, &b), connect(&a, &b));
        let right = b.memory.remote(0);
        let beyond = RemoteAddress { address: right.address + LENGTH as u64, ..right };
        a.post(&ours.queue_pair, 1, Operation::RdmaRead(beyond), 0, 8);
        let failed = a.completion();
        assert_eq!((failed.id, failed.status), (1, CompletionStatus::RemoteAccessError), "{name}");
        wait_until_over(&ours);
        wait_until_over(&theirs);
        assert_eq!(b.device.iwarp_counters().sent_terminates, 1);
        assert_eq!(a.device.iwarp_counters().received_terminates, 1);
        assert!(b.device.wait_event(PATIENCE).unwrap().is_some(), "{name}: the verbs tell of it");
        a.post(&others[0].queue_pair, 2, Operation::RdmaRead(right), 0, 8);
        assert_eq!(a.success().id, 2, "{name}");
    }
}

/// A peer made by hand, which has accepted a call and then does what a test wants.
fn by_hand(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().unwrap();
    let mut responder = Responder::new(&Profile::SPEC);
    let mut buffer = [0; 600];
    loop {
        let count = stream.read(&mut buffer).unwrap();
        assert_ne!(count, 0);
        if responder.handle_bytes(&buffer[..count]).unwrap() == Some(Asked::Requested) {
            break;
        }
    }
    let terms = Terms { crc: false, ..Terms::of(&Profile::SPEC, 8, 8) };
    responder.accept(&terms, b"").unwrap().unwrap();
    stream.write_all(responder.reply()).unwrap();
    stream
}

/// A device of ours, connected with a peer made by hand.
fn with_peer_by_hand() -> (Side, Connection, TcpStream) {
    let [a, b] = kernel();
    let address = b.address;
    drop(b);
    let listener = TcpListener::bind(SocketAddr::new(address, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let (connection, stream) = std::thread::scope(|scope| {
        let peer = scope.spawn(|| by_hand(&listener));
        let parameters = ConnectionParameters::default();
        let connection =
            a.device.call(at, &a.domain, &a.options(), &parameters, |_| Ok(()), PATIENCE).unwrap();
        (connection, peer.join().unwrap())
    });
    (a, connection, stream)
}

#[test]
fn a_peer_that_is_killed_in_mid_transfer_flushes_what_is_under_way() {
    let (a, connection, peer) = with_peer_by_hand();
    let remote = a.memory.remote(0);
    for id in 0..40 {
        a.post(&connection.queue_pair, id, Operation::RdmaWrite(remote), 0, LENGTH);
    }
    // The ready-to-receive message and whatever else has arrived is not read: that resets the connection.
    assert_eq!((&peer).read(&mut [0; 1]).unwrap(), 1);
    drop(peer);
    let mut flushed = 0;
    for id in 0..40 {
        let completion = a.completion();
        assert_eq!(completion.id, id);
        flushed += u64::from(completion.status != CompletionStatus::Success);
    }
    assert!(flushed > 0, "TCP cannot have taken 40 megabytes");
    wait_until_over(&connection);
}

#[test]
fn a_peer_that_does_not_read_holds_back_its_own_work_queue_and_nobody_elses() {
    let (a, connection, mut peer) = with_peer_by_hand();
    const REQUESTS: u64 = 60;
    let remote = a.memory.remote(0);
    for id in 0..REQUESTS {
        a.post(&connection.queue_pair, id, Operation::RdmaWrite(remote), 0, LENGTH);
    }
    let mut done = 0;
    while let Some(completion) = a.completions.wait(Some(Duration::from_millis(300))).unwrap() {
        assert_eq!((completion.id, completion.status), (done, CompletionStatus::Success));
        done += 1;
    }
    assert!(done < REQUESTS / 2, "{done} megabytes found room with a peer that does not read");
    let held_back = a.device.iwarp_counters().sent_bytes;
    // Meanwhile others go on, on the same device.
    let [b, _] = kernel();
    let [ours, _theirs] = connect(&a, &b);
    a.post(&ours.queue_pair, 1000, Operation::RdmaRead(b.memory.remote(0)), 0, LENGTH);
    assert_eq!(a.success().id, 1000);
    assert!(a.device.iwarp_counters().sent_bytes - held_back < 4096, "the one is still held back");
    // All of it comes, once it is read.
    let reader = std::thread::spawn(move || {
        let (mut total, mut buffer) = (0, vec![0; 1 << 20]);
        while let Ok(count @ 1..) = peer.read(&mut buffer) {
            total += count;
        }
        total
    });
    for id in done..REQUESTS {
        assert_eq!(a.success().id, id);
    }
    connection.disconnect().unwrap();
    assert!(reader.join().unwrap() > REQUESTS as usize * LENGTH);
    wait_until_over(&connection);
}
