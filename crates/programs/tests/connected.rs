//! rping, ucmatose and udaddy against a host that serves, over a cable in memory.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rdmalab_device::{
    AddressHandle, Attributes, Capabilities, CmEventKind, CompletionQueue, CompletionStatus,
    ConnectionParameters, Device, DeviceConfig, Discard, HostAddress, Operation, PortSpace, ProtectionDomain,
    Psn, QKey, Qpn, QueuePair, QueuePairOptions, QueuePairType, RejReason, SendFlags, SendRequest, State,
};
use rdmalab_programs::serve::{Count, Program, Services};
use rdmalab_programs::{ClientOptions, ConnectError, rping, ucmatose, udaddy};
use rdmalab_sim::rule::{lose, only};
use rdmalab_sim::{Frame, Probability, RuleSet, Seed};

mod serving;

use serving::{LIMIT, serve_while, wait_until};

const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);

/// Two devices, a server first. Each loses so much of what it sends over connections of IPv4.
fn devices(loss: f64) -> (Device, Device) {
    let config = |number: u8| {
        let v6 = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, number.into());
        let addresses =
            vec![HostAddress::new([10, 0, 0, number].into(), 24), HostAddress::new(v6.into(), 64)];
        let rules = (loss > 0.0).then(|| {
            let seed = Seed::new(number.into());
            // Not of connection management, which is patient for seconds.
            let is_rc = |frame: &Frame<'_>| frame.bytes.get(42).is_some_and(|&opcode| opcode < 0x20);
            RuleSet::new(seed).with(only("RC over IPv4", is_rc, lose(Probability::new(loss).unwrap())))
        });
        DeviceConfig { rules, seed: number.into(), ..DeviceConfig::new(addresses) }
    };
    Device::pair(config(1), config(2)).unwrap()
}

fn services() -> Services {
    let at = |port| vec![SocketAddr::from(([0; 4], port)), SocketAddr::from(([0_u16; 8], port))];
    Services {
        rping: at(rping::DEFAULT_PORT),
        ucmatose: at(ucmatose::DEFAULT_PORT),
        udaddy: at(udaddy::DEFAULT_PORT),
        ..Services::none()
    }
}

fn ping(server: impl Into<IpAddr>, count: u64, size: u32) -> rping::Options {
    rping::Options {
        count: Some(count),
        size,
        validate: true,
        ..rping::Options::new(SocketAddr::new(server.into(), rping::DEFAULT_PORT))
    }
}

#[test]
fn pings_of_all_sizes_come_back_whole_over_both_families() {
    let (server, client) = devices(0.0);
    let (ledger, said) = serve_while(&server, &services(), |_, _| {
        for address in [IpAddr::from(SERVER), SERVER_V6.into()] {
            for size in [23, 100, 4097, 65535] {
                let mut seen = 0;
                let game = ping(address, 5, size);
                let report = rping::connect(&client, &game, |text| {
                    assert!(text.starts_with(&format!("rdma-ping-{seen}: ")), "{text}");
                    seen += 1;
                    ControlFlow::Continue(())
                });
                assert_eq!((report.unwrap().messages, seen), (5, 5));
            }
        }
    });
    let expected =
        Count { served: 8, messages: 40, bytes: 10 * 2 * (23 + 100 + 4097 + 65535), ..Count::default() };
    wait_until(|| ledger.total(Program::Rping).now == 0);
    assert_eq!((ledger.total(Program::Rping), said), (expected, vec![]));
}

#[test]
fn connections_come_to_their_end_whatever_the_link_loses() {
    let (server, client) = devices(0.05);
    let (_, said) = serve_while(&server, &services(), |_, _| {
        rping::connect(&client, &ping(SERVER, 6, 9000), |_| ControlFlow::Continue(())).unwrap();
        let game = ClientOptions {
            connections: 2,
            ..ClientOptions::new((SERVER, ucmatose::DEFAULT_PORT).into(), ucmatose::PATIENCE)
        };
        ucmatose::connect(&client, &game).unwrap();
    });
    assert_eq!(said, Vec::<String>::new());
    assert!(server.rule_counts().dropped > 0 && client.rule_counts().dropped > 0, "nothing was lost");
}

