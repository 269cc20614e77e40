//! Packets that changed places, or came twice: nothing was lost by that, and nobody went back.

use rdmalab_lint::{Cause, Observer, Placed, Reason, Report, Role, RuleId, Severity, lint};
use rdmalab_trace::{Entry, Writer};

use super::lost::{Packets, judged, of};

/// Whether it is a request of RC over RoCE v2, IPv4 or IPv6 without options.
fn is_request(packet: &[u8]) -> bool {
    let (next, udp) = if packet.get(12) == Some(&0x86) { (20, 54) } else { (23, 34) };
    let is_roce =
        packet.get(next) == Some(&17) && packet.get(udp + 2..udp + 4) == Some(&4791_u16.to_be_bytes());
    is_roce && packet.get(udp + 8).is_some_and(|opcode| matches!(opcode, 0..=0x0c | 0x13 | 0x14))
}

/// Two packets in each other's place, at the times that the places have.
fn swapped(packets: &Packets, at: usize) -> Packets {
    let mut packets = packets.clone();
    packets.swap(at, at + 1);
    (packets[at].0, packets[at + 1].0) = (packets[at + 1].0, packets[at].0);
    packets
}

fn returns(report: &Report) -> [u64; 5] {
    report.flows[0].stats.returns
}

#[test]
fn requests_that_changed_places_were_not_lost() {
    for name in ["write_bw", "send_bw", "read_bw"] {
        let packets = of(name);
        let mut count = 0;
        for at in
            (0..packets.len() - 1).filter(|at| is_request(&packets[*at].1) && is_request(&packets[at + 1].1))
        {
            let report = judged(&swapped(&packets, at));
            let flow = &report.flows[0];
            // What seems to be behind the first or the last one may have been there before the capture began.
            if flow.stats.late == 0 {
                continue;
            }
            count += 1;
            assert_eq!(report.count(Severity::Violation), 0, "{name} {at}:\n{report}");
            assert_eq!(report.count_of(RuleId::MissingRequests), 0, "{name} {at}:\n{report}");
            assert_eq!((flow.stats.lost_ahead, flow.stats.lost_behind), (0, 0), "{name} {at}:\n{report}");
            assert_eq!(returns(&report), [0; 5], "{name} {at}:\n{report}");
            assert!(!flow.reasons.has(Reason::LostAhead), "{name} {at}:\n{report}");
        }
        assert!(count > 0, "{name}");
    }
}

/// Where the requester goes back, and why, stays what it is when a repetition comes late.
#[test]
fn repetitions_that_changed_places_are_no_further_returns() {
    let packets = of("write_drop_after");
    let right = returns(&judged(&packets));
    let (mut all, mut wrong) = (0, Vec::new());
    for at in
        (0..packets.len() - 1).filter(|at| is_request(&packets[*at].1) && is_request(&packets[at + 1].1))
    {
        let report = judged(&swapped(&packets, at));
        assert_eq!(report.count(Severity::Violation), 0, "{at}:\n{report}");
        all += 1;
        if returns(&report) != right {
            wrong.push((at + 1, returns(&report)));
        }
    }
    assert!(wrong.len() * 50 < all, "{} of {all}: {wrong:?}, right: {right:?}", wrong.len());
}

/// Without identifications two packets that are alike are told from one that is there twice by what follows.
#[test]
fn packets_that_came_twice_are_not_sent_again() {
    let packets = of("rc_pingpong_v6");
    for later in [700, 29_000] {
        let again = packets.iter().map(|(time, data)| (time + later, data.clone()));
        let mut all: Packets = packets.iter().cloned().chain(again).collect();
        all.sort_by_key(|(time, _)| *time);
        let report = judged(&all);
        assert_eq!(report.count(Severity::Violation), 0, "{later}:\n{report}");
        for flow in &report.flows {
            assert_eq!(flow.stats.returns, [0; 5], "{later}:\n{report}");
            assert_eq!(flow.stats.duplicates * 2, flow.stats.requests, "{later}:\n{report}");
            assert_eq!(flow.stats.duplicate_responses * 2, flow.stats.responses, "{later}:\n{report}");
        }
    }
}

/// What was told of packets, and corrected.
#[derive(Default)]
struct Roles(std::collections::BTreeMap<u64, Role>);

impl Observer for Roles {
    fn packet(&mut self, placed: Placed) {
        self.0.insert(placed.frame, placed.role);
    }

    fn corrected(&mut self, placed: Placed) {
        self.0.insert(placed.frame, placed.role);
    }
}

/// In `write_drop_after` the requester goes back in frame 124; of frames 130 and 131 the second comes first.
#[test]
fn a_repetition_that_comes_late_is_corrected_to_the_cause_of_the_others() {
    let packets = swapped(&of("write_drop_after"), 129);
    let mut file = Writer::new(Vec::new()).unwrap();
    let interface = file.interface("eth0").unwrap();
    for (time, data) in &packets {
        file.write(Entry::new(interface, *time, data)).unwrap();
    }
    let mut roles = Roles::default();
    let report = lint(&file.finish().unwrap()[..], &mut roles).unwrap();
    for frame in 124..140 {
        let role = roles.0.get(&frame);
        let is_nak = matches!(role, Some(Role::Repetition { cause: Cause::Nak, .. }));
        assert!(is_nak || role == Some(&Role::Response), "{frame} {role:?}:\n{report}");
    }
}
