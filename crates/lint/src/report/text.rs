//! The report for people.

use core::fmt;

use super::{FlowReport, Report};
use crate::flow::times::{Times, TimesSummary};
use crate::observer::Cause;
use crate::reason::Reason;
use crate::rule::Severity;
use crate::words::Counted;

/// A report, with the explanation of each rule that was broken behind its findings.
pub struct Explained<'r>(pub &'r Report);

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, false)
    }
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, true)
    }
}

impl Report {
    fn write(&self, f: &mut fmt::Formatter<'_>, explains: bool) -> fmt::Result {
        self.rows(f)?;
        for finding in &self.findings {
            let rule = finding.rule.rule();
            write!(f, "{}: frame", rule.severity)?;
            for (index, frame) in finding.frames.iter().enumerate() {
                write!(f, "{} {frame}", if index == 0 { "" } else { "," })?;
            }
            if let Some(flow) = finding.flow {
                write!(f, ", flow {flow}")?;
            }
            writeln!(f, ": {}: {}", rule.name, finding.what)?;
        }
        let kept = self.findings.len() as u64;
        let all: u64 = self.counts.iter().sum();
        if all > kept {
            writeln!(f, "… and {} findings more, of these rules:", all - kept)?;
            for (rule, count) in crate::RULES.iter().zip(&self.counts).filter(|(_, count)| **count > 0) {
                writeln!(f, "  {}: {count} in all", rule.name)?;
            }
        }
        if explains {
            self.explain(f)?;
        }
        self.not_judged(f)?;
        write!(f, "{}", self.unjudged)?;
        self.summary(f)
    }

