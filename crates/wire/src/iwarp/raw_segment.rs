//! Whatever can be found in bytes that claim to be a DDP segment.
//!
//! Where [`Segment`] is what is legal, a [`RawSegment`] is what is there: any version, opcode and
//! queue, bodies as far as they are complete. Taking bytes apart never fails; what is wrong stands in
//! [`RawSegment::error`]. It shows segments and takes part in no protocol.

use super::atomic::{AtomicRequest, AtomicResponse};
use super::ddp::Header;
use super::opcode::Opcode;
use super::read_request::ReadRequest;
use super::segment::Segment;
use super::terminate::Terminate;
use crate::error::{EncodeError, ParseError};
use crate::writer::Writer;

/// Bytes taken apart as far as they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawSegment<'a> {
    /// The DDP header, if it is complete.
    pub header: Option<Header>,
    /// The body that the opcode has behind the header, if it is complete.
    pub body: Option<RawBody<'a>>,
    /// What is behind header and body; where the header is incomplete, all bytes.
    pub payload: &'a [u8],
    /// The first thing that is wrong.
    pub error: Option<ParseError>,
}

/// A body by its opcode, wherever it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the body of its name")]
pub enum RawBody<'a> {
    ReadRequest(ReadRequest),
    Terminate(Terminate<'a>),
    Immediate([u8; 8]),
    AtomicRequest(AtomicRequest),
    AtomicResponse(AtomicResponse),
}

impl<'a> RawSegment<'a> {
    /// Takes apart the bytes of a ULPDU.
    pub fn parse(ulpdu: &'a [u8]) -> RawSegment<'a> {
        let error = Segment::parse(ulpdu).err();
        let Ok(header) = Header::parse(ulpdu) else {
            return RawSegment { header: None, body: None, payload: ulpdu, error };
        };
        let rest = ulpdu.get(header.length()..).unwrap_or_default();
        let (body, payload) = match RawBody::split(header.opcode, rest) {
            Some((body, payload)) => (Some(body), payload),
            None => (None, rest),
        };
        RawSegment { header: Some(header), body, payload, error }
    }

    /// Writes the segment to the start of `out` as it stands, sense or nonsense, and says how many bytes it
    /// is: header and body if they are there, payload. Whatever bytes were parsed, the same come out.
    ///
    /// # Errors
    ///
    /// A buffer that is too small.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, EncodeError> {
        let mut writer = Writer::new(out);
        if let Some(header) = &self.header {
            writer.put(header.encode().get(..header.length()).unwrap_or_default());
        }
        match &self.body {
            None => {}
            Some(RawBody::ReadRequest(request)) => writer.put(&request.encode()),
            Some(RawBody::Terminate(terminate)) => terminate.put(&mut writer),
            Some(RawBody::Immediate(data)) => writer.put(data),
            Some(RawBody::AtomicRequest(request)) => writer.put(&request.encode()),
            Some(RawBody::AtomicResponse(response)) => writer.put(&response.encode()),
        }
        writer.put(self.payload);
        writer.finish()
    }
}

impl<'a> RawBody<'a> {
    fn split(opcode: Opcode, bytes: &'a [u8]) -> Option<(RawBody<'a>, &'a [u8])> {
        Some(match opcode {
            Opcode::READ_REQUEST => {
                let (body, rest) = bytes.split_first_chunk()?;
                (RawBody::ReadRequest(ReadRequest::decode(body)), rest)
            }
            Opcode::TERMINATE => (RawBody::Terminate(Terminate::parse(bytes).ok()?), &[]),
            Opcode::IMMEDIATE | Opcode::IMMEDIATE_SE => {
                let (body, rest) = bytes.split_first_chunk()?;
                (RawBody::Immediate(*body), rest)
            }
            Opcode::ATOMIC_REQUEST => {
                let (body, rest) = bytes.split_first_chunk()?;
                (RawBody::AtomicRequest(AtomicRequest::decode(body)), rest)
            }
            Opcode::ATOMIC_RESPONSE => {
                let (body, rest) = bytes.split_first_chunk()?;
                (RawBody::AtomicResponse(AtomicResponse::decode(body)), rest)
            }
            _ => return None,
        })
    }
}
