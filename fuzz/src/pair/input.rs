//! What two hosts are made to bear: the fuzzer's bytes as a list of steps.
//!
//! Numbers are taken modulo what there is, and PSNs and addresses are mostly small distances from what fits, so that most
//! steps do something.

use arbitrary::Arbitrary;

/// How the hosts are set up, and what happens to them.
#[derive(Arbitrary, Debug)]
pub struct Input {
    pub service: Service,
    /// Receives come from a shared queue.
    pub shares_receives: bool,
    /// Which profile, of all there are.
    pub profile: u8,
    /// None, a fixed rate, or DCQCN.
    pub congestion: u8,
    /// Which path MTU, of the five.
    pub mtu: u8,
    /// How many READs and atomics may be outstanding.
    pub reads: u8,
    pub first_psn: u32,
    /// Codes and counts, of which only the low bits count.
    pub timeout: u8,
    pub retry_count: u8,
    pub rnr_retry: u8,
    pub steps: Vec<Step>,
}

#[derive(Arbitrary, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Rc,
    Uc,
    Ud,
    Xrc,
}

#[derive(Arbitrary, Debug)]
pub enum Step {
    /// A request of any kind.
    Send {
        side: bool,
        kind: u8,
        length: u16,
        local: u16,
        remote: Place,
        flags: u8,
    },
    Receive {
        side: bool,
        length: u16,
        local: u16,
        elements: u8,
    },
    /// So many packets of both sides arrive, in order, and what they cause is sent.
    Deliver {
        count: u8,
    },
    /// One of the packets under way does not arrive, arrives twice, or goes to the end of the line.
    Lose {
        which: u8,
    },
    Repeat {
        which: u8,
    },
    Delay {
        which: u8,
    },
    /// A byte behind the network header changes, and the ICRC with it.
    Change {
        which: u8,
        at: u8,
        bits: u8,
    },
    /// A switch marks it.
    Mark {
        which: u8,
    },
    /// A packet that nobody sent goes to `side`.
    Forge {
        side: bool,
        packet: Forged,
    },
    /// Bytes that nobody sent go to `side`.
    Bytes {
        side: bool,
        bytes: Vec<u8>,
    },
    /// 2^code nanoseconds go by, or exactly until the next timeout.
    Wait {
        code: Option<u8>,
    },
    Modify {
        side: bool,
        /// Over XRC: the initiator's or the target's.
        second: bool,
        change: Change,
    },
    /// The region that may go, goes or comes back.
    Region {
        side: bool,
    },
    /// A window goes and comes back unbound, or the region for fast registration.
    Renew {
        side: bool,
        which: u8,
    },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Change {
    ToErr,
    ToSqd,
    ToRts,
    /// To RESET and up again.
    Again,
    /// To RESET and up to RTR, no further.
    ReadyToReceive,
}

/// What a key stands for.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Key {
    Usual,
    ReadOnly,
    MayGo,
    Foreign,
    /// With the consumer's number.
    WindowOne(u8),
    WindowTwo(u8),
    Fast(u8),
    Any(u32),
}

/// Memory that a request or packet names.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Place {
    pub key: Key,
    pub offset: i16,
}

/// A packet of the other side, or one that looks like it.
#[derive(Arbitrary, Clone, Debug)]
pub struct Forged {
    /// The low five bits of the opcode.
    pub operation: u8,
    /// Another transport than that of the connection, by the high bits of its opcodes.
    pub transport: Option<u8>,
    /// To the queue pair that takes requests, to the one that takes answers, or to any number.
    pub to: Option<u32>,
    /// Near the last answer of the victim, not near its last request.
    pub answers: bool,
    pub psn: i8,
    pub flags: u8,
    pub place: Place,
    pub length: u32,
    pub syndrome: u8,
    pub word: u64,
    pub payload: Payload,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Payload {
    None,
    /// As long as the path MTU, or so much more or less.
    Mtu(i8),
    /// As long as the header says.
    Fitting,
    Short(u8),
}
