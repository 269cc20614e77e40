//! Completions: each must be the next that the lists allow, and what it stands for is done on the oracle's memory.

use rdmalab_verbs::{Completion, CompletionKind, CompletionStatus};

use super::{Op, Oracle, Receive, length};
use crate::scenario::{DoorKind, What};

impl Oracle {
    /// Takes a completion that a side reports. Requests have even numbers, receives odd ones.
    pub fn complete(&mut self, side: usize, completion: &Completion) {
        match (completion.id % 2, completion.status) {
            (0, CompletionStatus::Success) => self.complete_request(side, completion),
            (0, _) => self.fail_request(side, completion),
            (_, CompletionStatus::Success) => self.complete_receive(1 - side, completion),
            (..) => self.fail_receive(1 - side, completion),
        }
    }

    /// Requests before the one that completes succeeded in silence, or they would have been reported.
    fn skip_silent(&mut self, side: usize, id: u64) {
        while self.flows[side].pending.front().is_some_and(|op| op.id != id && !op.signaled) {
            self.succeed(side);
        }
        let next = self.flows[side].pending.front();
        assert_eq!(next.map(|op| op.id), Some(id), "side {side} completes out of order; next is {next:?}");
    }

    fn complete_request(&mut self, side: usize, completion: &Completion) {
        self.skip_silent(side, completion.id);
        let op = &self.flows[side].pending[0];
        assert!(op.signaled, "{op:?} was not to be reported");
        let (kind, bytes) = match op.what {
            What::Send | What::SendImmediate | What::SendInvalidate(_) => (CompletionKind::Send, 0),
            What::Write | What::WriteImmediate => (CompletionKind::RdmaWrite, 0),
            What::Read => (CompletionKind::RdmaRead, length(&op.local)),
            What::FetchAdd { .. } => (CompletionKind::FetchAndAdd, 8),
            What::CompareSwap { .. } => (CompletionKind::CompareAndSwap, 8),
            What::Flush => (CompletionKind::Flush, 0),
            What::AtomicWrite { .. } => (CompletionKind::AtomicWrite, 0),
            What::Open(DoorKind::Fast) => (CompletionKind::FastRegister, 0),
            What::Open(_) => (CompletionKind::BindWindow, 0),
            What::Close(_) => (CompletionKind::LocalInvalidate, 0),
        };
        let found = (completion.kind, completion.length as usize, completion.immediate, completion.solicited);
        assert_eq!(found, (kind, bytes, None, false), "{op:?}");
        self.succeed(side);
    }

    /// The oldest request of a side is done: so it is on the oracle's memory.
    pub(super) fn succeed(&mut self, side: usize) {
        let flow = &mut self.flows[side];
        assert!(!flow.failed, "a request succeeds behind one that failed");
        let Some(op) = flow.pending.pop_front() else { return };
        assert!(op.poison.is_none(), "{op:?} succeeds");
        if op.what.consumes_receive() {
            assert!(flow.arrived > 0, "{op:?} succeeds without a receive");
            flow.arrived -= 1;
        }
        match op.what {
            // Its data landed when the receive completed.
            What::Send | What::SendImmediate | What::SendInvalidate(_) | What::Flush => {}
            What::AtomicWrite { value } => {
                self.store(1 - side, op.remote.start, &value.to_ne_bytes());
            }
            What::Open(door) => self.doors.opened(side, door, op.number),
            What::Close(door) => self.doors.closed(side, door),
            What::Write | What::WriteImmediate => {
                self.store(1 - side, op.remote.start, &op.data);
            }
            What::Read => {
                let data = self.memory[1 - side][op.remote.clone()].to_vec();
                self.scatter(side, &op.local, &data);
            }
            What::FetchAdd { add } => self.atomic(side, &op, |old| old.wrapping_add(add)),
            What::CompareSwap { compare, swap } => {
                self.atomic(side, &op, |old| if old == compare { swap } else { old });
            }
        }
    }

    fn atomic(&mut self, side: usize, op: &Op, change: impl Fn(u64) -> u64) {
        let mut word = [0; 8];
        word.copy_from_slice(&self.memory[1 - side][op.remote.clone()]);
        let new = change(u64::from_ne_bytes(word));
        self.store(1 - side, op.remote.start, &new.to_ne_bytes());
        self.scatter(side, &op.local, &word);
    }

