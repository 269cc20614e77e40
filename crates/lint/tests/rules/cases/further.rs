//! Further ways in which conversations can be wrong: rules that have a case elsewhere.

use rdmalab_craft::wire;
use rdmalab_lint::RuleId::*;

use super::Change::{Alter, Miss, Sent};
use super::{Case, case, cut_to};
use crate::conversations::COUNTED;

pub fn cases() -> Vec<Case> {
    vec![
        case(AckRead, &[], COUNTED, "a READ's answer is missing, and the requester goes on", 12, Miss),
        case(AnswerOrder, &[], COUNTED, "READs are answered the other way round", 12, Sent(13)),
        case(
            Msn,
            &[],
            COUNTED,
            "a READ's answer counts too many, the next response does not",
            12,
            Alter(|said| {
                said.packet.headers.aeth.as_mut().unwrap().msn = wire::Msn::new(9);
            }),
        ),
        case(
            ReadLength,
            &[],
            COUNTED,
            "a READ's answer in one packet is too short, whatever the path MTU is",
            13,
            Alter(|said| cut_to(said, 996)),
        ),
    ]
}
