//! The emulator's own traffic, with each packet mistreated in each way in turn, is judged clean wherever it is captured: in front
//! of the link, behind it, or at one end. Where the two disagree, one of them is wrong.

mod network;
#[path = "../../../roce/tests/pair/pair.rs"]
mod pair;

use network::{Fault, Place, Sent, capture, play, play_with};
use pair::Fate;
use pair::peer::{Service, Setup};
use rdmalab_lint::{Cause, Report, RuleId, Severity, lint};
use rdmalab_roce::Profile;
use rdmalab_wire::PathMtu;

const PLACES: [Place; 4] = [Place::InFront, Place::Behind, Place::At(0), Place::At(1)];

/// What can happen to a packet; times are within a burst, and beyond the local ACK timeout of 67 ms.
const FATES: [Fate; 8] = [
    Fate::Drop,
    Fate::Duplicate,
    Fate::Late,
    Fate::Corrupt,
    Fate::Held(3_000),
    Fate::Held(100_000_000),
    Fate::Echo(3_000),
    Fate::Echo(100_000_000),
];

fn judge(all: &[Sent], place: Place) -> Report {
    lint(&capture(all, place, Fault::None)[..], &mut ()).unwrap()
}

fn setup(service: Service, profile: Profile) -> Setup {
    // PSNs wrap on the way.
    Setup {
        service,
        profile,
        mtu: PathMtu::M256,
        first_psn: 0xff_fffb,
        memory: 64 * 1024,
        ..Setup::default()
    }
}

/// Judges each packet's each fate from each place. A broken packet is found as such, and nothing else is a violation.
fn each(service: Service, profile: Profile, both: bool, late: bool) {
    let setup = setup(service, profile);
    let clean = play(&setup, both, late, None);
    for place in PLACES {
        let report = judge(&clean, place);
        assert!(report.findings.is_empty(), "{place:?}, {setup:?}:\n{report}");
        let done: u64 = report.flows.iter().map(|flow| flow.stats.operations.count()).sum();
        assert_eq!(done, if both { 24 } else { 12 }, "{place:?}, {setup:?}:\n{report}");
    }
    let mut restarts = 0;
    let mut judged = 0;
    for fate in FATES {
        for unlucky in 0..clean.len() as u64 {
            let all = play(&setup, both, late, Some((unlucky, fate)));
            for place in PLACES {
                let report = judge(&all, place);
                let broken = report.count_of(RuleId::Icrc);
                assert_eq!(
                    report.count(Severity::Violation) - broken,
                    0,
                    "packet {unlucky} {fate:?}, captured {place:?}, {setup:?}:\n{report}"
                );
                assert!(broken <= u64::from(fate == Fate::Corrupt), "{fate:?}, {place:?}:\n{report}");
                // Answers to shortened READs begin as rxe's do, in its profile; a late one looks the same.
                let restarted = report.count_of(RuleId::ReadStart);
                assert_eq!(
                    report.count(Severity::Suspicious),
                    restarted,
                    "packet {unlucky} {fate:?}, captured {place:?}, {setup:?}:\n{report}"
                );
                restarts += restarted;
                judged += 1;
            }
        }
    }
    println!(
        "{service:?} both={both} late={late}: {judged} captures, {restarts} READs that go on with MIDDLE or LAST"
    );
}

#[test]
fn reliable_connections_are_judged_clean() {
    each(Service::Rc, Profile::RXE, false, false);
    each(Service::Rc, Profile::SPEC, false, false);
}

#[test]
fn both_directions_at_once_are_judged_clean() {
    each(Service::Rc, Profile::SPEC, true, false);
}

#[test]
fn receivers_that_are_not_ready_are_judged_clean() {
    each(Service::Rc, Profile::RXE, false, true);
    each(Service::Rc, Profile::SPEC, true, true);
}

#[test]
fn extended_reliable_connections_are_judged_clean() {
    each(Service::Xrc, Profile::SPEC, false, false);
}

