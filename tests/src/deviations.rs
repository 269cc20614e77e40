//! Which rules are known to be broken in live tests, by whom, and why that is no failure. What Linux does is excused in
//! packets of Linux' only, and what ours does on purpose in ours.

use rdmalab_lint::RuleId;

/// Who breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Linux' rxe or siw, in the guest.
    Linux,
    /// A program of ours.
    Ours,
}

/// A rule, who breaks it, and why.
type Deviation = (RuleId, Whose, &'static str);

const DEVIATIONS: &[Deviation] = &[
    (
        RuleId::ReadOrder,
        Whose::Linux,
        "rxe goes on with an answer that it could not send, by LAST where ONLY is due: docs/RXE.md, a READ while the link is down",
    ),
    (
        RuleId::MpaFirst,
        Whose::Linux,
        "siw's responder sends as soon as its application posts: docs/SIW.md, who sends first",
    ),
    (
        RuleId::MpaFirst,
        Whose::Ours,
        "the profile `linux` greets first, as clients of siw's expect: docs/SIW.md, who sends first",
    ),
    (
        RuleId::TerminateBits,
        Whose::Linux,
        "siw has halves and bits the wrong way round: docs/SIW.md, TERMINATE",
    ),
    (
        RuleId::TerminateHeader,
        Whose::Linux,
        "siw's length leaves out the header, a READ's number is another: docs/SIW.md, TERMINATE",
    ),
];

/// Whether somebody is known to break a rule.
pub(crate) fn known(rule: RuleId, whose: Whose) -> bool {
    DEVIATIONS.iter().any(|(known, by, _)| (*known, *by) == (rule, whose))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_does_excuses_nobody_else() {
        assert!(known(RuleId::TerminateBits, Whose::Linux) && !known(RuleId::TerminateBits, Whose::Ours));
        assert!(!known(RuleId::Msn, Whose::Linux));
        for (number, one) in DEVIATIONS.iter().enumerate() {
            assert!(
                !DEVIATIONS[..number].iter().any(|other| (other.0, other.1) == (one.0, one.1)),
                "{one:?}"
            );
            assert!(one.2.contains("docs/"), "{one:?} has no source");
        }
    }
}
