//! What an endpoint counts.

/// Why a received packet was dropped without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Discard {
    /// Not a well-formed RoCE v2 packet.
    Malformed,
    /// An opcode that is reserved, or of a transport that is not supported.
    Opcode,
    /// No queue pair has that number.
    UnknownQueuePair,
    /// The queue pair's state takes no packets of this kind.
    State,
    /// It does not come from the queue pair's peer, or is not for its address.
    Address,
    /// The partition key does not match.
    PartitionKey,
    /// The ICRC is wrong.
    Icrc,
    /// A response to nothing that is outstanding: late, repeated, or never asked for.
    UnexpectedResponse,
    /// A packet ahead of a gap that the peer has been told of.
    OutOfSequence,
    /// A repeated READ or atomic that is not remembered, or too many of them at once.
    NotReplayed,
    /// The queue key is not the queue pair's (UD).
    QueueKey,
    /// No queue pair is attached to the multicast group (UD).
    NoMember,
    /// No receive is posted, and the transport cannot ask the sender to wait (UC, UD).
    NoReceive,
    /// The receive has no room for the datagram and its header (UD).
    ReceiveTooSmall,
    /// A request that a reliable connection would have refused by a NAK: length, rights, key (UC, UD).
    Refused,
}

impl Discard {
    /// All reasons, about in the order in which a packet is checked.
    pub const ALL: [Self; 15] = [
        Self::Malformed,
        Self::Opcode,
        Self::UnknownQueuePair,
        Self::State,
        Self::Address,
        Self::PartitionKey,
        Self::Icrc,
        Self::UnexpectedResponse,
        Self::OutOfSequence,
        Self::NotReplayed,
        Self::QueueKey,
        Self::NoMember,
        Self::NoReceive,
        Self::ReceiveTooSmall,
        Self::Refused,
    ];
}

/// What the requests of a queue pair's peer came to: those that were carried out, as a responder knows them, with or without a
/// completion. What was repeated counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// SENDs and WRITEs that came whole, READs and atomics that were let in, FLUSHes.
    pub messages: u64,
    /// Bytes that they brought, or asked for.
    pub bytes: u64,
}

impl Served {
    pub(crate) fn count(&mut self, bytes: u32) {
        self.messages += 1;
        self.bytes += u64::from(bytes);
    }
}

impl core::ops::AddAssign for Served {
    fn add_assign(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
    }
}

impl core::iter::Sum for Served {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// Counts of an endpoint. Names that Linux' rxe has too mean the same there, as far as its documentation and its captures
/// tell; what is taken from the name alone says so. Those that begin with `np_` (notification point) and `rp_` (reaction
/// point) are of NVIDIA's drivers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets sent.
    pub sent_pkts: u64,
    /// Packets received that belong to a queue pair and have a right ICRC.
    pub rcvd_pkts: u64,
    /// Requests received again.
    pub duplicate_request: u64,
    /// Requests ahead of the expected PSN.
    pub out_of_seq_request: u64,
    /// RNR NAKs sent.
    pub send_rnr_err: u64,
    /// RNR NAKs received.
    pub rcvd_rnr_err: u64,
    /// PSN sequence error NAKs sent.
    pub send_seq_err: u64,
    /// PSN sequence error NAKs received.
    pub rcvd_seq_err: u64,
    /// NAKs sent that end the connection.
    pub send_fatal_nak: u64,
    /// Lost responses noticed by a later one.
    pub implied_nak: u64,
    /// Local ACK timeouts.
    pub local_ack_timeout: u64,
    /// Request packets sent again.
    pub retransmitted_pkts: u64,
    /// Requests given up after all retries.
    pub retry_exceeded_err: u64,
    /// Requests given up since the peer was never ready.
    pub retry_rnr_exceeded_err: u64,
    /// Times that a requester went back to the oldest packet that is not acknowledged, to send again from there; not for
    /// RNR NAKs, which are counted as such. From the name.
    pub completer_retry_err: u64,
    /// Acknowledgements that were due and were left to a later one, which says it all. Counted when that one is sent. From
    /// the name: in rxe it counts what its own tasks put off, which nothing does here.
    pub ack_deferred: u64,
    /// Packets that could not be sent, since the memory that their payload is in, or the way to the peer, is not there
    /// (any more). From the name.
    pub send_err: u64,
    /// SENDs that are done, of all kinds. From the name.
    pub rdma_sends: u64,
    /// Receives that messages have used up, with the immediate data of WRITEs. From the name.
    pub rdma_recvs: u64,
    /// Packets received with a congestion mark.
    pub np_ecn_marked_roce_packets: u64,
    /// Congestion notifications sent.
    pub np_cnp_sent: u64,
    /// Congestion notifications received for a queue pair.
    pub rp_cnp_handled: u64,
    /// Packets dropped, by reason, in the order of [`Discard::ALL`].
    pub discarded: [u64; Discard::ALL.len()],
    /// Events lost because nobody took them out.
    pub lost_events: u64,
}

impl Counters {
    pub(crate) fn discard(&mut self, reason: Discard) {
        if let Some(count) = self.discarded.get_mut(reason as usize) {
            *count += 1;
        }
    }

    /// How many packets were dropped for a reason.
    pub fn discarded(&self, reason: Discard) -> u64 {
        self.discarded.get(reason as usize).copied().unwrap_or(0)
    }
}
