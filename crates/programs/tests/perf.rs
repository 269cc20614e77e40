//! Both sides of each performance test against each other, over a cable in memory.

use std::net::IpAddr;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rdmalab_device::{Device, DeviceConfig, HostAddress, PathMtu, QueuePairType, Transport};
use rdmalab_programs::perf::{Length, Measure, Operation, Options, PerfError, Role, Row, Step, run};

const SERVER: &str = "10.9.0.1";
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

fn config(address: &str) -> DeviceConfig {
    DeviceConfig::new(vec![format!("{address}/24").parse::<HostAddress>().unwrap()])
}

fn pair(transport: Transport) -> (Device, Device) {
    let over = |address| DeviceConfig { transport, ..config(address) };
    Device::pair(over(SERVER), over("10.9.0.2")).unwrap()
}

/// What one side said at the end: its rows.
type Outcome = Result<Vec<Row>, PerfError>;

/// Runs a server and a client, and gives the outcome of each.
fn play(server: &Options, client: &Options) -> (Outcome, Outcome) {
    play_over(Transport::Roce, server, client)
}

fn play_over(transport: Transport, server: &Options, client: &Options) -> (Outcome, Outcome) {
    let (listening, is_listening) = mpsc::channel();
    let (server_device, client_device) = pair(transport);
    let one = |device: &Device, role, options: &Options, listening: Option<mpsc::Sender<()>>| {
        let mut rows = Vec::new();
        let mut tell = |step: Step<'_>| match (step, &listening) {
            (Step::Row(row), _) => rows.push(*row),
            (Step::Listening(_), Some(listening)) => listening.send(()).unwrap(),
            _ => {}
        };
        run(device, "cable", role, options, &mut tell).map(|()| rows)
    };
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            let outcome = one(&server_device, Role::Server, server, Some(listening));
            server_device.close().unwrap();
            outcome
        });
        is_listening.recv().unwrap();
        let address: IpAddr = SERVER.parse().unwrap();
        let client = one(&client_device, Role::Client(address), client, None);
        client_device.close().unwrap();
        (server.join().unwrap(), client)
    })
}

fn options(operation: Operation, measure: Measure, messages: u64, size: u32) -> Options {
    let length = Length::Messages(messages);
    let size = if matches!(operation, Operation::FetchAndAdd | Operation::CompareAndSwap) { 8 } else { size };
    Options { length, size, patience: PATIENCE, ..Options::new(operation, measure) }
}

/// Plays, both told alike, and gives the rows of server and client.
#[track_caller]
fn fine(options: &Options) -> (Vec<Row>, Vec<Row>) {
    match play(options, options) {
        (Ok(server), Ok(client)) => (server, client),
        (server, client) => panic!("{options:?}\nserver: {server:?}\nclient: {client:?}"),
    }
}

fn iterations(row: &Row) -> (u64, u64) {
    match row {
        Row::Bandwidth { figures, .. } => (figures.size, figures.iterations),
        Row::Latency { size, iterations, .. } => ((*size).into(), *iterations),
        Row::Pace { size, pace } => ((*size).into(), pace.rounds),
    }
}

const OPERATIONS: [Operation; 5] =
    [Operation::Write, Operation::Read, Operation::Send, Operation::FetchAndAdd, Operation::CompareAndSwap];

#[test]
fn each_bandwidth_is_measured_and_told_to_both() {
    for operation in OPERATIONS {
        let options = options(operation, Measure::Bandwidth, 300, 1000);
        let (server, client) = fine(&options);
        for rows in [&server, &client] {
            assert_eq!(rows.len(), 1, "{operation:?}");
            assert_eq!(iterations(&rows[0]), (options.size.into(), 300), "{operation:?}");
            let Row::Bandwidth { figures, .. } = rows[0] else { panic!("{rows:?}") };
            assert!(figures.average > 0.0 && figures.rate > 0.0, "{figures:?}");
        }
        let (Row::Bandwidth { figures: server, .. }, Row::Bandwidth { figures: client, .. }) =
            (server[0], client[0])
        else {
            panic!("no bandwidths")
        };
        assert!(client.peak >= client.average, "{client:?}");
        if operation != Operation::Send {
            assert_eq!(server, client, "the server repeats what the client measured");
        }
    }
}

