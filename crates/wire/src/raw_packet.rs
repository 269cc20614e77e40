//! Whatever can be found in bytes that claim to be an InfiniBand packet.
//!
//! Where [`Packet`](crate::Packet) is what is legal, a [`RawPacket`] is what is there: every opcode of the
//! table, headers as far as they are complete, lengths that do not fit. Taking bytes apart never fails; why
//! it did not go on stands in [`RawPacket::error`]. It shows packets and takes part in no protocol.

use core::fmt;

use crate::aeth::Aeth;
use crate::atomic_ack_eth::AtomicAckEth;
use crate::atomic_eth::AtomicEth;
use crate::bth::Bth;
use crate::deth::Deth;
use crate::display;
use crate::error::{Layer, ParseError};
use crate::feth::Feth;
use crate::header_set::Header;
use crate::ieth::Ieth;
use crate::imm_dt::ImmDt;
use crate::opcode::Opcode;
use crate::packet::{Body, ICRC_LENGTH};
use crate::rdeth::Rdeth;
use crate::reader::Reader;
use crate::reth::Reth;
use crate::xrceth::Xrceth;

/// The extended headers that were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "each field is the header of its name")]
pub struct Headers {
    pub rdeth: Option<Rdeth>,
    pub xrceth: Option<Xrceth>,
    pub deth: Option<Deth>,
    pub feth: Option<Feth>,
    pub reth: Option<Reth>,
    pub atomic_eth: Option<AtomicEth>,
    pub aeth: Option<Aeth>,
    pub atomic_ack_eth: Option<AtomicAckEth>,
    pub imm_dt: Option<ImmDt>,
    pub ieth: Option<Ieth>,
}

impl Headers {
    /// The headers of a body.
    pub(crate) fn of_body(body: &Body) -> Self {
        let mut headers = Headers::default();
        match *body {
            Body::SendFirst
            | Body::SendMiddle
            | Body::SendLast
            | Body::SendOnly
            | Body::WriteMiddle
            | Body::WriteLast
            | Body::ReadResponseMiddle => {}
            Body::SendLastImm(imm_dt) | Body::SendOnlyImm(imm_dt) | Body::WriteLastImm(imm_dt) => {
                headers.imm_dt = Some(imm_dt);
            }
            Body::SendLastInv(ieth) | Body::SendOnlyInv(ieth) => headers.ieth = Some(ieth),
            Body::WriteFirst(reth) | Body::WriteOnly(reth) | Body::ReadRequest(reth) => {
                headers.reth = Some(reth);
            }
            Body::WriteOnlyImm(reth, imm_dt) => {
                headers.reth = Some(reth);
                headers.imm_dt = Some(imm_dt);
            }
            Body::ReadResponseFirst(aeth)
            | Body::ReadResponseLast(aeth)
            | Body::ReadResponseOnly(aeth)
            | Body::Acknowledge(aeth) => headers.aeth = Some(aeth),
            Body::AtomicAcknowledge(aeth, atomic_ack_eth) => {
                headers.aeth = Some(aeth);
                headers.atomic_ack_eth = Some(atomic_ack_eth);
            }
            Body::CompareSwap(atomic_eth) | Body::FetchAdd(atomic_eth) => {
                headers.atomic_eth = Some(atomic_eth);
            }
        }
        headers
    }

    fn take(&mut self, header: Header, reader: &mut Reader<'_>) -> Result<(), ParseError> {
        let layer = header.layer();
        match header {
            Header::Rdeth => self.rdeth = Some(Rdeth::decode(reader.take(layer)?)),
            Header::Xrceth => self.xrceth = Some(Xrceth::decode(reader.take(layer)?)),
            Header::Deth => self.deth = Some(Deth::decode(reader.take(layer)?)),
            Header::Feth => self.feth = Some(Feth::decode(reader.take(layer)?)),
            Header::Reth => self.reth = Some(Reth::decode(reader.take(layer)?)),
            Header::AtomicEth => self.atomic_eth = Some(AtomicEth::decode(reader.take(layer)?)),
            Header::Aeth => self.aeth = Some(Aeth::decode(reader.take(layer)?)),
            Header::AtomicAckEth => self.atomic_ack_eth = Some(AtomicAckEth::decode(reader.take(layer)?)),
            Header::ImmDt => self.imm_dt = Some(ImmDt::decode(reader.take(layer)?)),
            Header::Ieth => self.ieth = Some(Ieth::decode(reader.take(layer)?)),
        }
        Ok(())
    }
}

/// Bytes taken apart as far as they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPacket<'a> {
    /// All the bytes that were handed in.
    pub bytes: &'a [u8],
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
    pub fn parse(ib: &'a [u8]) -> RawPacket<'a> {
        let mut packet = RawPacket {
            bytes: ib,
            opcode: ib.first().map(|byte| Opcode(*byte)),
            bth: None,
            headers: Headers::default(),
            payload: &[],
            pad: &[],
            icrc: None,
            error: None,
        };
        let mut reader = Reader::new(ib);
        if let Err(error) = packet.take_headers(&mut reader) {
            packet.payload = reader.rest();
            packet.error = Some(error);
        } else {
            packet.take_payload(&reader);
        }
        packet
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
