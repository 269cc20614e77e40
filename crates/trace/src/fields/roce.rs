//! The fields of an InfiniBand packet, from behind IP or the link on.

use rdmalab_wire::{Aeth, Bth};

use super::{Value, Visitor};
use crate::dissect::{Icrc, Roce};

pub(super) fn walk<E>(roce: &Roce<'_>, each: Visitor<'_, E>) -> Result<(), E> {
    super::carrier::headers(&roce.carrier, each)?;
    let packet = &roce.packet;
    if let Some(opcode) = packet.opcode {
        each("infiniband.bth.opcode", Value::Number(opcode.0.into()))?;
        match opcode.row() {
            Some(row) => {
                let name = format!("{} {}", row.transport, row.name);
                each("rdmalab.opcode_name", Value::Text(&name))?;
            }
            None => each("rdmalab.opcode_name", Value::Text("unknown"))?,
        }
    }
    if let Some(header) = &packet.bth {
        bth(header, each)?;
    }
    let headers = &packet.headers;
    if let Some(rdeth) = &headers.rdeth {
        each("rdmalab.rdeth.reserved", Value::Number(rdeth.reserved.into()))?;
        each("infiniband.rdeth.eecnxt", Value::Number(rdeth.ee_context.into()))?;
    }
    if let Some(xrceth) = &headers.xrceth {
        each("rdmalab.xrceth.reserved", Value::Number(xrceth.reserved.into()))?;
        each("rdmalab.xrceth.srq", Value::Hex(xrceth.shared_receive_queue.into(), 6))?;
    }
    if let Some(deth) = &headers.deth {
        each("infiniband.deth.q_key", Value::Hex(deth.queue_key.value().into(), 16))?;
        each("rdmalab.deth.reserved", Value::Number(deth.reserved.into()))?;
        each("infiniband.deth.srcqp", Value::Hex(deth.source.value().into(), 8))?;
    }
    if let Some(feth) = &headers.feth {
        each("rdmalab.feth.reserved", Value::Number(feth.reserved.into()))?;
        each("rdmalab.feth.selectivity", Value::Number(feth.selectivity.into()))?;
        each("rdmalab.feth.placement", Value::Number(feth.placement.into()))?;
    }
    if let Some(reth) = &headers.reth {
        each("infiniband.reth.va", Value::Hex(reth.virtual_address, 16))?;
        each("infiniband.reth.r_key", Value::Hex(reth.key.value().into(), 8))?;
        each("infiniband.reth.dmalen", Value::Number(reth.length.into()))?;
    }
    if let Some(atomic) = &headers.atomic_eth {
        each("infiniband.reth.va", Value::Hex(atomic.virtual_address, 16))?;
        each("infiniband.reth.r_key", Value::Hex(atomic.key.value().into(), 8))?;
        each("infiniband.atomiceth.swapdt", Value::Wide(atomic.swap_or_add))?;
        each("infiniband.atomiceth.cmpdt", Value::Wide(atomic.compare))?;
    }
    if let Some(header) = &headers.aeth {
        aeth(header, each)?;
    }
    if let Some(atomic_ack) = &headers.atomic_ack_eth {
        each("infiniband.atomicacketh.origremdt", Value::Wide(atomic_ack.original))?;
    }
    if let Some(imm_dt) = &headers.imm_dt {
        each("infiniband.immdt", Value::Bytes(&imm_dt.0))?;
    }
    if let Some(ieth) = &headers.ieth {
        each("infiniband.ieth", Value::Bytes(&ieth.key.value().to_be_bytes()))?;
    }
    if let Some(mad) = roce.mad() {
        super::mad::walk(&mad, packet.payload, each)?;
    }
    each("rdmalab.payload_length", Value::Number(roce.payload_length as u64))?;
    if let Some(icrc) = packet.icrc {
        each("infiniband.invariant.crc", Value::Hex(u32::from_be_bytes(icrc).into(), 8))?;
    }
    match roce.icrc {
        Icrc::Right => each("rdmalab.icrc", Value::Text("ok"))?,
        Icrc::Wrong { expected, found } => {
            each("rdmalab.icrc", Value::Text("bad"))?;
            each("rdmalab.icrc.expected", Value::Hex(expected.into(), 8))?;
            each("rdmalab.icrc.found", Value::Hex(found.into(), 8))?;
        }
        Icrc::Merged { .. } | Icrc::Cut | Icrc::Broken => each("rdmalab.icrc", Value::Text("unknown"))?,
    }
    roce.vcrc.map_or(Ok(()), |vcrc| super::carrier::vcrc(vcrc, each))
}

fn bth<E>(bth: &Bth, each: Visitor<'_, E>) -> Result<(), E> {
    each("infiniband.bth.se", Value::Flag(bth.solicited))?;
    each("infiniband.bth.m", Value::Flag(bth.migrated))?;
    each("infiniband.bth.padcnt", Value::Number(bth.pad_count.into()))?;
    each("infiniband.bth.tver", Value::Number(bth.header_version.into()))?;
    each("infiniband.bth.p_key", Value::Number(bth.partition_key.value().into()))?;
    each("rdmalab.bth.fecn", Value::Flag(bth.fecn))?;
    each("rdmalab.bth.becn", Value::Flag(bth.becn))?;
    each("rdmalab.bth.reserved6", Value::Number(bth.reserved_6.into()))?;
    each("infiniband.bth.destqp", Value::Hex(bth.destination.value().into(), 6))?;
    each("infiniband.bth.a", Value::Flag(bth.ack_request))?;
    each("infiniband.bth.reserved7", Value::Number(bth.reserved_7.into()))?;
    each("infiniband.bth.psn", Value::Number(bth.psn.value().into()))
}

/// Wireshark shows the syndrome's bits: one reserved, two of kind, five of value.
fn aeth<E>(aeth: &Aeth, each: Visitor<'_, E>) -> Result<(), E> {
    let byte = aeth.syndrome.to_byte();
    let (kind, value) = (byte >> 5 & 3, Value::Number(u64::from(byte & 0x1f)));
    each("infiniband.aeth.syndrome", Value::Number(byte.into()))?;
    each("infiniband.aeth.syndrome.reserved", Value::Number(u64::from(byte >> 7)))?;
    each("infiniband.aeth.syndrome.opcode", Value::Number(kind.into()))?;
    match kind {
        0 => each("infiniband.aeth.syndrome.credit_count", value)?,
        1 => each("infiniband.aeth.syndrome.timer", value)?,
        2 => each("infiniband.aeth.syndrome.reserved_value", value)?,
        _ => each("infiniband.aeth.syndrome.error_code", value)?,
    }
    each("infiniband.aeth.msn", Value::Number(aeth.msn.value().into()))
}
