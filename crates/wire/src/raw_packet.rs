//! Whatever can be found in bytes that claim to be an InfiniBand packet.
//!
//! Where [`Packet`](crate::Packet) is what is legal, a [`RawPacket`] is what is there: every opcode of the
//! table, headers as far as they are complete, lengths that do not fit. Taking bytes apart never fails; why
//! it did not go on stands in [`RawPacket::error`]. It shows packets and takes part in no protocol.

use core::fmt;

use crate::bth::Bth;
use crate::display;
use crate::error::{EncodeError, Layer, ParseError};
use crate::opcode::Opcode;
use crate::packet::ICRC_LENGTH;
use crate::reader::Reader;
use crate::writer::Writer;

mod headers;

pub use headers::Headers;

/// Bytes taken apart as far as they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// The first byte, if there is one.
    pub opcode: Option<Opcode>,
    /// The base header, if it is complete.
    pub bth: Option<Bth>,
    /// The extended headers the opcode has, as far as they are complete. None for an unknown opcode.
    pub headers: Headers,
    /// What is behind the headers and is neither padding nor ICRC. Behind the base header of an unknown
    /// opcode it may begin with headers; behind an incomplete header it is the rest of the bytes.
    pub payload: &'a [u8],
    /// The padding as found, not necessarily zero. Empty where the pad count does not fit.
    pub pad: &'a [u8],
    /// The last four bytes, if the headers are complete and leave so many.
    pub icrc: Option<[u8; 4]>,
    /// The first thing that is wrong.
    pub error: Option<ParseError>,
}

impl<'a> RawPacket<'a> {
    /// Takes apart the bytes from the base header to the ICRC, as they are in a UDP datagram.
    #[inline(always)] // as Packet::parse: as a call, moving the result takes as long as the work
    pub fn parse(ib: &'a [u8]) -> RawPacket<'a> {
        let mut packet = RawPacket::empty(ib);
        let mut reader = Reader::new(ib);
        if let Err(error) = packet.take_headers(&mut reader) {
            packet.payload = reader.rest();
            packet.error = Some(error);
        } else {
            packet.take_payload(&reader);
        }
        packet
    }

    /// Takes apart the bytes of a packet whose end is missing: `stated` bytes it should have. There is no ICRC,
    /// and no telling padding from payload.
    pub fn parse_cut(ib: &'a [u8], stated: usize) -> RawPacket<'a> {
        let mut packet = RawPacket::empty(ib);
        let mut reader = Reader::new(ib);
        packet.error = packet.take_headers(&mut reader).err();
        packet.payload = reader.rest();
        packet.error = packet.error.or_else(|| {
            let (need, have) = (stated.saturating_sub(reader.offset()), reader.rest().len());
            Some(ParseError::truncated(Layer::Payload, reader.offset(), need, have))
        });
        packet
    }

    /// Nothing but the opcode.
    fn empty(ib: &[u8]) -> Self {
        RawPacket {
            opcode: ib.first().map(|byte| Opcode(*byte)),
            bth: None,
            headers: Headers::default(),
            payload: &[],
            pad: &[],
            icrc: None,
            error: None,
        }
    }

    fn take_headers(&mut self, reader: &mut Reader<'a>) -> Result<(), ParseError> {
        let (opcode, bth) = Bth::decode(reader.take(Layer::Bth)?);
        self.bth = Some(bth);
        match opcode.row() {
            Some(row) => row.headers.iter().try_for_each(|header| self.headers.take(header, reader)),
            // Payload and ICRC can still be told apart.
            None => Ok(()),
        }
    }

    fn take_payload(&mut self, reader: &Reader<'a>) {
        let offset = reader.offset();
        let rest = reader.rest();
        let (Some(bth), Some((padded, icrc))) = (self.bth, rest.split_last_chunk::<ICRC_LENGTH>()) else {
            self.payload = rest;
            self.error = Some(ParseError::truncated(Layer::Icrc, offset, ICRC_LENGTH, rest.len()));
            return;
        };
        self.icrc = Some(*icrc);
        self.payload = padded;
        let pad_count = usize::from(bth.pad_count);
        let split = padded.len().checked_sub(pad_count).and_then(|at| padded.split_at_checked(at));
        if let Some((payload, pad)) = split {
            self.payload = payload;
            self.pad = pad;
        }
        let row = self.opcode.and_then(Opcode::row);
        self.error = if let (Some(opcode), None) = (self.opcode, row) {
            Some(ParseError::bad_value(Layer::Bth, 0, "opcode", u64::from(opcode.0)))
        } else if bth.header_version != 0 {
            Some(ParseError::bad_value(Layer::Bth, 1, "header_version", u64::from(bth.header_version)))
        } else if padded.len() % 4 != 0 {
            Some(ParseError::bad_value(Layer::Payload, offset, "padded length", padded.len() as u64))
        } else if split.is_none() {
            Some(ParseError::bad_value(Layer::Bth, 1, "pad_count", u64::from(bth.pad_count)))
        } else if row.is_some_and(|row| !row.payload.allows_on_some_path(self.payload.len())) {
            Some(ParseError::bad_value(Layer::Payload, offset, "length", self.payload.len() as u64))
        } else {
            None
        };
    }
}

impl RawPacket<'_> {
    /// Writes the packet to the start of `out` as it stands, sense or nonsense, and says how many bytes it
    /// is: base header if there are an opcode and a base header, those extended headers that are there,
    /// payload, padding, ICRC. Nothing is computed; whatever bytes were parsed, the same come out.
    ///
    /// # Errors
    ///
    /// A buffer that is too small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let mut writer = Writer::new(out);
        if let (Some(opcode), Some(bth)) = (self.opcode, self.bth) {
            writer.put(&bth.encode(opcode));
        }
        self.headers.put(&mut writer);
        writer.put(self.payload);
        writer.put(self.pad);
        if let Some(icrc) = &self.icrc {
            writer.put(icrc);
        }
        writer.finish()
    }
}

/// The line of a packet, as [`Packet`](crate::Packet) writes it for a legal one, and what is wrong in
/// brackets behind it.
impl fmt::Display for RawPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.opcode, &self.bth) {
            (Some(opcode), Some(bth)) => {
                display::line(f, opcode, bth, &self.headers, self.payload.len())?;
            }
            (Some(opcode), None) => write!(f, "{opcode} cut off")?,
            _ => f.write_str("nothing")?,
        }
        match &self.error {
            Some(error) => write!(f, " [{error}]"),
            None => Ok(()),
        }
    }
}
