//! What the engine does in a second on one core, both ends of every connection counted: requests are posted, packets
//! built, their ICRCs computed and verified, data placed, completions polled. `cargo bench -p rdmalab-roce`

#[allow(dead_code, reason = "the others that use it need more")]
mod pair;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use pair::{Pair, Setup};
use rdmalab_roce::{CongestionControl, DcqcnConfig, Profile};
use rdmalab_verbs::{Operation, QueuePairType};

/// Numbers of queue pairs that share the work. Of a thousand, each has one request at a time, so that nothing that
/// belongs to a queue pair is in the fastest caches when its turn comes.
const QUEUE_PAIRS: [usize; 2] = [1, 1000];
/// Bytes of a bulk message.
const BULK: usize = 64 * 1024;
/// Bytes of a small message.
const SMALL: usize = 64;
/// Bytes of a message that fills a packet.
const PACKET: usize = 4096;
/// A rate that is never reached, so that what is seen is what asking for it costs: 1 TB/s.
const RATE: u64 = 1_000_000_000_000;

fn main() {
    divan::main();
}

/// One round: each queue pair gets `depth` requests, and all of them are carried out.
struct Round {
    setup: Setup,
    depth: usize,
    length: usize,
    operation: fn(&Pair, usize) -> Operation,
    /// Each packet whose number it divides is lost.
    period: Option<u64>,
}

impl Round {
    fn bulk(queue_pairs: usize, operation: fn(&Pair, usize) -> Operation) -> Self {
        Self { depth: if queue_pairs == 1 { 8 } else { 1 }, ..Self::new(queue_pairs, BULK, operation) }
    }

    fn new(queue_pairs: usize, length: usize, operation: fn(&Pair, usize) -> Operation) -> Self {
        let setup = Setup { queue_pairs, piece: (2 * length).max(2 * 64), ..Setup::default() };
        let depth = if queue_pairs == 1 { setup.depth as usize } else { 1 };
        Self { setup, depth, length, operation, period: None }
    }

    fn messages(&self) -> usize {
        self.setup.queue_pairs * self.depth
    }

    fn run(&self, pair: &mut Pair) {
        let mut expected = 0;
        for queue_pair in 0..self.setup.queue_pairs {
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
        // Time passes as at 100 Gbit/s.
        pair.now += (self.messages() * (self.length + 64)) as u64 * 2 / 25;
        match self.period {
            Some(period) => pair.settle(|packet| packet.is_multiple_of(period)),
            None => pair.exchange(|_| false),
        }
        assert_eq!(pair.completions(0) + pair.completions(1), expected);
    }

    fn bench_bytes(&self, bencher: Bencher<'_, '_>) {
        let mut pair = Pair::new(self.setup);
        bencher.counter(BytesCount::new(self.messages() * self.length)).bench_local(|| self.run(&mut pair));
    }

    fn bench_messages(&self, bencher: Bencher<'_, '_>) {
        let mut pair = Pair::new(self.setup);
        bencher.counter(ItemsCount::new(self.messages())).bench_local(|| self.run(&mut pair));
    }
}

fn write(pair: &Pair, queue_pair: usize) -> Operation {
    Operation::RdmaWrite(pair.remote(queue_pair))
}

fn send(_: &Pair, _: usize) -> Operation {
    Operation::Send
}

#[divan::bench(args = QUEUE_PAIRS)]
fn write_64_kib(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::bulk(queue_pairs, write).bench_bytes(bencher);
}

#[divan::bench]
fn write_64_kib_one_packet_in_100_lost(bencher: Bencher<'_, '_>) {
    Round { period: Some(100), ..Round::bulk(1, write) }.bench_bytes(bencher);
}

#[divan::bench(args = QUEUE_PAIRS)]
fn read_64_kib(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::bulk(queue_pairs, |pair, queue_pair| Operation::RdmaRead(pair.remote(queue_pair)))
        .bench_bytes(bencher);
}

#[divan::bench(args = QUEUE_PAIRS)]
fn send_64_bytes(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::new(queue_pairs, SMALL, send).bench_messages(bencher);
}

#[divan::bench(args = QUEUE_PAIRS)]
fn write_64_bytes(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    Round::new(queue_pairs, SMALL, write).bench_messages(bencher);
}

#[divan::bench(args = QUEUE_PAIRS)]
fn fetch_and_add(bencher: Bencher<'_, '_>, queue_pairs: usize) {
    let add = |pair: &Pair, queue_pair| Operation::FetchAndAdd { remote: pair.remote(queue_pair), add: 1 };
    Round::new(queue_pairs, 8, add).bench_messages(bencher);
}

/// SENDs over each transport, the small ones for their messages, the large ones for their bytes.
mod transports {
    use super::*;

    fn round(kind: QueuePairType, length: usize) -> Round {
        let mut round = Round::new(1, length, send);
        round.setup.kind = kind;
        // The header in front of a datagram wants room, too.
        round.setup.piece += 2 * 64;
        round
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn rc(bencher: Bencher<'_, '_>, length: usize) {
        round(QueuePairType::Rc, length).bench_messages(bencher);
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn uc(bencher: Bencher<'_, '_>, length: usize) {
        round(QueuePairType::Uc, length).bench_messages(bencher);
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn ud(bencher: Bencher<'_, '_>, length: usize) {
        round(QueuePairType::Ud, length).bench_messages(bencher);
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn xrc(bencher: Bencher<'_, '_>, length: usize) {
        round(QueuePairType::XrcInitiator, length).bench_messages(bencher);
    }
}

/// What is added to SENDs over a reliable connection.
mod with {
    use super::*;

    fn round(length: usize, change: impl FnOnce(&mut Setup)) -> Round {
        let mut round = Round::new(1, length, send);
        change(&mut round.setup);
        round
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn credits(bencher: Bencher<'_, '_>, length: usize) {
        round(length, |setup| setup.profile = Profile::SPEC).bench_messages(bencher);
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn a_fixed_rate(bencher: Bencher<'_, '_>, length: usize) {
        round(length, |setup| setup.congestion = CongestionControl::Fixed(RATE)).bench_messages(bencher);
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn dcqcn(bencher: Bencher<'_, '_>, length: usize) {
        let config = DcqcnConfig::new(RATE);
        round(length, |setup| setup.congestion = CongestionControl::Dcqcn(config)).bench_messages(bencher);
    }

    #[divan::bench(args = [SMALL, PACKET])]
    fn shared_receives(bencher: Bencher<'_, '_>, length: usize) {
        round(length, |setup| setup.shares_receives = true).bench_messages(bencher);
    }
}
