//! The transports that are shown, and what each of them can do.

use clap::ValueEnum;
use rdmalab_device::IwarpProfile;
use rdmalab_verbs::QueuePairType;

use super::kind::Kind;

/// A transport service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// Reliable connection
    Rc,
    /// Unreliable connection
    Uc,
    /// Unreliable datagrams
    Ud,
    /// Extended reliable connection
    Xrc,
    /// iWARP: MPA, DDP and RDMAP over TCP
    Iwarp,
}

impl Transport {
    /// What is shown unless something else is asked for.
    pub fn usual(self) -> &'static [Kind] {
        match self {
            Self::Rc | Self::Xrc => &[Kind::Send, Kind::Write, Kind::Read, Kind::FetchAdd, Kind::CmpSwap],
            Self::Uc => &[Kind::Send, Kind::Write, Kind::WriteImm],
            Self::Ud => &[Kind::Send, Kind::SendImm, Kind::WrongKey],
            Self::Iwarp => {
                &[Kind::Send, Kind::Write, Kind::WriteImm, Kind::Read, Kind::FetchAdd, Kind::CmpSwap]
            }
        }
    }

    /// Whether it has an operation; iWARP with the habits of a profile.
    pub fn has(self, kind: Kind, iwarp: &IwarpProfile) -> bool {
        match (self, kind) {
            // Only datagrams carry a queue key, and iWARP alone is shown how it connects and ends.
            (_, Kind::WrongKey) => self == Self::Ud,
            (_, Kind::WrongStag) => self == Self::Iwarp,
            (Self::Iwarp, Kind::SendImm | Kind::Flush | Kind::AtomicWrite) => false,
            (Self::Iwarp, Kind::WriteImm | Kind::FetchAdd | Kind::CmpSwap) => iwarp.rfc7306,
            _ => kind.sample().supported_by(self.ends().0),
        }
    }

    /// What an operation does, for somebody who sees it for the first time.
    pub fn story(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Uc, Kind::Send) => {
                "A's message lands in a receive of B's. Nothing is acknowledged, nothing sent again."
            }
            (Self::Uc, Kind::Write) => {
                "A writes into B's memory. Whether it arrived, neither program is told."
            }
            (Self::Ud, Kind::Send) => {
                "One packet, to whom its address handle says. 40 bytes in front tell whom it is from."
            }
            (Self::Xrc, Kind::Send) => "The packets name a receive queue of B's that many connections share.",
            (Self::Iwarp, Kind::Send) => {
                "A's message lands in a buffer that B posted for it. It is done when TCP has it."
            }
            (Self::Iwarp, Kind::Write) => {
                "A writes into B's memory, by STag and offset. B's program is not told."
            }
            (Self::Iwarp, Kind::WriteImm) => "A WRITE, and Immediate Data behind it tells B's program.",
            (Self::Iwarp, Kind::Read) => {
                "A reads B's memory: the request names the sink, the answer goes there."
            }
            _ => kind.story(),
        }
    }

    /// Whether what is lost is sent again.
    pub fn is_reliable(self) -> bool {
        matches!(self, Self::Rc | Self::Xrc | Self::Iwarp)
    }

    /// Bytes of a message unless something else is asked for.
    pub fn usual_size(self) -> u32 {
        if self == Self::Ud { 1000 } else { 2500 }
    }

    /// Bytes in front of a message in a receive: where datagrams tell whom they are from.
    pub fn header_area(self) -> u32 {
        if self == Self::Ud { 40 } else { 0 }
    }

    /// The kind of A's queue pair and that of B's.
    pub fn ends(self) -> (QueuePairType, QueuePairType) {
        match self {
            Self::Rc | Self::Iwarp => (QueuePairType::Rc, QueuePairType::Rc),
            Self::Uc => (QueuePairType::Uc, QueuePairType::Uc),
            Self::Ud => (QueuePairType::Ud, QueuePairType::Ud),
            Self::Xrc => (QueuePairType::XrcInitiator, QueuePairType::XrcTarget),
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rc => "RC",
            Self::Uc => "UC",
            Self::Ud => "UD",
            Self::Xrc => "XRC",
            Self::Iwarp => "iWARP",
        }
    }
}
