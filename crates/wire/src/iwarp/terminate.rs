//! Terminate: why a stream ends, and which segment was to blame (RFC 5040 §4.8).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 4 | layer |
//! | 0 | 4 | error type |
//! | 1 | 8 | error code |
//! | 2 | 1 | M: the DDP segment length is valid |
//! | 2 | 1 | D: length and DDP header of the terminated segment are included |
//! | 2 | 1 | R: the RDMAP header of the terminated segment is included |
//! | 2 | 13 | reserved |
//! | 4 | 16 | if D: length of the terminated segment, in bytes |
//! | 6 | 112 or 144 | if D: its DDP header |
//! | | 224 or 416 | if R: its RDMAP header, that of a Read Request or of an Atomic Request |
//!
//! Linux siw lays out the first four bytes by its machine's bit order: `21 05 03 00` where the RFC has
//! `12 05 c0 00` (`docs/SIW.md`). Nothing here sends or guesses that; such a message decodes to an unknown error
//! without headers, and who knows the peer can tell.

use super::atomic::AtomicRequest;
use super::ddp::Header;
use super::opcode::Opcode;
use super::read_request::ReadRequest;
use super::terminate_error::TerminateError;
use crate::error::{EncodeError, Layer, ParseError};
use crate::writer::Writer;

const LENGTH_VALID: u8 = 0x80;
const DDP_HEADER: u8 = 0x40;
const RDMAP_HEADER: u8 = 0x20;

/// The body of a Terminate message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Terminate<'a> {
    /// Why.
    pub error: TerminateError,
    /// 13 bits, zero when sent.
    pub reserved: u16,
    /// The bit M: the length in `segment` means something.
    pub length_valid: bool,
    /// The terminated segment, if the bit D says that it is included.
    pub segment: Option<TerminatedSegment>,
    /// The RDMAP header of the terminated segment, if the bit R says that it is included: all bytes to the
    /// end of the message. See [`Terminate::read_request`] and [`Terminate::atomic_request`].
    pub rdmap_header: Option<&'a [u8]>,
    /// What follows although no bit says so. Empty when sent.
    pub rest: &'a [u8],
}

/// The segment a Terminate message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TerminatedSegment {
    /// Length of the segment in bytes, its header counted.
    pub length: u16,
    /// Its DDP header, legal or not.
    pub header: Header,
}

impl<'a> Terminate<'a> {
    /// The shortest message, in bytes.
    pub const MIN_LENGTH: usize = 4;

    /// An error that no segment is to blame for.
    pub const fn new(error: TerminateError) -> Self {
        Terminate { error, reserved: 0, length_valid: false, segment: None, rdmap_header: None, rest: &[] }
    }

    /// An error with the segment that is to blame: its length in bytes and its header. `rdmap_header` is that
    /// of a Read Request or an Atomic Request, where the error is of RDMAP's layer.
    pub const fn about(
        error: TerminateError,
        length: u16,
        header: Header,
        rdmap_header: Option<&'a [u8]>,
    ) -> Self {
        let segment = Some(TerminatedSegment { length, header });
        Terminate { length_valid: true, segment, rdmap_header, ..Terminate::new(error) }
    }

    /// The body in `bytes`, all of them.
    ///
    /// # Errors
    ///
    /// A body that ends before what its bits announce.
    pub fn parse(bytes: &'a [u8]) -> Result<Terminate<'a>, ParseError> {
        let Some((&[kind, code, bits, low], mut rest)) = bytes.split_first_chunk() else {
            return Err(ParseError::truncated(Layer::Terminate, 0, Terminate::MIN_LENGTH, bytes.len()));
        };
        let mut segment = None;
        if bits & DDP_HEADER != 0 {
            let have = rest.len();
            let Some((length, behind)) = rest.split_first_chunk() else {
                return Err(ParseError::truncated(Layer::Terminate, 4, 2, have));
            };
            let header = Header::parse(behind).map_err(|error| error.behind(6))?;
            segment = Some(TerminatedSegment { length: u16::from_be_bytes(*length), header });
            rest = behind.get(header.length()..).unwrap_or_default();
        }
        let mut rdmap_header = None;
        if bits & RDMAP_HEADER != 0 {
            rdmap_header = Some(rest);
            rest = &[];
        }
        Ok(Terminate {
            error: TerminateError { layer: kind >> 4, error_type: kind & 0x0f, code },
            reserved: u16::from_be_bytes([bits & 0x1f, low]),
            length_valid: bits & LENGTH_VALID != 0,
            segment,
            rdmap_header,
            rest,
        })
    }

    /// The included RDMAP header, if it is that of a Read Request: the terminated segment is one, or is not
    /// included itself.
    pub fn read_request(&self) -> Option<ReadRequest> {
        self.is_about(Opcode::READ_REQUEST).then_some(())?;
        Some(ReadRequest::decode(self.rdmap_header?.first_chunk()?))
    }

    /// The included RDMAP header, if it is that of an Atomic Request.
    pub fn atomic_request(&self) -> Option<AtomicRequest> {
        self.is_about(Opcode::ATOMIC_REQUEST).then_some(())?;
        Some(AtomicRequest::decode(self.rdmap_header?.first_chunk()?))
    }

    fn is_about(&self, opcode: Opcode) -> bool {
        match self.segment {
            Some(segment) => segment.header.opcode == opcode,
            None => opcode == Opcode::READ_REQUEST,
        }
    }

    /// Bytes on the wire.
    pub const fn encoded_length(&self) -> usize {
        let segment = match &self.segment {
            Some(segment) => 2 + segment.header.length(),
            None => 0,
        };
        let rdmap = match self.rdmap_header {
            Some(header) => header.len(),
            None => 0,
        };
        Terminate::MIN_LENGTH + segment + rdmap + self.rest.len()
    }

    /// Writes the body to the start of `out`, and says how many bytes it is. Bits that do not fit their field
    /// are cut off.
    ///
    /// # Errors
    ///
    /// A buffer that is too small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let mut writer = Writer::new(out);
        self.put(&mut writer);
        writer.finish()
    }

    pub(super) fn put(&self, writer: &mut Writer<'_>) {
        let [high, low] = self.reserved.to_be_bytes();
        let bits = if self.length_valid { LENGTH_VALID } else { 0 }
            | if self.segment.is_some() { DDP_HEADER } else { 0 }
            | if self.rdmap_header.is_some() { RDMAP_HEADER } else { 0 };
        let kind = self.error.layer << 4 | (self.error.error_type & 0x0f);
        writer.put(&[kind, self.error.code, bits | (high & 0x1f), low]);
        if let Some(segment) = &self.segment {
            writer.put(&segment.length.to_be_bytes());
            let header = segment.header.encode();
            writer.put(header.get(..segment.header.length()).unwrap_or_default());
        }
        writer.put(self.rdmap_header.unwrap_or_default());
        writer.put(self.rest);
    }
}
