//! Marks and notifications.

use rdmalab_craft::wire::{Carrier, Ecn};
use rdmalab_lint::RuleId::*;

use super::Change::Alter;
use super::{Case, case};
use crate::conversations::CONGESTED;

pub fn cases() -> Vec<Case> {
    vec![
        case(
            CnpForm,
            &[],
            CONGESTED,
            "a notification without BECN",
            2,
            Alter(|said| said.packet.bth.becn = false),
        ),
        case(
            CnpUnprovoked,
            &[],
            CONGESTED,
            "the packet was not marked",
            0,
            Alter(|said| {
                let Carrier::RoceV2Ipv4(ip, _) = &mut said.packet.carrier else { panic!("IPv4") };
                ip.ecn = Ecn::Ect0;
            }),
        ),
    ]
}
