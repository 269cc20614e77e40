//! Captures of what was made by hand, to see what real peers make of it: each rule finds what it is to find, and how often.

use rdmalab_lint::RuleId;

use super::captures;

/// Captures of questions made by hand: what both sides do wrong in them, by rule. Those that are not named have no finding.
/// In `pcaps/rxe` 10.9.0.1 is rxe, 10.9.0.2 the program that asks. What it changes in its only request (`atomic_changed`, most of
/// `read_changed` and `atomic_or_read`) is not judged, as another conversation with the same numbers would look like that.
const BY_HAND: &[(&str, RuleId, u64)] = &[
    ("atomic_or_read", RuleId::ResponseKind, 1),
    ("atomic_write", RuleId::AtomicAligned, 1),
    ("atomic_write_again", RuleId::RepeatHeader, 2),
    ("credits", RuleId::Credits, 2),
    ("flush_again", RuleId::Icrc, 3),
    ("flush_sent", RuleId::Icrc, 1),
    // Each scene ends with its ghost, so that the capture alone cannot tell whether the request was missed.
    ("ghost", RuleId::AckUnseen, 4),
    ("opcodes", RuleId::Malformed, 3),
    ("read_changed", RuleId::ReadRetry, 1),
    ("read_changed", RuleId::ReadReplay, 1),
    ("read_changed", RuleId::ReadStart, 1),
    ("read_with_payload", RuleId::Malformed, 1),
    ("syndromes", RuleId::Syndrome, 6),
    // rxe's SENDs behind READs that are answered wrongly, which the program does not answer: frames 13 and 18.
    ("wrong_answers", RuleId::AckRequest, 2),
    ("wrong_answers", RuleId::AckRead, 2),
    ("wrong_answers", RuleId::ReadLength, 3),
    ("wrong_answers", RuleId::ResponseKind, 3),
    ("wrong_answers", RuleId::PathMtu, 1),
];

#[test]
fn questions_made_by_hand_are_found_where_they_are_wrong() {
    for (name, report) in captures("rxe") {
        for (rule, count) in rdmalab_lint::RULES.iter().zip(&report.counts) {
            let known = BY_HAND.iter().find(|(known, id, _)| *known == name && *id == rule.id);
            assert_eq!(*count, known.map_or(0, |(.., count)| *count), "{name}: {}:\n{report}", rule.name);
        }
    }
}

