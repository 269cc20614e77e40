//! What every management datagram to the general services interface has.

use rdmalab_wire::{QKey, Qpn, RawMad};

use super::{CLASS, Connections, REQ, SEND};
use crate::finding::Findings;
use crate::packet::Seen;
use crate::rules::RuleId;

/// The bit of a method by which a datagram answers another one.
const RESPONSE: u8 = 0x80;

impl Connections {
    pub(super) fn form(&self, seen: &Seen<'_>, mad: &RawMad<'_>, findings: &mut Findings) {
        let Some(header) = mad.header else { return };
        let is_cm = header.class.0 == CLASS;
        // Subnet management has no queue key.
        let queue_key =
            seen.headers.deth.filter(|_| seen.key.queue_pair == Qpn::GSI).map(|deth| deth.queue_key);
        let wrong = if header.base_version != 1 {
            format!("base version {}", header.base_version)
        } else if is_cm && header.class_version != 2 {
            format!("class version {}", header.class_version)
        } else if is_cm && header.attribute_id >= REQ && header.method.0 != SEND {
            format!("method {:#04x}", header.method.0)
        } else if header.method.0 & RESPONSE == 0 && header.status != 0 {
            format!("status {:#06x} of what answers nothing", header.status)
        } else if is_cm && (header.class_specific != 0 || header.attribute_modifier != 0) {
            format!(
                "class specific {:#06x} and attribute modifier {:#x}, which have no meaning",
                header.class_specific, header.attribute_modifier
            )
        } else if let Some(key) = queue_key.filter(|key| *key != QKey::GSI) {
            format!("queue key {key}")
        } else {
            return;
        };
        findings.add(RuleId::CmForm, None, &[seen.frame], || wrong);
    }
}
