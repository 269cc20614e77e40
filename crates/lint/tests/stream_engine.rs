//! The emulator's own iWARP, over TCP on links that lose, double, delay, reorder and corrupt, is judged clean wherever it is
//! captured. Where the two disagree, one of them is wrong.

#[path = "../../device/tests/iwarp/pair.rs"]
mod pair;

use std::collections::BTreeMap;

use pair::{ADDRESS, Setup};
use rdmalab_craft::trace::LinkType;
use rdmalab_craft::{Capture, Frame};
use rdmalab_device::{CompletionStatus, Memory, Operation, ReceiveRequest, Sge};
use rdmalab_lint::{Report, Severity, lint};
use rdmalab_sim::rule::{corrupt, delay, duplicate, lose, reorder};
use rdmalab_sim::{End, LinkConfig, Probability, RuleSet, Seed, Verdict};

const LATENCY: u64 = 1_000;

/// A frame on the link.
struct Sent {
    time: u64,
    verdict: Verdict,
    is_lost: bool,
    bytes: Vec<u8>,
}

type Pair = pair::Pair<Vec<Sent>>;

fn pair(rules: RuleSet) -> Pair {
    let link = LinkConfig { latency: LATENCY, ..LinkConfig::default() };
    Pair::new(Setup { link, rules, memory: 128 * 1024, reads: 2 }, |seen, passage| {
        seen.push(Sent {
            time: passage.now,
            verdict: passage.report.judgement.verdict,
            is_lost: passage.report.is_lost(),
            bytes: passage.frame.to_vec(),
        });
    })
}

impl Pair {
    fn receive(&mut self, end: End, id: u64) {
        let side = &self.sides[end];
        let elements = [Sge { address: ADDRESS, length: side.memory.length() as u32, key: side.key }];
        let request = ReceiveRequest { id, elements: &elements };
        self.network.adapter(end).port.post_receive(side.queue_pair, &request).unwrap();
    }

    /// So many operations of each side, in any mixture.
    fn exchange(&mut self, random: &mut impl FnMut(u64) -> u64) {
        let mut open = 0;
        let mut id = 0;
        for _ in 0..1 + random(10) {
            for end in [End::A, End::B] {
                let remote = self.remote(end);
                let length = [0, 1, 8, 700, 1500, 5_000, 20_000][random(7) as usize];
                let (operation, length) = match random(5) {
                    0 => (Operation::RdmaWrite(remote), length),
                    1 => (Operation::RdmaRead(remote), length),
                    2 => (Operation::FetchAndAdd { remote, add: 7 }, 8),
                    3 => (Operation::RdmaRead(remote), 8),
                    _ => {
                        self.receive(end.opposite(), 1_000 + id);
                        open += 1;
                        (Operation::Send, length)
                    }
                };
                self.post(end, id, operation, length);
                (open, id) = (open + 1, id + 1);
            }
        }
        while open > 0 {
            let found = self.wait(|pair| {
                [End::A, End::B].into_iter().find_map(|end| {
                    let completions = pair.sides[end].completions;
                    pair.network.adapter(end).port.context.poll_completion(completions)
                })
            });
            assert_eq!(found.status, CompletionStatus::Success);
            open -= 1;
        }
    }
}

/// Where a capture is made.
#[derive(Clone, Copy, Debug)]
enum Place {
    InFront,
    Behind,
}

/// What the capturing program does to its capture.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// It misses each n-th frame.
    Missed(usize),
    /// It has each n-th frame behind the next one.
    Swapped(usize),
    /// It keeps so many bytes.
    Cut(usize),
    /// It began so many frames late.
    Late(usize),
}

