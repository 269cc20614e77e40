//! `rdmalab serve`, `rping`, `ucmatose` and `udaddy` against each other over UDP sockets on loopback addresses, and how they
//! end at a signal.

use std::time::{Duration, Instant};

use crate::program::{Running, rdmalab, scratch, text};

/// How many packets are in a capture, all of which must be right.
#[track_caller]
fn packets(capture: &str) -> usize {
    rdmalab(&["dump", capture]).exits(0).lines().len()
}

#[test]
fn serve_ends_at_a_signal_with_its_table_and_a_whole_capture() {
    let capture = scratch("serve.pcapng");
    let line = ["serve", "--ip", "127.80.1.1", "--pcap", text(&capture), "--every", "1000"];
    let serve = Running::start(&line, "listening");
    let called = |line: &str| {
        let line: Vec<&str> = line.split(' ').collect();
        rdmalab(&[line.as_slice(), &["--ip", "127.80.1.2"]].concat()).exits(0)
    };
    let said = called("rping -c -a 127.80.1.1 -C 20 -V -v -S 3000");
    assert!(said.out.starts_with("ping data: rdma-ping-0: ABCDEFG"), "{}", said.out);
    assert_eq!(said.out.matches("ping data: rdma-ping-").count(), 20);
    for line in ["ucmatose -s 127.80.1.1 -c 5", "udaddy -s 127.80.1.1 -c 2"] {
        let said = called(line);
        assert!(said.out.contains("\nRoCE packets: "), "{}", said.out);
    }
    called("pingpong 127.80.1.1");
    called("perf write -p 18516 -n 100 127.80.1.1");
    let run = serve.end("-INT").exits(0);
    for words in [
        ["rping", "127.80.1.2", "0", "1", "0", "0", "20"],
        ["ucmatose", "127.80.1.2", "0", "5", "0", "0", "50"],
        // They are taken for gone after a while without a word, which may have passed.
        ["udaddy", "127.80.1.2", "", "2", "0", "0", "20"],
        ["rc_pingpong", "127.80.1.2", "0", "1", "0", "0", "1000"],
        ["perf", "127.80.1.2", "0", "1", "0", "0", "100"],
    ] {
        let fits = |(found, word): (&str, &str)| word.is_empty() || found == word;
        let is_there = |line: &&str| {
            line.split_whitespace().zip(words).filter(|pair| fits(*pair)).count() == words.len()
        };
        assert!(run.lines().iter().any(is_there), "{words:?} is not in:\n{}", run.out);
    }
    let count = |name: &str| {
        let place = run.out.find(name).unwrap_or_else(|| panic!("no {name} in:\n{}", run.out));
        let digits = run.out[place + name.len()..].chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse::<usize>().unwrap()
    };
    let (sent, received) = (count("sent_pkts="), count("rcvd_pkts="));
    assert!(packets(text(&capture)) >= sent + received, "{}", run.out);
}

#[test]
fn a_client_without_end_ends_at_a_signal_with_a_whole_capture() {
    let capture = scratch("rping.pcapng");
    let serve = Running::start(&["rping", "-s", "-P", "--ip", "127.80.2.1"], "listening");
    let line = ["rping", "-c", "-v", "-a", "127.80.2.1", "--ip", "127.80.2.2", "--pcap", text(&capture)];
    let run = Running::start(&line, "rdma-ping-9:").end("-TERM").exits(0);
    assert!(run.out.contains("interrupted after "), "{}", run.out);
    assert!(packets(text(&capture)) > 100);
    // The server misses the client that went without a word, or not: both are an end.
    let run = serve.end("-INT");
    assert!(run.out.contains("1 clients, "), "{}", run.out);
}

#[test]
fn whoever_waits_for_a_client_ends_at_a_signal() {
    let capture = scratch("waiting.pcapng");
    let line = ["pingpong", "--ip", "127.80.3.1", "-p", "18999", "--pcap", text(&capture)];
    let begun = Instant::now();
    Running::start(&line, "listening").end("-INT");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(packets(text(&capture)), 0);
    Running::start(&["rping", "-s", "--ip", "127.80.3.2"], "listening").end("-INT").exits(0);
}

