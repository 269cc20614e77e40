//! One line per segment, the same for [`Segment`] and [`RawSegment`]: tests, logs and dumps read alike.
//!
//! ```text
//! RDMAP NAME [queue=] [msn= mo= | stag= to=] [inv=] [fields of the body] [len=] [last]
//! ```
//!
//! Sequence numbers, lengths and offsets in messages are decimal; tags, offsets in buffers, operands and data
//! hexadecimal. The queue stands only where it is not the opcode's. Messages whose body is all there is have
//! neither `mo=`, `len=` nor `last` in their line, unless they are not as they should be.

use core::fmt;

use super::atomic::{AtomicOperation, AtomicRequest};
use super::ddp::{Header, Place};
use super::opcode::Model;
use super::raw_segment::{RawBody, RawSegment};
use super::segment::{Body, Segment};
use super::terminate::Terminate;

fn line(
    f: &mut fmt::Formatter<'_>,
    header: &Header,
    body: Option<&RawBody<'_>>,
    payload_length: usize,
) -> fmt::Result {
    match header.opcode.row() {
        Some(row) => write!(f, "RDMAP {}", row.name)?,
        None => write!(f, "RDMAP OPCODE_{}", header.opcode)?,
    }
    match header.place {
        Place::Tagged { stag, offset } => write!(f, " stag={stag} to={offset:#x}")?,
        Place::Untagged { upper, queue, msn, offset } => {
            let row = header.opcode.row();
            if row.is_none_or(|row| row.model != Model::Untagged { queue }) {
                write!(f, " queue={queue}")?;
            }
            write!(f, " msn={msn}")?;
            if body.is_none() || offset != 0 {
                write!(f, " mo={offset}")?;
            }
            if row.is_some_and(|row| row.invalidates) || upper != 0 {
                write!(f, " inv={upper:#x}")?;
            }
        }
    }
    if let Some(body) = body {
        write_body(f, body)?;
    }
    if body.is_none() || payload_length > 0 {
        write!(f, " len={payload_length}")?;
    }
    match (body.is_some(), header.last) {
        (false, true) => f.write_str(" last"),
        (true, false) => f.write_str(" not_last"),
        _ => Ok(()),
    }
}

fn write_body(f: &mut fmt::Formatter<'_>, body: &RawBody<'_>) -> fmt::Result {
    match body {
        RawBody::ReadRequest(request) => write!(
            f,
            " sink_stag={} sink_to={:#x} size={} src_stag={} src_to={:#x}",
            request.sink_stag,
            request.sink_offset,
            request.length,
            request.source_stag,
            request.source_offset
        ),
        RawBody::Terminate(terminate) => write_terminate(f, terminate),
        RawBody::Immediate(data) => write!(f, " data={:#018x}", u64::from_be_bytes(*data)),
        RawBody::AtomicRequest(request) => write_atomic(f, request),
        RawBody::AtomicResponse(response) => {
            write!(f, " id={:#x} original={:#x}", response.request_id, response.original)
        }
    }
}

fn write_atomic(f: &mut fmt::Formatter<'_>, request: &AtomicRequest) -> fmt::Result {
    let AtomicRequest { operation, request_id, stag, offset, .. } = request;
    write!(f, " {operation} id={request_id:#x} stag={stag} to={offset:#x}")?;
    let name = if *operation == AtomicOperation::FetchAdd { "add" } else { "swap" };
    write!(f, " {name}={:#x} {name}_mask={:#x}", request.add_or_swap, request.add_or_swap_mask)?;
    if *operation != AtomicOperation::FetchAdd {
        write!(f, " compare={:#x} compare_mask={:#x}", request.compare, request.compare_mask)?;
    }
    Ok(())
}

fn write_terminate(f: &mut fmt::Formatter<'_>, terminate: &Terminate<'_>) -> fmt::Result {
    write!(f, " error={}", terminate.error)?;
    if let Some(segment) = &terminate.segment {
        write!(f, " of {} length={}", segment.header.opcode, segment.length)?;
    }
    Ok(())
}

/// As in `RDMAP WRITE stag=0x1234 to=0x0 len=1024 last`.
impl fmt::Display for Segment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = match self.body {
            Body::Write(_) | Body::ReadResponse(_) | Body::Send { .. } => None,
            Body::ReadRequest { request, .. } => Some(RawBody::ReadRequest(request)),
            Body::Terminate { terminate, .. } => Some(RawBody::Terminate(terminate)),
            Body::Immediate { data, .. } => Some(RawBody::Immediate(data)),
            Body::AtomicRequest { request, .. } => Some(RawBody::AtomicRequest(request)),
            Body::AtomicResponse { response, .. } => Some(RawBody::AtomicResponse(response)),
        };
        line(f, &self.header(), body.as_ref(), self.payload.len())
    }
}

/// The line of a segment, as [`Segment`] writes it for a legal one, and what is wrong in brackets behind it.
impl fmt::Display for RawSegment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.header {
            Some(header) => line(f, header, self.body.as_ref(), self.payload.len())?,
            None if self.payload.is_empty() => f.write_str("RDMAP empty")?,
            None => write!(f, "RDMAP cut off len={}", self.payload.len())?,
        }
        match &self.error {
            Some(error) => write!(f, " [{error}]"),
            None => Ok(()),
        }
    }
}
