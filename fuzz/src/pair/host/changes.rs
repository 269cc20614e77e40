//! Changes of state, of regions and of windows.

use rdmalab_verbs::{Access, Attributes, Path, State};
use rdmalab_wire::{Psn, Qpn};

use super::super::input::{Change, Input, Service};
use super::{Host, QUEUE_KEY, address};

/// What a connection is set up with.
pub struct Setup {
    reads: u8,
    timeout: u8,
    retry_count: u8,
    rnr_retry: u8,
    first_psn: Psn,
}

impl Setup {
    pub fn new(input: &Input, first_psn: Psn) -> Self {
        Self {
            reads: input.reads % 17,
            timeout: input.timeout % 32,
            retry_count: input.retry_count % 8,
            rnr_retry: input.rnr_retry % 8,
            first_psn,
        }
    }
}

impl Host {
    /// From RESET up, by so many steps.
    pub(super) fn raise(&mut self, queue_pair: Qpn, steps: usize) {
        for attributes in self.steps(queue_pair).iter().take(steps) {
            self.endpoint.modify(&mut self.context, queue_pair, attributes).expect("a change by the table");
        }
    }

    /// The three changes that lead from RESET to RTS.
    fn steps(&self, queue_pair: Qpn) -> [Attributes; 3] {
        let Some(other) = self.other else { return [Attributes::default(); 3] };
        let is_datagram = self.service == Service::Ud;
        let is_reliable = matches!(self.service, Service::Rc | Service::Xrc);
        let asks = is_reliable && queue_pair == self.sender;
        let answers = is_reliable && queue_pair == self.receiver;
        let destination = if queue_pair == self.sender { other.receiver } else { other.sender };
        let Setup { reads, timeout, retry_count, rnr_retry, first_psn } = self.setup;
        let connected = !is_datagram;
        [
            Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: connected.then_some(Access::FULL),
                queue_key: is_datagram.then_some(QUEUE_KEY),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rtr),
                path: connected.then(|| Path::new(address(self.number), address(1 - self.number))),
                path_mtu: connected.then_some(self.mtu),
                destination: connected.then_some(destination),
                receive_psn: connected.then_some(first_psn),
                max_destination_reads: answers.then_some(reads),
                min_rnr_timer: answers.then_some(1),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rts),
                timeout: is_reliable.then_some(timeout),
                retry_count: asks.then_some(retry_count),
                rnr_retry: asks.then_some(rnr_retry),
                send_psn: Some(first_psn),
                max_reads: asks.then_some(reads),
                ..Attributes::default()
            },
        ]
    }

    pub fn change(&mut self, now: u64, second: bool, change: Change) {
        let queue_pair = if second { self.receiver } else { self.sender };
        let state = match change {
            Change::ToErr => State::Err,
            Change::ToSqd => State::Sqd,
            Change::ToRts => State::Rts,
            Change::Again | Change::ReadyToReceive => State::Reset,
        };
        if state == State::Rts && self.endpoint.state(queue_pair) == Some(State::Rtr) {
            let last = self.steps(queue_pair)[2];
            self.endpoint.modify(&mut self.context, queue_pair, &last).expect("a change by the table");
            return;
        }
        let attributes = Attributes { state: Some(state), ..Attributes::default() };
        let changed = self.endpoint.modify(&mut self.context, queue_pair, &attributes);
        if changed.is_ok() && state == State::Reset {
            self.take_completions();
            if queue_pair == self.sender {
                self.requests.clear();
            }
            if self.shared.is_none() {
                self.receives.clear();
            }
            if self.states().all(|state| state == State::Reset) {
                assert!(self.poll(now).is_empty(), "RESET sends packets");
                assert!(!self.endpoint.has_packets(), "RESET has packets");
                assert_eq!(self.endpoint.next_timeout(), None, "RESET waits");
            }
            self.raise(queue_pair, if matches!(change, Change::Again) { 3 } else { 2 });
        }
    }

    pub fn change_region(&mut self) {
        self.rooms.change_region(&mut self.context);
    }

    pub fn renew(&mut self, which: u8) {
        self.rooms.renew(&mut self.context, which);
    }
}
