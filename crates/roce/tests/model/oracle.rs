//! What must come of the work: for each direction a list of what was posted, in order, and for each side its memory.
//!
//! Completions are checked as they come: in order, once, with the right status, length and immediate. A request that
//! succeeded is carried out on the oracle's memory, in the order of posting; whoever posts sees to it that this order
//! is one that the verbs promise. What a request that failed may have touched is not known, and said to be so.

mod completions;

use std::collections::VecDeque;
use std::ops::Range;

use rdmalab_verbs::CompletionStatus;
use rdmalab_wire::ImmDt;

use super::doors::Doors;
use super::scenario::{DoorKind, What};

/// A row of bytes in the memory of a side.
pub type Piece = Range<usize>;

/// A send work request that was posted.
#[derive(Clone, Debug)]
pub struct Op {
    pub id: u64,
    pub what: What,
    pub local: Vec<Piece>,
    pub remote: Piece,
    /// What it carries to the peer.
    pub data: Vec<u8>,
    pub immediate: ImmDt,
    pub signaled: bool,
    pub solicited: bool,
    /// It must fail, like this.
    pub poison: Option<CompletionStatus>,
    /// It may fail, like this.
    pub doubts: Vec<CompletionStatus>,
    pub uses_local_spare: bool,
    pub uses_remote_spare: bool,
    /// The door of the peer's that it goes through.
    pub through: Option<DoorKind>,
    /// The number with which it opens a door.
    pub number: u8,
}

/// A receive that was posted.
#[derive(Clone, Debug)]
pub struct Receive {
    pub id: u64,
    pub local: Vec<Piece>,
    pub uses_spare: bool,
    /// Its memory may be out of reach.
    pub doubtful: bool,
    /// It lay in a shared queue when the queue pair was reset, and may have been taken and forgotten.
    pub maybe_gone: bool,
}

/// One direction: requests of one side and receives of the other.
#[derive(Debug, Default)]
struct Flow {
    pending: VecDeque<Op>,
    receives: VecDeque<Receive>,
    /// Requests that use a receive and have not arrived there. A request that was flushed may still arrive.
    messages: VecDeque<Op>,
    /// How many of the pending requests have arrived.
    arrived: usize,
    /// A request failed: from now on all are flushed.
    failed: bool,
    /// What the requester is told about the message whose receive failed.
    refused: Option<CompletionStatus>,
}

/// What is expected of both sides.
#[derive(Debug)]
pub struct Oracle {
    memory: [Vec<u8>; 2],
    flows: [Flow; 2],
    pub doors: Doors,
    shares_receives: bool,
    /// Bytes of which it is not known what they are.
    unknown: Vec<(usize, Piece)>,
    /// The connection had a reason to end since it was set up.
    excuses: u32,
    /// A completion said that it ended.
    pub broken: bool,
    is_calm: bool,
}

pub fn length(pieces: &[Piece]) -> usize {
    pieces.iter().map(Range::len).sum()
}

pub fn overlap(a: &Piece, b: &Piece) -> bool {
    a.start < b.end && b.start < a.end
}

impl Oracle {
    pub fn new(memory: usize, is_calm: bool, shares_receives: bool) -> Self {
        Self {
            doors: Doors::default(),
            shares_receives,
            memory: [vec![0; memory], vec![0; memory]],
            flows: [Flow::default(), Flow::default()],
            unknown: Vec::new(),
            excuses: 0,
            broken: false,
            is_calm,
        }
    }

    /// The application of a side writes its own memory.
    pub fn store(&mut self, side: usize, at: usize, bytes: &[u8]) {
        self.memory[side][at..at + bytes.len()].copy_from_slice(bytes);
    }

    pub fn post(&mut self, side: usize, op: Op) {
        self.excuses += u32::from(op.poison.is_some() || !op.doubts.is_empty());
        if op.what.consumes_receive() {
            self.flows[side].messages.push_back(op.clone());
        }
        self.flows[side].pending.push_back(op);
    }