fn judge(frames: &[Sent], place: Place, fault: Fault) -> Report {
    let mut seen = BTreeMap::new();
    for (number, sent) in frames.iter().enumerate() {
        let number = 4 * number;
        let later = match (place, sent.verdict) {
            (Place::InFront, _) => 0,
            (Place::Behind, _) if sent.is_lost => continue,
            (Place::Behind, Verdict::Delay(by)) => LATENCY + by,
            // Behind the next one, as far as a capture can tell.
            (Place::Behind, Verdict::BehindNext { .. }) => LATENCY + 1,
            (Place::Behind, _) => LATENCY,
        };
        let mut bytes = sent.bytes.clone();
        if let (Place::Behind, Verdict::Corrupt { bit }) = (place, sent.verdict) {
            let bit = bit as usize % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        if let (Place::Behind, Verdict::Duplicate) = (place, sent.verdict) {
            seen.insert((sent.time + later, number + 1), bytes.clone());
        }
        seen.insert((sent.time + later, number), bytes);
    }
    let mut seen: Vec<(u64, Vec<u8>)> = seen.into_iter().map(|((time, _), bytes)| (time, bytes)).collect();
    match fault {
        Fault::None | Fault::Cut(_) => {}
        Fault::Missed(every) => {
            let mut index = 0;
            seen.retain(|_| {
                index += 1;
                index % every != 0
            });
        }
        Fault::Swapped(every) => {
            for at in (0..seen.len().saturating_sub(1)).step_by(every) {
                let (first, second) = (seen[at].0, seen[at + 1].0);
                seen.swap(at, at + 1);
                (seen[at].0, seen[at + 1].0) = (first, second);
            }
        }
        Fault::Late(first) => drop(seen.drain(..first.min(seen.len()))),
    }
    let mut capture = Capture::pcapng(Vec::new()).unwrap();
    for (time, bytes) in &seen {
        let kept = match fault {
            Fault::Cut(length) => bytes.get(..length).unwrap_or(bytes),
            _ => bytes,
        };
        let frame = Frame::new(*time, LinkType::ETHERNET, kept);
        capture.write(&Frame { original_length: bytes.len() as u32, ..frame }).unwrap();
    }
    lint(&capture.finish().unwrap()[..], &mut ()).unwrap()
}

fn probability(of: f64) -> Probability {
    Probability::new(of).unwrap()
}

#[test]
fn streams_over_bad_links_are_judged_clean() {
    let (mut captures, mut operations, mut resent) = (0, 0, 0);
    for seed in 1..=40_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let some = probability(0.03);
        let rules = match seed % 5 {
            0 => RuleSet::new(Seed::new(seed)),
            1 => RuleSet::new(Seed::new(seed)).with(lose(some)),
            2 => RuleSet::new(Seed::new(seed)).with(duplicate(some)).with(reorder(probability(0.1), 50_000)),
            3 => RuleSet::new(Seed::new(seed)).with(delay(some, 1_000, 3_000_000)).with(lose(some)),
            _ => RuleSet::new(Seed::new(seed)).with(corrupt(some)),
        };
        let mut pair = pair(rules);
        pair.exchange(&mut random);
        pair.disconnect();
        for place in [Place::InFront, Place::Behind] {
            let report = judge(&pair.seen, place, Fault::None);
            // A segment that was corrupted is in the capture behind the link, and its receiver has dropped it.
            if seed % 5 != 4 || matches!(place, Place::InFront) {
                assert!(report.is_clean(), "seed {seed} {place:?}:\n{report}");
                assert_eq!(report.count(Severity::Suspicious), 0, "seed {seed} {place:?}:\n{report}");
                let done: u64 = report.streams.iter().map(|stream| stream.stats.operations.count()).sum();
                assert!(done > 0 && report.streams.len() == 2, "seed {seed} {place:?}:\n{report}");
                operations += done;
            }
            resent +=
                report.streams.iter().map(|stream| stream.stats.resent.iter().sum::<u64>()).sum::<u64>();
            captures += 1;
            if seed % 5 == 4 {
                continue;
            }
            let faults = [3, 7, 11, 23].map(Fault::Missed).into_iter();
            let faults = faults.chain([2, 5].map(Fault::Swapped)).chain([60, 90, 200].map(Fault::Cut));
            for fault in faults.chain([5, 9, 20].map(Fault::Late)) {
                let report = judge(&pair.seen, place, fault);
                assert!(report.is_clean(), "seed {seed} {place:?} {fault:?}:\n{report}");
                captures += 1;
            }
        }
    }
    println!("{captures} captures, {operations} operations, {resent} segments sent again");
    assert!(resent > 20, "{resent}");
}
