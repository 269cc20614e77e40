//! The operation of a packet and its place in the message, with the extended headers that go with them.
//!
//! The parsing functions are inlined by force: as calls, moving their results about takes as long as the work.

use crate::aeth::Aeth;
use crate::atomic_ack_eth::AtomicAckEth;
use crate::atomic_eth::AtomicEth;
use crate::error::{Layer, ParseError};
use crate::feth::Feth;
use crate::ieth::Ieth;
use crate::imm_dt::ImmDt;
use crate::opcode::Opcode;
use crate::reader::Reader;
use crate::reth::Reth;

/// What a packet does. Each variant is named like its opcode and holds that opcode's extended headers in
/// the order of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Body {
    /// First packet of a SEND of several.
    SendFirst,
    /// A packet in the middle of a SEND.
    SendMiddle,
    /// Last packet of a SEND.
    SendLast,
    /// Last packet of a SEND with immediate data.
    SendLastImm(ImmDt),
    /// A SEND in one packet.
    SendOnly,
    /// A SEND with immediate data in one packet.
    SendOnlyImm(ImmDt),
    /// Last packet of a SEND that invalidates a key.
    SendLastInv(Ieth),
    /// A SEND that invalidates a key in one packet.
    SendOnlyInv(Ieth),
    /// First packet of a WRITE of several.
    WriteFirst(Reth),
    /// A packet in the middle of a WRITE.
    WriteMiddle,
    /// Last packet of a WRITE.
    WriteLast,
    /// Last packet of a WRITE with immediate data.
    WriteLastImm(ImmDt),
    /// A WRITE in one packet.
    WriteOnly(Reth),
    /// A WRITE with immediate data in one packet.
    WriteOnlyImm(Reth, ImmDt),
    /// A READ.
    ReadRequest(Reth),
    /// First packet of a READ's data.
    ReadResponseFirst(Aeth),
    /// A packet in the middle of a READ's data.
    ReadResponseMiddle,
    /// Last packet of a READ's data.
    ReadResponseLast(Aeth),
    /// A READ's data in one packet.
    ReadResponseOnly(Aeth),
    /// The verdict on requests that have no data to give back.
    Acknowledge(Aeth),
    /// The verdict on an atomic operation, and what was there before.
    AtomicAcknowledge(Aeth, AtomicAckEth),
    /// Compare eight bytes and swap them if they are equal.
    CompareSwap(AtomicEth),
    /// Add to eight bytes.
    FetchAdd(AtomicEth),
    /// Bring an end-to-end context back in step, reliable datagram only.
    Resync,
    /// Push what was written before as far as the header says.
    Flush(Feth, Reth),
    /// Write eight bytes at once; they are the payload.
    AtomicWrite(Reth),
    /// Congestion notification. Its sixteen reserved bytes are the payload.
    CongestionNotification,
}

impl Body {
    /// The low five bits of the opcode. [`CongestionNotification`](Body::CongestionNotification)'s are of
    /// its own transport, all others mean the same in every transport that has them.
    #[inline]
    pub const fn operation(&self) -> u8 {
        match self {
            Body::SendFirst => 0x00,
            Body::SendMiddle => 0x01,
            Body::SendLast => 0x02,
            Body::SendLastImm(_) => 0x03,
            Body::SendOnly => 0x04,
            Body::SendOnlyImm(_) => 0x05,
            Body::WriteFirst(_) => 0x06,
            Body::WriteMiddle => 0x07,
            Body::WriteLast => 0x08,
            Body::WriteLastImm(_) => 0x09,
            Body::WriteOnly(_) => 0x0a,
            Body::WriteOnlyImm(..) => 0x0b,
            Body::ReadRequest(_) => 0x0c,
            Body::ReadResponseFirst(_) => 0x0d,
            Body::ReadResponseMiddle => 0x0e,
            Body::ReadResponseLast(_) => 0x0f,
            Body::ReadResponseOnly(_) => 0x10,
            Body::Acknowledge(_) => 0x11,
            Body::AtomicAcknowledge(..) => 0x12,
            Body::CompareSwap(_) => 0x13,
            Body::FetchAdd(_) => 0x14,
            Body::Resync => 0x15,
            Body::SendLastInv(_) => 0x16,
            Body::SendOnlyInv(_) => 0x17,
            Body::Flush(..) => 0x1c,
            Body::AtomicWrite(_) => 0x1d,
            Body::CongestionNotification => 0x01,
        }
    }

