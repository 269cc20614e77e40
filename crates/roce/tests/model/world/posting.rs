//! Posting requests, and telling the oracle what must come of them.

use rdmalab_verbs::{
    CompletionStatus, Memory, Operation, Placement, PostError, RemoteAddress, Selectivity, SendFlags, Sge,
    State,
};
use rdmalab_wire::{ImmDt, RKey};

use super::{BASE, DEAD_KEY, World};
use crate::oracle::{Op, Piece};
use crate::pair::peer::{INLINE, Service};
use crate::rooms::{MEMORY, Use};
use crate::scenario::{Aim, DoorKind, Key, What, Work};

impl World {
    pub(super) fn post(&mut self, side: usize, work: &Work) {
        let mut work = work.clone();
        work.inline &= work.what.may_be_inline() && work.length <= INLINE;
        if work.inline {
            // No key is looked at.
            work.key = Key::Main;
        }
        if self.setup.service == Service::Xrc {
            // No opcodes, and no window of type 2 that the answering queue pair has bound.
            let knows = !matches!(work.what, What::Flush | What::AtomicWrite { .. });
            if !knows || work.what == What::SendInvalidate(DoorKind::WindowTwo) {
                return;
            }
            if work.aim == Aim::Door(DoorKind::WindowTwo) {
                work.aim = Aim::Main;
            }
        }
        if let Aim::Door(door) = work.aim
            && (work.careful && self.oracle.door(1 - side, door) != Some(true) || work.what.is_send())
        {
            work.aim = Aim::Main;
        }
        let (mut poison, mut doubts) = (poison(&work), Vec::new());
        if let What::SendInvalidate(door) = work.what {
            let known = self.oracle.door(1 - side, door);
            let can = door != DoorKind::WindowOne;
            if work.careful && !(can && known == Some(true)) {
                return;
            }
            let refusal = CompletionStatus::RemoteAccessError;
            self.judge_change(known, can, true, refusal, &mut poison, &mut doubts);
            if known.is_none() {
                self.oracle.doors.doubt(1 - side, door);
                self.oracle.doubt_work(1 - side, door);
            }
            // Not in front of a READ through the door that is still being answered.
            work.fence = true;
        }
        if let Aim::Door(door) = work.aim
            && work.length > 0
            && poison.is_none()
        {
            let refusal = CompletionStatus::RemoteAccessError;
            self.judge_change(
                self.oracle.door(1 - side, door),
                true,
                true,
                refusal,
                &mut poison,
                &mut doubts,
            );
        }
        self.post_judged(side, &work, poison, doubts);
    }

    /// What a request for which a door must be open (or shut) will come to: `refusal` surely, or perhaps.
    pub(super) fn judge_change(
        &self,
        known: Option<bool>,
        can: bool,
        must_be_open: bool,
        refusal: CompletionStatus,
        poison: &mut Option<CompletionStatus>,
        doubts: &mut Vec<CompletionStatus>,
    ) {
        match known {
            _ if poison.is_some() => {}
            _ if !can => *poison = Some(refusal),
            Some(is_open) if is_open == must_be_open => {}
            Some(_) => *poison = Some(refusal),
            None => doubts.push(refusal),
        }
    }

