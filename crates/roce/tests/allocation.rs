//! In steady state the engine allocates nothing: everything is allocated when queues and queue pairs are made.

#[path = "../benches/engine/pair.rs"]
#[allow(dead_code)]
mod pair;

use std::cell::Cell;

use allocation_counter::measure;
use pair::{BASE, Pair, Setup};
use rdmalab_roce::{CongestionControl, DcqcnConfig, Profile};
use rdmalab_verbs::{
    Access, FastRegistration, HeapMemory, Operation, Placement, QueuePairType, Selectivity, SendRequest,
    WindowBinding, WindowType,
};
use rdmalab_wire::{ImmDt, PathMtu, RKey};

/// Bytes of a message: several packets.
const LENGTH: usize = 5000;
const IMMEDIATE: ImmDt = ImmDt([1, 2, 3, 4]);

fn setup(kind: QueuePairType, queue_pairs: usize) -> Setup {
    let piece = (4 * LENGTH).next_multiple_of(16);
    Setup { kind, queue_pairs, piece, mtu: PathMtu::M1024, inline: 64, ..Setup::default() }
}

/// One of every operation that a kind of queue pair has, several packets long where it can be. Returns how many
/// completions must follow.
fn post_all(pair: &mut Pair, queue_pair: usize) -> usize {
    let kind = pair.setup.kind;
    let length = if kind == QueuePairType::Ud { 1024 } else { LENGTH };
    let remote = pair.remote(queue_pair);
    let flush = Operation::Flush {
        remote,
        length: length as u32,
        placement: Placement::GLOBAL,
        selectivity: Selectivity::Range,
    };
    let operations = [
        (Operation::Send, length),
        (Operation::RdmaWrite(remote), length),
        (Operation::RdmaRead(remote), length),
        (Operation::FetchAndAdd { remote, add: 1 }, 8),
        (Operation::CompareAndSwap { remote, compare: 0, swap: 1 }, 8),
        (Operation::SendWithImmediate(IMMEDIATE), length),
        (Operation::RdmaWriteWithImmediate(remote, IMMEDIATE), length),
        (Operation::AtomicWrite { remote, value: [7; 8] }, 0),
        (flush, 0),
    ];
    // One more receive, for the inline message.
    let mut posted = 1;
    pair.receive(queue_pair, length);
    for (operation, length) in operations.into_iter().filter(|(operation, _)| operation.supported_by(kind)) {
        if takes_receive(&operation) {
            pair.receive(queue_pair, length);
            posted += 1;
        }
        pair.post(queue_pair, operation, length);
        posted += 1;
    }
    pair.post_request(queue_pair, &SendRequest { inline: Some(&[9; 64]), ..SendRequest::default() });
    posted + 1
}

fn takes_receive(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::Send | Operation::SendWithImmediate(_) | Operation::RdmaWriteWithImmediate(..)
    )
}

/// Runs rounds and returns the allocations of those after the first tenth.
fn steady_state(pair: &mut Pair, rounds: usize, mut round: impl FnMut(&mut Pair)) -> u64 {
    for _ in 0..rounds.div_ceil(10) {
        round(pair);
    }
    let packets = pair.packets;
    let counted = measure(|| (0..rounds).for_each(|_| round(pair)));
    assert!(pair.packets >= packets + rounds as u64, "every round has packets");
    counted.count_total
}

/// Allocations of rounds of every operation of a kind.
fn every_operation(setup: Setup, rounds: usize, loses: impl Fn(u64) -> bool) -> u64 {
    let mut pair = Pair::new(setup);
    steady_state(&mut pair, rounds, |pair| {
        let expected: usize = (0..setup.queue_pairs).map(|queue_pair| post_all(pair, queue_pair)).sum();
        pair.settle(&loses);
        assert_eq!(pair.completions(0) + pair.completions(1), expected);
    })
}

#[test]
fn the_allocator_counts() {
    let counted = measure(|| drop(std::hint::black_box(Box::new(7))));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn a_clean_link_allocates_nothing() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::XrcInitiator] {
        assert_eq!(every_operation(setup(kind, 1), 100, |_| false), 0, "{kind:?}");
    }
}

#[test]
fn many_queue_pairs_allocate_nothing() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::XrcInitiator] {
        assert_eq!(every_operation(setup(kind, 50), 10, |_| false), 0, "{kind:?}");
    }
}

#[test]
fn retransmission_allocates_nothing() {
    for kind in [QueuePairType::Rc, QueuePairType::XrcInitiator] {
        // A pattern that meets every kind of packet, since its period has nothing in common with the flow's.
        assert_eq!(every_operation(setup(kind, 1), 200, |packet| packet.is_multiple_of(23)), 0, "{kind:?}");
        assert_eq!(every_operation(setup(kind, 8), 40, |packet| packet.is_multiple_of(17)), 0, "{kind:?}");
    }
}