#[test]
fn many_connections_and_services_are_served_at_once() {
    let (server, client) = devices(0.0);
    let (ledger, said) = serve_while(&server, &services(), |_, _| {
        let game = ClientOptions {
            connections: 64,
            ..ClientOptions::new((SERVER, ucmatose::DEFAULT_PORT).into(), ucmatose::PATIENCE)
        };
        let report = ucmatose::connect(&client, &game).unwrap();
        assert_eq!((report.connections, report.messages), (64, 640));
        let game = ClientOptions {
            connections: 3,
            messages: 20,
            size: 1001,
            ..ClientOptions::new((SERVER_V6, udaddy::DEFAULT_PORT).into(), udaddy::PATIENCE)
        };
        assert_eq!(udaddy::connect(&client, &game).unwrap().messages, 60);
    });
    let Count { served, refused, failed, messages, .. } = ledger.total(Program::Ucmatose);
    assert_eq!((served, refused, failed, messages), (64, 0, 0, 640), "{said:?}");
    assert_eq!(ledger.total(Program::Udaddy).messages, 60, "{said:?}");
}

#[test]
fn connections_are_made_and_ended_by_the_thousand() {
    let (server, client) = devices(0.0);
    let services = Services { messages: 0, ..services() };
    let (ledger, said) = serve_while(&server, &services, |ledger, _| {
        let game = ClientOptions {
            connections: 1000,
            messages: 0,
            ..ClientOptions::new((SERVER, ucmatose::DEFAULT_PORT).into(), ucmatose::PATIENCE)
        };
        ucmatose::connect(&client, &game).unwrap();
        wait_until(|| ledger.total(Program::Ucmatose).now == 0);
    });
    let expected = Count { served: 1000, ..Count::default() };
    assert_eq!((ledger.total(Program::Ucmatose), said), (expected, vec![]));
}

#[test]
fn who_comes_beyond_the_limit_is_refused_until_another_goes() {
    let (server, client) = devices(0.0);
    let services = Services { most_clients: 1, ..services() };
    let (ledger, said) = serve_while(&server, &services, |ledger, _| {
        let mut was_refused = false;
        let game = ping(SERVER, 3, 64);
        rping::connect(&client, &game, |_| {
            // While this one is there.
            let second = rping::connect(&client, &ping(SERVER, 1, 64), |_| ControlFlow::Continue(()));
            was_refused |=
                matches!(second, Err(ConnectError::Rejected { reason: RejReason::NO_RESOURCES, .. }));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(was_refused);
        wait_until(|| ledger.total(Program::Rping).now == 0);
        rping::connect(&client, &ping(SERVER, 1, 64), |_| ControlFlow::Continue(())).unwrap();
    });
    let Count { served, refused, failed, .. } = ledger.total(Program::Rping);
    assert_eq!((served, refused, failed), (2, 3, 0), "{said:?}");
}

/// It expects more messages than the server sends, and so waits.
#[test]
fn a_client_that_is_interrupted_ends_its_connections_before_it_goes() {
    let (server, client) = devices(0.0);
    let (ledger, said) = serve_while(&server, &services(), |ledger, _| {
        let at = (SERVER, ucmatose::DEFAULT_PORT).into();
        let game = ClientOptions { connections: 5, messages: 12, ..ClientOptions::new(at, LIMIT) };
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| ucmatose::connect(&client, &game));
            wait_until(|| ledger.total(Program::Ucmatose).served == 5);
            game.stop.store(true, Ordering::Relaxed);
            let outcome = waiting.join().unwrap();
            assert!(matches!(outcome, Err(ConnectError::Interrupted)), "{outcome:?}");
        });
        let begun = Instant::now();
        wait_until(|| ledger.total(Program::Ucmatose).now == 0);
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    });
    assert_eq!(ledger.total(Program::Ucmatose).served, 5, "{said:?}");
}

/// A connection whose application says this, and then nothing any more.
fn stranger(client: &Device, says: &[u8]) {
    let channel = client.event_channel().unwrap();
    let identifier = channel.identifier(PortSpace::Tcp).unwrap();
    identifier.resolve_address(None, (SERVER, rping::DEFAULT_PORT).into()).unwrap();
    identifier.resolve_route().unwrap();
    let domain = client.protection_domain().unwrap();
    let completions = client.completion_queue(8).unwrap();
    let capabilities = Capabilities { max_inline: 64, ..Capabilities::default() };
    let usual = QueuePairOptions::new(QueuePairType::Rc, &completions);
    let queue_pair = identifier.queue_pair(&domain, &QueuePairOptions { capabilities, ..usual }).unwrap();
    identifier.connect(&ConnectionParameters::default()).unwrap();
    loop {
        let event = channel.wait(Some(LIMIT)).unwrap().expect("something happens");
        match event.kind {
            CmEventKind::Established { .. } if says.is_empty() => {}
            CmEventKind::Established { .. } => {
                let send =
                    SendRequest { operation: Operation::Send, inline: Some(says), ..SendRequest::default() };
                queue_pair.post_send(&send).unwrap();
            }
            CmEventKind::AddressResolved | CmEventKind::RouteResolved => {}
            CmEventKind::Disconnected(_) => return,
            kind => panic!("{kind:?}"),
        }
    }
}

