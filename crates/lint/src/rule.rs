//! What a rule is. All of them stand in [`RULES`](crate::RULES).

use core::fmt;

use crate::rules::{RULES, RuleId};

/// How bad it is when a rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nobody need have done wrong.
    Note,
    /// Looks wrong, but something that the capture does not show could explain it.
    Suspicious,
    /// Wrong: what the capture shows has no right explanation.
    Violation,
}

/// Which part of a conversation a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Checksums of a packet.
    Checksums,
    /// Lengths and pads.
    Lengths,
    /// Fields of the base header that no conversation is needed for.
    Headers,
    /// The order of opcodes in messages, and how long messages are.
    Order,
    /// What a requester sends.
    Requester,
    /// What a responder answers.
    Responder,
    /// Marks and notifications.
    Congestion,
    /// Connection management.
    Cm,
    /// iWARP.
    Iwarp,
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which one.
    pub id: RuleId,
    /// Its name in reports, as in `resp-nak-once`.
    pub name: &'static str,
    /// What it is about.
    pub family: Family,
    /// How bad it is when it is broken.
    pub severity: Severity,
    /// What is to be, in one sentence.
    pub sentence: &'static str,
    /// Where that is said: a section of an RFC, or, since the InfiniBand specification is not public, its subject in words.
    pub source: &'static str,
    /// What a capture must hold for the rule to be judged.
    pub evidence: &'static str,
    /// Why it is so, for somebody who learns.
    pub explanation: &'static str,
}

impl RuleId {
    /// The rule.
    pub fn rule(self) -> &'static Rule {
        // The table is made from the same list as the numbers.
        &RULES[self as usize]
    }

    /// The rule of a name.
    pub fn named(name: &str) -> Option<RuleId> {
        RULES.iter().find(|rule| rule.name == name).map(|rule| rule.id)
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.rule().name)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Note => "note",
            Severity::Suspicious => "suspicious",
            Severity::Violation => "violation",
        })
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Family::Checksums => "checksums",
            Family::Lengths => "lengths",
            Family::Headers => "headers",
            Family::Order => "order",
            Family::Requester => "requester",
            Family::Responder => "responder",
            Family::Congestion => "congestion",
            Family::Cm => "cm",
            Family::Iwarp => "iwarp",
        })
    }
}
