//! All ways to the end of a connection: in order, by a Terminate message, by the loss of the stream.

use rdmalab_verbs::{CompletionStatus, Context, State};
use rdmalab_wire::iwarp::{Terminate, TerminateError};

use super::QueuePair;
use crate::event::{End, Event, TerminatedBy};
use crate::fault::Fault;
use crate::terminate::{Blamed, Outgoing};

impl QueuePair {
    /// Closes the connection in order: what is queued is sent, answers that are owed either way are waited for, then
    /// [`Event::CloseSending`] comes, and behind the peer's end [`Event::Closed`]. Before there is a connection, it fails at
    /// once.
    pub fn disconnect(&mut self, context: &mut Context) {
        match self.state {
            State::Rts => {
                self.state = State::Sqd;
                self.settle(context);
            }
            State::Init => self.abort(context),
            _ => {}
        }
    }

    /// Ends the connection at once: all work is flushed, and the stream is to be reset.
    pub fn abort(&mut self, context: &mut Context) {
        if self.state != State::Err {
            self.events.push(Event::Reset);
            self.enter_error(context, CompletionStatus::WorkRequestFlushed);
        }
    }

    /// Ends the connection by a Terminate message before it has carried anything: the peer takes it for one that stands, and the
    /// start-up has come to terms that we cannot take (RFC 6581 §7).
    pub fn terminate(&mut self, context: &mut Context, error: TerminateError) {
        match self.state {
            State::Init => self.abort(context),
            _ => self.fail(context, &Fault::new(error), None),
        }
    }

    /// The peer's direction of the stream has ended.
    pub fn handle_end(&mut self, context: &mut Context, end: End) {
        if self.state == State::Err {
            if end == End::Abortive {
                self.terminate = None;
            }
            self.events.push(Event::Closed { graceful: false });
            return;
        }
        let is_between_messages = self.framer.is_between_fpdus()
            && !self.inbound.is_in_message()
            && !self.requester.awaits_answer();
        if end == End::Graceful && is_between_messages && self.state != State::Init {
            self.peer_ended = true;
            self.settle(context);
            return;
        }
        if end == End::Graceful {
            // It closes what it owes us, or in the middle of something: nothing that we sent would be heard.
            self.events.push(Event::Reset);
        }
        self.enter_error(context, CompletionStatus::WorkRequestFlushed);
        self.events.push(Event::Closed { graceful: false });
    }

    /// Notices that there is nothing left to send, on the way to the end.
    pub(super) fn settle(&mut self, context: &mut Context) {
        if !matches!(self.state, State::Rts | State::Sqd) {
            return;
        }
        if self.peer_ended {
            self.settle_behind_peer(context);
        } else if self.state == State::Sqd && self.requester.is_drained() && !self.responder.may_send() {
            self.events.push(Event::CloseSending);
        }
    }

    /// The peer has closed its direction: what it asked for is answered, then ours is closed, too.
    fn settle_behind_peer(&mut self, context: &mut Context) {
        if self.responder.may_send() && !self.events.has_told(Event::CloseSending) && !self.held_back {
            return;
        }
        if self.requester.is_in_message() {
            self.events.push(Event::Reset);
        } else {
            self.events.push(Event::CloseSending);
        }
        self.enter_error(context, CompletionStatus::WorkRequestFlushed);
        let graceful = !self.events.has_told(Event::Reset);
        self.events.push(Event::Closed { graceful });
    }

    /// Something is wrong: the peer is told, once, and all work ends.
    pub(super) fn fail(&mut self, context: &mut Context, fault: &Fault, blamed: Option<Blamed<'_>>) {
        if self.state == State::Err {
            return;
        }
        if self.events.has_told(Event::CloseSending) {
            self.events.push(Event::Reset);
        } else {
            self.terminate = Some(Outgoing::new(fault, blamed));
        }
        self.events.push(Event::Terminated { by: TerminatedBy::Us, error: fault.error });
        self.requester.fail(context, &self.settings, 0, fault.request);
        self.enter_error(context, fault.receive);
    }

    /// The peer's Terminate message came. It is not answered by one (RFC 5040 §5.4).
    pub(super) fn handle_terminate(&mut self, context: &mut Context, terminate: &Terminate<'_>) {
        self.events.push(Event::Terminated { by: TerminatedBy::Peer, error: terminate.error });
        self.events.push(Event::CloseSending);
        self.requester.fail_terminated(context, &self.settings, terminate);
        self.enter_error(context, CompletionStatus::WorkRequestFlushed);
    }

    /// Into ERR: all work is flushed, but for a Terminate message that is due nothing is sent any more.
    pub(super) fn enter_error(&mut self, context: &mut Context, taken: CompletionStatus) {
        self.state = State::Err;
        self.requester.fail(context, &self.settings, 0, CompletionStatus::WorkRequestFlushed);
        self.responder.forget();
        self.inbound.flush(context, &self.settings, taken);
        if self.settings.shared.is_some() {
            self.events.push(Event::LastReceiveReached);
        }
    }

    /// A completion queue has overrun: what the application is not told of must not happen.
    pub(super) fn notice_overrun(&mut self, context: &mut Context) {
        if context.overruns() == self.overruns {
            return;
        }
        self.overruns = context.overruns();
        if self.settings.has_overrun(context) && self.state != State::Err {
            self.events.push(Event::Fatal);
            if self.state == State::Init {
                self.enter_error(context, CompletionStatus::WorkRequestFlushed);
            } else {
                self.fail(context, &Fault::of_ours(), None);
            }
        }
    }
}
