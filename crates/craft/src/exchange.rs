//! All packets of an operation between two queue pairs, the answers too, as a peer without losses gives them.
//!
//! An [`Exchange`] is pure description; [`Exchange::run`] hands its packets out one by one and keeps none, however
//! long the message is.

use rdmalab_wire::{AtomicEth, RKey, Reth, TransportKind};

use crate::flow::{Flow, Way};
use crate::packet::Packet;
use crate::payload::Payload;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Send.
    Send,
    /// Send with immediate data.
    SendImm([u8; 4]),
    /// Send, and invalidate this key.
    SendInv(RKey),
    /// Write to remote memory.
    Write,
    /// Write, and tell the other side with immediate data.
    WriteImm([u8; 4]),
    /// Read remote memory.
    Read,
    /// Compare eight bytes of remote memory and swap them if they are equal.
    CompareSwap {
        /// With what they are compared.
        compare: u64,
        /// What is swapped in.
        swap: u64,
        /// What was there.
        original: u64,
    },
    /// Add to eight bytes of remote memory.
    FetchAdd {
        /// What is added.
        add: u64,
        /// What was there.
        original: u64,
    },
    /// Push what was written as far as everybody sees it.
    Flush,
    /// Write eight bytes at once.
    AtomicWrite,
}

/// One operation, from its first request to its last answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// What is done.
    pub operation: Operation,
    /// Bytes of the message; of FLUSH the bytes it is about. Atomic operations have eight.
    pub bytes: u32,
    /// The remote memory.
    pub virtual_address: u64,
    /// Its key.
    pub key: RKey,
    /// The byte that the data consist of; they count up if there is none.
    pub fill: Option<u8>,
    /// Whether the responder is to raise an event.
    pub solicited: bool,
    /// Whether the responder acknowledges what has no other answer. Unreliable transports never do.
    pub acknowledge: bool,
}

impl Exchange {
    /// An operation on so many bytes at address 0, acknowledged.
    pub fn new(operation: Operation, bytes: u32) -> Self {
        Exchange {
            operation,
            bytes,
            virtual_address: 0,
            key: RKey::new(0),
            fill: None,
            solicited: false,
            acknowledge: true,
        }
    }

    /// Why the flow's transport cannot do this, if it cannot.
    pub fn refusal(&self, flow: &Flow) -> Option<String> {
        let transport = flow.transport;
        let codes = self.codes();
        let single = self.packets(flow) == 1;
        let first = transport.opcode(if single { codes.only } else { codes.first });
        if first.row().is_none() {
            let name = TransportKind::Rc.opcode(codes.only).row().map_or("this operation", |row| row.name);
            let hint =
                if single { "" } else { "in several packets, a larger mtu or fewer bytes would make it one" };
            return Some(format!("{transport} has no {name} {hint}").trim_end().to_owned());
        }
        None
    }

    /// Hands out each packet in its order, with the way it goes, and counts it.
    ///
    /// # Errors
    ///
    /// Those of `each`; nothing is handed out after one.
    pub fn run<E>(
        &self,
        flow: &mut Flow,
        way: Way,
        each: &mut dyn FnMut(Way, &Packet) -> Result<(), E>,
    ) -> Result<(), E> {
        let packets = self.packets(flow);
        for index in 0..packets {
            let packet = self.request(flow, way, index, packets);
            each(way, &packet)?;
            flow.sent(way, &packet);
        }
        let responses = self.responses(flow);
        for index in 0..responses {
            let packet = self.response(flow, way.turned(), index, responses);
            each(way.turned(), &packet)?;
            flow.sent(way.turned(), &packet);
        }
        Ok(())
    }

    fn codes(&self) -> Codes {
        let one = |only| Codes { first: only, middle: only, last: only, only };
        match self.operation {
            Operation::Send => Codes { first: 0x00, middle: 0x01, last: 0x02, only: 0x04 },
            Operation::SendImm(_) => Codes { first: 0x00, middle: 0x01, last: 0x03, only: 0x05 },
            Operation::SendInv(_) => Codes { first: 0x00, middle: 0x01, last: 0x16, only: 0x17 },
            Operation::Write => Codes { first: 0x06, middle: 0x07, last: 0x08, only: 0x0a },
            Operation::WriteImm(_) => Codes { first: 0x06, middle: 0x07, last: 0x09, only: 0x0b },
            Operation::Read => one(0x0c),
            Operation::CompareSwap { .. } => one(0x13),
            Operation::FetchAdd { .. } => one(0x14),
            Operation::Flush => one(0x1c),
            Operation::AtomicWrite => one(0x1d),
        }
    }

