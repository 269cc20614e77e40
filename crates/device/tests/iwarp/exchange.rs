//! What moves once a connection stands.

use rdmalab_device::{
    CompletionKind, ConnectionParameters, Device, DeviceError, IwarpProfile, IwarpSettings, NetError,
    Operation, SendFlags, SendRequest, State, Transport,
};

use crate::side::{LENGTH, Side, config, connect, connect_with, pattern};

/// A WRITE there, a READ back and a SEND of a megabyte each, and an atomic.
#[track_caller]
fn all_arrives(name: &str, [a, b]: &[Side; 2], has_atomics: bool) {
    let [ours, theirs] = connect(a, b);
    assert_eq!(ours.queue_pair.state(), Some(State::Rts), "{name}");
    let data = pattern(LENGTH, 1);
    a.memory.write(0, &data).unwrap();
    a.post(&ours.queue_pair, 1, Operation::RdmaWrite(b.memory.remote(0)), 0, LENGTH);
    assert_eq!((a.success().id, name), (1, name));
    // A READ goes behind the WRITE, and shows that it is there.
    a.memory.write(0, &vec![0; LENGTH]).unwrap();
    a.post(&ours.queue_pair, 2, Operation::RdmaRead(b.memory.remote(0)), 0, LENGTH);
    let completion = a.success();
    assert_eq!((completion.id, completion.length as usize), (2, LENGTH));
    assert!(a.bytes(0, LENGTH) == data && b.bytes(0, LENGTH) == data, "{name}");
    let answer = pattern(LENGTH, 2);
    b.memory.write(0, &answer).unwrap();
    a.receive(&ours.queue_pair, 3, 0, LENGTH);
    b.post(&theirs.queue_pair, 4, Operation::Send, 0, LENGTH);
    assert_eq!(b.success().id, 4);
    let received = a.success();
    assert_eq!((received.id, received.kind, received.length as usize), (3, CompletionKind::Receive, LENGTH));
    assert!(a.bytes(0, LENGTH) == answer, "{name}");
    if has_atomics {
        b.memory.write(0, &40_u64.to_ne_bytes()).unwrap();
        let add = Operation::FetchAndAdd { remote: b.memory.remote(0), add: 2 };
        a.post(&ours.queue_pair, 5, add, 0, 8);
        assert_eq!(a.success().id, 5);
        assert_eq!(
            (a.bytes(0, 8), b.bytes(0, 8)),
            (40_u64.to_ne_bytes().to_vec(), 42_u64.to_ne_bytes().to_vec())
        );
    }
}

#[test]
fn a_megabyte_goes_by_each_operation_over_every_carrier() {
    for (name, sides) in Side::pairs(&IwarpSettings::default()) {
        all_arrives(name, &sides, true);
        let counters = sides[0].device.iwarp_counters();
        assert!(counters.sent_fpdus > 16 && counters.sent_bytes > LENGTH as u64, "{name}: {counters:?}");
        assert_eq!((counters.sent_terminates, counters.wrong_crcs), (0, 0));
        assert_eq!(sides[0].device.counters().sent_pkts, 0, "nothing of it goes over RoCE");
    }
}

#[test]
fn crcs_off_and_markers_on_both_ways() {
    for (crc, markers) in [(false, false), (false, true), (true, true)] {
        let settings = IwarpSettings { crc: Some(crc), markers, ..IwarpSettings::default() };
        for (name, sides) in Side::pairs(&settings) {
            all_arrives(name, &sides, true);
        }
    }
}

#[test]
fn every_profile_speaks_with_itself_and_with_the_specification() {
    for profile in IwarpProfile::ALL {
        let other = IwarpSettings { profile: profile.clone(), ..IwarpSettings::default() };
        let same = [other.clone(), other.clone()];
        all_arrives(profile.name, &Side::over_kernel(same, Transport::Iwarp), profile.rfc7306);
        // Who calls is of the older revision.
        let mixed = [other, IwarpSettings::default()];
        all_arrives(profile.name, &Side::over_kernel(mixed, Transport::Iwarp), profile.rfc7306);
    }
}