    /// `side` is the one that receives.
    pub fn receive(&mut self, side: usize, receive: Receive) {
        self.flows[1 - side].receives.push_back(receive);
    }

    /// Something happened for which the connection may end.
    pub fn excuse(&mut self) {
        self.excuses += 1;
    }

    /// Whether a piece of a side's memory is the local side of a request or a receive that is not done.
    pub fn is_in_use(&self, side: usize, piece: &Piece) -> bool {
        let requests = self.flows[side].pending.iter().flat_map(|op| &op.local);
        let receives = self.flows[1 - side].receives.iter().flat_map(|receive| &receive.local);
        requests.chain(receives).any(|used| overlap(used, piece))
    }

    /// Whether a request that writes there must be fenced, since a READ may still be reading.
    pub fn is_read(&self, side: usize, piece: &Piece) -> bool {
        self.flows[side].pending.iter().any(|op| op.what == What::Read && overlap(&op.remote, piece))
    }

    /// What is known of how a change of a door will end: if it is known, whether the door is open; nothing otherwise.
    pub fn door(&self, side: usize, door: DoorKind) -> Option<bool> {
        let is_known = !self.is_changing(side, door) && !self.doors.is_unsure(side, door);
        is_known.then(|| self.doors.is_open(side, door))
    }

    /// Lengths of the receives that a side lacks for what is on its way to it.
    pub fn missing_receives(&self, side: usize) -> Vec<usize> {
        let flow = &self.flows[1 - side];
        let firm = flow.receives.iter().filter(|receive| !receive.maybe_gone).count();
        flow.messages.iter().skip(firm).map(|op| length(&op.local)).collect()
    }

    /// Whether anything uses the spare region of a side.
    pub fn is_spare_used(&self, side: usize) -> bool {
        self.flows[side].pending.iter().any(|op| op.uses_local_spare)
            || self.flows[1 - side].pending.iter().any(|op| op.uses_remote_spare)
            || self.flows[1 - side].receives.iter().any(|receive| receive.uses_spare)
    }

    /// The spare region of a side is gone: what uses it may fail.
    pub fn doubt_spare(&mut self, side: usize) {
        if self.is_spare_used(side) {
            self.excuses += 1;
        }
        for op in self.flows[side].pending.iter_mut().filter(|op| op.uses_local_spare) {
            op.doubts.push(CompletionStatus::LocalProtectionError);
        }
        for op in self.flows[1 - side].pending.iter_mut().filter(|op| op.uses_remote_spare) {
            op.doubts.push(CompletionStatus::RemoteAccessError);
        }
        for receive in self.flows[1 - side].receives.iter_mut().filter(|receive| receive.uses_spare) {
            receive.doubtful = true;
        }
    }

    /// Whether a request under way changes what a door of a side is.
    pub fn is_changing(&self, side: usize, door: DoorKind) -> bool {
        let own = |op: &Op| op.what == What::Open(door) || op.what == What::Close(door);
        self.flows[side].pending.iter().any(own)
            || self.flows[1 - side].pending.iter().any(|op| op.what == What::SendInvalidate(door))
    }

    /// Whether a request under way goes through a door of a side.
    pub fn is_passing(&self, side: usize, door: DoorKind) -> bool {
        self.flows[1 - side].pending.iter().any(|op| op.through == Some(door))
    }

    /// A message of the peer will shut a door on which a side's own work waits: who is first cannot be told.
    pub fn doubt_work(&mut self, side: usize, door: DoorKind) {
        for op in &mut self.flows[side].pending {
            if op.what == What::Open(door) || op.what == What::Close(door) {
                let shut =
                    (op.what == What::Close(door)).then_some(CompletionStatus::LocalQueuePairOperationError);
                op.doubts.extend(op.poison.take().or(shut));
            }
        }
    }

    /// A door of a side changes while it is in use: what goes through it may fail.
    pub fn doubt_door(&mut self, side: usize, door: DoorKind) {
        self.excuses += u32::from(self.is_passing(side, door));
        for op in self.flows[1 - side].pending.iter_mut().filter(|op| op.through == Some(door)) {
            op.doubts.push(CompletionStatus::RemoteAccessError);
        }
    }

