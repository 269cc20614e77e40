//! How the work of a queue pair ends: drained in SQD, with an error, or flushed.

use rdmalab_verbs::{Context, State};
use rdmalab_wire::Qpn;

use super::QueuePair;
use crate::event::Event;
use crate::halves::SendHalf;
use crate::port::Port;
use crate::requester::Failure;

impl QueuePair {
    /// In SQD, tells once when everything that was begun is done.
    #[inline]
    pub(super) fn notice_drained(&mut self, port: &mut Port) {
        if self.state == State::Sqd && !self.drained && self.send_half.is_drained() {
            self.drained = true;
            port.owner(&self.settings).event(Event::SendQueueDrained(self.settings.number));
        }
    }

    /// A request met an error. A reliable connection ends with it; an unreliable queue pair stops sending.
    pub(super) fn fail(&mut self, context: &mut Context, Failure(status): Failure, port: &mut Port) {
        self.send_half.fail(context, self.settings.number, &self.settings, status);
        self.note_requests();
        match self.send_half {
            SendHalf::Unreliable(_) => self.state = State::Sqe,
            SendHalf::Reliable(_) | SendHalf::None => self.enter_error(context, port),
        }
    }

    /// A completion queue has overrun, and what the application is not told of must not happen; or the port is gone.
    pub(crate) fn end_by_fate(&mut self, context: &mut Context, port: &mut Port) {
        if !matches!(self.state, State::Reset | State::Err) {
            // The general services interface is nobody's but the port's own.
            if self.settings.number != Qpn::GSI {
                port.owner(&self.settings).event(Event::Fatal(self.settings.number));
            }
            self.enter_error(context, port);
        }
    }

    /// Its connection is given up: into ERR, once it has answered what it has carried out.
    pub(crate) fn give_up(&mut self, context: &mut Context, port: &mut Port) {
        if !matches!(self.state, State::Reset | State::Err) {
            self.receive_half.keep_last_words();
            self.notifies = false;
            self.enter_error(context, port);
        }
    }

    /// Whether answers wait to be sent.
    pub(crate) fn owes_answers(&self) -> bool {
        self.has_answers
    }

    /// Into ERR by the protocol: answers that are due, among them the NAK, still go out.
    pub(super) fn enter_error(&mut self, context: &mut Context, port: &mut Port) {
        let from = core::mem::replace(&mut self.state, State::Err);
        self.flush(context, from, port);
    }

    pub(super) fn flush(&mut self, context: &mut Context, from: State, port: &mut Port) {
        if let Some(pace) = &mut self.pace {
            pace.until = None;
        }
        self.send_half.flush(context, self.settings.number, &self.settings);
        self.receive_half.flush(context, self.settings.number, &self.settings);
        self.note_requests();
        self.note_answers();
        if from != State::Err && self.settings.shared.is_some() {
            port.owner(&self.settings).event(Event::LastReceiveReached(self.settings.number));
        }
    }
}