#[test]
fn an_rping_is_a_server_or_a_client_and_has_a_size_of_the_real_ones() {
    for line in [
        "rping --ip 127.80.4.1",
        "rping -s -c -a 127.80.4.2 --ip 127.80.4.1",
        "rping -c --ip 127.80.4.1",
        "rping -c -a 127.80.4.2 --ip 127.80.4.1 -S 22",
        "rping -c -a 127.80.4.2 --ip 127.80.4.1 -S 65536",
        "rping -c -a ::1 --ip 127.80.4.1",
    ] {
        rdmalab(&line.split(' ').collect::<Vec<_>>()).exits(2);
    }
    let nobody = ["rping", "-c", "-C", "1", "-a", "127.80.4.1", "--ip", "127.80.4.1"];
    rdmalab(&nobody).exits(1).says("127.80.4.1:7174 refused the connection: nobody listens at that port");
}

#[test]
fn a_client_at_another_programs_port_is_told_at_once_by_both_sides() {
    let serve = Running::start(&["serve", "--ip", "127.80.26.1"], "until Ctrl-C");
    let begun = Instant::now();
    rdmalab(&["perf", "write", "--ip", "127.80.26.2", "127.80.26.1"])
        .exits(1)
        .says("TCP port 18515 (-p) is not one of perftest")
        .says("`rdmalab serve` has write_bw at TCP port 18516: -p 18516");
    rdmalab(&["pingpong", "--ip", "127.80.26.3", "127.80.26.1", "-p", "18516", "--transport", "uc"])
        .exits(1)
        .says("this is ibv_uc_pingpong, and the peer is a program of perftest 6.06: its port is another (-p)")
        .says("`rdmalab serve` has ibv_uc_pingpong at TCP port 18524: -p 18524");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    let run = serve.end("-INT").exits(0);
    for told in [
        "this is ibv_rc_pingpong, and the peer is a program of perftest 6.06: its port is another (-p)",
        "the peer is not a program of perftest",
    ] {
        assert!(run.out.contains(told), "{}", run.out);
    }
}

#[test]
fn what_is_waited_for_is_told_before_the_patience_ends() {
    let serve = Running::start(&["serve", "--ip", "127.80.27.1"], "until Ctrl-C");
    let lines = [
        ("perf send -p 18516 127.80.27.1", "a completion (were both sides told the same test"),
        ("perf send --lat -p 18516 127.80.27.1", "the next message (were both sides told the same test"),
        ("pingpong -s 100 127.80.27.1", "the next message (were both sides told the same -s and -n?)"),
        ("rping -c -a 127.80.27.9", "an answer to the call"),
        ("ucmatose -s 127.80.27.9", "an answer to a call"),
        ("udaddy -s 127.80.27.9", "an answer to a question"),
    ];
    std::thread::scope(|scope| {
        for (place, (line, what)) in lines.into_iter().enumerate() {
            scope.spawn(move || {
                let own = format!("127.80.27.{}", 10 + place);
                let line: Vec<&str> = line.split(' ').chain(["--ip", &own, "--wait", "4"]).collect();
                rdmalab(&line).exits(1).says(&format!("rdmalab: nothing for 3 s: waiting for {what}"));
            });
        }
    });
    serve.end("-INT").exits(0);
}

#[test]
fn a_client_of_ucmatose_that_cannot_come_to_its_end_says_at_once_what_to_do() {
    let serve = Running::start(&["serve", "--ip", "127.80.5.1"], "until Ctrl-C");
    let client = ["ucmatose", "-s", "127.80.5.1", "--ip", "127.80.5.2"];
    let begun = Instant::now();
    rdmalab(&[&client[..], &["-C", "0"]].concat())
        .exits(1)
        .says("the server sends more than the 0 messages that were told of: start both sides with the same number (-C)");
    rdmalab(&[&client[..], &["--port", "7999"]].concat())
        .exits(1)
        .says("127.80.5.1:7999 refused the connection: nobody listens at that port");
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    serve.end("-INT").exits(0);
}
