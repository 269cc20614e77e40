//! What the requester does with acknowledgements, NAKs and responses.
//!
//! An answer with a PSN acknowledges everything before it. SENDs and WRITEs are complete when acknowledged; a READ or an
//! atomic only when its own response is there. An answer beyond a READ or atomic that still lacks a response therefore
//! shows that the response was lost (an implied NAK), and nothing behind it may complete.

use rdmalab_verbs::{CompletionKind, CompletionStatus, Context, Operation};
use rdmalab_wire::{Aeth, Body, NakCode, Packet, Psn, Syndrome, rnr_timer_nanoseconds};

use super::{Failure, Requester};
use crate::counters::Discard;
use crate::event::RetryCause;
use crate::port::Owner;

/// Whether everything before a PSN could be taken as acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advance {
    Done,
    /// A READ or atomic in front of it has not got its response.
    ResponseMissing,
}

impl Requester {
    /// Takes a response packet of the peer.
    pub(crate) fn handle(
        &mut self,
        context: &mut Context,
        now: u64,
        packet: &Packet<'_>,
        owner: &mut Owner<'_>,
    ) -> Result<(), Failure> {
        let psn = packet.bth.psn;
        if let Some(Aeth { syndrome: Syndrome::Ack { credits }, msn }) = packet.body.aeth()
            && (-1..self.sent_end.distance(self.unacknowledged)).contains(&psn.distance(self.unacknowledged))
        {
            // One that acknowledges nothing new may still bring credits.
            let brings_credits = self.credit.note(*msn, *credits);
            if brings_credits && psn.next() == self.unacknowledged {
                return Ok(());
            }
        }
        if psn.distance(self.unacknowledged) < 0 || psn.distance(self.sent_end) >= 0 {
            owner.counters.discard(Discard::UnexpectedResponse);
            return Ok(());
        }
        match packet.body {
            Body::Acknowledge(aeth) => match aeth.syndrome {
                Syndrome::Ack { .. } => {
                    let advance = self.acknowledge(context, now, psn.next(), owner);
                    self.retry_if_missing(advance, owner)
                }
                Syndrome::RnrNak { timer } => self.handle_rnr(context, now, psn, timer, owner),
                Syndrome::Nak(code) => self.handle_nak(context, now, psn, code, owner),
                Syndrome::Reserved(_) => {
                    owner.counters.discard(Discard::Malformed);
                    Ok(())
                }
            },
            Body::ReadResponseFirst(_)
            | Body::ReadResponseMiddle
            | Body::ReadResponseLast(_)
            | Body::ReadResponseOnly(_) => self.handle_read_response(context, now, packet, owner),
            Body::AtomicAcknowledge(aeth, result) => {
                if self.acknowledge(context, now, psn, owner) == Advance::ResponseMissing {
                    return self.retry_if_missing(Advance::ResponseMissing, owner);
                }
                if !says_yes(aeth) {
                    return Err(Failure(CompletionStatus::BadResponse));
                }
                self.finish_atomic(context, now, result.original, owner)
            }
            _ => Ok(()),
        }
    }

    /// Completes everything before `end` that an acknowledgement can complete.
    fn acknowledge(&mut self, context: &mut Context, now: u64, end: Psn, owner: &mut Owner<'_>) -> Advance {
        let before = self.unacknowledged;
        let advance = loop {
            let (Some(&oldest), Some((work, _))) = (self.flights.front(), self.queue.get(0)) else {
                break Advance::Done;
            };
            if oldest.packets == 0 {
                self.complete(context, owner.number, owner.settings, CompletionStatus::Success);
                continue;
            }
            if end.distance(self.unacknowledged) <= 0 {
                break Advance::Done;
            }
            if work.operation.is_read_or_atomic() {
                break Advance::ResponseMissing;
            }
            if end.distance(oldest.first.add(oldest.packets)) < 0 {
                self.unacknowledged = end;
                break Advance::Done;
            }
            owner.counters.rdma_sends += u64::from(work.operation.completion_kind() == CompletionKind::Send);
            self.complete(context, owner.number, owner.settings, CompletionStatus::Success);
        };
        if self.unacknowledged != before {
            self.progress(now, owner);
        }
        advance
    }

    /// Something new is known to have arrived.
    fn progress(&mut self, now: u64, owner: &mut Owner<'_>) {
        self.skip_acknowledged();
        self.retry.refill(owner.settings);
        // Also of a receiver's wait: the packet that found no receive was the oldest one, so it has found one since.
        self.retry.disarm();
        if self.asked_end.distance(self.unacknowledged) > 0 {
            self.retry.arm(now, owner.settings);
        }
    }

    /// Asks for a lost response again, at once the first time; after that only the timer does.
    fn retry_if_missing(&mut self, advance: Advance, owner: &mut Owner<'_>) -> Result<(), Failure> {
        if advance == Advance::Done
            || self.retry.restarted == Some(self.unacknowledged)
            || self.retry.is_held_back()
        {
            return Ok(());
        }
        owner.counters.implied_nak += 1;
        self.go_back(RetryCause::ImpliedNak, owner)
    }

