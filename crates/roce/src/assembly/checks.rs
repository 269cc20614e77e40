//! The checks that a request which may come must pass, each a short function, in the specification's order.

use rdmalab_verbs::{Access, Accessor, CompletionStatus, Context, Invalidation};
use rdmalab_wire::{AtomicEth, Body, Feth, NakCode, Packet, Position, Reth};

use super::{Assembly, Fault, Message};
use crate::receives::Landing;
use crate::settings::Settings;

/// Longest message, the specification's limit.
pub(crate) const MAX_MESSAGE: u32 = 1 << 31;

/// What kind of request a packet belongs to, and where in the message it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Send(Position),
    Write(Position),
    Read(Reth),
    Atomic(AtomicEth),
    Flush(Feth, Reth),
    AtomicWrite(Reth),
}

/// Sorts request bodies; `None` for what is no request.
pub(crate) fn request(body: &Body) -> Option<Request> {
    Some(match body {
        Body::SendFirst => Request::Send(Position::First),
        Body::SendMiddle => Request::Send(Position::Middle),
        Body::SendLast | Body::SendLastImm(_) | Body::SendLastInv(_) => Request::Send(Position::Last),
        Body::SendOnly | Body::SendOnlyImm(_) | Body::SendOnlyInv(_) => Request::Send(Position::Only),
        Body::WriteFirst(_) => Request::Write(Position::First),
        Body::WriteMiddle => Request::Write(Position::Middle),
        Body::WriteLast | Body::WriteLastImm(_) => Request::Write(Position::Last),
        Body::WriteOnly(_) | Body::WriteOnlyImm(..) => Request::Write(Position::Only),
        Body::ReadRequest(reth) => Request::Read(*reth),
        Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => Request::Atomic(*atomic),
        Body::Flush(feth, reth) => Request::Flush(*feth, *reth),
        Body::AtomicWrite(reth) => Request::AtomicWrite(*reth),
        _ => return None,
    })
}

impl Request {
    /// Whether it begins a message, and is not a packet within one.
    pub(crate) fn begins(&self) -> bool {
        !matches!(
            self,
            Self::Send(Position::Middle | Position::Last) | Self::Write(Position::Middle | Position::Last)
        )
    }

    /// Whether it is answered by a response of its own, and counts against the limit of READs and atomics.
    pub(crate) fn has_response(&self) -> bool {
        !matches!(self, Self::Send(_) | Self::Write(_))
    }
}

impl Assembly {
    /// A message goes on with its own kind, and a new one begins only after it.
    pub(crate) fn check_order(&self, request: &Request) -> Result<(), Fault> {
        let in_order = match (request, self.message) {
            (request, message) if request.begins() => message.is_none(),
            (Request::Send(_), message) => matches!(message, Some(Message::Send { .. })),
            (Request::Write(_), message) => matches!(message, Some(Message::Write { .. })),
            (_, message) => message.is_none(),
        };
        if in_order { Ok(()) } else { Err(Fault::INVALID) }
    }

    /// There is a receive for what needs one. A SEND takes it with its first packet.
    pub(super) fn check_receive(
        &mut self,
        context: &mut Context,
        request: &Request,
        body: &Body,
        landing: &Landing,
    ) -> Result<(), Fault> {
        let is_there = match request {
            Request::Send(Position::First | Position::Only) => self.receives.take(context, landing),
            Request::Write(_) if matches!(body, Body::WriteLastImm(_) | Body::WriteOnlyImm(..)) => {
                self.receives.is_ready(context, landing)
            }
            _ => true,
        };
        if is_there { Ok(()) } else { Err(Fault::NotReady) }
    }

    /// Packets are as long as their place in the message and the path MTU ask for, and the message as long as it said.
    pub(super) fn check_length(
        &self,
        request: &Request,
        packet: &Packet<'_>,
        settings: &Settings,
    ) -> Result<(), Fault> {
        let (payload, mtu) = (packet.payload.len(), settings.mtu.bytes());
        let fits_position = match request {
            Request::Send(position) | Request::Write(position) => match position {
                Position::First | Position::Middle => payload == mtu,
                Position::Last => (1..=mtu).contains(&payload),
                Position::Only => payload <= mtu,
            },
            _ => false,
        };
        let payload = payload as u32;
        let fits_message = match (packet.body, self.message) {
            (Body::WriteFirst(reth), _) => reth.length > payload && reth.length <= MAX_MESSAGE,
            (Body::WriteOnly(reth) | Body::WriteOnlyImm(reth, _), _) => reth.length == payload,
            (Body::WriteMiddle, Some(Message::Write { left, .. })) => left > payload,
            (Body::WriteLast | Body::WriteLastImm(_), Some(Message::Write { left, .. })) => left == payload,
            _ => true,
        };
        if !fits_position || !fits_message {
            return Err(Fault::INVALID);
        }
        self.check_receive_length(request, payload)
    }