/// What a program sees of some requests.
fn program(name: &str, [a, b]: &[Side; 2]) -> Vec<(bool, u64, CompletionKind, u32)> {
    let parameters =
        ConnectionParameters { responder_resources: 4, initiator_depth: 4, ..Default::default() };
    let [ours, theirs] = connect_with(a, b, &parameters, |queue_pair| {
        for id in 0..4 {
            b.receive(queue_pair, 100 + id, 4096 * id as usize, 4096);
        }
    });
    let queue_pair = &ours.queue_pair;
    a.post(queue_pair, 1, Operation::Send, 0, 100);
    a.post(queue_pair, 2, Operation::RdmaWrite(b.memory.remote(65_536)), 0, 5000);
    a.post(queue_pair, 3, Operation::RdmaRead(b.memory.remote(65_536)), 8192, 5000);
    a.post(queue_pair, 4, Operation::FetchAndAdd { remote: b.memory.remote(0x20000), add: 1 }, 0, 8);
    let elements = [a.memory.element(0, 70)];
    let flags = SendFlags::SIGNALED | SendFlags::FENCE | SendFlags::SOLICITED;
    let fenced = SendRequest {
        id: 5,
        operation: Operation::Send,
        elements: &elements,
        flags,
        ..SendRequest::default()
    };
    queue_pair.post_send(&fenced).unwrap();
    a.post(queue_pair, 6, Operation::Send, 0, 0);
    let mut seen: Vec<_> = (0..6).map(|_| (true, a.success())).collect();
    seen.extend((0..3).map(|_| (false, b.success())));
    assert!(b.completions.poll().is_none(), "{name}");
    drop(theirs);
    seen.into_iter().map(|(ours, seen)| (ours, seen.id, seen.kind, seen.length)).collect()
}

#[test]
fn a_program_sees_the_same_completions_over_both_transports() {
    let both = || [IwarpSettings::default(), IwarpSettings::default()];
    let over_roce = program("RoCE", &Side::over_kernel(both(), Transport::Roce));
    let over_iwarp = program("iWARP", &Side::over_kernel(both(), Transport::Iwarp));
    assert_eq!(over_iwarp, over_roce);
    assert_eq!(program("cable", &Side::over_cable(both(), Transport::Iwarp)), over_roce);
}

#[test]
fn sixty_connections_at_once_keep_their_data_apart() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        // An emulated host has room for 64 streams.
        let connections: Vec<_> = (0..60).map(|_| connect(&a, &b)).collect();
        for (number, [ours, _]) in connections.iter().enumerate() {
            a.memory.write(number * 4096, &pattern(4096, number as u32)).unwrap();
            let remote = b.memory.remote(number as u64 * 4096);
            a.post(&ours.queue_pair, number as u64, Operation::RdmaWrite(remote), number * 4096, 4096);
            a.post(&ours.queue_pair, 1000, Operation::RdmaRead(remote), 1 << 19, 1);
        }
        for _ in 0..120 {
            a.success();
        }
        for number in 0..60 {
            assert!(b.bytes(number * 4096, 4096) == pattern(4096, number as u32), "{name}: {number}");
        }
    }
}

#[test]
fn over_ipv6_a_device_calls_itself() {
    let address = std::net::IpAddr::from(std::net::Ipv6Addr::LOCALHOST);
    let config = || config(address, Transport::Iwarp, IwarpSettings::default());
    // Loopback has this address only, which another test may have.
    let device = (0..600).find_map(|_| match Device::open_udp(config()) {
        Ok(device) => Some(device),
        Err(DeviceError::Net(error)) if matches!(*error, NetError::PortInUse { .. }) => {
            std::thread::sleep(std::time::Duration::from_millis(100));
            None
        }
        Err(error) => panic!("{error}"),
    });
    let side = Side::new(device.expect("somebody has the address for a minute"), address);
    let [ours, theirs] = connect(&side, &side);
    let (local, peer) = ours.ends().unwrap();
    assert_eq!((theirs.ends().unwrap().1, theirs.ends().unwrap().0), (local, peer));
    let data = pattern(LENGTH / 2, 5);
    side.memory.write(0, &data).unwrap();
    let there = LENGTH as u64 / 2;
    side.post(&ours.queue_pair, 1, Operation::RdmaWrite(side.memory.remote(there)), 0, LENGTH / 2);
    side.post(&ours.queue_pair, 2, Operation::RdmaRead(side.memory.remote(there)), 0, 1);
    assert_eq!((side.success().id, side.success().id), (1, 2));
    assert!(side.bytes(LENGTH / 2, LENGTH / 2) == data);
}
