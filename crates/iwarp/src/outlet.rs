//! Writing one FPDU: header, payload that is read right into its place, padding, CRC, markers.

use rdmalab_wire::iwarp::{FpduEncoder, Framing, Header, MAX_ULPDU, max_ulpdu};

/// Every sender has room for a ULPDU of so many bytes (RFC 5044 §5.1): every header of RDMAP's fits.
const SHORTEST_ULPDU: usize = 128;

/// The sending direction of a stream.
#[derive(Debug)]
pub(crate) struct Outlet {
    encoder: FpduEncoder,
    /// Bytes of the longest ULPDU (MULPDU).
    longest: usize,
    markers: bool,
}

/// Why no FPDU was written. The stream is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotWritten<E> {
    /// The buffer is too small.
    NoRoom,
    /// The payload could not be had.
    Payload(E),
}

impl Outlet {
    pub(crate) fn new(framing: Framing, segment_size: usize) -> Self {
        let longest = max_ulpdu(segment_size, framing.markers).max(SHORTEST_ULPDU);
        Self { encoder: FpduEncoder::new(framing), longest, markers: framing.markers }
    }

    /// Bytes of the longest FPDU, with as many markers as can stand in it and in front of it.
    pub(crate) fn max_fpdu(&self) -> usize {
        let content = (2 + self.longest).next_multiple_of(4) + 4;
        if self.markers { content + 4 * (content.div_ceil(508) + 1) } else { content }
    }

    /// Most bytes of payload behind a tagged header.
    pub(crate) fn tagged_payload(&self) -> u32 {
        (self.longest - Header::TAGGED_LENGTH) as u32
    }

    /// Most bytes of payload behind an untagged header.
    pub(crate) fn untagged_payload(&self) -> u32 {
        (self.longest - Header::UNTAGGED_LENGTH) as u32
    }

    /// Writes an FPDU to the start of `out`. `fill` is asked for pieces of the payload, by where they begin in it, in order.
    pub(crate) fn put<E>(
        &mut self,
        header: &Header,
        payload: usize,
        out: &mut [u8],
        mut fill: impl FnMut(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<usize, NotWritten<E>> {
        let at = header.length();
        let Ok(layout) = self.encoder.layout((at + payload).min(MAX_ULPDU)) else {
            return Err(NotWritten::NoRoom);
        };
        if out.len() < layout.length() {
            return Err(NotWritten::NoRoom);
        }
        layout.put(0, header.encode().get(..at).unwrap_or_default(), out);
        let mut offset = 0;
        for run in layout.runs(at) {
            let Some(place) = out.get_mut(run) else { return Err(NotWritten::NoRoom) };
            let length = place.len() as u32;
            fill(offset, place).map_err(NotWritten::Payload)?;
            offset += length;
        }
        self.encoder.seal(&layout, out).map_err(|_| NotWritten::NoRoom)
    }

    /// Writes an FPDU whose payload is at hand.
    pub(crate) fn put_bytes(&mut self, header: &Header, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        let fill = |offset: u32, place: &mut [u8]| {
            let from = payload.get(offset as usize..).and_then(|rest| rest.get(..place.len()));
            place.copy_from_slice(from.ok_or(())?);
            Ok::<(), ()>(())
        };
        self.put(header, payload.len(), out, fill).ok()
    }

    /// Writes an FPDU without a ULPDU.
    pub(crate) fn put_empty(&mut self, out: &mut [u8]) -> Option<usize> {
        self.encoder.encode(&[], out).ok()
    }
}
