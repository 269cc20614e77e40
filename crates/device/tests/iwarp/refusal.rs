//! Calls that come to nothing, and what iWARP does not have.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{
    CmError, CmEventKind, ConnectionParameters, Device, DeviceConfig, DeviceError, IwarpProfile,
    IwarpSettings, PortSpace, QueuePairOptions, QueuePairType, RejReason, Transport,
};
use rdmalab_sim::{RuleSet, Seed};

use crate::side::{PATIENCE, Side, config, connect};

#[track_caller]
fn call(a: &Side, at: SocketAddr, private_data: &[u8]) -> DeviceError {
    let parameters = ConnectionParameters { private_data, ..ConnectionParameters::default() };
    let outcome = a.device.call(at, &a.domain, &a.options(), &parameters, |_| Ok(()), PATIENCE);
    outcome.err().expect("nobody accepts")
}

#[track_caller]
fn kind(error: DeviceError) -> CmEventKind {
    match error {
        DeviceError::NoConnection(kind) => *kind,
        other => panic!("{other}"),
    }
}

#[test]
fn where_nobody_listens_the_call_is_rejected_as_over_roce() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        let rejected = kind(call(&a, SocketAddr::new(b.address, 7999), b""));
        let reason = RejReason::INVALID_SERVICE_ID;
        assert_eq!(rejected, CmEventKind::Rejected { reason, private_data: Vec::new() }, "{name}");
    }
}

#[test]
fn a_word_goes_each_way_with_a_rejection() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        let listener = b.device.listen_for_calls(SocketAddr::new(b.address, 0), 4).unwrap();
        let at = listener.address().unwrap().unwrap();
        let rejected = std::thread::scope(|scope| {
            scope.spawn(|| {
                let call = listener.next(PATIENCE).unwrap().unwrap();
                assert_eq!(call.private_data, b"hello");
                assert_eq!(call.ends().unwrap().0, Some(at));
                call.reject(b"busy").unwrap();
            });
            kind(call(&a, at, b"hello"))
        });
        let reason = RejReason::CONSUMER_REJECT;
        assert_eq!(rejected, CmEventKind::Rejected { reason, private_data: b"busy".to_vec() }, "{name}");
        // One that is dropped refuses, too.
        let rejected = std::thread::scope(|scope| {
            scope.spawn(|| drop(listener.next(PATIENCE).unwrap().unwrap()));
            kind(call(&a, at, b""))
        });
        assert_eq!(rejected, CmEventKind::Rejected { reason, private_data: Vec::new() }, "{name}");
        // The same listener takes others.
        drop(listener);
        connect(&a, &b);
    }
}

/// A longer reply stops the kernel of a Linux host that called by siw (docs/SIW.md).
#[test]
fn a_reply_has_no_more_private_data_than_siw_bears_unless_the_profile_says_so() {
    for (profile, limit) in [(IwarpProfile::LINUX, 252), (IwarpProfile::SPEC, 508)] {
        let settings = IwarpSettings { profile, ..IwarpSettings::default() };
        let [a, b] = Side::over_kernel([settings.clone(), settings], Transport::Iwarp);
        let listener = b.device.listen_for_calls(SocketAddr::new(b.address, 0), 4).unwrap();
        let at = listener.address().unwrap().unwrap();
        let data = [5; 509];
        let called = std::thread::scope(|scope| {
            scope.spawn(|| {
                let error = listener.next(PATIENCE).unwrap().unwrap().reject(&data[..=limit]).err().unwrap();
                let length = limit + 1;
                let expected = match length {
                    253 => CmError::PrivateDataForSiw { length, limit, room: 508 },
                    _ => CmError::PrivateData { length, limit },
                };
                assert!(matches!(error, DeviceError::Connection(found) if found == expected), "{error}");
                let call = listener.next(PATIENCE).unwrap().unwrap();
                let parameters =
                    ConnectionParameters { private_data: &data[..limit], ..ConnectionParameters::default() };
                drop(call.accept(&b.domain, &b.options(), &parameters, |_| Ok(()), PATIENCE).unwrap());
            });
            kind(call(&a, at, b""));
            let usual = ConnectionParameters::default();
            a.device.call(at, &a.domain, &a.options(), &usual, |_| Ok(()), PATIENCE).unwrap()
        });
        assert_eq!(called.private_data, data[..limit]);
    }
}

#[test]
fn a_port_is_listened_on_once_and_again_when_the_listener_is_gone() {
    for (name, [a, b]) in Side::pairs(&IwarpSettings::default()) {
        let at = SocketAddr::new(b.address, 7998);
        let listener = b.device.listen_for_calls(at, 4).unwrap();
        let taken = b.device.listen_for_calls(at, 4).err().unwrap();
        assert!(matches!(taken, DeviceError::Connection(CmError::PortTaken(_))), "{name}: {taken}");
        drop(listener);
        drop(b.device.listen_for_calls(at, 4).unwrap());
        let foreign = b.device.listen_for_calls(SocketAddr::new(a.address, 7998), 4).err().unwrap();
        assert!(matches!(foreign, DeviceError::Connection(CmError::NoAddress(_))), "{name}: {foreign}");
    }
}

