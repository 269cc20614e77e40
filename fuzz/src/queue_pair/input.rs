//! What a queue pair is made to bear: the fuzzer's bytes as a list of steps.
//!
//! PSNs and addresses are mostly small distances from what fits, so that most packets get past the first checks.

use arbitrary::Arbitrary;

/// How the queue pair is set up, and what happens to it.
#[derive(Arbitrary, Debug)]
pub struct Input {
    /// Which path MTU, of the five.
    pub mtu: u8,
    /// How many READs and atomics each side may have outstanding.
    pub reads: u8,
    pub first_psn: Psn,
    /// Local ACK timeout code, retry count and RNR retry count, of which only the low bits count.
    pub timeout: u8,
    pub retry_count: u8,
    pub rnr_retry: u8,
    pub steps: Vec<Step>,
}

/// PSNs where something may go wrong.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Psn {
    Zero,
    /// So many before they wrap.
    Wrap(u8),
    Any(u32),
}

#[derive(Arbitrary, Debug)]
pub enum Step {
    /// A request, so far from the one that the responder expects.
    Request {
        psn: i8,
        body: Request,
        payload: Payload,
        flags: u8,
    },
    /// A response, so far from the requester's oldest packet that is not answered.
    Response {
        psn: i8,
        body: Response,
        payload: Payload,
        flags: u8,
    },
    /// The right answers to so many of the oldest requests that went out.
    Answer {
        count: u8,
    },
    /// Any opcode with any bytes behind the base header.
    Raw {
        opcode: u8,
        psn: i8,
        flags: u16,
        bytes: Vec<u8>,
    },
    /// Not even that.
    Bytes {
        bytes: Vec<u8>,
    },
    /// 2^code nanoseconds go by, or exactly until the next timeout.
    Wait {
        code: Option<u8>,
    },
    /// Packets go out, as many as fit into a batch or all there are.
    Poll {
        all: bool,
    },
    Send {
        kind: u8,
        length: u16,
        at: u16,
        flags: u8,
        foreign: bool,
    },
    Receive {
        length: u16,
        at: u16,
        elements: u8,
        foreign: bool,
    },
    Modify {
        change: Change,
    },
    /// The region that may go, goes or comes back.
    Region,
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

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Payload {
    None,
    /// As long as the path MTU, or so much more or less.
    Mtu(i8),
    Short(u8),
    Long(u16),
}

/// Memory of ours that a packet names.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Place {
    pub key: Key,
    pub offset: i16,
    pub length: u16,
    /// Bits set in the length, to make it huge.
    pub more: Option<u8>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Key {
    Usual,
    ReadOnly,
    MayGo,
    Foreign,
    Any(u32),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Request {
    SendFirst,
    SendMiddle,
    SendLast,
    SendLastImm,
    SendOnly,
    SendOnlyImm,
    SendLastInv(u32),
    SendOnlyInv(u32),
    WriteFirst(Place),
    WriteMiddle,
    WriteLast,
    WriteLastImm,
    WriteOnly(Place),
    WriteOnlyImm(Place),
    /// A WRITE whose length is that of its payload.
    WriteFitting(Place),
    Read(Place),
    CompareSwap(Place, u64, u64),
    FetchAdd(Place, u64),
}

#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Response {
    Acknowledge { syndrome: u8, msn: u8 },
    ReadFirst { syndrome: u8 },
    ReadMiddle,
    ReadLast { syndrome: u8 },
    ReadOnly { syndrome: u8 },
    Atomic { syndrome: u8, original: u64 },
}
