//! What requesters send.

use rdmalab_craft::wire::{self, Psn};
use rdmalab_lint::RuleId::*;

use super::Change::{Alter, Miss};
use super::{CALL, Case, aeth, case, opcode};
use crate::conversations::{
    ASKED, CREDITED, LOST, NOT_READY, NOT_READY_CALLED, ORDINARY, PATIENT, READ_AGAIN, READS_AT_ONCE,
    REJECTED,
};
use crate::talk::Said;

pub fn cases() -> Vec<Case> {
    vec![
        case(MissingRequests, &[AckUnseen], ORDINARY, "a SEND is missing", CALL + 4, Miss),
        case(RepeatHeader, &[], LOST, "the repeated LAST is an ONLY", 8, Alter(|said| opcode(said, 0x05))),
        case(
            RepeatPayload,
            &[],
            LOST,
            "the repeated SEND has another payload",
            8,
            Alter(Said::change_payload),
        ),
        case(
            ReadRetry,
            &[],
            READ_AGAIN,
            "the rest of a READ is asked for at the first address",
            4,
            Alter(|said| {
                said.packet.headers.reth.as_mut().unwrap().virtual_address = 0x1000;
            }),
        ),
        case(
            RestartPoint,
            &[],
            LOST,
            "the NAK names another packet",
            5,
            Alter(|said| said.packet.bth.psn = Psn::new(0)),
        ),
        case(
            RnrWait,
            &[],
            NOT_READY,
            "it comes again after 4 us, not 2 ms",
            4,
            Alter(|said| said.time = 8_000),
        ),
        case(RetryLimit, &[], PATIENT, "the answer between is of what was answered before", 7, Miss),
        case(
            Outstanding,
            &[],
            READS_AT_ONCE,
            "the REP allows no READs",
            1,
            Alter(|said| said.change_mad(24 + 24, 0)),
        ),
        case(
            Credits,
            &[],
            CREDITED,
            "one credit less",
            1,
            Alter(|said| {
                aeth(said, wire::Syndrome::Ack { credits: 1 }, 1);
            }),
        ),
        case(
            RnrRetry,
            &[],
            NOT_READY_CALLED,
            "the REP allows no repetition",
            1,
            Alter(|said| said.change_mad(24 + 27, 0)),
        ),
        case(AckRequest, &[], ASKED, "the second acknowledgement is missing", 3, Miss),
        case(
            CmRejected,
            &[CmAnswer],
            REJECTED,
            "the REP is for the call that was rejected",
            4,
            Alter(|said| said.change_mad(24 + 7, 0x11)),
        ),
    ]
}
