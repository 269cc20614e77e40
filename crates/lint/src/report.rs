//! What a capture came to: a row for each flow, findings, and what was not judged.

mod absent;
mod json;
mod operations;
mod stream;
mod text;
mod unjudged;

use rdmalab_wire::{Address, Qpn, TransportKind};

use crate::finding::Finding;
use crate::flow::Flow;
use crate::flow::times::Times;
use crate::observer::Cause;
use crate::packet::OperationKind;
use crate::reason::{Reason, Reasons};
use crate::rule::{Rule, Severity};
use crate::rules::{RULES, RuleId};

pub use operations::Operations;
pub use stream::{StreamReport, StreamStats};
pub use text::Explained;
pub use unjudged::Unjudged;

/// What was counted of a flow.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Packets with requests, repetitions included; datagrams.
    pub requests: u64,
    /// Packets that answer them; of a flow whose requests are not in the capture, packets that answer others.
    pub responses: u64,
    /// Complete operations and their bytes.
    pub operations: Operations,
    /// Request packets sent again, by [`Cause`].
    pub repeated: [u64; 5],
    /// How often the requester went back, by [`Cause`].
    pub returns: [u64; 5],
    /// Acknowledgements.
    pub acknowledgements: u64,
    /// PSN sequence error NAKs.
    pub naks: u64,
    /// Responses that came though earlier ones are missing.
    pub implied_naks: u64,
    /// RNR NAKs.
    pub rnr_naks: u64,
    /// NAKs that end the connection.
    pub error_naks: u64,
    /// PSNs of requests that are not in the capture though later ones are, repetitions included: lost in front of the place
    /// of capture. A READ takes several.
    pub lost_ahead: u64,
    /// Requests that are in the capture and that the responder says it has not got: lost behind the place of capture.
    pub lost_behind: u64,
    /// Answers with data (packets of them) that are not in the capture though later ones are: lost in front of the place of capture.
    pub responses_missing: u64,
    /// Answers with data that are not in the capture though the requester must have them, as it went on: lost by the capturing
    /// program.
    pub responses_uncaptured: u64,
    /// Answers that are in the capture twice, or came twice.
    pub duplicate_responses: u64,
    /// Requests that are in the capture twice, or came twice.
    pub duplicates: u64,
    /// Requests that came behind later ones.
    pub late: u64,
    /// Packets of this direction with a congestion mark.
    pub marked: u64,
    /// Notifications to the requester.
    pub notifications: u64,
    /// From one notification to the next.
    pub notification_spacing: Times,
    /// Bytes that were sent in the 100 µs before notifications and in those behind them.
    pub notification_effect: Option<(u64, u64)>,
    /// Conversations before this one with the same numbers.
    pub conversations: u64,
    /// From the packet behind a missing one to the NAK.
    pub nak_generation: Times,
    /// From a NAK to the packet that it asks for.
    pub nak_reaction: Times,
    /// Of the times that the timer sent again: how often the answer to the oldest packet is in the capture. It was lost behind the
    /// place of capture, or came too late. The other times the packet was lost behind it, or the answer in front of it.
    pub timeouts_answered: u64,
    /// Times of the first and last packet, in nanoseconds.
    pub times: Option<(i64, i64)>,
    /// When the first complete operation began, and the last one was complete, in nanoseconds.
    pub operation_times: Option<(i64, i64)>,
    /// Frames of the first and last packet.
    pub frames: Option<(u64, u64)>,
}

impl Stats {
    fn saw(&mut self, frame: u64, time: i64) {
        let (first, _) = *self.frames.get_or_insert((frame, frame));
        self.frames = Some((first, frame));
        let (first, _) = *self.times.get_or_insert((time, time));
        self.times = Some((first, time));
    }

    pub(crate) fn saw_request(&mut self, frame: u64, time: i64) {
        self.requests += 1;
        self.saw(frame, time);
    }

    pub(crate) fn saw_response(&mut self, frame: u64, time: i64) {
        self.responses += 1;
        self.saw(frame, time);
    }

    pub(crate) fn repeated(&mut self, cause: Cause) {
        if let Some(count) = self.repeated.get_mut(cause as usize) {
            *count += 1;
        }
    }

    pub(crate) fn went_back(&mut self, cause: Cause) {
        if let Some(count) = self.returns.get_mut(cause as usize) {
            *count += 1;
        }
    }

    /// So many answers are not in the capture though the requester has them; so many of those had been counted as missing.
    pub(crate) fn answers_lacking(&mut self, (lacking, known): (u32, u32)) {
        self.responses_uncaptured += u64::from(lacking);
        self.responses_missing = self.responses_missing.saturating_sub(known.into());
    }

    /// The requester lacked so many answers, too: it asks for them again.
    pub(crate) fn answers_lost(&mut self, lacking: u32) {
        self.responses_uncaptured = self.responses_uncaptured.saturating_sub(lacking.into());
        self.responses_missing += u64::from(lacking);
    }

    /// How many requests were sent again.
    pub(crate) fn all_repeated(&self) -> u64 {
        self.repeated.iter().sum()
    }

    /// What was counted as a return, with so many packets sent again, was none.
    pub(crate) fn not_repeated(&mut self, cause: Cause, packets: u64) {
        for (counts, less) in [(&mut self.repeated, packets), (&mut self.returns, 1)] {
            if let Some(count) = counts.get_mut(cause as usize) {
                *count = count.saturating_sub(less);
            }
        }
    }

    pub(crate) fn has_repeated(&self) -> bool {
        self.all_repeated() > 0
    }

