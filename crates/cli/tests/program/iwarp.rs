//! The programs of rdma_cm over iWARP, by the kernel's TCP on loopback addresses: as an ordinary user runs them.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::program::{Running, rdmalab};

const IWARP: [&str; 1] = ["--iwarp"];

/// Runs a client against a server that listens already.
#[track_caller]
fn called(line: &str, more: &[&str]) -> String {
    let line: Vec<&str> = line.split(' ').collect();
    rdmalab(&[line.as_slice(), &IWARP, more].concat()).exits(0).out
}

#[test]
fn serve_has_clients_of_rping_and_ucmatose() {
    let (serving, own) = ("127.81.1.1", "127.81.1.2");
    let serve = Running::start(&["serve", "--iwarp", "--ip", serving, "--every", "1000"], "until Ctrl-C");
    let ping = format!("rping -c -a {serving} -C 20 -V -S 3000 --ip {own}");
    for options in [&[][..], &["--crc", "off", "--markers"], &["--iwarp-profile", "chelsio-like"]] {
        let said = called(&ping, options);
        assert!(said.contains("20 messages of 3000 bytes"), "{said}");
        assert!(said.contains("iWARP: ") && said.contains(" FPDUs sent"), "{said}");
    }
    called(&format!("ucmatose -s {serving} -c 50 --ip {own}"), &[]);
    let run = serve.end("-INT").exits(0);
    for counter in ["sent_fpdus=", "sent_bytes=", "received_bytes="] {
        let is_told = |line: &&str| line.starts_with("iWARP counters: ") && line.contains(counter);
        assert!(run.lines().iter().any(is_told), "{counter} is not in:\n{}", run.out);
    }
    // All columns but who is there now: of a client that has just gone, the other end may not be through yet.
    for words in [["rping", own, "3", "0", "0", "60"], ["ucmatose", own, "50", "0", "0", "500"]] {
        let is_there = |line: &&str| {
            let columns = line.split_whitespace().take(words.len() + 1).enumerate();
            columns.filter(|(place, _)| *place != 2).map(|(_, word)| word).eq(words)
        };
        assert!(run.lines().iter().any(is_there), "{words:?} is not in:\n{}", run.out);
    }
}

#[test]
fn perf_connects_by_rdma_cm_and_moves_each_operation() {
    for (number, test) in ["write", "read", "send", "atomic"].into_iter().enumerate() {
        let server = format!("127.81.2.{}", 2 * number + 1);
        let client = format!("127.81.2.{}", 2 * number + 2);
        let line = ["perf", test, "-R", "--iwarp", "-n", "50", "-q", "4", "--ip", &server];
        let serving = Running::start(&line, "Waiting for client");
        let said = called(&format!("perf {test} -R -n 50 -q 4 --ip {client} {server}"), &[]);
        assert!(said.contains("BW average"), "{said}");
        serving.finish().exits(0);
    }
}

#[test]
fn what_does_not_go_with_iwarp_is_wrong_usage() {
    let ip = ["--ip", "127.81.3.1", "--iwarp"];
    for (line, why) in [
        (&["pingpong"][..], "without rdma_cm"),
        (&["perf", "write"], "add -R"),
        (&["udaddy", "-s", "127.81.3.2"], "no datagrams"),
        (&["rping", "-s", "--pcap", "never.pcapng"], "not ours to lose or record"),
        (&["rping", "-s", "--drop-rate", "0.1"], "not ours to lose or record"),
        (&["rping", "-s", "--iwarp-profile", "hardware"], "spec, siw, chelsio-like"),
        (&["rping", "-s", "--profile", "spec"], "cannot be used with"),
        (&["rping", "-s", "--congestion", "none"], "cannot be used with"),
    ] {
        let run = rdmalab(&[line, &ip].concat()).exits(2);
        assert!(run.err.contains(why), "{line:?}: {}", run.err);
    }
    for iwarps in [&["--crc", "off"][..], &["--markers"], &["--iwarp-profile", "siw"]] {
        let run = rdmalab(&[&["rping", "-s", "--ip", "127.81.3.1"], iwarps].concat()).exits(2);
        assert!(run.err.contains("--iwarp"), "{iwarps:?}: {}", run.err);
    }
}

/// What a server says in the place of a reply, and what the caller is told; no more than that, and then the end.
#[test]
fn a_caller_is_told_what_is_wrong_with_the_answer() {
    let serving = "127.81.6.1";
    let listener = std::net::TcpListener::bind((serving, 7174)).unwrap();
    for (answer, told) in [
        (&b""[..], "closed or reset before there was a reply of MPA"),
        (b"MPA ID Rep", "closed or reset before there was a reply of MPA"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not the start-up of MPA"),
        (b"MPA ID Req Frame\x40\x01\0\0", "the peer sent a request of MPA, where its reply was due"),
        (b"MPA ID Rep Frame\x40\x03\0\0", "the peer speaks revision 3 of MPA"),
        (b"MPA ID Rep Frame\x40\x01\xff\xff", "not the start-up of MPA"),
        (b"MPA ID Rep Frame\x40\x01\0\0", "try revision 1"),
        // No ready-to-receive message that we know; more READs than we answer at once.
        (b"MPA ID Rep Frame\x50\x02\0\x04\x80\x01\0\x01", "on terms that we cannot take"),
        (b"MPA ID Rep Frame\x20\x02\0\0", "refused the connection"),
    ] {
        let answering = std::thread::spawn({
            let listener = listener.try_clone().unwrap();
            move || {
                let (mut caller, _) = listener.accept().unwrap();
                // Its request, without the private data.
                let mut request = [0; 20];
                caller.read_exact(&mut request).unwrap();
                caller.write_all(answer).unwrap();
                caller.shutdown(std::net::Shutdown::Write).unwrap();
                // It may be reset.
                let _ = caller.read_to_end(&mut Vec::new());
            }
        });
        let run =
            rdmalab(&["rping", "-c", "-C", "1", "-a", serving, "--ip", "127.81.6.2", "--iwarp"]).exits(1);
        assert!(run.err.contains(told), "{:?}: {}", String::from_utf8_lossy(answer), run.err);
        answering.join().unwrap();
    }
}

/// It is between two pings, where any other end would be as good as another.
#[test]
fn a_client_that_a_terminate_message_ends_has_failed_and_the_server_says_why() {
    let serving = "127.81.5.1";
    let server = Running::start(&["rping", "-s", "-a", serving, "--ip", serving, "--iwarp"], "listening");
    let mut peer = TcpStream::connect((serving, 7174)).unwrap();
    peer.write_all(b"MPA ID Req Frame\x40\x01\0\0").unwrap();
    let mut reply = [0; 20];
    peer.read_exact(&mut reply).unwrap();
    assert!(reply.starts_with(b"MPA ID Rep Frame"), "{reply:?}");
    // An empty WRITE, whose CRC is wrong.
    peer.write_all(&[0, 14, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]).unwrap();
    // The Terminate message, and the end behind it.
    let mut terminate = Vec::new();
    peer.read_to_end(&mut terminate).unwrap();
    drop(peer);
    assert!(terminate.len() > 20, "{terminate:?}");
    server.finish().exits(1).says("this side ended it, since what the peer sent was wrong: TERMINATE");
}
