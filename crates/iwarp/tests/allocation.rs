//! In steady state the stream allocates nothing: everything is allocated when queues are made and the connection is
//! established.

#[path = "stream/pair.rs"]
#[allow(dead_code)]
mod pair;
#[path = "stream/script.rs"]
#[allow(dead_code)]
mod script;
#[path = "stream/side.rs"]
#[allow(dead_code)]
mod side;

use allocation_counter::measure;
use pair::{Cut, Pair};
use rdmalab_verbs::{CompletionStatus, Operation};
use rdmalab_wire::ImmDt;
use rdmalab_wire::iwarp::Opcode;
use script::{Script, incoming_send, tagged};
use side::Setup;

/// One of everything, both ways. Every completion must be of success.
fn round(pair: &mut Pair) {
    for side in [0, 1] {
        pair.sides[1 - side].receive(0, 20_000, 4000);
        pair.sides[1 - side].receive(1, 24_000, 0);
        let remote = pair.remote(side, 8192);
        for (operation, length) in [
            (Operation::RdmaWrite(remote), 5000),
            (Operation::Send, 4000),
            (Operation::RdmaRead(remote), 5000),
            (Operation::FetchAndAdd { remote, add: 5 }, 8),
            (Operation::CompareAndSwap { remote, compare: 5, swap: 9 }, 8),
            (Operation::RdmaWriteWithImmediate(remote, ImmDt([1; 4])), 100),
        ] {
            pair.post(side, operation, 0, length);
        }
    }
    pair.run();
    for side in &mut pair.sides {
        for _ in 0..8 {
            let completion = side.context.poll_completion(side.completions).expect("a completion");
            assert_eq!(completion.status, CompletionStatus::Success);
        }
    }
}

#[test]
fn the_allocator_counts() {
    let counted = measure(|| drop(std::hint::black_box(Box::new(7))));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn an_established_stream_allocates_nothing() {
    for shared in [false, true] {
        for (crc, markers) in [(true, false), (false, false), (true, true), (false, true)] {
            for cut in [Cut::Whole, Cut::Bytes] {
                let mut pair = Pair::cut(Setup { crc, markers, shared, ..Setup::default() }, cut);
                (0..10).for_each(|_| round(&mut pair));
                let fpdus = pair.fpdus;
                let counted = measure(|| (0..50).for_each(|_| round(&mut pair)));
                assert!(pair.fpdus > fpdus + 50 * 20, "every round has FPDUs");
                assert_eq!(counted.count_total, 0, "{crc} {markers} {shared} {cut:?}");
            }
        }
    }
}

/// What costs a peer little and never ends.
#[test]
fn a_flood_makes_nothing_grow() {
    let mut t = Script::new();
    t.side.receive(0, 0, 100);
    let mut flood = Vec::new();
    for _ in 0..1000 {
        flood.extend(t.encode(&incoming_send(1, 0).not_last()));
        flood.extend(t.encode(&tagged(Opcode::WRITE, 0, 0, &[]).not_last()));
    }
    let counted = measure(|| t.deliver_bytes(&flood));
    assert_eq!(counted.count_total, 0);
    t.expect_alive();
    // READs are what is remembered, and have a limit; the rest of the flood is dropped.
    let mut reads = Vec::new();
    for msn in 1..1000 {
        let read = t.incoming_read(msn, 0, 100);
        reads.extend(t.encode(&read));
    }
    let counted = measure(|| t.deliver_bytes(&reads));
    assert_eq!(counted.count_total, 0);
    assert!(t.lines().len() == 1, "the Terminate message and nothing else");
}

#[test]
fn an_idle_connection_takes_less_than_8_kib_besides_its_rings() {
    let setup = Setup { ird: 32, ord: 32, depth: 0, inline: 0, ..Setup::default() };
    let mut side = None;
    let without = measure(|| drop(side.replace(side::Side::unconnected(&Setup { memory: 0, ..setup }))));
    let with = measure(|| drop(side.replace(side::Side::new(&Setup { memory: 0, ..setup }))));
    // What connecting allocates: places for the peer's READs.
    let connecting = with.bytes_total.saturating_sub(without.bytes_total);
    let of_itself = size_of::<rdmalab_iwarp::QueuePair>() as u64;
    assert!(connecting > 0);
    assert!(connecting + of_itself < 8 * 1024, "{connecting} and {of_itself} bytes");
}
