//! The DDP header of a segment, with the RDMAP control field that it carries for the layer above: RFC 5041
//! §4, RFC 5040 §4.1.
//!
//! The control fields, in front of both:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 1 | T: tagged |
//! | 0 | 1 | L: last segment of its message |
//! | 0 | 4 | reserved |
//! | 0 | 2 | DDP version, 1 |
//! | 1 | 2 | RDMAP version, 1 |
//! | 1 | 2 | reserved |
//! | 1 | 4 | RDMAP opcode |
//!
//! Tagged, 14 bytes:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 2 | 32 | steering tag |
//! | 6 | 64 | tagged offset |
//!
//! Untagged, 18 bytes:
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 2 | 32 | reserved for the upper layer: RDMAP puts the steering tag to invalidate here |
//! | 6 | 32 | queue number |
//! | 10 | 32 | message sequence number: the first of a queue is 1 |
//! | 14 | 32 | message offset |
//!
//! A [`Header`] holds whatever was found; [`Header::check`] says whether it is legal, in the order in which
//! the layers look at it, and with the error that a Terminate message would carry.

use core::fmt;

use super::fields::{put, u32_at, u64_at};
use super::opcode::{Model, Opcode, OpcodeRow};
use super::stag::Stag;
use super::terminate_error::TerminateError;
use crate::error::{Layer, ParseError};

/// The version of DDP and of RDMAP that there is.
pub const VERSION: u8 = 1;

const TAGGED: u8 = 0x80;
const LAST: u8 = 0x40;

/// Where a segment's payload goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Into a buffer that the sender names.
    Tagged {
        /// The buffer.
        stag: Stag,
        /// Where in it the payload begins.
        offset: u64,
    },
    /// Into the next buffer of a queue.
    Untagged {
        /// Reserved for the layer above: in a SEND with invalidate the steering tag to invalidate.
        upper: u32,
        /// Queue number, see [`queue`](super::queue).
        queue: u32,
        /// Message sequence number within the queue; all segments of a message have the same.
        msn: u32,
        /// Where in the message the payload begins.
        offset: u32,
    },
}

/// The DDP header with the control fields of DDP and RDMAP, as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// The last segment of its message.
    pub last: bool,
    /// 4 bits of the DDP control field, zero when sent.
    pub ddp_reserved: u8,
    /// 2 bits, see [`VERSION`].
    pub ddp_version: u8,
    /// 2 bits, see [`VERSION`].
    pub rdmap_version: u8,
    /// 2 bits of the RDMAP control field, zero when sent.
    pub rdmap_reserved: u8,
    /// What the message is.
    pub opcode: Opcode,
    /// Where the payload goes. Tagged or untagged is what the header says, whether or not it suits the
    /// opcode.
    pub place: Place,
}

impl Header {
    /// Length of a tagged header in bytes.
    pub const TAGGED_LENGTH: usize = 14;
    /// Length of an untagged header in bytes, the longest.
    pub const UNTAGGED_LENGTH: usize = 18;

    /// A header of the versions there are, with the reserved bits zero.
    pub const fn new(opcode: Opcode, last: bool, place: Place) -> Self {
        Header {
            last,
            ddp_reserved: 0,
            ddp_version: VERSION,
            rdmap_version: VERSION,
            rdmap_reserved: 0,
            opcode,
            place,
        }
    }

    /// The length of the header that begins with this byte.
    #[inline]
    pub const fn length_from(first: u8) -> usize {
        if first & TAGGED != 0 { Header::TAGGED_LENGTH } else { Header::UNTAGGED_LENGTH }
    }

    /// Bytes on the wire.
    #[inline]
    pub const fn length(&self) -> usize {
        match self.place {
            Place::Tagged { .. } => Header::TAGGED_LENGTH,
            Place::Untagged { .. } => Header::UNTAGGED_LENGTH,
        }
    }

    /// The header at the start of a segment, legal or not; the rest of the segment is its payload.
    ///
    /// # Errors
    ///
    /// A header that is cut off.
    #[inline]
    pub const fn parse(segment: &[u8]) -> Result<Header, ParseError> {
        let have = segment.len();
        let need = match segment.first() {
            Some(first) => Header::length_from(*first),
            // Which of the two it would have been is not to be known.
            None => return Err(ParseError::truncated(Layer::Ddp, 0, Header::TAGGED_LENGTH, have)),
        };
        if need == Header::TAGGED_LENGTH {
            if let Some(bytes) = segment.first_chunk() {
                return Ok(Header::decode_tagged(bytes));
            }
        } else if let Some(bytes) = segment.first_chunk() {
            return Ok(Header::decode_untagged(bytes));
        }
        Err(ParseError::truncated(Layer::Ddp, 0, need, have))
    }

    /// From the bytes of the wire, whatever the bit T says.
    pub const fn decode_tagged(bytes: &[u8; 14]) -> Self {
        let place = Place::Tagged { stag: Stag::new(u32_at::<2, _>(bytes)), offset: u64_at::<6, _>(bytes) };
        Header::with_control(bytes[0], bytes[1], place)
    }

    /// From the bytes of the wire, whatever the bit T says.
    pub const fn decode_untagged(bytes: &[u8; 18]) -> Self {
        let place = Place::Untagged {
            upper: u32_at::<2, _>(bytes),
            queue: u32_at::<6, _>(bytes),
            msn: u32_at::<10, _>(bytes),
            offset: u32_at::<14, _>(bytes),
        };
        Header::with_control(bytes[0], bytes[1], place)
    }