#[test]
fn each_latency_is_measured_by_those_who_can() {
    for operation in OPERATIONS {
        let options = options(operation, Measure::Latency, 300, 33);
        let (server, client) = fine(&options);
        let to_and_fro = matches!(operation, Operation::Write | Operation::Send);
        assert_eq!(server.len(), usize::from(to_and_fro), "{operation:?}");
        for row in server.iter().chain(&client) {
            assert_eq!(iterations(row), (options.size.into(), 300));
            let Row::Latency { summary: Some(summary), .. } = row else { panic!("{row:?}") };
            let in_order = summary.least <= summary.typical
                && summary.typical <= summary.percentile_99
                && summary.percentile_99 <= summary.most;
            assert!(in_order && summary.least > 0.0, "{summary:?}");
        }
    }
}

#[test]
fn both_directions_and_many_queue_pairs_add_up() {
    for operation in OPERATIONS {
        let options = Options {
            queue_pairs: 4,
            bidirectional: true,
            ..options(operation, Measure::Bandwidth, 200, 5000)
        };
        let (server, client) = fine(&options);
        for rows in [&server, &client] {
            assert_eq!(iterations(&rows[0]), (options.size.into(), 800), "{operation:?}");
        }
        let (Row::Bandwidth { figures: one, .. }, Row::Bandwidth { figures: other, .. }) =
            (server[0], client[0])
        else {
            panic!("no bandwidths")
        };
        assert!((one.average - other.average).abs() < 1e-9, "both say the sum: {one:?} {other:?}");
    }
}

#[test]
fn unreliable_connections_and_datagrams_carry_what_they_can() {
    for measure in [Measure::Bandwidth, Measure::Latency] {
        for (kind, operation) in [
            (QueuePairType::Uc, Operation::Write),
            (QueuePairType::Uc, Operation::Send),
            (QueuePairType::Ud, Operation::Send),
        ] {
            let (server, client) = fine(&Options { kind, ..options(operation, measure, 100, 1000) });
            assert!(!server.is_empty() && !client.is_empty(), "{kind:?} {operation:?} {measure:?}");
        }
    }
}

#[test]
fn all_sizes_are_tested_one_after_the_other() {
    let sizes: Vec<u64> = (1..=23).map(|power| 1 << power).collect();
    let of = |rows: &[Row]| rows.iter().map(|row| iterations(row).0).collect::<Vec<_>>();
    for bidirectional in [false, true] {
        for operation in [Operation::Write, Operation::Send] {
            let options =
                Options { all_sizes: true, bidirectional, ..options(operation, Measure::Bandwidth, 3, 2) };
            let (server, client) = fine(&options);
            assert_eq!(of(&client), sizes, "{operation:?}");
            let is_told_the_last = operation == Operation::Write && !bidirectional;
            assert_eq!(of(&server), if is_told_the_last { vec![1 << 23] } else { sizes.clone() });
        }
    }
    for operation in [Operation::Write, Operation::Send, Operation::Read] {
        let options = Options { all_sizes: true, ..options(operation, Measure::Latency, 3, 2) };
        assert_eq!(of(&fine(&options).1), sizes, "{operation:?}");
    }
    // Datagrams end with the path MTU.
    let usual = options(Operation::Send, Measure::Bandwidth, 3, 2);
    let options = Options { all_sizes: true, kind: QueuePairType::Ud, ..usual };
    assert_eq!(of(&fine(&options).0), sizes[..10]);
}

#[test]
fn a_test_may_last_a_time() {
    let length = Length::Time { total: Duration::from_millis(500), margin: Duration::from_millis(50) };
    for measure in [Measure::Bandwidth, Measure::Latency] {
        for operation in OPERATIONS {
            let (server, client) = fine(&Options { length, ..options(operation, measure, 5, 1000) });
            for row in server.iter().chain(&client) {
                assert!(iterations(row).1 > 0, "{operation:?} {measure:?}: {row:?}");
            }
        }
    }
    for operation in [Operation::Write, Operation::Send] {
        let usual = options(operation, Measure::Bandwidth, 5, 1000);
        fine(&Options { length, bidirectional: true, ..usual });
    }
}