    fn fail_request(&mut self, side: usize, completion: &Completion) {
        self.skip_silent(side, completion.id);
        let status = completion.status;
        self.expect_excuse(side, status);
        let flow = &mut self.flows[side];
        let Some(op) = flow.pending.pop_front() else { return };
        let refused = flow.refused.filter(|_| op.what.consumes_receive());
        let allowed = match (flow.failed, op.poison) {
            (true, _) => status == CompletionStatus::WorkRequestFlushed,
            // Nothing is lost, and nothing else went wrong.
            (false, Some(poison)) if self.is_calm && self.excuses == 1 && flow.refused.is_none() => {
                status == poison
            }
            (false, poison) => {
                [CompletionStatus::WorkRequestFlushed, CompletionStatus::RetryExceeded].contains(&status)
                    || poison == Some(status)
                    || op.doubts.contains(&status)
                    || refused == Some(status)
            }
        };
        assert!(allowed, "{status} of {op:?}");
        flow.failed = true;
        if op.what.consumes_receive() {
            flow.arrived = flow.arrived.saturating_sub(1);
        }
        self.forget(side, &op);
    }

    /// What a request that failed may have written.
    pub(super) fn forget(&mut self, side: usize, op: &Op) {
        match op.what {
            What::Send | What::SendImmediate | What::SendInvalidate(_) => {}
            What::Flush | What::Open(_) | What::Close(_) => {}
            What::AtomicWrite { .. } | What::Write | What::WriteImmediate => {
                self.unknown.push((1 - side, op.remote.clone()))
            }
            What::Read => self.unknown.extend(op.local.iter().map(|piece| (side, piece.clone()))),
            What::FetchAdd { .. } | What::CompareSwap { .. } => {
                self.unknown.push((1 - side, op.remote.clone()));
                self.unknown.extend(op.local.iter().map(|piece| (side, piece.clone())));
            }
        }
    }

    /// Takes the receive that a completion is about, which is the next.
    fn take_receive(&mut self, side: usize, completion: &Completion) -> Receive {
        let receives = &mut self.flows[side].receives;
        while receives.front().is_some_and(|first| first.maybe_gone && first.id != completion.id) {
            receives.pop_front();
        }
        let Some(receive) = receives.pop_front() else { panic!("nothing was posted for {completion:?}") };
        assert_eq!(receive.id, completion.id, "receives complete out of order");
        receive
    }

    /// A receive completes for a message of the flow's requester `side`.
    fn complete_receive(&mut self, side: usize, completion: &Completion) {
        let receive = self.take_receive(side, completion);
        let flow = &mut self.flows[side];
        let Some(op) = flow.messages.pop_front() else { panic!("nothing was sent for {completion:?}") };
        flow.arrived += 1;
        let bytes = length(&op.local);
        let kind = match op.what {
            What::WriteImmediate => CompletionKind::ReceiveRdmaWithImmediate,
            _ => CompletionKind::Receive,
        };
        let immediate = op.what.has_immediate().then_some(op.immediate);
        let found = (completion.kind, completion.length as usize, completion.immediate, completion.solicited);
        assert_eq!(found, (kind, bytes, immediate, op.solicited), "{op:?}");
        assert!(op.poison.is_none(), "{op:?} arrives");
        let closes = if let What::SendInvalidate(door) = op.what { Some(door) } else { None };
        assert_eq!(completion.invalidated.is_some(), closes.is_some(), "{op:?}");
        if let Some(door) = closes {
            self.doors.closed(1 - side, door);
        }
        if kind == CompletionKind::Receive {
            assert!(bytes <= length(&receive.local), "{op:?} does not fit {receive:?}");
            self.scatter(1 - side, &receive.local, &op.data);
        }
    }

    fn fail_receive(&mut self, side: usize, completion: &Completion) {
        self.expect_excuse(side, completion.status);
        let short = self.first_short(side);
        let receive = self.take_receive(side, completion);
        let flow = &mut self.flows[side];
        self.excuses += u32::from(completion.status != CompletionStatus::WorkRequestFlushed);
        let allowed = match completion.status {
            CompletionStatus::WorkRequestFlushed => true,
            CompletionStatus::LocalLengthError => {
                flow.refused = Some(CompletionStatus::RemoteInvalidRequest);
                short.is_some()
            }
            CompletionStatus::LocalProtectionError => {
                flow.refused = Some(CompletionStatus::RemoteOperationError);
                receive.doubtful
            }
            // A SEND may not invalidate what it names.
            CompletionStatus::RemoteAccessError => {
                flow.messages.front().is_some_and(|op| matches!(op.what, What::SendInvalidate(_)))
            }
            _ => false,
        };
        assert!(allowed, "{} of {receive:?}", completion.status);
        self.unknown.extend(receive.local.into_iter().map(|piece| (1 - side, piece)));
    }
}
