//! The operations that are shown.

use clap::ValueEnum;
use rdmalab_verbs::{CompletionKind, Operation, Placement, RemoteAddress, Selectivity};
use rdmalab_wire::{ImmDt, RKey};

/// Bytes of a value of an atomic.
pub const VALUE: u32 = 8;

/// An operation. Their names on the command line are those that clap makes of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    Send,
    SendImm,
    SendInv,
    Write,
    WriteImm,
    Read,
    FetchAdd,
    CmpSwap,
    Flush,
    AtomicWrite,
    WrongKey,
    WrongStag,
}

impl Kind {
    /// The name, as the opcodes have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Send => "SEND",
            Self::SendImm => "SEND_IMM",
            Self::SendInv => "SEND_INV",
            Self::Write => "WRITE",
            Self::WriteImm => "WRITE_IMM",
            Self::Read => "READ",
            Self::FetchAdd => "FETCH_ADD",
            Self::CmpSwap => "CMP_SWAP",
            Self::Flush => "FLUSH",
            Self::AtomicWrite => "ATOM_WRITE",
            Self::WrongKey => "WRONG_KEY",
            Self::WrongStag => "WRONG_STAG",
        }
    }

    /// What it does, for somebody who sees it for the first time.
    pub fn story(self) -> &'static str {
        match self {
            Self::Send => "A's message lands in a buffer that B posted for it, and both programs are told.",
            Self::SendImm => "As SEND, and four bytes besides arrive in B's completion.",
            Self::SendInv => "As SEND, and a key of B's stops working before B is told.",
            Self::Write => "A writes into B's memory, by address and key. B's program is not told.",
            Self::WriteImm => "As WRITE, but four bytes and a completion tell B's program.",
            Self::Read => "A reads B's memory: one packet asks, the answer comes in several.",
            Self::FetchAdd => "A adds to a number in B's memory, and gets what it was before.",
            Self::CmpSwap => "A replaces a number in B's memory if it is the one A expects.",
            Self::Flush => "A writes, and asks to be told when everybody at B can see it.",
            Self::AtomicWrite => "A writes eight bytes that nobody ever sees half.",
            Self::WrongKey => "A sends with a wrong queue key: B drops it, and nobody is told.",
            Self::WrongStag => "A reads by an STag that B never gave: B says why it ends the connection.",
        }
    }

    /// What its completion at A says it was.
    pub fn completion(self) -> CompletionKind {
        self.sample().completion_kind()
    }

    /// One of its operations, to ask about.
    pub fn sample(self) -> Operation {
        let (remote, immediate) = (RemoteAddress::default(), ImmDt([0; 4]));
        let (placement, selectivity) = (Placement::GLOBAL, Selectivity::Range);
        match self {
            Self::Send | Self::WrongKey => Operation::Send,
            Self::SendImm => Operation::SendWithImmediate(immediate),
            Self::SendInv => Operation::SendWithInvalidate(RKey::default()),
            Self::Write => Operation::RdmaWrite(remote),
            Self::WriteImm => Operation::RdmaWriteWithImmediate(remote, immediate),
            Self::Read | Self::WrongStag => Operation::RdmaRead(remote),
            Self::FetchAdd => Operation::FetchAndAdd { remote, add: 0 },
            Self::CmpSwap => Operation::CompareAndSwap { remote, compare: 0, swap: 0 },
            Self::Flush => Operation::Flush { remote, length: 0, placement, selectivity },
            Self::AtomicWrite => Operation::AtomicWrite { remote, value: [0; 8] },
        }
    }

    /// Whether it brings back what a number in B's memory was. All of a kind go to one number.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAdd | Self::CmpSwap)
    }

    /// Whether it carries a value instead of a message.
    pub fn is_value(self) -> bool {
        self.is_atomic() || self == Self::AtomicWrite
    }

    /// Whether its message lands in a receive of B's.
    pub fn fills_receive(self) -> bool {
        matches!(self, Self::Send | Self::SendImm | Self::SendInv | Self::WrongKey)
    }

    /// Whether B posts a receive for it.
    pub fn takes_receive(self) -> bool {
        self.fills_receive() || self == Self::WriteImm
    }

    /// Whether four bytes come with it, by which B knows which message it is.
    pub fn has_immediate(self) -> bool {
        matches!(self, Self::SendImm | Self::WriteImm)
    }

    /// Whether it is refused, which ends the connection.
    pub fn ends_connection(self) -> bool {
        self == Self::WrongStag
    }

    /// Messages under way at once.
    pub fn depth(self) -> u32 {
        // There is one key to take away, and B gives it anew for each message.
        if self == Self::SendInv { 1 } else { 8 }
    }
}
