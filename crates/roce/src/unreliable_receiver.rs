//! The receiving half of unreliable connections (UC): messages come whole or not at all.
//!
//! A missing packet takes its whole message with it; the next message begins with the next FIRST or ONLY packet, whatever
//! its PSN. Nothing is ever answered. What cannot be carried out is dropped in silence, and a SEND that is dropped leaves
//! its receive for the next one.

use rdmalab_verbs::{CompletionStatus, Context, PostError, ReceiveRequest};
use rdmalab_wire::{Packet, Psn, Qpn};

use crate::assembly::checks::{self, Request};
use crate::assembly::{Assembly, Fault};
use crate::counters::{Discard, Served};
use crate::event::Event;
use crate::port::Owner;
use crate::receives::{Landing, Receives};
use crate::responder::Broken;
use crate::settings::Settings;

#[derive(Debug)]
pub(crate) struct UnreliableReceiver {
    assembly: Assembly,
    /// PSN of the next packet, if none is lost.
    expected: Psn,
}

impl UnreliableReceiver {
    pub(crate) fn new(receives: Receives) -> Self {
        Self { assembly: Assembly::new(receives), expected: Psn::default() }
    }

    /// Makes it ready to receive; the first packet should have this PSN.
    pub(crate) fn start(&mut self, psn: Psn) {
        self.expected = psn;
        self.assembly.abandon();
    }

    /// Forgets everything, without completions.
    pub(crate) fn reset(&mut self) {
        self.assembly.abandon();
        self.assembly.receives.reset();
    }

    /// Messages that came whole so far, for as long as there is the queue pair.
    pub(crate) fn served(&self) -> Served {
        self.assembly.served
    }

    pub(crate) fn post(&mut self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        self.assembly.receives.post(request)
    }

    /// Takes a packet of the peer.
    pub(crate) fn handle(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<(), Broken> {
        let in_order = packet.bth.psn == self.expected;
        self.expected = packet.bth.psn.next();
        if !in_order {
            owner.counters.out_of_seq_request += 1;
        }
        let Some(request @ (Request::Send(_) | Request::Write(_))) = checks::request(&packet.body) else {
            owner.counters.discard(Discard::Opcode);
            return Ok(());
        };
        if request.begins() || !in_order {
            self.assembly.abandon();
        }
        if !request.begins() && !self.assembly.is_in_message() {
            owner.counters.discard(Discard::OutOfSequence);
            return Ok(());
        }
        match self.assembly.take(context, packet, &request, landing, owner) {
            Ok(_) => Ok(()),
            // Our own fault: the receive's elements are bad.
            Err(Fault::Fatal { receive: Some(status @ CompletionStatus::LocalProtectionError), .. }) => {
                self.assembly.fail_receive(context, status, owner);
                owner.event(Event::Fatal(owner.number));
                Err(Broken)
            }
            Err(fault) => {
                self.assembly.abandon();
                owner.counters.discard(match fault {
                    Fault::NotReady => Discard::NoReceive,
                    Fault::Fatal { .. } => Discard::Refused,
                });
                Ok(())
            }
        }
    }

    /// Ends all receives as flushed.
    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        self.assembly.abandon();
        self.assembly.receives.flush(context, number, settings);
    }
}