    /// How many packets the request has.
    fn packets(&self, flow: &Flow) -> u32 {
        match self.operation {
            Operation::Send
            | Operation::SendImm(_)
            | Operation::SendInv(_)
            | Operation::Write
            | Operation::WriteImm(_) => self.pieces(flow),
            _ => 1,
        }
    }

    fn pieces(&self, flow: &Flow) -> u32 {
        self.bytes.div_ceil(flow.mtu.max(1)).max(1)
    }

    fn request(&self, flow: &Flow, way: Way, index: u32, packets: u32) -> Packet {
        let opcode = flow.transport.opcode(self.codes().at(index, packets));
        let mut packet = flow.packet(way, opcode);
        let is_last = index + 1 == packets;
        let carries = packets > 1 || !matches!(self.operation, Operation::Read | Operation::Flush);
        match self.operation {
            Operation::AtomicWrite => packet.payload = self.data(0, 8),
            Operation::CompareSwap { .. } | Operation::FetchAdd { .. } => {}
            _ if carries => packet.payload = self.piece(flow, index),
            _ => {}
        }
        if packet.headers.reth.is_some() {
            let length = if self.operation == Operation::AtomicWrite { 8 } else { self.bytes };
            let (virtual_address, key) = (self.virtual_address, self.key);
            packet.headers.reth = Some(Reth { virtual_address, key, length });
        }
        if packet.headers.atomic_eth.is_some() {
            let (swap_or_add, compare) = match self.operation {
                Operation::CompareSwap { compare, swap, .. } => (swap, compare),
                Operation::FetchAdd { add, .. } => (add, 0),
                _ => (0, 0),
            };
            let (virtual_address, key) = (self.virtual_address, self.key);
            packet.headers.atomic_eth = Some(AtomicEth { virtual_address, key, swap_or_add, compare });
        }
        match (self.operation, &mut packet.headers.imm_dt, &mut packet.headers.ieth) {
            (Operation::SendImm(data) | Operation::WriteImm(data), Some(imm_dt), _) => imm_dt.0 = data,
            (Operation::SendInv(key), _, Some(ieth)) => ieth.key = key,
            _ => {}
        }
        packet.bth.solicited = self.solicited && is_last;
        packet.bth.ack_request &= self.acknowledge;
        packet
    }

    /// How many packets answer it.
    fn responses(&self, flow: &Flow) -> u32 {
        let reliable = matches!(flow.transport, TransportKind::Rc | TransportKind::Rd | TransportKind::Xrc);
        match self.operation {
            _ if !reliable => 0,
            Operation::Read => self.pieces(flow),
            Operation::CompareSwap { .. } | Operation::FetchAdd { .. } => 1,
            Operation::Flush | Operation::AtomicWrite => 1,
            _ => self.acknowledge.into(),
        }
    }

    fn response(&self, flow: &Flow, way: Way, index: u32, responses: u32) -> Packet {
        let reads = Codes { first: 0x0d, middle: 0x0e, last: 0x0f, only: 0x10 };
        let code = match self.operation {
            Operation::Read => reads.at(index, responses),
            // A responder answers these like a READ of nothing.
            Operation::Flush | Operation::AtomicWrite => reads.only,
            Operation::CompareSwap { .. } | Operation::FetchAdd { .. } => 0x12,
            _ => 0x11,
        };
        let mut packet = flow.packet(way, flow.transport.opcode(code));
        if self.operation == Operation::Read {
            packet.payload = self.piece(flow, index);
        }
        let original = match self.operation {
            Operation::CompareSwap { original, .. } | Operation::FetchAdd { original, .. } => original,
            _ => 0,
        };
        if let Some(header) = &mut packet.headers.atomic_ack_eth {
            header.original = original;
        }
        packet
    }

    /// The data of a packet of the message.
    fn piece(&self, flow: &Flow, index: u32) -> Payload {
        let mtu = flow.mtu.max(1);
        let offset = index.saturating_mul(mtu);
        self.data(offset, self.bytes.saturating_sub(offset).min(mtu))
    }

    fn data(&self, offset: u32, length: u32) -> Payload {
        let length = length as usize;
        match self.fill {
            Some(byte) => Payload::Fill { length, byte },
            None => Payload::Count { length, first: offset as u8 },
        }
    }
}

/// The operation codes of a message's packets.
struct Codes {
    first: u8,
    middle: u8,
    last: u8,
    only: u8,
}

impl Codes {
    fn at(&self, index: u32, packets: u32) -> u8 {
        match (index, packets) {
            (_, ..=1) => self.only,
            (0, _) => self.first,
            (index, packets) if index + 1 == packets => self.last,
            _ => self.middle,
        }
    }
}