    /// Flows and streams by their numbers.
    fn rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut streams = self.streams.iter().peekable();
        for flow in &self.flows {
            while let Some(stream) = streams.next_if(|stream| stream.number < flow.number) {
                writeln!(f, "{stream}")?;
            }
            writeln!(f, "{flow}")?;
        }
        streams.try_for_each(|stream| writeln!(f, "{stream}"))
    }

    fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rule, _) in crate::RULES.iter().zip(&self.counts).filter(|(_, count)| **count > 0) {
            writeln!(f, "\n{} ({}): {}", rule.name, rule.severity, rule.sentence)?;
            wrap(f, rule.explanation)?;
            writeln!(f, "  Source: {}.", rule.source)?;
        }
        if self.findings.is_empty() { Ok(()) } else { writeln!(f) }
    }

    fn not_judged(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for reason in Reason::ALL {
            let flows = self.flows.iter().filter(|flow| flow.reasons.has(reason)).count();
            let streams = self.streams.iter().filter(|stream| stream.reasons.has(reason)).count();
            if flows + streams == 0 && !self.reasons.has(reason) {
                continue;
            }
            write!(f, "not judged everywhere, as {reason}")?;
            match flows + streams {
                0 => {}
                1 => write!(f, " (1 flow)")?,
                count => write!(f, " ({count} flows)")?,
            }
            let others = reason.rules_of(false).filter(|_| flows > 0 || self.reasons.has(reason));
            let of_iwarp = reason.rules_of(true).filter(|_| streams > 0);
            for (index, rule) in others.chain(of_iwarp).enumerate() {
                write!(f, "{} {rule}", if index == 0 { ":" } else { "," })?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let totals = &self.totals;
        write!(
            f,
            "{}, {} of them RoCE or InfiniBand, {}",
            Counted(totals.packets, "packet", ""),
            totals.roce,
            Counted((self.flows.len() + self.streams.len()) as u64, "flow", "")
        )?;
        let extras = [
            (totals.cm_messages, "message", " of connection management"),
            (totals.fpdus, "MPA frame", ""),
            (totals.notifications, "congestion notification", ""),
            (totals.pauses, "PAUSE frame", ""),
            (totals.priority_pauses, "PFC frame", ""),
            (totals.unpaired, "answer", " to requests that are not known"),
            (totals.flows_forgotten, "flow", " forgotten, as too many were open"),
            (totals.streams_forgotten, "TCP connection", " forgotten, as too many were open"),
            (totals.connections_forgotten, "agreement", " of connections forgotten, as there were too many"),
        ];
        for (count, what, which) in extras.into_iter().filter(|(count, ..)| *count > 0) {
            write!(f, ", {}", Counted(count, what, which))?;
        }
        if self.unjudged.packets() > 0 {
            write!(f, ", {} not judged", self.unjudged.packets())?;
        }
        write!(
            f,
            "; {}, {} suspicious, {}",
            Counted(self.count(Severity::Violation), "violation", ""),
            self.count(Severity::Suspicious),
            Counted(self.count(Severity::Note), "note", "")
        )
    }
}

/// A flow as lines: who, what, and below it only what there is.
impl fmt::Display for FlowReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stats = &self.stats;
        write!(f, "flow {}: {} {}", self.number, self.transport, self.source)?;
        if let Some(pair) = self.source_queue_pair {
            write!(f, " qp={pair}")?;
        }
        write!(f, " > {} qp={}", self.destination, self.queue_pair)?;
        if let Some(size) = self.path_mtu {
            write!(f, " mtu={size}")?;
        }
        let requests = Counted(stats.requests, "request", "");
        write!(f, ": {requests}, {}", Counted(stats.responses, "answer", ""))?;
        write!(f, "{}", stats.operations)?;
        if let Some(goodput) = stats.goodput().filter(|_| stats.operations.bytes() > 0) {
            write!(f, "\n  goodput      {:>8.3} Mbit/s", goodput / 1e6)?;
        }
        let count = |counts: &[u64; 5], cause: Cause| counts.get(cause as usize).copied().unwrap_or_default();
        for cause in Cause::ALL {
            let (packets, times) = (count(&stats.repeated, cause), count(&stats.returns, cause));
            if packets > 0 || times > 0 {
                let times = Counted(times, "time", "");
                let what = if packets == 1 { "packet" } else { "packets" };
                write!(f, "\n  sent again   {packets:>8}  {what}, {times}, cause {}", cause.name())?;
            }
        }
        let timeouts = count(&stats.returns, Cause::Timeout);
        let [lost_ahead, missing, uncaptured] = stats.absent();
        let counts = [
            (
                timeouts.saturating_sub(stats.timeouts_answered),
                "timeouts whose request has no answer in the capture",
            ),
            (stats.timeouts_answered, "timeouts whose answer was lost or late behind it"),
            (stats.naks, "NAKs (PSN sequence error)"),
            (stats.implied_naks, "implied NAKs"),
            (stats.rnr_naks, "RNR NAKs"),
            (stats.error_naks, "NAKs that end the connection"),
            (stats.lost_behind, "requests lost or late behind the place of capture"),
            lost_ahead,
            missing,
            uncaptured,
            (stats.duplicates, "requests in the capture twice"),
            (stats.duplicate_responses, "answers in the capture twice"),
            (stats.late, "requests behind later ones"),
            (stats.marked, "packets with a congestion mark"),
            (stats.notifications, "congestion notifications to the requester"),
            (stats.conversations, "earlier conversations of these queue pairs"),
        ];
        for (count, what) in counts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "\n  {what:<54} {count:>8}")?;
        }
        if let Some((before, behind)) = stats.notification_effect {
            write!(f, "\n  bytes in the 100 µs before and behind notifications {before:>8} {behind:>8}")?;
        }
        for (what, times) in [
            ("NAK generation", &stats.nak_generation),
            ("NAK reaction", &stats.nak_reaction),
            ("between CNPs", &stats.notification_spacing),
        ] {
            if let Some(summary) = Times::summary(times) {
                write!(f, "\n  {what:<15} {summary}")?;
            }
        }
        Ok(())
    }
}

/// In microseconds.
impl fmt::Display for TimesSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = |time: u64| time as f64 / 1e3;
        write!(
            f,
            "median {:.1} µs, 99 % {:.1} µs, maximum {:.1} µs ({})",
            micros(self.median),
            micros(self.p99),
            micros(self.maximum),
            Counted(self.count, "time", "")
        )
    }
}

/// Text in lines of at most 100 characters, indented.
fn wrap(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut column = 0;
    for word in text.split_whitespace() {
        if column > 0 && column + word.len() >= 98 {
            writeln!(f)?;
            column = 0;
        }
        write!(f, "{}{word}", if column == 0 { "  " } else { " " })?;
        column += word.len() + 1;
    }
    writeln!(f)
}
