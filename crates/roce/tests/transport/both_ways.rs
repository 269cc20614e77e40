//! Both sides ask and answer at once, and messages find no receive at first: over a link that mistreats one packet at a
//! time.

use rdmalab_verbs::{Completion, CompletionStatus, Operation};
use rdmalab_wire::{ImmDt, PathMtu};

use crate::pair::{Fate, Pair};
use crate::side::Setup;

/// What a flow leaves behind. Completions of requests and of receives come each in order; how the two kinds mingle may
/// depend on what the link does.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    memory: [Vec<u8>; 2],
    sent: [Vec<Completion>; 2],
    received: [Vec<Completion>; 2],
}

/// Each side's memory: what it sends and reads into, what the peer reads, what the peer writes, and receives.
const READ: usize = 20_000;
const WRITTEN: usize = 32_000;
const RECEIVES: usize = 44_000;
const USED: usize = RECEIVES + 3 * 4096;
/// Numbers of receives begin here.
const RECEIVE: u64 = 100;
/// What every message that wants a receive carries, and every receive holds.
const LENGTHS: [usize; 3] = [2500, 1, 1025];

const FATES: [Fate; 6] = [
    Fate::Drop,
    Fate::Duplicate,
    Fate::Late,
    Fate::Corrupt,
    // Longer than the local ACK timeout, so that it comes in the midst of what was sent since.
    Fate::Held(100_000_000),
    Fate::Echo(100_000_000),
];

fn post_receives(pair: &mut Pair, side: usize) {
    for n in 0..LENGTHS.len() {
        pair.sides[side].receive(RECEIVE + n as u64, RECEIVES + n * 4096, 4096).unwrap();
    }
}

fn post_requests(pair: &mut Pair, side: usize) {
    let remote = |offset| pair.sides[1 - side].remote(offset);
    let operations = [
        (Operation::RdmaRead(remote(READ)), 10_000, 3000),
        (Operation::Send, 0, LENGTHS[0]),
        (Operation::FetchAndAdd { remote: remote(READ + 8192), add: 5 }, 14_000, 8),
        (Operation::RdmaWrite(remote(WRITTEN)), 3000, 3000),
        (Operation::RdmaWrite(remote(WRITTEN + 10)), 6000, 700),
        (Operation::RdmaWriteWithImmediate(remote(WRITTEN + 5000), ImmDt([7; 4])), 500, LENGTHS[1]),
        (Operation::RdmaRead(remote(WRITTEN)), 15_000, 3000),
        (Operation::CompareAndSwap { remote: remote(READ + 8192), compare: 0, swap: 9 }, 14_008, 8),
        (Operation::SendWithImmediate(ImmDt([8; 4])), 700, LENGTHS[2]),
        (Operation::RdmaWrite(remote(WRITTEN + 8000)), 6000, 1500),
    ];
    for (id, (operation, offset, length)) in operations.into_iter().enumerate() {
        pair.sides[side].post(id as u64, operation, offset, length).unwrap();
    }
}

/// Runs the same work in both directions. With `late`, receives are posted only when both sides have been told that
/// there are none.
fn both_ways(setup: &Setup, late: bool, mut judge: impl FnMut(u64) -> Fate) -> (Outcome, u64) {
    let mut pair = Pair::new(setup);
    for side in 0..2 {
        pair.sides[side].fill(0, READ, 1 + side as u8);
        pair.sides[side].fill(READ, 8192, 3 + side as u8);
        if !late {
            post_receives(&mut pair, side);
        }
        post_requests(&mut pair, side);
    }
    if late {
        pair.run_until(3_000_000, |number, _, _| judge(number));
        for side in 0..2 {
            assert!(pair.sides[side].endpoint.counters().send_rnr_err > 0, "side {side} was ready");
            post_receives(&mut pair, side);
        }
    }
    pair.run(|number, _, _| judge(number));
    let packets = pair.sent;
    let completions = pair.sides.each_mut().map(|side| side.completions());
    let of_kind = |received: bool| {
        completions
            .each_ref()
            .map(|all| all.iter().filter(|one| (one.id >= RECEIVE) == received).copied().collect::<Vec<_>>())
    };
    let outcome = Outcome {
        memory: pair.sides.each_ref().map(|side| side.bytes(0, USED)),
        sent: of_kind(false),
        received: of_kind(true),
    };
    (outcome, packets)
}

/// What must come out, whatever the link does.
fn expect_everything(outcome: &Outcome) {
    for (side, peer) in [(0, 1), (1, 0)] {
        let ids: Vec<u64> = outcome.sent[side].iter().map(|one| one.id).collect();
        assert_eq!(ids, (0..10).collect::<Vec<_>>());
        let lengths: Vec<usize> = outcome.received[side].iter().map(|one| one.length as usize).collect();
        assert_eq!(lengths, LENGTHS);
        let all = outcome.sent[side].iter().chain(&outcome.received[side]);
        assert!(all.clone().all(|one| one.status == CompletionStatus::Success), "{outcome:?}");

        let (ours, theirs) = (&outcome.memory[side], &outcome.memory[peer]);
        assert_eq!(ours[10_000..13_000], theirs[READ..READ + 3000], "READ");
        assert_eq!(ours[15_000..18_000], theirs[WRITTEN..WRITTEN + 3000], "READ of what was written before");
        assert_eq!(theirs[WRITTEN..WRITTEN + 10], ours[3000..3010], "WRITE");
        assert_eq!(theirs[WRITTEN + 10..WRITTEN + 710], ours[6000..6700], "WRITE over a part of it");
        assert_eq!(theirs[RECEIVES..RECEIVES + 2500], ours[..2500], "SEND");
        assert_eq!(theirs[RECEIVES + 8192..RECEIVES + 8192 + 1025], ours[700..1725], "SEND with immediate");
        let word = |bytes: &[u8], at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!(word(theirs, READ + 8192), 5, "FETCH_ADD once, and then no swap");
        assert_eq!((word(ours, 14_000), word(ours, 14_008)), (0, 5), "what the atomics found");
    }
}

fn mistreat_each(setup: &Setup, late: bool) {
    let (clean, packets) = both_ways(setup, late, |_| Fate::Deliver);
    expect_everything(&clean);
    for fate in FATES {
        for unlucky in 0..packets {
            let judge = |number| if number == unlucky { fate } else { Fate::Deliver };
            let (found, _) = both_ways(setup, late, judge);
            assert!(found == clean, "{fate:?} of packet {unlucky}: {:#?}", found.sent);
        }
    }
}

#[test]
fn mistreating_any_packet_of_two_directions_at_once_changes_nothing() {
    mistreat_each(&Setup { mtu: PathMtu::M256, first_psn: 0xff_fffb, reads: 1, ..Setup::default() }, false);
}

#[test]
fn mistreating_any_packet_while_receives_come_late_changes_nothing() {
    mistreat_each(&Setup { first_psn: 0xff_fffe, ..Setup::default() }, true);
}
