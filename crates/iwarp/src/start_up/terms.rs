//! What one side wants of a connection.

use rdmalab_wire::iwarp::Enhanced;

use crate::negotiated::ReadyToReceive;
use crate::profile::Profile;

bitflags::bitflags! {
    /// Kinds of ready-to-receive messages.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct ReadySet: u8 {
        /// [`ReadyToReceive::Empty`].
        const EMPTY = 1;
        /// [`ReadyToReceive::Write`].
        const WRITE = 2;
        /// [`ReadyToReceive::Read`].
        const READ = 4;
    }
}

impl ReadySet {
    /// The set of one.
    pub const fn of(kind: ReadyToReceive) -> Self {
        match kind {
            ReadyToReceive::Empty => Self::EMPTY,
            ReadyToReceive::Write => Self::WRITE,
            ReadyToReceive::Read => Self::READ,
        }
    }

    /// The kinds that a frame names.
    pub(super) fn in_frame(enhanced: &Enhanced) -> Self {
        let mut set = Self::empty();
        set.set(Self::EMPTY, enhanced.rtr_empty);
        set.set(Self::WRITE, enhanced.rtr_write);
        set.set(Self::READ, enhanced.rtr_read);
        set
    }

    /// The kind, if the set is of exactly one.
    pub(super) fn only(self) -> Option<ReadyToReceive> {
        let all = [ReadyToReceive::Empty, ReadyToReceive::Write, ReadyToReceive::Read];
        all.into_iter().find(|kind| self == Self::of(*kind))
    }
}

/// What we want of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The revision of MPA to ask with. A responder goes down to that of the request.
    pub revision: u8,
    /// CRCs are used, whether or not the peer asks for them.
    pub crc: bool,
    /// We want to receive markers.
    pub markers: bool,
    /// Inbound READs and atomics that we can take at once, below 2^14 - 1.
    pub ird: u16,
    /// Outbound READs and atomics that we want to have under way at once, below 2^14 - 1.
    pub ord: u16,
    /// As initiator: the ready-to-receive messages that we could send; with none, the connection is of the client-server
    /// model, in which we must send first. As responder: those that we know.
    pub ready_to_receive: ReadySet,
}

impl Terms {
    /// Most READs that can be negotiated; one more means that nobody negotiates.
    pub const MAX_READS: u16 = Enhanced::NOT_NEGOTIATED - 1;

    /// What a profile asks for, with so many READs each way.
    pub fn of(profile: &Profile, ird: u16, ord: u16) -> Self {
        Self {
            revision: profile.revision(),
            crc: profile.crc,
            markers: false,
            ird: ird.min(Self::MAX_READS),
            ord: ord.min(Self::MAX_READS),
            ready_to_receive: if profile.peer_to_peer { profile.ready_set() } else { ReadySet::empty() },
        }
    }

    /// Whether frames carry enhanced data: from revision 2 on.
    pub(super) fn is_enhanced(&self) -> bool {
        self.revision >= 2
    }
}

/// How many READs one side has under way, given what the other takes.
pub(super) fn at_most(ours: u16, theirs: u16) -> u16 {
    // The number that says "not negotiated" is larger than all others.
    ours.min(theirs)
}
