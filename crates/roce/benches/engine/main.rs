//! What the engine does in a second on one core, both ends of every connection counted: requests are posted, packets
//! built, their ICRCs computed and verified, data placed, completions polled. `cargo bench -p rdmalab-roce`

mod pair;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use pair::{DEPTH, Pair};
use rdmalab_verbs::Operation;
use rdmalab_wire::PathMtu;

/// Numbers of queue pairs that share the work. Of a thousand, each has one request at a time, so that nothing that
/// belongs to a queue pair is in the fastest caches when its turn comes.
const QUEUE_PAIRS: [usize; 2] = [1, 1000];
/// Bytes of a bulk message.
const BULK: usize = 64 * 1024;
/// Bytes of a small message.
const SMALL: usize = 64;

fn main() {
    divan::main();
}

/// One round: each queue pair gets `depth` requests, and all of them are carried out.
struct Round {
    queue_pairs: usize,
    depth: usize,
    length: usize,
    operation: fn(&Pair, usize) -> Operation,
}

impl Round {
    fn bulk(queue_pairs: usize, operation: fn(&Pair, usize) -> Operation) -> Self {
        Self { queue_pairs, depth: if queue_pairs == 1 { 8 } else { 1 }, length: BULK, operation }
    }

    fn small(queue_pairs: usize, length: usize, operation: fn(&Pair, usize) -> Operation) -> Self {
        Self { queue_pairs, depth: if queue_pairs == 1 { DEPTH as usize } else { 1 }, length, operation }
    }

    fn pair(&self) -> Pair {
        Pair::new(self.queue_pairs, 2 * self.length, PathMtu::M4096)
    }

    fn messages(&self) -> usize {
        self.queue_pairs * self.depth
    }

    /// Runs it. If `period` is given, each packet whose number it divides is lost.
    fn run(&self, pair: &mut Pair, period: Option<u64>) {
        let mut expected = 0;
        for queue_pair in 0..self.queue_pairs {
            for _ in 0..self.depth {
                let operation = (self.operation)(pair, queue_pair);
                if operation == Operation::Send {
                    pair.receive(queue_pair, self.length);
                    expected += 1;
                }
                pair.post(queue_pair, operation, self.length);
                expected += 1;
            }
        }
        match period {
            Some(period) => pair.settle(|packet| packet % period == 0),
            None => pair.exchange(|_| false),
        }
        assert_eq!(pair.completions(0) + pair.completions(1), expected);
    }

    fn bench_bytes(&self, bencher: Bencher<'_, '_>, period: Option<u64>) {
        let mut pair = self.pair();
        bencher
            .counter(BytesCount::new(self.messages() * self.length))
            .bench_local(|| self.run(&mut pair, period));
    }

    fn bench_messages(&self, bencher: Bencher<'_, '_>) {
        let mut pair = self.pair();
        bencher.counter(ItemsCount::new(self.messages())).bench_local(|| self.run(&mut pair, None));
    }
}

fn write(pair: &Pair, queue_pair: usize) -> Operation {
    Operation::RdmaWrite(pair.remote(queue_pair))
}

#[divan::bench(args = QUEUE_PAIRS)]
fn write_64_kib(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::bulk(queue_pairs, write).bench_bytes(bencher, None);
}

#[divan::bench]
fn write_64_kib_one_packet_in_100_lost(bencher: Bencher<'_, '_>) {
    Round::bulk(1, write).bench_bytes(bencher, Some(100));
}

#[divan::bench(args = QUEUE_PAIRS)]
fn read_64_kib(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::bulk(queue_pairs, |pair, queue_pair| Operation::RdmaRead(pair.remote(queue_pair)))
        .bench_bytes(bencher, None);
}

#[divan::bench(args = QUEUE_PAIRS)]
fn send_64_bytes(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::small(queue_pairs, SMALL, |_, _| Operation::Send).bench_messages(bencher);
}

#[divan::bench(args = QUEUE_PAIRS)]
fn write_64_bytes(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::small(queue_pairs, SMALL, write).bench_messages(bencher);
}

#[divan::bench(args = QUEUE_PAIRS)]
fn fetch_and_add(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::small(queue_pairs, 8, |pair, queue_pair| Operation::FetchAndAdd {
        remote: pair.remote(queue_pair),
        add: 1,
    })
    .bench_messages(bencher);
}