    fn post_judged(
        &mut self,
        side: usize,
        work: &Work,
        poison: Option<CompletionStatus>,
        doubts: Vec<CompletionStatus>,
    ) {
        let local_length = if work.what.is_without_elements() { 0 } else { work.length };
        let Some(local) = self.buffer(side, Use::Request, local_length, &work.cuts) else {
            self.settle();
            return;
        };
        if matches!(self.states(side)[0], State::Reset | State::Init | State::Rtr) {
            return;
        }
        self.next_id += 2;
        let id = self.next_id;
        let remote = work.target..work.target + work.length;
        let writes = work.what.is_word() || matches!(work.what, What::Write | What::WriteImmediate);
        let mut data = Vec::new();
        if !work.what.is_word() && work.what != What::Read {
            for piece in &local {
                let bytes: Vec<u8> = (0..piece.len()).map(|n| (n as u64 * 7 + id * 31) as u8).collect();
                self.pair.peers[side].memory.write(piece.start, &bytes).unwrap();
                self.oracle.store(side, piece.start, &bytes);
                data.extend(bytes);
            }
        }
        let mut flags = SendFlags::empty();
        flags.set(SendFlags::SIGNALED, work.signaled);
        flags.set(SendFlags::SOLICITED, work.solicited);
        flags.set(SendFlags::FENCE, work.fence || writes && self.oracle.is_read(side, &remote));
        let immediate = ImmDt((id as u32).to_be_bytes());
        let elements: Vec<Sge> = local.iter().map(|piece| self.sge(side, piece, work.key)).collect();
        let bare = work.inline || work.what.is_without_elements();
        let elements = if bare { &[][..] } else { &elements };
        let inline = work.inline.then_some(&data[..]);
        let operation = self.operation(side, work, immediate);
        match self.pair.peers[side].post_request(id, operation, elements, inline, flags) {
            Ok(()) => {}
            Err(PostError::QueueFull { .. }) => return,
            Err(error) => panic!("{error} for {work:?}"),
        }
        if work.inline {
            // They were copied.
            for piece in &local {
                let other: Vec<u8> = (0..piece.len()).map(|n| !(n as u64 * 7 + id * 31) as u8).collect();
                self.pair.peers[side].memory.write(piece.start, &other).unwrap();
                self.oracle.store(side, piece.start, &other);
            }
        }
        let reaches_out = !work.what.is_send();
        self.oracle.post(
            side,
            Op {
                id,
                what: work.what,
                local,
                remote,
                data,
                immediate,
                signaled: work.signaled,
                solicited: work.solicited && work.what.consumes_receive(),
                poison,
                doubts,
                uses_local_spare: work.key == Key::Spare && !bare,
                uses_remote_spare: work.aim == Aim::Spare && reaches_out,
                through: if let Aim::Door(door) = work.aim { Some(door) } else { None },
                number: 0,
            },
        );
    }

    fn operation(&self, side: usize, work: &Work, immediate: ImmDt) -> Operation {
        let theirs = &self.pair.peers[1 - side];
        let present = |door| theirs.key_of(self.oracle.doors.present(1 - side, door));
        let key = match work.aim {
            Aim::Main | Aim::Astray => RKey::new(theirs.key),
            Aim::Spare => RKey::new(self.spare[1 - side]),
            Aim::Dead => RKey::new(DEAD_KEY),
            Aim::Door(door) => present(door),
        };
        let at = match work.aim {
            Aim::Astray if work.what.is_word() => work.target + 4,
            Aim::Astray => MEMORY + 1 - work.length,
            _ => work.target,
        };
        let remote = RemoteAddress { address: BASE + at as u64, key };
        match work.what {
            What::Send => Operation::Send,
            What::SendImmediate => Operation::SendWithImmediate(immediate),
            What::SendInvalidate(door) => Operation::SendWithInvalidate(present(door)),
            What::Write => Operation::RdmaWrite(remote),
            What::WriteImmediate => Operation::RdmaWriteWithImmediate(remote, immediate),
            What::Read => Operation::RdmaRead(remote),
            What::FetchAdd { add } => Operation::FetchAndAdd { remote, add },
            What::CompareSwap { compare, swap } => Operation::CompareAndSwap { remote, compare, swap },
            What::AtomicWrite { value } => Operation::AtomicWrite { remote, value: value.to_ne_bytes() },
            What::Flush => Operation::Flush {
                remote,
                length: work.length as u32,
                placement: Placement::GLOBAL | Placement::PERSISTENT,
                selectivity: Selectivity::Range,
            },
            What::Open(_) | What::Close(_) => unreachable!("posted elsewhere"),
        }
    }

    pub(super) fn sge(&self, side: usize, piece: &Piece, key: Key) -> Sge {
        let key = match key {
            Key::Main => self.pair.peers[side].key,
            Key::Spare => self.spare[side],
            Key::Dead => DEAD_KEY,
        };
        Sge { address: BASE + piece.start as u64, length: piece.len() as u32, key }
    }
}

/// How a request must end because of how it was posted.
fn poison(work: &Work) -> Option<CompletionStatus> {
    // Nothing is asked of a key when there are no bytes.
    if work.length == 0 {
        return None;
    }
    if work.key == Key::Dead && !work.what.is_without_elements() {
        return Some(CompletionStatus::LocalProtectionError);
    }
    match (work.what, work.aim) {
        (what, _) if what.is_send() => None,
        (_, Aim::Main | Aim::Spare | Aim::Door(_)) => None,
        (what, Aim::Astray) if what.is_word() => Some(CompletionStatus::RemoteInvalidRequest),
        (_, Aim::Dead | Aim::Astray) => Some(CompletionStatus::RemoteAccessError),
    }
}
