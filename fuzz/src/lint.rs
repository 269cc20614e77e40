//! A capture to judge: arbitrary bytes as a file, or steps of a conversation with right checksums, over RoCE or over TCP, that a
//! capture may have lost, doubled or put out of order.

mod conversation;
mod stream;

use std::borrow::Cow;

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::wire::EthernetAddress;
use rdmalab_craft::{Capture, Frame, Host};
use rdmalab_lint::{Finding, MOST_FINDINGS, Observer, RULES, Report, lint};

/// Judges what the bytes stand for, twice.
pub fn run(bytes: &[u8]) {
    if let Some(file) = file(bytes) {
        judge(&file);
    }
}

/// The capture file that the bytes stand for.
pub(crate) fn file(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let (kind, rest) = bytes.split_first()?;
    Some(match kind % 4 {
        0 => Cow::Borrowed(rest),
        1 | 2 => Cow::Owned(conversation::roce(&mut Steps(rest))),
        _ => Cow::Owned(stream::tcp(&mut Steps(rest))),
    })
}

/// Counts what is told.
#[derive(Default)]
struct Told(usize);

impl Observer for Told {
    fn finding(&mut self, finding: &Finding) {
        assert!(!finding.what.is_empty());
        self.0 += 1;
    }
}

fn judge(file: &[u8]) -> Report {
    let once = |told: &mut Told| match lint(file, told) {
        Ok(report) => report,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            *error.report
        }
    };
    let mut told = Told::default();
    let report = once(&mut told);
    let again = once(&mut Told::default());
    assert_eq!(report.to_string(), again.to_string(), "the same capture is judged alike");
    assert_eq!(report.json(), again.json());
    assert_eq!(told.0, report.findings.len(), "each finding that is kept is told of once");
    assert!(report.findings.len() <= MOST_FINDINGS);
    assert_eq!(report.counts.len(), RULES.len());
    assert!(report.counts.iter().sum::<u64>() >= report.findings.len() as u64);
    for finding in &report.findings {
        assert!(!finding.frames.is_empty(), "{finding:?}");
        assert!(
            finding.frames.iter().all(|frame| (1..=report.totals.packets).contains(frame)),
            "{finding:?}"
        );
    }
    let mut numbers: Vec<u64> = report.flows.iter().map(|flow| flow.number).collect();
    numbers.extend(report.streams.iter().map(|stream| stream.number));
    let all = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), all, "each flow has a number of its own");
    report
}

/// Bytes, one by one; zeros behind the last.
struct Steps<'s>(&'s [u8]);

impl Steps<'_> {
    fn has_more(&self) -> bool {
        !self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }
}

fn host(n: u8) -> Host {
    Host::new(EthernetAddress([2, 0, 0, 0, 0, n]), [10, 0, 0, n].into())
}

fn put(capture: &mut Capture<Vec<u8>>, time: u64, bytes: &[u8]) {
    capture
        .write(&Frame::new(time, LinkType::ETHERNET, bytes))
        .unwrap_or_else(|error| panic!("a vector takes everything: {error}"));
}
