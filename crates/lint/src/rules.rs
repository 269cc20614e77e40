//! All rules: their numbers here, what is to be said of each in the files below, a family in each, in the order of the numbers.
//! What judges them stands in `checks`.

use crate::rule::Rule;

/// The rules of a family: number, name and severity of each; what is to be, where that is said, what is needed for evidence, and
/// why it is so.
macro_rules! rules {
    ($family:ident $($id:ident $name:literal $severity:ident
        $sentence:literal, $source:literal, $evidence:literal, $explanation:literal;)+) => {
        pub(super) const RULES: &[crate::rule::Rule] = &[$(crate::rule::Rule {
            id: super::RuleId::$id,
            name: $name,
            family: crate::rule::Family::$family,
            severity: crate::rule::Severity::$severity,
            sentence: $sentence,
            source: $source,
            evidence: $evidence,
            explanation: $explanation,
        },)+];
    };
}

mod checksums;
mod cm;
mod congestion;
mod headers;
mod lengths;
mod mpa;
mod order;
mod rdmap;
mod requester;
mod responder;

/// Which rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is the rule of its name in the table")]
pub enum RuleId {
    // `rules/checksums.rs`
    Icrc,
    Vcrc,
    IpChecksum,
    UdpChecksum,
    // `rules/lengths.rs`
    Malformed,
    PadCount,
    PadZero,
    PathMtu,
    // `rules/headers.rs`
    HeaderVersion,
    ReservedBits,
    PartitionKey,
    Transport,
    QueueKey,
    Syndrome,
    ResponseSyndrome,
    AtomicAligned,
    SolicitedEvent,
    // `rules/order.rs`
    OpcodeOrder,
    MessageLength,
    MessageTooLong,
    // `rules/requester.rs`
    MissingRequests,
    RepeatHeader,
    RepeatPayload,
    ReadRetry,
    RestartPoint,
    RnrWait,
    RnrRetry,
    AckRequest,
    RetryLimit,
    Outstanding,
    Credits,
    // `rules/responder.rs`
    CreditsShared,
    AckUnsent,
    AckUnseen,
    AckBack,
    NakOnce,
    NakGap,
    Msn,
    ResponseKind,
    ReadOrder,
    ReadLength,
    ReadStart,
    ReadReplay,
    AckRead,
    AnswerOrder,
    AtomicReplay,
    AfterError,
    // `rules/congestion.rs`
    CnpForm,
    CnpUnprovoked,
    PauseForm,
    PauseHeeded,
    // `rules/cm.rs`
    CmForm,
    CmRepeat,
    CmAnswer,
    CmOrder,
    CmQueuePair,
    CmRejected,
    CmRetries,
    CmWait,
    CmService,
    CmDepth,
    CmAlternate,
    CmMigrated,
    CmPsn,
    // `rules/mpa.rs`
    MpaCrc,
    MpaStart,
    MpaFirst,
    MpaRejected,
    MpaRevision,
    MpaFlags,
    MpaDepth,
    MpaRtr,
    MpaReady,
    MpaMarker,
    MpaPad,
    // `rules/rdmap.rs`
    DdpVersion,
    DdpReserved,
    RdmapOpcode,
    DdpMsn,
    DdpOffset,
    DdpLast,
    RdmapAnswer,
    RdmapUnasked,
    RdmapDepth,
    StagInvalidated,
    RdmapTerminate,
    TerminateBits,
    TerminateError,
    TerminateHeader,
}

/// The families, in the order of the numbers.
const FAMILIES: [&[Rule]; 10] = [
    checksums::RULES,
    lengths::RULES,
    headers::RULES,
    order::RULES,
    requester::RULES,
    responder::RULES,
    congestion::RULES,
    cm::RULES,
    mpa::RULES,
    rdmap::RULES,
];

const COUNT: usize = RuleId::TerminateHeader as usize + 1;

/// The families one behind the other. That each number has its rule in its place is seen to when this is compiled.
const TABLE: [Rule; COUNT] = {
    let mut table = [FAMILIES[0][0]; COUNT];
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut rules = FAMILIES[family];
        while let [rule, rest @ ..] = rules {
            assert!(rule.id as usize == count, "a rule is not in the place of its number");
            table[count] = *rule;
            (count, rules) = (count + 1, rest);
        }
        family += 1;
    }
    assert!(count == COUNT, "a number has no rule");
    table
};

/// All rules.
pub const RULES: &[Rule] = &TABLE;