#[test]
fn what_iwarp_does_not_have_is_refused_by_name() {
    let settings = || [IwarpSettings::default(), IwarpSettings::default()];
    let [a, b] = Side::over_kernel(settings(), Transport::Roce);
    let channel = a.device.event_channel().unwrap();
    let refused = |error: DeviceError| {
        assert!(matches!(error, DeviceError::Connection(CmError::NotOverIwarp(_))), "{error}");
    };
    refused(channel.identifier_over(Transport::Iwarp, PortSpace::Udp).err().unwrap());
    let identifier = channel.identifier_over(Transport::Iwarp, PortSpace::Tcp).unwrap();
    identifier.resolve_address(None, SocketAddr::new(b.address, 7997)).unwrap();
    identifier.resolve_route().unwrap();
    let unreliable = QueuePairOptions { kind: QueuePairType::Uc, ..a.options() };
    refused(identifier.queue_pair(&a.domain, &unreliable).err().unwrap());
    let queue_pair = identifier.queue_pair(&a.domain, &a.options()).unwrap();
    // Numbers say over what queue pairs talk.
    assert!(queue_pair.number().value() >= 0xc0_0000);
    for (private_data, expected) in [
        (&[0; 509][..], CmError::PrivateData { length: 509, limit: 508 }),
        // A frame has room for it, but siw has not.
        (&[0; 253], CmError::PrivateDataForSiw { length: 253, limit: 252, room: 508 }),
    ] {
        let too_long = ConnectionParameters { private_data, ..ConnectionParameters::default() };
        let error = identifier.connect(&too_long).err().unwrap();
        assert!(matches!(error, DeviceError::Connection(found) if found == expected), "{error}");
    }
    // The device's usual transport is RoCE, whose queue pairs have the other numbers.
    let usual = channel.identifier(PortSpace::Udp).unwrap();
    let datagrams = QueuePairOptions { kind: QueuePairType::Ud, ..a.options() };
    assert!(usual.queue_pair(&a.domain, &datagrams).unwrap().number().value() < 0xc0_0000);
}

#[test]
fn what_would_not_reach_the_kernels_tcp_is_refused_and_not_ignored() {
    let address = IpAddr::from([127, 0, 0, 1]);
    let usual = || config(address, Transport::Iwarp, IwarpSettings::default());
    let file = std::env::temp_dir().join(format!("rdmalab-never-{}.pcapng", std::process::id()));
    let recording = DeviceConfig { record: Some(file.clone()), ..usual() };
    let mistreating = DeviceConfig { rules: Some(RuleSet::new(Seed::new(1))), ..usual() };
    for config in [recording, mistreating] {
        let error = Device::open_udp(config).err().unwrap();
        assert!(matches!(error, DeviceError::KernelsTcp), "{error}");
    }
    assert!(!file.exists());
}

#[test]
fn one_device_speaks_both_at_once() {
    let settings = || [IwarpSettings::default(), IwarpSettings::default()];
    let [a, b] = Side::over_kernel(settings(), Transport::Roce);
    let over_roce = connect(&a, &b);
    let channel = b.device.event_channel().unwrap();
    let listener = channel.identifier_over(Transport::Iwarp, PortSpace::Tcp).unwrap();
    listener.listen(SocketAddr::new(b.address, 0), 4).unwrap();
    let at = listener.ends().unwrap().0.unwrap();
    let ours = a.device.event_channel().unwrap();
    let caller = ours.identifier_over(Transport::Iwarp, PortSpace::Tcp).unwrap();
    caller.resolve_address(None, at).unwrap();
    caller.resolve_route().unwrap();
    let _queue_pair = caller.queue_pair(&a.domain, &a.options()).unwrap();
    caller.connect(&ConnectionParameters::default()).unwrap();
    let called = channel.wait(PATIENCE).unwrap().unwrap().called.unwrap();
    let _other = called.queue_pair(&b.domain, &b.options()).unwrap();
    called.accept(&ConnectionParameters::default()).unwrap();
    let mut seen = Vec::new();
    while !matches!(seen.last(), Some(CmEventKind::Established { .. })) {
        seen.push(ours.wait(Some(Duration::from_secs(10))).unwrap().expect("an event").kind);
    }
    assert!(seen.len() == 3, "address, route, established: {seen:?}");
    assert!(!over_roce[0].is_over().unwrap());
}
