//! The report for programs: one JSON object.

use serde_json::{Value, json};

use super::{FlowReport, Report, StreamReport};
use crate::flow::times::Times;
use crate::observer::Cause;
use crate::reason::Reasons;
use crate::rule::{Rule, Severity};

impl Report {
    /// The report as one object. Times are nanoseconds, the goodput bits in a second.
    pub fn json(&self) -> Value {
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|finding| {
                let rule = finding.rule.rule();
                json!({
                    "rule": rule.name,
                    "severity": rule.severity.to_string(),
                    "flow": finding.flow,
                    "frames": finding.frames,
                    "what": finding.what,
                })
            })
            .collect();
        let counts: serde_json::Map<String, Value> = crate::RULES
            .iter()
            .zip(&self.counts)
            .filter(|(_, count)| **count > 0)
            .map(|(rule, count)| (rule.name.to_owned(), json!(count)))
            .collect();
        let totals = &self.totals;
        let reasons = self.reasons.iter().map(|reason| reason.to_string());
        let not_judged: Vec<String> = reasons.chain(self.unjudged.sentences()).collect();
        json!({
            "packets": totals.packets,
            "roce": totals.roce,
            "iwarp_units": totals.fpdus,
            "cm_messages": totals.cm_messages,
            "cnps": totals.notifications,
            "pauses": totals.pauses,
            "priority_pauses": totals.priority_pauses,
            "unpaired_responses": totals.unpaired,
            "flows_forgotten": totals.flows_forgotten,
            "streams_forgotten": totals.streams_forgotten,
            "connections_forgotten": totals.connections_forgotten,
            "violations": self.count(Severity::Violation),
            "suspicious": self.count(Severity::Suspicious),
            "notes": self.count(Severity::Note),
            "flows": self.flows.iter().map(FlowReport::json).collect::<Vec<_>>(),
            "streams": self.streams.iter().map(StreamReport::json).collect::<Vec<_>>(),
            "findings": findings,
            "findings_by_rule": counts,
            "packets_not_judged": self.unjudged.packets(),
            "not_judged": not_judged,
        })
    }
}

impl FlowReport {
    /// The row as an object.
    fn json(&self) -> Value {
        let stats = &self.stats;
        let by_cause = |counts: &[u64; 5]| {
            let named =
                Cause::ALL.iter().zip(counts).map(|(cause, count)| (cause.name().to_owned(), json!(count)));
            Value::Object(named.collect())
        };
        json!({
            "number": self.number,
            "transport": self.transport.to_string(),
            "source": self.source.to_string(),
            "destination": self.destination.to_string(),
            "queue_pair": self.queue_pair.value(),
            "source_queue_pair": self.source_queue_pair.map(|pair| pair.value()),
            "peer": self.peer,
            "path_mtu": self.path_mtu,
            "frames": stats.frames.map(|(first, last)| [first, last]),
            "operation_times": stats.operation_times.map(|(first, last)| [first, last]),
            "times": stats.times.map(|(first, last)| [first, last]),
            "requests": stats.requests,
            "responses": stats.responses,
            "operations": stats.operations.json(),
            "bytes": stats.operations.bytes(),
            "goodput": stats.goodput(),
            "repeated_packets": by_cause(&stats.repeated),
            "returns": by_cause(&stats.returns),
            "timeouts_answered": stats.timeouts_answered,
            "acks": stats.acknowledgements,
            "naks": stats.naks,
            "implied_naks": stats.implied_naks,
            "rnr_naks": stats.rnr_naks,
            "error_naks": stats.error_naks,
            "lost_behind": stats.lost_behind,
            "lost_ahead": stats.lost_ahead,
            "responses_missing": stats.responses_missing,
            "responses_uncaptured": stats.responses_uncaptured,
            "duplicates": stats.duplicates,
            "duplicate_responses": stats.duplicate_responses,
            "late": stats.late,
            "marked": stats.marked,
            "cnps": stats.notifications,
            "cnp_spacing": times_json(&stats.notification_spacing),
            "cnp_effect": stats.notification_effect.map(|(before, behind)| {
                json!({ "bytes_before": before, "bytes_behind": behind, "span": crate::flow::effect::SPAN })
            }),
            "earlier_conversations": stats.conversations,
            "nak_generation": times_json(&stats.nak_generation),
            "nak_reaction": times_json(&stats.nak_reaction),
            "not_judged": not_judged(self.reasons, false),
        })
    }
}

pub(super) fn times_json(times: &Times) -> Option<Value> {
    times.summary().map(|summary| {
        json!({
            "count": summary.count,
            "median": summary.median,
            "p99": summary.p99,
            "maximum": summary.maximum,
        })
    })
}

/// Reasons with the rules that they concern, of iWARP or of all else.
pub(super) fn not_judged(reasons: Reasons, is_iwarp: bool) -> Vec<Value> {
    let concerned = reasons.iter().map(|reason| {
        let rules: Vec<&str> = reason.rules_of(is_iwarp).map(|rule| rule.rule().name).collect();
        json!({ "reason": reason.to_string(), "rules": rules })
    });
    concerned.collect()
}

impl Rule {
    /// The rule as an object.
    pub fn json(&self) -> Value {
        json!({
            "name": self.name,
            "family": self.family.to_string(),
            "severity": self.severity.to_string(),
            "sentence": self.sentence,
            "source": self.source,
            "evidence": self.evidence,
            "explanation": self.explanation,
        })
    }
}
