//! The receiving half of unreliable datagram queue pairs (UD).
//!
//! A datagram needs the right queue key and a receive with room for it and for the 40 bytes in front, where the sender's
//! network header goes: an IPv6 header as it is, an IPv4 header in the last 20 of the 40 bytes. What does not fit is
//! dropped in silence. PSNs mean nothing here.

use rdmalab_verbs::{Completion, CompletionKind, CompletionStatus, Context, PostError, ReceiveRequest};
use rdmalab_wire::{Body, Datagram, Deth, Packet, Qpn};

use crate::assembly::immediate;
use crate::counters::{Discard, Served};
use crate::event::Event;
use crate::port::Owner;
use crate::receives::{Landing, Receives};
use crate::responder::Broken;
use crate::settings::Settings;

/// Bytes in front of a datagram's payload in a receive.
const HEADER_AREA: usize = 40;

#[derive(Debug)]
pub(crate) struct DatagramReceiver {
    pub(crate) served: Served,
    receives: Receives,
}

impl DatagramReceiver {
    pub(crate) fn new(receives: Receives) -> Self {
        Self { served: Served::default(), receives }
    }

    /// Forgets everything, without completions.
    pub(crate) fn reset(&mut self) {
        self.receives.reset();
    }

    pub(crate) fn post(&mut self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        self.receives.post(request)
    }

    /// Takes a datagram.
    pub(crate) fn handle(
        &mut self,
        context: &mut Context,
        datagram: &Datagram<'_>,
        deth: &Deth,
        packet: &Packet<'_>,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<(), Broken> {
        let settings = owner.settings;
        let fits = matches!(packet.body, Body::SendOnly | Body::SendOnlyImm(_));
        if !fits || packet.payload.len() > settings.mtu.bytes() {
            owner.counters.discard(Discard::Refused);
            return Ok(());
        }
        if !self.receives.take(context, landing) {
            owner.counters.discard(Discard::NoReceive);
            return Ok(());
        }
        let Some((work, _)) = self.receives.taken() else { return Ok(()) };
        let length = HEADER_AREA + packet.payload.len();
        if length > work.length as usize {
            owner.counters.discard(Discard::ReceiveTooSmall);
            return Ok(());
        }
        let mut area = [0; HEADER_AREA];
        let header = datagram.network_bytes();
        if let Some(place) = HEADER_AREA.checked_sub(header.len()).and_then(|start| area.get_mut(start..)) {
            place.copy_from_slice(header);
        }
        let placed = self
            .receives
            .place(context, 0, &area)
            .and_then(|()| self.receives.place(context, HEADER_AREA as u32, packet.payload));
        let completion =
            Completion { kind: CompletionKind::Receive, queue_pair: owner.number, ..Completion::default() };
        if placed.is_err() {
            let status = CompletionStatus::LocalProtectionError;
            self.receives.end(context, Completion { status, ..completion });
            owner.event(Event::Fatal(owner.number));
            return Err(Broken);
        }
        let completion = Completion {
            length: length as u32,
            immediate: immediate(&packet.body),
            solicited: packet.bth.solicited,
            source: Some(deth.source),
            has_grh: true,
            partition_index: settings.partition_index,
            ..completion
        };
        self.served.count(packet.payload.len() as u32);
        self.receives.end(context, completion);
        owner.counters.rdma_recvs += 1;
        Ok(())
    }

    /// Ends all receives as flushed.
    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        self.receives.flush(context, number, settings);
    }
}
