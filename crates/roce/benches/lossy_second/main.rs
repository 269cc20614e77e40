//! One second of 1,000 busy queue pairs on a link that loses one frame in 100, in virtual time, and how long that takes:
//! `cargo bench --bench lossy_second`.
//!
//! The link carries 10 Gbit/s each way, shared by all, with 5 µs of latency; the path MTU is 4096. Every queue pair keeps
//! two RDMA WRITEs of 64 KiB under way, so that the link never idles. Nothing is skipped: every packet is built, passes the
//! link and its rules, and is checked, with its ICRC.

#[path = "../engine/pair.rs"]
#[allow(dead_code)]
mod pair;

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use pair::{Pair, Setup};
use rdmalab_sim::{End, Link, LinkConfig, Probability, RuleSet, Seed, rule};
use rdmalab_verbs::Operation;
use rustix::time::{ClockId, clock_gettime};

const QUEUE_PAIRS: usize = 1000;
const MESSAGE: usize = 64 * 1024;
/// Messages that a queue pair has under way.
const UNDER_WAY: usize = 2;
const SECOND: u64 = 1_000_000_000;
const BITS_PER_SECOND: u64 = 10_000_000_000;
/// Bytes that may wait in front of the link before an endpoint is asked for more.
const WAITING: usize = 64 * 1024;
const ENDS: [End; 2] = [End::A, End::B];

/// Two endpoints with a link between.
struct Wire {
    pair: Pair,
    link: Link,
    messages: u64,
}

impl Wire {
    fn new() -> Self {
        let setup = Setup {
            queue_pairs: QUEUE_PAIRS,
            piece: 2 * MESSAGE,
            shares_memory: true,
            depth: UNDER_WAY as u32,
            // 134 ms: the turns of a thousand queue pairs take a while.
            timeout: 15,
            ..Setup::default()
        };
        let config = LinkConfig {
            latency: 5_000,
            bandwidth: NonZeroU64::new(BITS_PER_SECOND),
            ..LinkConfig::default()
        };
        let rules = RuleSet::new(Seed::new(1)).with(rule::lose(Probability::new(0.01).unwrap()));
        let mut wire = Self { pair: Pair::new(setup), link: Link::new(config, rules), messages: 0 };
        for queue_pair in 0..QUEUE_PAIRS {
            (0..UNDER_WAY).for_each(|_| wire.post(queue_pair));
        }
        wire
    }

    fn post(&mut self, queue_pair: usize) {
        let remote = self.pair.remote(queue_pair);
        self.pair.post(queue_pair, Operation::RdmaWrite(remote), MESSAGE);
    }

    /// Does everything that is due now, and says when something is due next.
    fn step(&mut self) -> u64 {
        let now = self.pair.now;
        while let Some(delivery) = self.link.receive(now) {
            let side = &mut self.pair.sides[place(delivery.to)];
            side.endpoint.handle_packet(&mut side.context, now, delivery.frame);
        }
        let mut next = u64::MAX;
        for side in &mut self.pair.sides {
            side.endpoint.handle_timeout(&mut side.context, now);
        }
        while let Some(number) = self.pair.completed(0) {
            self.messages += 1;
            // Handles go up with the queue pairs, which are made one after the other.
            let queue_pair = self.pair.sides[0].queue_pairs.partition_point(|&other| other < number);
            self.post(queue_pair);
        }
        for end in ENDS {
            let side = &mut self.pair.sides[place(end)];
            while side.endpoint.has_packets() {
                if let Some(later) = self.link.busy_until(now, end, WAITING) {
                    next = next.min(later);
                    break;
                }
                side.send(now, |packet| {
                    self.link.send(now, end, packet);
                });
            }
            next = next.min(side.endpoint.next_timeout().unwrap_or(u64::MAX));
        }
        next.min(self.link.next_arrival().unwrap_or(u64::MAX)).max(now + 1)
    }
}

fn place(end: End) -> usize {
    usize::from(end == End::B)
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn main() {
    // `cargo test --benches` asks for a quick run.
    let until = if std::env::args().any(|argument| argument == "--bench") { SECOND } else { SECOND / 100 };
    let mut wire = Wire::new();
    let (start, processor) = (Instant::now(), processor_time());
    while wire.pair.now < until {
        wire.pair.now = wire.step();
    }
    let (elapsed, processor) = (start.elapsed(), processor_time() - processor);
    let [sent, answered] = ENDS.map(|end| wire.link.counts(end));
    let counters = wire.pair.sides[0].endpoint.counters();
    println!("simulated  {:.3} s of {QUEUE_PAIRS} queue pairs at 10 Gbit/s, 1 % lost", until as f64 / 1e9);
    println!("took       {:.3} s, {:.3} s of processor time", elapsed.as_secs_f64(), processor.as_secs_f64());
    println!(
        "frames     {} there, {} back, {} lost",
        sent.sent,
        answered.sent,
        sent.dropped + answered.dropped
    );
    println!(
        "messages   {} of 64 KiB done, {} packets sent again, {} timeouts",
        wire.messages, counters.retransmitted_pkts, counters.local_ack_timeout
    );
}
