//! What iWARP says in a TCP stream, thing by thing in the order of the stream: framing here, the rest in the files below.

mod answers;
mod requests;
mod segments;
mod start_up;
mod terminate;

use rdmalab_trace::{Fpdu, IwarpUnit};
use rdmalab_wire::iwarp::CrcVerdict;
use rdmalab_wire::{Fault, Layer, ParseError};

use crate::iwarp::tcp::Half;
use crate::iwarp::{At, Stream};
use crate::observer::{PlacedUnit, UnitRole};
use crate::reason::Reason;
use crate::rules::RuleId;

/// Bytes of a marker, which may stand in front of an FPDU.
const MARKER: u32 = 4;

/// What a segment's sender has heard, as far as TCP tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// Up to this sequence number of the other direction.
    pub to: Option<u32>,
    /// Where the other direction begins.
    pub from: Option<u32>,
}

impl Stream {
    /// The next thing in one direction.
    pub(crate) fn unit(
        &mut self,
        side: usize,
        unit: &IwarpUnit,
        index: usize,
        halves: &[Half; 2],
        at: &mut At<'_>,
    ) {
        let [ours, theirs] = if side == 0 { [&halves[0], &halves[1]] } else { [&halves[1], &halves[0]] };
        let heard = Heard { to: ours.heard(theirs), from: theirs.first };
        let (flow, role) = match unit {
            IwarpUnit::StartUp(start_up) => (side, self.start_up(side, start_up, at)),
            IwarpUnit::Fpdu(fpdu) => self.fpdu(side, fpdu, heard, at),
            IwarpUnit::Gap { bytes, end_sequence } => {
                let [ours, _] = self.both_mut(side);
                ours.stats.missing_bytes = ours.stats.missing_bytes.saturating_add(*bytes);
                ours.end = Some(*end_sequence);
                ours.doubt(Reason::LostAhead);
                self.lose(side);
                return;
            }
        };
        let [ours, theirs] = self.both(side);
        let flow = if flow == side { ours.number } else { theirs.number };
        at.observer.unit(PlacedUnit { frame: at.frame, index, flow, role });
    }

    /// Judges an FPDU. Gives the side whose request it is, or whose request it answers, and what it is.
    fn fpdu(&mut self, side: usize, fpdu: &Fpdu, heard: Heard, at: &mut At<'_>) -> (usize, UnitRole) {
        self.goes_on(side, fpdu);
        self.is_too_early(side, fpdu, heard, at);
        let is_sound = self.framing(side, fpdu, at);
        let [ours, _] = self.both_mut(side);
        ours.stats.fpdus += 1;
        ours.fpdus += 1;
        ours.end = Some(fpdu.end_sequence);
        if ours.is_whole {
            ours.first_end.get_or_insert(fpdu.end_sequence);
        }
        if !is_sound {
            // Its receiver goes no further; what the numbers behind it are to be is anybody's guess.
            self.lose(side);
            return (side, UnitRole::Broken);
        }
        self.is_behind_terminate(side, at);
        let is_ready = self.ready(side, fpdu, at);
        if fpdu.is_ready_to_receive() {
            return (side, UnitRole::Ready);
        }
        self.segment_of(side, fpdu, is_ready, heard, at)
    }

    /// Something that a side said is not known: neither is, then, what of the other side's requests it answered.
    fn lose(&mut self, side: usize) {
        let [ours, theirs] = self.both_mut(side);
        ours.lose();
        theirs.lose_answers();
    }

    /// Whether it begins where the last thing ended: otherwise something between is not understood, though no gap was told.
    fn goes_on(&mut self, side: usize, fpdu: &Fpdu) {
        let [ours, _] = self.both_mut(side);
        let begin = fpdu.end_sequence.wrapping_sub(fpdu.length as u32);
        match ours.end {
            Some(end) if begin == end || begin == end.wrapping_add(MARKER) => {}
            Some(_) => {
                ours.doubt(Reason::LostAhead);
                self.lose(side);
            }
            None => {
                ours.doubt(Reason::BegunBefore);
                self.lose(side);
            }
        }
    }

    /// Markers, CRC, padding, and headers that no connection is needed for. Says whether the segment in it can be followed.
    fn framing(&mut self, side: usize, fpdu: &Fpdu, at: &mut At<'_>) -> bool {
        let has_starts = self.starts(side).is_some();
        let [ours, _] = self.both_mut(side);
        ours.is_framed_blindly |= !has_starts;
        let knows_crc = !ours.is_framed_blindly;
        if !knows_crc && fpdu.crc_verdict() == CrcVerdict::Wrong {
            // It may be none, but what stands where one would be without markers, or with them.
            ours.doubt(Reason::StartUpUnknown);
            return false;
        }
        let (flow, frame) = (ours.number, [at.frame]);
        let is_odd = |marker: &&rdmalab_wire::iwarp::Marker| !marker.is_right() || marker.reserved != 0;
        if let Some(marker) = fpdu.markers.iter().find(is_odd) {
            at.find(RuleId::MpaMarker, flow, &frame, || {
                format!(
                    "the marker at {} of the stream points back by {} bytes, should be {}; its reserved bits are {:#x}",
                    marker.position, marker.pointer, marker.expected, marker.reserved
                )
            });
        }
        match fpdu.crc_verdict() {
            CrcVerdict::Wrong => at.find(RuleId::MpaCrc, flow, &frame, || format!("{fpdu}")),
            CrcVerdict::Unchecked => ours.doubt(Reason::Cut),
            CrcVerdict::Absent if !knows_crc => ours.doubt(Reason::StartUpUnknown),
            CrcVerdict::Right | CrcVerdict::Absent => {}
        }
        if fpdu.pad.iter().any(|byte| *byte != 0) {
            at.find(RuleId::MpaPad, flow, &frame, || format!("the padding is {:02x?}", fpdu.pad));
        }
        if fpdu.crc_verdict() == CrcVerdict::Wrong || fpdu.wrong_marker().is_some() {
            return false;
        }
        let Some(error) = fpdu.error() else { return true };
        if !knows_crc && fpdu.crc_verdict() != CrcVerdict::Right {
            ours.doubt(Reason::StartUpUnknown);
            return false;
        }
        at.find(rule_of(&error), flow, &frame, || format!("{error}"));
        false
    }
}

/// The rule that a malformed segment breaks.
fn rule_of(error: &ParseError) -> RuleId {
    match (error.layer, error.fault) {
        (Layer::Ddp | Layer::Rdmap, Fault::BadValue { field: "version", .. }) => RuleId::DdpVersion,
        (Layer::Ddp, Fault::BadValue { field: "queue", .. })
        | (Layer::Rdmap, Fault::BadValue { field: "opcode" | "opcode for this place", .. }) => {
            RuleId::RdmapOpcode
        }
        (Layer::Ddp, Fault::BadValue { field: "last", .. }) => RuleId::DdpLast,
        (Layer::Ddp, Fault::BadValue { field: "message offset", .. }) => RuleId::DdpOffset,
        _ => RuleId::Malformed,
    }
}
