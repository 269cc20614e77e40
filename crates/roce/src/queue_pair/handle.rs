//! What comes in: which half a packet is for, whether the state lets it in, and where a request may land.

use rdmalab_verbs::{Accessor, Context, QueuePairType, SharedReceiveQueueId, State};
use rdmalab_wire::{Datagram, Ecn, Packet, Psn, Transport};

use super::QueuePair;
use crate::assembly::Fault;
use crate::counters::Discard;
use crate::event::Event;
use crate::halves::{ReceiveHalf, SendHalf};
use crate::port::Port;
use crate::receives::Landing;
use crate::responder::Broken;
use crate::settings::Settings;

impl QueuePair {
    /// Takes a packet that is for this queue pair, comes from its peer and is sound.
    pub(crate) fn handle(
        &mut self,
        context: &mut Context,
        now: u64,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        port: &mut Port,
    ) {
        if packet.transport == Transport::Cnp {
            port.counters.rcvd_pkts += 1;
            port.counters.rp_cnp_handled += 1;
            if let Some(pace) = &mut self.pace {
                pace.controller.handle_notification(now);
            }
            return;
        }
        let is_request = !packet.body.is_response();
        if !(if is_request { self.state.receives() } else { self.state.sends() }) {
            port.counters.discard(Discard::State);
            return;
        }
        port.counters.rcvd_pkts += 1;
        if datagram.ecn == Ecn::Ce {
            self.notice_mark(now, port);
        }
        if self.state == State::Rtr && !self.established && self.settings.kind != QueuePairType::Ud {
            self.established = true;
            port.owner(&self.settings).event(Event::CommunicationEstablished(self.settings.number));
        }
        if is_request {
            if let Err(Broken) = self.handle_request(context, datagram, packet, port) {
                self.enter_error(context, port);
            }
            self.note_answers();
            return;
        }
        let SendHalf::Reliable(requester) = &mut self.send_half else {
            port.counters.discard(Discard::Opcode);
            return;
        };
        match requester.handle(context, now, packet, &mut port.owner(&self.settings)) {
            Ok(()) => self.notice_drained(port),
            Err(failure) => self.fail(context, failure, port),
        }
        self.note_requests();
    }

    /// Takes a request that is sound but for its opcode, which is reserved, or for its payload, of a length that the
    /// operation never has. A responder whose turn it is says so; in any other place it is dropped for that reason.
    pub(crate) fn refuse(
        &mut self,
        context: &mut Context,
        psn: Psn,
        reason: Discard,
        port: &mut Port,
    ) -> Result<(), Discard> {
        let ReceiveHalf::Reliable(responder) = &mut self.receive_half else { return Err(reason) };
        if !self.state.receives() || !responder.is_due(psn) {
            return Err(reason);
        }
        port.counters.rcvd_pkts += 1;
        if responder.refuse(context, psn, Fault::INVALID, &mut port.owner(&self.settings)).is_err() {
            self.enter_error(context, port);
        }
        self.note_answers();
        Ok(())
    }

    fn handle_request(
        &mut self,
        context: &mut Context,
        datagram: &Datagram<'_>,
        packet: &Packet<'_>,
        port: &mut Port,
    ) -> Result<(), Broken> {
        let own = Landing {
            accessor: self.settings.accessor(),
            shared: self.settings.shared,
            completions: self.settings.receive_queue,
        };
        let owner = &mut port.owner(&self.settings);
        match (&mut self.receive_half, &packet.transport) {
            (ReceiveHalf::Reliable(responder), Transport::Rc) => {
                responder.handle(context, packet, &own, owner)
            }
            (ReceiveHalf::Reliable(responder), Transport::Xrc(Some(xrceth))) => {
                let named = SharedReceiveQueueId::from_number(xrceth.shared_receive_queue);
                match xrc_landing(context, named, owner.settings) {
                    Some(landing) => {
                        responder.handle(context, packet, &landing, owner)?;
                        // That queue's completions are not the queue pair's own, which the endpoint looks after.
                        if context.is_overrun(landing.completions) {
                            owner.event(Event::Fatal(owner.number));
                            return Err(Broken);
                        }
                        Ok(())
                    }
                    // A queue that is not there, or is none of ours to lend, is an invalid request.
                    None if responder.is_due(packet.bth.psn) => {
                        responder.refuse(context, packet.bth.psn, Fault::INVALID, owner)
                    }
                    None => responder.handle(context, packet, &own, owner),
                }
            }
            (ReceiveHalf::Unreliable(receiver), Transport::Uc) => {
                receiver.handle(context, packet, &own, owner)
            }
            (ReceiveHalf::Datagram(receiver), Transport::Ud(deth)) => {
                receiver.handle(context, datagram, deth, packet, &own, owner)
            }
            _ => {
                owner.counters.discard(Discard::Opcode);
                Ok(())
            }
        }
    }
}

/// Where a request over XRC lands, if the queue that it names belongs to the target's domain.
fn xrc_landing(context: &Context, named: SharedReceiveQueueId, settings: &Settings) -> Option<Landing> {
    let queue = context.shared_receive_queue(named)?;
    if queue.xrc_domain().is_none() || queue.xrc_domain() != settings.xrc_domain {
        return None;
    }
    let accessor = Accessor { protection_domain: queue.domain(), queue_pair: settings.serial };
    Some(Landing { accessor, shared: Some(named), completions: queue.completions()? })
}
