//! What a test is to do, and which wishes cannot be had together.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rdmalab_device::{PathMtu, Psn, QueuePairType};

use super::error::PerfError;
use super::session::check_memory;
use crate::calling::Stop;
use crate::herald::Herald;

/// The TCP port that the programs listen on if nothing else is said.
pub const DEFAULT_PORT: u16 = 18515;

/// With so many messages or fewer a peak is looked for.
const PEAK_MESSAGES: u64 = 20_000;
/// The sizes of `-a` are the powers of two up to this one.
const LARGEST_OF_ALL: u32 = 1 << 23;
/// A message of more bytes gets a completion of its own if nothing else is said.
const MODERATED_SIZE: u32 = 8192;

/// Who begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Waits for a client.
    Server,
    /// Connects to the server at this address.
    Client(IpAddr),
}

impl Role {
    pub(super) fn is_client(self) -> bool {
        matches!(self, Self::Client(_))
    }
}

/// What is measured of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// RDMA WRITE.
    Write,
    /// RDMA READ.
    Read,
    /// SEND.
    Send,
    /// Atomic fetch and add.
    FetchAndAdd,
    /// Atomic compare and swap.
    CompareAndSwap,
}

impl Operation {
    pub(super) fn is_atomic(self) -> bool {
        matches!(self, Self::FetchAndAdd | Self::CompareAndSwap)
    }

    /// Whether the peer answers with data, of which only so much may be under way.
    pub(super) fn is_read_or_atomic(self) -> bool {
        self == Self::Read || self.is_atomic()
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes and messages a second, many under way.
    Bandwidth,
    /// Time of one message.
    Latency,
}

/// How long a test of one size lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many messages on each queue pair.
    Messages(u64),
    /// So long, of which the margins at both ends are not counted.
    Time {
        /// In all.
        total: Duration,
        /// At each end. None if the two leave nothing to count.
        margin: Duration,
    },
}

/// What to do. Both sides must be told alike, as with the real programs: nothing of it is said in the exchange.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is measured of.
    pub operation: Operation,
    /// What is measured.
    pub measure: Measure,
    /// Transport service (`-c`).
    pub kind: QueuePairType,
    /// Bytes of a message (`-s`).
    pub size: u32,
    /// A datagram is shorter than that where the path MTU is; else the test is refused.
    pub fits_mtu: bool,
    /// One test after the other with sizes of 2, 4, 8, … bytes (`-a`).
    pub all_sizes: bool,
    /// How long (`-n` or `-D`).
    pub length: Length,
    /// Queue pairs (`-q`).
    pub queue_pairs: u32,
    /// Both sides send (`-b`).
    pub bidirectional: bool,
    /// Path MTU (`-m`); the smaller one of both sides' counts.
    pub mtu: PathMtu,
    /// TCP port of the server (`-p`).
    pub port: u16,
    /// Index of our address in the GID table (`-x`); the first that fits the peer, if not given.
    pub gid_index: Option<usize>,
    /// Requests of a queue pair that may be under way (`-t`).
    pub send_depth: u32,
    /// Receives of a queue pair that are kept posted (`-r`); as many as are useful, if not given.
    pub receive_depth: Option<u32>,
    /// Every so many requests one completion (`-Q`).
    pub moderation: Option<u32>,
    /// Messages up to so many bytes are handed over inline (`-I`).
    pub inline: u32,
    /// READs and atomics of a queue pair under way at once (`-o`).
    pub outstanding: u8,
    /// How long to wait for an acknowledgement: 4.096 µs × 2^n, 0 for ever (`-u`).
    pub timeout: u8,
    /// Look for a peak of the bandwidth (not `-N`).
    pub peak: bool,
    /// Bandwidths in Gbit/s.
    pub gigabits: bool,
    /// IPv4 time to live or IPv6 hop limit (`-L`).
    pub hop_limit: u8,
    /// IPv4 type of service or IPv6 traffic class.
    pub traffic_class: u8,
    /// Where the PSNs of our first queue pair begin.
    pub first_psn: u32,
    /// Connect by rdma_cm (`-R`); path MTU and timeouts are then its.
    pub managed: bool,
    /// How long the peer may be silent; for ever, if not given.
    pub patience: Option<Duration>,
    /// Set when the test is to end: what has been measured is then told, and the peer that we leave.
    pub stop: Stop,
    /// Is told what is waited for.
    pub herald: Herald,
}

impl Options {
    /// A test with what the real program takes if nothing else is said, but for the path MTU: 1024 bytes.
    pub fn new(operation: Operation, measure: Measure) -> Self {
        let messages = match (operation, measure) {
            (Operation::Write, Measure::Bandwidth) => 5000,
            _ => 1000,
        };
        let size = match measure {
            _ if operation.is_atomic() => 8,
            Measure::Bandwidth => 65536,
            Measure::Latency => 2,
        };
        Self {
            operation,
            measure,
            kind: QueuePairType::Rc,
            size,
            fits_mtu: false,
            all_sizes: false,
            length: Length::Messages(messages),
            queue_pairs: 1,
            bidirectional: false,
            mtu: PathMtu::M1024,
            port: DEFAULT_PORT,
            gid_index: None,
            send_depth: 128,
            receive_depth: None,
            moderation: None,
            inline: 0,
            outstanding: 128,
            timeout: 14,
            peak: true,
            gigabits: false,
            hop_limit: 64,
            traffic_class: 0,
            first_psn: 0,
            managed: false,
            patience: Some(Duration::from_secs(60)),
            stop: Stop::default(),
            herald: Herald::default(),
        }
    }