/// Captures of byte streams made by hand. In `pcaps/siw` 10.9.0.1 is siw, and what it does is told in docs/SIW.md: its
/// TERMINATEs have their bits the wrong way round, and those with a header a length or a number that is not the segment's. All else is
/// the program's that asks, and meant so.
const STREAMS_BY_HAND: &[(&str, RuleId, u64)] = &[
    ("crc", RuleId::MpaCrc, 5),
    ("crc", RuleId::TerminateBits, 2),
    ("early", RuleId::MpaFirst, 2),
    ("endings", RuleId::MpaFirst, 1),
    ("flags", RuleId::MpaFlags, 6),
    ("headers", RuleId::DdpMsn, 8),
    ("headers", RuleId::DdpOffset, 1),
    ("headers", RuleId::DdpReserved, 3),
    ("headers", RuleId::DdpVersion, 5),
    ("headers", RuleId::Malformed, 1),
    ("headers", RuleId::MpaPad, 2),
    ("headers", RuleId::MpaReady, 1),
    ("headers", RuleId::RdmapOpcode, 6),
    ("headers", RuleId::TerminateBits, 16),
    ("headers", RuleId::TerminateHeader, 7),
    ("invalidate", RuleId::DdpReserved, 2),
    ("invalidate", RuleId::StagInvalidated, 2),
    ("invalidate", RuleId::TerminateBits, 4),
    ("invalidate", RuleId::TerminateError, 2),
    ("invalidate", RuleId::TerminateHeader, 6),
    ("not_ready", RuleId::DdpMsn, 1),
    ("not_ready", RuleId::MpaReady, 6),
    ("not_ready", RuleId::TerminateBits, 2),
    ("not_ready", RuleId::TerminateHeader, 1),
    ("not_ready_fault", RuleId::MpaReady, 1),
    ("not_ready_fault", RuleId::RdmapUnasked, 1),
    ("not_ready_fault", RuleId::TerminateBits, 1),
    ("not_ready_fault", RuleId::TerminateHeader, 1),
    ("opcodes", RuleId::DdpMsn, 2),
    ("opcodes", RuleId::RdmapOpcode, 14),
    ("peer_to_peer", RuleId::MpaRtr, 2),
    ("private_data", RuleId::Malformed, 3),
    ("read_depth", RuleId::RdmapDepth, 3),
    ("read_depth", RuleId::TerminateBits, 2),
    ("read_depth", RuleId::TerminateHeader, 2),
    ("read_responses", RuleId::RdmapAnswer, 11),
    ("read_responses", RuleId::RdmapUnasked, 1),
    ("read_responses", RuleId::TerminateBits, 9),
    ("read_responses", RuleId::TerminateHeader, 9),
    ("reads", RuleId::DdpLast, 1),
    ("reads", RuleId::DdpMsn, 2),
    ("reads", RuleId::DdpOffset, 1),
    ("reads", RuleId::Malformed, 2),
    ("reads", RuleId::TerminateBits, 9),
    ("reads", RuleId::TerminateHeader, 8),
    ("ready_to_receive", RuleId::MpaFirst, 2),
    ("receives", RuleId::TerminateBits, 5),
    ("receives", RuleId::TerminateHeader, 5),
    ("reply_depths", RuleId::MpaDepth, 5),
    ("reply_early", RuleId::MpaFirst, 2),
    ("reply_flags", RuleId::MpaFlags, 1),
    ("reply_flags", RuleId::MpaRtr, 4),
    ("reply_garbage", RuleId::MpaStart, 1),
    ("reply_garbage", RuleId::TerminateBits, 1),
    ("rejected", RuleId::MpaRevision, 1),
    ("reply_revisions", RuleId::MpaRevision, 3),
    ("revisions", RuleId::MpaFlags, 2),
    // Five requests, and siw answers that of revision 0 by a reply of revision 0.
    ("revisions", RuleId::MpaRevision, 6),
    ("rfc7306", RuleId::DdpMsn, 2),
    ("rfc7306", RuleId::RdmapUnasked, 1),
    ("sends", RuleId::DdpLast, 3),
    ("sends", RuleId::DdpMsn, 6),
    ("sends", RuleId::DdpOffset, 9),
    ("sends", RuleId::TerminateBits, 4),
    ("sends", RuleId::TerminateHeader, 4),
    ("speaks_first", RuleId::MpaFirst, 7),
    ("terminated_work", RuleId::DdpMsn, 1),
    ("terminated_work", RuleId::TerminateBits, 1),
    ("terminated_work", RuleId::TerminateHeader, 1),
    ("terminates", RuleId::DdpLast, 1),
    ("terminates", RuleId::DdpOffset, 1),
    ("terminates", RuleId::Malformed, 2),
    ("terminates", RuleId::RdmapOpcode, 3),
    ("terminates", RuleId::RdmapTerminate, 10),
    ("terminates", RuleId::TerminateBits, 4),
    ("terminates", RuleId::TerminateError, 1),
    ("terminates", RuleId::TerminateHeader, 1),
    ("write_rights", RuleId::TerminateBits, 2),
    ("write_rights", RuleId::TerminateHeader, 2),
    ("writes", RuleId::DdpLast, 1),
    ("writes", RuleId::DdpOffset, 2),
    ("writes", RuleId::RdmapUnasked, 1),
    ("writes", RuleId::TerminateBits, 13),
    ("writes", RuleId::TerminateHeader, 13),
];

#[test]
fn streams_made_by_hand_are_found_where_they_are_wrong() {
    let captures = captures("siw");
    for (name, ..) in STREAMS_BY_HAND {
        assert!(captures.contains_key(*name), "{name}");
    }
    for (name, report) in captures {
        for (rule, count) in rdmalab_lint::RULES.iter().zip(&report.counts) {
            let known = STREAMS_BY_HAND.iter().find(|(known, id, _)| *known == name && *id == rule.id);
            assert_eq!(*count, known.map_or(0, |(.., count)| *count), "{name}: {}:\n{report}", rule.name);
        }
    }
}
