//! What a stream of iWARP consists of: start-up frames and FPDUs, as they were found.

use core::fmt;

use rdmalab_wire::ParseError;
use rdmalab_wire::iwarp::{CrcCheck, CrcVerdict, Marker, MpaFrame, RawSegment};

/// One thing in a stream. It belongs to the frame that brought its last byte.
#[derive(Clone, Debug)]
pub enum IwarpUnit {
    /// The request or the reply of MPA.
    StartUp(StartUp),
    /// An FPDU.
    Fpdu(Fpdu),
    /// Bytes of the stream that are not in the capture; what was under way in front of them is lost.
    Gap {
        /// How many.
        bytes: u64,
        /// TCP's sequence number behind the last of them.
        end_sequence: u32,
    },
}

/// A start-up frame.
#[derive(Clone, Debug)]
pub struct StartUp {
    pub(super) bytes: Vec<u8>,
    /// TCP's sequence number behind its last byte.
    pub end_sequence: u32,
}

/// An FPDU.
#[derive(Clone, Debug)]
pub struct Fpdu {
    /// Where its length field stands, in bytes behind the start-up frame; in a stream that the capture does not have
    /// from the start, in bytes from the first one known.
    pub position: u64,
    /// The ULPDU, without markers.
    pub ulpdu: Vec<u8>,
    /// The padding as found.
    pub pad: Vec<u8>,
    /// The markers in front of it and within.
    pub markers: Vec<Marker>,
    /// Its length in the stream, from the length field to the CRC, with the markers between.
    pub length: usize,
    /// The CRC, found and computed.
    pub crc: CrcCheck,
    /// Whether the start-up agreed on CRCs, so that an absent one is wrong.
    pub crc_agreed: bool,
    /// How many bytes of it the capture does not have, all behind the DDP header. They are zeros in the ULPDU, and
    /// nothing can be said of CRC, padding and markers.
    pub not_captured: u64,
    /// TCP's sequence number behind its last byte.
    pub end_sequence: u32,
}

impl StartUp {
    /// The frame, as it came.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The frame, taken apart.
    ///
    /// # Errors
    /// If something behind its key is wrong.
    pub fn frame(&self) -> Result<MpaFrame<'_>, ParseError> {
        let incomplete =
            ParseError::truncated(rdmalab_wire::Layer::Mpa, 0, MpaFrame::HEADER_LENGTH, self.bytes.len());
        MpaFrame::parse(&self.bytes)?.map(|(frame, _)| frame).ok_or(incomplete)
    }
}

impl Fpdu {
    /// The segment of DDP in it.
    pub fn segment(&self) -> RawSegment<'_> {
        RawSegment::parse(&self.ulpdu)
    }

    /// Whether the ULPDU is empty: the shortest message by which an initiator says that it is ready
    /// (RFC 6581 §4.3).
    pub fn is_ready_to_receive(&self) -> bool {
        self.ulpdu.is_empty()
    }

    /// What its CRC is worth.
    pub fn crc_verdict(&self) -> CrcVerdict {
        match self.crc.verdict() {
            _ if self.not_captured > 0 => CrcVerdict::Unchecked,
            CrcVerdict::Absent if self.crc_agreed => CrcVerdict::Wrong,
            verdict => verdict,
        }
    }

    /// The first marker that does not point to the FPDU's start.
    pub fn wrong_marker(&self) -> Option<&Marker> {
        self.markers.iter().find(|marker| !marker.is_right())
    }

    /// The first thing that is wrong with it, its CRC aside. Offsets count from the ULPDU.
    pub fn error(&self) -> Option<ParseError> {
        let marker = self.wrong_marker().map(|marker| {
            ParseError::bad_value(rdmalab_wire::Layer::Mpa, 0, "FPDU pointer", marker.pointer.into())
        });
        marker.or_else(|| if self.is_ready_to_receive() { None } else { self.segment().error })
    }
}

impl IwarpUnit {
    /// The first thing that is wrong with it, its CRC aside.
    pub fn error(&self) -> Option<ParseError> {
        match self {
            IwarpUnit::StartUp(start_up) => start_up.frame().err(),
            IwarpUnit::Fpdu(fpdu) => fpdu.error(),
            IwarpUnit::Gap { .. } => None,
        }
    }
}

/// As on the line of a packet: the frame or segment as `rdmalab-wire` writes it, the verdict on the CRC. What else is wrong
/// stands at the line's end.
impl fmt::Display for IwarpUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IwarpUnit::StartUp(start_up) => match start_up.frame() {
                Ok(frame) => frame.fmt(f),
                Err(_) => f.write_str("MPA broken start-up frame"),
            },
            IwarpUnit::Fpdu(fpdu) => fpdu.fmt(f),
            IwarpUnit::Gap { bytes, .. } => write!(f, "iWARP {bytes} bytes not captured"),
        }
    }
}

impl fmt::Display for Fpdu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut segment = self.segment();
        segment.error = None;
        write!(f, "{segment}")?;
        if !self.markers.is_empty() {
            write!(f, " markers={}", self.markers.len())?;
        }
        if self.not_captured > 0 {
            return write!(f, " crc ? ({} bytes not captured)", self.not_captured);
        }
        match (self.crc_verdict(), self.crc.computed) {
            (CrcVerdict::Right, _) => f.write_str(" crc ok"),
            (CrcVerdict::Absent, _) => f.write_str(" crc absent"),
            (_, Some(computed)) => {
                // Read as the wire has it, least significant byte first.
                let (expected, found) = (computed.swap_bytes(), self.crc.found.swap_bytes());
                write!(f, " crc BAD expected {expected:08x} found {found:08x}")
            }
            (_, None) => f.write_str(" crc ?"),
        }
    }
}