    const fn with_control(ddp: u8, rdmap: u8, place: Place) -> Self {
        Header {
            last: ddp & LAST != 0,
            ddp_reserved: ddp >> 2 & 0x0f,
            ddp_version: ddp & 0b11,
            rdmap_version: rdmap >> 6,
            rdmap_reserved: rdmap >> 4 & 0b11,
            opcode: Opcode::new(rdmap),
            place,
        }
    }

    /// To the bytes of the wire: the header fills the first [`length`](Header::length) of them, the rest is
    /// zero. Bits that do not fit their field are cut off.
    #[inline]
    pub const fn encode(&self) -> [u8; 18] {
        let mut bytes = [0; 18];
        let tagged = match self.place {
            Place::Tagged { stag, offset } => {
                put::<2, 4, _>(&mut bytes, stag.value().to_be_bytes());
                put::<6, 8, _>(&mut bytes, offset.to_be_bytes());
                TAGGED
            }
            Place::Untagged { upper, queue, msn, offset } => {
                put::<2, 4, _>(&mut bytes, upper.to_be_bytes());
                put::<6, 4, _>(&mut bytes, queue.to_be_bytes());
                put::<10, 4, _>(&mut bytes, msn.to_be_bytes());
                put::<14, 4, _>(&mut bytes, offset.to_be_bytes());
                0
            }
        };
        let last = if self.last { LAST } else { 0 };
        bytes[0] = tagged | last | (self.ddp_reserved & 0x0f) << 2 | (self.ddp_version & 0b11);
        bytes[1] = (self.rdmap_version & 0b11) << 6 | (self.rdmap_reserved & 0b11) << 4 | self.opcode.value();
        bytes
    }

    /// Whether the header is legal, as far as no connection is needed to say so: DDP's version, a queue there
    /// is, RDMAP's version, an opcode there is, and the right place for it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    #[inline]
    pub const fn check(&self) -> Result<&'static OpcodeRow, HeaderFault> {
        if self.ddp_version != VERSION {
            return Err(HeaderFault::DdpVersion { version: self.ddp_version, tagged: self.is_tagged() });
        }
        if let Place::Untagged { queue, .. } = self.place
            && queue > super::queue::ATOMIC_RESPONSE
        {
            return Err(HeaderFault::Queue(queue));
        }
        if self.rdmap_version != VERSION {
            return Err(HeaderFault::RdmapVersion(self.rdmap_version));
        }
        let Some(row) = self.opcode.row() else {
            return Err(HeaderFault::Opcode(self.opcode));
        };
        match (row.model, self.place) {
            (Model::Tagged, Place::Tagged { .. }) => Ok(row),
            (Model::Untagged { queue: expected }, Place::Untagged { queue, .. }) if queue == expected => {
                Ok(row)
            }
            _ => Err(HeaderFault::Misplaced(self.opcode)),
        }
    }

    /// Whether the bit T is set.
    pub const fn is_tagged(&self) -> bool {
        matches!(self.place, Place::Tagged { .. })
    }
}

/// What makes a header illegal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderFault {
    /// A DDP version other than 1.
    DdpVersion {
        /// The version.
        version: u8,
        /// The error code depends on it.
        tagged: bool,
    },
    /// A queue that neither RFC 5040 nor RFC 7306 has.
    Queue(u32),
    /// An RDMAP version other than 1.
    RdmapVersion(u8),
    /// An opcode that no RFC has given out.
    Opcode(Opcode),
    /// The opcode is known, but not with this bit T or in this queue.
    Misplaced(Opcode),
}

impl HeaderFault {
    /// What a Terminate message says of it.
    pub const fn terminate_error(self) -> TerminateError {
        match self {
            HeaderFault::DdpVersion { tagged: true, .. } => TerminateError::DDP_TAGGED_VERSION,
            HeaderFault::DdpVersion { tagged: false, .. } => TerminateError::DDP_UNTAGGED_VERSION,
            HeaderFault::Queue(_) => TerminateError::DDP_INVALID_QUEUE,
            HeaderFault::RdmapVersion(_) => TerminateError::RDMAP_VERSION,
            HeaderFault::Opcode(_) | HeaderFault::Misplaced(_) => TerminateError::RDMAP_UNEXPECTED_OPCODE,
        }
    }

    /// The fault as that of a segment's bytes, counted from its start.
    pub const fn parse_error(self) -> ParseError {
        match self {
            HeaderFault::DdpVersion { version, .. } => {
                ParseError::bad_value(Layer::Ddp, 0, "version", version as u64)
            }
            HeaderFault::Queue(queue) => ParseError::bad_value(Layer::Ddp, 6, "queue", queue as u64),
            HeaderFault::RdmapVersion(version) => {
                ParseError::bad_value(Layer::Rdmap, 1, "version", version as u64)
            }
            HeaderFault::Opcode(opcode) => {
                ParseError::bad_value(Layer::Rdmap, 1, "opcode", opcode.value() as u64)
            }
            HeaderFault::Misplaced(opcode) => {
                ParseError::bad_value(Layer::Rdmap, 1, "opcode for this place", opcode.value() as u64)
            }
        }
    }
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeaderFault::DdpVersion { version, .. } => write!(f, "DDP version {version}"),
            HeaderFault::Queue(queue) => write!(f, "no queue has the number {queue}"),
            HeaderFault::RdmapVersion(version) => write!(f, "RDMAP version {version}"),
            HeaderFault::Opcode(opcode) => write!(f, "no operation has the opcode {opcode}"),
            HeaderFault::Misplaced(opcode) => write!(f, "{opcode} has no business here"),
        }
    }
}

impl core::error::Error for HeaderFault {}
