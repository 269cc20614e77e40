//! All ways to the end of a stream.

use rdmalab_cm::DisconnectCause;
use rdmalab_iwarp::{End, Event};
use rdmalab_roce::Event as TransportEvent;
use rdmalab_verbs::Context;
use rdmalab_wire::Qpn;
use rdmalab_wire::iwarp::TerminateError;
use rdmalab_wire::mad::RejReason;

use super::{CLOSE_PATIENCE, Command, Happening, IwarpTable, Loss, Stage, StreamId};
use crate::connections::CallFailure;

impl IwarpTable {
    /// Our application ends a connection: what is queued still goes out.
    pub(crate) fn disconnect(&mut self, context: &mut Context, id: StreamId) {
        let Some(number) = self.established(id) else { return };
        if let Some(stream) = self.streams.get_mut(id.0) {
            stream.is_ours_to_end = true;
            // Who has not been told that it stands has no use for that any more.
            stream.tells_established = false;
        }
        self.give_time(id, Some(CLOSE_PATIENCE));
        if let Some(held) = self.held(number) {
            held.queue_pair.disconnect(context);
        }
        self.heed(context, id);
    }

    /// Nobody is interested in a stream any more, whatever it is doing.
    pub(crate) fn forget(&mut self, context: &mut Context, id: StreamId) {
        let Some(stream) = self.streams.get(id.0) else { return };
        match stream.stage {
            Stage::Connecting(_) | Stage::Initiating(_) => {
                self.commands.push_back(Command::Reset(id));
                self.remove(id);
            }
            // Without private data a rejection always fits.
            Stage::Asking(_) | Stage::Called(_) => {
                if self.reject(id, &[]).is_err() {
                    self.commands.push_back(Command::Reset(id));
                    self.remove(id);
                }
            }
            Stage::Established => self.disconnect(context, id),
            Stage::Parting => {}
        }
    }

    /// A stream belongs to nobody from now on: what is left of its output goes out, then the end.
    pub(super) fn orphan(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        let stage = std::mem::replace(&mut stream.stage, Stage::Parting);
        let listener = stream.listener;
        match stage {
            Stage::Connecting(_) | Stage::Initiating(_) => {
                self.commands.push_back(Command::Reset(id));
                self.remove(id);
                self.happenings
                    .push_back(Happening::Failed(id, CallFailure::Ours(RejReason::CONSUMER_REJECT)));
                return;
            }
            Stage::Asking(_) | Stage::Called(_) => self.answered(listener),
            Stage::Established => {
                self.happenings.push_back(Happening::Ended { stream: id, cause: DisconnectCause::Ours });
            }
            Stage::Parting => {}
        }
        self.unlink(id);
        self.close_sending(id);
    }

    /// A stream and its queue pair know each other no more.
    fn unlink(&mut self, id: StreamId) {
        let number = self.streams.get_mut(id.0).and_then(|stream| stream.queue_pair.take());
        if let Some(held) = number.and_then(|number| self.held(number)) {
            held.stream = None;
        }
    }

    /// Our direction is to be closed behind what is left of the output.
    pub(super) fn close_sending(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        stream.wants_end = true;
        self.give_time(id, Some(CLOSE_PATIENCE));
        self.progress(id);
        self.make_ready(id);
    }

    /// Closes our direction if all is out, and lets go of the stream if both are closed and nobody owns it.
    pub(super) fn progress(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        if !stream.output.is_empty() || !stream.wants_end {
            return;
        }
        if !stream.has_ended {
            stream.has_ended = true;
            self.commands.push_back(Command::ShutDown(id));
        }
        if stream.peer_ended && matches!(stream.stage, Stage::Parting) {
            self.commands.push_back(Command::Close(id));
            self.remove(id);
        }
    }

