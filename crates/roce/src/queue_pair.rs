//! A queue pair: its state, its settings, and the two halves that do the work.
//!
//! What the halves may do depends on the state, and is decided here alone: `modify` changes the state by order, `end` by
//! error, `handle` gives a half what the state lets in, and `transmit` asks one for what the state lets out.
//! [`QueuePair::next`] says what could be sent now, and feeds both [`transmit`](QueuePair::transmit) and the endpoint's
//! list of queue pairs that are ready.
//!
//! Invariant: after each call from outside, `has_requests` and `has_answers` are what the halves would say.

mod end;
mod handle;
mod modify;
mod notify;
mod pace;
mod touch;
mod transmit;

use alloc::boxed::Box;

use rdmalab_verbs::{Context, Path, PostError, ReceiveRequest, SendRequest, State, Target};
use rdmalab_wire::{Datagram, NetworkHeader, Qpn};

use crate::config::{EndpointConfig, QueuePairConfig};
use crate::congestion::NotificationState;
use crate::counters::Served;
use crate::halves::{ReceiveHalf, SendHalf};
use crate::port::Port;
use crate::settings::{Settings, is_answered_by};
use pace::Pace;

/// With a hundred thousand of them, none is in a cache when its turn comes, and each cache line costs a wait for memory.
/// So fields stand in the order of their use: what every packet needs in front, 128 bytes with the table's generation,
/// then the halves, each of which does the same, then what few packets need.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct QueuePair {
    settings: Settings,
    state: State,
    /// Whether it stands in the endpoint's list of those that may send.
    pub(crate) is_listed: bool,
    /// Whether a request goes first when both halves have something, so that neither starves.
    request_first: bool,
    /// The peer is to be told that a packet came marked.
    notifies: bool,
    /// Whether the half that sends has anything to do, so that one without need not be looked at; and the other's answers.
    has_requests: bool,
    has_answers: bool,
    /// The headers in front of every packet to the peer; a connection has them from RTR on.
    network: Option<NetworkHeader>,
    /// None where nothing limits the rate.
    pace: Option<Box<Pace>>,
    send_half: SendHalf,
    receive_half: ReceiveHalf,
    established: bool,
    drained: bool,
    path: Option<Path>,
    notification: NotificationState,
}

impl QueuePair {
    pub(crate) fn new(number: Qpn, config: &QueuePairConfig, port: &EndpointConfig, serial: u64) -> Self {
        Self {
            settings: Settings::new(number, config, port, serial),
            state: State::Reset,
            is_listed: false,
            request_first: false,
            notifies: false,
            established: false,
            drained: false,
            has_requests: false,
            has_answers: false,
            network: None,
            pace: Pace::new(port.congestion_control),
            send_half: SendHalf::new(config),
            receive_half: ReceiveHalf::new(config),
            path: None,
            notification: NotificationState::default(),
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn served(&self) -> Served {
        self.receive_half.served()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a datagram comes from the peer. Without a connection, none does.
    pub(crate) fn is_from_peer(&self, datagram: &Datagram<'_>) -> bool {
        self.network.as_ref().is_some_and(|network| is_answered_by(network, datagram))
    }

    #[inline]
    fn note_requests(&mut self) {
        self.has_requests = !self.send_half.is_idle();
    }

    #[inline]
    fn note_answers(&mut self) {
        self.has_answers = self.receive_half.may_send();
    }

    pub(crate) fn post_send(
        &mut self,
        context: &mut Context,
        request: &SendRequest<'_>,
        port: &EndpointConfig,
    ) -> Result<(), PostError> {
        match self.state {
            State::Reset | State::Init | State::Rtr => return Err(PostError::WrongState(self.state)),
            State::Rts | State::Sqd | State::Sqe | State::Err => {}
        }
        request.check(self.settings.kind)?;
        if request.operation.is_only_over_iwarp() {
            return Err(PostError::OnlyOverIwarp { operation: request.operation.name() });
        }
        if let Target::Datagram { path, .. } = request.target {
            context
                .address_handle(path)
                .filter(|handle| handle.protection_domain == self.settings.protection_domain)
                .filter(|handle| port.addresses.contains(&handle.path.source))
                .ok_or(PostError::NoSuchAddressHandle)?;
        }
        self.send_half.post(request, &self.settings)?;
        if matches!(self.state, State::Sqe | State::Err) {
            self.send_half.flush(context, self.settings.number, &self.settings);
        }
        self.note_requests();
        Ok(())
    }

    pub(crate) fn post_receive(
        &mut self,
        context: &mut Context,
        request: &ReceiveRequest<'_>,
        port: &EndpointConfig,
    ) -> Result<(), PostError> {
        if self.state == State::Reset {
            return Err(PostError::WrongState(self.state));
        }
        let tells = self.state.receives() && self.settings.grants_credits(&port.profile);
        self.receive_half.post(request, &self.settings, tells)?;
        if self.state == State::Err {
            self.receive_half.flush(context, self.settings.number, &self.settings);
        }
        self.note_answers();
        Ok(())
    }

    pub(crate) fn handle_timeout(&mut self, context: &mut Context, now: u64, port: &mut Port) {
        if let Some(pace) = &mut self.pace
            && pace.until.is_some_and(|until| until <= now)
        {
            pace.until = None;
        }
        if let Err(failure) = self.send_half.handle_timeout(now, &mut port.owner(&self.settings)) {
            self.fail(context, failure, port);
        }
        self.note_requests();
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        let requests = if self.has_requests { self.send_half.next_timeout() } else { None };
        match (requests, self.paced_until()) {
            (Some(timeout), Some(paced)) => Some(timeout.min(paced)),
            (timeout, paced) => timeout.or(paced),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::mem::offset_of;

    use super::*;

    /// Bytes in front of a queue pair in a slot of the table.
    const GENERATION: usize = 8;
    const LINE: usize = 64;

    #[test]
    fn what_every_packet_needs_of_a_queue_pair_lies_in_its_first_two_cache_lines() {
        assert_eq!(size_of::<Settings>(), LINE);
        let end = offset_of!(QueuePair, network) + size_of::<Option<NetworkHeader>>();
        assert!(GENERATION + end <= 2 * LINE, "{end}");
    }

    #[test]
    fn a_queue_pair_stays_small() {
        assert!(GENERATION + size_of::<Option<QueuePair>>() <= 9 * LINE, "{}", size_of::<QueuePair>());
    }
}
