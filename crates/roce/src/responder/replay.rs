//! What was done before, so that a repeated request gets the same answer without being carried out again.

use rdmalab_verbs::{Access, Atomic64};
use rdmalab_wire::{AtomicEth, Body, Feth, Packet, Psn, RKey, Reth};

use super::Responder;
use super::execute::operation;
use super::replies::Reply;
use crate::counters::Discard;
use crate::port::Owner;
use crate::receives::Landing;
use crate::ring::Ring;

/// A READ or atomic that was accepted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) first: Psn,
    /// PSNs that it takes.
    pub(super) packets: u32,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// As it was asked for at first. The memory is read anew for each replay.
    Read(Reth),
    /// As it was asked for, with the value that was found.
    Atomic { address: u64, key: RKey, operation: Atomic64, original: u64 },
    /// As it was asked for. Nothing is flushed again.
    Flush(Feth, Reth),
    /// As it was asked for. Nothing is written again.
    AtomicWrite(Reth),
}

/// So that a ring has something for places that are free.
impl Default for Kind {
    fn default() -> Self {
        Self::Read(Reth { virtual_address: 0, key: RKey::new(0), length: 0 })
    }
}

/// The last READs and atomics, as many as the peer may have outstanding.
#[derive(Debug, Default)]
pub(super) struct Replay {
    done: Ring<Done>,
}

impl Replay {
    /// Sets how many are remembered; the newest stay.
    pub(super) fn resize(&mut self, depth: u8) {
        self.done.resize(depth.into());
    }

    pub(super) fn remember(&mut self, done: Done) {
        if !self.done.push(done) {
            self.done.pop();
            self.done.push(done);
        }
    }

    /// The one that takes this PSN, newest first.
    fn find(&self, psn: Psn) -> Option<Done> {
        self.done
            .iter()
            .rev()
            .find(|done| (0..done.packets as i32).contains(&psn.distance(done.first)))
            .copied()
    }
}

impl Responder {
    /// A request in front of the expected PSN: carried out before, never again.
    pub(super) fn handle_duplicate(&mut self, packet: &Packet<'_>, landing: &Landing, owner: &mut Owner<'_>) {
        owner.counters.duplicate_request += 1;
        let reply = match packet.body {
            Body::ReadRequest(reth) => self.replay_read(packet.bth.psn, reth, landing, owner),
            Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => {
                self.replay_atomic(packet.bth.psn, atomic, operation(&packet.body, atomic))
            }
            Body::Flush(feth, reth) => self.replay_without_data(
                packet.bth.psn,
                |kind| matches!(kind, Kind::Flush(f, r) if (f, r) == (feth, reth)),
            ),
            Body::AtomicWrite(reth) => self.replay_without_data(
                packet.bth.psn,
                |kind| matches!(kind, Kind::AtomicWrite(r) if r == reth),
            ),
            // Only where it is asked for, as the end of every repetition does. Linux rxe, which goes back packet by packet,
            // can stop for good when an acknowledgement runs ahead of what it has sent again.
            _ => {
                if packet.bth.ack_request {
                    self.acknowledge();
                }
                return;
            }
        };
        if !reply.is_some_and(|reply| self.replies.push_replay(reply)) {
            owner.counters.discard(Discard::NotReplayed);
        }
    }

    /// A repeated READ asks for all of the original or for its end.
    fn replay_read(&self, psn: Psn, reth: Reth, landing: &Landing, owner: &Owner<'_>) -> Option<Reply> {
        let done = self.replay.find(psn)?;
        let Kind::Read(original) = done.kind else { return None };
        let skipped = psn.distance(done.first) as u32;
        let offset = u64::from(skipped) * owner.settings.mtu.bytes() as u64;
        let matches = owner.settings.access.contains(Access::REMOTE_READ)
            && reth.key == original.key
            && reth.virtual_address == original.virtual_address.wrapping_add(offset)
            && u64::from(reth.length) + offset == u64::from(original.length);
        let domain = landing.accessor.protection_domain;
        let begins = skipped == 0 || !owner.port.profile.continues_shortened_reads;
        matches.then(|| Reply::read(psn, done.packets - skipped, reth, domain, self.msn).repeated(begins))
    }

    /// A repeated atomic asks for the same on the same eight bytes.
    fn replay_atomic(&self, psn: Psn, atomic: AtomicEth, again: Atomic64) -> Option<Reply> {
        let done = self.replay.find(psn)?;
        let Kind::Atomic { address, key, operation, original } = done.kind else { return None };
        let matches = (address, key, operation) == (atomic.virtual_address, atomic.key, again);
        matches.then_some(Reply::Atomic { psn, msn: self.msn, original, is_new: false })
    }

    /// A repeated FLUSH or ATOMIC WRITE asks for the same.
    fn replay_without_data(&self, psn: Psn, is_same: impl Fn(Kind) -> bool) -> Option<Reply> {
        let done = self.replay.find(psn)?;
        is_same(done.kind).then_some(Reply::Done { psn, msn: self.msn, is_new: false })
    }
}
