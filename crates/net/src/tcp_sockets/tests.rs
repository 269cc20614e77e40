//! Sockets of loopback addresses.

use std::net::Ipv4Addr;
use std::time::Instant;

use super::*;
use crate::{Interest, Poller};

const LISTENER: u64 = 1;
const CALLER: u64 = 2;
const CALLED: u64 = 3;

/// Waits, as an engine does, until there is an event.
#[track_caller]
fn event(sockets: &mut TcpSockets) -> TcpEvent {
    let mut poller = Poller::new().unwrap();
    let begun = Instant::now();
    loop {
        if let Some(event) = sockets.next_event() {
            return event;
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "nothing happens");
        poller.wait(sockets, Interest::Read, Some(Duration::from_secs(10))).unwrap();
        sockets.poll().unwrap();
    }
}

/// Nothing is left to be told.
#[track_caller]
fn quiet(sockets: &mut TcpSockets) {
    sockets.poll().unwrap();
    while let Some(event) = sockets.next_event() {
        match event {
            TcpEvent::Readable(key) => assert_eq!(sockets.read(key, &mut [0; 16]).unwrap(), TcpRead::Nothing),
            other => panic!("{other:?}"),
        }
    }
    let ready = Poller::new().unwrap().wait(sockets, Interest::Read, Some(Duration::ZERO)).unwrap();
    assert!(!ready.readable, "an engine that waits for the set would not sleep");
}

/// Waits until the caller is connected and somebody waits to be accepted.
#[track_caller]
fn accepted(sockets: &mut TcpSockets) -> AcceptedTcp {
    let (mut stands, mut waits) = (false, false);
    while !(stands && waits) {
        match event(sockets) {
            TcpEvent::Connected(CALLER) => stands = true,
            TcpEvent::Acceptable(LISTENER) => waits = true,
            other => panic!("{other:?}"),
        }
    }
    sockets.accept(LISTENER).unwrap().unwrap()
}

/// A connection between two sockets of one set.
fn pair() -> TcpSockets {
    let mut sockets = TcpSockets::new(3).unwrap();
    let source = IpAddr::from([127, 91, 1, 2]);
    let at = sockets.listen(LISTENER, SocketAddr::from(([127, 91, 1, 1], 0))).unwrap();
    sockets.connect(CALLER, source, at).unwrap();
    let accepted = accepted(&mut sockets);
    assert_eq!((accepted.local, accepted.peer.ip()), (at, source));
    sockets.adopt(CALLED, accepted).unwrap();
    assert!(sockets.accept(LISTENER).unwrap().is_none());
    assert_eq!(sockets.ends(CALLER), sockets.ends(CALLED).map(|(local, peer)| (peer, local)));
    quiet(&mut sockets);
    sockets
}

/// All that comes until the end.
fn read_all(sockets: &mut TcpSockets, key: u64) -> io::Result<Vec<u8>> {
    let (mut all, mut buffer) = (Vec::new(), [0; 1000]);
    loop {
        match event(sockets) {
            TcpEvent::Readable(of) if of == key => {}
            other => panic!("{other:?}"),
        }
        match sockets.read(key, &mut buffer)? {
            TcpRead::Bytes(count) => all.extend_from_slice(&buffer[..count]),
            TcpRead::Nothing => {}
            TcpRead::End => return Ok(all),
        }
    }
}

#[test]
fn what_is_written_is_read_and_the_end_comes_behind_it() {
    let mut sockets = pair();
    let data: Vec<u8> = (0..10_000u32).map(|n| (n % 251) as u8).collect();
    assert_eq!(sockets.write(CALLER, &data).unwrap(), data.len());
    sockets.shut_down(CALLER);
    assert_eq!(read_all(&mut sockets, CALLED).unwrap(), data);
    quiet(&mut sockets);
    // The other direction still works.
    assert_eq!(sockets.write(CALLED, b"bye").unwrap(), 3);
    sockets.close(CALLED);
    assert_eq!(read_all(&mut sockets, CALLER).unwrap(), b"bye");
    quiet(&mut sockets);
}

