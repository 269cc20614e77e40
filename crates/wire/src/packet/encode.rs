//! Writing a packet's headers.

use super::{Body, Transport, pad_count};
use crate::bth::Bth;
use crate::error::EncodeError;
use crate::writer::Writer;

/// Writes the headers alone to the start of `out`, for a sender that puts the payload behind them itself,
/// and says how many bytes they are. The pad count is computed from `payload_length`, in bytes; whatever
/// stands in `bth` is ignored.
///
/// # Errors
///
/// A transport that does not have this operation, or has other headers for it; a payload the operation cannot
/// have; a buffer that is too small for the headers.
#[inline]
pub fn encode_headers(
    bth: &Bth,
    transport: &Transport,
    body: &Body,
    payload_length: usize,
    out: &mut [u8],
) -> Result<usize, EncodeError> {
    let opcode = transport.opcode(body);
    let row = opcode.row().ok_or(EncodeError::NoSuchOpcode(opcode))?;
    if !transport.fits(row) {
        return Err(EncodeError::TransportHeaders(opcode));
    }
    if !row.payload.allows_on_some_path(payload_length) {
        return Err(EncodeError::PayloadLength { opcode, length: payload_length });
    }
    let mut writer = Writer::new(out);
    writer.put(&Bth { pad_count: pad_count(payload_length) as u8, ..*bth }.encode(opcode));
    match transport {
        Transport::Rc | Transport::Uc | Transport::Cnp | Transport::Xrc(None) => {}
        Transport::Rd(rdeth, deth) => {
            writer.put(&rdeth.encode());
            if let Some(deth) = deth {
                writer.put(&deth.encode());
            }
        }
        Transport::Ud(deth) => writer.put(&deth.encode()),
        Transport::Xrc(Some(xrceth)) => writer.put(&xrceth.encode()),
    }
    match body {
        Body::SendFirst
        | Body::SendMiddle
        | Body::SendLast
        | Body::SendOnly
        | Body::WriteMiddle
        | Body::WriteLast
        | Body::ReadResponseMiddle
        | Body::Resync
        | Body::CongestionNotification => {}
        Body::SendLastImm(imm_dt) | Body::SendOnlyImm(imm_dt) | Body::WriteLastImm(imm_dt) => {
            writer.put(&imm_dt.encode());
        }
        Body::SendLastInv(ieth) | Body::SendOnlyInv(ieth) => writer.put(&ieth.encode()),
        Body::WriteFirst(reth)
        | Body::WriteOnly(reth)
        | Body::ReadRequest(reth)
        | Body::AtomicWrite(reth) => {
            writer.put(&reth.encode());
        }
        Body::Flush(feth, reth) => {
            writer.put(&feth.encode());
            writer.put(&reth.encode());
        }
        Body::WriteOnlyImm(reth, imm_dt) => {
            writer.put(&reth.encode());
            writer.put(&imm_dt.encode());
        }
        Body::ReadResponseFirst(aeth)
        | Body::ReadResponseLast(aeth)
        | Body::ReadResponseOnly(aeth)
        | Body::Acknowledge(aeth) => writer.put(&aeth.encode()),
        Body::AtomicAcknowledge(aeth, atomic_ack_eth) => {
            writer.put(&aeth.encode());
            writer.put(&atomic_ack_eth.encode());
        }
        Body::CompareSwap(atomic_eth) | Body::FetchAdd(atomic_eth) => writer.put(&atomic_eth.encode()),
    }
    writer.finish()
}
