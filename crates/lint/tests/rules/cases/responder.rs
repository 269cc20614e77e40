//! What responders answer.

use rdmalab_craft::Payload;
use rdmalab_craft::wire::{self, Carrier, NakCode, Psn};
use rdmalab_lint::RuleId::*;

use super::Change::{Again, Alter, Miss, Unsent};
use super::{CALL, Case, aeth, case, cut_to, opcode};
use crate::conversations::{
    ATOMIC_AGAIN, COUNTED, CREDITED_CALLED, LOST, ORDINARY, READ_AGAIN, READS_AT_ONCE, SENDS,
};
use crate::talk::Said;

pub fn cases() -> Vec<Case> {
    vec![
        case(
            AckUnsent,
            &[],
            ORDINARY,
            "a ghost's PSN",
            CALL + 3,
            Alter(|said| said.packet.bth.psn = Psn::new(40)),
        ),
        case(AckUnseen, &[MissingRequests], SENDS, "a SEND is missing, and acknowledged", 1, Miss),
        case(
            AckBack,
            &[],
            SENDS,
            "the last acknowledgement names the first PSN",
            5,
            Alter(|said| {
                said.packet.bth.psn = Psn::new(0);
            }),
        ),
        case(
            NakOnce,
            &[],
            LOST,
            "the NAK comes once more",
            5,
            Again(0, |said| {
                let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("IPv4") };
                ip.identification += 1000;
            }),
        ),
        case(
            NakGap,
            &[],
            SENDS,
            "a NAK for a packet that was acknowledged",
            5,
            Alter(|said| {
                said.packet.bth.psn = Psn::new(1);
                aeth(said, wire::Syndrome::Nak(NakCode::PsnSequenceError), 2);
            }),
        ),
        case(
            Msn,
            &[],
            SENDS,
            "the MSN counts one too many",
            4,
            Alter(|said| {
                said.packet.headers.aeth.as_mut().unwrap().msn = wire::Msn::new(7);
            }),
        ),
        case(
            ResponseKind,
            &[],
            SENDS,
            "a SEND is answered by a READ response",
            4,
            Alter(|said| opcode(said, 0x10)),
        ),
        case(
            ReadOrder,
            &[],
            ORDINARY,
            "a READ's answer has a LAST in its middle",
            CALL + 10,
            Alter(|said| {
                opcode(said, 0x0f);
                aeth(said, wire::Syndrome::ACK, 4);
            }),
        ),
        case(
            ReadLength,
            &[],
            ORDINARY,
            "a READ's answer ends too soon",
            CALL + 11,
            Alter(|said| cut_to(said, 400)),
        ),
        case(
            ReadStart,
            &[],
            READ_AGAIN,
            "the rest of a READ begins with MIDDLE",
            5,
            Alter(|said| {
                opcode(said, 0x0e);
                said.packet.headers.aeth = None;
            }),
        ),
        case(
            AckRead,
            &[],
            READS_AT_ONCE,
            "a READ is acknowledged",
            CALL + 1,
            Alter(|said| {
                opcode(said, 0x11);
                said.packet.payload = Payload::EMPTY;
            }),
        ),
        case(AnswerOrder, &[], COUNTED, "a READ is never answered, and what is behind it is", 12, Unsent),
        case(
            AtomicReplay,
            &[],
            ATOMIC_AGAIN,
            "the replay has another value",
            3,
            Alter(|said| {
                said.packet.headers.atomic_ack_eth.as_mut().unwrap().original = 46;
            }),
        ),
        case(
            AfterError,
            &[],
            SENDS,
            "an acknowledgement turns into a refusal",
            4,
            Alter(|said| {
                aeth(said, wire::Syndrome::Nak(NakCode::InvalidRequest), 1);
            }),
        ),
        case(
            CreditsShared,
            &[],
            CREDITED_CALLED,
            "the REP says that receives are shared",
            1,
            Alter(|said| said.change_mad(24 + 27, 0xf0)),
        ),
        case(
            ReadReplay,
            &[],
            READ_AGAIN,
            "a packet of the answer has other bytes the second time",
            6,
            Alter(Said::change_payload),
        ),
    ]
}
