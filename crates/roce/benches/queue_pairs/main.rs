//! What a packet costs when many queue pairs take turns, against one queue pair: `cargo bench --bench queue_pairs`.
//!
//! Every queue pair posts one request, then every queue pair sends its packet, then every queue pair is answered and
//! completes: between two touches of a queue pair come all the others, so each finds it as far away as it ever is. The
//! order is shuffled, or the processor would see the next one coming. The memory of the application is the same small
//! piece for all of them, since it is the engine that is measured. A single queue pair does the same, one request after
//! the other.
//!
//! Counted is the processor time of both sides together, ICRCs computed and verified, divided by the packets of both
//! directions. Numbers of queue pairs take turns, round by round; the table gives the median and what it is to that of one.

#[path = "../engine/pair.rs"]
#[allow(dead_code)]
mod pair;

use std::time::Duration;

use pair::{Pair, Setup};
use rdmalab_sim::Seed;
use rdmalab_verbs::Operation;
use rustix::time::{ClockId, clock_gettime};

/// Numbers of queue pairs; the first is what the others are compared with.
const QUEUE_PAIRS: [usize; 4] = [1, 1_000, 10_000, 100_000];
/// Messages of a round, whatever the number of queue pairs.
const MESSAGES: usize = 100_000;
const ROUNDS: usize = 9;

/// What is measured.
struct Work {
    name: &'static str,
    length: usize,
    operation: fn(&Pair) -> Operation,
}

const WORKS: [Work; 4] = [
    Work { name: "SEND 64 B", length: 64, operation: |_| Operation::Send },
    Work { name: "WRITE 64 B", length: 64, operation: |pair| Operation::RdmaWrite(pair.remote(0)) },
    Work { name: "WRITE 4096 B", length: 4096, operation: |pair| Operation::RdmaWrite(pair.remote(0)) },
    Work { name: "READ 4096 B", length: 4096, operation: |pair| Operation::RdmaRead(pair.remote(0)) },
];

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Nanoseconds for each packet of a round.
fn round(pair: &mut Pair, order: &[usize], work: &Work) -> f64 {
    let (packets, start) = (pair.packets, processor_time());
    for _ in 0..MESSAGES / pair.setup.queue_pairs {
        let operation = (work.operation)(pair);
        let mut expected = 0;
        for &queue_pair in order {
            if operation == Operation::Send {
                pair.receive(queue_pair, work.length);
                expected += 1;
            }
            pair.post(queue_pair, operation, work.length);
            expected += 1;
        }
        pair.exchange(|_| false);
        assert_eq!(pair.completions(0) + pair.completions(1), expected);
    }
    (processor_time() - start).as_nanos() as f64 / (pair.packets - packets) as f64
}

/// The queue pairs in an order that is the same each time and that no processor guesses.
fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = Seed::new(1).random();
    for end in (2..=count).rev() {
        order.swap(end - 1, random.below(end as u64) as usize);
    }
    order
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // `cargo test --benches` asks for one quick run.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let counts = if quick { &QUEUE_PAIRS[..2] } else { &QUEUE_PAIRS[..] };
    let rounds = if quick { 1 } else { ROUNDS };
    let mut pairs: Vec<Pair> = counts
        .iter()
        .map(|&queue_pairs| {
            let setup = Setup { queue_pairs, shares_memory: true, depth: 2, reads: 2, ..Setup::default() };
            Pair::new(setup)
        })
        .collect();
    let orders: Vec<Vec<usize>> = counts.iter().map(|&count| shuffled(count)).collect();
    println!("ns for each packet (and to one queue pair), median of {rounds} rounds\n");
    print!("{:14}", "queue pairs");
    counts.iter().for_each(|count| print!("{count:>20}"));
    println!();
    for work in &WORKS {
        let mut times = vec![Vec::new(); pairs.len()];
        for _ in 0..rounds {
            for ((pair, order), times) in pairs.iter_mut().zip(&orders).zip(&mut times) {
                times.push(round(pair, order, work));
            }
        }
        let medians: Vec<f64> = times.into_iter().map(median).collect();
        print!("{:14}", work.name);
        medians.iter().for_each(|&time| print!("{:>20}", format!("{time:.0} ({:.2})", time / medians[0])));
        println!();
    }
}
