//! Lies by chance. A capturing program may do to a sound capture whatever it likes, and no rule is broken by that. What a peer lies
//! about, rules find, or it is written down here why nobody can.
//!
//! More of them: `LIES=100000 cargo test -p rdmalab-lint --test lies`; one alone: `LIE=1234`.

mod capturer;
mod peer;
mod sound;
mod unseen;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;

use capturer::Lie;
use peer::Told;
use rdmalab_lint::{RULES, Report, RuleId, Severity};
use rdmalab_sim::{Random, Seed};
use sound::{Packet, Sound, judge};

/// How many of each capture's packets at once are lied about.
const MOST_PACKETS: u64 = 300;
const LIES: u64 = 600;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

/// A violation that no capture can prove, if there is one.
fn violated(packets: &[Packet], known: &[RuleId]) -> Option<RuleId> {
    let report = judge(packets);
    let is_false = |rule: &RuleId| rule.rule().severity == Severity::Violation && !known.contains(rule);
    report.findings.iter().map(|finding| finding.rule).find(is_false)
}

/// As few of the packets as break the rule: any of them may be missing.
fn fewest(mut packets: Vec<Packet>, rule: RuleId, known: &[RuleId]) -> Vec<Packet> {
    let mut step = packets.len() / 2;
    while step > 0 {
        let mut at = 0;
        while at < packets.len() {
            let mut fewer = packets.clone();
            fewer.drain(at..(at + step).min(packets.len()));
            if violated(&fewer, known) == Some(rule) {
                packets = fewer;
            } else {
                at += step;
            }
        }
        step /= 2;
    }
    packets
}

fn lied(sound: &Sound, random: &mut Random) -> (Vec<Lie>, Vec<Packet>) {
    let count = sound.packets.len() as u64;
    let length = count.min(10 + random.below(MOST_PACKETS));
    let from = random.below(count - length + 1);
    let mut packets = sound.packets.clone();
    let mut lies = vec![Lie::Part(from as usize, length as usize)];
    for _ in 0..1 + random.below(3) {
        let lie = capturer::any(random);
        if !(lie.is_about_order() && lies.iter().any(|lie| lie.is_about_order())) {
            lies.push(lie);
        }
    }
    for lie in &lies {
        if !packets.is_empty() {
            capturer::told(&mut packets, *lie, random);
        }
    }
    (lies, packets)
}

#[test]
fn no_capturing_program_makes_a_violation_of_a_sound_conversation() {
    let mut all = sound::of_real_peers();
    all.extend(sound::crafted());
    let one = number("LIE");
    let mut wrong = Vec::new();
    for case in one.map_or(0..number("LIES").unwrap_or(LIES), |one| one..one + 1) {
        let mut random = Seed::new(case).random();
        let sound = &all[random.below(all.len() as u64) as usize];
        let (lies, packets) = lied(sound, &mut random);
        let Some(rule) = violated(&packets, sound.known) else { continue };
        let fewest = fewest(packets, rule, sound.known);
        let report = judge(&fewest);
        wrong.push(format!("LIE={case} {} {lies:?}: {rule}: {} packets\n{report}", sound.name, fewest.len()));
        if one.is_some()
            && let Ok(path) = env::var("LIE_FILE")
        {
            std::fs::write(path, sound::file(&fewest)).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}\n{} lies believed", wrong.join("\n"), wrong.len());
}

/// What became of the changes of a field.
#[derive(Default)]
struct Changes {
    all: u64,
    found: u64,
    rules: BTreeMap<RuleId, u64>,
}

/// The rules that are broken more often than in the sound conversation.
fn found(before: &Report, changed: &[Packet]) -> Vec<RuleId> {
    let report = judge(changed);
    let more = |rule: &RuleId| report.count_of(*rule) > before.count_of(*rule);
    RULES.iter().map(|rule| rule.id).filter(more).collect()
}

/// Turns over bits of the fields of all packets, one by one.
fn change(sound: &Sound, fields: &mut BTreeMap<&str, Changes>, bits: impl Fn(&Told) -> Vec<usize>) {
    let before = judge(&sound.packets);
    for at in 0..sound.packets.len() {
        for told in peer::told(&sound.packets[at]) {
            for bit in bits(&told) {
                let mut packets = sound.packets.clone();
                packets[at] = peer::changed(&packets[at], &told, bit);
                let found = found(&before, &packets);
                let changes = fields.entry(told.name).or_default();
                changes.all += 1;
                changes.found += u64::from(!found.is_empty());
                found.into_iter().for_each(|rule| *changes.rules.entry(rule).or_default() += 1);
            }
        }
    }
}

#[test]
fn what_peers_lie_about_is_found_or_known_not_to_be() {
    let mut fields: BTreeMap<&str, Changes> = BTreeMap::new();
    let random = RefCell::new(Seed::new(1).random());
    let all = sound::crafted();
    let rounds = number("LIES").map_or(1, |lies| lies.div_ceil(10_000));
    for sound in (0..rounds).flat_map(|_| &all) {
        change(sound, &mut fields, |told| vec![random.borrow_mut().below(told.bits as u64) as usize]);
    }
    // Of some fields, only a few bits are wrong.
    let is_missed = |name: &str, changes: &Changes| changes.found == 0 && !unseen::is_unseen(name);
    let missed: Vec<&str> =
        fields.iter().filter(|(name, it)| is_missed(name, it)).map(|(name, _)| *name).collect();
    for sound in &all {
        change(sound, &mut fields, |told| (0..told.bits).filter(|_| missed.contains(&told.name)).collect());
    }
    let (mut all, mut found, mut wrong) = (0, 0, Vec::new());
    for (name, changes) in &fields {
        let rules: Vec<String> = changes.rules.keys().map(|rule| rule.to_string()).collect();
        println!("{name:<48} {:>5} of {:>5}  {}", changes.found, changes.all, rules.join(" "));
        (all, found) = (all + changes.all, found + changes.found);
        // What cannot be known is found by chance at most.
        if is_missed(name, changes) || unseen::is_unseen(name) && changes.found * 100 > changes.all {
            wrong.push(format!("{name}: {} of {} are found", changes.found, changes.all));
        }
    }
    println!("{found} of {all} changes are found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
