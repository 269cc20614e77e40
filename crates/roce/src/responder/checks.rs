//! The checks that a request with the expected PSN must pass, each a short function, in the specification's order.

use rdmalab_verbs::{Access, CompletionStatus, Context};
use rdmalab_wire::{AtomicEth, Body, NakCode, Packet, Position, Reth};

use super::{Fault, Message, Responder};
use crate::queue_pair::Settings;

/// Longest message, the specification's limit.
const MAX_MESSAGE: u32 = 1 << 31;

/// What kind of request a packet belongs to, and where in the message it stands.
pub(super) enum Request {
    Send(Position),
    Write(Position),
    Read(Reth),
    Atomic(AtomicEth),
}

/// Sorts request bodies; `None` for those that are not supported.
pub(super) fn request(body: &Body) -> Option<Request> {
    Some(match body {
        Body::SendFirst => Request::Send(Position::First),
        Body::SendMiddle => Request::Send(Position::Middle),
        Body::SendLast | Body::SendLastImm(_) => Request::Send(Position::Last),
        Body::SendOnly | Body::SendOnlyImm(_) => Request::Send(Position::Only),
        Body::WriteFirst(_) => Request::Write(Position::First),
        Body::WriteMiddle => Request::Write(Position::Middle),
        Body::WriteLast | Body::WriteLastImm(_) => Request::Write(Position::Last),
        Body::WriteOnly(_) | Body::WriteOnlyImm(..) => Request::Write(Position::Only),
        Body::ReadRequest(reth) => Request::Read(*reth),
        Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => Request::Atomic(*atomic),
        _ => return None,
    })
}

impl Responder {
    /// A message goes on with its own kind, and a new one begins only after it.
    pub(super) fn check_order(&self, request: &Request) -> Result<(), Fault> {
        let in_order = match (request, self.message) {
            (Request::Send(Position::First | Position::Only), message)
            | (Request::Write(Position::First | Position::Only), message) => message.is_none(),
            (Request::Send(_), message) => matches!(message, Some(Message::Send { .. })),
            (Request::Write(_), message) => matches!(message, Some(Message::Write { .. })),
            (Request::Read(_) | Request::Atomic(_), message) => message.is_none(),
        };
        if in_order { Ok(()) } else { Err(Fault::INVALID) }
    }

    /// The queue pair lets peers do this at all.
    pub(super) fn check_enabled(request: &Request, settings: &Settings) -> Result<(), Fault> {
        let needed = match request {
            Request::Send(_) => Access::empty(),
            Request::Write(_) => Access::REMOTE_WRITE,
            Request::Read(_) => Access::REMOTE_READ,
            Request::Atomic(_) => Access::REMOTE_ATOMIC,
        };
        if settings.access.contains(needed) { Ok(()) } else { Err(Fault::INVALID) }
    }

    /// There is a receive for what needs one, and room to answer a READ or atomic.
    pub(super) fn check_resources(
        &self,
        request: &Request,
        body: &Body,
        settings: &Settings,
    ) -> Result<(), Fault> {
        let needs_receive = matches!(request, Request::Send(Position::First | Position::Only))
            || matches!(body, Body::WriteLastImm(_) | Body::WriteOnlyImm(..));
        if needs_receive && self.queue.is_empty() {
            return Err(Fault::NotReady);
        }
        let needs_reply = matches!(request, Request::Read(_) | Request::Atomic(_));
        if needs_reply && self.replies.reads() >= settings.max_destination_reads {
            return Err(Fault::INVALID);
        }
        Ok(())
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
            Request::Read(_) | Request::Atomic(_) => payload == 0,
        };
        let payload = payload as u32;
        let fits_message = match (packet.body, self.message) {
            (Body::WriteFirst(reth), _) => reth.length > payload && reth.length <= MAX_MESSAGE,
            (Body::WriteOnly(reth) | Body::WriteOnlyImm(reth, _), _) => reth.length == payload,
            (Body::WriteMiddle, Some(Message::Write { left, .. })) => left > payload,
            (Body::WriteLast | Body::WriteLastImm(_), Some(Message::Write { left, .. })) => left == payload,
            (Body::ReadRequest(reth), _) => reth.length <= MAX_MESSAGE,
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
        let room = self.queue.front().map_or(0, |(work, _)| work.length);
        if u64::from(placed) + u64::from(payload) <= u64::from(room) {
            Ok(())
        } else {
            let receive = Some(CompletionStatus::LocalLengthError);
            Err(Fault::Fatal { nak: NakCode::InvalidRequest, receive })
        }
    }

    /// The key gives the right to do this to all of the bytes. Nothing is asked of a key when there are no bytes.
    pub(super) fn check_key(context: &Context, body: &Body, settings: &Settings) -> Result<(), Fault> {
        let (address, key, length, access) = match body {
            Body::WriteFirst(reth) | Body::WriteOnly(reth) | Body::WriteOnlyImm(reth, _) => {
                (reth.virtual_address, reth.key, reth.length, Access::REMOTE_WRITE)
            }
            Body::ReadRequest(reth) => (reth.virtual_address, reth.key, reth.length, Access::REMOTE_READ),
            Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => {
                if !atomic.virtual_address.is_multiple_of(8) {
                    return Err(Fault::INVALID);
                }
                (atomic.virtual_address, atomic.key, 8, Access::REMOTE_ATOMIC)
            }
            _ => return Ok(()),
        };
        if length == 0 {
            return Ok(());
        }
        context
            .check_remote(settings.protection_domain, key, address, length, access)
            .map_err(|_| Fault::ACCESS)
    }
}
