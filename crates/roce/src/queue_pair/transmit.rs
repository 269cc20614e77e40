//! What goes out: whether a notification, an answer or a request is next, and turns of several packets.

use rdmalab_verbs::{Context, QueuePairType, State};

use super::QueuePair;
use super::notify::notify;
use crate::batch::Batch;
use crate::config::EndpointConfig;
use crate::outlet::Outlet;
use crate::port::{Owner, Port};
use crate::responder::Broken;

/// Packets that a queue pair may send before it is another's turn.
const TURN: usize = 16;

/// What could be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// That a packet came marked.
    Notification,
    Answer,
    Request,
    Nothing,
}

impl QueuePair {
    fn next(&self, port: &EndpointConfig) -> Next {
        if self.notifies {
            return Next::Notification;
        }
        debug_assert_eq!(self.has_answers, self.receive_half.may_send());
        debug_assert_eq!(self.has_requests, !self.send_half.is_idle());
        let is_free = self.paced_until().is_none();
        let answer = self.has_answers && (is_free || !self.receive_half.sends_data());
        let request = is_free
            && self.has_requests
            && self.state.sends()
            && self.send_half.may_send(&self.settings, port, self.state == State::Rts);
        match (answer, request) {
            (true, true) if self.request_first => Next::Request,
            (true, _) => Next::Answer,
            (false, true) => Next::Request,
            (false, false) => Next::Nothing,
        }
    }

    pub(crate) fn may_send(&self, port: &EndpointConfig) -> bool {
        self.next(port) != Next::Nothing
    }

    /// Sends packets until there are no more, the batch is full, or the turn is over.
    pub(crate) fn transmit(&mut self, context: &mut Context, now: u64, port: &mut Port, batch: &mut Batch) {
        for _ in 0..TURN {
            let next = self.next(&port.config);
            if next == Next::Nothing || batch.is_full() {
                return;
            }
            let is_data = next == Next::Request || (next == Next::Answer && self.receive_half.sends_data());
            if is_data
                && let Some(pace) = &mut self.pace
                && let Some(until) = pace.controller.wait_until(now)
            {
                pace.until = Some(until);
                continue;
            }
            let Port { counters, events, numbering, config } = &mut *port;
            let network = self.network.as_ref();
            let mut outlet = Outlet {
                batch,
                network,
                numbering,
                ip_layer: config.ip_layer,
                bytes: 0,
                sent: 0,
                repeated: 0,
            };
            let settings = &self.settings;
            let mut owner = Owner { number: settings.number, settings, port: config, counters, events };
            let outcome = match next {
                Next::Notification => {
                    self.notifies = false;
                    notify(self.path.as_ref(), &mut owner, &mut outlet);
                    Ok(())
                }
                Next::Answer => {
                    self.receive_half.send(context, &mut owner, &mut outlet).map_err(|Broken| None)
                }
                _ => self.send_half.send(context, now, &mut owner, &mut outlet).map_err(Some),
            };
            self.request_first = next == Next::Answer;
            if is_data
                && outlet.sent > 0
                && let Some(pace) = &mut self.pace
            {
                pace.controller.handle_sent(now, outlet.bytes);
            }
            counters.sent_pkts += outlet.sent;
            counters.retransmitted_pkts += outlet.repeated;
            match outcome {
                Ok(()) => {}
                Err(None) => {
                    counters.send_err += 1;
                    self.enter_error(context, port);
                }
                Err(Some(failure)) => {
                    // Local work that fails was no packet.
                    counters.send_err +=
                        u64::from(self.settings.kind == QueuePairType::Ud || failure.is_of_memory());
                    self.fail(context, failure, port);
                }
            }
            match next {
                Next::Answer => self.note_answers(),
                _ => self.note_requests(),
            }
            if self.state == State::Sqd {
                self.notice_drained(port);
            }
        }
    }
}
