//! Ctrl-C: everybody comes to an end with what there is to tell, and soon.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::program::{Running, rdmalab};

/// Far more than it takes, far less than the patience of anybody here.
const SOON: Duration = Duration::from_secs(8);

#[test]
fn serve_does_not_wait_for_a_silent_tcp_client() {
    let server = Running::start(&["serve", "--ip", "127.79.6.1"], "until Ctrl-C");
    let silent = TcpStream::connect("127.79.6.1:18516").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    let run = server.end("-INT").exits(0);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert!(run.out.contains("perf"), "{}", run.out);
    drop(silent);
}

/// As a terminal that is closed does to what runs in it; but not to what `nohup` started. What these tests are started by may
/// be either.
#[cfg(target_os = "linux")]
#[test]
fn a_hangup_ends_serve_as_ctrl_c_does_unless_it_is_ignored() {
    let serve = |hangup: &str, address: &str| {
        let line = [hangup, env!("CARGO_BIN_EXE_rdmalab"), "serve", "--ip", address];
        Running::of(std::process::Command::new("env").args(line), "until Ctrl-C")
    };
    let server = serve("--default-signal=HUP", "127.79.6.2");
    let run = server.end("-HUP").exits(0);
    assert!(run.out.contains("nobody came"), "{}", run.out);
    let server = serve("--ignore-signal=HUP", "127.79.6.3");
    // Else Ctrl-C were the second signal, and end it at once.
    server.signal("-HUP");
    let run = server.end("-INT").exits(0);
    assert!(run.out.contains("nobody came"), "{}", run.out);
}

#[test]
fn a_measurement_that_is_interrupted_tells_what_it_has_and_its_peer_notices() {
    for (way, server_address, client_address) in
        [("-N", "127.79.7.1", "127.79.7.2"), ("-R", "127.79.7.3", "127.79.7.4")]
    {
        let test = ["perf", "send", way, "-n", "100000000", "-s", "1000", "--ip"];
        let server = Running::start(&[&test[..], &[server_address]].concat(), "Waiting for client");
        let client = Running::start(&[&test[..], &[client_address, server_address]].concat(), "#bytes");
        std::thread::sleep(Duration::from_millis(500));
        let begun = Instant::now();
        let run = client.end("-INT").exits(0).says("interrupted: the table holds");
        let row = run.out.lines().find(|line| line.trim_start().starts_with("1000 "));
        assert!(row.is_some(), "{}", run.out);
        server.finish().exits(1);
        assert!(begun.elapsed() < SOON, "{way}: {:?}", begun.elapsed());
    }
}

#[test]
fn the_margins_of_a_test_that_is_interrupted_are_counted() {
    let tests = [["write", "-N"], ["write", "--lat"], ["send", "-N"], ["send", "--lat"]];
    for (place, [operation, way]) in (0..).step_by(2).zip(tests) {
        let [server_address, client_address] = [1, 2].map(|end| format!("127.79.12.{}", place + end));
        let test = ["perf", operation, way, "-D", "30", "-f", "10", "-s", "1000", "--ip"];
        let server = Running::start(&[&test[..], &[&server_address]].concat(), "Waiting for client");
        let line = [&test[..], &[&client_address, &server_address]].concat();
        let client = Running::start(&line, "#bytes");
        std::thread::sleep(Duration::from_millis(500));
        let run = client.end("-INT").exits(0).says("interrupted: the table holds");
        let row = run.out.lines().find(|line| line.trim_start().starts_with("1000 "));
        let cells: Vec<f64> = row.unwrap().split_whitespace().map(|cell| cell.parse().unwrap()).collect();
        assert!(cells[1] > 0.0 && cells[cells.len() - 1] > 0.0, "{operation} {way}: {}", run.out);
        server.finish().exits(1);
    }
}

