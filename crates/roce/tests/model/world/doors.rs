//! Work on doors: windows that are bound, regions that are registered fast, keys that are invalidated.

use rdmalab_verbs::{CompletionStatus, Operation, SendFlags, State};
use rdmalab_wire::ImmDt;

use super::World;
use crate::doors::numbered;
use crate::oracle::Op;
use crate::pair::flow::open;
use crate::pair::peer::Service;
use crate::rooms::MEMORY;
use crate::scenario::{DoorKind, What};

impl World {
    pub(super) fn open(&mut self, side: usize, door: DoorKind, careful: bool) {
        let known = self.oracle.door(side, door);
        // One of type 1 may be bound anew at will.
        let is_ready = door == DoorKind::WindowOne && known.is_some() || known == Some(false);
        if careful && (!is_ready || self.oracle.is_passing(side, door)) {
            return;
        }
        let Some(number) = self.oracle.doors.next_number(side, door) else { return };
        let before = self.oracle.doors.present(side, door);
        let operation = open(&self.pair.peers[side], before, numbered(door, number), MEMORY);
        let refusal = match door {
            DoorKind::Fast => CompletionStatus::LocalQueuePairOperationError,
            _ => CompletionStatus::MemoryWindowBindError,
        };
        let known = if door == DoorKind::WindowOne { known.map(|_| false) } else { known };
        self.work_on(side, door, What::Open(door), operation, known, (true, false, refusal), number);
    }

    pub(super) fn close(&mut self, side: usize, door: DoorKind, careful: bool) {
        let known = self.oracle.door(side, door);
        let can = door != DoorKind::WindowOne;
        if careful && (!can || known != Some(true) || self.oracle.is_passing(side, door)) {
            return;
        }
        let key = self.pair.peers[side].key_of(self.oracle.doors.present(side, door));
        let refusal = CompletionStatus::LocalQueuePairOperationError;
        let operation = Operation::LocalInvalidate(key);
        self.work_on(side, door, What::Close(door), operation, known, (can, true, refusal), 0);
    }

    #[allow(clippy::too_many_arguments)]
    fn work_on(
        &mut self,
        side: usize,
        door: DoorKind,
        what: What,
        operation: Operation,
        known: Option<bool>,
        (can, must_be_open, refusal): (bool, bool, CompletionStatus),
        number: u8,
    ) {
        let unfit = matches!(self.states(side)[0], State::Reset | State::Init | State::Rtr);
        if unfit || self.setup.service == Service::Xrc && door == DoorKind::WindowTwo {
            return;
        }
        let (mut poison, mut doubts) = (None, Vec::new());
        self.judge_change(known, can, must_be_open, refusal, &mut poison, &mut doubts);
        self.next_id += 2;
        let id = self.next_id;
        if self.pair.peers[side].post_elements(id, operation, &[], SendFlags::SIGNALED).is_err() {
            return;
        }
        if known.is_none() {
            self.oracle.doors.doubt(side, door);
        }
        self.oracle.doubt_door(side, door);
        self.oracle.post(
            side,
            Op {
                id,
                what,
                local: Vec::new(),
                remote: 0..0,
                data: Vec::new(),
                immediate: ImmDt::default(),
                signaled: true,
                solicited: false,
                poison,
                doubts,
                uses_local_spare: false,
                uses_remote_spare: false,
                through: None,
                number,
            },
        );
    }
}
