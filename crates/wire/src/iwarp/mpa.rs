//! MPA's start-up: the request and the reply that the two sides exchange before the first FPDU (RFC 5044
//! §7.1, RFC 6581 §5).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 128 | key: `MPA ID Req Frame` or `MPA ID Rep Frame` |
//! | 16 | 1 | M: the sender wants to *receive* markers |
//! | 16 | 1 | C: the sender wants CRCs; if either side does, both use them |
//! | 16 | 1 | R: rejected (reply only) |
//! | 16 | 1 | S: enhanced data is there (revision 2 on; reserved before) |
//! | 16 | 4 | reserved |
//! | 17 | 8 | revision |
//! | 18 | 16 | length of the private data, at most 512, the enhanced data counted |
//! | 20 | 32 | if S: [`Enhanced`] data |
//! | | | private data |
//!
//! A [`MpaFrame`] is what one side says; what both sides make of it is the connection's to decide.

use core::fmt;

use super::enhanced::Enhanced;
use super::fields::{take, u16_at};
use crate::error::{EncodeError, Layer, ParseError};
use crate::writer::Writer;

/// Who sends the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MpaKind {
    /// The initiator, who opens.
    Request,
    /// The responder, who answers.
    Reply,
}

impl MpaKind {
    /// The first 16 bytes of the frame.
    pub const fn key(self) -> &'static [u8; 16] {
        match self {
            MpaKind::Request => b"MPA ID Req Frame",
            MpaKind::Reply => b"MPA ID Rep Frame",
        }
    }
}

const MARKERS: u8 = 0x80;
const CRC: u8 = 0x40;
const REJECT: u8 = 0x20;
const ENHANCED: u8 = 0x10;

/// A request or reply frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MpaFrame<'a> {
    /// Request or reply.
    pub kind: MpaKind,
    /// The sender wants to receive markers.
    pub markers: bool,
    /// The sender wants CRCs.
    pub crc: bool,
    /// The connection is rejected. Of no meaning in a request.
    pub reject: bool,
    /// The bits of the flags without meaning, 4 of them, 5 in revisions 0 and 1; zero when sent.
    pub reserved: u8,
    /// The protocol's revision: 0 before RFC 5044, 1 by it, 2 by RFC 6581.
    pub revision: u8,
    /// The enhanced data, from revision 2 on.
    pub enhanced: Option<Enhanced>,
    /// The upper layer's private data, without the enhanced data.
    pub private_data: &'a [u8],
}

impl<'a> MpaFrame<'a> {
    /// Bytes before enhanced and private data.
    pub const HEADER_LENGTH: usize = 20;
    /// The most that the private data's length may be, the four bytes of enhanced data counted.
    pub const MAX_PRIVATE_DATA: usize = 512;
    /// The longest frame in bytes: who has so many, or an error, need not wait for more.
    pub const MAX_LENGTH: usize = MpaFrame::HEADER_LENGTH + MpaFrame::MAX_PRIVATE_DATA;

    /// A frame of revision 1 that asks for CRCs and has no private data.
    pub const fn new(kind: MpaKind) -> Self {
        MpaFrame {
            kind,
            markers: false,
            crc: true,
            reject: false,
            reserved: 0,
            revision: 1,
            enhanced: None,
            private_data: &[],
        }
    }