    fn handle_nak(
        &mut self,
        context: &mut Context,
        now: u64,
        psn: Psn,
        code: NakCode,
        owner: &mut Owner<'_>,
    ) -> Result<(), Failure> {
        if self.acknowledge(context, now, psn, owner) == Advance::ResponseMissing {
            return self.retry_if_missing(Advance::ResponseMissing, owner);
        }
        let status = match code {
            NakCode::PsnSequenceError => {
                owner.counters.rcvd_seq_err += 1;
                // A repeated NAK means something only if the packet has gone out again since.
                let is_about_to_repeat =
                    self.retry.restarted == Some(self.unacknowledged) && self.is_cursor_at_unacknowledged();
                if is_about_to_repeat || self.retry.is_held_back() {
                    return Ok(());
                }
                return self.go_back(RetryCause::SequenceError, owner);
            }
            NakCode::InvalidRequest | NakCode::InvalidRdRequest => CompletionStatus::RemoteInvalidRequest,
            NakCode::RemoteAccessError => CompletionStatus::RemoteAccessError,
            NakCode::RemoteOperationalError => CompletionStatus::RemoteOperationError,
            NakCode::Unknown(_) => {
                owner.counters.discard(Discard::Malformed);
                return Ok(());
            }
        };
        Err(Failure(status))
    }

    fn is_cursor_at_unacknowledged(&self) -> bool {
        self.cursor.place == 0
            && self.flights.front().is_some_and(|oldest| {
                oldest.received.max(self.cursor.packet)
                    == self.unacknowledged.distance(oldest.first).max(0) as u32
            })
    }

    fn handle_rnr(
        &mut self,
        context: &mut Context,
        now: u64,
        psn: Psn,
        timer: u8,
        owner: &mut Owner<'_>,
    ) -> Result<(), Failure> {
        owner.counters.rcvd_rnr_err += 1;
        if self.acknowledge(context, now, psn, owner) == Advance::ResponseMissing {
            return self.retry_if_missing(Advance::ResponseMissing, owner);
        }
        if self.retry.is_held_back() {
            return Ok(());
        }
        if !self.retry.take_rnr(owner.settings) {
            owner.counters.retry_rnr_exceeded_err += 1;
            return Err(Failure(CompletionStatus::RnrRetryExceeded));
        }
        self.go_back(RetryCause::RnrNak, owner)?;
        self.retry.wait_for_receiver(now.saturating_add(rnr_timer_nanoseconds(timer)));
        Ok(())
    }

    fn handle_read_response(
        &mut self,
        context: &mut Context,
        now: u64,
        packet: &Packet<'_>,
        owner: &mut Owner<'_>,
    ) -> Result<(), Failure> {
        let psn = packet.bth.psn;
        if self.acknowledge(context, now, psn, owner) == Advance::ResponseMissing {
            return self.retry_if_missing(Advance::ResponseMissing, owner);
        }
        let (Some(flight), Some((work, elements))) = (self.flights.front_mut(), self.queue.get(0)) else {
            return Ok(());
        };
        match work.operation {
            Operation::RdmaRead(_) => {}
            // Answered by a READ response without data.
            Operation::Flush { .. } | Operation::AtomicWrite { .. } => {
                let fits = matches!(packet.body, Body::ReadResponseOnly(aeth) if says_yes(aeth));
                if !fits || !packet.payload.is_empty() {
                    return Err(Failure(CompletionStatus::BadResponse));
                }
                self.finish_oldest(context, now, owner);
                return Ok(());
            }
            _ => return Err(Failure(CompletionStatus::BadResponse)),
        }
        let mtu = owner.settings.mtu.bytes();
        let offset = flight.received as usize * mtu;
        let is_last = flight.received + 1 == flight.packets;
        // The answer to a request begins with FIRST or ONLY. Linux rxe answers a shortened retry with MIDDLE or LAST.
        let begins = flight.received == flight.requested;
        let continues = !begins || flight.received > 0;
        let fits = match packet.body {
            Body::ReadResponseFirst(aeth) => begins && !is_last && says_yes(aeth),
            Body::ReadResponseMiddle => continues && !is_last,
            Body::ReadResponseLast(aeth) => continues && is_last && says_yes(aeth),
            Body::ReadResponseOnly(aeth) => begins && is_last && says_yes(aeth),
            _ => false,
        };
        let expected = if is_last { work.length as usize - offset } else { mtu };
        if !fits || packet.payload.len() != expected {
            return Err(Failure(CompletionStatus::BadResponse));
        }
        context
            .scatter(owner.settings.protection_domain, elements, offset as u32, packet.payload)
            .map_err(|_| Failure(CompletionStatus::LocalProtectionError))?;
        flight.received += 1;
        self.unacknowledged = psn.next();
        if is_last {
            self.finish_oldest(context, now, owner);
        } else {
            self.progress(now, owner);
        }
        Ok(())
    }

    /// The response of the oldest request is whole.
    fn finish_oldest(&mut self, context: &mut Context, now: u64, owner: &mut Owner<'_>) {
        self.complete(context, owner.number, owner.settings, CompletionStatus::Success);
        self.complete_local(context, owner);
        self.progress(now, owner);
    }

    fn finish_atomic(
        &mut self,
        context: &mut Context,
        now: u64,
        original: u64,
        owner: &mut Owner<'_>,
    ) -> Result<(), Failure> {
        let (Some(flight), Some((work, elements))) = (self.flights.front_mut(), self.queue.get(0)) else {
            return Ok(());
        };
        if !work.operation.is_atomic() {
            return Err(Failure(CompletionStatus::BadResponse));
        }
        context
            .scatter(owner.settings.protection_domain, elements, 0, &original.to_ne_bytes())
            .map_err(|_| Failure(CompletionStatus::LocalProtectionError))?;
        flight.received = 1;
        self.finish_oldest(context, now, owner);
        Ok(())
    }
}

/// An answer with data is an acknowledgement, or it makes no sense: a responder says no without data.
fn says_yes(aeth: Aeth) -> bool {
    matches!(aeth.syndrome, Syndrome::Ack { .. })
}