#[test]
fn a_reader_that_does_not_read_holds_the_writer_back_until_it_does() {
    let mut sockets = pair();
    let data = vec![7; 1 << 20];
    let mut written = 0;
    // What both kernel's buffers take is some megabytes.
    loop {
        let count = sockets.write(CALLER, &data).unwrap();
        written += count;
        assert!(written < 64 << 20, "TCP takes everything");
        if count < data.len() {
            break;
        }
    }
    let (mut buffer, mut read) = (vec![0; 1 << 16], 0);
    loop {
        match event(&mut sockets) {
            TcpEvent::Readable(CALLED) => match sockets.read(CALLED, &mut buffer).unwrap() {
                TcpRead::Bytes(count) => read += count,
                other => assert_eq!(other, TcpRead::Nothing),
            },
            TcpEvent::Writable(CALLER) => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(read > 0, "it was writable before anything was read");
    assert!(sockets.write(CALLER, b"more").unwrap() == 4);
    sockets.shut_down(CALLER);
    assert_eq!(read + read_all(&mut sockets, CALLED).unwrap().len(), written + 4);
}

#[test]
fn a_reset_is_an_error_for_the_peer_and_told_once() {
    let mut sockets = pair();
    assert_eq!(sockets.write(CALLER, b"lost, maybe").unwrap(), 11);
    sockets.reset(CALLER);
    let error = read_all(&mut sockets, CALLED).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    quiet(&mut sockets);
    assert!(sockets.write(CALLED, b"x").is_err());
}

#[test]
fn nobody_to_connect_to_is_told_and_the_key_is_free_again() {
    let mut sockets = TcpSockets::new(2).unwrap();
    let own = IpAddr::from([127, 91, 1, 3]);
    let at = sockets.listen(LISTENER, SocketAddr::new(own, 0)).unwrap();
    sockets.close(LISTENER);
    // Linux tells at once or later.
    if sockets.connect(CALLER, own, at).is_ok() {
        match event(&mut sockets) {
            TcpEvent::Failed(CALLER, error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused),
            other => panic!("{other:?}"),
        }
    }
    assert!(sockets.is_empty());
    quiet(&mut sockets);
}

#[test]
fn a_set_that_is_full_takes_no_more() {
    let mut sockets = TcpSockets::new(2).unwrap();
    let at = sockets.listen(LISTENER, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let taken = sockets.listen(CALLED, at).unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    sockets.connect(CALLER, Ipv4Addr::LOCALHOST.into(), at).unwrap();
    let full = sockets.connect(CALLED, Ipv4Addr::LOCALHOST.into(), at).unwrap_err();
    assert!(full.to_string().contains("2 TCP sockets"), "{full}");
    let accepted = accepted(&mut sockets);
    assert!(sockets.adopt(CALLED, accepted).is_err());
    assert_eq!(sockets.len(), 2);
    // Whom the set did not take is told by the end.
    assert_eq!(read_all(&mut sockets, CALLER).unwrap(), b"");
}

#[test]
fn who_is_refused_is_reset() {
    let mut sockets = TcpSockets::new(2).unwrap();
    let at = sockets.listen(LISTENER, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    sockets.connect(CALLER, Ipv4Addr::LOCALHOST.into(), at).unwrap();
    accepted(&mut sockets).refuse();
    assert!(read_all(&mut sockets, CALLER).is_err());
}

#[test]
fn segments_over_loopback_are_large_and_ipv6_works_as_well() {
    assert!(pair().max_segment(CALLER).unwrap() > 32_000);
    let mut sockets = TcpSockets::new(3).unwrap();
    let own: IpAddr = std::net::Ipv6Addr::LOCALHOST.into();
    let Ok(at) = sockets.listen(LISTENER, SocketAddr::new(own, 0)) else { return };
    sockets.connect(CALLER, own, at).unwrap();
    while !matches!(event(&mut sockets), TcpEvent::Connected(CALLER)) {}
    assert!(sockets.max_segment(CALLER).unwrap() > 32_000);
}