#[test]
fn a_game_that_is_interrupted_tells_how_far_it_came() {
    let server = Running::start(&["pingpong", "-n", "100000000", "--ip", "127.79.8.1"], "listening");
    let client = Running::start(
        &["pingpong", "-n", "100000000", "--ip", "127.79.8.2", "127.79.8.1"],
        "remote address",
    );
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    let run = client.end("-INT").exits(0);
    assert!(run.out.contains("iters in") && run.out.contains("interrupted"), "{}", run.out);
    server.end("-INT").exits(0);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn who_waits_for_a_client_or_for_a_word_ends_without_being_asked_twice() {
    let alone = [
        (&["perf", "write", "--ip", "127.79.9.1"][..], "Waiting"),
        (&["perf", "write", "-R", "--ip", "127.79.9.2"], "Waiting"),
        (&["pingpong", "--ip", "127.79.9.3"], "listening"),
        (&["rping", "-s", "--ip", "127.79.9.4"], "listening"),
    ];
    for (arguments, until) in alone {
        let running = Running::start(arguments, until);
        let begun = Instant::now();
        running.end("-INT").exits(0);
        assert!(begun.elapsed() < SOON, "{arguments:?}: {:?}", begun.elapsed());
    }
    // One that has come and says nothing.
    for (program, address) in [("perf write", "127.79.9.5"), ("pingpong", "127.79.9.6")] {
        let arguments: Vec<&str> = program.split(' ').chain(["--ip", address]).collect();
        let running = Running::start(&arguments, if program == "pingpong" { "listening" } else { "Waiting" });
        let silent = TcpStream::connect((address, 18515)).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        running.end("-INT").exits(0);
        drop(silent);
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    for (line, why) in [
        (
            "serve --pingpong-port 18516",
            "rc_pingpong (--pingpong-port) and write_bw (--perf-port) cannot both have TCP port 18516",
        ),
        ("serve --uc-pingpong-port 18515", "cannot both have TCP port 18515"),
        ("serve --rping-port 7471", "rping and ucmatose cannot both have rdma_cm port 7471"),
        ("rping -c -a ::1", "-a ::1 and --ip must both be IPv4 or both be IPv6"),
        ("ucmatose -s ::1", "-s ::1 and --ip must both be"),
        ("perf write ::1", "SERVER ::1 and --ip must both be"),
        (
            "rping -c -a 127.0.0.1 -I 127.0.0.9",
            "-I 127.0.0.9 is not an address of ours: --ip gives 127.79.10.1",
        ),
        ("rping -s -a 127.0.0.1", "-a 127.0.0.1 is not an address of ours: --ip gives 127.79.10.1"),
        ("ucmatose -s 127.0.0.1 -b 127.0.0.9", "-b 127.0.0.9 is not an address of ours"),
        ("udaddy -s 127.0.0.1 -b 127.0.0.9", "-b 127.0.0.9 is not an address of ours"),
        (
            "udaddy -s 127.0.0.1 -S 5000",
            "a datagram of 5000 bytes (-S) is not possible: the link carries 4096",
        ),
        ("udaddy -s 127.0.0.1 -C 9000", "8192 datagrams (-C)"),
        ("rping", "<-s|-c>"),
        ("perf send -R --iwarp -c UD", "-c UD: iWARP has no datagrams"),
        ("perf write -Q 500 -t 100", "-Q 500: no more than 100 requests (-t)"),
        ("perf write -Q 129", "-Q 129: no more than 128 requests (-t)"),
        ("perf write -L 0", "0 is not in 1..=255"),
        (
            "serve --rping-port 0 --ucmatose-port 0 --udaddy-port 0 --pingpong-port 0 --uc-pingpong-port 0 \
             --ud-pingpong-port 0 --srq-pingpong-port 0 --perf-port 0",
            "all ports are 0: nothing is served",
        ),
        ("rping -c -a 127.0.0.1 -C 0", "'-C <COUNT>'"),
        ("pingpong -n 0", "'--iters <ROUNDS>'"),
        ("perf write -n 0", "'--iters <ITERS>'"),
    ] {
        let arguments: Vec<&str> = line.split(' ').chain(["--ip", "127.79.10.1"]).collect();
        rdmalab(&arguments).exits(2).says(why);
    }
}

#[test]
fn an_address_that_no_host_can_have_or_reach_from_is_refused_by_name() {
    for (line, why) in [
        ("-a 10.0.0.9 --ip 10.0.0.0/24", "--ip 10.0.0.0/24 is that of the network"),
        ("-a 10.0.0.9 --ip 10.0.0.255/24", "--ip 10.0.0.255/24 is the broadcast address of its network"),
        ("-a 10.0.0.9 --ip 10.0.0.1/0", "--ip 10.0.0.1/0 has a prefix of no bits"),
        (
            "-a 10.0.0.9 --ip 10.0.0.1/24 --gateway 10.0.0.2 --gateway 10.0.0.3",
            "--gateway: there is one next hop for IPv4 and one for IPv6",
        ),
        (
            "-a 10.8.0.77 --ip 10.0.0.1/24",
            "-a 10.8.0.77 is in none of the networks of --ip, and there is no --gateway",
        ),
        // With a way it is the interface that is missing.
        ("-a 10.8.0.77 --ip 10.0.0.1/24 --gateway 10.0.0.2", "no-such-if"),
    ] {
        let line = format!("rping -c --interface no-such-if {line}");
        rdmalab(&line.split(' ').collect::<Vec<_>>()).exits(2).says(why);
    }
}

#[test]
fn a_port_that_is_taken_is_told_with_the_program_whose_it_is() {
    let taken = std::net::TcpListener::bind("127.79.13.1:18519").unwrap();
    let run =
        rdmalab(&["serve", "--ip", "127.79.13.1"]).exits(1).says("atomic_bw (--perf-port): cannot listen");
    assert!(run.out.is_empty(), "{}", run.out);
    drop(taken);
}

#[test]
fn nobody_there_is_told_by_address() {
    let client = ["perf", "write", "-R", "--wait", "1", "--ip", "127.79.11.1", "127.79.11.2"];
    rdmalab(&client).exits(1).says("no connection to 127.79.11.2:18515");
    let server = Running::start(&["rping", "-s", "--ip", "127.79.11.2"], "listening");
    rdmalab(&client)
        .exits(1)
        .says("127.79.11.2:18515 refused the connection")
        .says("nobody listens at that port");
    server.end("-INT").exits(0);
}
