//! What the rules of conversations need of one InfiniBand packet, copied out of its dissection.

use rdmalab_trace::{Icrc, Record, Roce};
use rdmalab_wire::opcode::Position;
use rdmalab_wire::{Address, Bth, Carrier, Ecn, Headers, OpcodeRow, Qpn, TransportKind};

use crate::flow::numbering::Sent;

/// Who sends to which queue pair: one direction of a connection, as packets name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Who sends.
    pub source: Address,
    /// Who receives.
    pub destination: Address,
    /// The receiver's queue pair.
    pub queue_pair: Qpn,
}

/// What an operation does, whatever the transport and the place in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OperationKind {
    /// SEND of any kind.
    Send,
    /// RDMA WRITE of any kind.
    Write,
    /// RDMA READ.
    Read,
    /// Compare and swap, fetch and add.
    Atomic,
    /// FLUSH.
    Flush,
    /// ATOMIC WRITE.
    AtomicWrite,
}

impl OperationKind {
    /// All kinds, in the order of reports.
    pub const ALL: [OperationKind; 6] = [
        OperationKind::Send,
        OperationKind::Write,
        OperationKind::Read,
        OperationKind::Atomic,
        OperationKind::Flush,
        OperationKind::AtomicWrite,
    ];

    /// Its name, as in `WRITE`.
    pub const fn name(self) -> &'static str {
        match self {
            OperationKind::Send => "SEND",
            OperationKind::Write => "WRITE",
            OperationKind::Read => "READ",
            OperationKind::Atomic => "ATOMIC",
            OperationKind::Flush => "FLUSH",
            OperationKind::AtomicWrite => "ATOMIC_WRITE",
        }
    }

    /// Of a request's opcode, by its low five bits; `None` of responses.
    pub(crate) const fn of(operation: u8) -> Option<OperationKind> {
        Some(match operation {
            0x00..=0x05 | 0x16 | 0x17 => OperationKind::Send,
            0x06..=0x0b => OperationKind::Write,
            0x0c => OperationKind::Read,
            0x13 | 0x14 => OperationKind::Atomic,
            0x1c => OperationKind::Flush,
            0x1d => OperationKind::AtomicWrite,
            _ => return None,
        })
    }

    /// Whether a response of its own completes it, so that a mere acknowledgement does not.
    pub const fn is_answered(self) -> bool {
        !matches!(self, OperationKind::Send | OperationKind::Write)
    }
}

/// A packet whose opcode is known and whose headers are complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    pub frame: u64,
    /// Nanoseconds; 0 where the file has no time.
    pub time: i64,
    pub has_time: bool,
    pub key: FlowKey,
    pub udp_source: Option<u16>,
    /// IPv4 identification; 0 where there is none.
    pub ip_id: u16,
    /// When it was sent, as far as these say that.
    pub sent: Sent,
    pub ecn: Option<Ecn>,
    pub row: &'static OpcodeRow,
    pub bth: Bth,
    pub headers: &'a Headers,
    pub payload: &'a [u8],
    /// On the wire; more than `payload` if cut.
    pub payload_length: usize,
    pub is_cut: bool,
}

impl<'a> Seen<'a> {
    /// `None` of what no conversation can be followed by.
    pub fn of(record: &Record<'_>, roce: &'a Roce<'a>) -> Option<Seen<'a>> {
        let (row, bth) = (roce.packet.opcode?.row()?, roce.packet.bth?);
        let is_one = matches!(roce.icrc, Icrc::Right | Icrc::Cut) && !roce.is_several();
        if !is_one || roce.packet.error.is_some() {
            return None;
        }
        let (udp_source, ip_id) = match &roce.carrier {
            Carrier::RoceV2Ipv4(ip, udp) => (Some(udp.source_port), ip.identification),
            Carrier::RoceV2Ipv6(_, udp) => (Some(udp.source_port), 0),
            _ => (None, 0),
        };
        let key = FlowKey {
            source: roce.carrier.source(),
            destination: roce.carrier.destination(),
            queue_pair: bth.destination,
        };
        // Beyond three hundred years a time is none.
        let time = record.time.and_then(|time| i64::try_from(time).ok());
        Some(Seen {
            frame: record.frame,
            time: time.unwrap_or_default(),
            has_time: time.is_some(),
            key,
            udp_source,
            ip_id,
            sent: Sent::default(),
            ecn: roce.carrier.dscp_and_ecn().map(|(_, ecn)| ecn),
            row,
            bth,
            headers: &roce.packet.headers,
            payload: roce.packet.payload,
            payload_length: roce.payload_length,
            is_cut: matches!(roce.icrc, Icrc::Cut),
        })
    }

    pub fn operation(&self) -> u8 {
        self.row.opcode & 0x1f
    }

    pub fn kind(&self) -> Option<OperationKind> {
        OperationKind::of(self.operation())
    }

    pub fn is_reliable(&self) -> bool {
        matches!(self.row.transport, TransportKind::Rc | TransportKind::Xrc)
    }

    pub fn starts_message(&self) -> bool {
        matches!(self.row.position, Position::First | Position::Only)
    }
}
