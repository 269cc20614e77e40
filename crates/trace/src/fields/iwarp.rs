//! The fields of iWARP: of one start-up frame or FPDU at a time.

use rdmalab_wire::iwarp::{
    AtomicOperation, AtomicRequest, CrcVerdict, Enhanced, Header, MpaFrame, MpaKind, Opcode, Place, RawBody,
    ReadRequest, Terminate,
};

use super::{Value, Visitor};
use crate::streams::{Fpdu, IwarpUnit, StartUp};

pub(super) fn walk<E>(unit: &IwarpUnit, each: Visitor<'_, E>) -> Result<(), E> {
    match unit {
        IwarpUnit::StartUp(frame) => start_up(frame, each)?,
        IwarpUnit::Fpdu(unit) => fpdu(unit, each)?,
        IwarpUnit::Gap { bytes, .. } => each("rdmalab.iwarp.not_captured", Value::Wide(*bytes))?,
    }
    match unit.error() {
        Some(error) => each("rdmalab.iwarp.malformed", Value::Text(&error.to_string())),
        None => Ok(()),
    }
}

fn start_up<E>(unit: &StartUp, each: Visitor<'_, E>) -> Result<(), E> {
    let Some((header, private_data)) = unit.bytes().split_at_checked(MpaFrame::HEADER_LENGTH) else {
        return Ok(());
    };
    let Some((key, &[flags, revision, high, low])) = header.split_last_chunk() else { return Ok(()) };
    let name = if key == MpaKind::Request.key() { "iwarp_mpa.key.req" } else { "iwarp_mpa.key.rep" };
    each(name, Value::Bytes(key))?;
    each("iwarp_mpa.marker_flag", Value::Flag(flags & 0x80 != 0))?;
    each("iwarp_mpa.crc_flag", Value::Flag(flags & 0x40 != 0))?;
    each("iwarp_mpa.rej_flag", Value::Flag(flags & 0x20 != 0))?;
    // Bits to Wireshark, the highest of which says since RFC 6581 that there is enhanced data.
    each("iwarp_mpa.res", Value::Hex(u64::from(flags & 0x1f), 2))?;
    each("iwarp_mpa.rev", Value::Number(revision.into()))?;
    each("iwarp_mpa.pdlength", Value::Number(u16::from_be_bytes([high, low]).into()))?;
    if !private_data.is_empty() {
        each("iwarp_mpa.privatedata", Value::Bytes(private_data))?;
    }
    match unit.frame() {
        Ok(MpaFrame { enhanced: Some(enhanced), .. }) => self::enhanced(&enhanced, each),
        _ => Ok(()),
    }
}

fn enhanced<E>(enhanced: &Enhanced, each: Visitor<'_, E>) -> Result<(), E> {
    each("rdmalab.iwarp_mpa.ird", Value::Number(enhanced.ird.into()))?;
    each("rdmalab.iwarp_mpa.ord", Value::Number(enhanced.ord.into()))?;
    each("rdmalab.iwarp_mpa.peer_to_peer", Value::Flag(enhanced.peer_to_peer))?;
    each("rdmalab.iwarp_mpa.rtr_empty", Value::Flag(enhanced.rtr_empty))?;
    each("rdmalab.iwarp_mpa.rtr_write", Value::Flag(enhanced.rtr_write))?;
    each("rdmalab.iwarp_mpa.rtr_read", Value::Flag(enhanced.rtr_read))
}

