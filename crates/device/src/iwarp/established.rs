//! Streams that carry something: bytes in, bytes out, and what queue pairs tell meanwhile.

use rdmalab_cm::DisconnectCause;
use rdmalab_iwarp::{Event, TerminatedBy};
use rdmalab_roce::Event as TransportEvent;
use rdmalab_verbs::Context;
use rdmalab_wire::Qpn;
use rdmalab_wire::iwarp::TerminateError;

use super::queue_pairs::handle as queue_pair_handle;
use super::{Command, Happening, IwarpTable, Stage, StreamId};
use crate::connections::CallFailure;

impl IwarpTable {
    /// Bytes that came, in order; all of them are taken.
    pub(crate) fn handle_bytes(&mut self, context: &mut Context, id: StreamId, bytes: &[u8]) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        self.counters.received_bytes += bytes.len() as u64;
        let rest = match &stream.stage {
            Stage::Established => bytes,
            Stage::Initiating(_) => match self.replied(context, id, bytes) {
                Ok(rest) => rest,
                Err(failure) => return self.break_start_up(id, failure),
            },
            Stage::Asking(_) | Stage::Called(_) => {
                if let Err(failure) = self.asked(id, bytes) {
                    self.break_start_up(id, failure);
                }
                return;
            }
            Stage::Connecting(_) | Stage::Parting => return,
        };
        if rest.is_empty() {
            return;
        }
        let Some(number) = self.established(id) else { return };
        if let Some(held) = self.held(number) {
            held.queue_pair.handle_bytes(context, rest);
        }
        if let Some(stream) = self.streams.get_mut(id.0) {
            // A caller that says something has taken in our reply.
            stream.is_paused &= stream.listener.is_none();
            if stream.awaits_peer {
                stream.awaits_peer = false;
                self.tell_established(id);
            }
        }
        self.heed(context, id);
    }

    /// The start-up came to nothing by the peer's fault, which no message can tell it.
    fn break_start_up(&mut self, id: StreamId, failure: CallFailure) {
        self.commands.push_back(Command::Reset(id));
        self.end_start_up(id, Happening::Failed(id, failure));
    }

    /// The queue pair of a stream that carries its messages.
    pub(super) fn established(&self, id: StreamId) -> Option<Qpn> {
        let stream = self.streams.get(id.0)?;
        matches!(stream.stage, Stage::Established).then_some(stream.queue_pair)?
    }

    /// How many streams may have something to send.
    pub(crate) fn ready_count(&self) -> usize {
        self.ready.len()
    }

    /// The stream whose turn it is to send.
    pub(crate) fn next_ready(&mut self) -> Option<StreamId> {
        while let Some(id) = self.ready.pop_front() {
            if let Some(stream) = self.streams.get_mut(id.0) {
                stream.is_ready = false;
                // It may have found no room since.
                if !stream.is_blocked {
                    return Some(id);
                }
            }
        }
        None
    }

    /// What a stream has to send now. Of an aligned stream that is one FPDU at most, or what TCP left of it. Afterwards say how
    /// much was [sent](Self::sent).
    pub(crate) fn output(&mut self, context: &mut Context, id: StreamId) -> &[u8] {
        if self.streams.get(id.0).is_some_and(|stream| stream.output.is_empty()) {
            self.fill(context, id);
            self.hear(context, id);
            self.progress(id);
        }
        self.streams.get(id.0).map_or(&[], |stream| stream.output.bytes())
    }

    /// Asks the queue pair for what it has to send.
    fn fill(&mut self, context: &mut Context, id: StreamId) {
        let Some(number) = self.established(id) else { return };
        let Some(handle) = queue_pair_handle(number) else { return };
        let (Some(stream), Some(Some(held))) = (self.streams.get_mut(id.0), self.queue_pairs.get_mut(handle))
        else {
            return;
        };
        if stream.is_paused || !held.queue_pair.has_work() {
            return;
        }
        let (max_fpdu, is_aligned) = (held.queue_pair.max_fpdu(), stream.is_aligned);
        let counters = &mut self.counters;
        stream.output.add(&mut self.buffers, |room| {
            let mut filled = 0;
            while room.len() - filled >= max_fpdu {
                let written = held.queue_pair.poll_transmit(context, &mut room[filled..]);
                if written == 0 {
                    break;
                }
                filled += written;
                counters.sent_fpdus += 1;
                if is_aligned {
                    break;
                }
            }
            filled
        });
    }

    /// TCP has taken so many bytes of what a stream had to send. If that was not all, the stream waits until it is
    /// [told](Self::unblocked) that there is room.
    pub(crate) fn sent(&mut self, id: StreamId, count: usize) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        stream.output.take(&mut self.buffers, count);
        self.counters.sent_bytes += count as u64;
        let (is_empty, ends) = (stream.output.is_empty(), stream.deadline.is_some());
        let established = matches!(stream.stage, Stage::Established | Stage::Parting);
        if !is_empty {
            stream.is_blocked = true;
        }
        let falls_silent = is_empty && std::mem::take(&mut stream.pauses_behind_reply);
        if count > 0 && ends && established {
            // As long as it goes on, it is not given up.
            self.give_time(id, Some(super::CLOSE_PATIENCE));
        }
        if is_empty {
            if falls_silent {
                self.fall_silent(id, self.settings.greeting_pause);
            }
            self.tell_established(id);
            self.progress(id);
            self.make_ready_if_due(id);
        }
    }

    /// The stream cannot send before it is told that there is room, though nothing is left of what it had.
    pub(crate) fn block(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(id.0) {
            stream.is_blocked = true;
        }
    }

    /// TCP has room again.
    pub(crate) fn unblocked(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(id.0) {
            stream.is_blocked = false;
            self.make_ready_if_due(id);
        }
    }

    pub(super) fn make_ready_if_due(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get(id.0) else { return };
        let has_output = !stream.output.is_empty();
        let number = self.established(id);
        let has_work =
            number.and_then(|number| self.held(number)).is_some_and(|held| held.queue_pair.has_work());
        if has_output || has_work {
            self.make_ready(id);
        }
    }

    /// The application of the called side is told, once, when the caller knows that it was accepted.
    fn tell_established(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        if stream.tells_established && !stream.awaits_peer && stream.output.is_empty() {
            stream.tells_established = false;
            self.happenings.push_back(Happening::Established(id));
        }
    }

    /// Does what follows from what the queue pair of a stream tells, and lets the stream send if it has something.
    pub(super) fn heed(&mut self, context: &mut Context, id: StreamId) {
        self.hear(context, id);
        self.make_ready_if_due(id);
    }

    fn hear(&mut self, context: &mut Context, id: StreamId) {
        let Some(number) = self.established(id) else { return };
        while let Some(event) = self.held(number).and_then(|held| held.queue_pair.poll_event()) {
            match event {
                Event::CloseSending => self.close_sending(id),
                Event::Reset => self.reset(context, id),
                Event::Closed { .. } => self.closed(id),
                Event::Terminated { by, error } => self.terminated(id, number, by, error),
                Event::LastReceiveReached => self.event(TransportEvent::LastReceiveReached(number)),
                Event::Fatal => self.event(TransportEvent::Fatal(number)),
            }
        }
    }

    fn terminated(&mut self, id: StreamId, number: Qpn, by: TerminatedBy, error: TerminateError) {
        if let Some(stream) = self.streams.get_mut(id.0) {
            stream.terminated = Some(match by {
                TerminatedBy::Us => DisconnectCause::TerminatedByUs(error),
                TerminatedBy::Peer => DisconnectCause::TerminatedByPeer(error),
            });
        }
        match by {
            TerminatedBy::Us => {
                self.counters.sent_terminates += 1;
                self.counters.wrong_crcs += u64::from(error == TerminateError::MPA_CRC);
                self.event(if is_access(error) {
                    TransportEvent::AccessError(number)
                } else {
                    TransportEvent::RequestError(number)
                });
            }
            TerminatedBy::Peer => self.counters.received_terminates += 1,
        }
    }
}

/// Whether an error is one of rights, which RoCE's queue pairs tell by an event of its own.
fn is_access(error: TerminateError) -> bool {
    [TerminateError::RDMAP_ACCESS, TerminateError::RDMAP_INVALID_STAG].contains(&error)
}
