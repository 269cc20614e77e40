//! The third judge, `rdmalab-lint`: whether the conversations in a capture keep to the rules of their protocols.
//!
//! What is violated is a fault, unless it is [known](crate::deviations) of whoever sent the packets that show it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;
use std::path::Path;

use rdmalab_lint::{Finding, Report, Severity, lint};
use rdmalab_trace::{Dissection, Network, Reader};
use rdmalab_wire::Address;

use crate::Place;
use crate::deviations::{Whose, known};

/// So many packets of a group of games, of which the capture need not tell whether they came twice or were sent again.
const FEW: u64 = 2;

/// What was found of the conduct of both sides.
#[derive(Clone)]
pub struct Conduct {
    /// Rows and findings.
    pub report: Report,
    /// What violates a rule and is known of nobody, a line each.
    pub faults: Vec<String>,
}

impl Conduct {
    /// Judges a capture.
    #[track_caller]
    pub fn of(file: &Path) -> Self {
        let open = || {
            let file = File::open(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            BufReader::new(file)
        };
        let report = lint(open(), &mut ())
            .unwrap_or_else(|error| panic!("{} cannot be judged to its end: {error}", file.display()));
        let violations = report.findings.iter().filter(|finding| is_violation(finding));
        let frames: BTreeSet<u64> = violations.clone().flat_map(|finding| &finding.frames).copied().collect();
        let senders = senders(open(), &frames);
        let mut faults: Vec<String> = violations
            .filter(|finding| !is_known(finding, &senders))
            .map(|finding| {
                format!("frames {:?}: {}: {}", finding.frames, finding.rule.rule().name, finding.what)
            })
            .collect();
        // What was only counted, nobody can have looked at.
        let kept = report.findings.iter().filter(|finding| is_violation(finding)).count() as u64;
        if kept < report.count(Severity::Violation) {
            faults
                .push(format!("{} violations, of which {kept} were kept", report.count(Severity::Violation)));
        }
        Self { report, faults }
    }

    /// `Err` says what is violated.
    pub fn sound(&self) -> Result<(), String> {
        const SHOWN: usize = 20;
        if self.faults.is_empty() {
            return Ok(());
        }
        let shown = self.faults.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
        let more = self.faults.len().saturating_sub(SHOWN);
        Err(format!("rdmalab lint finds violations:\n{shown}\nand {more} more"))
    }

    /// `Err` if it is not so, but for a few, that our ends sent so many request packets again, where they lost so many of all that they
    /// sent, in front of the place of capture.
    pub fn fits(&self, again: u64, lost: u64) -> Result<(), String> {
        let found = self.sent_again_by_us();
        if (again.saturating_sub(lost + FEW)..=again + FEW).contains(&found) {
            return Ok(());
        }
        Err(format!(
            "rdmalab lint counts {found} packets that we sent again; we sent {again} again, and lost {lost} of all on purpose"
        ))
    }

    /// How many request packets our ends sent again, as the capture has it.
    pub(crate) fn sent_again_by_us(&self) -> u64 {
        let ours = self.report.flows.iter().filter(|flow| match flow.source {
            Address::Ip(address) => !is_guest(address),
            _ => false,
        });
        ours.map(|flow| flow.stats.repeated.iter().sum::<u64>()).sum()
    }
}

/// A report is long.
impl std::fmt::Debug for Conduct {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Conduct {{ faults: {:?} }}", self.faults)
    }
}

fn is_violation(finding: &Finding) -> bool {
    finding.rule.rule().severity == Severity::Violation
}

/// Whether the one who sent the packet in which it was noticed is known for it.
fn is_known(finding: &Finding, senders: &BTreeMap<u64, IpAddr>) -> bool {
    let Some(sender) = finding.frames.first().and_then(|frame| senders.get(frame)) else { return false };
    known(finding.rule, if is_guest(*sender) { Whose::Linux } else { Whose::Ours })
}

fn is_guest(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address == Place::GUEST,
        IpAddr::V6(address) => address == Place::GUEST_V6,
    }
}

/// Who sent these frames.
fn senders(capture: impl std::io::Read, frames: &BTreeSet<u64>) -> BTreeMap<u64, IpAddr> {
    let mut senders = BTreeMap::new();
    let Some(last) = frames.last() else { return senders };
    let mut reader = Reader::new(capture).expect("it has been read before");
    while let Some(record) = reader.next().expect("it has been read before") {
        if record.frame > *last {
            break;
        }
        if !frames.contains(&record.frame) {
            continue;
        }
        let sender = match Dissection::of(&record).network {
            Some(Network::V4 { header, .. }) => IpAddr::V4(header.source),
            Some(Network::V6(header)) => IpAddr::V6(header.source),
            None => continue,
        };
        senders.insert(record.frame, sender);
    }
    senders
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(name: &str) -> Conduct {
        Conduct::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../pcaps").join(name))
    }

    /// siw's, and the same made by hand on the other side.
    #[test]
    fn a_terminate_message_the_wrong_way_round_is_excused_in_linux_only() {
        let theirs = captured("siw/write_rights.pcap");
        assert!(theirs.report.count(Severity::Violation) > 0, "{}", theirs.report);
        assert_eq!(theirs.sound(), Ok(()));
        let ours = captured("siw/terminates.pcap").sound().unwrap_err();
        assert!(ours.contains("terminate-bits"), "{ours}");
    }

    #[test]
    fn what_is_known_of_nobody_is_a_fault_of_either_side() {
        // Of ours, and of rxe's.
        for (name, rule, count) in
            [("rxe/syndromes.pcap", "reserved-syndrome", 6), ("rxe/flush_sent.pcap", "icrc", 1)]
        {
            let faults = captured(name).faults;
            let of_it = faults.iter().filter(|fault| fault.contains(rule)).count();
            assert_eq!((of_it, faults.len()), (count, count), "{faults:?}");
        }
    }
}
