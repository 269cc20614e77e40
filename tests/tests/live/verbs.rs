//! Every operation there is between us and a real Linux RoCE stack, in both roles: clean and under loss, through memory
//! windows and their ends, and refused where it must be. At the end each end compares every byte of its memory with what it must be.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rdmalab_tests::{Guest, Job, Network, Output, Place, Verdict};

const GUEST: std::net::Ipv4Addr = Place::GUEST;
const OURS: std::net::Ipv4Addr = Place::OURS;
const PORT: u16 = 18600;
const LIMIT: Duration = Duration::from_secs(60);

/// Each kind with single packets, for their number, and with messages of many. At a loss of 5 % each way it is all
/// but certain that packets of both ends are lost in each conversation. Linux never answers a READ of no bytes
/// that is asked for again, so that is only in [`CLEAN`].
const CONVERSATIONS: [&str; 4] = [
    "WRITE:33*300,WRITE:65537*4,WRITE:0",
    "READ:33*300,READ:65537*4",
    "CMP_SWAP*300,CMP_SWAP_MISS*20",
    "FETCH_ADD*300",
];

/// When Linux repeats one of its own, it names the address 0 (docs/RXE.md): under loss, only we send them.
const ATOMIC_WRITES: &str = "ATOMIC_WRITE*300";

/// What else there is, without loss.
const CLEAN: &str =
    "READ:0,SEND:0,SEND:4097*2,SEND_WITH_IMM:1,WRITE_WITH_IMM:65537*2,WRITE_WITH_IMM:0,READ:1";

/// Memory windows, and what must be refused: each ends its queue pair. Linux' kernel does not live through the second end of a
/// key, so no key is ended twice.
const WITH_KEYS: [&str; 10] = [
    "WRITE:33@1*3,WRITE_WITH_IMM:5000@1,READ:5000@1*2,CMP_SWAP@1,FETCH_ADD@1,ATOMIC_WRITE@1",
    "WRITE:33@2*3,WRITE_WITH_IMM:5000@2,READ:5000@2*2,CMP_SWAP@2,FETCH_ADD@2,ATOMIC_WRITE@2",
    "ATOMIC_WRITE@2!right",
    "WRITE:33@1!right",
    "READ:33@2!right",
    "WRITE:33@1!unbound",
    "READ:33@2!unbound",
    "WRITE:33@2!stranger",
    "SEND_WITH_INV:33@2*3,SEND_WITH_INV:5000@2,WRITE:33!ended",
    "SEND_WITH_INV:1@2,READ:33!ended",
];

/// The same with windows and keys of ours: Linux' windows have no bounds but the region's (docs/RXE.md), and an application
/// there cannot make fast-registered keys.
const WITH_OUR_KEYS: [&str; 5] = [
    "WRITE:5000@1,WRITE:3000@1!beyond",
    "READ:5000@2,READ:3000@2!beyond",
    "WRITE:5000@2!beyond",
    "FETCH_ADD@2!beyond",
    "SEND_WITH_INV:33@F*2,SEND_WITH_INV:5000@F,READ:33!ended",
];

/// Of what each end sends. The guest's is netem's, ours a seeded rule at the TAP; TCP and ARP are spared.
const LOSS_PERCENT: u32 = 5;

/// Linux asks, on our memory.
pub fn linux_is_active(place: &mut Place) {
    converse(place, PASSIVE);
}

/// We ask, on Linux' memory.
pub fn we_are_active(place: &mut Place) {
    converse(place, ACTIVE);
}

/// Linux asks through keys of ours, as long as they last.
pub fn linux_has_our_keys(place: &mut Place) {
    with_keys(place, PASSIVE, &[WITH_KEYS.as_slice(), &WITH_OUR_KEYS].concat());
}

/// We ask through keys of Linux', as long as they last.
pub fn we_have_linux_keys(place: &mut Place) {
    with_keys(place, ACTIVE, &WITH_KEYS);
}

/// What Linux 6.12 takes for the ICRC of a FLUSH nobody else does (docs/RXE.md): neither end hears the other's. Once this fails, FLUSH can
/// be tested as everything else is.
pub fn flush_is_unheard(place: &mut Place) {
    let Place { network, guest, .. } = place;
    let peer = listen(guest);
    let ours = network.capture(guest.tap(), "our-flush");
    hold(network, guest, &peer, &format!("--operations WRITE:33,FLUSH:64!unheard --retry 1 {ACTIVE}"));
    Verdict::of(network, &ours.finish()).expect_sound();
    let theirs = network.capture(guest.tap(), "linux-flush");
    hold(network, guest, &peer, &format!("--operations WRITE:33,FLUSH:64!unheard --retry 1 {PASSIVE}"));
    let file = theirs.finish();
    let verdict = Verdict::of(network, &file);
    let mut dump = Command::new(place.program());
    dump.arg("dump").arg(&file).args(["--filter", "infiniband.bth.opcode == 28"]);
    let said = dump.output().expect("rdmalab dump can be run");
    let flushes = String::from_utf8_lossy(&said.stdout);
    let wrong = flushes.lines().filter(|line| line.contains("FLUSH") && line.contains("icrc BAD")).count();
    // Sent once, and once more.
    assert_eq!((wrong, flushes.lines().count()), (2, 2), "{flushes}");
    assert_eq!(verdict.ours.icrc_right + 2, verdict.ours.roce, "{verdict:?}");
    let faults = &verdict.conduct.faults;
    assert!(faults.len() == 2 && faults.iter().all(|fault| fault.contains("icrc")), "{faults:?}");
    content(&place.guest, peer, 2);
}

