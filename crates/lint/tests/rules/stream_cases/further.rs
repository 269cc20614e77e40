//! What else is wrong in a conversation, and by which rule: further ways to break one.

use rdmalab_craft::wire::iwarp::Opcode;
use rdmalab_lint::RuleId::*;

use super::StreamChange::{Again, Alter, Move};
use super::{
    BODY, DDP, FLAGS, IRD, LAST, MESSAGE_OFFSET, MSN, RDMAP, REVISION, StreamCase, TAGGED_OFFSET, case,
};
use crate::stream::{oldest, ordinary, peer_to_peer, read, terminated};

pub fn further() -> Vec<StreamCase> {
    vec![
        case(MpaFirst, ordinary, "the initiator sends before the reply", 2, Move(1)),
        case(MpaRevision, oldest, "the request has revision 3", 0, Alter(|step| step.bytes()[REVISION] = 3)),
        case(MpaRevision, oldest, "the reply has revision 0", 1, Alter(|step| step.bytes()[REVISION] = 0)),
        case(MpaFlags, ordinary, "a reserved flag in the reply", 1, Alter(|step| step.bytes()[FLAGS] |= 1)),
        case(
            MpaReady,
            peer_to_peer,
            "a READ in the place of the WRITE",
            2,
            Alter(|step| *step = read(rdmalab_craft::Way::Forth, 1, 0, 0)),
        ),
        StreamCase {
            // The number of the SEND that it was is missing.
            others: &[DdpMsn],
            ..case(MpaReady, ordinary, "an FPDU without a ULPDU", 2, Alter(|step| step.bytes().clear()))
        },
        case(
            MpaRtr,
            peer_to_peer,
            "the reply is not peer-to-peer",
            1,
            Alter(|step| step.bytes()[IRD - 1] &= !0x80),
        ),
        case(RdmapOpcode, ordinary, "a SEND in queue 1", 2, Alter(|step| step.bytes()[9] = 1)),
        case(
            DdpMsn,
            ordinary,
            "the rest of a SEND has another number",
            4,
            Alter(|step| step.bytes()[MSN] = 2),
        ),
        case(
            DdpOffset,
            ordinary,
            "the rest of a WRITE is elsewhere",
            6,
            Alter(|step| step.bytes()[TAGGED_OFFSET] ^= 8),
        ),
        case(
            DdpOffset,
            ordinary,
            "a SEND begins within itself",
            2,
            Alter(|step| step.bytes()[MESSAGE_OFFSET] = 4),
        ),
        case(
            DdpLast,
            ordinary,
            "a READ request that is not the last",
            7,
            Alter(|step| step.bytes()[DDP] &= !LAST),
        ),
        case(RdmapAnswer, ordinary, "an answer ends too soon", 9, Alter(|step| step.bytes()[DDP] |= LAST)),
        case(RdmapAnswer, ordinary, "an answer does not end", 11, Alter(|step| step.bytes()[DDP] &= !LAST)),
        case(
            RdmapAnswer,
            ordinary,
            "an atomic is answered under another identifier",
            13,
            Alter(|step| step.bytes()[BODY + 3] = 78),
        ),
        case(RdmapAnswer, ordinary, "the second READ is answered first", 11, Move(9)),
        case(RdmapUnasked, ordinary, "the atomic's answer comes first", 13, Move(12)),
        case(RdmapTerminate, terminated, "the Terminate message comes once more", 3, Again(0)),
        case(
            TerminateHeader,
            terminated,
            "it is about another segment",
            3,
            Alter(|step| step.bytes()[BODY + 6 + MSN] = 9),
        ),
        case(
            DdpReserved,
            ordinary,
            "a tag to invalidate in an ordinary SEND",
            2,
            Alter(|step| step.bytes()[3] = 1),
        ),
        case(
            RdmapOpcode,
            ordinary,
            "a WRITE that is not tagged",
            2,
            Alter(|step| step.bytes()[RDMAP] = 0x40 | Opcode::WRITE.value()),
        ),
    ]
}
