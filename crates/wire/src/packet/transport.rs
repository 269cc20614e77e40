//! The transport service of a packet, with the headers it puts in front of the operation's own.

use super::Body;
use crate::deth::Deth;
use crate::error::{Layer, ParseError};
use crate::opcode::{Opcode, OpcodeRow, TransportKind};
use crate::rdeth::Rdeth;
use crate::reader::Reader;
use crate::xrceth::Xrceth;

/// The transport service of a packet, with what its headers add to each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Reliable datagram. Requests have a datagram header, responses have none.
    Rd(Rdeth, Option<Deth>),
    /// Unreliable datagram.
    Ud(Deth),
    /// Congestion notification.
    Cnp,
    /// Extended reliable connection. Requests name a shared receive queue, responses none.
    Xrc(Option<Xrceth>),
}

impl Transport {
    /// Which transport it is.
    pub const fn kind(&self) -> TransportKind {
        match self {
            Transport::Rc => TransportKind::Rc,
            Transport::Uc => TransportKind::Uc,
            Transport::Rd(..) => TransportKind::Rd,
            Transport::Ud(_) => TransportKind::Ud,
            Transport::Cnp => TransportKind::Cnp,
            Transport::Xrc(_) => TransportKind::Xrc,
        }
    }

    /// Length in bytes of the headers it adds to a packet.
    #[inline]
    pub const fn header_length(&self) -> usize {
        match self {
            Transport::Rc | Transport::Uc | Transport::Cnp | Transport::Xrc(None) => 0,
            Transport::Rd(_, None) => Rdeth::LENGTH,
            Transport::Rd(_, Some(_)) => Rdeth::LENGTH + Deth::LENGTH,
            Transport::Ud(_) => Deth::LENGTH,
            Transport::Xrc(Some(_)) => Xrceth::LENGTH,
        }
    }

    /// The opcode of an operation over this transport; one without a row if it has no such operation.
    #[inline]
    pub(super) const fn opcode(&self, body: &Body) -> Opcode {
        match (self, body) {
            (Transport::Cnp, Body::CongestionNotification) => Opcode::CNP,
            (Transport::Cnp, _) | (_, Body::CongestionNotification) => NO_OPCODE,
            (transport, body) => transport.kind().opcode(body.operation()),
        }
    }

    /// Whether the headers that only requests have are there exactly if this is one.
    #[inline]
    pub(super) const fn fits(&self, row: &OpcodeRow) -> bool {
        match self {
            Transport::Rc | Transport::Uc | Transport::Ud(_) | Transport::Cnp => true,
            Transport::Rd(_, deth) => deth.is_some() == row.is_request,
            Transport::Xrc(xrceth) => xrceth.is_some() == row.is_request,
        }
    }

    /// Takes the transport of a packet with this opcode from behind its base header.
    #[inline(always)] // as Body::parse
    pub(super) fn parse(row: &OpcodeRow, reader: &mut Reader<'_>) -> Result<Transport, ParseError> {
        Ok(match row.transport {
            TransportKind::Rc => Transport::Rc,
            TransportKind::Uc => Transport::Uc,
            TransportKind::Rd => {
                let rdeth = Rdeth::decode(reader.take(Layer::Rdeth)?);
                Transport::Rd(rdeth, if row.is_request { Some(deth(reader)?) } else { None })
            }
            TransportKind::Ud => Transport::Ud(deth(reader)?),
            TransportKind::Cnp => Transport::Cnp,
            TransportKind::Xrc if row.is_request => {
                Transport::Xrc(Some(Xrceth::decode(reader.take(Layer::Xrceth)?)))
            }
            TransportKind::Xrc => Transport::Xrc(None),
        })
    }
}

#[inline(always)] // as Body::parse
fn deth(reader: &mut Reader<'_>) -> Result<Deth, ParseError> {
    Ok(Deth::decode(reader.take(Layer::Deth)?))
}

/// What a transport and an operation give that do not go together: no specification has given this one out.
const NO_OPCODE: Opcode = Opcode(0xff);
