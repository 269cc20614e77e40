//! Each direction captured at a place of its own, by clocks that differ.

use rdmalab_craft::wire::Carrier;
use rdmalab_lint::{Reason, Severity};

use super::conversations::READS_AT_ONCE;
use super::talk::{Said, judge, talk};

fn source(said: &Said) -> [u8; 4] {
    let Carrier::RoceV2Ipv4(ip, _) = &said.packet.carrier else { panic!("IPv4") };
    ip.source.octets()
}

/// An RTU in front of its REP shows it. Two READs, of which only one at a time is agreed on, then seem to be sent at once.
#[test]
fn what_is_under_way_is_not_judged_by_two_clocks() {
    let mut conversation = talk(READS_AT_ONCE);
    let clean = judge(&conversation);
    assert!(clean.findings.is_empty(), "{clean}");
    let caller = source(&conversation[0]);
    for said in &mut conversation {
        said.time += if source(said) == caller { 0 } else { 1_000_000 };
    }
    conversation.sort_by_key(|said| said.time);
    let report = judge(&conversation);
    assert_eq!(report.count(Severity::Violation), 0, "{report}");
    assert!(report.flows.iter().all(|flow| flow.reasons.has(Reason::Reordered)), "{report}");
    let done: u64 = report.flows.iter().map(|flow| flow.stats.operations.count()).sum();
    assert_eq!(done, 2, "{report}");
}
