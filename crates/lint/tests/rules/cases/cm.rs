//! Connection management.

use rdmalab_craft::wire::Carrier;
use rdmalab_lint::RuleId::*;

use super::Change::{Again, Alter, Move};
use super::{Case, case};
use crate::conversations::{CALLED_AGAIN, CALLED_TWICE, FOUND, MIGRATED, ORDINARY};

/// The first of the two packets that end the ordinary conversation.
const DREQ: usize = 21;

pub fn cases() -> Vec<Case> {
    vec![
        case(CmForm, &[], CALLED_TWICE, "class version 1", 1, Alter(|said| said.change_mad(2, 1))),
        case(
            CmRepeat,
            &[],
            CALLED_TWICE,
            "the REQ comes again with another retry count",
            0,
            Again(0, |said| {
                said.change_mad(24 + 47, 0x01);
            }),
        ),
        case(
            CmAnswer,
            &[],
            CALLED_TWICE,
            "the REP names another connection",
            1,
            Alter(|said| {
                said.change_mad(24 + 4, 0xee);
            }),
        ),
        case(
            CmDepth,
            &[],
            CALLED_TWICE,
            "the REP wants 200 READs at once",
            1,
            Alter(|said| {
                said.change_mad(24 + 25, 200);
            }),
        ),
        case(
            CmPsn,
            &[],
            CALLED_TWICE,
            "the REP says another PSN",
            1,
            Alter(|said| said.change_mad(24 + 20, 0x55)),
        ),
        case(
            CmRetries,
            &[],
            CALLED_AGAIN,
            "the REQ comes for the third time",
            1,
            Again(0, |said| {
                said.time += 5_000_000_000;
                let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("IPv4") };
                ip.identification += 1000;
            }),
        ),
        case(
            CmWait,
            &[],
            CALLED_AGAIN,
            "the REQ comes again after a second",
            1,
            Alter(|said| said.time = 1_000_000_000),
        ),
        case(
            CmService,
            &[],
            FOUND,
            "the service is there and has no queue pair",
            1,
            Alter(|said| said.change_mad(24 + 10, 0)),
        ),
        case(
            CmQueuePair,
            &[],
            ORDINARY,
            "the DREQ is for another queue pair",
            DREQ,
            Alter(|said| said.change_mad(24 + 10, 0xee)),
        ),
        case(CmOrder, &[], MIGRATED, "the LAP comes behind its APR", 5, Move(7)),
        case(
            CmAlternate,
            &[],
            MIGRATED,
            "the LAP is for another queue pair",
            5,
            Alter(|said| said.change_mad(24 + 14, 0x93)),
        ),
        case(
            CmMigrated,
            &[],
            MIGRATED,
            "the APR refuses the path",
            6,
            Alter(|said| said.change_mad(24 + 9, 3)),
        ),
    ]
}
