//! A legal DDP segment with the RDMAP message, or the part of one, that it carries: what the ULPDU of an FPDU
//! is.
//!
//! A segment says what it means, not what its bytes are: tagged or untagged, queue and opcode follow from its
//! body. What only the receiver's state can judge (message sequence numbers, steering tags, bounds) is not
//! looked at. A receiver that places payload as it arrives works with [`Header`] instead.

use super::atomic::{AtomicOperation, AtomicRequest, AtomicResponse};
use super::ddp::{Header, Place};
use super::opcode::{Model, Opcode};
use super::read_request::ReadRequest;
use super::stag::Stag;
use super::terminate::Terminate;
use crate::error::{EncodeError, Layer, ParseError};
use crate::writer::Writer;

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The message, or the message this is a part of.
    pub body: Body<'a>,
    /// The part of the message's bytes that is in this segment. Empty where the body is all there is.
    pub payload: &'a [u8],
    /// The last segment of its message. Messages whose body is all there is have only one.
    pub last: bool,
}

/// What a segment carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// RDMA Write.
    Write(Tagged),
    /// RDMA Read Request.
    ReadRequest {
        /// Message sequence number.
        msn: u32,
        /// What to read.
        request: ReadRequest,
    },
    /// RDMA Read Response: into the sink that the request named.
    ReadResponse(Tagged),
    /// Send, of one of its four kinds.
    Send {
        /// Which.
        kind: SendKind,
        /// Message sequence number.
        msn: u32,
        /// Where in the message the payload begins.
        offset: u32,
    },
    /// Terminate.
    Terminate {
        /// Message sequence number; a stream has one Terminate, so it is 1.
        msn: u32,
        /// Why.
        terminate: Terminate<'a>,
    },
    /// Immediate Data.
    Immediate {
        /// With solicited event.
        solicited: bool,
        /// Message sequence number, in the queue of the SENDs.
        msn: u32,
        /// The eight bytes, which mean something to the upper layers alone.
        data: [u8; 8],
    },
    /// Atomic Request.
    AtomicRequest {
        /// Message sequence number, in the queue of the Read Requests.
        msn: u32,
        /// What to do.
        request: AtomicRequest,
    },
    /// Atomic Response.
    AtomicResponse {
        /// Message sequence number.
        msn: u32,
        /// What was there.
        response: AtomicResponse,
    },
}

/// A place in a tagged buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Tagged {
    /// The buffer.
    pub stag: Stag,
    /// Where in it.
    pub offset: u64,
}

/// The kinds of Send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SendKind {
    /// Send.
    Plain,
    /// Send with Invalidate.
    Invalidate(Stag),
    /// Send with Solicited Event.
    Solicited,
    /// Send with Solicited Event and Invalidate.
    SolicitedInvalidate(Stag),
}

impl SendKind {
    /// The steering tag to invalidate.
    pub const fn invalidates(self) -> Option<Stag> {
        match self {
            SendKind::Plain | SendKind::Solicited => None,
            SendKind::Invalidate(stag) | SendKind::SolicitedInvalidate(stag) => Some(stag),
        }
    }

    const fn opcode(self) -> Opcode {
        match self {
            SendKind::Plain => Opcode::SEND,
            SendKind::Invalidate(_) => Opcode::SEND_INV,
            SendKind::Solicited => Opcode::SEND_SE,
            SendKind::SolicitedInvalidate(_) => Opcode::SEND_SE_INV,
        }
    }
}

impl Body<'_> {
    /// The opcode that follows.
    pub const fn opcode(&self) -> Opcode {
        match self {
            Body::Write(_) => Opcode::WRITE,
            Body::ReadRequest { .. } => Opcode::READ_REQUEST,
            Body::ReadResponse(_) => Opcode::READ_RESPONSE,
            Body::Send { kind, .. } => kind.opcode(),
            Body::Terminate { .. } => Opcode::TERMINATE,
            Body::Immediate { solicited: false, .. } => Opcode::IMMEDIATE,
            Body::Immediate { solicited: true, .. } => Opcode::IMMEDIATE_SE,
            Body::AtomicRequest { .. } => Opcode::ATOMIC_REQUEST,
            Body::AtomicResponse { .. } => Opcode::ATOMIC_RESPONSE,
        }
    }

    /// The place in the DDP header that follows.
    const fn place(&self) -> Place {
        let (upper, msn, offset) = match *self {
            Body::Write(Tagged { stag, offset }) | Body::ReadResponse(Tagged { stag, offset }) => {
                return Place::Tagged { stag, offset };
            }
            Body::Send { kind, msn, offset } => match kind.invalidates() {
                Some(stag) => (stag.value(), msn, offset),
                None => (0, msn, offset),
            },
            Body::ReadRequest { msn, .. }
            | Body::Terminate { msn, .. }
            | Body::Immediate { msn, .. }
            | Body::AtomicRequest { msn, .. }
            | Body::AtomicResponse { msn, .. } => (0, msn, 0),
        };
        let queue = match self.opcode().row() {
            Some(row) => match row.model {
                Model::Untagged { queue } => queue,
                Model::Tagged => 0,
            },
            None => 0,
        };
        Place::Untagged { upper, queue, msn, offset }
    }

    /// Bytes between DDP header and payload.
    const fn length(&self) -> usize {
        match self {
            Body::Write(_) | Body::ReadResponse(_) | Body::Send { .. } => 0,
            Body::ReadRequest { .. } => ReadRequest::LENGTH,
            Body::Terminate { terminate, .. } => terminate.encoded_length(),
            Body::Immediate { .. } => 8,
            Body::AtomicRequest { .. } => AtomicRequest::LENGTH,
            Body::AtomicResponse { .. } => AtomicResponse::LENGTH,
        }
    }
}