fn fpdu<E>(unit: &Fpdu, each: Visitor<'_, E>) -> Result<(), E> {
    each("iwarp_mpa.ulpdulength", Value::Number(unit.ulpdu.len() as u64))?;
    if !unit.pad.is_empty() {
        each("iwarp_mpa.pad", Value::Bytes(&unit.pad))?;
    }
    for marker in &unit.markers {
        each("iwarp_mpa.marker_res", Value::Hex(marker.reserved.into(), 4))?;
        each("iwarp_mpa.marker_fpduptr", Value::Number(marker.pointer.into()))?;
    }
    // Read as the wire has it, least significant byte first.
    let name = if unit.crc_agreed { "iwarp_mpa.crc_check" } else { "iwarp_mpa.crc" };
    if unit.not_captured > 0 {
        each("rdmalab.iwarp.not_captured", Value::Wide(unit.not_captured))?;
    } else {
        each(name, Value::Hex(unit.crc.found.swap_bytes().into(), 8))?;
    }
    let verdict = match unit.crc_verdict() {
        CrcVerdict::Right => "ok",
        CrcVerdict::Absent => "absent",
        CrcVerdict::Wrong => "bad",
        CrcVerdict::Unchecked => "unknown",
    };
    each("rdmalab.iwarp_mpa.crc", Value::Text(verdict))?;
    if let (CrcVerdict::Wrong, Some(computed)) = (unit.crc_verdict(), unit.crc.computed) {
        each("rdmalab.iwarp_mpa.crc.expected", Value::Hex(computed.swap_bytes().into(), 8))?;
    }
    each("rdmalab.iwarp_mpa.position", Value::Wide(unit.position))?;
    each("rdmalab.iwarp_mpa.length", Value::Number(unit.length as u64))?;
    let segment = unit.segment();
    if let Some(header) = &segment.header {
        self::header(header, &unit.ulpdu, each)?;
    }
    if let Some(body) = &segment.body {
        self::body(body, each)?;
    }
    each("rdmalab.payload_length", Value::Number(segment.payload.len() as u64))
}

fn header<E>(header: &Header, ulpdu: &[u8], each: Visitor<'_, E>) -> Result<(), E> {
    each("iwarp_ddp.tagged_flag", Value::Flag(header.is_tagged()))?;
    each("iwarp_ddp.last_flag", Value::Flag(header.last))?;
    each("iwarp_ddp.rsvd", Value::Hex(header.ddp_reserved.into(), 2))?;
    each("iwarp_ddp.dv", Value::Number(header.ddp_version.into()))?;
    match header.place {
        Place::Tagged { stag, offset } => {
            each("iwarp_ddp.stag", Value::Hex(stag.value().into(), 8))?;
            each("iwarp_ddp.tagged_offset", Value::Hex(offset, 16))?;
        }
        Place::Untagged { queue, msn, offset, .. } => {
            // To DDP the byte of RDMAP is its upper layer's as well.
            each("iwarp_ddp.rsvdulp", Value::Bytes(ulpdu.get(1..6).unwrap_or_default()))?;
            each("iwarp_ddp.qn", Value::Number(queue.into()))?;
            each("iwarp_ddp.msn", Value::Number(msn.into()))?;
            each("iwarp_ddp.mo", Value::Number(offset.into()))?;
        }
    }
    each("iwarp_rdma.version", Value::Number(header.rdmap_version.into()))?;
    each("iwarp_rdma.rsv", Value::Hex(header.rdmap_reserved.into(), 2))?;
    each("iwarp_rdma.opcode", Value::Hex(header.opcode.value().into(), 2))?;
    let name = header.opcode.row().map_or("unknown", |row| row.name);
    each("rdmalab.opcode_name", Value::Text(name))?;
    match header.place {
        Place::Untagged { upper, .. } if header.opcode.row().is_some_and(|row| row.invalidates) => {
            each("iwarp_rdma.inval_stag", Value::Number(upper.into()))
        }
        // Wireshark does so for the opcodes of RFC 5040 only.
        Place::Untagged { .. } if header.opcode.value() <= Opcode::TERMINATE.value() => {
            each("iwarp_rdma.reserved", Value::Bytes(ulpdu.get(2..6).unwrap_or_default()))
        }
        Place::Untagged { .. } | Place::Tagged { .. } => Ok(()),
    }
}

fn body<E>(body: &RawBody<'_>, each: Visitor<'_, E>) -> Result<(), E> {
    match body {
        RawBody::ReadRequest(request) => read_request(request, each),
        RawBody::Terminate(terminate) => self::terminate(terminate, each),
        RawBody::Immediate(data) => each("rdmalab.iwarp_rdma.immediate", Value::Bytes(data)),
        RawBody::AtomicRequest(request) => atomic(request, each),
        RawBody::AtomicResponse(response) => {
            let id = Value::Number(response.request_id.into());
            each("iwarp_rdma.atomic.original_request_identifier", id)?;
            each("iwarp_rdma.atomic.original_remote_data_value", Value::Wide(response.original))
        }
    }
}

