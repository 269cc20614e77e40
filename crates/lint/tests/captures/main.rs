//! The captures of real peers: no violation but those that are known, and the counts that a careful reading gives.

mod answers;
mod by_hand;
mod clocks;
mod links;
mod lost;
mod lost_segments;
mod order;
mod reading;
mod unjudged;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rdmalab_lint::{Observer, Operation, Report, RuleId, Severity, lint};
use rdmalab_trace::{Entry, Reader, Writer};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name)
}

fn captures(name: &str) -> BTreeMap<String, Report> {
    let files = fs::read_dir(folder(name)).unwrap().map(|entry| entry.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    captures
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, lint(&fs::read(path).unwrap()[..], &mut ()).unwrap())
        })
        .collect()
}

fn judged(name: &str) -> Report {
    lint(&fs::read(folder(&format!("{name}.pcap"))).unwrap()[..], &mut ()).unwrap()
}

/// What is known of rxe and cannot be called right: the rule, how often, and why (docs/RXE.md).
const SUSPICIOUS: [(&str, RuleId, u64); 1] = [
    // The answer to a shortened READ begins with MIDDLE or LAST: 19 times, of which three are those of a READ whose first
    // request is not in the capture (PSN 1247120, frames 1593, 1747 and 1901), which is not judged.
    ("read_bw_loss", RuleId::ReadStart, 16),
];

/// What real peers violate: the capture, the rule, how often, and why.
const KNOWN: [(&str, RuleId, u64); 1] = [
    // siw sends as soon as its application posts, not when the initiator's first FPDU has come (docs/SIW.md): frame 8.
    ("siw_rstream", RuleId::MpaFirst, 1),
];

/// What is worth knowing of them: the capture, the rule, how often.
const NOTES: [(&str, RuleId, u64); 5] = [
    // Packets that netem dropped between the peer and the place of capture.
    ("read_bw_loss", RuleId::MissingRequests, 1),
    ("write_bw_loss", RuleId::MissingRequests, 12),
    // The padding of siw's SENDs (docs/SIW.md).
    ("siw_read_bw", RuleId::MpaPad, 2),
    ("siw_write_bw", RuleId::MpaPad, 2),
    ("siw_write_loss", RuleId::MpaPad, 2),
];

#[test]
fn conversations_of_real_peers_are_no_violation_but_known_ones() {
    let all = captures("");
    assert!(all.len() >= 25, "{}", all.len());
    for (name, report) in all {
        let violations = KNOWN.iter().filter(|(known, ..)| *known == name);
        for (_, rule, count) in violations.clone() {
            assert_eq!(report.count_of(*rule), *count, "{name}:\n{report}");
        }
        let known: u64 = violations.map(|(.., count)| count).sum();
        assert_eq!(report.count(Severity::Violation), known, "{name}:\n{report}");
        let known = SUSPICIOUS.iter().filter(|(known, ..)| *known == name);
        let count: u64 = known.clone().map(|(_, rule, _)| report.count_of(*rule)).sum();
        assert_eq!(count, known.map(|(.., count)| count).sum::<u64>(), "{name}:\n{report}");
        assert_eq!(report.count(Severity::Suspicious), count, "{name}:\n{report}");
        let known = NOTES.iter().filter(|(known, ..)| *known == name);
        let count: u64 = known.clone().map(|(_, rule, _)| report.count_of(*rule)).sum();
        assert_eq!(count, known.map(|(.., count)| count).sum::<u64>(), "{name}:\n{report}");
        assert_eq!(report.count(Severity::Note), count, "{name}:\n{report}");
        assert_eq!(report.totals.unpaired, 0, "{name}:\n{report}");
    }
}

/// What may have become of a capture before it is judged.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// A snap length, in bytes.
    Cut(usize),
    /// It began so many packets late.
    Late(usize),
    /// The capturing program lost each n-th packet, beginning with this one.
    Dropped(usize, usize),
    /// Two places of capture: each packet twice.
    Twice,
    /// Each n-th packet is behind the next one.
    Swapped(usize),
    /// Only what one host sent: of each packet, the one whose source address ends so.
    OneWay(u8),
}