#[test]
fn packets_that_the_capturing_program_missed_or_swapped_are_no_violation() {
    for (profile, both, late, unlucky) in [
        (Profile::SPEC, true, false, None),
        (Profile::RXE, true, true, None),
        (Profile::SPEC, false, false, Some((7, Fate::Drop))),
        (Profile::RXE, false, false, Some((5, Fate::Drop))),
        (Profile::RXE, false, false, Some((16, Fate::Drop))),
    ] {
        let setup = setup(Service::Rc, profile);
        let all = play(&setup, both, late, unlucky);
        for place in [Place::InFront, Place::At(0), Place::At(1)] {
            for packet in 0..all.len() - 2 {
                for fault in [Fault::Missed(packet), Fault::Swapped(packet)] {
                    let report = lint(&capture(&all, place, fault)[..], &mut ()).unwrap();
                    assert!(
                        report.is_clean(),
                        "{unlucky:?}, captured {place:?} with {fault:?}, {setup:?}:\n{report}"
                    );
                }
            }
        }
    }
}

/// Many packets mistreated at once. Some coincidences cannot be told from faults, nor each cause be known; those must be rare.
#[test]
fn bad_networks_are_judged_clean() {
    let (mut judged, mut suspicious, mut unknown, mut repeated) = (0, 0, 0, 0);
    for seed in 0..1000_u64 {
        let fate_of = |number: u64| {
            // A mixture of the two numbers that has no pattern.
            let mut mixed = (seed << 32 | number).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed ^= mixed >> 27;
            if mixed % 100 < 8 { FATES[(mixed >> 32) as usize % FATES.len()] } else { Fate::Deliver }
        };
        let profile = if seed % 2 == 0 { Profile::SPEC } else { Profile::RXE };
        let setup = setup(Service::Rc, profile);
        let all = play_with(&setup, seed % 3 == 0, seed % 5 == 0, fate_of);
        for place in PLACES {
            let report = judge(&all, place);
            let broken = report.count_of(RuleId::Icrc);
            assert_eq!(
                report.count(Severity::Violation) - broken,
                0,
                "seed {seed}, captured {place:?}, {setup:?}:\n{report}"
            );
            judged += 1;
            suspicious += report.count(Severity::Suspicious) - report.count_of(RuleId::ReadStart);
            for flow in &report.flows {
                unknown += flow.stats.returns[Cause::Unknown as usize];
                repeated += flow.stats.returns.iter().sum::<u64>();
            }
        }
    }
    println!(
        "{judged} captures, {suspicious} suspicious; {unknown} of {repeated} returns have no known cause"
    );
    assert!(suspicious * 50 < judged, "{suspicious} of {judged}");
    assert!(unknown * 25 < repeated, "{unknown} of {repeated}");
}

#[test]
fn a_lost_request_is_told_by_its_cause_and_its_place() {
    let setup = setup(Service::Rc, Profile::RXE);
    // The middle of the first message.
    let all = play(&setup, false, false, Some((1, Fate::Drop)));
    for (place, behind) in [(Place::At(0), true), (Place::At(1), false)] {
        let report = judge(&all, place);
        let stats = &report.flows[0].stats;
        assert_eq!(stats.naks, 1, "{place:?}:\n{report}");
        assert_eq!(stats.returns[Cause::Nak as usize], 1, "{place:?}:\n{report}");
        assert_eq!(
            (stats.lost_behind, stats.lost_ahead),
            if behind { (1, 0) } else { (0, 1) },
            "{place:?}:\n{report}"
        );
    }
}

/// Packets from UDP sockets and over IPv6 have no identification: what is answered again is told from what is in the capture twice.
#[test]
fn each_operation_counts_with_and_without_identifications() {
    for profile in [Profile::RXE, Profile::SPEC] {
        let setup = setup(Service::Rc, profile);
        let packets = play(&setup, false, false, None).len() as u64;
        for fate in [Fate::Drop, Fate::Held(3_000), Fate::Held(100_000_000)] {
            for unlucky in 0..packets {
                let all = play(&setup, false, false, Some((unlucky, fate)));
                for (place, fault) in
                    PLACES.into_iter().flat_map(|place| [(place, Fault::None), (place, Fault::Unnamed)])
                {
                    let report = lint(&capture(&all, place, fault)[..], &mut ()).unwrap();
                    let what =
                        format!("packet {unlucky} {fate:?}, captured {place:?} with {fault:?}, {setup:?}");
                    assert!(report.is_clean(), "{what}:\n{report}");
                    let done: u64 = report.flows.iter().map(|flow| flow.stats.operations.count()).sum();
                    assert_eq!(done, 12, "{what}:\n{report}");
                }
            }
        }
    }
}
