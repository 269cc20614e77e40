//! The reliable responder: judges the peer's requests, carries them out, and answers.
//!
//! A request packet passes a list of checks in the specification's order: PSN, order of opcodes, opcode, resources,
//! length, key ([`assembly::checks`](crate::assembly::checks)). Only then is it carried out, SENDs and WRITEs by the
//! [`Assembly`], the others here ([`execute`]). What was done once is never done again: a packet in front of the
//! expected PSN is a duplicate, acknowledged or replayed ([`replay`]). Answers wait in a queue in PSN order until they
//! can be sent ([`replies`]).
//!
//! Invariants: `expected` moves on only by a packet that passed all checks; there is at most one sequence error NAK for
//! each gap.

mod execute;
mod replay;
mod replies;

use core::hint::black_box;

use rdmalab_verbs::{CompletionStatus, Context, PostError, ReceiveRequest};
use rdmalab_wire::{Msn, NakCode, Packet, Psn, Syndrome, credits_to_code};

use crate::assembly::{Assembly, Fault};
use crate::counters::{Discard, Served};
use crate::event::Event;
use crate::outlet::Outlet;
use crate::port::Owner;
use crate::receives::{Landing, Receives};
use crate::settings::Settings;
use replay::Replay;
use replies::{Acknowledgement, Replies};

/// Packets of answers that still go out when a connection is given up: as many as a requester has under way.
const LAST_WORDS: u32 = 128;

/// The credit code that says: no end-to-end flow control.
const NO_CREDITS: u8 = 31;

/// The queue pair must go into the error state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

/// In the order of use, as [`QueuePair`](crate::queue_pair::QueuePair) says.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Responder {
    replies: Replies,
    /// PSN of the next new packet.
    expected: Psn,
    /// Messages completed.
    msn: Msn,
    /// A NAK is out for the expected PSN; packets ahead of it are dropped in silence.
    told: bool,
    /// The peer was last told that it has no credits.
    out_of_credits: bool,
    assembly: Assembly,
    replay: Replay,
}

impl Responder {
    pub(crate) fn new(receives: Receives) -> Self {
        Self {
            replies: Replies::default(),
            expected: Psn::default(),
            msn: Msn::default(),
            told: false,
            out_of_credits: false,
            assembly: Assembly::new(receives),
            replay: Replay::default(),
        }
    }

    /// Makes it ready to receive from a PSN on.
    pub(crate) fn start(&mut self, psn: Psn, settings: &Settings) {
        self.expected = psn;
        self.msn = Msn::default();
        self.assembly.abandon();
        (self.told, self.out_of_credits) = (false, false);
        self.replies.clear();
        self.replay = Replay::default();
        self.resize(settings);
    }

    /// Follows a change of how many READs and atomics are remembered. What is on its way stays.
    pub(crate) fn resize(&mut self, settings: &Settings) {
        self.replies.resize(settings.max_destination_reads);
        self.replay.resize(settings.max_destination_reads);
    }

    /// Forgets everything, without completions.
    pub(crate) fn reset(&mut self) {
        self.assembly.receives.reset();
        self.assembly.abandon();
        (self.told, self.out_of_credits) = (false, false);
        self.forget_replies();
        self.replay = Replay::default();
    }

    /// What was carried out so far, for as long as there is the queue pair.
    pub(crate) fn served(&self) -> Served {
        self.assembly.served
    }

    /// Answers that are not sent yet are not sent any more.
    pub(crate) fn forget_replies(&mut self) {
        self.replies.clear();
    }

    /// What is answered with few packets still is; a long response to a READ is not.
    pub(crate) fn keep_last_words(&mut self) {
        self.replies.keep(LAST_WORDS);
    }

    /// Posts to the queue pair's own receive queue. A peer that had run out of credits is told of the new one, where
    /// `tells` says that the queue pair may talk and grants any.
    pub(crate) fn post(&mut self, request: &ReceiveRequest<'_>, tells: bool) -> Result<(), PostError> {
        self.assembly.receives.post(request)?;
        if tells && self.out_of_credits {
            self.out_of_credits = false;
            self.acknowledge();
        }
        Ok(())
    }

    /// Reads a word of each of its cache lines.
    pub(crate) fn touch(&self) {
        black_box((self.replies.is_empty(), self.assembly.receives.len()));
    }