/// The packets of a capture, with their times in nanoseconds.
fn packets(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = Reader::new(file).unwrap();
    let mut packets = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        packets.push((record.time.unwrap() as u64, record.data.to_vec()));
    }
    packets
}

/// Only the frames of these numbers, in their order.
fn keeping(file: &[u8], frames: &[usize]) -> Vec<u8> {
    let mut kept = Writer::new(Vec::new()).unwrap();
    let interface = kept.interface("eth0").unwrap();
    let packets = packets(file);
    for (time, data) in frames.iter().map(|frame| &packets[frame - 1]) {
        kept.write(Entry::new(interface, *time, data)).unwrap();
    }
    kept.finish().unwrap()
}

fn lied(file: &[u8], lie: Lie) -> Vec<u8> {
    let mut packets = packets(file);
    if let Lie::Swapped(every) = lie {
        for at in (0..packets.len().saturating_sub(1)).step_by(every) {
            let times = (packets[at].0, packets[at + 1].0);
            packets.swap(at, at + 1);
            (packets[at].0, packets[at + 1].0) = times;
        }
    }
    let mut file = Writer::new(Vec::new()).unwrap();
    let interface = file.interface("eth0").unwrap();
    for (index, (time, data)) in packets.iter().enumerate() {
        let entry = Entry::new(interface, *time, data);
        match lie {
            Lie::Cut(length) => {
                let kept = data.get(..length).unwrap_or(data);
                let entry = Entry::new(interface, *time, kept);
                file.write(entry.original_length(data.len() as u32)).unwrap();
            }
            Lie::Late(first) if index < first => {}
            Lie::Dropped(first, every) if index % every == first => {}
            // The last byte of an IPv4 source address.
            Lie::OneWay(last) if data.get(29) != Some(&last) => {}
            Lie::Twice => {
                file.write(entry).unwrap();
                file.write(Entry::new(interface, *time + 700, data)).unwrap();
            }
            _ => file.write(entry).unwrap(),
        }
    }
    file.finish().unwrap()
}

/// However a capture lies: real peers violate nothing, as what is not known is not judged.
#[test]
fn captures_that_lie_show_no_violation() {
    let mut lies = vec![Lie::Twice, Lie::OneWay(1), Lie::OneWay(2)];
    lies.extend([20, 40, 50, 54, 58, 60, 66, 70, 80, 90, 120].map(Lie::Cut));
    lies.extend([3, 8, 25, 100, 500].map(Lie::Late));
    lies.extend([7, 13, 29].iter().flat_map(|every| (0..*every).map(|first| Lie::Dropped(first, *every))));
    lies.extend([2, 5, 11].map(Lie::Swapped));
    let files = fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap().path());
    let mut wrong = Vec::new();
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "pcap")) {
        let file = fs::read(&path).unwrap();
        for lie in &lies {
            let report = lint(&lied(&file, *lie)[..], &mut ()).unwrap();
            let known: Vec<RuleId> = KNOWN
                .iter()
                .filter(|(known, ..)| path.file_stem().is_some_and(|name| name == *known))
                .map(|(_, rule, _)| *rule)
                .collect();
            let first = report.findings.iter().find(|finding| {
                finding.rule.rule().severity == Severity::Violation && !known.contains(&finding.rule)
            });
            if let Some(first) = first {
                wrong.push(format!(
                    "{} {lie:?}: {} {:?} {}",
                    path.display(),
                    first.rule,
                    first.frames,
                    first.what
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} lies believed:\n{}", wrong.len(), wrong.join("\n"));
}

/// Keeps what is told.
#[derive(Default)]
struct Told(Vec<Operation>);

impl Observer for Told {
    fn operation(&mut self, operation: &Operation) {
        self.0.push(*operation);
    }
}

#[test]
fn operations_are_told_from_the_first_packet_to_what_completes_them() {
    let mut told = Told::default();
    lint(&fs::read(folder("rping.pcap")).unwrap()[..], &mut told).unwrap();
    // Twice: SEND, READ, SEND, WRITE, and SENDs of the other side in between.
    let kinds: Vec<&str> = told.0.iter().map(|operation| operation.kind.name()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "READ").count(), 2, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "WRITE").count(), 2, "{kinds:?}");
    assert!(told.0.iter().all(|operation| operation.begun.0 < operation.completed.0), "{:?}", told.0);
}
