//! Random traffic over a link with random rules: what arrives is exactly what the reports of sending
//! promised, in the right order, at the right time, and the same again from the same seed.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use proptest::prelude::*;
use rdmalab_sim::{End, Link, LinkConfig, Probability, Report, RuleSet, Seed, Verdict, ecn, rule};

const ENDS: [End; 2] = [End::A, End::B];

/// One step of the traffic.
#[derive(Debug, Clone)]
enum Step {
    Send { from: End, length: usize },
    Pass { nanoseconds: u64 },
    Receive { at_most: usize },
}

/// How likely each thing is, in percent: loss, duplication, reordering, delay, corruption, marks.
type Chances = [u8; 6];

fn rules(seed: u64, chances: Chances) -> RuleSet {
    let [lose, duplicate, reorder, delay, corrupt, mark] =
        chances.map(|percent| Probability::new(f64::from(percent) / 100.0).unwrap());
    RuleSet::new(Seed::new(seed))
        .with(rule::lose(lose))
        .with(rule::duplicate(duplicate))
        .with(rule::reorder(reorder, 3_000))
        .with(rule::from(End::A, rule::delay(delay, 10, 2_000)))
        .with(rule::only("long frames", |frame| frame.bytes.len() > 100, rule::corrupt(corrupt)))
        .with(rule::mark(mark))
}

/// A frame that nobody else sends: ECN-capable IPv6, numbered.
fn frame(from: End, index: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length.max(70)];
    bytes[12..16].copy_from_slice(&[0x86, 0xdd, 0x60, 0x20]);
    bytes[60] = if from == End::A { 1 } else { 2 };
    bytes[61..69].copy_from_slice(&index.to_be_bytes());
    bytes
}

/// One copy that is on the way: (is the second copy, sent at, verdict, bytes as sent).
type Promised = (bool, u64, Verdict, Vec<u8>);

/// One line for each thing that happened.
fn run(config: LinkConfig, mut link: Link, steps: &[Step]) -> Result<Vec<String>, TestCaseError> {
    let mut now = 0;
    let mut log = Vec::new();
    let mut promised: BTreeMap<(End, u64), Vec<Promised>> = BTreeMap::new();
    // Of each direction, the index of the last frame that arrived unhindered.
    let mut last_plain = [None, None];
    let mut last_arrival = 0;
    let drain = [Step::Pass { nanoseconds: u64::MAX / 2 }, Step::Receive { at_most: usize::MAX }];
    for step in steps.iter().chain(&drain) {
        match *step {
            Step::Pass { nanoseconds } => now += nanoseconds,
            Step::Send { from, length } => {
                let bytes = frame(from, link.rules().judged(from), length);
                let report = link.send(now, from, &bytes);
                log.push(format!("{now} {report:?}"));
                promise(&mut promised, now, report, bytes)?;
            }
            Step::Receive { at_most } => {
                for _ in 0..at_most {
                    let announced = link.next_arrival();
                    let Some(seen) = link.receive(now) else {
                        prop_assert!(announced.is_none_or(|at| at > now));
                        break;
                    };
                    log.push(format!("{now} {seen:?}"));
                    prop_assert_eq!(announced, Some(seen.arrived_at));
                    prop_assert!(seen.arrived_at <= now && seen.arrived_at >= last_arrival);
                    last_arrival = seen.arrived_at;
                    let copies = promised.get_mut(&(seen.from, seen.index));
                    let place = copies.as_ref().and_then(|all| all.iter().position(|c| c.0 == seen.is_copy));
                    let (Some(copies), Some(place)) = (copies, place) else {
                        return Err(TestCaseError::fail(format!("nobody sent {seen:?}")));
                    };
                    let (_, sent_at, verdict, bytes) = copies.remove(place);
                    prop_assert_eq!((sent_at, verdict), (seen.sent_at, seen.judgement.verdict));
                    let extra = if let Verdict::Delay(by) = verdict { by } else { 0 };
                    prop_assert!(seen.arrived_at >= sent_at + config.latency + extra);
                    if !matches!(verdict, Verdict::Delay(_) | Verdict::BehindNext { .. }) {
                        let last = &mut last_plain[seen.from as usize];
                        prop_assert!(*last <= Some(seen.index), "overtaken without a rule");
                        *last = Some(seen.index);
                    }
                    check_bytes(verdict, bytes, seen.frame)?;
                }
            }
        }
        for from in ENDS {
            let counts = link.counts(from);
            prop_assert_eq!(
                counts.sent + counts.duplicates,
                counts.dropped + counts.tail_dropped + counts.delivered + counts.in_flight
            );
        }
    }
    prop_assert!(promised.values().all(Vec::is_empty), "lost without a rule: {promised:?}");
    prop_assert_eq!(link.next_arrival(), None);
    Ok(log)
}