    /// What cannot be had together.
    pub(super) fn check(&self) -> Result<(), PerfError> {
        let refuse = |why: &str| Err(PerfError::Options(why.to_owned()));
        match (self.kind, self.operation) {
            (QueuePairType::Rc, _)
            | (QueuePairType::Uc, Operation::Write | Operation::Send)
            | (QueuePairType::Ud, Operation::Send) => {}
            (QueuePairType::Uc, _) => return refuse("only write and send run over UC (-c)"),
            (QueuePairType::Ud, _) => return refuse("only send runs over UD (-c)"),
            _ => return refuse("tests run over RC, UC or UD (-c)"),
        }
        if self.managed && self.kind == QueuePairType::Uc {
            // Nor does the real program.
            return refuse(
                "rdma_cm (-R) makes no unreliable connections: take -c RC or -c UD, or leave -R out",
            );
        }
        if self.measure == Measure::Latency && (self.bidirectional || self.queue_pairs > 1) {
            return refuse("a latency has one message under way: no -b, and one queue pair (-q)");
        }
        if self.operation.is_atomic() && (self.size != 8 || self.all_sizes) {
            return refuse("an atomic has eight bytes: no -s, no -a");
        }
        if self.all_sizes && self.length_is_time() {
            return refuse("-a and -D cannot be used together");
        }
        if self.operation == Operation::Write && self.measure == Measure::Latency && self.size == 0 {
            return refuse("a WRITE is waited for by its last byte: it must have one (-s)");
        }
        if self.inline > 0 && self.operation.is_read_or_atomic() {
            return refuse("only what is sent can be inline (-I)");
        }
        check_memory(self)
    }

    /// Fails once the test is to end.
    pub(super) fn go_on(&self) -> Result<(), PerfError> {
        if self.stop.load(Ordering::Relaxed) { Err(PerfError::Interrupted) } else { Ok(()) }
    }

    pub(super) fn length_is_time(&self) -> bool {
        matches!(self.length, Length::Time { .. })
    }

    /// The sizes to test, in order. A datagram fits into a packet.
    pub(super) fn sizes(&self, mtu: PathMtu) -> Result<Vec<u32>, PerfError> {
        let most = if self.kind == QueuePairType::Ud { mtu.bytes() as u32 } else { u32::MAX };
        if self.all_sizes {
            let sizes = (1..).map(|power| 1 << power).take_while(|&size| size <= LARGEST_OF_ALL.min(most));
            return Ok(sizes.collect());
        }
        if self.size > most && !self.fits_mtu {
            return Err(PerfError::Options(format!(
                "a datagram carries {most} bytes at most with this path MTU, not {} (-s, -m)",
                self.size
            )));
        }
        Ok(vec![self.size.min(most)])
    }

    pub(super) fn largest_size(&self) -> u32 {
        match (self.all_sizes, self.kind) {
            (true, QueuePairType::Ud) => PathMtu::M4096.bytes() as u32,
            (true, _) => LARGEST_OF_ALL,
            (false, _) => self.size,
        }
    }

    /// Messages of a queue pair, if they are counted.
    fn messages(&self) -> Option<u64> {
        match self.length {
            Length::Messages(messages) => Some(messages),
            Length::Time { .. } => None,
        }
    }

    /// The smaller one of a depth and what is ever needed.
    fn no_more_than_messages(&self, depth: u32, besides: u64) -> u32 {
        let needed = self.messages().and_then(|messages| u32::try_from(messages + besides).ok());
        needed.map_or(depth, |needed| depth.min(needed)).max(1)
    }

    pub(super) fn send_depth(&self) -> u32 {
        match self.measure {
            Measure::Bandwidth => self.no_more_than_messages(self.send_depth, 0),
            Measure::Latency => 1,
        }
    }

    /// Unreliable messages that find no receive are lost for good, and the real sender never waits; so there are many.
    pub(super) fn receive_depth(&self) -> u32 {
        if self.operation != Operation::Send {
            return 1;
        }
        let usual = if self.kind == QueuePairType::Rc { 512 } else { 16384 };
        self.no_more_than_messages(self.receive_depth.unwrap_or(usual), 1)
    }

    /// Every so many requests ask for a completion.
    pub(super) fn moderation(&self) -> u32 {
        let usual = if self.size > MODERATED_SIZE && !self.all_sizes { 1 } else { 100 };
        self.moderation.unwrap_or(usual).min(self.send_depth()).max(1)
    }

    /// Whether messages of a size are handed over inline. READs and atomics send none.
    pub(super) fn is_inline(&self, size: u32) -> bool {
        !self.operation.is_read_or_atomic() && size <= self.inline
    }

    /// What READs and atomics need, 1 where there are none.
    pub(super) fn outstanding(&self) -> u8 {
        if self.operation.is_read_or_atomic() { self.outstanding } else { 1 }
    }

    /// Whether a peak is looked for.
    pub(super) fn looks_for_peak(&self) -> bool {
        let all = self.messages().and_then(|messages| messages.checked_mul(self.queue_pairs.into()));
        self.peak && all.is_some_and(|all| all <= PEAK_MESSAGES)
    }

    /// Where the PSNs of a queue pair begin.
    pub(super) fn first_psn(&self, place: u64) -> Psn {
        Psn::new((u64::from(self.first_psn) + place * 0x9e_3779) as u32 & 0xff_ffff)
    }
}
