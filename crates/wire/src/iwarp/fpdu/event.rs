//! What a framer finds in a stream.

use crate::error::ParseError;
use crate::iwarp::ddp::Header;

/// One thing found. Those of an FPDU come in order: its head, its payload in pieces, its end; markers come
/// where they stand, the one in front of an FPDU before its head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A marker.
    Marker(Marker),
    /// The start of an FPDU: its length, and the ULPDU's bytes that the DDP header takes.
    Head(FpduHead),
    /// The next bytes of the ULPDU behind its head, where they lie in the piece. Never empty.
    Payload(&'a [u8]),
    /// The end of the FPDU.
    End(FpduEnd),
}

/// A marker as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Marker {
    /// Where in the stream it begins.
    pub position: u64,
    /// 16 bits, zero when sent.
    pub reserved: u16,
    /// The FPDU pointer found.
    pub pointer: u16,
    /// The FPDU pointer that agrees with the FPDU's length field.
    pub expected: u16,
}

impl Marker {
    /// Whether the marker points to where the FPDU begins. Where it does not, marker and length field
    /// disagree, and nothing behind is to be trusted (RFC 5044 §8).
    pub const fn is_right(&self) -> bool {
        // The receiver takes the last two bits as zero.
        self.pointer & !0b11 == self.expected
    }
}

/// The start of an FPDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpduHead {
    /// Where in the stream its length field stands.
    pub position: u64,
    /// Bytes of its ULPDU.
    pub ulpdu_length: u16,
    /// The verdict on its CRC, if the piece at hand holds the whole FPDU: then it is known before the payload
    /// is put anywhere. Otherwise the end has it.
    pub crc: Option<CrcCheck>,
    pub(super) bytes: [u8; Header::UNTAGGED_LENGTH],
}

impl FpduHead {
    /// The first bytes of the ULPDU: as many as the DDP header takes, fewer if the ULPDU is shorter.
    pub fn header_bytes(&self) -> &[u8] {
        let wanted = Header::length_from(self.bytes[0]).min(usize::from(self.ulpdu_length));
        self.bytes.get(..wanted).unwrap_or_default()
    }

    /// The DDP header, legal or not.
    ///
    /// # Errors
    ///
    /// A ULPDU that is shorter than its header. An empty one is the ready-to-receive message of RFC 6581.
    pub fn header(&self) -> Result<Header, ParseError> {
        Header::parse(self.header_bytes())
    }

    /// Bytes of the ULPDU behind the header: the sum of the payload's pieces.
    pub fn payload_length(&self) -> usize {
        usize::from(self.ulpdu_length) - self.header_bytes().len()
    }
}

/// The end of an FPDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FpduEnd {
    /// Where in the stream its length field stands.
    pub position: u64,
    /// Bytes from the length field to the CRC, both and the markers between counted.
    pub length: usize,
    /// What its CRC is worth.
    pub crc: CrcCheck,
    pub(super) pad: [u8; 3],
    pub(super) pad_length: usize,
}

impl FpduEnd {
    /// The padding as found: zero when sent, not looked at when received.
    pub fn pad(&self) -> &[u8] {
        self.pad.get(..self.pad_length).unwrap_or_default()
    }
}

/// The CRC of an FPDU, found and computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CrcCheck {
    /// What stands in the stream.
    pub found: u32,
    /// What should stand there, unless the framer was told not to compute it.
    pub computed: Option<u32>,
}

impl CrcCheck {
    /// What it is worth.
    pub const fn verdict(&self) -> CrcVerdict {
        match (self.computed, self.found) {
            (Some(computed), found) if computed == found => CrcVerdict::Right,
            (_, 0) => CrcVerdict::Absent,
            (Some(_), _) => CrcVerdict::Wrong,
            (None, _) => CrcVerdict::Unchecked,
        }
    }

    /// Whether the bytes are as they were sent: what a connection that uses CRCs demands of every FPDU.
    pub const fn is_right(&self) -> bool {
        matches!(self.verdict(), CrcVerdict::Right)
    }
}

/// What the CRC of an FPDU says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CrcVerdict {
    /// It is that of the bytes.
    Right,
    /// It is another.
    Wrong,
    /// It is zero, as without CRCs; those of the bytes would be another.
    Absent,
    /// It is something, and nobody computed what it should be.
    Unchecked,
}

/// As in `right`.
impl core::fmt::Display for CrcVerdict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            CrcVerdict::Right => "right",
            CrcVerdict::Wrong => "wrong",
            CrcVerdict::Absent => "absent",
            CrcVerdict::Unchecked => "unchecked",
        })
    }
}