    /// A SEND fits the receive that it fills.
    fn check_receive_length(&self, request: &Request, payload: u32) -> Result<(), Fault> {
        let placed = match (request, self.message) {
            (Request::Send(_), Some(Message::Send { placed })) => placed,
            (Request::Send(_), _) => 0,
            _ => return Ok(()),
        };
        let room = self.receives.taken().map_or(0, |(work, _)| work.length);
        if u64::from(placed) + u64::from(payload) <= u64::from(room) {
            Ok(())
        } else {
            let receive = Some(CompletionStatus::LocalLengthError);
            Err(Fault::Fatal { nak: NakCode::InvalidRequest, receive })
        }
    }
}

/// The queue pair lets peers do this at all.
pub(crate) fn check_enabled(request: &Request, body: &Body, settings: &Settings) -> Result<(), Fault> {
    let needed = match request {
        Request::Send(_) => Access::empty(),
        Request::Flush(feth, _) => flush_access(feth),
        _ => needed_access(body),
    };
    if settings.access.contains(needed) { Ok(()) } else { Err(Fault::INVALID) }
}

/// The right that a request needs, of the queue pair as of the key.
pub(crate) fn needed_access(body: &Body) -> Access {
    match body {
        Body::WriteFirst(_)
        | Body::WriteMiddle
        | Body::WriteLast
        | Body::WriteLastImm(_)
        | Body::WriteOnly(_)
        | Body::WriteOnlyImm(..)
        | Body::AtomicWrite(_) => Access::REMOTE_WRITE,
        Body::ReadRequest(_) => Access::REMOTE_READ,
        Body::CompareSwap(_) | Body::FetchAdd(_) => Access::REMOTE_ATOMIC,
        Body::Flush(feth, _) => flush_access(feth),
        _ => Access::empty(),
    }
}

/// The rights that a FLUSH needs, one for each kind of placement.
fn flush_access(feth: &Feth) -> Access {
    let mut needed = Access::empty();
    if feth.placement & Feth::GLOBAL_VISIBILITY != 0 {
        needed |= Access::FLUSH_GLOBAL;
    }
    if feth.placement & Feth::PERSISTENCE != 0 {
        needed |= Access::FLUSH_PERSISTENT;
    }
    needed
}

/// The key gives the right to do this to all of the bytes, or may be invalidated. Nothing is asked of a key when there
/// are no bytes.
pub(crate) fn check_key(context: &Context, body: &Body, accessor: &Accessor) -> Result<(), Fault> {
    let access = needed_access(body);
    let (address, key, length) = match body {
        Body::WriteFirst(reth)
        | Body::WriteOnly(reth)
        | Body::WriteOnlyImm(reth, _)
        | Body::ReadRequest(reth) => (reth.virtual_address, reth.key, reth.length),
        Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => (atomic.virtual_address, atomic.key, 8),
        Body::AtomicWrite(reth) => (reth.virtual_address, reth.key, 8),
        Body::SendLastInv(ieth) | Body::SendOnlyInv(ieth) => {
            return context
                .check_invalidate(accessor, ieth.key, Invalidation::Remote)
                .map_err(|_| Fault::ACCESS);
        }
        Body::Flush(feth, reth) if feth.selectivity == Feth::REGION => {
            return context.check_remote_key(accessor, reth.key, access).map_err(|_| Fault::ACCESS);
        }
        Body::Flush(_, reth) => (reth.virtual_address, reth.key, reth.length),
        _ => return Ok(()),
    };
    let is_atomic = matches!(body, Body::CompareSwap(_) | Body::FetchAdd(_) | Body::AtomicWrite(_));
    if is_atomic && !address.is_multiple_of(8) {
        return Err(Fault::INVALID);
    }
    if length == 0 {
        return Ok(());
    }
    context.check_remote(accessor, key, address, u64::from(length), access).map_err(|_| Fault::ACCESS)
}
