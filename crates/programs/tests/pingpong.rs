//! Ping-pong between two devices over a cable in memory, and with a peer that does not keep to it.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{
    Access, Attributes, CompletionQueue, Device, DeviceConfig, Gid, HostAddress, Operation, Path, PathMtu,
    ProtectionDomain, Psn, QKey, Qpn, QueuePair, QueuePairOptions, QueuePairType, SendFlags, SendRequest,
    State, Stream, Target,
};
use rdmalab_programs::pingpong::{self, DEFAULT_PORT, Kind, Options, PingpongError};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const LIMIT: Option<Duration> = Some(Duration::from_secs(20));

fn devices() -> (Device, Device) {
    let config = |number: u8| {
        let v6 = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, number.into());
        let addresses =
            vec![HostAddress::new([10, 0, 0, number].into(), 24), HostAddress::new(v6.into(), 64)];
        DeviceConfig { seed: number.into(), ..DeviceConfig::new(addresses) }
    };
    Device::pair(config(1), config(2)).unwrap()
}

fn options(kind: Kind, rounds: u32) -> Options {
    Options {
        kind,
        rounds,
        size: 100,
        check: true,
        linger: Duration::ZERO,
        patience: LIMIT,
        ..Options::default()
    }
}

/// The server's outcome, with a client that is played by `client` on the other device.
fn serve(options: &Options, client: impl FnOnce(&Device)) -> Result<pingpong::Report, PingpongError> {
    let (server, other) = devices();
    let listener = server.listen(options.port).unwrap();
    std::thread::scope(|scope| {
        let outcome = scope.spawn(|| {
            let stream = listener.accept(LIMIT).unwrap().expect("a client");
            pingpong::answer(&server, stream, options, |_| ())
        });
        client(&other);
        outcome.join().unwrap()
    })
}

#[test]
fn every_kind_plays_over_both_families() {
    for kind in Kind::ALL {
        for address in [IpAddr::from(SERVER), SERVER_V6.into()] {
            let options = options(kind, 30);
            let served = serve(&options, |device| {
                let mut told = Vec::new();
                let report = pingpong::connect(device, address, &options, |step| told.push(step)).unwrap();
                assert_eq!(report.rounds, 30, "{kind:?} {address}");
                let queue_pairs = if kind == Kind::Srq { 16 } else { 1 };
                assert_eq!(told.len(), 2 * queue_pairs, "{kind:?} {address}: {told:?}");
                for step in &told {
                    let (pingpong::Step::Local(side) | pingpong::Step::Remote(side)) = step else {
                        panic!("{step:?}")
                    };
                    assert_eq!(side.address.is_ipv4(), address.is_ipv4(), "{kind:?} {address}");
                }
            });
            assert_eq!(served.unwrap().rounds, 30, "{kind:?} {address}");
        }
    }
}

/// A client made by hand: its queue pair, and the server's number.
struct ByHand {
    _stream: Stream,
    domain: ProtectionDomain,
    completions: CompletionQueue,
    queue_pair: QueuePair,
    server: Qpn,
}

impl ByHand {
    /// Tells its queue pair, connects it, and says so.
    fn connect(device: &Device, kind: QueuePairType) -> Self {
        let domain = device.protection_domain().unwrap();
        let completions = device.completion_queue(16).unwrap();
        let queue_pair = domain.queue_pair_with(&QueuePairOptions::new(kind, &completions)).unwrap();
        let mut stream = device.connect(SocketAddr::from((SERVER, DEFAULT_PORT)), LIMIT).unwrap();
        stream.set_timeout(LIMIT);
        let gid = u128::from_be_bytes(Gid::from(IpAddr::from(CLIENT)).0);
        let hello = format!("0000:{:06x}:000000:{gid:032x}\0", queue_pair.number().value());
        stream.write_all(hello.as_bytes()).unwrap();
        let mut answer = [0; 52];
        stream.read_exact(&mut answer).unwrap();
        let number = |range| u32::from_str_radix(str::from_utf8(&answer[range]).unwrap(), 16).unwrap();
        let (server, psn) = (Qpn::new(number(5..11)), Psn::new(number(12..18)));
        bring_up(&queue_pair, kind, server, psn);
        stream.write_all(b"done\0").unwrap();
        Self { _stream: stream, domain, completions, queue_pair, server }
    }
}

