//! In steady state the engine allocates nothing: everything is allocated when queues and queue pairs are made.

// Only a global allocator sees every allocation, and that is an unsafe trait.
#![allow(unsafe_code)]

#[path = "../benches/engine/pair.rs"]
mod pair;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pair::{DEPTH, Pair};
use rdmalab_verbs::Operation;
use rdmalab_wire::{ImmDt, PathMtu};

/// The system's allocator, which counts for each thread how often it was asked, so that tests may run side by side.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has lost its counter, and nobody asks for it any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call goes on to the system's allocator unchanged; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// One of every operation, several packets long where it can be.
fn post_all(pair: &mut Pair, queue_pair: usize, length: usize) -> usize {
    let remote = pair.remote(queue_pair);
    pair.receive(queue_pair, length);
    pair.receive(queue_pair, length);
    pair.receive(queue_pair, 0);
    let imm = ImmDt([1, 2, 3, 4]);
    let operations = [
        (Operation::Send, length),
        (Operation::RdmaWrite(remote), length),
        (Operation::RdmaRead(remote), length),
        (Operation::FetchAndAdd { remote, add: 1 }, 8),
        (Operation::CompareAndSwap { remote, compare: 0, swap: 1 }, 8),
        (Operation::SendWithImmediate(imm), length),
        (Operation::RdmaWriteWithImmediate(remote, imm), length),
    ];
    for (operation, length) in operations {
        pair.post(queue_pair, operation, length);
    }
    operations.len() + 3
}

/// Runs rounds of every operation and returns the allocations after the first rounds.
fn steady_state(queue_pairs: usize, rounds: usize, loses: impl Fn(u64) -> bool) -> u64 {
    const LENGTH: usize = 5000;
    let mut pair = Pair::new(queue_pairs, (4 * LENGTH).next_multiple_of(16), PathMtu::M1024);
    let mut start = 0;
    for round in 0..rounds {
        if round == rounds / 10 {
            start = allocations();
        }
        let mut expected = 0;
        for queue_pair in 0..queue_pairs {
            expected += post_all(&mut pair, queue_pair, LENGTH);
        }
        pair.settle(&loses);
        assert_eq!(pair.completions(0) + pair.completions(1), expected);
    }
    assert!(pair.packets > rounds as u64 * 30);
    allocations() - start
}

#[test]
fn the_allocator_counts() {
    let before = allocations();
    drop(std::hint::black_box(Box::new(7)));
    assert_eq!(allocations() - before, 1);
}

#[test]
fn a_clean_link_allocates_nothing() {
    assert_eq!(steady_state(1, 300, |_| false), 0);
}

#[test]
fn many_queue_pairs_allocate_nothing() {
    assert_eq!(steady_state(50, 10, |_| false), 0);
}

#[test]
fn retransmission_allocates_nothing() {
    // A pattern that meets every kind of packet, since its period has nothing in common with the flow's.
    assert_eq!(steady_state(1, 300, |packet| packet % 23 == 0), 0);
    assert_eq!(steady_state(8, 40, |packet| packet % 17 == 0), 0);
}

#[test]
fn a_receiver_that_is_not_ready_allocates_nothing() {
    let mut pair = Pair::new(1, 4096, PathMtu::M1024);
    let mut start = 0;
    for round in 0..100 {
        if round == 10 {
            start = allocations();
        }
        for _ in 0..DEPTH {
            pair.post(0, Operation::Send, 64);
        }
        // All of them are refused, and wait.
        pair.exchange(|_| false);
        assert_eq!(pair.completions(0), 0);
        for _ in 0..DEPTH {
            pair.receive(0, 64);
        }
        pair.settle(|_| false);
        assert_eq!(pair.completions(0) + pair.completions(1), 2 * DEPTH as usize);
    }
    assert_eq!(allocations() - start, 0);
}