const ACTIVE: &str = "";
const PASSIVE: &str = "--passive";

fn with_keys(place: &mut Place, role: &str, conversations: &[&str]) {
    let Place { network, guest, .. } = place;
    let peer = listen(guest);
    let capture = network.capture(guest.tap(), "keys");
    for operations in conversations {
        hold(network, guest, &peer, &format!("--operations {operations} {role}"));
    }
    Verdict::of(network, &capture.finish()).expect_sound();
    content(guest, peer, conversations.len());
}

fn converse(place: &mut Place, role: &str) {
    let Place { network, guest, .. } = place;
    let peer = listen(guest);
    let (mut dropped_before, mut held) = (0, 0);
    for loss in [0, LOSS_PERCENT] {
        if loss > 0 {
            guest.netem_roce_loss(loss);
        }
        let capture = network.capture(guest.tap(), &format!("loss{loss}"));
        let also = (loss == 0).then_some(CLEAN);
        let atomic_writes = (loss == 0 || role == ACTIVE).then_some(ATOMIC_WRITES);
        let (mut again, mut lost) = (0, 0);
        let all = CONVERSATIONS.into_iter().chain(atomic_writes).chain(also);
        for (number, operations) in all.enumerate() {
            held += 1;
            // One path MTU for half of the conversations, the other for the rest, each with short and long messages.
            let mtu = [1024, 4096][number % 2];
            let rate = f64::from(loss) / 100.0;
            let line =
                format!("--operations {operations} --mtu {mtu} --seed {number} --drop-rate {rate} {role}");
            let ours = hold(network, guest, &peer, &line);
            again += ours.again().unwrap_or_else(|| panic!("it does not say what it sent again: {ours}"));
            lost += ours.number_after("dropped by rule:").unwrap_or_default();
            if loss > 0 {
                let dropped = guest.netem_dropped();
                assert!(dropped > dropped_before, "the guest lost nothing: {line}");
                dropped_before = dropped;
                let dropped = ours.number_after("dropped by rule:");
                assert!(dropped.is_some_and(|dropped| dropped > 0), "we lost nothing: {line}, {ours}");
            }
        }
        let verdict = Verdict::of(network, &capture.finish());
        verdict.expect_sound();
        verdict.conduct.fits(again, lost).unwrap_or_else(|fault| panic!("{fault}"));
    }
    content(guest, peer, held);
}

/// Starts the other end, in the guest.
#[track_caller]
fn listen(guest: &Guest) -> Job {
    guest.put("verbs_peer.py", include_str!("../../peers/verbs_peer.py"));
    let listen = format!("/usr/bin/python3 /mnt/verbs_peer.py --listen {PORT}");
    let peer = guest.spawn(&listen, Duration::from_secs(280));
    guest.wait_for_listener(PORT, LIMIT);
    peer
}

/// Holds one conversation, with which our end must be content.
#[track_caller]
fn hold(network: &Network, guest: &Guest, peer: &Job, line: &str) -> Output {
    let line = format!("--tap {} --ip {OURS}/24 --peer {GUEST}:{PORT} {line}", Network::TAP);
    let arguments: Vec<&str> = line.split_whitespace().collect();
    let program = Path::new(env!("CARGO_BIN_EXE_verbs-end"));
    let ours = network.start("ours", program, &arguments).end_within(LIMIT);
    assert!(
        ours.success(),
        "{line}\nours: {ours}\nthe peer: {}\nthe guest: {}",
        peer.output_so_far(),
        guest.state()
    );
    ours
}

/// The peer's own word on each conversation, that both ends were content.
#[track_caller]
fn content(guest: &Guest, peer: Job, count: usize) {
    let said = peer.stop().unwrap_or_else(|stuck| panic!("{stuck}\n{}", guest.state())).stdout;
    let content = said.lines().filter(|line| line.contains(r#""verdict": "ok", "other": "ok""#)).count();
    assert_eq!(content, count, "{said}");
}
