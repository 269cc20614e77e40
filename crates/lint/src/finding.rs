//! What was found.

use crate::rules::{RULES, RuleId};

/// Most findings that are kept with their frames and words; further ones are counted only.
pub const MOST_FINDINGS: usize = 10_000;
/// Most of one rule, so that one that is broken by each packet leaves room for others.
pub const MOST_OF_ONE_RULE: usize = 1_000;

/// A rule that was broken, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: RuleId,
    /// Number of the flow, if it is about one; see [`FlowReport::number`](crate::FlowReport::number).
    pub flow: Option<u64>,
    /// The frames that prove it, by their numbers in the file; the one in which it was noticed first.
    pub frames: Vec<u64>,
    /// What is wrong, in a line.
    pub what: String,
}

/// Findings, bounded.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    pub kept: Vec<Finding>,
    /// All that there were, by rule.
    pub counts: Vec<u64>,
}

impl Findings {
    pub fn new() -> Findings {
        Findings { kept: Vec::new(), counts: vec![0; RULES.len()] }
    }

    /// Counts a finding, and keeps it if there is room. The words are made only then.
    pub fn add(
        &mut self,
        rule: RuleId,
        flow: Option<u64>,
        frames: &[u64],
        what: impl FnOnce() -> String,
    ) -> bool {
        let Some(count) = self.counts.get_mut(rule as usize) else { return false };
        *count += 1;
        let has_room = *count <= MOST_OF_ONE_RULE as u64 && self.kept.len() < MOST_FINDINGS;
        if has_room {
            let mut named = Vec::with_capacity(frames.len());
            for frame in frames {
                if *frame != 0 && !named.contains(frame) {
                    named.push(*frame);
                }
            }
            self.kept.push(Finding { rule, flow, frames: named, what: what() });
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_bounded_and_all_counted() {
        let mut findings = Findings::new();
        for frame in 1..=5_000 {
            findings.add(RuleId::Icrc, None, &[frame, frame], String::new);
        }
        assert_eq!(findings.kept.len(), MOST_OF_ONE_RULE);
        assert_eq!(findings.counts[RuleId::Icrc as usize], 5_000);
        assert_eq!(findings.kept[0].frames, [1]);
        assert!(findings.add(RuleId::Msn, None, &[1], String::new));
    }
}
