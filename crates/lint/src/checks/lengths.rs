//! Lengths and pads of one packet, and the path MTU that all packets of a flow must have.

use rdmalab_trace::{Dissection, LayerName, Malformed, Network, Record, Roce};
use rdmalab_wire::ipv4::PROTOCOL_UDP;
use rdmalab_wire::opcode::PayloadRule;
use rdmalab_wire::{Fault, Layer, PathMtu};

use crate::finding::Findings;
use crate::flow::entry::Entry;
use crate::flow::{Flow, Out};
use crate::packet::Seen;
use crate::reason::Reason;
use crate::rules::RuleId;
use crate::words::Counted;

/// What is broken, if it is of what RDMA consists of. Some faults have a rule of their own, and what a TCP segment has in it is
/// looked at thing by thing.
pub(crate) fn malformed(record: &Record<'_>, dissection: &Dissection<'_>, findings: &mut Findings) {
    let is_ours = |layer: LayerName| match layer {
        LayerName::Roce(layer) => !is_iwarp(layer) || dissection.iwarp.is_empty(),
        _ => false,
    };
    let Some(malformed) = dissection.malformed.filter(|malformed| is_ours(malformed.layer)) else { return };
    let rule = match malformed.fault {
        Fault::BadValue { field: "header_version", .. } => RuleId::HeaderVersion,
        Fault::BadValue { field: "padded length" | "pad_count", .. } => RuleId::PadCount,
        _ => RuleId::Malformed,
    };
    findings.add(rule, None, &[record.frame], || match rightly(dissection, &malformed) {
        Some(text) => format!("{} at byte {}: {text}", malformed.layer, malformed.offset),
        None => malformed.to_string(),
    });
}

/// Of a length that is wrong: what it is, and what would be right.
fn rightly(dissection: &Dissection<'_>, malformed: &Malformed) -> Option<String> {
    let Fault::BadValue { field: "length", value } = malformed.fault else { return None };
    if malformed.layer == LayerName::Roce(Layer::Udp) {
        let there = match dissection.network.as_ref()? {
            Network::V4 { header, header_length } => {
                usize::from(header.total_length).checked_sub((*header_length).into())?
            }
            Network::V6(header) if header.next_header == PROTOCOL_UDP => header.payload_length.into(),
            Network::V6(_) => return None,
        };
        return Some(format!("the length is {value}, should be {there}, as IP has it"));
    }
    let row = dissection.roce()?.packet.opcode?.row()?;
    let right = match row.payload {
        PayloadRule::None => "none".to_owned(),
        PayloadRule::Exactly(bytes) => bytes.to_string(),
        _ => return None,
    };
    Some(format!("{} has {}, should have {right}", row.name, Counted(value, "byte", "")))
}

const fn is_iwarp(layer: Layer) -> bool {
    matches!(
        layer,
        Layer::Mpa
            | Layer::Ddp
            | Layer::Rdmap
            | Layer::ReadRequest
            | Layer::Terminate
            | Layer::ImmediateData
            | Layer::AtomicRequest
            | Layer::AtomicResponse
    )
}

/// The pad of an InfiniBand packet that is whole.
pub(crate) fn pad(record: &Record<'_>, roce: &Roce<'_>, findings: &mut Findings) {
    let packet = &roce.packet;
    if packet.icrc.is_some() && packet.pad.iter().any(|byte| *byte != 0) {
        findings.add(RuleId::PadZero, None, &[record.frame], || format!("the pad is {:02x?}", packet.pad));
    }
}

/// Whether a datagram is longer than any path MTU allows.
pub(crate) fn datagram(seen: &Seen<'_>, out: &mut Out<'_>) {
    let length = seen.payload_length;
    if PathMtu::ALL.into_iter().all(|size| length > size.bytes()) {
        out.find(RuleId::PathMtu, &[seen.frame], || {
            let (name, psn) = (seen.row.name, seen.bth.psn);
            format!("{name} psn {psn} has {length} bytes, which no path MTU allows")
        });
    }
}

impl Flow {
    /// Whether a request has a length that the path MTU allows.
    pub(crate) fn lengths(&mut self, seen: &Seen<'_>, entry: &Entry, out: &mut Out<'_>) {
        let length = entry.payload_length;
        let rule = seen.row.payload;
        if matches!(rule, PayloadRule::None | PayloadRule::Exactly(_)) {
            return;
        }
        let fits = |size: u32| rule.allows(length as usize, size as usize);
        if !self.sizes.keep(fits) {
            if seen.is_cut {
                // It may be several datagrams, of which the capture has the headers of one.
                return self.doubt(Reason::Merged);
            }
            let known = self.sizes;
            out.find(RuleId::PathMtu, &[seen.frame], || {
                let name = seen.row.name;
                match known.known() {
                    Some(size) => {
                        format!("{name} psn {} has {length} bytes, the path MTU is {size}", entry.psn)
                    }
                    None => format!("{name} psn {} has {length} bytes, which no path MTU allows", entry.psn),
                }
            });
        }
    }
}
