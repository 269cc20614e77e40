//! Marks of congestion and what they bring about.

use rdmalab_trace::{Dissection, Record, Roce};
use rdmalab_wire::pause::PAUSE_DESTINATION;
use rdmalab_wire::{Pause, Psn};

use crate::finding::Findings;
use crate::flow::{Flow, Out};
use crate::packet::Seen;
use crate::reason::Reason;
use crate::rules::RuleId;

/// The opcode of notifications.
const CNP: u8 = 0x81;
/// Their payload, in bytes.
const RESERVED: usize = 16;

/// The form of a notification.
pub(crate) fn form(record: &Record<'_>, roce: &Roce<'_>, findings: &mut Findings) {
    let packet = &roce.packet;
    let (Some(opcode), Some(bth)) = (packet.opcode, &packet.bth) else { return };
    if opcode.0 != CNP || packet.icrc.is_none() {
        return;
    }
    let wrong = if !bth.becn {
        "BECN is not set"
    } else if bth.psn != Psn::new(0) {
        "the PSN is not 0"
    } else if packet.payload.len() != RESERVED || packet.payload.iter().any(|byte| *byte != 0) {
        "it is not sixteen bytes of zero"
    } else {
        return;
    };
    findings.add(RuleId::CnpForm, None, &[record.frame], || wrong.to_owned());
}

/// The form of a PAUSE or PFC frame.
pub(crate) fn pause(record: &Record<'_>, dissection: &Dissection<'_>, findings: &mut Findings) {
    let (Some(pause), Some(ethernet)) = (dissection.pause(), &dissection.ethernet) else { return };
    let wrong = if ethernet.destination != PAUSE_DESTINATION {
        format!("it goes to {}, not to {PAUSE_DESTINATION}", ethernet.destination)
    } else if let Pause::Priorities(priorities) = pause
        && priorities.reserved != 0
    {
        format!("the reserved byte in front of the priorities is {:#04x}", priorities.reserved)
    } else {
        return;
    };
    findings.add(RuleId::PauseForm, None, &[record.frame], || wrong);
}

impl Flow {
    /// The sender of this flow's requests, or of its answers, is notified: it sent this flow's packets.
    pub(crate) fn notified(&mut self, seen: &Seen<'_>, out: &mut Out<'_>) {
        self.stats.notifications += 1;
        if let Some(before) = self.notified.replace(seen.time).filter(|_| seen.has_time) {
            self.stats.notification_spacing.add_between(before, seen.time);
        }
        self.effect.notified(seen.time);
        if self.reasons.has(Reason::Reordered) {
            return;
        }
        if self.marked.is_none() && !self.unprovoked_told {
            // Once for each flow: where marks cannot be seen, all notifications are such.
            self.unprovoked_told = true;
            out.find(RuleId::CnpUnprovoked, &[seen.frame], || {
                "the first of those that no packet with a congestion mark came by before".to_owned()
            });
        }
    }
}
