//! Why something could not be judged, and which rules that is about.

use core::fmt;

use crate::rule::Family;
use crate::rules::RuleId;

/// Why something could not be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// Nothing that answers the requests is in the capture, or it is not certain what does.
    AnswersUnknown,
    /// Of responses, it is not certain which queue pair's requests they answer.
    RequestsUnknown,
    /// No messages of connection management are in the capture: what was agreed on is not known.
    AgreementUnknown,
    /// The capture began after the conversation.
    BegunBefore,
    /// Packets were lost in front of the place of capture, or by the capturing program.
    LostAhead,
    /// The capture has packets in another order than they were sent in.
    Reordered,
    /// The capture has packets twice.
    Duplicated,
    /// The capture kept less of packets than they had.
    Cut,
    /// The capture cut packets within their headers, which may have been of the conversation.
    HeadersCut,
    /// IP fragments, which are not put together, may have been of the conversation.
    Fragments,
    /// Packets of the conversation are several datagrams in one, which segmentation offload was still to cut.
    Merged,
    /// The capture has no times.
    NoTimes,
    /// Packets have no changing IP identification, so that one packet seen twice and two that are the same look alike.
    NoIdentification,
    /// The path MTU does not follow from what is in the capture.
    PathMtuUnknown,
    /// The capture missed packets of this conversation, so that counting began anew.
    CountLost,
    /// More requests were under way than are followed.
    TooMany,
    /// The start-up of an iWARP stream is not in the capture, or leaves open what a rule needs.
    StartUpUnknown,
    /// The same numbers came again, and nothing tells whether by another conversation.
    Recurring,
    /// Reliable datagrams, whose end-to-end contexts are not followed.
    ReliableDatagrams,
    /// Whom a PAUSE stops does not follow from the capture.
    PauseUnknown,
    /// Bytes of an iWARP stream are there and make no whole FPDUs: it ends within one, or a length in it is wrong.
    NoFpdus,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 21] = [
        Reason::AnswersUnknown,
        Reason::RequestsUnknown,
        Reason::AgreementUnknown,
        Reason::BegunBefore,
        Reason::LostAhead,
        Reason::Reordered,
        Reason::Duplicated,
        Reason::Cut,
        Reason::HeadersCut,
        Reason::Fragments,
        Reason::Merged,
        Reason::NoTimes,
        Reason::NoIdentification,
        Reason::PathMtuUnknown,
        Reason::CountLost,
        Reason::TooMany,
        Reason::StartUpUnknown,
        Reason::Recurring,
        Reason::ReliableDatagrams,
        Reason::PauseUnknown,
        Reason::NoFpdus,
    ];

    /// The rules that were not judged, all or some of the time.
    pub const fn rules(self) -> &'static [RuleId] {
        use RuleId::*;
        match self {
            Reason::AnswersUnknown => {
                &[RestartPoint, RnrWait, RnrRetry, RetryLimit, Outstanding, Credits, AckRequest]
            }
            Reason::RequestsUnknown => &[
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
                AckRead,
                AnswerOrder,
                ReadReplay,
                AtomicReplay,
                AfterError,
                RdmapAnswer,
                RdmapUnasked,
                TerminateHeader,
            ],
            Reason::AgreementUnknown => &[Outstanding, CmPsn, RnrRetry, CreditsShared],
            Reason::BegunBefore => &[CmPsn, OpcodeOrder, MessageLength, ReadOrder, DdpMsn, DdpOffset],
            Reason::LostAhead => &[
                RestartPoint,
                OpcodeOrder,
                MessageLength,
                AckRead,
                AnswerOrder,
                DdpMsn,
                DdpOffset,
                DdpLast,
                RdmapAnswer,
                RdmapUnasked,
                RdmapDepth,
                TerminateHeader,
            ],
            Reason::Reordered => &[RestartPoint, AckUnsent, AckBack, NakGap, Msn, Outstanding, CnpUnprovoked],
            Reason::Duplicated => &[NakOnce, RestartPoint],
            Reason::Cut => &[
                Icrc,
                Vcrc,
                UdpChecksum,
                PadCount,
                PadZero,
                RepeatPayload,
                ReadReplay,
                MpaCrc,
                MpaPad,
                MpaMarker,
            ],
            Reason::HeadersCut | Reason::Fragments | Reason::Merged => &[
                CmPsn,
                OpcodeOrder,
                MessageLength,
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
                AckRead,
                AnswerOrder,
                ReadReplay,
                AtomicReplay,
                AfterError,
            ],
            Reason::NoTimes => &[RnrWait, AckRequest, PauseHeeded, CmRetries, CmWait],
            Reason::NoIdentification => &[NakOnce, Msn],
            Reason::PathMtuUnknown => &[PathMtu, ReadOrder, ReadLength],
            Reason::CountLost => &[Msn, Credits],
            Reason::TooMany => {
                &[RepeatHeader, RepeatPayload, AckUnseen, Msn, RdmapAnswer, RdmapDepth, TerminateHeader]
            }
            Reason::StartUpUnknown => &[
                MpaCrc,
                MpaFirst,
                MpaRejected,
                MpaRevision,
                MpaFlags,
                MpaDepth,
                MpaRtr,
                MpaReady,
                RdmapDepth,
            ],
            Reason::Recurring => {
                &[RepeatHeader, RepeatPayload, ReadRetry, RestartPoint, ReadReplay, AtomicReplay]
            }
            Reason::ReliableDatagrams => &[
                OpcodeOrder,
                MessageLength,
                MissingRequests,
                RepeatHeader,
                RepeatPayload,
                RestartPoint,
                RetryLimit,
                AckUnsent,
                AckUnseen,
                AckBack,
                NakOnce,
                NakGap,
                Msn,
                ResponseKind,
                ReadOrder,
                ReadLength,
                AnswerOrder,
                AtomicReplay,
            ],
            Reason::PauseUnknown => &[PauseHeeded],
            Reason::NoFpdus => &[
                MpaCrc,
                MpaPad,
                MpaMarker,
                DdpMsn,
                DdpOffset,
                DdpLast,
                RdmapAnswer,
                RdmapUnasked,
                RdmapDepth,
                TerminateHeader,
            ],
        }
    }

    /// Those of iWARP, or all others.
    pub(crate) fn rules_of(self, is_iwarp: bool) -> impl Iterator<Item = RuleId> {
        let rules = self.rules().iter().copied();
        rules.filter(move |rule| (rule.rule().family == Family::Iwarp) == is_iwarp)
    }

    const fn bit(self) -> u32 {
        1 << self as u8
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Reason::AnswersUnknown => "no answers in the capture that surely belong to the requests",
            Reason::RequestsUnknown => "no requests in the capture that surely belong to the answers",
            Reason::AgreementUnknown => "no REQ and REP in the capture",
            Reason::BegunBefore => "the capture began in the middle",
            Reason::LostAhead => {
                "packets were lost in front of the place of capture, or by the capturing program"
            }
            Reason::Reordered => "packets are not in the order in which they were sent",
            Reason::Duplicated => "packets are in the capture twice",
            Reason::Cut => "the capture cut packets",
            Reason::HeadersCut => "the capture cut packets within their headers, and they may be of it",
            Reason::Fragments => "IP fragments may be of it, and are not put together",
            Reason::Merged => {
                "packets are several datagrams in one, which segmentation offload leaves together"
            }
            Reason::NoTimes => "the capture has no times",
            Reason::NoIdentification => "packets have no changing IP identification",
            Reason::PathMtuUnknown => "the path MTU does not follow from the packets",
            Reason::CountLost => "messages could not be counted on",
            Reason::TooMany => "more requests under way than are followed",
            Reason::StartUpUnknown => "the start-up of MPA is not in the capture, or leaves it open",
            Reason::Recurring => "numbers came again, perhaps those of another conversation",
            Reason::ReliableDatagrams => "reliable datagrams are not followed",
            Reason::PauseUnknown => "it is not known whom PAUSE frames stop",
            Reason::NoFpdus => "bytes of the stream are no whole FPDUs, or their lengths are wrong",
        })
    }
}

/// A set of reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons(u32);

impl Reasons {
    pub(crate) fn add(&mut self, reason: Reason) {
        self.0 |= reason.bit();
    }

    pub(crate) fn remove(&mut self, reason: Reason) {
        self.0 &= !reason.bit();
    }

    /// Whether it is among them.
    pub fn has(self, reason: Reason) -> bool {
        self.0 & reason.bit() != 0
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        Reason::ALL.into_iter().filter(move |reason| self.has(*reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_a_set() {
        let mut reasons = Reasons::default();
        reasons.add(Reason::TooMany);
        reasons.add(Reason::Cut);
        assert_eq!(reasons.iter().collect::<Vec<_>>(), [Reason::Cut, Reason::TooMany]);
        reasons.remove(Reason::Cut);
        assert!(!reasons.has(Reason::Cut));
    }
}
