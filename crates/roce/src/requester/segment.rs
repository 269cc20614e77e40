//! Which packets a request is made of.

use rdmalab_verbs::{Operation, SendFlags, SendWork};
use rdmalab_wire::{AtomicEth, Body, PathMtu, Reth};

/// How many PSNs a request takes: its own packets, or for a READ those of the response. At least one.
pub(super) fn packets(work: &SendWork, mtu: PathMtu) -> u32 {
    if work.operation.is_atomic() { 1 } else { work.length.div_ceil(mtu.bytes() as u32).max(1) }
}

/// One packet of a request.
pub(super) struct Segment {
    pub(super) body: Body,
    /// Where its payload begins in the message.
    pub(super) offset: u32,
    /// Bytes of payload.
    pub(super) payload: usize,
    pub(super) solicited: bool,
    /// Whether it is the request's last packet.
    pub(super) last: bool,
}

/// The `packet`-th of a request's `packets`. For a READ, `packet` responses have been received already and the rest is
/// asked for.
pub(super) fn segment(work: &SendWork, mtu: PathMtu, packet: u32, packets: u32) -> Segment {
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
        (Operation::Send | Operation::SendWithImmediate(_), true, false) => Body::SendFirst,
        (Operation::Send | Operation::SendWithImmediate(_), false, false) => Body::SendMiddle,
        (Operation::Send, true, true) => Body::SendOnly,
        (Operation::Send, false, true) => Body::SendLast,
        (Operation::SendWithImmediate(data), true, true) => Body::SendOnlyImm(data),
        (Operation::SendWithImmediate(data), false, true) => Body::SendLastImm(data),

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
    };
    let read_or_atomic = work.operation.is_read_or_atomic();
    let may_solicit = matches!(
        work.operation,
        Operation::Send | Operation::SendWithImmediate(_) | Operation::RdmaWriteWithImmediate(..)
    );
    Segment {
        body,
        offset,
        payload: if read_or_atomic { 0 } else { rest.min(mtu) as usize },
        solicited: last && may_solicit && work.flags.contains(SendFlags::SOLICITED),
        last: last || read_or_atomic,
    }
}
