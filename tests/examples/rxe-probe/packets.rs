//! Packets of a reliable connection, right or wrong: whatever opcode, headers, payload and pad one likes.

use rdmalab_wire::{AtomicEth, Bth, Feth, Ieth, Opcode, PKey, Psn, Qpn, RKey, Reth};

pub const SEND_FIRST: u8 = 0x00;
pub const SEND_MIDDLE: u8 = 0x01;
pub const SEND_LAST: u8 = 0x02;
pub const SEND_ONLY: u8 = 0x04;
pub const WRITE_FIRST: u8 = 0x06;
pub const WRITE_MIDDLE: u8 = 0x07;
pub const WRITE_LAST: u8 = 0x08;
pub const WRITE_ONLY: u8 = 0x0a;
pub const READ_REQUEST: u8 = 0x0c;
pub const RESPONSE_FIRST: u8 = 0x0d;
pub const RESPONSE_MIDDLE: u8 = 0x0e;
pub const RESPONSE_LAST: u8 = 0x0f;
pub const RESPONSE_ONLY: u8 = 0x10;
pub const ACKNOWLEDGE: u8 = 0x11;
pub const ATOMIC_ACKNOWLEDGE: u8 = 0x12;
pub const CMP_SWAP: u8 = 0x13;
pub const FETCH_ADD: u8 = 0x14;
pub const SEND_ONLY_INV: u8 = 0x17;
pub const FLUSH: u8 = 0x1c;
pub const ATOMIC_WRITE: u8 = 0x1d;

/// The syndrome of an acknowledgement without credits.
pub const ACK: u8 = 0x1f;

/// One packet, of which nothing is checked.
#[derive(Debug, Clone)]
pub struct Crafted {
    pub opcode: u8,
    pub bth: Bth,
    headers: Vec<u8>,
    payload: Vec<u8>,
    pad: u8,
}

/// A packet with nothing behind its base header.
pub fn packet(opcode: u8, psn: Psn) -> Crafted {
    let bth = Bth { partition_key: PKey::DEFAULT, ..Bth::new(Qpn::new(0), psn) };
    Crafted { opcode, bth, headers: Vec::new(), payload: Vec::new(), pad: 0 }
}

impl Crafted {
    /// Asks for an acknowledgement.
    pub fn asks(mut self) -> Self {
        self.bth.ack_request = true;
        self
    }

    /// With other fields in the base header.
    pub fn with(mut self, change: impl FnOnce(&mut Bth)) -> Self {
        change(&mut self.bth);
        self
    }

    /// With an RDMA header.
    pub fn reth(self, address: u64, key: u32, length: u32) -> Self {
        let reth = Reth { virtual_address: address, key: RKey::new(key), length };
        self.bytes(&reth.encode())
    }

    /// With an atomic's header.
    pub fn atomic(self, address: u64, key: u32, swap_or_add: u64, compare: u64) -> Self {
        let eth = AtomicEth { virtual_address: address, key: RKey::new(key), swap_or_add, compare };
        self.bytes(&eth.encode())
    }

    /// With an acknowledgement's header.
    pub fn aeth(self, syndrome: u8, msn: u32) -> Self {
        let [_, a, b, c] = msn.to_be_bytes();
        self.bytes(&[syndrome, a, b, c])
    }

    /// With the header of a FLUSH: what to flush and how far.
    pub fn feth(self, selectivity: u8, placement: u8) -> Self {
        self.bytes(&Feth { reserved: 0, selectivity, placement }.encode())
    }

    /// With the key that a SEND invalidates.
    pub fn ieth(self, key: u32) -> Self {
        self.bytes(&Ieth { key: RKey::new(key) }.encode())
    }

    /// With more header bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.headers.extend_from_slice(bytes);
        self
    }

    /// With a payload.
    pub fn data(mut self, payload: &[u8]) -> Self {
        self.payload.extend_from_slice(payload);
        self
    }

    /// With pad bytes of this value in place of zeros.
    pub fn padded_with(mut self, pad: u8) -> Self {
        self.pad = pad;
        self
    }

    /// From the base header to the pad, for this queue pair.
    pub fn encode(&self, destination: Qpn) -> Vec<u8> {
        let pad = rdmalab_wire::pad_count(self.payload.len());
        let bth = Bth { destination, pad_count: pad as u8, ..self.bth };
        let mut bytes = bth.encode(Opcode(self.opcode)).to_vec();
        bytes.extend_from_slice(&self.headers);
        bytes.extend_from_slice(&self.payload);
        bytes.extend(std::iter::repeat_n(self.pad, pad));
        bytes
    }
}
