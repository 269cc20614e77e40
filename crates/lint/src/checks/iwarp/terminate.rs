//! Terminate messages: one for each side, the last thing it says, and about a segment that the other side sent.

use rdmalab_trace::Fpdu;
use rdmalab_wire::iwarp::{Header, Place, RawBody, Terminate, TerminateError};

use super::Heard;
use super::answers::hears_only_what_is_known;
use super::segments::RDMAP_HEADER;
use super::start_up::told;
use crate::iwarp::{At, Stream};
use crate::reason::Reason;
use crate::rules::RuleId;

/// The place of the rule that is told once.
const BEHIND: usize = 2;

impl Stream {
    /// Anything that a side says behind its Terminate message.
    pub(super) fn is_behind_terminate(&mut self, side: usize, at: &mut At<'_>) {
        let [ours, _] = self.both_mut(side);
        let Some(frame) = ours.terminated else { return };
        if !told(&mut ours.told, BEHIND) {
            at.find(RuleId::RdmapTerminate, ours.number, &[at.frame, frame], || {
                "an FPDU behind a Terminate message".to_owned()
            });
        }
    }

    pub(super) fn terminate(
        &mut self,
        side: usize,
        header: &Header,
        fpdu: &Fpdu,
        heard: Heard,
        at: &mut At<'_>,
    ) {
        let [ours, _] = self.both_mut(side);
        ours.stats.terminates += 1;
        ours.terminated.get_or_insert(at.frame);
        if let Place::Untagged { msn, .. } = header.place
            && msn != 1
        {
            at.find(RuleId::RdmapTerminate, ours.number, &[at.frame], || {
                format!("the Terminate message has the number {msn}, should be 1")
            });
        }
        // What stands the wrong way round is one fault; the rest is judged as it was meant.
        let turned = turned(fpdu.ulpdu.get(header.length()..).unwrap_or_default());
        let meant = turned.as_deref().and_then(|body| Terminate::parse(body).ok());
        let segment = fpdu.segment();
        let terminate = match (&meant, &segment.body) {
            (Some(meant), _) => {
                at.find(RuleId::TerminateBits, ours.number, &[at.frame], || {
                    format!("halves and bits are the wrong way round: it means {}", meant.error)
                });
                meant
            }
            (None, Some(RawBody::Terminate(terminate))) => terminate,
            _ => return,
        };
        if terminate.error.name().is_none() {
            at.find(RuleId::TerminateError, ours.number, &[at.frame], || {
                format!("there is no error {}", terminate.error)
            });
        }
        self.blames(side, terminate, heard, at);
    }

    /// Whether the segment that it names is one of the other side's.
    fn blames(&mut self, side: usize, terminate: &Terminate<'_>, heard: Heard, at: &mut At<'_>) {
        let [ours, theirs] = self.both_mut(side);
        let flow = ours.number;
        if !terminate.rest.is_empty() {
            at.find(RuleId::TerminateHeader, flow, &[at.frame], || {
                format!("{} bytes follow that no bit announces", terminate.rest.len())
            });
        }
        let Some(blamed) = &terminate.segment else { return };
        let with_header = theirs.sent.iter().rev().filter(|sent| sent.header == blamed.header);
        let Some(sent) = with_header.clone().next() else {
            if theirs.sent_is_whole && theirs.is_whole && hears_only_what_is_known(heard, theirs) {
                at.find(RuleId::TerminateHeader, flow, &[at.frame], || {
                    format!("it is about a {} that the other side has not sent", blamed.header.opcode)
                });
            } else if theirs.is_whole {
                ours.doubt(Reason::TooMany);
            } else {
                ours.doubt(Reason::RequestsUnknown);
            }
            return;
        };
        let length = usize::from(blamed.length);
        let is_length = |length: usize| with_header.clone().any(|sent| sent.length == length);
        if terminate.length_valid && !is_length(length) {
            at.find(RuleId::TerminateHeader, flow, &[at.frame, sent.frame], || {
                format!(
                    "the {} that it is about has {} bytes, not {length}",
                    blamed.header.opcode, sent.length
                )
            });
        }
        if let (Some(header), Some(sum)) = (terminate.rdmap_header, sent.rdmap_sum)
            && crc32fast::hash(header.get(..RDMAP_HEADER).unwrap_or(header)) != sum
        {
            at.find(RuleId::TerminateHeader, flow, &[at.frame, sent.frame], || {
                format!("the RDMAP header is not that of the {} that it is about", blamed.header.opcode)
            });
        }
    }
}

/// The body of a Terminate message as it was meant, whose first byte has its halves the other way round and whose third its bits, as
/// Linux' siw sends it. Where no bit tells, it is so if the error is one by that alone.
pub(super) fn turned(body: &[u8]) -> Option<Vec<u8>> {
    let [kind, code, bits, ..] = *body else { return None };
    let is_error =
        |kind: u8| TerminateError { layer: kind >> 4, error_type: kind & 0x0f, code }.name().is_some();
    let tells = bits & 0x07 != 0 || !is_error(kind);
    if bits & 0xe0 != 0 || !tells || !is_error(kind.rotate_left(4)) {
        return None;
    }
    let mut turned = body.to_vec();
    if let [kind, _, bits, ..] = &mut turned[..] {
        (*kind, *bits) = (kind.rotate_left(4), bits.reverse_bits());
    }
    Some(turned)
}