#[test]
fn a_message_that_is_lost_for_good_allocates_nothing() {
    for kind in [QueuePairType::Uc, QueuePairType::Ud] {
        let mut pair = Pair::new(setup(kind, 1));
        let allocations = steady_state(&mut pair, 200, |pair| {
            // What an earlier round lost has left its receives behind, so that there are always enough.
            if pair.sides[1].endpoint.counters().rcvd_pkts == 0 {
                (0..32).for_each(|_| pair.receive(0, 1024));
            }
            pair.post(0, Operation::Send, 1024);
            pair.settle(|packet| packet.is_multiple_of(3));
            assert_eq!(pair.completions(0), 1);
            (0..pair.completions(1)).for_each(|_| pair.receive(0, 1024));
        });
        assert_eq!(allocations, 0, "{kind:?}");
    }
}

#[test]
fn shared_receives_allocate_nothing() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud] {
        let setup = Setup { shares_receives: true, ..setup(kind, 8) };
        assert_eq!(every_operation(setup, 40, |_| false), 0, "{kind:?}");
    }
}

#[test]
fn credits_allocate_nothing() {
    let setup = Setup { profile: Profile::SPEC, ..setup(QueuePairType::Rc, 4) };
    assert_eq!(every_operation(setup, 40, |packet| packet.is_multiple_of(29)), 0);
}

#[test]
fn a_rate_allocates_nothing() {
    let rate = 125_000_000;
    for congestion in [CongestionControl::Fixed(rate), CongestionControl::Dcqcn(DcqcnConfig::new(rate))] {
        let setup = Setup { congestion, ..setup(QueuePairType::Rc, 4) };
        assert_eq!(every_operation(setup, 40, |packet| packet.is_multiple_of(29)), 0, "{congestion:?}");
    }
}

#[test]
fn marks_and_notifications_allocate_nothing() {
    let setup = Setup {
        profile: Profile::SPEC,
        congestion: CongestionControl::Dcqcn(DcqcnConfig::new(125_000_000)),
        // A second: at the lowest rate, packets are milliseconds apart.
        timeout: 18,
        ..setup(QueuePairType::Rc, 1)
    };
    let mut pair = Pair::new(setup);
    pair.marks = true;
    let allocations = steady_state(&mut pair, 40, |pair| {
        let expected = post_all(pair, 0);
        pair.settle(|_| false);
        assert_eq!(pair.completions(0) + pair.completions(1), expected);
    });
    assert_eq!(allocations, 0);
    assert!(pair.sides[0].endpoint.counters().rp_cnp_handled > 10);
}

#[test]
fn windows_and_fast_registrations_allocate_nothing() {
    let mut pair = Pair::new(setup(QueuePairType::Rc, 1));
    let side = &mut pair.sides[0];
    let region = side.key;
    let window = side.context.allocate_window(side.domain, WindowType::Two).unwrap();
    let memory = std::sync::Arc::new(HeapMemory::new(4096));
    let fast = RKey::new(side.context.allocate_fast_region(side.domain, memory).unwrap());
    let keys = Cell::new((window, fast));
    // The consumer's bits of a key go up by one.
    let next = |key: RKey| RKey::new(key.value() & !0xff | (key.value() + 1) & 0xff);
    let allocations = steady_state(&mut pair, 300, |pair| {
        let (window, fast) = keys.get();
        let binding = WindowBinding {
            window,
            key: next(window),
            region,
            address: BASE,
            length: 64,
            access: Access::REMOTE_WRITE,
        };
        let registration = FastRegistration {
            region: fast,
            key: next(fast),
            offset: 0,
            length: 4096,
            address: 0x5000,
            access: Access::LOCAL_WRITE,
        };
        keys.set((next(window), next(fast)));
        for operation in [
            Operation::BindWindow(binding),
            Operation::FastRegister(registration),
            Operation::RdmaWrite(pair.remote(0)),
            Operation::LocalInvalidate(next(window)),
            Operation::LocalInvalidate(next(fast)),
        ] {
            pair.post(0, operation, 64);
        }
        pair.settle(|packet| packet.is_multiple_of(7));
        assert_eq!(pair.completions(0), 5);
    });
    assert_eq!(allocations, 0);
}

#[test]
fn a_receiver_that_is_not_ready_allocates_nothing() {
    let mut pair = Pair::new(setup(QueuePairType::Rc, 1));
    let depth = pair.setup.depth as usize;
    let allocations = steady_state(&mut pair, 50, |pair| {
        (0..depth).for_each(|_| pair.post(0, Operation::Send, 64));
        // All of them are refused, and wait.
        pair.exchange(|_| false);
        assert_eq!(pair.completions(0), 0);
        (0..depth).for_each(|_| pair.receive(0, 64));
        pair.settle(|_| false);
        assert_eq!(pair.completions(0) + pair.completions(1), 2 * depth);
    });
    assert_eq!(allocations, 0);
}
