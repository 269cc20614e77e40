//! Messages of a connection as they come in, packet by packet: checked, placed, completed.
//!
//! Reliable and unreliable connections share this. Whether a packet may come at all (its PSN), and what becomes of a
//! fault (a NAK, or silence), is for the transport to say.
//!
//! Invariants: a message in progress has taken its receive if it is a SEND; after a fault, no byte of the packet was
//! placed and nothing has moved on.

pub(crate) mod checks;

use rdmalab_verbs::{Completion, CompletionKind, CompletionStatus, Context, Invalidation};
use rdmalab_wire::{Body, ImmDt, NakCode, Packet, Position, RKey};

use crate::counters::Served;
use crate::port::Owner;
use crate::receives::{Landing, Receives};
use checks::Request;

/// A message whose first packet came and whose last did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// A SEND, into the receive that is taken.
    Send {
        /// Bytes placed.
        placed: u32,
    },
    /// An RDMA WRITE.
    Write {
        /// Where the next byte goes.
        address: u64,
        key: RKey,
        /// Bytes still to come.
        left: u32,
        /// Bytes of the whole message.
        length: u32,
    },
}

/// What is wrong with a request, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No receive is posted: ask the peer to try again.
    NotReady,
    /// A reliable connection ends: a NAK goes out, the queue pair fails.
    Fatal {
        /// What the peer is told.
        nak: NakCode,
        /// How the receive that is taken ends, if in another way than the NAK says.
        receive: Option<CompletionStatus>,
    },
}

impl Fault {
    pub(crate) const INVALID: Self = Self::Fatal { nak: NakCode::InvalidRequest, receive: None };
    pub(crate) const ACCESS: Self = Self::Fatal { nak: NakCode::RemoteAccessError, receive: None };
}

/// Whether a message ended with the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    GoesOn,
    Ended,
}

#[derive(Debug)]
#[repr(C)]
pub(crate) struct Assembly {
    message: Option<Message>,
    pub(crate) served: Served,
    pub(crate) receives: Receives,
}

impl Assembly {
    pub(crate) fn new(receives: Receives) -> Self {
        Self { message: None, served: Served::default(), receives }
    }

    pub(crate) fn is_in_message(&self) -> bool {
        self.message.is_some()
    }

    /// Gives up the message in progress. Its receive stays taken, for the next one.
    pub(crate) fn abandon(&mut self) {
        self.message = None;
    }

    /// Carries out one packet of a SEND or WRITE, after all checks.
    pub(crate) fn take(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        request: &Request,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<Progress, Fault> {
        self.check_order(request)?;
        checks::check_enabled(request, &packet.body, owner.settings)?;
        self.check_receive(context, request, &packet.body, landing)?;
        self.check_length(request, packet, owner.settings)?;
        checks::check_key(context, &packet.body, &landing.accessor)?;
        match request {
            Request::Send(position) => self.place_send(context, packet, *position, landing, owner),
            Request::Write(position) => self.place_write(context, packet, *position, landing, owner),
            _ => Err(Fault::INVALID),
        }
    }

    fn place_send(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        position: Position,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<Progress, Fault> {
        let placed = match self.message {
            Some(Message::Send { placed }) => placed,
            _ => 0,
        };
        self.receives.place(context, placed, packet.payload).map_err(|_| Fault::Fatal {
            nak: NakCode::RemoteOperationalError,
            receive: Some(CompletionStatus::LocalProtectionError),
        })?;
        let placed = placed + packet.payload.len() as u32;
        if matches!(position, Position::First | Position::Middle) {
            self.message = Some(Message::Send { placed });
            return Ok(Progress::GoesOn);
        }
        let invalidated = match packet.body {
            Body::SendLastInv(ieth) | Body::SendOnlyInv(ieth) => {
                context
                    .invalidate(&landing.accessor, ieth.key, Invalidation::Remote)
                    .map_err(|_| Fault::ACCESS)?;
                Some(ieth.key)
            }
            _ => None,
        };
        let completion =
            Completion { invalidated, ..completion(CompletionKind::Receive, packet, placed, owner) };
        self.message = None;
        self.served.count(placed);
        self.receives.end(context, completion);
        owner.counters.rdma_recvs += 1;
        Ok(Progress::Ended)
    }

    fn place_write(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        position: Position,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<Progress, Fault> {
        let (address, key, left, length) = match (packet.body, self.message) {
            (Body::WriteFirst(reth) | Body::WriteOnly(reth) | Body::WriteOnlyImm(reth, _), _) => {
                (reth.virtual_address, reth.key, reth.length, reth.length)
            }
            (_, Some(Message::Write { address, key, left, length })) => (address, key, left, length),
            // The check of the order does not let this through.
            _ => return Err(Fault::INVALID),
        };
        if !packet.payload.is_empty() {
            // The region may have gone since the first packet.
            context
                .remote_write(&landing.accessor, key, address, packet.payload)
                .map_err(|_| Fault::ACCESS)?;
        }
        if matches!(position, Position::First | Position::Middle) {
            let payload = packet.payload.len() as u32;
            let address = address.wrapping_add(u64::from(payload));
            self.message = Some(Message::Write { address, key, left: left.saturating_sub(payload), length });
            return Ok(Progress::GoesOn);
        }
        self.message = None;
        self.served.count(length);
        if immediate(&packet.body).is_some() {
            self.receives.take(context, landing);
            let kind = CompletionKind::ReceiveRdmaWithImmediate;
            self.receives.end(context, completion(kind, packet, length, owner));
            owner.counters.rdma_recvs += 1;
        }
        Ok(Progress::Ended)
    }

    /// Ends the receive that is taken with an error.
    pub(crate) fn fail_receive(
        &mut self,
        context: &mut Context,
        status: CompletionStatus,
        owner: &Owner<'_>,
    ) {
        let kind = CompletionKind::Receive;
        self.receives
            .end(context, Completion { status, kind, queue_pair: owner.number, ..Completion::default() });
    }
}

/// A receive that a packet ends well.
fn completion(kind: CompletionKind, packet: &Packet<'_>, length: u32, owner: &Owner<'_>) -> Completion {
    Completion {
        kind,
        length,
        immediate: immediate(&packet.body),
        queue_pair: owner.number,
        solicited: packet.bth.solicited,
        partition_index: owner.settings.partition_index,
        ..Completion::default()
    }
}

pub(crate) fn immediate(body: &Body) -> Option<ImmDt> {
    match body {
        Body::SendLastImm(data) | Body::SendOnlyImm(data) => Some(*data),
        Body::WriteLastImm(data) | Body::WriteOnlyImm(_, data) => Some(*data),
        _ => None,
    }
}