    /// Both sides forgot everything, but what lies in shared queues.
    pub fn reset(&mut self) {
        for side in 0..2 {
            let flow = std::mem::take(&mut self.flows[side]);
            for op in flow.pending {
                self.forget(side, &op);
            }
            if self.shares_receives {
                // The one that was taken may hold a part of a message, and be forgotten; one more in each reset.
                let mut receives = flow.receives;
                if let Some(first) = receives.iter_mut().find(|receive| !receive.maybe_gone) {
                    first.maybe_gone = true;
                }
                let begun = receives.iter().filter(|receive| receive.maybe_gone);
                let pieces = begun.flat_map(|receive| receive.local.iter().cloned());
                self.unknown.extend(pieces.map(|piece| (1 - side, piece)));
                self.flows[side].receives = receives;
            } else {
                let pieces = flow.receives.into_iter().flat_map(|receive| receive.local);
                self.unknown.extend(pieces.map(|piece| (1 - side, piece)));
            }
        }
        self.doors = Doors::default();
        (self.excuses, self.broken) = (0, false);
    }

    /// Compares a side's memory, and learns what was not known.
    pub fn compare(&mut self, side: usize, found: &[u8]) {
        if self.broken {
            // The message that was arriving stays a piece for ever.
            let receives = &self.flows[1 - side].receives;
            let before = receives.iter().position(|receive| !receive.maybe_gone).unwrap_or(0);
            let begun = receives.iter().take(before + 1).flat_map(|receive| &receive.local);
            self.unknown.extend(begun.map(|piece| (side, piece.clone())));
        }
        for (_, piece) in self.unknown.extract_if(.., |(of, _)| *of == side) {
            self.memory[side][piece.clone()].copy_from_slice(&found[piece]);
        }
        if self.memory[side] == found {
            return;
        }
        let wrong = self.memory[side].iter().zip(found).position(|(ours, theirs)| ours != theirs);
        if let Some(at) = wrong {
            let around = at..(at + 16).min(found.len());
            panic!(
                "memory of side {side} at {at}: {:x?} instead of {:x?}",
                &found[around.clone()],
                &self.memory[side][around]
            );
        }
    }

    /// Everything came to rest: nothing may be left, except successes that were not to be reported.
    pub fn rest(&mut self) {
        for side in 0..2 {
            while self.flows[side].pending.front().is_some_and(|op| !op.signaled) {
                self.succeed(side);
            }
            let left = &self.flows[side].pending;
            assert!(left.is_empty(), "side {side} never completes {left:?}");
        }
    }

    /// Whether there is a reason for the connection to end.
    pub fn is_excused(&self) -> bool {
        let in_doubt = |flow: &Flow| {
            flow.receives.iter().any(|receive| receive.doubtful)
                || flow.pending.iter().any(|op| !op.doubts.is_empty())
        };
        self.broken
            || self.excuses > 0
            || self.flows.iter().any(in_doubt)
            || (0..2).any(|side| self.first_short(side).is_some())
    }

    /// Nothing fails for no reason.
    fn expect_excuse(&mut self, side: usize, status: CompletionStatus) {
        assert!(self.is_excused(), "side {side} has no reason for {status}: {:#?}", self.flows);
        self.broken = true;
    }

    /// The first message of a side that is longer than the receive it meets.
    fn first_short(&self, side: usize) -> Option<u64> {
        let flow = &self.flows[side];
        flow.messages
            .iter()
            .zip(&flow.receives)
            .find(|(op, receive)| op.what.is_send() && length(&op.local) > length(&receive.local))
            .map(|(op, _)| op.id)
    }

    fn scatter(&mut self, side: usize, pieces: &[Piece], mut data: &[u8]) {
        for piece in pieces {
            let (part, rest) = data.split_at(piece.len().min(data.len()));
            self.store(side, piece.start, part);
            data = rest;
        }
    }
}