    /// The frame at the start of a stream, and its length in bytes: what follows is the first FPDU. `None`
    /// while what there is could still become a frame.
    ///
    /// # Errors
    ///
    /// A key that is neither of the two, as soon as it shows; more private data than allowed; enhanced data
    /// announced where the private data is too short for it.
    pub fn parse(stream: &'a [u8]) -> Result<Option<(MpaFrame<'a>, usize)>, ParseError> {
        let kind = match key(stream)? {
            Some(kind) => kind,
            None => return Ok(None),
        };
        let Some((header, rest)) = stream.split_first_chunk::<20>() else {
            return Ok(None);
        };
        let length = usize::from(u16_at::<18, _>(header));
        if length > MpaFrame::MAX_PRIVATE_DATA {
            return Err(ParseError::bad_value(Layer::Mpa, 18, "private data length", length as u64));
        }
        let [flags, revision] = take::<16, 2, _>(header);
        let is_enhanced = revision >= 2 && flags & ENHANCED != 0;
        if is_enhanced && length < Enhanced::LENGTH {
            return Err(ParseError::truncated(Layer::Mpa, 20, Enhanced::LENGTH, length));
        }
        let Some(mut private_data) = rest.get(..length) else {
            return Ok(None);
        };
        let mut enhanced = None;
        if is_enhanced && let Some((bytes, behind)) = private_data.split_first_chunk() {
            enhanced = Some(Enhanced::decode(bytes));
            private_data = behind;
        }
        let frame = MpaFrame {
            kind,
            markers: flags & MARKERS != 0,
            crc: flags & CRC != 0,
            reject: flags & REJECT != 0,
            reserved: flags & if revision >= 2 { 0x0f } else { 0x1f },
            revision,
            enhanced,
            private_data,
        };
        Ok(Some((frame, MpaFrame::HEADER_LENGTH + length)))
    }

    /// Bytes on the wire.
    pub const fn encoded_length(&self) -> usize {
        MpaFrame::HEADER_LENGTH + self.private_data_length()
    }

    const fn private_data_length(&self) -> usize {
        let enhanced = if self.enhanced.is_some() { Enhanced::LENGTH } else { 0 };
        self.private_data.len().saturating_add(enhanced)
    }

    /// Writes the frame to the start of `out`, and says how many bytes it is. Reserved bits that do not fit
    /// are cut off.
    ///
    /// # Errors
    ///
    /// More private data than allowed, a buffer that is too small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let (length, limit) = (self.private_data_length(), MpaFrame::MAX_PRIVATE_DATA);
        if length > limit {
            return Err(EncodeError::PartTooLong { layer: Layer::Mpa, length, limit });
        }
        let flags = if self.markers { MARKERS } else { 0 }
            | if self.crc { CRC } else { 0 }
            | if self.reject { REJECT } else { 0 }
            | if self.enhanced.is_some() { ENHANCED } else { 0 }
            | self.reserved & if self.revision >= 2 { 0x0f } else { 0x1f };
        let mut writer = Writer::new(out);
        writer.put(self.kind.key());
        writer.put(&[flags, self.revision]);
        // At most 512, checked above.
        writer.put(&(length as u16).to_be_bytes());
        if let Some(enhanced) = &self.enhanced {
            writer.put(&enhanced.encode());
        }
        writer.put(self.private_data);
        writer.finish()
    }
}

/// The kind of the frame that starts so; `None` while it can still be both.
fn key(stream: &[u8]) -> Result<Option<MpaKind>, ParseError> {
    let have = stream.get(..16).unwrap_or(stream);
    let fits = |kind: MpaKind| kind.key().starts_with(have);
    match (fits(MpaKind::Request), fits(MpaKind::Reply)) {
        (true, true) => Ok(None),
        (true, false) => Ok(Some(MpaKind::Request)),
        (false, true) => Ok(Some(MpaKind::Reply)),
        (false, false) => {
            let key = MpaKind::Request.key();
            let right = |(at, byte): (usize, &u8)| key.get(at) == Some(byte) || (at == 9 && *byte == b'p');
            let at = have.iter().enumerate().position(|pair| !right(pair)).unwrap_or_default();
            let found = have.get(at).copied().unwrap_or_default();
            Err(ParseError::bad_value(Layer::Mpa, at, "key", u64::from(found)))
        }
    }
}

/// As in `MPA REQUEST rev=2 ird=16 ord=16 p2p rtr=write,read crc len=8`; `markers`, `crc`, `reject` where
/// they are set, the length that of the private data alone.
impl fmt::Display for MpaFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            MpaKind::Request => "REQUEST",
            MpaKind::Reply => "REPLY",
        };
        write!(f, "MPA {kind} rev={}", self.revision)?;
        if let Some(enhanced) = &self.enhanced {
            write!(f, " {enhanced}")?;
        }
        let flags = [(self.markers, " markers"), (self.crc, " crc"), (self.reject, " reject")];
        flags.into_iter().filter(|(set, _)| *set).try_for_each(|(_, name)| f.write_str(name))?;
        write!(f, " len={}", self.private_data.len())
    }
}