fn bring_up(queue_pair: &QueuePair, kind: QueuePairType, server: Qpn, psn: Psn) {
    let (is_datagram, is_reliable) = (kind == QueuePairType::Ud, kind == QueuePairType::Rc);
    let attributes = [
        Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            queue_key: is_datagram.then_some(QKey::new(0x1111_1111)),
            access: (!is_datagram).then(Access::empty),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rtr),
            path: (!is_datagram).then(|| Path::new(CLIENT.into(), SERVER.into())),
            path_mtu: (!is_datagram).then_some(PathMtu::M1024),
            destination: (!is_datagram).then_some(server),
            receive_psn: (!is_datagram).then_some(psn),
            max_destination_reads: is_reliable.then_some(1),
            min_rnr_timer: is_reliable.then_some(12),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rts),
            send_psn: Some(Psn::new(0)),
            timeout: is_reliable.then_some(14),
            retry_count: is_reliable.then_some(7),
            rnr_retry: is_reliable.then_some(7),
            max_reads: is_reliable.then_some(1),
            ..Attributes::default()
        },
    ];
    for step in &attributes {
        queue_pair.modify(step).unwrap();
    }
}

/// Sends these bytes and waits until they are on their way.
fn send(by: &ByHand, queue_pair: &QueuePair, target: Target, bytes: &[u8]) {
    let memory = by.domain.register(bytes.len(), Access::empty()).unwrap();
    memory.write(0, bytes).unwrap();
    let elements = [memory.element(0, bytes.len() as u32)];
    let request = SendRequest {
        operation: Operation::Send,
        elements: &elements,
        flags: SendFlags::SIGNALED,
        target,
        ..SendRequest::default()
    };
    queue_pair.post_send(&request).unwrap();
    assert!(by.completions.wait(LIMIT).unwrap().is_some());
}

/// What the real client sends where it is told to check.
fn ping() -> [u8; 100] {
    let mut message = [0x7b; 100];
    message[0] = 0;
    message
}

#[test]
fn a_strangers_datagram_is_no_message_of_the_peers() {
    let served = serve(&options(Kind::Ud, 1), |device| {
        let client = ByHand::connect(device, QueuePairType::Ud);
        let usual = QueuePairOptions::new(QueuePairType::Ud, &client.completions);
        let stranger = client.domain.queue_pair_with(&usual).unwrap();
        bring_up(&stranger, QueuePairType::Ud, client.server, Psn::new(0));
        let way = client.domain.address_handle(Path::new(CLIENT.into(), SERVER.into())).unwrap();
        let target = way.target(client.server, QKey::new(0x1111_1111));
        send(&client, &stranger, target, &[0x55; 100]);
        send(&client, &client.queue_pair, target, &ping());
    });
    assert_eq!(served.unwrap().rounds, 1);
}

#[test]
fn a_message_before_our_answer_is_out_of_turn() {
    let served = serve(&options(Kind::Rc, 5), |device| {
        let client = ByHand::connect(device, QueuePairType::Rc);
        // It has posted no receive: the server's answer to the first message cannot get through.
        for _ in 0..3 {
            send(&client, &client.queue_pair, Target::Connected, &ping());
        }
    });
    let out_of_turn = PingpongError::OutOfTurn { round: 2 };
    assert_eq!(served.unwrap_err().to_string(), out_of_turn.to_string());
}

#[test]
fn a_message_of_another_length_is_told() {
    for (kind, service) in [(Kind::Uc, QueuePairType::Uc), (Kind::Ud, QueuePairType::Ud)] {
        let served = serve(&options(kind, 5), |device| {
            let client = ByHand::connect(device, service);
            let way = client.domain.address_handle(Path::new(CLIENT.into(), SERVER.into())).unwrap();
            let datagram = way.target(client.server, QKey::new(0x1111_1111));
            let target = if kind == Kind::Ud { datagram } else { Target::Connected };
            send(&client, &client.queue_pair, target, &ping()[..99]);
        });
        let short = PingpongError::Length { round: 0, found: 99, expected: 100 };
        assert_eq!(served.unwrap_err().to_string(), short.to_string(), "{kind:?}");
    }
}