    /// An operation is complete.
    pub(crate) fn operation(&mut self, kind: OperationKind, bytes: u64, begun: i64, completed: i64) {
        self.operations.add(kind, bytes);
        let (first, last) = self.operation_times.unwrap_or((begun, completed));
        self.operation_times = Some((first.min(begun), last.max(completed)));
    }

    /// Bits of complete operations in a second, from where the first one begins to where the last one is complete; none of a flow
    /// that takes no time.
    pub fn goodput(&self) -> Option<f64> {
        goodput(self.operation_times?, self.operations.bytes())
    }
}

/// Bits in a second, of so many bytes between these times in nanoseconds; none if there is no time between them.
fn goodput((first, last): (i64, i64), bytes: u64) -> Option<f64> {
    let time = u64::try_from(last.checked_sub(first)?).ok().filter(|time| *time > 0)?;
    Some(bytes as f64 * 8e9 / time as f64)
}

/// One flow: the requests of one direction, and what answered them.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// Flows are numbered in the order in which they began.
    pub number: u64,
    /// Who sends the requests.
    pub source: Address,
    /// Who answers.
    pub destination: Address,
    /// The answering queue pair.
    pub queue_pair: Qpn,
    /// The transport.
    pub transport: TransportKind,
    /// The flow in which the answers come, and whose requests are answered in this one.
    pub peer: Option<u64>,
    /// The asking queue pair, as its answers name it.
    pub source_queue_pair: Option<Qpn>,
    /// Largest payload of a packet in bytes, if it is known.
    pub path_mtu: Option<u32>,
    /// What was counted.
    pub stats: Stats,
    /// Why some rules could not be judged.
    pub reasons: Reasons,
}

impl FlowReport {
    pub(crate) fn of(flow: &Flow, peer: Option<u64>) -> FlowReport {
        let mut reasons = flow.reasons;
        let is_answered = matches!(flow.transport, TransportKind::Rc | TransportKind::Xrc);
        if is_answered && flow.stats.requests > 0 && flow.stats.responses == 0 {
            reasons.add(Reason::AnswersUnknown);
        }
        if !is_answered {
            reasons.remove(Reason::AgreementUnknown);
        }
        let mut stats = flow.stats.clone();
        stats.notification_effect =
            (stats.notifications > 0).then_some((flow.effect.before, flow.effect.behind));
        FlowReport {
            number: flow.number,
            source: flow.key.source,
            destination: flow.key.destination,
            queue_pair: flow.key.queue_pair,
            transport: flow.transport,
            peer,
            source_queue_pair: flow.peer_key.filter(|_| peer.is_some()).map(|key| key.queue_pair),
            path_mtu: flow.sizes.known(),
            stats,
            reasons,
        }
    }
}

/// What was counted of a whole capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All packets.
    pub packets: u64,
    /// InfiniBand packets, RoCE of either version and native.
    pub roce: u64,
    /// Things of iWARP that TCP streams had in them.
    pub fpdus: u64,
    /// Messages of connection management.
    pub cm_messages: u64,
    /// Congestion notifications.
    pub notifications: u64,
    /// PAUSE frames.
    pub pauses: u64,
    /// Priority flow control frames.
    pub priority_pauses: u64,
    /// Responses that no requests are known of.
    pub unpaired: u64,
    /// Flows that made room for others, and have no row.
    pub flows_forgotten: u64,
    /// TCP connections that made room for others, and have no row.
    pub streams_forgotten: u64,
    /// Connections whose agreement made room for others.
    pub connections_forgotten: u64,
}

impl Totals {
    /// Whether nothing was of RDMA or of what controls its links.
    pub(crate) const fn has_no_rdma(&self) -> bool {
        self.roce + self.fpdus + self.pauses + self.priority_pauses == 0
    }
}

/// What a capture came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// Counts.
    pub totals: Totals,
    /// A row for each flow, in the order in which they began.
    pub flows: Vec<FlowReport>,
    /// A row for each direction of an iWARP stream, in the order in which they began; numbered together with the flows.
    pub streams: Vec<StreamReport>,
    /// Findings, by frame; see [`MOST_FINDINGS`](crate::MOST_FINDINGS).
    pub findings: Vec<Finding>,
    /// How many findings there were of each rule, in the order of [`RULES`].
    pub counts: Vec<u64>,
    /// Why rules that are about no flow could not be judged everywhere.
    pub reasons: Reasons,
    /// What was not judged at all.
    pub unjudged: Unjudged,
}

impl Report {
    /// Whether nothing broke a rule whose breach is a violation.
    pub fn is_clean(&self) -> bool {
        self.count(Severity::Violation) == 0
    }

    /// How many findings there were of a severity.
    pub fn count(&self, severity: Severity) -> u64 {
        let of_it = RULES.iter().zip(&self.counts).filter(|(rule, _)| rule.severity == severity);
        of_it.map(|(_, count)| count).sum()
    }

    /// How many of the violations are of these rules, which a peer may be known to break.
    pub fn violations_of(&self, rules: &[RuleId]) -> u64 {
        let are_of = |rule: &Rule| rule.severity == Severity::Violation && rules.contains(&rule.id);
        RULES.iter().zip(&self.counts).filter(|(rule, _)| are_of(rule)).map(|(_, count)| count).sum()
    }

    /// How many findings there were of a rule.
    pub fn count_of(&self, rule: RuleId) -> u64 {
        self.counts.get(rule as usize).copied().unwrap_or_default()
    }
}
