//! Every operation over a clean link and a link that mistreats one packet at a time.

use rdmalab_verbs::{Completion, CompletionStatus, Operation};
use rdmalab_wire::{ImmDt, PathMtu};

use crate::pair::{Fate, Pair};
use crate::side::{MEMORY, Setup};

/// What a flow leaves behind.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    memory: [Vec<u8>; 2],
    completions: [Vec<Completion>; 2],
}

const HALF: usize = MEMORY / 2;

/// Runs one of every operation, several packets long where it can be, from side 0 to side 1.
fn every_operation(setup: &Setup, judge: impl FnMut(u64, usize, &[u8]) -> Fate) -> (Outcome, u64) {
    let mut pair = Pair::new(setup);
    let [a, b] = &mut pair.sides;
    a.fill(0, HALF, 1);
    b.fill(HALF, HALF, 2);
    for id in 0..4 {
        b.receive(100 + id, id as usize * 4096, 4096).unwrap();
    }
    let remote = |offset| b.remote(offset);
    a.post(0, Operation::Send, 0, 2500).unwrap();
    a.post(1, Operation::RdmaWrite(remote(20_000)), 3000, 3000).unwrap();
    a.post(2, Operation::RdmaRead(remote(HALF)), HALF, 3100).unwrap();
    a.post(3, Operation::FetchAndAdd { remote: remote(HALF + 8192), add: 7 }, HALF + 4096, 8).unwrap();
    a.post(4, Operation::SendWithImmediate(ImmDt([1, 2, 3, 4])), 6000, 1).unwrap();
    a.post(5, Operation::RdmaRead(remote(HALF + 4096)), HALF + 8192, 2048).unwrap();
    let swap = Operation::CompareAndSwap { remote: remote(HALF + 8200), compare: 0, swap: 9 };
    a.post(6, swap, HALF + 4104, 8).unwrap();
    a.post(7, Operation::RdmaWriteWithImmediate(remote(30_000), ImmDt([5, 6, 7, 8])), 7000, 1025).unwrap();
    a.post(8, Operation::RdmaWrite(remote(0)), 0, 0).unwrap();
    a.post(9, Operation::RdmaRead(remote(0)), 0, 0).unwrap();
    a.post(10, Operation::Send, 0, 0).unwrap();
    pair.run(judge);
    let sent = pair.sent;
    let [a, b] = &mut pair.sides;
    let outcome = Outcome {
        memory: [a.bytes(0, MEMORY), b.bytes(0, MEMORY)],
        completions: [a.completions(), b.completions()],
    };
    (outcome, sent)
}

#[test]
fn every_operation_succeeds_on_a_clean_link() {
    let (outcome, _) = every_operation(&Setup::default(), |_, _, _| Fate::Deliver);
    let [a, b] = &outcome.completions;
    assert!(
        a.iter().chain(b).all(|completion| completion.status == CompletionStatus::Success),
        "{a:#?} {b:#?}"
    );
    assert_eq!(a.iter().map(|completion| completion.id).collect::<Vec<_>>(), (0..=10).collect::<Vec<_>>());
    assert_eq!(b.iter().map(|completion| completion.length).collect::<Vec<_>>(), [2500, 1, 1025, 0]);
    let [memory_a, memory_b] = &outcome.memory;
    assert_eq!(memory_b[..2500], memory_a[..2500], "SEND");
    assert_eq!(memory_b[20_000..23_000], memory_a[3000..6000], "WRITE");
    assert_eq!(memory_a[HALF..HALF + 3100], memory_b[HALF..HALF + 3100], "READ");
    assert_eq!(memory_b[30_000..31_025], memory_a[7000..8025], "WRITE with immediate");
}

#[test]
fn mistreating_any_one_packet_changes_nothing() {
    for mtu in [PathMtu::M256, PathMtu::M1024, PathMtu::M4096] {
        for reads in [1, 2, 8] {
            let setup = Setup { mtu, reads, first_psn: 0xff_fffb, ..Setup::default() };
            let (clean, packets) = every_operation(&setup, |_, _, _| Fate::Deliver);
            for fate in [Fate::Drop, Fate::Duplicate, Fate::Late, Fate::Corrupt] {
                for unlucky in 0..packets {
                    let (found, _) =
                        every_operation(
                            &setup,
                            |number, _, _| {
                                if number == unlucky { fate } else { Fate::Deliver }
                            },
                        );
                    assert!(
                        found == clean,
                        "{fate:?} of packet {unlucky} with {setup:?}: {:#?}",
                        found.completions
                    );
                }
            }
        }
    }
}
