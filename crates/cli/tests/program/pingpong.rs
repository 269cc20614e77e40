//! `rdmalab pingpong` against itself, over UDP sockets on loopback addresses: nobody needs a privilege for it.

use crate::program::{Run, Running, rdmalab};

/// Runs a server and a client on addresses that only this game has.
fn play(place: u8, server: &str, client: &str) -> (Run, Run) {
    let [at, from] = [1, 2].map(|end| format!("127.81.{place}.{end}"));
    let server = format!("pingpong --ip {at} {server}");
    let client = format!("pingpong --ip {from} {client} {at}");
    let waiting = Running::start(&server.split_whitespace().collect::<Vec<_>>(), "listening:");
    let client = rdmalab(&client.split_whitespace().collect::<Vec<_>>());
    (waiting.finish(), client)
}

/// Lines of its output that begin so.
fn count(run: &Run, start: &str) -> usize {
    run.out.lines().filter(|line| line.trim_start().starts_with(start)).count()
}

#[test]
fn each_transport_plays_a_game_with_itself() {
    // What is not sent again tells how many packets a message has.
    for (place, options, queue_pairs, bytes, packets) in [
        (1, "--transport rc -s 5000", 1, 200_000, None),
        (
            2,
            "--transport uc -s 5000",
            1,
            200_000,
            Some("RoCE packets: 100 sent, 0 of them again; 100 received"),
        ),
        (3, "--transport ud", 1, 81_920, Some("RoCE packets: 20 sent, 0 of them again; 20 received")),
        (
            4,
            "--transport ud -s 4096 -e",
            1,
            163_840,
            Some("RoCE packets: 20 sent, 0 of them again; 20 received"),
        ),
        (5, "--transport srq -s 5000 -q 3 -o", 3, 200_000, None),
        (6, "--transport srq", 16, 163_840, None),
    ] {
        let options = format!("{options} -c -n 20 --wait 30");
        let (server, client) = play(place, &options, &options);
        for run in [server.exits(0), client.exits(0)] {
            assert!(run.out.contains(&format!("\n{bytes} bytes in ")), "{options}: {}", run.out);
            assert!(run.out.contains("\n20 iters in "), "{options}: {}", run.out);
            assert_eq!(count(&run, "local address:"), queue_pairs, "{options}: {}", run.out);
            assert_eq!(count(&run, "remote address:"), queue_pairs, "{options}: {}", run.out);
            assert!(packets.is_none_or(|packets| run.out.contains(packets)), "{options}: {}", run.out);
        }
    }
}

#[test]
fn srq_plays_fewer_rounds_than_it_has_queue_pairs_and_with_no_receive_to_spare() {
    for (place, options) in
        [(11, "-q 16 -n 5 -r 16"), (12, "-q 256 -n 300 -r 256 -s 33"), (13, "-q 1 -r 1 -n 20")]
    {
        let options = format!("--transport srq -c --wait 30 {options}");
        let (server, client) = play(place, &options, &options);
        server.exits(0);
        client.exits(0);
    }
}

#[test]
fn a_lost_message_ends_a_game_without_repetitions_and_says_so() {
    for (place, transport, name) in [(21, "uc", "UC"), (22, "ud", "UD")] {
        let options = format!("--transport {transport} -n 20 --wait 1");
        let (server, client) = play(place, &format!("{options} --drop-rate 1 --seed 1"), &options);
        let lost = format!("no message came within 1 s: over {name} a lost message is lost for good");
        client.exits(1).says(&format!("rdmalab: round 0: {lost}"));
        server.exits(1).says(&format!("rdmalab: round 1: {lost}"));
    }
}

#[test]
fn lost_packets_are_sent_again_with_a_shared_receive_queue() {
    let options = "--transport srq -q 4 -s 3000 -n 60 -c --wait 30 --drop-rate 0.05 --seed 7";
    let (server, client) = play(31, options, options);
    for run in [server.exits(0), client.exits(0)] {
        assert!(run.out.contains("dropped by rule: "), "{}", run.out);
        assert!(!run.out.contains(", 0 of them again"), "{}", run.out);
    }
}

#[test]
fn packets_that_come_twice_late_or_behind_the_next_change_nothing() {
    let options = "-s 3000 -n 60 -c --wait 30 --duplicate-rate 0.1 --reorder-rate 0.1 --delay 0.5 --ack-timeout 16 --seed 7";
    let (server, client) = play(32, options, options);
    for run in [server.exits(0), client.exits(0)] {
        for what in ["duplicated", "reordered", "delayed"] {
            let count = run.out.split_once(&format!("\n{what} by rule: ")).map(|(_, rest)| rest);
            assert!(count.is_some_and(|count| !count.starts_with('0')), "{what}: {}", run.out);
        }
        assert!(!run.out.contains("dropped by rule"), "{}", run.out);
    }
    rdmalab(&["pingpong", "--ip", "127.81.33.1", "--delay", "1001"])
        .exits(2)
        .says("a delay is a number of milliseconds from 0 to 1000");
}

#[test]
fn another_number_of_queue_pairs_is_told() {
    let (server, client) = play(41, "--transport srq -q 3 --wait 20", "--transport srq -q 4 --wait 20");
    server.exits(1).says("the peer has 4 queue pairs and we have 3: both sides need the same number (-q)");
    client.exits(1).says("the peer closed the connection after 0 of the 13312 bytes");
}

#[test]
fn what_has_no_meaning_for_a_transport_is_refused_by_name() {
    for (options, why) in [
        ("--transport ud -m 1024", "-m is not for ud"),
        ("-q 3", "-q is for srq only; this is ibv_rc_pingpong"),
        ("--transport uc -q 3", "-q is for srq only; this is ibv_uc_pingpong"),
        ("--transport uc -o", "-o is for rc and srq only"),
        ("--transport ud --ack-timeout 14", "--ack-timeout is for rc and srq only"),
        ("--transport srq -r 15", "15 receives (-r) are too few for 16 queue pairs"),
        ("--transport srq -q 257", "257 is not in 1..=256"),
        ("--transport srq -q 0", "0 is not in 1..=256"),
        ("--transport srq -s 1000000000", "bytes of memory: that is too much"),
        (
            "--transport ud -s 4097",
            "a datagram of 4097 bytes (-s) is not possible: the link carries 4096 at most",
        ),
        ("--transport xrc", "invalid value 'xrc'"),
        ("-l 16", "16 is not in 0..=15"),
        ("-l 3 --tap t --vlan 7", "-l with --vlan is not possible yet"),
        ("-t", "unexpected argument '-t'"),
        ("-N", "unexpected argument '-N'"),
    ] {
        let line = format!("pingpong --ip 127.81.51.1 {options}");
        let run = rdmalab(&line.split_whitespace().collect::<Vec<_>>()).exits(2).says(why);
        assert!(run.err.starts_with("rdmalab: "), "{}", run.err);
        assert!(run.out.is_empty(), "{}", run.out);
    }
}
