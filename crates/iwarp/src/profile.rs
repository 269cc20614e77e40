//! What implementations differ in: peer profiles.
//!
//! A profile makes our side behave as one of them, or cope with it. Where the RFCs leave a choice, it makes it; where an
//! implementation departs from them, it says so.

use core::ops::RangeInclusive;

use crate::negotiated::ReadyToReceive;
use crate::start_up::ReadySet;

/// Most bytes of private data that Linux' siw takes, the enhanced data counted.
const SIW_PRIVATE_DATA: usize = 256;

/// The habits of an implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it is called, for programs that let the user choose.
    pub name: &'static str,
    /// The revisions of MPA that it answers; it asks with the last.
    pub revisions: RangeInclusive<u8>,
    /// It asks for CRCs. Without, they are used all the same where the peer asks for them.
    pub crc: bool,
    /// It sends markers to a peer that wants them; otherwise it rejects the peer (RFC 5044 §7.1.2 lets it), or, having asked
    /// itself, goes no further.
    pub sends_markers: bool,
    /// Most bytes of private data that it takes, at most 512, the enhanced data counted.
    pub max_private_data: usize,
    /// Most bytes of private data that it puts into a frame, counted likewise. Linux' siw takes 256: it refuses a longer
    /// request, and a longer reply stops its kernel (`docs/SIW.md`).
    pub max_sent_private_data: usize,
    /// Which ready-to-receive messages it knows, the one it likes best first.
    pub ready_to_receive: &'static [ReadyToReceive],
    /// It offers the peer-to-peer model of its own accord.
    pub peer_to_peer: bool,
    /// As responder it sends no FPDU before it has the initiator's first (RFC 5044 §7.1.2). Without, it may once the initiator
    /// has had time to take in the reply, which is for the owner of the byte stream to say; where a ready-to-receive message
    /// was agreed on, it waits for that all the same.
    pub waits_for_initiator: bool,
    /// It knows the operations of RFC 7306: atomics and immediate data.
    pub rfc7306: bool,
    /// Its Terminate messages come with the control bytes in the machine's bit order (`21 05 03 00` for the RFC's `12 05 c0
    /// 00`), and are understood so, too.
    pub swapped_terminates: bool,
}

impl Profile {
    /// What gets along with Linux hosts in either role: all that the RFCs have, and where Linux' siw departs from them
    /// (`docs/SIW.md`) neither side is left waiting or harmed. Private data is no longer than siw bears, its Terminate messages
    /// are understood, and a responder may speak first to who knows no ready-to-receive message.
    pub const LINUX: Self = Self {
        name: "linux",
        max_sent_private_data: SIW_PRIVATE_DATA,
        waits_for_initiator: false,
        swapped_terminates: true,
        ..Self::SPEC
    };

    /// As the RFCs have it, with all there is. Markers are sent to who wants them.
    pub const SPEC: Self = Self {
        name: "spec",
        revisions: 1..=2,
        crc: true,
        sends_markers: true,
        max_private_data: 512,
        max_sent_private_data: 512,
        ready_to_receive: &[ReadyToReceive::Write, ReadyToReceive::Read, ReadyToReceive::Empty],
        peer_to_peer: true,
        waits_for_initiator: true,
        rfc7306: true,
        swapped_terminates: false,
    };

    /// Linux' software implementation, as captures of Linux 6.12 show it: revision 2 without the peer-to-peer model, CRCs
    /// only where the peer asks for them, no markers, nothing of RFC 7306; a responder speaks when it likes.
    pub const SIW: Self = Self {
        name: "siw",
        revisions: 0..=2,
        crc: false,
        sends_markers: false,
        max_private_data: SIW_PRIVATE_DATA,
        max_sent_private_data: SIW_PRIVATE_DATA,
        ready_to_receive: &[ReadyToReceive::Write, ReadyToReceive::Read],
        peer_to_peer: false,
        waits_for_initiator: false,
        rfc7306: false,
        swapped_terminates: true,
    };

    /// Adapters of the first generations and those that play them: revision 1, CRCs, no markers. That these are the habits of
    /// any one adapter is not verified.
    pub const CHELSIO_LIKE: Self = Self {
        name: "chelsio-like",
        revisions: 1..=1,
        crc: true,
        sends_markers: false,
        max_private_data: 512,
        max_sent_private_data: SIW_PRIVATE_DATA,
        ready_to_receive: &[],
        peer_to_peer: false,
        waits_for_initiator: true,
        rfc7306: false,
        swapped_terminates: false,
    };

    /// All of them.
    pub const ALL: [Self; 4] = [Self::LINUX, Self::SPEC, Self::SIW, Self::CHELSIO_LIKE];

    /// The profile of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name == name)
    }

    /// The revision it asks with.
    pub fn revision(&self) -> u8 {
        *self.revisions.end()
    }

    /// The ready-to-receive messages it knows.
    pub(crate) fn ready_set(&self) -> ReadySet {
        self.ready_to_receive.iter().fold(ReadySet::empty(), |set, kind| set | ReadySet::of(*kind))
    }
}
