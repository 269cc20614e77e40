//! What implementations differ in: peer profiles.
//!
//! The specification leaves some fields and habits open, and real implementations chose differently. A profile makes
//! packets look like those of one of them. What a profile sets never changes which operations work.

use crate::congestion::NotificationPacer;

/// The habits of an implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What it is called, for programs that let the user choose.
    pub name: &'static str,
    /// The migration state bit (MigReq) of all packets: 1 says "migrated", the state of a path that never changed.
    pub migrated: bool,
    /// A requester asks for an acknowledgement at least once in so many packets, besides the last of each message, and
    /// besides those behind which its window or the peer's credits end. None for no habit: it asks as often as its own
    /// window needs, in the middle of it, so that answers come before it closes.
    pub ack_interval: Option<u32>,
    /// Whether acknowledgements carry end-to-end credits, and those of the peer are honoured. Without, all say "none" (31),
    /// which sets no limit. Queue pairs with a shared receive queue never grant any.
    pub credits: bool,
    /// The answer to a READ that was repeated for its rest begins with MIDDLE or LAST, not with FIRST or ONLY.
    pub continues_shortened_reads: bool,
    /// What a responder does when a packet comes with a congestion mark.
    pub notifications: Option<Notifications>,
    /// Data packets say that the transport understands congestion marks (ECT(0)), unless the path's traffic class says
    /// something itself.
    pub ecn_capable: bool,
    /// Management datagrams ask for an acknowledgement, which datagrams never get.
    pub management_asks: bool,
}

/// How congestion notification packets look, and how often they go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notifications {
    /// Differentiated services code point, 6 bits.
    pub dscp: u8,
    /// UDP source port; none for the flow's own.
    pub source_port: Option<u16>,
    /// At most one for each flow in so many nanoseconds; 0 for one for each mark.
    pub interval: u64,
}

impl Profile {
    /// As the specification suggests, where it suggests something. When to ask for an acknowledgement it leaves to the
    /// requester.
    pub const SPEC: Self = Self {
        name: "spec",
        migrated: true,
        ack_interval: None,
        credits: true,
        continues_shortened_reads: false,
        notifications: Some(Notifications {
            dscp: 48,
            source_port: None,
            interval: NotificationPacer::DEFAULT_INTERVAL,
        }),
        ecn_capable: true,
        management_asks: false,
    };

    /// Linux' software implementation, as seen in captures of Linux 6.12.
    pub const RXE: Self = Self {
        name: "rxe",
        migrated: false,
        ack_interval: Some(64),
        credits: false,
        continues_shortened_reads: true,
        notifications: None,
        ecn_capable: false,
        management_asks: true,
    };

    /// NVIDIA's ConnectX adapters: the migration bit and the notification's fields as captures show them. That they grant
    /// credits is not verified. No capture shows how often they ask for acknowledgements, so there is no habit of that.
    pub const CONNECTX: Self = Self {
        name: "connectx",
        migrated: true,
        ack_interval: None,
        credits: true,
        continues_shortened_reads: false,
        notifications: Some(Notifications {
            dscp: 48,
            source_port: Some(0),
            interval: NotificationPacer::DEFAULT_INTERVAL,
        }),
        ecn_capable: true,
        management_asks: false,
    };

    /// All of them.
    pub const ALL: [Self; 3] = [Self::SPEC, Self::RXE, Self::CONNECTX];

    /// The profile of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name == name)
    }
}
