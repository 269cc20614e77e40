//! The transport services that a queue pair can have.

/// What a queue pair is (`ibv_qp_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum QueuePairType {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
    /// The sending half of an extended reliable connection.
    XrcInitiator,
    /// The receiving half of an extended reliable connection; its receives come from the shared receive queues that
    /// the peer names.
    XrcTarget,
}

impl QueuePairType {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Rc, Self::Uc, Self::Ud, Self::XrcInitiator, Self::XrcTarget];

    /// Whether every message is acknowledged.
    pub fn is_reliable(self) -> bool {
        self == Self::Rc || self.is_xrc()
    }

    /// Whether it is one of the two ends of an extended reliable connection.
    pub fn is_xrc(self) -> bool {
        matches!(self, Self::XrcInitiator | Self::XrcTarget)
    }

    /// Whether it has a send queue.
    pub fn sends(self) -> bool {
        self != Self::XrcTarget
    }

    /// Whether it takes requests of peers.
    pub fn receives(self) -> bool {
        self != Self::XrcInitiator
    }
}

impl core::fmt::Display for QueuePairType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(match self {
            Self::Rc => "RC",
            Self::Uc => "UC",
            Self::Ud => "UD",
            Self::XrcInitiator => "XRC_INI",
            Self::XrcTarget => "XRC_TGT",
        })
    }
}
