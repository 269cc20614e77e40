//! `rdmalab perf` against itself, over UDP sockets on loopback addresses: nobody needs a privilege for it.

use crate::program::{Run, Running, rdmalab};

/// Runs both sides with the same options, on addresses that only this test has.
fn both(place: u8, test: &[&str]) -> (Run, Run) {
    let [server, client] = [1, 2].map(|end| format!("127.79.{place}.{end}"));
    let arguments =
        |own, rest: &[&'static str]| [&["perf"], test, &["--ip", own, "--wait", "20"], rest].concat();
    let waiting = Running::start(&arguments(&server, &[]), "Waiting for client");
    let mut arguments: Vec<&str> = [&["perf"], test, &["--ip", &client, "--wait", "20"]].concat();
    arguments.push(&server);
    let client = rdmalab(&arguments);
    (waiting.finish(), client)
}

/// The line behind the names of the columns.
fn row(run: &Run) -> &str {
    let lines = run.lines();
    let columns = lines.iter().position(|line| line.starts_with(" #bytes")).expect("no columns");
    lines[columns + 1]
}

#[test]
fn both_sides_of_a_bandwidth_print_the_same_results() {
    let (server, client) = both(1, &["write", "-s", "5000", "-n", "200", "-q", "2"]);
    let (server, client) = (server.exits(0), client.exits(0));
    assert!(row(&client).starts_with(" 5000       400        "), "{}", client.out);
    assert_eq!(row(&server), row(&client));
    for run in [&server, &client] {
        assert!(run.out.contains("                    RDMA_Write BW Test\n"), "{}", run.out);
        assert!(run.out.contains("\n Number of qps   : 2\t\tTransport type : IB\n"), "{}", run.out);
    }
    assert!(client.out.contains("\n TX depth        : 128\n"), "{}", client.out);
    assert!(client.err.contains("RoCE packets: "), "{}", client.err);
}

#[test]
fn all_latencies_are_printed_on_demand() {
    let (server, client) = both(2, &["send", "--lat", "-n", "20", "-U"]);
    for run in [server.exits(0), client.exits(0)] {
        let lines = run.lines();
        let first = lines.iter().position(|line| *line == "#, usec").expect("no list");
        for number in 1..=19 {
            assert!(lines[first + number].starts_with(&format!("{number}, ")), "{}", run.out);
        }
        assert!(lines[first + 20].starts_with(" 2       20         "), "{}", run.out);
    }
}

#[test]
fn a_peer_that_is_no_perftest_is_named() {
    use std::io::Write;
    let server =
        Running::start(&["perf", "send", "--ip", "127.79.3.1", "--wait", "20"], "Waiting for client");
    let mut stream = std::net::TcpStream::connect("127.79.3.1:18515").unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    server.finish().exits(1).says("rdmalab: the peer is not a program of perftest");
}

#[test]
fn a_silent_peer_is_waited_for_no_longer_than_said() {
    let server = Running::start(&["perf", "read", "--ip", "127.79.4.1", "--wait", "1"], "Waiting for client");
    let stream = std::net::TcpStream::connect("127.79.4.1:18515").unwrap();
    server.finish().exits(1).says("the version did not come within 1 s");
    drop(stream);
}

#[test]
fn what_has_no_meaning_for_a_test_is_refused_by_name() {
    for (arguments, why) in [
        (
            &["send", "-R", "-c", "UC"][..],
            "rdma_cm (-R) makes no unreliable connections: take -c RC or -c UD",
        ),
        (&["write", "-c", "UD"], "only send runs over UD (-c)"),
        (&["read", "-c", "UC"], "only write and send run over UC (-c)"),
        (&["send", "-c", "XRC"], "invalid value 'XRC'"),
        (&["atomic", "-s", "16"], "-s is not for atomics"),
        (&["atomic", "-A", "SWAP"], "invalid value 'SWAP'"),
        (&["write", "-A", "CMP_AND_SWAP"], "-A is for atomics only"),
        (&["write", "-r", "5"], "-r is for send only"),
        (&["read", "-I", "5"], "-I is for write and send only"),
        (&["read", "--lat", "-b"], "-b is not for latencies"),
        (&["read", "-U"], "-U is for latencies only"),
        (&["write", "-n", "4"], "4 is not in 5..=100000000"),
        (&["write", "--lat", "-n", "20000000"], "at most 10000000 latencies"),
        (&["write", "-n", "5", "-D", "5"], "cannot be used with"),
        (&["write", "-a", "-s", "5"], "cannot be used with"),
        (&["write", "-a", "-D", "5"], "-a is not together with -D"),
        (&["write", "-m", "1000"], "a path MTU is 256, 512"),
        (&["write", "-e"], "unexpected argument '-e'"),
        (&["write", "-l", "4"], "unexpected argument '-l'"),
        (&["write", "-q", "16384", "-s", "1000000"], "bytes of memory"),
        (&["fly"], "invalid value 'fly'"),
    ] {
        let line = [&["perf"], arguments, &["--ip", "127.79.5.1"]].concat();
        let run = rdmalab(&line).exits(2).says(why);
        assert!(run.err.starts_with("rdmalab: "), "{}", run.err);
        assert!(run.out.is_empty(), "{}", run.out);
    }
}

#[test]
fn what_was_carried_out_for_a_client_is_told_and_what_unreliable_packets_lost() {
    let (server, client) = both(20, &["write", "-s", "5000", "-n", "200"]);
    client.exits(0);
    server.exits(0).says("carried out for the client: 200 messages, 1000000 bytes\n");

    let test = ["write", "-c", "UC", "-s", "5000", "-n", "400"];
    let waiting =
        Running::start(&[&["perf"], &test[..], &["--ip", "127.79.21.1"]].concat(), "Waiting for client");
    let lossy = ["--ip", "127.79.21.2", "127.79.21.1", "--drop-rate", "0.02", "--seed", "1"];
    rdmalab(&[&["perf"], &test[..], &lossy].concat()).exits(0);
    let run = waiting.finish().exits(0).says(" of its 400 are lost, as UC sends nothing again");
    let told = run.err.split("carried out for the client: ").nth(1).and_then(|told| told.split(' ').next());
    let messages: u64 = told.unwrap().parse().unwrap();
    assert!((200..400).contains(&messages), "{}", run.err);
}

#[test]
fn a_client_of_another_connection_of_which_nothing_arrives_fails_on_both_sides() {
    let test = ["perf", "write", "-n", "100", "--ip"];
    let waiting = Running::start(&[&test[..], &["127.79.22.1"]].concat(), "Waiting for client");
    let client = rdmalab(&[&test[..], &["127.79.22.2", "127.79.22.1", "-c", "UC"]].concat());
    client.exits(1).says("the peer closed the connection");
    waiting
        .finish()
        .exits(1)
        .says("none of the 100 messages that the client tells of has arrived here")
        .says("discarded");
}
