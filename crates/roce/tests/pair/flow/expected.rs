//! What must come of a script: its acts one after the other, on plain bytes.

use std::collections::VecDeque;

use rdmalab_verbs::{Completion, CompletionKind};

use super::{Act, Job, Outcome, Script, fill_byte};
use crate::pair::peer::{Door, Peer, Setup};

impl Script {
    /// What must come of it, whatever the link does.
    pub fn expected(&self) -> Outcome {
        // Keys are the same in every pair of peers.
        let theirs = Peer::new(1, &Setup { memory: 8, ..Setup::default() });
        let size = self.memory();
        let filled = |side| (0..size).map(|at| fill_byte(side, at)).collect();
        let mut outcome = Outcome {
            memory: [filled(0), filled(1)],
            sent: Default::default(),
            received: Default::default(),
        };
        let mut receives: [VecDeque<usize>; 2] = Default::default();
        for (place, act) in self.acts.iter().enumerate() {
            if act.job == Job::Receive {
                receives[act.side].push_back(place);
                continue;
            }
            let (kind, length) = self.carry_out(&mut outcome.memory, act);
            let id = self.id(place);
            outcome.sent[act.side].push(Completion { id, kind, length, ..Completion::default() });
            if act.job.needs_receive() {
                let receive = receives[1 - act.side].pop_front().expect("a receive for each message");
                let into = self.acts[receive];
                if act.job != Job::WriteImmediate {
                    assert!(act.length <= into.length, "a script whose messages fit");
                    copy(&mut outcome.memory, act.side, act.local, into.local, act.length);
                }
                outcome.received[1 - act.side].push(self.arrival(place, receive, &theirs));
            }
        }
        outcome
    }

    /// The completion of the receive that a message fills.
    fn arrival(&self, place: usize, receive: usize, theirs: &Peer) -> Completion {
        let act = &self.acts[place];
        let invalidated = |door: Door| Some(theirs.key_of(door));
        Completion {
            id: self.id(receive),
            kind: match act.job {
                Job::WriteImmediate => CompletionKind::ReceiveRdmaWithImmediate,
                _ => CompletionKind::Receive,
            },
            length: act.length as u32,
            immediate: matches!(act.job, Job::SendImmediate | Job::WriteImmediate)
                .then(|| self.immediate(place)),
            invalidated: if let Job::SendInvalidate(door) = act.job { invalidated(door) } else { None },
            ..Completion::default()
        }
    }

    /// Does what a request does to memory; its kind, and the length that its completion tells.
    fn carry_out(&self, memory: &mut [Vec<u8>; 2], act: &Act) -> (CompletionKind, u32) {
        let Act { side, local, length, remote, .. } = *act;
        let mut atomic = |change: &dyn Fn(u64) -> u64| {
            let mut word = [0; 8];
            word.copy_from_slice(&memory[1 - side][remote..remote + 8]);
            memory[side][local..local + 8].copy_from_slice(&word);
            let new = change(u64::from_ne_bytes(word));
            memory[1 - side][remote..remote + 8].copy_from_slice(&new.to_ne_bytes());
        };
        match act.job {
            Job::Send | Job::SendImmediate | Job::SendInvalidate(_) => (CompletionKind::Send, 0),
            Job::Write | Job::WriteImmediate => {
                copy(memory, side, local, remote, length);
                (CompletionKind::RdmaWrite, 0)
            }
            Job::Read => {
                copy(memory, 1 - side, remote, local, length);
                (CompletionKind::RdmaRead, length as u32)
            }
            Job::FetchAdd(add) => {
                atomic(&|old| old.wrapping_add(add));
                (CompletionKind::FetchAndAdd, 8)
            }
            Job::CompareSwap(compare, swap) => {
                atomic(&|old| if old == compare { swap } else { old });
                (CompletionKind::CompareAndSwap, 8)
            }
            Job::Flush => (CompletionKind::Flush, 0),
            Job::AtomicWrite(value) => {
                memory[1 - side][remote..remote + 8].copy_from_slice(&value);
                (CompletionKind::AtomicWrite, 0)
            }
            Job::Open(Door::Fast(_)) => (CompletionKind::FastRegister, 0),
            Job::Open(_) => (CompletionKind::BindWindow, 0),
            Job::Close(_) => (CompletionKind::LocalInvalidate, 0),
            Job::Receive => unreachable!("no request"),
        }
    }
}

/// Copies from a side's memory into the other's.
fn copy(memory: &mut [Vec<u8>; 2], from: usize, at: usize, to: usize, length: usize) {
    let data = memory[from][at..at + length].to_vec();
    memory[1 - from][to..to + length].copy_from_slice(&data);
}