    /// Length of the body's extended headers in bytes; base header and the transport's headers are not among
    /// them.
    #[inline]
    pub const fn header_length(&self) -> usize {
        match self {
            Body::SendFirst
            | Body::SendMiddle
            | Body::SendLast
            | Body::SendOnly
            | Body::WriteMiddle
            | Body::WriteLast
            | Body::ReadResponseMiddle
            | Body::Resync
            | Body::CongestionNotification => 0,
            Body::SendLastImm(_) | Body::SendOnlyImm(_) | Body::WriteLastImm(_) => ImmDt::LENGTH,
            Body::SendLastInv(_) | Body::SendOnlyInv(_) => Ieth::LENGTH,
            Body::WriteFirst(_) | Body::WriteOnly(_) | Body::ReadRequest(_) | Body::AtomicWrite(_) => {
                Reth::LENGTH
            }
            Body::WriteOnlyImm(..) => Reth::LENGTH + ImmDt::LENGTH,
            Body::ReadResponseFirst(_)
            | Body::ReadResponseLast(_)
            | Body::ReadResponseOnly(_)
            | Body::Acknowledge(_) => Aeth::LENGTH,
            Body::AtomicAcknowledge(..) => Aeth::LENGTH + AtomicAckEth::LENGTH,
            Body::CompareSwap(_) | Body::FetchAdd(_) => AtomicEth::LENGTH,
            Body::Flush(..) => Feth::LENGTH + Reth::LENGTH,
        }
    }

    /// Whether a responder sends this, rather than a requester. A congestion notification, which whoever
    /// saw the congestion sends, does not count.
    #[inline]
    pub const fn is_response(&self) -> bool {
        matches!(self.operation(), 0x0d..=0x12)
    }

    /// The verdict, if this is a packet of a responder that carries one.
    pub const fn aeth(&self) -> Option<&Aeth> {
        match self {
            Body::ReadResponseFirst(aeth)
            | Body::ReadResponseLast(aeth)
            | Body::ReadResponseOnly(aeth)
            | Body::Acknowledge(aeth)
            | Body::AtomicAcknowledge(aeth, _) => Some(aeth),
            _ => None,
        }
    }

    /// Takes the body of a packet with this opcode, which the table has, from behind its base and transport
    /// headers.
    #[inline(always)]
    pub(super) fn parse(opcode: Opcode, reader: &mut Reader<'_>) -> Result<Body, ParseError> {
        Ok(match opcode.operation() {
            0x00 => Body::SendFirst,
            0x01 => Body::SendMiddle,
            0x02 => Body::SendLast,
            0x03 => Body::SendLastImm(imm_dt(reader)?),
            0x04 => Body::SendOnly,
            0x05 => Body::SendOnlyImm(imm_dt(reader)?),
            0x06 => Body::WriteFirst(reth(reader)?),
            0x07 => Body::WriteMiddle,
            0x08 => Body::WriteLast,
            0x09 => Body::WriteLastImm(imm_dt(reader)?),
            0x0a => Body::WriteOnly(reth(reader)?),
            0x0b => Body::WriteOnlyImm(reth(reader)?, imm_dt(reader)?),
            0x0c => Body::ReadRequest(reth(reader)?),
            0x0d => Body::ReadResponseFirst(aeth(reader)?),
            0x0e => Body::ReadResponseMiddle,
            0x0f => Body::ReadResponseLast(aeth(reader)?),
            0x10 => Body::ReadResponseOnly(aeth(reader)?),
            0x11 => Body::Acknowledge(aeth(reader)?),
            0x12 => {
                let aeth = aeth(reader)?;
                Body::AtomicAcknowledge(aeth, AtomicAckEth::decode(reader.take(Layer::AtomicAckEth)?))
            }
            0x13 => Body::CompareSwap(atomic_eth(reader)?),
            0x14 => Body::FetchAdd(atomic_eth(reader)?),
            0x15 => Body::Resync,
            0x16 => Body::SendLastInv(ieth(reader)?),
            0x17 => Body::SendOnlyInv(ieth(reader)?),
            0x1c => Body::Flush(Feth::decode(reader.take(Layer::Feth)?), reth(reader)?),
            0x1d => Body::AtomicWrite(reth(reader)?),
            _ => return Err(ParseError::bad_value(Layer::Bth, 0, "opcode", u64::from(opcode.0))),
        })
    }
}

#[inline(always)]
fn reth(reader: &mut Reader<'_>) -> Result<Reth, ParseError> {
    Ok(Reth::decode(reader.take(Layer::Reth)?))
}

#[inline(always)]
fn aeth(reader: &mut Reader<'_>) -> Result<Aeth, ParseError> {
    Ok(Aeth::decode(reader.take(Layer::Aeth)?))
}

#[inline(always)]
fn atomic_eth(reader: &mut Reader<'_>) -> Result<AtomicEth, ParseError> {
    Ok(AtomicEth::decode(reader.take(Layer::AtomicEth)?))
}

#[inline(always)]
fn imm_dt(reader: &mut Reader<'_>) -> Result<ImmDt, ParseError> {
    Ok(ImmDt::decode(reader.take(Layer::ImmDt)?))
}

#[inline(always)]
fn ieth(reader: &mut Reader<'_>) -> Result<Ieth, ParseError> {
    Ok(Ieth::decode(reader.take(Layer::Ieth)?))
}
