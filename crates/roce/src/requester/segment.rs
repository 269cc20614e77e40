//! Which packets a request is made of.

use rdmalab_verbs::{
    Context, LocalFault, Operation, Placement, QueuePairType, Selectivity, SendFlags, SendWork, Sge, Target,
};
use rdmalab_wire::{AtomicEth, Body, Feth, Ieth, PathMtu, Reth, Transport, Xrceth};

use crate::settings::Settings;

/// How many PSNs a request takes: its own packets, or for a READ those of the response. At least one.
pub(crate) fn packets(work: &SendWork, mtu: PathMtu) -> u32 {
    if work.operation.is_atomic() { 1 } else { work.length.div_ceil(mtu.bytes() as u32).max(1) }
}

/// The transport of a reliable request: XRC where it names a shared receive queue of the peer.
pub(super) fn transport(work: &SendWork, settings: &Settings) -> Transport {
    if settings.kind == QueuePairType::Rc {
        return Transport::Rc;
    }
    match work.target {
        Target::Xrc(queue) => {
            Transport::Xrc(Some(Xrceth { reserved: 0, shared_receive_queue: queue.number() }))
        }
        _ => Transport::Rc,
    }
}

/// Puts a piece of a request's payload where it belongs.
pub(crate) fn fill(
    work: &SendWork,
    elements: &[Sge],
    inline: Option<&[u8]>,
    offset: u32,
    data: &mut [u8],
    context: &Context,
    settings: &Settings,
) -> Result<(), LocalFault> {
    let offset_in_bytes = offset as usize;
    match (&work.operation, inline) {
        (Operation::AtomicWrite { value, .. }, _) => {
            data.copy_from_slice(value.get(..data.len()).ok_or(LocalFault::Bounds)?);
            Ok(())
        }
        (_, Some(inline)) => {
            let end = offset_in_bytes + data.len();
            data.copy_from_slice(inline.get(offset_in_bytes..end).ok_or(LocalFault::Bounds)?);
            Ok(())
        }
        _ => context.gather(settings.protection_domain, elements, offset, data),
    }
}

/// One packet of a request.
pub(crate) struct Segment {
    pub(crate) body: Body,
    /// Where its payload begins in the message.
    pub(crate) offset: u32,
    /// Bytes of payload.
    pub(crate) payload: usize,
    pub(crate) solicited: bool,
    /// Whether it is the request's last packet.
    pub(crate) last: bool,
}

/// The `packet`-th of a request's `packets`. For a READ, `packet` responses have been received already and the rest is
/// asked for.
pub(crate) fn segment(work: &SendWork, mtu: PathMtu, packet: u32, packets: u32) -> Segment {
    let mtu = mtu.bytes() as u32;
    let offset = packet.saturating_mul(mtu).min(work.length);
    let rest = work.length - offset;
    let last = packet + 1 == packets;
    let reth = |remote: rdmalab_verbs::RemoteAddress| Reth {
        virtual_address: remote.address,
        key: remote.key,
        length: work.length,
    };
    let atomic = |remote: rdmalab_verbs::RemoteAddress, swap_or_add, compare| AtomicEth {
        virtual_address: remote.address,
        key: remote.key,
        swap_or_add,
        compare,
    };
    let body = match (work.operation, packet == 0, last) {
        (
            Operation::Send | Operation::SendWithImmediate(_) | Operation::SendWithInvalidate(_),
            true,
            false,
        ) => Body::SendFirst,
        (
            Operation::Send | Operation::SendWithImmediate(_) | Operation::SendWithInvalidate(_),
            false,
            false,
        ) => Body::SendMiddle,
        (Operation::Send, true, true) => Body::SendOnly,
        (Operation::Send, false, true) => Body::SendLast,
        (Operation::SendWithImmediate(data), true, true) => Body::SendOnlyImm(data),
        (Operation::SendWithImmediate(data), false, true) => Body::SendLastImm(data),
        (Operation::SendWithInvalidate(key), true, true) => Body::SendOnlyInv(Ieth { key }),
        (Operation::SendWithInvalidate(key), false, true) => Body::SendLastInv(Ieth { key }),

        (Operation::RdmaWrite(remote) | Operation::RdmaWriteWithImmediate(remote, _), true, false) => {
            Body::WriteFirst(reth(remote))
        }
        (Operation::RdmaWrite(_) | Operation::RdmaWriteWithImmediate(..), false, false) => Body::WriteMiddle,
        (Operation::RdmaWrite(remote), true, true) => Body::WriteOnly(reth(remote)),
        (Operation::RdmaWrite(_), false, true) => Body::WriteLast,
        (Operation::RdmaWriteWithImmediate(remote, data), true, true) => {
            Body::WriteOnlyImm(reth(remote), data)
        }
        (Operation::RdmaWriteWithImmediate(_, data), false, true) => Body::WriteLastImm(data),

        (Operation::RdmaRead(remote), ..) => Body::ReadRequest(Reth {
            virtual_address: remote.address.wrapping_add(u64::from(offset)),
            key: remote.key,
            length: rest,
        }),
        (Operation::CompareAndSwap { remote, compare, swap }, ..) => {
            Body::CompareSwap(atomic(remote, swap, compare))
        }
        (Operation::FetchAndAdd { remote, add }, ..) => Body::FetchAdd(atomic(remote, add, 0)),
        (Operation::Flush { remote, length, placement, selectivity }, ..) => {
            let reth = Reth { virtual_address: remote.address, key: remote.key, length };
            Body::Flush(feth(placement, selectivity), reth)
        }
        (Operation::AtomicWrite { remote, .. }, ..) => Body::AtomicWrite(Reth {
            virtual_address: remote.address,
            key: remote.key,
            length: size_of::<u64>() as u32,
        }),
        // Never sent: carried out in place.
        (Operation::LocalInvalidate(_) | Operation::BindWindow(_) | Operation::FastRegister(_), ..) => {
            Body::SendOnly
        }
        // Refused when they are posted.
        (
            Operation::RdmaReadWithInvalidate(..)
            | Operation::MaskedCompareAndSwap { .. }
            | Operation::MaskedFetchAndAdd { .. },
            ..,
        ) => Body::SendOnly,
    };
    let read_or_atomic = work.operation.is_read_or_atomic();
    let payload = match work.operation {
        Operation::AtomicWrite { .. } => size_of::<u64>(),
        _ if read_or_atomic => 0,
        _ => rest.min(mtu) as usize,
    };
    Segment {
        body,
        offset,
        payload,
        solicited: last && work.operation.consumes_receive() && work.flags.contains(SendFlags::SOLICITED),
        last: last || read_or_atomic,
    }
}

fn feth(placement: Placement, selectivity: Selectivity) -> Feth {
    let mut bits = 0;
    if placement.contains(Placement::GLOBAL) {
        bits |= Feth::GLOBAL_VISIBILITY;
    }
    if placement.contains(Placement::PERSISTENT) {
        bits |= Feth::PERSISTENCE;
    }
    let selectivity = match selectivity {
        Selectivity::Range => Feth::RANGE,
        Selectivity::Region => Feth::REGION,
    };
    Feth { reserved: 0, selectivity, placement: bits }
}
