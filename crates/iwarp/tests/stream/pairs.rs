//! Two queue pairs, back to back: every operation, with markers and without, with CRCs and without.
//!
//! Rule: iwarp-pair-operations: What is sent, written or read arrives as it was, however long, with markers or
//! without, with CRCs or without (RFC 5040 §5, RFC 5041 §5, RFC 5044 §4).

use rdmalab_iwarp::{Event, ReadyToReceive};
use rdmalab_verbs::{CompletionKind, Operation, State};
use rdmalab_wire::ImmDt;

use crate::pair::Pair;
use crate::side::{Setup, pattern};

/// With and without markers and CRCs, in segments of several sizes.
pub fn setups() -> impl Iterator<Item = Setup> {
    [(true, false), (false, false), (true, true), (false, true)].into_iter().flat_map(|(crc, markers)| {
        [1460, 536, 8960, 65_000].map(|segment_size| Setup {
            crc,
            markers,
            segment_size,
            memory: 1 << 18,
            ..Setup::default()
        })
    })
}

#[test]
fn a_write_of_64_kib_arrives() {
    for setup in setups() {
        let mut pair = Pair::new(setup);
        let data = pattern(1, 65_536);
        pair.sides[0].fill(0, &data);
        pair.post(0, Operation::RdmaWrite(pair.remote(0, 100)), 0, data.len());
        pair.run();
        pair.expect_success(0, 1);
        pair.expect_success(1, 0);
        assert!(pair.sides[1].bytes(100, data.len()) == data, "{setup:?}");
    }
}

#[test]
fn a_send_of_64_kib_arrives() {
    for setup in setups() {
        let mut pair = Pair::new(setup);
        let data = pattern(2, 65_536);
        pair.sides[0].fill(0, &data);
        pair.sides[1].receive(7, 1000, 70_000);
        pair.post(0, Operation::Send, 0, data.len());
        pair.run();
        pair.expect_success(0, 1);
        let received = pair.expect_success(1, 1)[0];
        assert_eq!((received.id, received.length), (7, 65_536));
        assert!(pair.sides[1].bytes(1000, data.len()) == data, "{setup:?}");
    }
}

#[test]
fn a_read_of_64_kib_arrives() {
    for setup in setups() {
        let mut pair = Pair::new(setup);
        let data = pattern(3, 65_536);
        pair.sides[1].fill(200, &data);
        pair.post(0, Operation::RdmaRead(pair.remote(0, 200)), 4000, data.len());
        pair.run();
        let read = pair.expect_success(0, 1)[0];
        assert_eq!((read.kind, read.length), (CompletionKind::RdmaRead, 65_536));
        assert!(pair.sides[0].bytes(4000, data.len()) == data, "{setup:?}");
    }
}

const LENGTHS: [usize; 2] = [700, 3000];

/// Everything there is, both ways at once, in messages of about these lengths.
pub fn converse(pair: &mut Pair, lengths: [usize; 2]) {
    for (side, length) in lengths.into_iter().enumerate() {
        pair.sides[1 - side].receive(1, 20_000, 4000);
        pair.sides[1 - side].receive(2, 24_000, 0);
        pair.sides[side].fill(0, &pattern(side, 8000));
        let remote = |pair: &Pair, offset| pair.remote(side, offset);
        pair.post(side, Operation::RdmaWrite(remote(pair, 10_000)), 0, length);
        pair.post(side, Operation::Send, 100, length);
        pair.post(side, Operation::RdmaRead(remote(pair, 300)), 14_000, length);
        pair.post(side, Operation::FetchAndAdd { remote: remote(pair, 8192), add: 5 }, 18_000, 8);
        let compare = Operation::CompareAndSwap { remote: remote(pair, 8192), compare: 5, swap: 9 };
        pair.post(side, compare, 18_008, 8);
        let immediate = ImmDt([1, 2, 3, side as u8]);
        pair.post(side, Operation::RdmaWriteWithImmediate(remote(pair, 33_000), immediate), 50, length / 2);
        pair.post(side, Operation::RdmaRead(remote(pair, 0)), 19_000, 0);
    }
    pair.run();
}

#[test]
fn all_operations_in_both_directions_arrive() {
    for setup in setups() {
        let mut pair = Pair::new(setup);
        converse(&mut pair, LENGTHS);
        for (side, length) in LENGTHS.into_iter().enumerate() {
            let data = pattern(side, 8000);
            let other = &pair.sides[1 - side];
            assert_eq!(other.bytes(10_000, length), data[..length], "WRITE {setup:?}");
            assert_eq!(other.bytes(20_000, length), data[100..][..length], "SEND {setup:?}");
            assert_eq!(other.bytes(33_000, length / 2), data[50..][..length / 2], "WRITE with immediate");
            let theirs = pattern(1 - side, 8000);
            assert_eq!(pair.sides[side].bytes(14_000, length), theirs[300..][..length], "READ {setup:?}");
            let results = pair.sides[side].bytes(18_000, 16);
            assert_eq!(results, [0_u64.to_ne_bytes(), 5_u64.to_ne_bytes()].concat());
            assert_eq!(other.bytes(8192, 8), 9_u64.to_ne_bytes());
            let completions = pair.expect_success(side, 9);
            let received: Vec<_> =
                completions.iter().filter(|it| it.kind == CompletionKind::Receive).collect();
            assert_eq!(received.len(), 1);
            let immediate: Vec<_> = completions
                .iter()
                .filter(|it| it.kind == CompletionKind::ReceiveRdmaWithImmediate)
                .map(|it| (it.immediate, it.length))
                .collect();
            let other = 1 - side;
            assert_eq!(immediate, [(Some(ImmDt([1, 2, 3, other as u8])), LENGTHS[other] as u32 / 2)]);
        }
    }
}

#[test]
fn either_side_can_close_in_order() {
    for closer in [0, 1] {
        for setup in setups() {
            let mut pair = Pair::new(setup);
            converse(&mut pair, LENGTHS);
            pair.disconnect(closer);
            pair.run();
            let told = [Event::CloseSending, Event::Closed { graceful: true }];
            assert_eq!(pair.events, [told, told]);
            assert!(pair.sides.iter().all(|side| side.queue_pair.state() == State::Err));
        }
    }
}

#[test]
fn each_ready_to_receive_message_lets_the_responder_begin() {
    for ready in [ReadyToReceive::Empty, ReadyToReceive::Write, ReadyToReceive::Read] {
        for setup in setups() {
            for ird in [0, 4] {
                let setup = Setup { ready: Some(ready), ird, ord: ird, ..setup };
                let mut pair = Pair::new(setup);
                pair.sides[0].receive(1, 0, 100);
                pair.post(1, Operation::Send, 0, 100);
                pair.run();
                pair.expect_success(0, 1);
                pair.expect_success(1, 1);
                if ird > 0 {
                    pair.post(0, Operation::RdmaRead(pair.remote(0, 0)), 0, 100);
                    pair.run();
                    pair.expect_success(0, 1);
                }
            }
        }
    }
}

#[test]
fn a_responder_says_nothing_before_the_initiator_has() {
    let mut pair = Pair::new(Setup::default());
    pair.sides[0].receive(1, 0, 100);
    pair.post(1, Operation::Send, 0, 100);
    pair.run();
    assert_eq!(pair.sent, [0, 0]);
    pair.post(0, Operation::RdmaWrite(pair.remote(0, 0)), 0, 1);
    pair.run();
    pair.expect_success(0, 2);
    pair.expect_success(1, 1);
}
