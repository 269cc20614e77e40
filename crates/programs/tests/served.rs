//! Clients that come by TCP to a host that serves, over UDP sockets.

use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rdmalab_device::{Device, DeviceConfig, HostAddress, QueuePairType};
use rdmalab_programs::perf::{self, Length, Measure, Operation, PerfError, Role};
use rdmalab_programs::pingpong::{self, Kind};
use rdmalab_programs::serve::{self, Program, Services};

mod serving;

use serving::{LIMIT, serve_while, wait_until};

/// Tests run side by side: each has a network of its own on the loopback device.
const PORT: u16 = 18600;

fn open(network: u8, number: u8) -> (Device, IpAddr) {
    let address = IpAddr::from(Ipv4Addr::new(127, 82, network, number));
    let config = DeviceConfig::new(vec![HostAddress::new(address, 32)]);
    (Device::open_udp(config).unwrap(), address)
}

/// All kinds of ping-pong, then writing.
fn services() -> Services {
    let kinds = Kind::ALL.into_iter().zip(PORT..);
    Services {
        pingpong: kinds.map(|(kind, port)| game(kind, port)).collect(),
        perf: vec![write(20)],
        ..Services::none()
    }
}

fn game(kind: Kind, port: u16) -> pingpong::Options {
    let usual = pingpong::Options::default();
    pingpong::Options { kind, port, size: 1000, rounds: 50, patience: Some(LIMIT), ..usual }
}

fn write(messages: u64) -> perf::Options {
    let usual = perf::Options::new(Operation::Write, Measure::Bandwidth);
    let length = Length::Messages(messages);
    perf::Options { port: PORT + 4, size: 1000, length, patience: Some(LIMIT), ..usual }
}

#[test]
fn all_kinds_of_ping_pong_and_a_measurement_are_served_at_once() {
    let (server, at) = open(1, 1);
    let (ledger, said) = serve_while(&server, &services(), |ledger, _| {
        std::thread::scope(|scope| {
            for (number, kind) in (2..).zip(Kind::ALL) {
                scope.spawn(move || {
                    let (client, _) = open(1, number);
                    let game = game(kind, PORT + u16::from(number) - 2);
                    let report = pingpong::connect(&client, at, &game, |_| ()).unwrap();
                    assert_eq!(report.rounds, 50, "{kind:?}");
                });
            }
            scope.spawn(move || {
                let (client, _) = open(1, 10);
                perf::run(&client, "udp", Role::Client(at), &write(20), &mut |_| ()).unwrap();
            });
        });
        wait_until(|| ledger.rows().iter().all(|row| row.count.now == 0));
    });
    for (number, kind) in (2..).zip(Kind::ALL) {
        let count = ledger.total(Program::Pingpong(kind));
        assert_eq!((count.served, count.failed, count.messages), (1, 0, 50), "{kind:?} {said:?}");
        // TCP comes from the device's own address, which tells clients of one machine apart.
        let peer = Some(IpAddr::from([127, 82, 1, number]));
        let is_named = |row: &serve::Row| row.program == Program::Pingpong(kind) && row.peer == peer;
        assert!(ledger.rows().iter().any(is_named), "{:?}", ledger.rows());
    }
    let count = ledger.total(Program::Perf);
    assert_eq!((count.served, count.failed), (1, 0), "{said:?}");
    assert_eq!((count.messages, count.bytes), (20, 20_000), "what the client has written");
}

#[test]
fn who_comes_by_tcp_beyond_its_share_finds_the_connection_closed_until_another_goes() {
    let ((server, at), (client, _)) = (open(2, 1), open(2, 2));
    let services = Services { most_clients: 40, ..services() };
    let (ledger, said) = serve_while(&server, &services, |ledger, _| {
        let connect = || client.connect(SocketAddr::new(at, PORT), Some(LIMIT)).unwrap();
        let rc = Program::Pingpong(Kind::Rc);
        let mut guests: Vec<_> = (0..20).map(|_| connect()).collect();
        wait_until(|| ledger.total(rc).now == 20);
        let mut beyond = connect();
        beyond.set_timeout(Some(LIMIT));
        assert!(matches!(beyond.read(&mut [0]), Ok(0)), "it is not closed");
        assert_eq!(ledger.total(rc).refused, 1);
        guests.clear();
        wait_until(|| ledger.total(rc).now == 0);
        pingpong::connect(&client, at, &game(Kind::Rc, PORT), |_| ()).unwrap();
    });
    let count = ledger.total(Program::Pingpong(Kind::Rc));
    assert_eq!((count.served, count.refused, count.failed), (21, 1, 20), "{said:?}");
    assert!(
        said.iter().any(|said| said.contains("no more places than it leaves free for others")),
        "{said:?}"
    );
}

