//! One thing of a conversation over iWARP changed, and the rules that it breaks.

mod further;

use rdmalab_lint::RuleId;

use super::stream::*;
pub use further::further;

/// A conversation that no rule finds fault with, and what to change in one thing of it.
pub struct StreamCase {
    pub rule: RuleId,
    /// Rules that the same change breaks, too.
    pub others: &'static [RuleId],
    pub clean: fn() -> Vec<Step>,
    /// What is changed, for the table.
    pub what: &'static str,
    /// Which thing, counted from 0.
    pub step: usize,
    pub change: StreamChange,
}

/// What happens to it.
pub enum StreamChange {
    Alter(fn(&mut Step)),
    /// It is said here instead.
    Move(usize),
    /// It is said once more, so many things later.
    Again(usize),
}

use StreamChange::{Again, Alter, Move};

impl StreamCase {
    pub fn changed(&self) -> Vec<Step> {
        let mut steps = (self.clean)();
        match self.change {
            Alter(change) => change(&mut steps[self.step]),
            Move(to) => {
                let step = steps.remove(self.step);
                steps.insert(to, step);
            }
            Again(later) => {
                let step = steps[self.step].clone();
                steps.insert(self.step + 1 + later, step);
            }
        }
        steps
    }
}

const fn case(
    rule: RuleId,
    clean: fn() -> Vec<Step>,
    what: &'static str,
    step: usize,
    change: StreamChange,
) -> StreamCase {
    StreamCase { rule, others: &[], clean, what, step, change }
}

/// Where the frame of MPA has its flags, its revision, and the bytes of enhanced data.
const FLAGS: usize = 16;
const REVISION: usize = 17;
const IRD: usize = 21;
const ORD_HIGH: usize = 22;
const ORD: usize = 23;
/// Where the header of a segment has its control fields, an untagged one its number and offset, a tagged one the low bytes of
/// tag and offset.
const DDP: usize = 0;
const RDMAP: usize = 1;
const MSN: usize = 13;
const MESSAGE_OFFSET: usize = 17;
const STAG: usize = 5;
const TAGGED_OFFSET: usize = 13;
/// Where the body of an untagged segment begins.
const BODY: usize = 18;
/// The bit L.
const LAST: u8 = 0x40;

/// All of them.
pub fn stream_cases() -> Vec<StreamCase> {
    use RuleId::*;
    vec![
        case(MpaCrc, ordinary, "a wrong CRC", 4, Alter(Step::break_crc)),
        case(
            MpaStart,
            ordinary,
            "the reply is a request",
            1,
            Alter(|step| step.bytes()[..16].copy_from_slice(b"MPA ID Req Frame")),
        ),
        case(MpaFirst, ordinary, "the responder sends first", 3, Move(2)),
        case(MpaRejected, ordinary, "the reply rejects", 1, Alter(|step| step.bytes()[FLAGS] |= 0x20)),
        case(MpaRevision, ordinary, "the reply has revision 3", 1, Alter(|step| step.bytes()[REVISION] = 3)),
        case(MpaFlags, ordinary, "the request rejects", 0, Alter(|step| step.bytes()[FLAGS] |= 0x20)),
        case(
            MpaDepth,
            ordinary,
            "the reply wants five READs at once",
            1,
            Alter(|step| step.bytes()[ORD] = 5),
        ),
        case(
            MpaRtr,
            peer_to_peer,
            "the reply picks two messages",
            1,
            Alter(|step| step.bytes()[ORD_HIGH] |= 0x40),
        ),
        case(
            MpaReady,
            peer_to_peer,
            "the ready-to-receive message has four bytes",
            2,
            Alter(|step| step.bytes().extend([0; 4])),
        ),
        case(
            MpaMarker,
            marked,
            "a marker points elsewhere",
            4,
            Alter(|step| {
                step.edit(|bytes| {
                    let at = find_marker(bytes);
                    bytes[at + 3] ^= 4;
                });
            }),
        ),
        case(
            MpaPad,
            ordinary,
            "the padding is not zero",
            2,
            Alter(|step| {
                step.edit(|bytes| {
                    let at = bytes.len() - 5;
                    bytes[at] = 1;
                })
            }),
        ),
        case(DdpVersion, ordinary, "version 2 of DDP", 4, Alter(|step| step.bytes()[DDP] ^= 0b11)),
        case(DdpReserved, ordinary, "a reserved bit", 4, Alter(|step| step.bytes()[DDP] |= 0x04)),
        case(
            RdmapOpcode,
            ordinary,
            "an opcode that there is not",
            2,
            Alter(|step| step.bytes()[RDMAP] |= 0x0f),
        ),
        case(DdpMsn, ordinary, "a SEND has the number 7", 14, Alter(|step| step.bytes()[MSN] = 7)),
        case(
            DdpOffset,
            ordinary,
            "the rest of a SEND is elsewhere",
            4,
            Alter(|step| step.bytes()[MESSAGE_OFFSET] ^= 8),
        ),
        case(
            DdpLast,
            ordinary,
            "the last piece does not say so",
            6,
            Alter(|step| step.bytes()[DDP] &= !LAST),
        ),
        case(
            RdmapAnswer,
            ordinary,
            "an answer goes beside the sink",
            11,
            Alter(|step| step.bytes()[TAGGED_OFFSET] ^= 8),
        ),
        case(RdmapUnasked, ordinary, "an answer comes once more", 11, Again(0)),
        case(RdmapDepth, ordinary, "the reply allows one READ", 1, Alter(|step| step.bytes()[IRD] = 1)),
        case(
            StagInvalidated,
            invalidated,
            "a WRITE names the invalidated tag",
            4,
            Alter(|step| step.bytes()[STAG - 1] = 3),
        ),
        case(
            RdmapTerminate,
            terminated,
            "the Terminate message has the number 2",
            3,
            Alter(|step| step.bytes()[MSN] = 2),
        ),
        case(
            TerminateBits,
            terminated,
            "its control field is the wrong way round",
            3,
            Alter(|step| {
                step.bytes()[BODY] = step.bytes()[BODY].rotate_left(4);
                step.bytes()[BODY + 2] = step.bytes()[BODY + 2].reverse_bits();
            }),
        ),
        case(
            TerminateError,
            terminated,
            "there is no such error",
            3,
            Alter(|step| step.bytes()[BODY + 1] = 0x77),
        ),
        case(
            TerminateHeader,
            terminated,
            "the segment has another length",
            3,
            Alter(|step| step.bytes()[BODY + 5] ^= 1),
        ),
    ]
}

/// The first marker within an FPDU, where it is the only thing of two zero bytes and a number that is not zero.
fn find_marker(bytes: &[u8]) -> usize {
    let is_payload = |byte: &u8| *byte == 1;
    let body = bytes.iter().position(is_payload).unwrap();
    let at = bytes[body..].iter().position(|byte| !is_payload(byte)).unwrap() + body;
    assert!(bytes[at..at + 2] == [0, 0] && bytes[at + 2..at + 4] != [0, 0], "{at}");
    at
}
