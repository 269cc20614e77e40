//! The Terminate message: ours, built from a fault, and the peer's, understood (RFC 5040 §4.8).

use rdmalab_wire::iwarp::{AtomicRequest, Body, Header, ReadRequest, Segment, Terminate, TerminateError};

use crate::fault::{Fault, Includes};
use crate::outlet::Outlet;

/// Bytes of the longest body: control, length, an untagged DDP header, the header of an atomic request.
pub(crate) const MAX_BODY: usize =
    Terminate::MIN_LENGTH + 2 + Header::UNTAGGED_LENGTH + AtomicRequest::LENGTH;

/// The segment that a fault is of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blamed<'a> {
    /// Bytes of the segment, its header counted.
    pub(crate) length: u16,
    pub(crate) header: Header,
    /// What is behind its header, as far as it is at hand.
    pub(crate) body: &'a [u8],
}

/// A Terminate message that waits to be sent, or was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    ulpdu: [u8; Header::UNTAGGED_LENGTH + MAX_BODY],
    length: usize,
}

impl Outgoing {
    pub(crate) fn new(fault: &Fault, blamed: Option<Blamed<'_>>) -> Self {
        let terminate = match (fault.includes, blamed) {
            (Includes::Segment, Some(Blamed { length, header, .. })) => {
                Terminate::about(fault.error, length, header, None)
            }
            (Includes::Request, Some(Blamed { length, header, body })) => {
                let body = body.get(..body.len().min(AtomicRequest::LENGTH));
                Terminate::about(fault.error, length, header, body)
            }
            _ => Terminate::new(fault.error),
        };
        let segment = Segment { body: Body::Terminate { msn: 1, terminate }, payload: &[], last: true };
        let mut ulpdu = [0; Header::UNTAGGED_LENGTH + MAX_BODY];
        // Always fits: that is what MAX_BODY is.
        let length = segment.encode(&mut ulpdu).unwrap_or(0);
        Self { ulpdu, length }
    }

    /// Writes it; `None` if the buffer is too small.
    pub(crate) fn send(&self, outlet: &mut Outlet, out: &mut [u8]) -> Option<usize> {
        let header = Header::parse(&self.ulpdu).ok()?;
        outlet.put_bytes(&header, self.ulpdu.get(header.length()..self.length)?, out)
    }
}

/// Blames a READ whose memory is gone when it is answered.
pub(crate) fn blame_read(msn: u32, request: &[u8; ReadRequest::LENGTH]) -> Blamed<'_> {
    let body = Body::ReadRequest { msn, request: ReadRequest::decode(request) };
    let segment = Segment { body, payload: &[], last: true };
    Blamed { length: segment.encoded_length() as u16, header: segment.header(), body: request }
}

/// The peer's Terminate message. `swapped` says that the halves of its first byte and the bits of its third may be in the
/// opposite order, as Linux siw sends them: it is taken so if that makes sense, and no bit stands where the RFC has it.
pub(crate) fn understand<T>(body: &[u8], swapped: bool, with: impl FnOnce(&Terminate<'_>) -> T) -> Option<T> {
    let mut turned = [0; MAX_BODY];
    let body = body.get(..body.len().min(MAX_BODY))?;
    let place = turned.get_mut(..body.len())?;
    place.copy_from_slice(body);
    if swapped
        && let [kind, code, bits, ..] = place
        && is_swapped(*kind, *code, *bits)
    {
        (*kind, *bits) = (kind.rotate_left(4), bits.reverse_bits());
    }
    // What was announced and is not there leaves the reason, which is what matters.
    let reason = || {
        let [kind, code, ..] = *place else { return None };
        let error = TerminateError { layer: kind >> 4, error_type: kind & 0x0f, code };
        Some(Terminate::new(error))
    };
    match Terminate::parse(place) {
        Ok(terminate) => Some(with(&terminate)),
        Err(_) => reason().as_ref().map(with),
    }
}

fn is_swapped(kind: u8, code: u8, bits: u8) -> bool {
    let error = |kind: u8| TerminateError { layer: kind >> 4, error_type: kind & 0x0f, code };
    let would_be_known = error(kind.rotate_left(4)).name().is_some();
    // Those of the headers tell the order. Without any, it is siw's: what reads as RFC 6581's errors of the start-up, which
    // siw does not know, are its errors of RDMAP.
    bits & 0xe0 == 0 && would_be_known
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(bytes: &[u8], swapped: bool) -> Option<TerminateError> {
        understand(bytes, swapped, |terminate| terminate.error)
    }

    #[test]
    fn control_bytes_in_the_opposite_order_are_understood_where_they_may_come() {
        let mut body = [0; 4 + 2 + 18];
        body[..6].copy_from_slice(&[0x21, 5, 0x03, 0, 0, 18]);
        assert_eq!(error(&body, true), Some(TerminateError::DDP_MESSAGE_TOO_LONG));
        assert!(understand(&body, true, |terminate| terminate.segment.is_some()).unwrap());
        assert_eq!(error(&body, false).unwrap().name(), None);
        body[..6].copy_from_slice(&[0x12, 5, 0xc0, 0, 0, 18]);
        assert_eq!(
            error(&body, true),
            Some(TerminateError::DDP_MESSAGE_TOO_LONG),
            "the RFC's order does, too"
        );
        assert_eq!(error(&[0x20, 2, 0, 0], true), Some(TerminateError::MPA_CRC));
        assert_eq!(
            error(&[0x02, 2, 0, 0], true),
            Some(TerminateError::MPA_CRC),
            "nothing but the error tells"
        );
        assert_eq!(error(&[0x20, 6, 0, 0], true), Some(TerminateError::RDMAP_UNEXPECTED_OPCODE));
        assert_eq!(error(&[0x20, 6, 0, 0], false), Some(TerminateError::MPA_INSUFFICIENT_IRD));
        assert_eq!(error(&[0x01, 0, 0, 0], true), Some(TerminateError::DDP_LOCAL_CATASTROPHIC));
        assert_eq!(error(&[0x01, 0, 0x80, 0], true), Some(TerminateError::RDMAP_INVALID_STAG));
    }

    #[test]
    fn a_message_that_is_cut_off_still_says_why() {
        assert_eq!(error(&[0x11, 1, 0xc0, 0, 0], false), Some(TerminateError::DDP_BOUNDS));
        assert_eq!(error(&[0x11], false), None);
    }

    #[test]
    fn every_error_fits() {
        let header = Header::new(
            rdmalab_wire::iwarp::Opcode::ATOMIC_REQUEST,
            true,
            rdmalab_wire::iwarp::Place::Untagged { upper: 0, queue: 1, msn: 1, offset: 0 },
        );
        let body = [7; 200];
        for error in TerminateError::all() {
            let blamed = Blamed { length: 70, header, body: &body };
            let outgoing = Outgoing::new(&Fault::of_request(error), Some(blamed));
            assert_eq!(outgoing.length, outgoing.ulpdu.len());
        }
    }
}
