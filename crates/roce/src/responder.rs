//! The responder: judges the peer's requests, carries them out, and answers.
//!
//! A request packet passes a list of checks in the specification's order: PSN, order of opcodes, opcode, resources,
//! length, key ([`checks`]). Only then is it carried out ([`execute`]). What was done once is never done again: a packet
//! in front of the expected PSN is a duplicate, acknowledged or replayed ([`replay`]). Answers wait in a queue in PSN
//! order until they can be sent ([`replies`]).
//!
//! Invariants: `expected` moves on only by a packet that passed all checks; a message in progress keeps the receive it
//! fills at the head of the receive queue; there is at most one sequence error NAK for each gap.

mod checks;
mod execute;
mod replay;
mod replies;

use rdmalab_verbs::{
    Completion, CompletionKind, CompletionStatus, Context, PostError, ReceiveQueue, ReceiveRequest,
};
use rdmalab_wire::{ImmDt, Msn, NakCode, Packet, Psn, Qpn, RKey, Syndrome};

use crate::counters::Discard;
use crate::event::Event;
use crate::outlet::Outlet;
use crate::queue_pair::{Owner, Settings};
use replay::Replay;
use replies::{Replies, Reply};

/// A message whose first packet came and whose last did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    /// A SEND, into the receive at the head of the queue.
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
    /// The connection ends: a NAK goes out, the queue pair fails.
    Fatal {
        /// What the peer is told.
        nak: NakCode,
        /// How the receive at the head of the queue ends, if the message had to do with it.
        receive: Option<CompletionStatus>,
    },
}

impl Fault {
    const INVALID: Self = Self::Fatal { nak: NakCode::InvalidRequest, receive: None };
    const ACCESS: Self = Self::Fatal { nak: NakCode::RemoteAccessError, receive: None };
}

/// The queue pair must go into the error state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

#[derive(Debug)]
pub(crate) struct Responder {
    queue: ReceiveQueue,
    /// PSN of the next new packet.
    expected: Psn,
    /// Messages completed.
    msn: Msn,
    message: Option<Message>,
    /// A NAK is out for the expected PSN; packets ahead of it are dropped in silence.
    told: bool,
    replies: Replies,
    replay: Replay,
}

impl Responder {
    pub(crate) fn new(requests: u32, elements: u32) -> Self {
        Self {
            queue: ReceiveQueue::new(requests, elements),
            expected: Psn::default(),
            msn: Msn::default(),
            message: None,
            told: false,
            replies: Replies::default(),
            replay: Replay::default(),
        }
    }

    /// Makes it ready to receive from a PSN on.
    pub(crate) fn start(&mut self, psn: Psn, settings: &Settings) {
        self.expected = psn;
        self.msn = Msn::default();
        self.message = None;
        self.told = false;
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
        while self.queue.pop().is_some() {}
        self.message = None;
        self.told = false;
        self.forget_replies();
        self.replay = Replay::default();
    }

    /// Answers that are not sent yet are not sent any more.
    pub(crate) fn forget_replies(&mut self) {
        self.replies.clear();
    }

    pub(crate) fn post(&mut self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        self.queue.push(request)
    }

    pub(crate) fn may_send(&self) -> bool {
        !self.replies.is_empty()
    }

    /// Sends the next answer, or the next packet of one.
    pub(crate) fn send(
        &mut self,
        context: &Context,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Broken> {
        self.replies.send(context, self.msn, owner, outlet)
    }

    /// Takes a request packet of the peer.
    pub(crate) fn handle(
        &mut self,
        context: &mut Context,
        packet: &Packet<'_>,
        owner: &mut Owner<'_>,
    ) -> Result<(), Broken> {
        let psn = packet.bth.psn;
        match psn.distance(self.expected) {
            0 => {}
            ..0 => {
                self.handle_duplicate(packet, owner);
                return Ok(());
            }
            _ => {
                self.handle_gap(owner);
                return Ok(());
            }
        }
        match self.take(context, packet, owner) {
            Ok(()) => {
                self.told = false;
                Ok(())
            }
            Err(Fault::NotReady) => {
                let syndrome = Syndrome::RnrNak { timer: owner.settings.min_rnr_timer };
                if self.replies.push(Reply::Acknowledge { psn, msn: self.msn, syndrome }) {
                    owner.counters.send_rnr_err += 1;
                    self.told = true;
                }
                Ok(())
            }
            Err(Fault::Fatal { nak, receive }) => {
                let syndrome = Syndrome::Nak(nak);
                self.replies.push_last(Reply::Acknowledge { psn, msn: self.msn, syndrome });
                owner.counters.send_fatal_nak += 1;
                if let Some(status) = receive {
                    self.complete(context, owner, status, CompletionKind::Receive, 0, None, false);
                }
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

    /// A packet is missing. The peer is told once.
    fn handle_gap(&mut self, owner: &mut Owner<'_>) {
        owner.counters.out_of_seq_request += 1;
        let nak = Syndrome::Nak(NakCode::PsnSequenceError);
        let reply = Reply::Acknowledge { psn: self.expected, msn: self.msn, syndrome: nak };
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
        let syndrome = Syndrome::Ack { credits: replies::NO_CREDITS };
        // Without room the peer asks again.
        self.replies.push(Reply::Acknowledge { psn, msn: self.msn, syndrome });
    }

    /// Ends the receive at the head of the queue.
    #[allow(clippy::too_many_arguments)]
    fn complete(
        &mut self,
        context: &mut Context,
        owner: &Owner<'_>,
        status: CompletionStatus,
        kind: CompletionKind,
        length: u32,
        immediate: Option<ImmDt>,
        solicited: bool,
    ) {
        let Some(work) = self.queue.pop() else { return };
        context.complete(
            owner.settings.receive_queue,
            Completion { id: work.id, status, kind, length, immediate, queue_pair: owner.number, solicited },
        );
    }

    /// Ends all receives as flushed. Answers on their way still go out.
    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        self.message = None;
        while let Some(work) = self.queue.pop() {
            context.complete(
                settings.receive_queue,
                Completion {
                    id: work.id,
                    status: CompletionStatus::WorkRequestFlushed,
                    kind: CompletionKind::Receive,
                    length: 0,
                    immediate: None,
                    queue_pair: number,
                    solicited: false,
                },
            );
        }
    }
}
