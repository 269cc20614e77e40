//! Changes of state and of memory regions.

use std::collections::VecDeque;
use std::sync::Arc;

use rdmalab_verbs::{Access, Attributes, Memory, Path, State};
use rdmalab_wire::Psn;

use super::super::input::{Change, Input};
use super::{BASE, OURS, PEER, PEER_QUEUE_PAIR, Rig, mtu};

impl Rig {
    /// From RESET up, by so many steps.
    pub(super) fn raise(&mut self, steps: usize) {
        for attributes in self.steps.iter().take(steps) {
            self.endpoint
                .modify(&mut self.context, self.queue_pair, attributes)
                .expect("a change by the table");
        }
        self.expected = self.steps[1].receive_psn.unwrap_or_default();
        self.asked.clear();
    }

    pub(super) fn modify(&mut self, change: Change) {
        let state = match change {
            Change::ToErr => State::Err,
            Change::ToSqd => State::Sqd,
            Change::ToRts => State::Rts,
            Change::Again | Change::ReadyToReceive => State::Reset,
        };
        if state == State::Rts && self.state() == State::Rtr {
            self.raise_from_rtr();
            return;
        }
        let attributes = Attributes { state: Some(state), ..Attributes::default() };
        let changed = self.endpoint.modify(&mut self.context, self.queue_pair, &attributes);
        if changed.is_ok() && state == State::Reset {
            self.take_completions();
            self.posted = [VecDeque::new(), VecDeque::new()];
            assert!(!self.endpoint.has_packets() || self.sends_nothing(), "RESET sends packets");
            assert_eq!(self.endpoint.next_timeout(), None, "RESET waits");
            self.raise(if matches!(change, Change::Again) { 3 } else { 2 });
        }
    }

    pub(super) fn raise_from_rtr(&mut self) {
        self.endpoint
            .modify(&mut self.context, self.queue_pair, &self.steps[2])
            .expect("a change by the table");
    }

    /// A queue pair that was ready may still be listed; it is asked in vain.
    pub(super) fn sends_nothing(&mut self) -> bool {
        self.batch.clear();
        self.endpoint.poll(&mut self.context, self.now, &mut self.batch);
        self.batch.is_empty() && !self.endpoint.has_packets()
    }

    pub(super) fn change_region(&mut self) {
        if self.may_go {
            self.context.deregister(self.frame.may_go).expect("it is there");
        } else {
            let memory: Arc<dyn Memory> = self.memory.clone();
            let key = self.context.register(self.domain, BASE, memory, Access::FULL);
            self.frame.may_go = key.expect("few were made");
        }
        self.may_go = !self.may_go;
    }
}

/// The three changes that lead from RESET to RTS.
pub(super) fn steps(input: &Input, first_psn: Psn) -> [Attributes; 3] {
    let reads = Some(input.reads % 17);
    [
        Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: Some(Access::FULL),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rtr),
            path: Some(Path::new(OURS, PEER)),
            path_mtu: Some(mtu(input.mtu)),
            destination: Some(PEER_QUEUE_PAIR),
            receive_psn: Some(first_psn),
            max_destination_reads: reads,
            min_rnr_timer: Some(1),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rts),
            timeout: Some(input.timeout % 32),
            retry_count: Some(input.retry_count % 8),
            rnr_retry: Some(input.rnr_retry % 8),
            send_psn: Some(first_psn),
            max_reads: reads,
            ..Attributes::default()
        },
    ]
}
