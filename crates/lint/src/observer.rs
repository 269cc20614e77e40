//! What is told while a capture is judged, for those who draw it: nothing of it is kept here.

use rdmalab_wire::Psn;

use crate::finding::Finding;
use crate::iwarp::SegmentRole;
use crate::packet::OperationKind;

/// Why a requester sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Cause {
    /// A NAK: PSN sequence error.
    Nak,
    /// A response that came though an earlier one is missing.
    ImpliedNak,
    /// Nothing came: the timer ran out.
    Timeout,
    /// The receiver was not ready, and the wait is over.
    Rnr,
    /// Nothing in the capture says why.
    Unknown,
}

impl Cause {
    /// All of them.
    pub const ALL: [Cause; 5] = [Cause::Nak, Cause::ImpliedNak, Cause::Timeout, Cause::Rnr, Cause::Unknown];

    /// In a word or two.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Nak => "NAK",
            Cause::ImpliedNak => "implied NAK",
            Cause::Timeout => "timeout",
            Cause::Rnr => "RNR",
            Cause::Unknown => "unknown",
        }
    }
}

/// What a packet is in its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A request that has not been sent before.
    Request,
    /// A request that is sent again.
    Repetition {
        /// Why.
        cause: Cause,
        /// Whether the capture has it for the first time, the original having been lost in front.
        is_first_seen: bool,
    },
    /// A request that is in the capture twice, or that came twice over the network: not sent again.
    Duplicate,
    /// A request that comes behind later ones.
    Late,
    /// A response to requests of the flow.
    Response,
    /// A response that no requests are known of.
    Unpaired,
    /// A datagram, a notification: nothing is owed for it.
    Alone,
}

/// A packet, and the flow it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its number in the file.
    pub frame: u64,
    /// The flow whose request it is, or whose requests it answers.
    pub flow: u64,
    /// What it is there.
    pub role: Role,
    /// Its PSN.
    pub psn: Psn,
}

/// An operation that is complete: all of its packets, from the first to the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The flow.
    pub flow: u64,
    /// What it does.
    pub kind: OperationKind,
    /// Bytes of the message.
    pub bytes: u64,
    /// PSN of its first packet.
    pub first_psn: Psn,
    /// PSN of its last packet, or of the last packet of its answer.
    pub last_psn: Psn,
    /// Frame and time (nanoseconds) of its first packet.
    pub begun: (u64, i64),
    /// Frame and time of what completed it; its last packet's where nothing does, as over unreliable connections.
    pub completed: (u64, i64),
    /// Packets of it that were sent again.
    pub repeated: u64,
}

/// A TCP segment with data of an iWARP stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedSegment {
    /// Its number in the file.
    pub frame: u64,
    /// The direction it goes in; see [`StreamReport::number`](crate::StreamReport::number).
    pub flow: u64,
    /// What it is there.
    pub role: SegmentRole,
}

/// What a start-up frame or an FPDU is in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitRole {
    /// A start-up frame of MPA.
    StartUp,
    /// The message by which an initiator says that it is ready, or a part of it.
    Ready,
    /// A part of a request.
    Request,
    /// A part of an answer.
    Answer,
    /// A part of an answer that no request is known of.
    Unasked,
    /// A Terminate message.
    Terminate,
    /// It makes no sense.
    Broken,
}

/// A start-up frame or FPDU, and where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedUnit {
    /// Number of the frame in the file that brought its last byte.
    pub frame: u64,
    /// Which it is of those that the frame completed: an index into [`Dissection::iwarp`](rdmalab_trace::Dissection::iwarp).
    pub index: usize,
    /// The direction whose request it is, or whose requests it answers.
    pub flow: u64,
    /// What it is there.
    pub role: UnitRole,
}

/// An operation over iWARP that is complete. A SEND or WRITE is when all of it has come by, a READ or atomic with the end of its
/// answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamOperation {
    /// The direction that asked for it.
    pub flow: u64,
    /// What it does.
    pub kind: OperationKind,
    /// Bytes of the message.
    pub bytes: u64,
    /// Its number in its queue; of a WRITE, which has none, `None`.
    pub msn: Option<u32>,
    /// Frame and time (nanoseconds) of the end of its first FPDU.
    pub begun: (u64, i64),
    /// Frame and time of what completed it.
    pub completed: (u64, i64),
}

/// Is told what is found out, as early as it is known.
pub trait Observer {
    /// The place of a packet.
    fn packet(&mut self, placed: Placed) {
        let _ = placed;
    }

    /// The place of an earlier packet is another than was told: what came behind it shows that it was late, or there twice.
    fn corrected(&mut self, placed: Placed) {
        let _ = placed;
    }

    /// A packet whose request the responder did not get, though the capture has it.
    fn lost_behind(&mut self, flow: u64, frame: u64) {
        let _ = (flow, frame);
    }

    /// An operation that is complete.
    fn operation(&mut self, operation: &Operation) {
        let _ = operation;
    }

    /// The place of a TCP segment with data, from the first on that is known to belong to iWARP.
    fn segment(&mut self, placed: PlacedSegment) {
        let _ = placed;
    }

    /// The place of a start-up frame or an FPDU.
    fn unit(&mut self, placed: PlacedUnit) {
        let _ = placed;
    }

    /// An operation over iWARP that is complete.
    fn stream_operation(&mut self, operation: &StreamOperation) {
        let _ = operation;
    }

    /// A finding.
    fn finding(&mut self, finding: &Finding) {
        let _ = finding;
    }
}

/// Nobody is told.
impl Observer for () {}