    /// The peer's direction is closed, or the stream is lost.
    pub(crate) fn handle_end(&mut self, context: &mut Context, id: StreamId, end: End) {
        let Some(stream) = self.streams.get_mut(id.0) else { return };
        let is_lost = end == End::Abortive;
        match &stream.stage {
            Stage::Established => {
                stream.peer_ended = true;
                if is_lost {
                    stream.output.clear(&mut self.buffers);
                    stream.has_ended = true;
                }
                let number = stream.queue_pair;
                if let Some(held) = number.and_then(|number| self.held(number)) {
                    held.queue_pair.handle_end(context, end);
                }
                self.heed(context, id);
            }
            Stage::Parting if !is_lost => {
                stream.peer_ended = true;
                self.progress(id);
            }
            Stage::Parting => {
                self.commands.push_back(Command::Close(id));
                self.remove(id);
            }
            _ => {
                self.commands.push_back(Command::Close(id));
                self.fail_start_up(id, Loss::Broken);
            }
        }
    }

    /// The queue pair has nothing more to do with its stream, which may have something to send all the same.
    pub(super) fn closed(&mut self, id: StreamId) {
        self.end(id, None);
        if let Some(stream) = self.streams.get_mut(id.0) {
            stream.stage = Stage::Parting;
        }
        self.unlink(id);
        self.close_sending(id);
    }

    /// The queue pair wants its stream reset.
    pub(super) fn reset(&mut self, context: &mut Context, id: StreamId) {
        let number = self.established(id);
        self.end(id, None);
        self.commands.push_back(Command::Reset(id));
        self.remove(id);
        if let Some(number) = number {
            self.lose(context, number);
        }
    }

    /// The connection of a queue pair came to nothing, or is over: what is left of its work is flushed.
    pub(crate) fn give_up(&mut self, context: &mut Context, number: Qpn) {
        let Some(held) = self.held(number) else { return };
        // One that still has a stream has a Terminate message to send.
        if held.stream.is_none() {
            held.queue_pair.abort(context);
            self.lose(context, number);
        }
    }

    /// A queue pair has lost its stream: its work is flushed.
    pub(crate) fn lose(&mut self, context: &mut Context, number: Qpn) {
        let Some(held) = self.held(number) else { return };
        held.queue_pair.handle_end(context, End::Abortive);
        while let Some(event) = self.held(number).and_then(|held| held.queue_pair.poll_event()) {
            // There is no stream that the other events could concern.
            if event == Event::LastReceiveReached {
                self.event(TransportEvent::LastReceiveReached(number));
            }
        }
    }

    /// Tells the application that a connection is over.
    fn end(&mut self, id: StreamId, cause: Option<DisconnectCause>) {
        let Some(stream) = self.streams.get(id.0) else { return };
        let by_whom = if stream.is_ours_to_end { DisconnectCause::Ours } else { DisconnectCause::Peer };
        let cause = stream.terminated.or(cause).unwrap_or(by_whom);
        self.happenings.push_back(Happening::Ended { stream: id, cause });
    }

    /// The peer is told by a Terminate message that the connection, which stands for it, ends.
    pub(super) fn terminate(&mut self, context: &mut Context, id: StreamId, error: TerminateError) {
        let Some(held) = self.established(id).and_then(|number| self.held(number)) else { return };
        held.queue_pair.terminate(context, error);
        self.heed(context, id);
    }

    /// Gives up what has waited too long.
    pub(crate) fn handle_timeout(&mut self, context: &mut Context, now: u64) {
        self.set_deadlines(now);
        self.pause(now);
        while let Some(&(at, id)) = self.deadlines.first()
            && at <= now
        {
            self.give_time(id, None);
            let Some(stream) = self.streams.get(id.0) else { continue };
            self.commands.push_back(Command::Reset(id));
            match stream.stage {
                Stage::Established => {
                    self.end(id, Some(DisconnectCause::NoAnswer));
                    let number = self.remove(id).and_then(|stream| stream.queue_pair);
                    if let Some(number) = number {
                        self.lose(context, number);
                    }
                }
                Stage::Parting => drop(self.remove(id)),
                _ => self.fail_start_up(id, Loss::TimedOut),
            }
        }
    }
}
