//! Carrying out a request that passed all checks.

use rdmalab_verbs::{Atomic64, CompletionKind, CompletionStatus, Context};
use rdmalab_wire::{AtomicEth, Body, ImmDt, NakCode, Packet, Position, Psn, Reth};

use super::checks::{self, Request};
use super::replay::{Done, Kind};
use super::replies::Reply;
use super::{Fault, Message, Responder};
use crate::queue_pair::Owner;

impl Responder {
    /// Checks a packet with the expected PSN and carries it out. After a fault, nothing has changed.
    pub(super) fn take(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        owner: &mut Owner<'_>,
    ) -> Result<(), Fault> {
        let request = checks::request(&packet.body).ok_or(Fault::INVALID)?;
        self.check_order(&request)?;
        Self::check_enabled(&request, owner.settings)?;
        self.check_resources(&request, &packet.body, owner.settings)?;
        self.check_length(&request, packet, owner.settings)?;
        Self::check_key(context, &packet.body, owner.settings)?;

        match request {
            Request::Send(position) => self.place_send(context, packet, position, owner)?,
            Request::Write(position) => self.place_write(context, packet, position, owner)?,
            Request::Read(reth) => {
                self.begin_read(packet.bth.psn, reth, owner);
                return Ok(());
            }
            Request::Atomic(atomic) => return self.run_atomic(context, packet, atomic, owner),
        }
        self.expected = packet.bth.psn.next();
        if packet.bth.ack_request {
            self.acknowledge();
        }
        Ok(())
    }

    fn place_send(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        position: Position,
        owner: &Owner<'_>,
    ) -> Result<(), Fault> {
        let placed = match self.message {
            Some(Message::Send { placed }) => placed,
            _ => 0,
        };
        if let Some((_, elements)) = self.queue.front() {
            context.scatter(owner.settings.protection_domain, elements, placed, packet.payload).map_err(
                |_| Fault::Fatal {
                    nak: NakCode::RemoteOperationalError,
                    receive: Some(CompletionStatus::LocalProtectionError),
                },
            )?;
        }
        let placed = placed + packet.payload.len() as u32;
        if matches!(position, Position::First | Position::Middle) {
            self.message = Some(Message::Send { placed });
            return Ok(());
        }
        self.end_message(context, packet, owner, CompletionKind::Receive, placed);
        Ok(())
    }

    fn place_write(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        position: Position,
        owner: &Owner<'_>,
    ) -> Result<(), Fault> {
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
                .remote_write(owner.settings.protection_domain, key, address, packet.payload)
                .map_err(|_| Fault::ACCESS)?;
        }
        if matches!(position, Position::First | Position::Middle) {
            let payload = packet.payload.len() as u32;
            let address = address.wrapping_add(u64::from(payload));
            self.message = Some(Message::Write { address, key, left: left.saturating_sub(payload), length });
            return Ok(());
        }
        self.end_message(context, packet, owner, CompletionKind::ReceiveRdmaWithImmediate, length);
        Ok(())
    }

    /// Counts a SEND or WRITE as done and completes the receive that it used, if it used one.
    fn end_message(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        owner: &Owner<'_>,
        kind: CompletionKind,
        length: u32,
    ) {
        self.message = None;
        self.msn = self.msn.next();
        let immediate = immediate(&packet.body);
        if kind == CompletionKind::Receive || immediate.is_some() {
            let solicited = packet.bth.solicited;
            self.complete(context, owner, CompletionStatus::Success, kind, length, immediate, solicited);
        }
    }

    /// Accepts a READ. It counts as a message from now on; its data is fetched when the response is sent.
    fn begin_read(&mut self, psn: Psn, reth: Reth, owner: &Owner<'_>) {
        let packets = reth.length.div_ceil(owner.settings.mtu.bytes() as u32).max(1);
        self.msn = self.msn.next();
        self.expected = psn.add(packets);
        self.replay.remember(Done { first: psn, packets, kind: Kind::Read(reth) });
        self.replies.push_read(Reply::read(psn, packets, reth, self.msn));
    }

    fn run_atomic(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        atomic: AtomicEth,
        owner: &Owner<'_>,
    ) -> Result<(), Fault> {
        let operation = operation(&packet.body, atomic);
        let (key, address) = (atomic.key, atomic.virtual_address);
        let original = context
            .remote_atomic(owner.settings.protection_domain, key, address, operation)
            .map_err(|_| Fault::ACCESS)?;
        let psn = packet.bth.psn;
        self.msn = self.msn.next();
        self.expected = psn.next();
        let kind = Kind::Atomic { address, key, operation, original };
        self.replay.remember(Done { first: psn, packets: 1, kind });
        self.replies.push_read(Reply::Atomic { psn, msn: self.msn, original, is_new: true });
        Ok(())
    }
}

/// What an atomic request asks for.
pub(super) fn operation(body: &Body, atomic: AtomicEth) -> Atomic64 {
    match body {
        Body::CompareSwap(_) => {
            Atomic64::CompareAndSwap { compare: atomic.compare, swap: atomic.swap_or_add }
        }
        _ => Atomic64::FetchAndAdd { add: atomic.swap_or_add },
    }
}

fn immediate(body: &Body) -> Option<ImmDt> {
    match body {
        Body::SendLastImm(data) | Body::SendOnlyImm(data) => Some(*data),
        Body::WriteLastImm(data) | Body::WriteOnlyImm(_, data) => Some(*data),
        _ => None,
    }
}
