//! Which of the ping-pong programs is spoken.

use rdmalab_device::QueuePairType;

/// One of the programs, which are named after the transport service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Kind {
    /// `ibv_rc_pingpong`: reliable, connected.
    #[default]
    Rc,
    /// `ibv_uc_pingpong`: unreliable, connected.
    Uc,
    /// `ibv_ud_pingpong`: unreliable datagrams, one packet each.
    Ud,
    /// `ibv_srq_pingpong`: several reliable connected queue pairs that draw from one shared receive queue.
    Srq,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Rc, Self::Uc, Self::Ud, Self::Srq];

    /// The real program's name.
    pub fn program(self) -> &'static str {
        match self {
            Self::Rc => "ibv_rc_pingpong",
            Self::Uc => "ibv_uc_pingpong",
            Self::Ud => "ibv_ud_pingpong",
            Self::Srq => "ibv_srq_pingpong",
        }
    }

    /// What its messages' size is if nothing else is said, in bytes: as the real program's usage text has it.
    pub fn usual_size(self) -> u32 {
        if self == Self::Ud { 2048 } else { 4096 }
    }

    /// Whether lost packets are sent again.
    pub fn is_reliable(self) -> bool {
        matches!(self, Self::Rc | Self::Srq)
    }

    /// What the real client fills its messages with. Seen: `ibv_srq_pingpong` sends zeros, the others this byte.
    pub(super) fn fill(self) -> u8 {
        if self == Self::Srq { 0 } else { 0x7b }
    }

    pub(super) fn queue_pair_type(self) -> QueuePairType {
        match self {
            Self::Rc | Self::Srq => QueuePairType::Rc,
            Self::Uc => QueuePairType::Uc,
            Self::Ud => QueuePairType::Ud,
        }
    }

    /// How many queue pairs the address messages have room for: `ibv_srq_pingpong` sends all 256 places, however many
    /// it uses. Seen between two of them with `-q 3`: 13312 bytes each way.
    pub(super) fn places(self) -> usize {
        if self == Self::Srq { super::MOST_QUEUE_PAIRS as usize } else { 1 }
    }
}
