//! One line per packet, the same for [`Packet`] and [`RawPacket`](crate::RawPacket): tests, logs and dumps
//! read alike.
//!
//! ```text
//! [transport] NAME psn= [fields of the extended headers] len= [imm=] [inv=]
//!     [solicited] [ackreq] [fecn] [becn] [migrated]
//! ```
//!
//! Sequence numbers, lengths and codes are decimal; keys, addresses and operands hexadecimal. The length
//! stands only where the operation has a payload, a flag only where it is set.

use core::fmt;

use crate::bth::Bth;
use crate::opcode::{Opcode, PayloadRule, TransportKind};
use crate::packet::{Body, Packet};
use crate::raw_packet::Headers;

/// Writes the line of a packet with this opcode and these headers.
pub(crate) fn line(
    f: &mut fmt::Formatter<'_>,
    opcode: Opcode,
    bth: &Bth,
    headers: &Headers,
    payload_length: usize,
) -> fmt::Result {
    let row = opcode.row();
    match row {
        Some(row) => match row.transport {
            TransportKind::Rc | TransportKind::Cnp => f.write_str(row.name)?,
            transport => write!(f, "{transport} {}", row.name)?,
        },
        None => write!(f, "OPCODE_{:#04x}", opcode.0)?,
    }
    write!(f, " psn={}", bth.psn)?;
    extended(f, opcode, headers)?;
    let has_payload = row.is_none_or(|row| row.payload != PayloadRule::None);
    if has_payload || payload_length > 0 {
        write!(f, " len={payload_length}")?;
    }
    if let Some(imm_dt) = headers.imm_dt {
        write!(f, " imm={:#010x}", u32::from_be_bytes(imm_dt.0))?;
    }
    if let Some(ieth) = headers.ieth {
        write!(f, " inv={}", ieth.key)?;
    }
    flags(f, bth)
}

/// The fields of the headers that are told in front of the payload's length.
fn extended(f: &mut fmt::Formatter<'_>, opcode: Opcode, headers: &Headers) -> fmt::Result {
    if let Some(rdeth) = headers.rdeth {
        write!(f, " eec={:#x}", rdeth.ee_context)?;
    }
    if let Some(xrceth) = headers.xrceth {
        write!(f, " srq={:#x}", xrceth.shared_receive_queue)?;
    }
    if let Some(deth) = headers.deth {
        write!(f, " qkey={} src={}", deth.queue_key, deth.source)?;
    }
    if let Some(feth) = headers.feth {
        write!(f, " selectivity={} placement={}", feth.selectivity, feth.placement)?;
    }
    if let Some(reth) = headers.reth {
        write!(f, " va={:#x} rkey={} dmalen={}", reth.virtual_address, reth.key, reth.length)?;
    }
    if let Some(atomic) = headers.atomic_eth {
        write!(f, " va={:#x} rkey={}", atomic.virtual_address, atomic.key)?;
        if opcode.operation() == (Body::FetchAdd(atomic)).operation() {
            write!(f, " add={:#x}", atomic.swap_or_add)?;
        } else {
            write!(f, " swap={:#x} compare={:#x}", atomic.swap_or_add, atomic.compare)?;
        }
    }
    if let Some(aeth) = headers.aeth {
        write!(f, " {} msn={}", aeth.syndrome, aeth.msn)?;
    }
    if let Some(atomic_ack) = headers.atomic_ack_eth {
        write!(f, " original={:#x}", atomic_ack.original)?;
    }
    Ok(())
}

fn flags(f: &mut fmt::Formatter<'_>, bth: &Bth) -> fmt::Result {
    let flags = [
        (bth.solicited, " solicited"),
        (bth.ack_request, " ackreq"),
        (bth.fecn, " fecn"),
        (bth.becn, " becn"),
        (bth.migrated, " migrated"),
    ];
    flags.into_iter().filter(|(set, _)| *set).try_for_each(|(_, name)| f.write_str(name))
}

/// As in `SEND_ONLY_IMM psn=7 len=4 imm=0x00000001 ackreq`; the transport stands in front unless it is RC.
/// The destination queue pair is left to whoever prints the addresses.
impl fmt::Display for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers = Headers::of(&self.transport, &self.body);
        line(f, self.opcode(), &self.bth, &headers, self.payload.len())
    }
}