impl<'a> Segment<'a> {
    /// The DDP header. Reserved bits are zero in it.
    pub const fn header(&self) -> Header {
        Header::new(self.body.opcode(), self.last, self.body.place())
    }

    /// The segment that fills `ulpdu`. Reserved bits are not looked at.
    ///
    /// # Errors
    ///
    /// Where the segment is cut off; what [`Header::check`] finds; a body of a wrong length, in several
    /// segments, or with a message offset; an atomic operation that does not exist.
    pub fn parse(ulpdu: &'a [u8]) -> Result<Segment<'a>, ParseError> {
        let header = Header::parse(ulpdu)?;
        let row = header.check().map_err(|fault| fault.parse_error())?;
        let at = header.length();
        let rest = ulpdu.get(at..).unwrap_or_default();
        if row.payload.is_single_segment() {
            if !header.last {
                return Err(ParseError::bad_value(Layer::Ddp, 0, "last", 0));
            }
            if let Place::Untagged { offset: offset @ 1.., .. } = header.place {
                return Err(ParseError::bad_value(Layer::Ddp, 14, "message offset", u64::from(offset)));
            }
        }
        let (body, payload) = match header.place {
            Place::Tagged { stag, offset } if header.opcode == Opcode::WRITE => {
                (Body::Write(Tagged { stag, offset }), rest)
            }
            Place::Tagged { stag, offset } => (Body::ReadResponse(Tagged { stag, offset }), rest),
            Place::Untagged { upper, msn, offset, .. } => {
                let stag = Stag::new(upper);
                match send_kind(header.opcode, stag) {
                    Some(kind) => (Body::Send { kind, msn, offset }, rest),
                    None => {
                        (fixed_body(header.opcode, msn, rest).map_err(|error| error.behind(at))?, &[][..])
                    }
                }
            }
        };
        Ok(Segment { body, payload, last: header.last })
    }

    /// Bytes of the ULPDU.
    pub const fn encoded_length(&self) -> usize {
        self.header().length() + self.body.length() + self.payload.len()
    }

    /// Writes the ULPDU to the start of `out`, and says how many bytes it is: the
    /// [encoded length](Segment::encoded_length).
    ///
    /// # Errors
    ///
    /// A payload behind a body that is all there is, or such a body in several segments; a buffer that is too
    /// small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        if self.body.length() > 0 && !self.payload.is_empty() {
            return Err(EncodeError::PartTooLong {
                layer: Layer::Rdmap,
                length: self.payload.len(),
                limit: 0,
            });
        }
        let header = self.header();
        let mut writer = Writer::new(out);
        writer.put(header.encode().get(..header.length()).unwrap_or_default());
        match &self.body {
            Body::Write(_) | Body::ReadResponse(_) | Body::Send { .. } => writer.put(self.payload),
            Body::ReadRequest { request, .. } => writer.put(&request.encode()),
            Body::Terminate { terminate, .. } => terminate.put(&mut writer),
            Body::Immediate { data, .. } => writer.put(data),
            Body::AtomicRequest { request, .. } => writer.put(&request.encode()),
            Body::AtomicResponse { response, .. } => writer.put(&response.encode()),
        }
        writer.finish()
    }
}

const fn send_kind(opcode: Opcode, stag: Stag) -> Option<SendKind> {
    match opcode {
        Opcode::SEND => Some(SendKind::Plain),
        Opcode::SEND_INV => Some(SendKind::Invalidate(stag)),
        Opcode::SEND_SE => Some(SendKind::Solicited),
        Opcode::SEND_SE_INV => Some(SendKind::SolicitedInvalidate(stag)),
        _ => None,
    }
}

/// The body in `bytes`, which it must fill.
fn fixed_body(opcode: Opcode, msn: u32, bytes: &[u8]) -> Result<Body<'_>, ParseError> {
    Ok(match opcode {
        Opcode::READ_REQUEST => {
            let request = ReadRequest::decode(whole(Layer::ReadRequest, bytes)?);
            Body::ReadRequest { msn, request }
        }
        Opcode::TERMINATE => Body::Terminate { msn, terminate: Terminate::parse(bytes)? },
        Opcode::ATOMIC_REQUEST => {
            let request = AtomicRequest::decode(whole(Layer::AtomicRequest, bytes)?);
            if let AtomicOperation::Unknown(code) = request.operation {
                return Err(ParseError::bad_value(Layer::AtomicRequest, 3, "operation", u64::from(code)));
            }
            Body::AtomicRequest { msn, request }
        }
        Opcode::ATOMIC_RESPONSE => {
            let response = AtomicResponse::decode(whole(Layer::AtomicResponse, bytes)?);
            Body::AtomicResponse { msn, response }
        }
        _ => {
            let solicited = opcode.row().is_some_and(|row| row.solicited);
            Body::Immediate { solicited, msn, data: *whole(Layer::ImmediateData, bytes)? }
        }
    })
}

fn whole<const N: usize>(layer: Layer, bytes: &[u8]) -> Result<&[u8; N], ParseError> {
    match bytes.split_first_chunk() {
        Some((body, [])) => Ok(body),
        Some(_) => Err(ParseError::bad_value(layer, 0, "length", bytes.len() as u64)),
        None => Err(ParseError::truncated(layer, 0, N, bytes.len())),
    }
}