#[test]
fn a_message_may_have_no_byte_where_nobody_waits_for_its_last() {
    for (operation, measure) in [
        (Operation::Read, Measure::Bandwidth),
        (Operation::Read, Measure::Latency),
        (Operation::Write, Measure::Bandwidth),
        (Operation::Send, Measure::Bandwidth),
        (Operation::Send, Measure::Latency),
    ] {
        let (_, client) = fine(&options(operation, measure, 50, 0));
        assert_eq!(iterations(&client[0]), (0, 50), "{operation:?} {measure:?}");
    }
}

#[test]
fn what_is_small_may_be_inline() {
    for measure in [Measure::Bandwidth, Measure::Latency] {
        for operation in [Operation::Write, Operation::Send] {
            fine(&Options { inline: 64, ..options(operation, measure, 50, 64) });
        }
    }
}

#[test]
fn connections_may_be_made_by_rdma_cm() {
    for measure in [Measure::Bandwidth, Measure::Latency] {
        for operation in OPERATIONS {
            let (_, client) = fine(&Options { managed: true, ..options(operation, measure, 100, 1000) });
            assert_eq!(iterations(&client[0]).1, 100, "{operation:?} {measure:?}");
        }
        let send = options(Operation::Send, measure, 100, 1000);
        let (server, client) = fine(&Options { managed: true, kind: QueuePairType::Ud, ..send });
        assert_eq!(
            (iterations(&server[0]).1, iterations(&client[0]).1),
            (100, 100),
            "datagrams, {measure:?}"
        );
    }
}

/// A message without a receive would end the connection: there are far fewer receives than messages.
#[test]
fn over_iwarp_a_sender_has_no_more_under_way_than_the_receiver_has_receives() {
    for (queue_pairs, bidirectional, receive_depth) in [(1, false, 4), (3, false, 1), (2, true, 7)] {
        let options = Options {
            managed: true,
            queue_pairs,
            bidirectional,
            receive_depth: Some(receive_depth),
            ..options(Operation::Send, Measure::Bandwidth, 500, 1000)
        };
        let (server, client) = play_over(Transport::Iwarp, &options, &options);
        let (server, client) = (server.unwrap(), client.unwrap());
        let expected = u64::from(queue_pairs) * 500;
        assert_eq!((iterations(&server[0]).1, iterations(&client[0]).1), (expected, expected));
    }
}

#[test]
fn any_number_of_connections_is_made_by_rdma_cm() {
    for queue_pairs in [2, 16, 300] {
        for (kind, operation) in OPERATIONS
            .map(|operation| (QueuePairType::Rc, operation))
            .into_iter()
            .chain([(QueuePairType::Ud, Operation::Send)])
        {
            let usual = options(operation, Measure::Bandwidth, 5, 1000);
            for bidirectional in [false, true] {
                let (server, client) =
                    fine(&Options { managed: true, kind, queue_pairs, bidirectional, ..usual.clone() });
                let expected = u64::from(queue_pairs) * 5;
                assert_eq!(
                    (iterations(&server[0]).1, iterations(&client[0]).1),
                    (expected, expected),
                    "{operation:?}"
                );
            }
        }
    }
}

#[test]
fn the_smaller_path_mtu_counts() {
    let one = options(Operation::Write, Measure::Bandwidth, 10, 10_000);
    let other = Options { mtu: PathMtu::M256, ..one.clone() };
    for (server, client) in [(&one, &other), (&other, &one)] {
        let (server, client) = play(server, client);
        assert!(server.is_ok() && client.is_ok(), "{server:?} {client:?}");
    }
}

