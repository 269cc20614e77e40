//! FPDUs made by hand, right but for what a case makes wrong.

use rdmalab_wire::iwarp::{Header, Opcode, Place, RawSegment, ReadRequest, Stag, crc32c, fpdu_pad, queue};

use crate::stream::hex;

/// An FPDU to be.
#[derive(Debug, Clone)]
pub struct Fpdu {
    header: Option<Header>,
    rest: Vec<u8>,
    /// What the length field says in place of the length.
    length: Option<u16>,
    crc: Crc,
    pad: u8,
}

/// What stands in the place of the CRC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Crc {
    /// What the start-up has settled: the right one, or zero.
    Settled,
    Right,
    Wrong,
}

/// Untagged, the only segment of its message.
pub fn untagged(opcode: Opcode, queue: u32, msn: u32, rest: &[u8]) -> Fpdu {
    let place = Place::Untagged { upper: 0, queue, msn, offset: 0 };
    Fpdu::with_header(Header::new(opcode, true, place), rest)
}

/// Tagged, the only segment of its message.
pub fn tagged(opcode: Opcode, stag: u32, offset: u64, rest: &[u8]) -> Fpdu {
    Fpdu::with_header(Header::new(opcode, true, Place::Tagged { stag: Stag::new(stag), offset }), rest)
}

pub fn send(msn: u32, rest: &[u8]) -> Fpdu {
    untagged(Opcode::SEND, queue::SEND, msn, rest)
}

pub fn write(stag: u32, offset: u64, rest: &[u8]) -> Fpdu {
    tagged(Opcode::WRITE, stag, offset, rest)
}

/// A READ of `length` bytes into a sink that is not looked at here.
pub fn read(msn: u32, stag: u32, offset: u64, length: u32) -> Fpdu {
    let request = ReadRequest {
        sink_stag: Stag::new(0x5151_5100),
        sink_offset: 0x1000,
        length,
        source_stag: Stag::new(stag),
        source_offset: offset,
    };
    untagged(Opcode::READ_REQUEST, queue::REQUEST, msn, &request.encode())
}

pub fn terminate(msn: u32, rest: &[u8]) -> Fpdu {
    untagged(Opcode::TERMINATE, queue::TERMINATE, msn, rest)
}

/// Nothing but the length, which is zero, and a CRC: the ready-to-receive message that is neither READ nor WRITE.
pub fn empty() -> Fpdu {
    Fpdu { header: None, rest: Vec::new(), length: None, crc: Crc::Settled, pad: 0 }
}

impl Fpdu {
    fn with_header(header: Header, rest: &[u8]) -> Self {
        Self { header: Some(header), rest: rest.to_vec(), ..empty() }
    }

    /// Changes the header.
    pub fn with(mut self, change: impl FnOnce(&mut Header)) -> Self {
        if let Some(header) = &mut self.header {
            change(header);
        }
        self
    }

    /// A segment that is not the last of its message.
    pub fn more(self) -> Self {
        self.with(|header| header.last = false)
    }

    /// Where in an untagged message the segment belongs.
    pub fn at(self, to: u32) -> Self {
        self.with(|header| {
            if let Place::Untagged { offset, .. } = &mut header.place {
                *offset = to;
            }
        })
    }

    /// What an untagged message has for the layer above.
    pub fn upper(self, value: u32) -> Self {
        self.with(|header| {
            if let Place::Untagged { upper, .. } = &mut header.place {
                *upper = value;
            }
        })
    }

    /// With another length in front than it has.
    pub fn length(self, length: u16) -> Self {
        Self { length: Some(length), ..self }
    }

    /// With a CRC, though none was agreed on.
    pub fn right_crc(self) -> Self {
        Self { crc: Crc::Right, ..self }
    }

    /// With a CRC that is another.
    pub fn wrong_crc(self) -> Self {
        Self { crc: Crc::Wrong, ..self }
    }

    /// With padding that is not zero.
    pub fn pad(self, pad: u8) -> Self {
        Self { pad, ..self }
    }

    fn ulpdu(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(header) = &self.header {
            bytes.extend_from_slice(header.encode().get(..header.length()).unwrap_or_default());
        }
        bytes.extend_from_slice(&self.rest);
        bytes
    }

    /// The bytes for a stream that has CRCs or does without.
    pub fn encode(&self, crc: bool) -> Vec<u8> {
        let ulpdu = self.ulpdu();
        let length = self.length.unwrap_or(ulpdu.len() as u16);
        let mut bytes = length.to_be_bytes().to_vec();
        bytes.extend_from_slice(&ulpdu);
        bytes.resize(2 + ulpdu.len() + fpdu_pad(ulpdu.len()), self.pad);
        let right = crc32c(&bytes);
        let crc = match self.crc {
            Crc::Settled => u32::from(crc).wrapping_neg() & right,
            Crc::Right => right,
            Crc::Wrong => right ^ 1,
        };
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// As `dump` writes it, and what is wrong around it.
impl std::fmt::Display for Fpdu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.header.is_none() {
            f.write_str("an FPDU of no bytes")?;
        } else {
            write!(f, "{}", RawSegment::parse(&self.ulpdu()))?;
        }
        if let Some(Header { opcode: Opcode::TERMINATE, .. }) = self.header {
            write!(f, " : {}", hex(&self.rest))?;
        }
        match self.crc {
            Crc::Settled => {}
            Crc::Right => f.write_str(" (with its CRC)")?,
            Crc::Wrong => f.write_str(" (with another CRC)")?,
        }
        if let Some(length) = self.length {
            write!(f, " (with a length of {length} in front)")?;
        }
        Ok(())
    }
}
