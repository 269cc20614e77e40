use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::AtomicBool;

use rdmalab_device::{Psn, Qpn, RKey};

use super::*;

/// A peer whose part is written down.
struct Script {
    says: VecDeque<u8>,
    /// What it does when it has said all: it is silent, or hangs up.
    hangs_up: bool,
    heard: Vec<u8>,
}

impl Script {
    fn new(says: &[&[u8]]) -> Self {
        Self { says: says.concat().into(), hangs_up: true, heard: Vec::new() }
    }

    fn silent(says: &[&[u8]]) -> Self {
        Self { hangs_up: false, ..Self::new(says) }
    }
}

impl Read for Script {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.says.is_empty() && !self.hangs_up {
            return Err(io::ErrorKind::TimedOut.into());
        }
        // In pieces, as TCP may.
        let count = out.len().min(self.says.len()).min(3);
        for (place, byte) in out.iter_mut().zip(self.says.drain(..count)) {
            *place = byte;
        }
        Ok(count)
    }
}

impl Write for Script {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.heard.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Wait for Script {
    fn set_patience(&mut self, _: Option<Duration>) {}

    fn is_over(&self) -> bool {
        false
    }
}

const VERSION: &[u8] = b"6.06\0\0\0\0\0\0\0\0\0\0\0\0";
const CYCLE_SEEN: &[u8] = b"\0\0\x10\0";
const LINE_SEEN: &[u8] = b"\0\0\0@";
/// The client's and the server's queue pair, recorded of `ib_write_bw -n 5 -s 10000`.
const CLIENT: &[u8] = b"0000:0001:000012:b8b0ba:00000307:0000558f778e6710:\
    00:00:00:00:00:00:00:00:00:00:ff:ff:0a:09:00:01:00000000:\0";
const SERVER: &[u8] = b"0000:0001:000011:c532ad:000002be:0000563ad931e710:\
    00:00:00:00:00:00:00:00:00:00:ff:ff:0a:09:00:01:00000000:\0";

fn side(queue_pair: u32, psn: u32, key: u32, address: u64) -> Side {
    Side {
        outstanding: 1,
        queue_pair: Qpn::new(queue_pair),
        psn: Psn::new(psn),
        key: RKey::new(key),
        address,
        gid: [10, 9, 0, 1].into(),
    }
}

fn the_client() -> Side {
    side(0x12, 0xb8b0ba, 0x307, 0x558f778e6710)
}

fn the_server() -> Side {
    side(0x11, 0xc532ad, 0x2be, 0x563ad931e710)
}

const CLIENT_ROLE: Role = Role::Client(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

static GOES_ON: AtomicBool = AtomicBool::new(false);

fn exchange(script: Script, role: Role) -> Exchange<'static, Script> {
    // Nothing arrives beside the words.
    Exchange::new(script, role, Some(Duration::from_millis(1)), &GOES_ON, &|| 0)
}

#[test]
fn a_recorded_client_gets_the_recorded_servers_part() {
    let results = [
        b"\0\0\0\0\0\0'\x10".as_slice(),
        b"\0\0\0\0\0\0\0\x05",
        b"?\xd8c\xcb\xac\x83\xbc\x8f",
        b"?\xd3\x03\x90\xcez\x84d",
        b"?\0U5\x01\xa0\xf8\x04",
    ]
    .concat();
    let says = [VERSION, CYCLE_SEEN, LINE_SEEN, b"5\0", CLIENT, CLIENT, CLIENT, CLIENT, &results, CLIENT];
    let mut server = exchange(Script::new(&says), Role::Server);
    let terms = server.agree(PathMtu::M4096).unwrap();
    assert_eq!(terms, Terms { mtu: PathMtu::M4096, cycle: 4096, line: 64 });
    let ours = [the_server()];
    let theirs = server.sides(&ours).unwrap();
    assert_eq!(theirs, [the_client()]);
    server.connected(&ours, &theirs).unwrap();
    for _ in 0..2 {
        server.meet(&ours, &theirs).unwrap();
    }
    let figures = server.figures(&Figures::default(), true).unwrap();
    assert_eq!((figures.size, figures.iterations), (10000, 5));
    server.meet(&ours, &theirs).unwrap();

    let said = [VERSION, CYCLE_SEEN, LINE_SEEN, b"5\0", SERVER, SERVER, SERVER, SERVER, &[0; 40], SERVER];
    assert_eq!(server.stream.heard, said.concat());
}

#[test]
fn a_recorded_server_gets_the_recorded_clients_part() {
    let garbage =
        b"\0\0\x7f\xfe#=\x8c$\0\0\x7fk\xc5aa\x1a\0\0\0\0\0\0\0\x06\0\0\x7fk\xc5`\xb3@\0\0\x7f\xfe#=\x8c$";
    let says = [VERSION, CYCLE_SEEN, LINE_SEEN, b"3\0", SERVER, SERVER, SERVER, garbage];
    let mut client = exchange(Script::new(&says), CLIENT_ROLE);
    assert_eq!(client.agree(PathMtu::M4096).unwrap().mtu, PathMtu::M1024, "the smaller one");
    let ours = [the_client()];
    let theirs = client.sides(&ours).unwrap();
    assert_eq!(theirs, [the_server()]);
    client.connected(&ours, &theirs).unwrap();
    client.meet(&ours, &theirs).unwrap();
    // The real server, having nothing to tell, tells what lies around in its memory.
    client.figures(&Figures { size: 10000, ..Figures::default() }, false).unwrap();
    let said =
        [VERSION, CYCLE_SEEN, LINE_SEEN, b"5\0", CLIENT, CLIENT, CLIENT, b"\0\0\0\0\0\0'\x10", &[0; 32]];
    assert_eq!(client.stream.heard, said.concat());
}

#[test]
fn whatever_is_wrong_in_the_beginning_is_named() {
    let cases: [(&[&[u8]], &str); 6] = [
        (&[b"GET / HTTP/1.1\r\n"], "is not a program of perftest"),
        (&[b"5.50\0\0\0\0\0\0\0\0\0\0\0\0"], "\"5.50\""),
        (&[VERSION, b"\0\0\0\0"], "the size of the cycle of addresses"),
        (&[VERSION, b"\x7f\xff\xff\xff"], "the size of the cycle of addresses"),
        (&[VERSION, CYCLE_SEEN, b"\0\0\0\x03"], "the size of a cache line"),
        (&[VERSION, CYCLE_SEEN, LINE_SEEN, b"9\0"], "the path MTU of the peer is not"),
    ];
    for (says, named) in cases {
        for role in [Role::Server, CLIENT_ROLE] {
            let error = exchange(Script::new(says), role).agree(PathMtu::M1024).unwrap_err();
            assert!(error.to_string().contains(named), "{named:?} is not in {error}");
        }
    }
}

#[test]
fn a_larger_cycle_of_the_peer_counts_for_both() {
    let says: [&[u8]; 4] = [VERSION, b"\0\x01\0\0", b"\0\0\0\x80", b"5\0"];
    let terms = exchange(Script::new(&says), Role::Server).agree(PathMtu::M256).unwrap();
    assert_eq!(terms, Terms { mtu: PathMtu::M256, cycle: 65536, line: 128 });
}

#[test]
fn a_peer_with_another_number_of_queue_pairs_is_told_so() {
    let second = the_client().encode().map(|byte| if byte == b'2' { b'3' } else { byte });
    let says = [CLIENT, &second, CLIENT, &second];
    let mut one = exchange(Script::new(&says), Role::Server);
    let theirs = one.sides(&[the_server()]).unwrap();
    let outcome = one.connected(&[the_server()], &theirs);
    assert!(matches!(outcome, Err(PerfError::OtherQueuePairs)), "they have two, we one: {outcome:?}");

    let two = [the_server(), side(0x99, 1, 1, 1)];
    let outcome = exchange(Script::new(&[CLIENT, CLIENT]), Role::Server).sides(&two);
    assert!(matches!(outcome, Err(PerfError::OtherQueuePairs)), "they have one, we two: {outcome:?}");
}

#[test]
fn words_in_the_place_of_results_are_refused() {
    let mut server = exchange(Script::new(&[CLIENT]), Role::Server);
    let error = server.figures(&Figures::default(), true).unwrap_err();
    assert!(error.to_string().starts_with("the results of the peer"), "{error}");
}

#[test]
fn a_peer_that_hangs_up_is_told_from_one_that_is_silent() {
    let error = exchange(Script::new(&[&VERSION[..7]]), Role::Server).agree(PathMtu::M256).unwrap_err();
    let hung_up = matches!(error, PerfError::Hangup { what: "the version", got: 7, expected: 16 });
    assert!(hung_up, "{error}");
    let error = exchange(Script::silent(&[VERSION]), Role::Server).agree(PathMtu::M256).unwrap_err();
    assert!(matches!(error, PerfError::Silence { .. }), "{error}");
}

#[test]
fn a_peer_whose_packets_arrive_is_not_silent() {
    let looks = Cell::new(0);
    // Packets arrive at the first thousand looks, none later.
    let heard = || {
        looks.set(looks.get() + 1);
        looks.get().min(1000)
    };
    let script = Script::silent(&[]);
    let mut server = Exchange::new(script, Role::Server, Some(Duration::ZERO), &GOES_ON, &heard);
    let error = server.agree(PathMtu::M256).unwrap_err();
    assert!(matches!(error, PerfError::Silence { .. }), "{error}");
    assert!(looks.get() > 1000, "it gave up after {} looks", looks.get());
}
