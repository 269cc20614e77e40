//! A legal InfiniBand packet: base header, transport, body, payload.
//!
//! A packet says what it means, not what its bytes are: there is no opcode field, since the opcode follows
//! from transport and body, and no padding, since it follows from the payload. What only the receiver's
//! state can judge (sequence, order, keys, the path MTU) is not looked at, so that a responder sees the
//! requests it has to refuse.

use crate::bth::Bth;
use crate::error::{EncodeError, Layer, ParseError};
use crate::opcode::Opcode;
use crate::reader::Reader;

mod body;
mod encode;
mod transport;

pub use body::Body;
pub use encode::encode_headers;
pub use transport::Transport;

/// Length of the ICRC behind a packet, in bytes.
pub const ICRC_LENGTH: usize = 4;

/// A packet from the base header to the end of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The base header. Its pad count is what was found; encoding computes it anew.
    pub bth: Bth,
    /// The transport service.
    pub transport: Transport,
    /// The operation, with the extended headers it has.
    pub body: Body,
    /// The payload without its padding.
    pub payload: &'a [u8],
}

/// Bytes of padding that bring a payload to a multiple of four.
#[inline]
pub const fn pad_count(payload_length: usize) -> usize {
    payload_length.wrapping_neg() & 0b11
}

impl<'a> Packet<'a> {
    /// The opcode of this transport and body. A pair that does not exist, as READ over UD, gives an opcode
    /// without a row; encoding refuses it.
    pub const fn opcode(&self) -> Opcode {
        self.transport.opcode(&self.body)
    }

    /// The packet in the bytes from the base header to the ICRC, as they are in a UDP datagram.
    ///
    /// The ICRC must be there but is not verified: that takes the IP header as well, see
    /// [`Datagram::verify_icrc`](crate::Datagram::verify_icrc). The padding need not be zero.
    ///
    /// # Errors
    ///
    /// Where the packet is cut off, with the header that is incomplete; an opcode that the table does not
    /// have; a header version other than 0; a length that is no multiple of four, or a pad count that does
    /// not fit; a payload where the operation has none, or one of another length where it has a fixed one.
    #[inline(always)] // as Body::parse
    pub fn parse(ib: &'a [u8]) -> Result<Packet<'a>, ParseError> {
        let mut reader = Reader::new(ib);
        let (opcode, bth) = Bth::decode(reader.take(Layer::Bth)?);
        let Some(row) = opcode.row() else {
            return Err(ParseError::bad_value(Layer::Bth, 0, "opcode", u64::from(opcode.0)));
        };
        if bth.header_version != 0 {
            let version = u64::from(bth.header_version);
            return Err(ParseError::bad_value(Layer::Bth, 1, "header_version", version));
        }
        let transport = Transport::parse(row, &mut reader)?;
        let body = match transport {
            Transport::Cnp => Body::CongestionNotification,
            _ => Body::parse(opcode, &mut reader)?,
        };
        let payload = payload(&reader, &bth)?;
        if !row.payload.allows_on_some_path(payload.len()) {
            let length = payload.len() as u64;
            return Err(ParseError::bad_value(Layer::Payload, reader.offset(), "length", length));
        }
        Ok(Packet { bth, transport, body, payload })
    }

    /// Bytes from the base header to the end of the padding, the ICRC not counted.
    pub const fn encoded_length(&self) -> usize {
        let payload = self.payload.len();
        let headers = Bth::LENGTH + self.transport.header_length() + self.body.header_length();
        headers + payload + pad_count(payload)
    }

    /// Writes headers, payload and padding to the start of `out`, and says how many bytes they are: the
    /// [encoded length](Packet::encoded_length). The pad count is computed. The ICRC is the network layer's
    /// to write, see [`NetworkHeader::finish`](crate::NetworkHeader::finish).
    ///
    /// # Errors
    ///
    /// A transport that does not have this operation, or has other headers for it; a payload the operation
    /// cannot have; a buffer that is too small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let (need, have) = (self.encoded_length(), out.len());
        let out = out.get_mut(..need).ok_or(EncodeError::BufferTooSmall { need, have })?;
        let headers = encode_headers(&self.bth, &self.transport, &self.body, self.payload.len(), out)?;
        if let Some((payload, pad)) =
            out.get_mut(headers..).and_then(|rest| rest.split_at_mut_checked(self.payload.len()))
        {
            payload.copy_from_slice(self.payload);
            pad.fill(0);
        }
        Ok(need)
    }
}

/// The payload in what is left behind the headers: without the ICRC, which must be there, and without the
/// padding, which must fill the payload up to a multiple of four.
#[inline(always)] // as Body::parse
fn payload<'a>(reader: &Reader<'a>, bth: &Bth) -> Result<&'a [u8], ParseError> {
    let rest = reader.rest();
    let Some((padded, _)) = rest.split_last_chunk::<ICRC_LENGTH>() else {
        return Err(ParseError::truncated(Layer::Icrc, reader.offset(), ICRC_LENGTH, rest.len()));
    };
    if padded.len() % 4 != 0 {
        let length = padded.len() as u64;
        return Err(ParseError::bad_value(Layer::Payload, reader.offset(), "padded length", length));
    }
    let pad = usize::from(bth.pad_count);
    match padded.len().checked_sub(pad).and_then(|length| padded.get(..length)) {
        Some(payload) => Ok(payload),
        None => Err(ParseError::bad_value(Layer::Bth, 1, "pad_count", u64::from(bth.pad_count))),
    }
}