#[test]
fn two_sides_that_were_told_different_things_say_so_and_end() {
    let patience = Some(Duration::from_secs(2));
    let usual = Options { patience, ..options(Operation::Write, Measure::Bandwidth, 10, 1000) };
    let two = Options { queue_pairs: 2, ..usual.clone() };
    let (server, _) = play(&usual, &two);
    assert!(matches!(server, Err(PerfError::OtherQueuePairs)), "{server:?}");
    let (server, _) = play(&two, &usual);
    assert!(matches!(server, Err(PerfError::OtherQueuePairs)), "{server:?}");

    let send = Options { patience, ..options(Operation::Send, Measure::Bandwidth, 10, 1000) };
    let longer = Options { size: 2000, ..send.clone() };
    let (server, client) = play(&send, &longer);
    assert!(server.is_err() && client.is_err(), "{server:?} {client:?}");
    let (server, client) = play(&longer, &send);
    assert!(
        matches!(server, Err(PerfError::Length { found: 1000, expected: 2000 })),
        "{server:?} {client:?}"
    );

    // The peer's memory may be written, not read.
    let read = Options { patience, ..options(Operation::Read, Measure::Bandwidth, 10, 1000) };
    let (_, client) = play(&usual, &read);
    assert!(matches!(client, Err(PerfError::Failed { .. })), "{client:?}");
}

#[test]
fn datagrams_of_no_size_of_their_own_fit_the_smaller_path_mtu() {
    let usual = options(Operation::Send, Measure::Bandwidth, 50, 1024);
    let one = Options { kind: QueuePairType::Ud, fits_mtu: true, ..usual };
    let other = Options { mtu: PathMtu::M512, size: 512, ..one.clone() };
    for (server, client) in [(&one, &other), (&other, &one)] {
        let (server, client) = play(server, client);
        assert_eq!(
            (iterations(&server.unwrap()[0]), iterations(&client.unwrap()[0])),
            ((512, 50), (512, 50))
        );
    }
    let asked = Options { fits_mtu: false, ..one };
    let (_, client) = play(&other, &asked);
    assert!(matches!(client, Err(PerfError::Options(_))), "{client:?}");
}

#[test]
fn a_client_that_was_told_of_fewer_messages_is_not_waited_for() {
    for measure in [Measure::Bandwidth, Measure::Latency] {
        let server = options(Operation::Send, measure, 100, 1000);
        let client = options(Operation::Send, measure, 50, 1000);
        let begun = Instant::now();
        let (server, client) = play(&server, &client);
        assert!(
            matches!(server, Err(PerfError::Fewer { received: 50, expected: 100 })),
            "{measure:?}: {server:?}"
        );
        assert!(matches!(client, Err(PerfError::Hangup { .. })), "{measure:?}: {client:?}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{measure:?}: {:?}", begun.elapsed());
    }
}

#[test]
fn wishes_that_cannot_be_had_are_refused_before_anything_is_said() {
    let write = options(Operation::Write, Measure::Bandwidth, 10, 1000);
    let lat = options(Operation::Send, Measure::Latency, 10, 1000);
    let read = options(Operation::Read, Measure::Bandwidth, 10, 1000);
    let wishes = [
        (Options { kind: QueuePairType::Ud, ..write.clone() }, "only send runs over UD"),
        (Options { kind: QueuePairType::Uc, ..read.clone() }, "only write and send run over UC"),
        (Options { kind: QueuePairType::Uc, managed: true, ..write.clone() }, "no unreliable connections"),
        (Options { queue_pairs: 2, ..lat.clone() }, "one queue pair"),
        (Options { bidirectional: true, ..lat }, "no -b"),
        (Options { inline: 1, ..read }, "inline"),
        (Options { size: 1 << 30, queue_pairs: 64, ..write }, "bytes of memory"),
    ];
    for (options, why) in wishes {
        let (device, other) = pair(Transport::Roce);
        let error =
            run(&device, "cable", Role::Server, &Options { patience: PATIENCE, ..options }, &mut |step| {
                assert!(!matches!(step, Step::Listening(_)), "{why}");
            });
        let error = error.unwrap_err().to_string();
        assert!(error.contains(why), "{why:?} is not in {error}");
        drop((device, other));
    }
}