#[test]
fn who_does_not_speak_rping_or_says_nothing_is_let_go_and_others_go_on() {
    let (server, client) = devices(0.0);
    let services = Services { idle: Duration::from_millis(1500), ..services() };
    let too_long = [[0; 12].as_slice(), &[1, 0, 0, 0]].concat();
    let no_such_key = [[0; 12].as_slice(), &[0, 0, 0, 64]].concat();
    let (ledger, said) = serve_while(&server, &services, |_, _| {
        let mut begun = false;
        let game = ping(SERVER, 2, 64);
        rping::connect(&client, &game, |_| {
            if !begun {
                begun = true;
                for says in [b"hello".as_slice(), &too_long, &no_such_key, b"a message that has no room"] {
                    stranger(&client, says);
                }
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        stranger(&client, b"");
    });
    let Count { now, served, failed, .. } = ledger.total(Program::Rping);
    assert_eq!((now, served, failed), (0, 6, 5), "{said:?}");
    for (word, said) in
        ["5 bytes came", "1 to 65535 bytes", "REM_ACCESS", "LEN_ERR", "speaks first"].iter().zip(&said)
    {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn a_server_of_nothing_refuses_everybody() {
    let (server, client) = devices(0.0);
    serve_while(&server, &Services::none(), |_, _| {
        let refused = rping::connect(&client, &ping(SERVER, 1, 64), |_| ControlFlow::Continue(()));
        assert!(
            matches!(refused, Err(ConnectError::Rejected { reason: RejReason::INVALID_SERVICE_ID, .. })),
            "{refused:?}"
        );
        let game = ClientOptions::new((SERVER, udaddy::DEFAULT_PORT).into(), udaddy::PATIENCE);
        assert!(matches!(udaddy::connect(&client, &game), Err(ConnectError::NoService { .. })));
    });
}

/// Over UDP sockets, since more than two devices are there.
#[test]
fn who_does_not_answer_is_let_go_after_all_retries_and_others_go_on() {
    let open = |number, rules| {
        let address = HostAddress::new(Ipv4Addr::new(127, 81, 1, number).into(), 32);
        let config = DeviceConfig { rules, seed: number.into(), ..DeviceConfig::new(vec![address]) };
        Device::open_udp(config).unwrap()
    };
    let is_read_response =
        |frame: &Frame<'_>| frame.bytes.get(42).is_some_and(|opcode| (0x0d..=0x10).contains(opcode));
    let mute = only("READ responses", is_read_response, lose(Probability::new(1.0).unwrap()));
    let (server, first) = (open(1, None), open(2, Some(RuleSet::new(Seed::new(1)).with(mute))));
    let second = open(3, None);
    let at = SocketAddr::from(([127, 81, 1, 1], rping::DEFAULT_PORT));
    let services = Services { rping: vec![at], ..Services::none() };
    let game = rping::Options { count: Some(100), validate: true, ..rping::Options::new(at) };
    let (ledger, said) = serve_while(&server, &services, |ledger, _| {
        std::thread::scope(|scope| {
            let mute = scope.spawn(|| rping::connect(&first, &game, |_| ControlFlow::Continue(())));
            wait_until(|| ledger.total(Program::Rping).served == 1);
            rping::connect(&second, &game, |_| ControlFlow::Continue(())).unwrap();
            let ended = mute.join().unwrap();
            assert!(matches!(ended, Err(ConnectError::Disconnected { done: 0, .. })), "{ended:?}");
        });
    });
    let Count { served, failed, messages, .. } = ledger.total(Program::Rping);
    assert_eq!((served, failed, messages), (2, 1, 100), "{said:?}");
    assert!(said.iter().any(|said| said.contains("RETRY_EXC")), "{said:?}");
}

/// Whatever bytes come to the port, of chance or of the fuzzers' corpora; and whatever comes to its general services in
/// packets that are right.
#[test]
fn nothing_that_comes_from_the_network_ends_the_host() {
    let open = |number| {
        let address = HostAddress::new(Ipv4Addr::new(127, 81, 2, number).into(), 32);
        Device::open_udp(DeviceConfig { seed: number.into(), ..DeviceConfig::new(vec![address]) }).unwrap()
    };
    let (server, client, stranger) = (open(1), open(2), open(3));
    let at = SocketAddr::from(([127, 81, 2, 1], rping::DEFAULT_PORT));
    let services = Services {
        rping: vec![at],
        ucmatose: vec![SocketAddr::new(at.ip(), ucmatose::DEFAULT_PORT)],
        udaddy: vec![SocketAddr::new(at.ip(), udaddy::DEFAULT_PORT)],
        ..Services::none()
    };
    let socket = UdpSocket::bind("127.81.2.4:0").unwrap();
    let mut random = Seed::new(7).random();
    let datagrams = Datagrams::open(&stranger, at.ip());
    let (ledger, _) = serve_while(&server, &services, |_, _| {
        let game = rping::Options { count: Some(30), validate: true, size: 3000, ..rping::Options::new(at) };
        let report = rping::connect(&client, &game, |_| {
            for _ in 0..60 {
                let mut bytes: Vec<u8> = (0..256).map(|_| random.below(256) as u8).collect();
                // The kernel drops what the host does not take in time.
                let _ = socket.send_to(&bytes, (at.ip(), 4791));
                // A message of connection management as far as its header goes, most often about a service that is there.
                bytes[..4].copy_from_slice(&[1, 7, 2, 3]);
                bytes[16..18].copy_from_slice(&[0, 0x10 + random.below(11) as u8]);
                let port = [rping::DEFAULT_PORT, ucmatose::DEFAULT_PORT][random.below(2) as usize];
                bytes[32..40].copy_from_slice(&(0x0106_0000 | u64::from(port)).to_be_bytes());
                datagrams.send(&bytes);
            }
            ControlFlow::Continue(())
        });
        assert_eq!(report.unwrap().messages, 30);
        let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        let mut thrown = 0;
        for corpus in ["packet", "cm", "queue_pair", "pair"] {
            for file in std::fs::read_dir(corpora.join(corpus)).unwrap() {
                let bytes = std::fs::read(file.unwrap().path()).unwrap();
                let _ = socket.send_to(bytes.get(..bytes.len().min(4000)).unwrap(), (at.ip(), 4791));
                for mad in bytes.chunks_exact(256).take(16) {
                    datagrams.send(mad);
                }
                thrown += 1;
            }
        }
        assert!(thrown > 50, "{thrown}");
        rping::connect(&client, &game, |_| ControlFlow::Continue(())).unwrap();
    });
    let Count { served, messages, .. } = ledger.total(Program::Rping);
    assert!(served >= 2 && messages == 60, "{served} {messages}");
    let counters = server.counters();
    assert!(counters.discarded(Discard::Malformed) > 0 && counters.rdma_recvs > 1800, "{counters:?}");
}

/// Datagrams to the general services of a peer, from a queue pair that is not of them.
struct Datagrams {
    queue_pair: QueuePair,
    completions: CompletionQueue,
    way: AddressHandle,
    _domain: ProtectionDomain,
}

impl Datagrams {
    fn open(device: &Device, peer: IpAddr) -> Self {
        let domain = device.protection_domain().unwrap();
        let completions = device.completion_queue(8).unwrap();
        let capabilities = Capabilities { max_inline: 256, ..Capabilities::default() };
        let usual = QueuePairOptions::new(QueuePairType::Ud, &completions);
        let queue_pair = domain.queue_pair_with(&QueuePairOptions { capabilities, ..usual }).unwrap();
        let general =
            Attributes { queue_key: Some(QKey::GSI), partition_index: Some(0), ..Attributes::default() };
        let plain = Attributes::default();
        for (state, attributes) in [(State::Init, general), (State::Rtr, plain), (State::Rts, plain)] {
            let send_psn = (state == State::Rts).then_some(Psn::default());
            queue_pair.modify(&Attributes { state: Some(state), send_psn, ..attributes }).unwrap();
        }
        let way = domain.address_handle(rdmalab_device::Path::new(device.gids()[0], peer)).unwrap();
        Self { queue_pair, completions, way, _domain: domain }
    }

    /// Sends one, and waits until it has gone.
    fn send(&self, bytes: &[u8]) {
        let request = SendRequest {
            operation: Operation::Send,
            inline: Some(bytes),
            target: self.way.target(Qpn::GSI, QKey::GSI),
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        self.queue_pair.post_send(&request).unwrap();
        let sent = self.completions.wait(Some(LIMIT)).unwrap().expect("a datagram goes");
        assert_eq!(sent.status, CompletionStatus::Success);
    }
}
