//! What a packet must pass before it reaches a queue pair: number, transport, addresses, keys and ICRC.

use rdmalab_verbs::{Context, QueuePairType};
use rdmalab_wire::{Bth, Datagram, PKey, Packet, QKey, Qpn, Transport, TransportKind};

use super::Endpoint;
use crate::counters::Discard;
use crate::ip_layer::IpLayer;

impl Endpoint {
    /// The checks of a packet before its transport's own, in the order in which Linux rxe does them.
    #[inline]
    pub(super) fn accept(
        &mut self,
        context: &mut Context,
        now: u64,
        datagram: &Datagram<'_>,
    ) -> Result<(), Discard> {
        let head = datagram.ib.first_chunk::<{ Bth::LENGTH }>().ok_or(Discard::Malformed)?;
        let (opcode, bth) = Bth::decode(head);
        if bth.destination == Qpn::MULTICAST {
            return self.accept_multicast(context, now, datagram);
        }
        let number = bth.destination;
        let queue_pair = self.queue_pairs.get_mut(number.value()).ok_or(Discard::UnknownQueuePair)?;
        let transport = opcode.transport().ok_or(Discard::Opcode)?;
        if !queue_pair.state().receives() {
            return Err(Discard::State);
        }
        let settings = queue_pair.settings();
        if !speaks(settings.kind, transport) {
            return Err(Discard::Opcode);
        }
        let packet = match (Packet::parse(datagram.ib), opcode.row()) {
            (Ok(packet), _) => Ok(packet),
            // What a responder may have to refuse is looked at further.
            (Err(_), None) if is_reliable(transport) && bth.header_version == 0 => Err(Discard::Opcode),
            (Err(_), None) => return Err(Discard::Opcode),
            (Err(error), Some(row)) if row.is_request && error.is_payload_length() => Err(Discard::Malformed),
            _ => return Err(Discard::Malformed),
        };
        let is_addressed = match settings.kind {
            QueuePairType::Ud => self.port.config.addresses.contains(&datagram.destination),
            _ => queue_pair.is_from_peer(datagram),
        };
        if !is_addressed {
            return Err(Discard::Address);
        }
        if !keys_match(bth.partition_key, settings.partition_key) {
            return Err(Discard::PartitionKey);
        }
        if packet.is_ok_and(|packet| !has_queue_key(&packet, settings.queue_key)) {
            return Err(Discard::QueueKey);
        }
        verify(datagram, self.port.config.ip_layer)?;
        match packet {
            Ok(packet) => queue_pair.handle(context, now, datagram, &packet, &mut self.port),
            Err(reason) => queue_pair.refuse(context, bth.psn, reason, &mut self.port)?,
        }
        self.settle(number);
        Ok(())
    }

    /// A datagram to a multicast group: each queue pair that is attached gets it.
    fn accept_multicast(
        &mut self,
        context: &mut Context,
        now: u64,
        datagram: &Datagram<'_>,
    ) -> Result<(), Discard> {
        let packet = Packet::parse(datagram.ib).map_err(|_| Discard::Malformed)?;
        // The number names no queue pair, except for datagrams.
        if !matches!(packet.transport, Transport::Ud(_)) {
            return Err(Discard::UnknownQueuePair);
        }
        let members = self.groups.members(datagram.destination).ok_or(Discard::NoMember)?;
        verify(datagram, self.port.config.ip_layer)?;
        for place in 0..members {
            let Some(number) = self.groups.member(datagram.destination, place) else { break };
            let Some(queue_pair) = self.queue_pairs.get_mut(number.value()) else { continue };
            let settings = queue_pair.settings();
            if !queue_pair.state().receives() {
                self.port.counters.discard(Discard::State);
            } else if !keys_match(packet.bth.partition_key, settings.partition_key) {
                self.port.counters.discard(Discard::PartitionKey);
            } else if !has_queue_key(&packet, settings.queue_key) {
                self.port.counters.discard(Discard::QueueKey);
            } else {
                queue_pair.handle(context, now, datagram, &packet, &mut self.port);
            }
            self.settle(number);
        }
        Ok(())
    }
}

/// The check of the ICRC.
#[inline]
fn verify(datagram: &Datagram<'_>, ip_layer: IpLayer) -> Result<(), Discard> {
    let sound = match ip_layer {
        IpLayer::Own => datagram.verify_icrc(),
        IpLayer::Kernel { .. } => datagram.verify_icrc_of_any_identification().map(drop),
    };
    sound.map_err(|_| Discard::Icrc)
}

/// Two partition keys match if they name one partition and at least one of them is a full member.
fn keys_match(theirs: PKey, ours: PKey) -> bool {
    theirs.partition() == ours.partition() && (theirs.is_full_member() || ours.is_full_member())
}

/// The queue key of a packet matches, if it has one.
fn has_queue_key(packet: &Packet<'_>, queue_key: QKey) -> bool {
    match packet.transport {
        Transport::Ud(deth) => deth.queue_key == queue_key,
        _ => true,
    }
}

/// Whether requests of a transport are answered.
fn is_reliable(transport: TransportKind) -> bool {
    matches!(transport, TransportKind::Rc | TransportKind::Xrc)
}

/// Whether packets of a transport may be for a queue pair of a kind. Notifications are for connections.
fn speaks(kind: QueuePairType, transport: TransportKind) -> bool {
    match transport {
        TransportKind::Rc => kind == QueuePairType::Rc,
        TransportKind::Uc => kind == QueuePairType::Uc,
        TransportKind::Ud => kind == QueuePairType::Ud,
        TransportKind::Xrc => kind.is_xrc(),
        TransportKind::Cnp => kind != QueuePairType::Ud,
        TransportKind::Rd => false,
    }
}
