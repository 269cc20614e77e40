//! Captures judged: whether the conversations of RDMA in them were right, and where repetitions came from.
//!
//! # What is judged, and what not yet
//!
//! * Every packet alone: checksums, lengths, pads, reserved bits, syndromes, addresses of atomics.
//! * Reliable connections (RC, and XRC as one connection between initiator and target): opcode order, message lengths,
//!   PSNs, repetitions and their causes, answers, MSNs, credits; whether the queue pairs keep to what was agreed on.
//! * Connection management: the order of messages, IDs, repetitions with their number and waiting times, rejections, MRA, alternate
//!   paths, the search for services.
//! * Congestion: the form of notifications and of PAUSE and PFC frames, whether who is to pause does, the time between
//!   notifications, what was sent before and behind them.
//! * Unreliable connections: opcode order and message lengths.
//! * iWARP: the start-up of MPA and who may send first, FPDUs with their markers and CRCs, the numbers and pieces of messages, READs and
//!   atomics with their answers, Terminate messages; what TCP sent again, and why.
//!
//! **Not judged: reliable datagrams**, and what `report/unjudged.rs` tells of a capture.
//!
//! # Design
//!
//! `rdmalab-trace` reads records and takes packets apart; this crate follows conversations. [`Linter`] is handed each
//! record, tells an [`Observer`] what it is part of as early as that is known (for those who draw it), and ends with a
//! [`Report`].
//!
//! **A flow is one direction**: source, destination, destination queue pair, as packets name it (`FlowKey`). It carries the
//! requests of its source, and the answers to the requests of its peer, the flow of the other direction of the same connection.
//! Packets do not name the sender's queue pair, so pairs have to be found (`table.rs`): REQ and REP say both queue pairs;
//! otherwise an answer belongs to the only flow between the two hosts with a request of its PSN under way, or of several to
//! the only one with its UDP source port. What is not certain is not paired: its answers are counted as unpaired, and the rules
//! about them are *not judged*.
//!
//! **The window of a flow** (`flow/window.rs`) holds its requests by PSN, those under way and some behind, with a checksum of
//! each payload. Repetitions are compared with it. Two walks go over it in the order of PSNs: one as far as the responder
//! has answered for, which judges the order of opcodes and counts messages (so repetitions, duplicates and late packets are in
//! their places by then), and one as far as the requester may call complete, which makes operations of packets.
//!
//! **Captures lie.** A request that is missing may have been lost in front of the place of capture, or by the capturing program;
//! one that is there may be lost behind it; an acknowledgement that is there may never have reached the requester. So:
//!
//! * The requester's oldest unacknowledged PSN is known only as one of the places where it has been (`Requests::places`):
//!   going back to any of them is right.
//! * What happened before the responder said something is judged by the MSN in it: one that is merely late has an old one.
//! * How the MSN began is an interval, cut by each answer; only an empty one is wrong. An answer with data may be a replay, which counts
//!   more than what is in front of it.
//! * A packet that was cut within its headers interrupts each flow that it may be of (`linter/cut.rs`).
//! * The path MTU is the set of the five sizes that explain all packets so far; only an empty one is wrong.
//! * Numbers that come again may be those of another conversation: what the responder counts tells (`checks/recurrence.rs`).
//! * A request that comes again at once and without a cause, or with the IP identification of its original, is the same packet seen
//!   twice; one that fills a gap soon is late. Whoever goes back sends everything from there on: what only seemed to go back is late,
//!   or twice, if what follows is what would have followed anyway ([`Observer::corrected`]).
//! * That a request is missing is told when it can no longer be late.
//! * An answer with data that is missing is only missing in the capture if the requester goes on, round by round, without asking for it
//!   again. If it asks later, that is taken back.
//! * Answers are compared with the last ones: the same again, with the same IP identification, is one packet seen twice.
//! * [`Reason`] says why a rule could not be judged for a flow. A finding whose proof would need what a capture cannot show is
//!   at most [`Severity::Suspicious`].
//!
//! **iWARP** (`iwarp.rs`) needs none of that, since TCP repeats: a stream is two sides, each with what it said in order. What a
//! side can have known follows from TCP's acknowledgements, and what the capture lacks from those, too.
//!
//! **Rules are one table**, [`RULES`]. Each says what it needs for evidence. The files of `checks` judge them, one for each family.
//!
//! **Bounds.** A flow keeps at most 4096 requests, and 192 complete ones; all flows together [`MOST_REQUESTS`], and there are
//! [`MOST_FLOWS`] of them at most, and [`MOST_STREAMS`] streams: those silent for long make room, and the report says how many. Findings are kept up to
//! [`MOST_FINDINGS`] and counted beyond. So memory grows with what is open, not with the file. Nothing is allocated per packet but
//! for findings. Nothing panics, whatever the bytes are.

#![forbid(unsafe_code)]

mod checks;
mod finding;
mod flow;
mod iwarp;
mod linter;
mod observer;
mod packet;
mod read;
mod reason;
mod report;
mod rule;
mod rules;
mod table;
mod words;

pub use finding::{Finding, MOST_FINDINGS, MOST_OF_ONE_RULE};
pub use flow::times::{Times, TimesSummary};
pub use iwarp::{MOST_CONNECTIONS, MOST_PENDING_REQUESTS, MOST_STREAMS, ResentCause, SegmentRole};
pub use linter::Linter;
pub use observer::{
    Cause, Observer, Operation, Placed, PlacedSegment, PlacedUnit, Role, StreamOperation, UnitRole,
};
pub use packet::{FlowKey, OperationKind};
pub use read::{LintError, lint};
pub use reason::{Reason, Reasons};
pub use report::{
    Explained, FlowReport, Operations, Report, Stats, StreamReport, StreamStats, Totals, Unjudged,
};
pub use rule::{Family, Rule, Severity};
pub use rules::{RULES, RuleId};
pub use table::{MOST_FLOWS, MOST_REQUESTS};