    /// The same for what it points to.
    pub(crate) fn touch_queues(&self) {
        let receive = self.assembly.receives.next().map(|work| work.id);
        black_box((self.replies.has_data_next(), receive));
    }

    pub(crate) fn may_send(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Whether the next answer carries data, which counts against the rate of the flow.
    pub(crate) fn sends_data(&self) -> bool {
        self.replies.has_data_next()
    }

    /// Sends the next answer, or the next packet of one.
    pub(crate) fn send(
        &mut self,
        context: &Context,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Broken> {
        let credits = if owner.settings.grants_credits(&owner.port.profile) {
            credits_to_code(self.assembly.receives.len() as u32)
        } else {
            NO_CREDITS
        };
        self.out_of_credits = credits == 0;
        self.replies.send(context, self.msn, credits, owner, outlet)
    }

    /// Takes a request packet of the peer.
    pub(crate) fn handle(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        landing: &Landing,
        owner: &mut Owner<'_>,
    ) -> Result<(), Broken> {
        match packet.bth.psn.distance(self.expected) {
            0 => {}
            ..0 => {
                self.handle_duplicate(packet, landing, owner);
                return Ok(());
            }
            _ => {
                self.handle_gap(owner);
                return Ok(());
            }
        }
        match self.take(context, packet, landing, owner) {
            Ok(()) => {
                self.told = false;
                Ok(())
            }
            Err(fault) => self.refuse(context, packet.bth.psn, fault, owner),
        }
    }

    /// Answers a request that cannot be carried out.
    pub(crate) fn refuse(
        &mut self,
        context: &mut Context,
        psn: Psn,
        fault: Fault,
        owner: &mut Owner<'_>,
    ) -> Result<(), Broken> {
        match fault {
            Fault::NotReady => {
                let syndrome = Syndrome::RnrNak { timer: owner.settings.min_rnr_timer };
                if self.replies.push(Acknowledgement { psn, msn: self.msn, syndrome }) {
                    owner.counters.send_rnr_err += 1;
                    self.told = true;
                }
                Ok(())
            }
            Fault::Fatal { nak, receive } => {
                let syndrome = Syndrome::Nak(nak);
                self.replies.push_last(Acknowledgement { psn, msn: self.msn, syndrome });
                owner.counters.send_fatal_nak += 1;
                // The receive of the message that is under way tells what the peer is told.
                let status = receive.unwrap_or(match nak {
                    NakCode::RemoteAccessError => CompletionStatus::RemoteAccessError,
                    NakCode::RemoteOperationalError => CompletionStatus::RemoteOperationError,
                    _ => CompletionStatus::RemoteInvalidRequest,
                });
                self.assembly.fail_receive(context, status, owner);
                let number = owner.number;
                owner.event(match nak {
                    NakCode::RemoteAccessError => Event::AccessError(number),
                    NakCode::RemoteOperationalError => Event::Fatal(number),
                    _ => Event::RequestError(number),
                });
                Err(Broken)
            }
        }
    }

    /// Whether a packet with this PSN is the one that is due: neither a duplicate nor ahead of a gap.
    pub(crate) fn is_due(&self, psn: Psn) -> bool {
        psn == self.expected
    }

    /// A packet is missing. The peer is told once.
    fn handle_gap(&mut self, owner: &mut Owner<'_>) {
        owner.counters.out_of_seq_request += 1;
        let nak = Syndrome::Nak(NakCode::PsnSequenceError);
        let reply = Acknowledgement { psn: self.expected, msn: self.msn, syndrome: nak };
        if !self.told && self.replies.push(reply) {
            self.told = true;
            owner.counters.send_seq_err += 1;
        } else {
            owner.counters.discard(Discard::OutOfSequence);
        }
    }

    /// Acknowledges everything that was carried out.
    fn acknowledge(&mut self) {
        let psn = self.expected.sub(1);
        // Without room the peer asks again.
        self.replies.push(Acknowledgement { psn, msn: self.msn, syndrome: Syndrome::ACK });
    }

    /// Ends all receives as flushed. Answers on their way still go out.
    pub(crate) fn flush(&mut self, context: &mut Context, number: rdmalab_wire::Qpn, settings: &Settings) {
        self.assembly.abandon();
        self.assembly.receives.flush(context, number, settings);
    }
}
