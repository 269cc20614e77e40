//! Putting the stream together.

use rdmalab_verbs::{Context, State};
use rdmalab_wire::iwarp::ReadRequest;

use super::QueuePair;
use crate::event::Event;
use crate::fault::Fault;
use crate::requester::Step;
use crate::responder::Unanswerable;
use crate::terminate::blame_read;

/// What could be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Terminate,
    Request,
    Answer,
}

impl QueuePair {
    /// Whether [`poll_transmit`](Self::poll_transmit) has something to do.
    pub fn has_work(&self) -> bool {
        self.next().is_some()
    }

    /// Writes the next FPDU to the start of `out` and says how many bytes it is, the marker in front of it counted; local work
    /// is done on the way. 0 if there is nothing to send now, or if it does not fit: [`max_fpdu`](Self::max_fpdu) bytes are
    /// always enough.
    ///
    /// What was written is sent, as far as completions are concerned; it must go into the stream, in order.
    pub fn poll_transmit(&mut self, context: &mut Context, out: &mut [u8]) -> usize {
        self.notice_overrun(context);
        let written = self.write(context, out);
        self.settle(context);
        written
    }

    /// What to do next. A Terminate message goes first, then what makes the peer ready; a message that was begun goes on; and whole messages of requests and
    /// of answers take turns.
    fn next(&self) -> Option<Turn> {
        if self.terminate.is_some() {
            return Some(Turn::Terminate);
        }
        let is_open = matches!(self.state, State::Rts | State::Sqd)
            && !self.held_back
            && !self.events.has_told(Event::CloseSending);
        if !is_open {
            return None;
        }
        // An initiator's ready-to-receive message is its first FPDU (RFC 6581 §9.2), whatever the peer asks for before it has it.
        if self.requester.owes_ready() || self.requester.is_in_message() {
            return Some(Turn::Request);
        }
        if self.responder.is_in_message() {
            return Some(Turn::Answer);
        }
        // Behind the peer's end nothing new is begun; what it has asked for still goes out.
        let request = self.requester.may_send() && !self.peer_ended;
        match (request, self.responder.may_send()) {
            (true, true) => Some(if self.request_first { Turn::Request } else { Turn::Answer }),
            (true, false) => Some(Turn::Request),
            (false, true) => Some(Turn::Answer),
            (false, false) => None,
        }
    }

    fn write(&mut self, context: &mut Context, out: &mut [u8]) -> usize {
        // Each turn without bytes ends a request or the connection, so this ends, too.
        while let Some(turn) = self.next() {
            match turn {
                Turn::Terminate => return self.write_terminate(out),
                Turn::Request => {
                    self.request_first = false;
                    match self.requester.step(context, &self.settings, &mut self.outlet, out) {
                        Step::Written(written) => return written,
                        Step::NoRoom => return 0,
                        Step::Quiet => {}
                        Step::Failed(place, status) => {
                            self.requester.fail(context, &self.settings, place, status);
                            self.fail(context, &Fault::of_ours(), None);
                        }
                    }
                }
                Turn::Answer => {
                    self.request_first = true;
                    match self.responder.send(context, &self.settings, &mut self.outlet, out) {
                        Ok(written) => return written.unwrap_or(0),
                        Err(Unanswerable { fault, msn, request }) => {
                            let request: [u8; ReadRequest::LENGTH] = request.encode();
                            self.fail(context, &fault, Some(blame_read(msn, &request)));
                        }
                    }
                }
            }
        }
        0
    }

    /// The last that is ever sent (RFC 5040 §5.4).
    fn write_terminate(&mut self, out: &mut [u8]) -> usize {
        let Some(terminate) = &self.terminate else { return 0 };
        let Some(written) = terminate.send(&mut self.outlet, out) else { return 0 };
        self.terminate = None;
        self.events.push(Event::CloseSending);
        written
    }
}