fn read_request<E>(request: &ReadRequest, each: Visitor<'_, E>) -> Result<(), E> {
    each("iwarp_rdma.sinkstag", Value::Hex(request.sink_stag.value().into(), 8))?;
    each("iwarp_rdma.sinkto", Value::Hex(request.sink_offset, 16))?;
    each("iwarp_rdma.rdmardsz", Value::Number(request.length.into()))?;
    each("iwarp_rdma.srcstag", Value::Hex(request.source_stag.value().into(), 8))?;
    each("iwarp_rdma.srcto", Value::Hex(request.source_offset, 16))
}

/// Wireshark writes all of them in decimal but the masks.
fn atomic<E>(request: &AtomicRequest, each: Visitor<'_, E>) -> Result<(), E> {
    each("iwarp_rdma.atomic.reserved", Value::Number(request.reserved.into()))?;
    each("iwarp_rdma.atomic.opcode", Value::Number(request.operation.code().into()))?;
    each("iwarp_rdma.atomic.request_identifier", Value::Number(request.request_id.into()))?;
    each("iwarp_rdma.atomic.remote_stag", Value::Number(request.stag.value().into()))?;
    each("iwarp_rdma.atomic.remote_tagged_offset", Value::Wide(request.offset))?;
    let names = match request.operation {
        AtomicOperation::FetchAdd => ["iwarp_rdma.atomic.add_data", "iwarp_rdma.atomic.add_mask"],
        _ => ["iwarp_rdma.atomic.swap_data", "iwarp_rdma.atomic.swap_mask"],
    };
    each(names[0], Value::Wide(request.add_or_swap))?;
    each(names[1], Value::Hex(request.add_or_swap_mask, 16))?;
    each("iwarp_rdma.atomic.compare_data", Value::Wide(request.compare))?;
    each("iwarp_rdma.atomic.compare_mask", Value::Hex(request.compare_mask, 16))
}

/// Wireshark has a name of the error's type and code for each layer that they belong to.
fn terminate<E>(terminate: &Terminate<'_>, each: Visitor<'_, E>) -> Result<(), E> {
    let error = terminate.error;
    let (kind, code) = match (error.layer, error.error_type) {
        (0, _) => ("iwarp_rdma.term_etype_rdma", "iwarp_rdma.term_errcode_rdma"),
        (1, 1) => ("iwarp_rdma.term_etype_ddp", "iwarp_rdma.term_errcode_ddp_tagged"),
        (1, 2) => ("iwarp_rdma.term_etype_ddp", "iwarp_rdma.term_errcode_ddp_untagged"),
        (1, _) => ("iwarp_rdma.term_etype_ddp", "iwarp_rdma.term_errcode"),
        (2, _) => ("iwarp_rdma.term_etype_llp", "iwarp_rdma.term_errcode_llp"),
        _ => ("iwarp_rdma.term_etype", "iwarp_rdma.term_errcode"),
    };
    each("iwarp_rdma.term_layer", Value::Hex(error.layer.into(), 2))?;
    each(kind, Value::Hex(error.error_type.into(), 2))?;
    each(code, Value::Hex(error.code.into(), 2))?;
    each("rdmalab.iwarp_rdma.term_error", Value::Text(&error.to_string()))?;
    each("iwarp_rdma.term_hdrct_m", Value::Flag(terminate.length_valid))?;
    each("iwarp_rdma.hdrct_d", Value::Flag(terminate.segment.is_some()))?;
    each("iwarp_rdma.hdrct_r", Value::Flag(terminate.rdmap_header.is_some()))?;
    each("iwarp_rdma.term_rsvd", Value::Hex(terminate.reserved.into(), 4))?;
    if let Some(segment) = &terminate.segment {
        each("iwarp_rdma.term_ddp_seg_len", Value::Bytes(&segment.length.to_be_bytes()))?;
        let header = segment.header.encode();
        let header = header.get(..segment.header.length()).unwrap_or_default();
        each("iwarp_rdma.term_ddp_h", Value::Bytes(header))?;
    }
    match terminate.rdmap_header {
        Some(header) => each("iwarp_rdma.term_rdma_h", Value::Bytes(header)),
        None => Ok(()),
    }
}