#[test]
fn a_host_that_is_to_end_does_not_wait_for_a_silent_tcp_client_once_its_device_has_stopped() {
    let ((server, at), (client, _)) = (open(3, 1), open(3, 2));
    let stopper = server.stopper();
    let (ledger, said) = serve_while(&server, &services(), |ledger, stop| {
        let mut silent = client.connect(SocketAddr::new(at, PORT + 4), Some(LIMIT)).unwrap();
        wait_until(|| ledger.total(Program::Perf).now == 1);
        let begun = Instant::now();
        stop.store(true, Ordering::Relaxed);
        assert!(stopper.stop(LIMIT));
        silent.set_timeout(Some(LIMIT));
        let closed = silent.read(&mut [0]);
        let is_reset = |error: &std::io::Error| error.kind() == ErrorKind::ConnectionReset;
        assert!(matches!(&closed, Ok(0)) || closed.as_ref().is_err_and(is_reset), "{closed:?}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    });
    assert_eq!(ledger.total(Program::Perf).failed, 0, "{said:?}");
}

#[test]
fn a_client_that_vanishes_in_the_middle_of_its_data_is_noticed_at_once() {
    let (server, at) = open(4, 1);
    let usual = perf::Options::new(Operation::Send, Measure::Bandwidth);
    // It is to wait for far more messages than come.
    let length = Length::Messages(1_000_000);
    let send = perf::Options { port: PORT, size: 100, length, patience: Some(LIMIT), ..usual };
    let services = Services { perf: vec![send.clone()], ..Services::none() };
    let (_, said) = serve_while(&server, &services, |ledger, _| {
        let (client, _) = open(4, 2);
        let stopper = client.stopper();
        std::thread::scope(|scope| {
            let playing = scope.spawn(|| perf::run(&client, "udp", Role::Client(at), &send, &mut |_| ()));
            wait_until(|| server.counters().rdma_recvs > 100);
            stopper.stop(LIMIT);
            let outcome = playing.join().unwrap();
            assert!(matches!(outcome, Err(PerfError::Device(_))), "{outcome:?}");
        });
        let begun = Instant::now();
        wait_until(|| ledger.total(Program::Perf).now == 0);
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    });
    assert!(said.iter().any(|said| said.contains("has gone")), "{said:?}");
}

/// Of one-sided operations nothing completes at the server.
#[test]
fn messages_of_perftest_are_counted_while_the_client_is_still_there() {
    let (server, at) = open(5, 1);
    for (number, operation) in (2..).zip([Operation::Write, Operation::Read, Operation::FetchAndAdd]) {
        let usual = perf::Options::new(operation, Measure::Bandwidth);
        let length = Length::Time { total: Duration::from_secs(60), margin: Duration::ZERO };
        let test =
            perf::Options { port: PORT, size: usual.size.min(4096), length, patience: Some(LIMIT), ..usual };
        let services = Services { perf: vec![test.clone()], ..Services::none() };
        let (ledger, said) = serve_while(&server, &services, |ledger, _| {
            let (client, _) = open(5, number);
            let mut last = 0;
            let perf = || ledger.total(Program::Perf);
            std::thread::scope(|scope| {
                let playing = scope.spawn(|| perf::run(&client, "udp", Role::Client(at), &test, &mut |_| ()));
                for _ in 0..3 {
                    wait_until(|| perf().messages > last);
                    last = perf().messages;
                }
                assert_eq!((perf().now, perf().bytes), (1, perf().messages * u64::from(test.size)));
                test.stop.store(true, Ordering::Relaxed);
                assert!(matches!(playing.join().unwrap(), Err(PerfError::Interrupted)));
            });
            wait_until(|| perf().now == 0);
        });
        assert!(ledger.total(Program::Perf).messages > 0, "{operation:?} {said:?}");
    }
}

#[test]
fn a_client_of_another_connection_whose_data_goes_nowhere_fails_on_both_sides() {
    let (server, at) = open(6, 1);
    let (ledger, said) = serve_while(&server, &services(), |ledger, _| {
        let (client, _) = open(6, 2);
        let unreliable = perf::Options { kind: QueuePairType::Uc, ..write(20) };
        let outcome = perf::run(&client, "udp", Role::Client(at), &unreliable, &mut |_| ());
        assert!(matches!(outcome, Err(PerfError::Hangup { .. })), "{outcome:?}");
        wait_until(|| ledger.total(Program::Perf).now == 0);
    });
    let count = ledger.total(Program::Perf);
    assert_eq!((count.served, count.failed, count.messages), (1, 1, 0), "{said:?}");
    assert!(said.iter().any(|said| said.contains("none of the 20 messages")), "{said:?}");
}