fn promise(
    promised: &mut BTreeMap<(End, u64), Vec<Promised>>,
    now: u64,
    report: Report,
    bytes: Vec<u8>,
) -> Result<(), TestCaseError> {
    let verdict = report.judgement.verdict;
    let wanted = match verdict {
        Verdict::Drop => 0,
        Verdict::Duplicate => 2,
        _ => 1,
    };
    prop_assert_eq!(report.copies + report.tail_dropped, wanted);
    let copies = (0..report.copies).map(|copy| (copy > 0, now, verdict, bytes.clone())).collect();
    prop_assert!(promised.insert((report.from, report.index), copies).is_none());
    Ok(())
}

fn check_bytes(verdict: Verdict, mut sent: Vec<u8>, arrived: &[u8]) -> Result<(), TestCaseError> {
    match verdict {
        Verdict::Corrupt { .. } => {
            prop_assert_eq!(sent.len(), arrived.len());
            let flipped: u32 = sent.iter().zip(arrived).map(|(a, b)| (a ^ b).count_ones()).sum();
            prop_assert_eq!(flipped, 1);
        }
        Verdict::Mark => {
            prop_assert!(ecn::mark(&mut sent));
            prop_assert_eq!(&sent, arrived);
        }
        _ => prop_assert_eq!(&sent, arrived),
    }
    Ok(())
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = prop_oneof![Just(End::A), Just(End::B)];
    let step = prop_oneof![
        6 => (end, 70usize..400).prop_map(|(from, length)| Step::Send { from, length }),
        2 => (0u64..2_000).prop_map(|nanoseconds| Step::Pass { nanoseconds }),
        2 => (0usize..8).prop_map(|at_most| Step::Receive { at_most }),
    ];
    proptest::collection::vec(step, 0..200)
}

fn config() -> impl Strategy<Value = LinkConfig> {
    (
        0u64..2_000,
        proptest::option::of(1_000_000_000u64..100_000_000_000),
        500usize..5_000,
        1_000usize..20_000,
    )
        .prop_map(|(latency, bandwidth, queue_limit, in_flight_limit)| LinkConfig {
            latency,
            bandwidth: bandwidth.and_then(NonZeroU64::new),
            queue_limit,
            in_flight_limit,
        })
}

proptest! {
    #[test]
    fn what_arrives_is_what_was_promised_and_the_same_again(
        config in config(), seed: u64, chances in proptest::array::uniform6(0u8..=60), steps in steps(),
    ) {
        let first = run(config, Link::new(config, rules(seed, chances)), &steps)?;
        let again = run(config, Link::new(config, rules(seed, chances)), &steps)?;
        prop_assert_eq!(first, again);
    }

    #[test]
    fn without_rules_and_with_room_everything_arrives_in_order(steps in steps(), seed: u64) {
        let config = LinkConfig::default();
        let link = Link::new(config, rules(seed, [0; 6]));
        let log = run(config, link, &steps)?;
        let sent = steps.iter().filter(|step| matches!(step, Step::Send { .. })).count();
        prop_assert_eq!(log.len(), 2 * sent);
    }
}
