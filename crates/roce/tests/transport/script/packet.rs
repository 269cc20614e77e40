//! Packets that the peer of a script sends: a constructor per opcode, and what may be changed about them.

use rdmalab_verbs::SharedReceiveQueueId;
use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Body, Bth, Deth, Feth, Ieth, ImmDt, Msn, NakCode, PKey, Psn, QKey, Qpn,
    RKey, Reth, Syndrome, Transport, Xrceth,
};

use crate::side::BASE;

/// The key of the region of every script's side.
pub const KEY: RKey = RKey::new(0x1000);

/// A packet from the peer. For this side's queue pair, unless it says otherwise.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub bth: Bth,
    /// By itself, that of the side's queue pair.
    pub transport: Option<Transport>,
    pub body: Body,
    pub payload: Vec<u8>,
}

/// The payload of a packet with this PSN, so that it can be told from every other.
pub fn pattern(psn: u32, length: usize) -> Vec<u8> {
    (0..length).map(|n| (psn.wrapping_mul(37).wrapping_add(n as u32) % 251) as u8 + 1).collect()
}

pub fn packet(psn: u32, body: Body) -> Incoming {
    let bth = Bth::new(Qpn::default(), Psn::new(psn));
    Incoming { bth, transport: None, body, payload: Vec::new() }
}

/// The transport of datagrams.
pub fn deth(queue_key: QKey, source: Qpn) -> Transport {
    Transport::Ud(Deth { queue_key, reserved: 0, source })
}

/// The transport of requests over XRC.
pub fn xrceth(queue: SharedReceiveQueueId) -> Transport {
    Transport::Xrc(Some(Xrceth { reserved: 0, shared_receive_queue: queue.number() }))
}

fn with_payload(psn: u32, body: Body, length: usize) -> Incoming {
    Incoming { payload: pattern(psn, length), ..packet(psn, body) }
}

impl Incoming {
    pub fn ackreq(mut self) -> Self {
        self.bth.ack_request = true;
        self
    }

    pub fn solicited(mut self) -> Self {
        self.bth.solicited = true;
        self
    }

    /// Over this transport, whatever the side's queue pair is.
    pub fn over(mut self, transport: Transport) -> Self {
        self.transport = Some(transport);
        self
    }

    pub fn to(mut self, queue_pair: Qpn) -> Self {
        self.bth.destination = queue_pair;
        self
    }

    pub fn partition(mut self, key: u16) -> Self {
        self.bth.partition_key = PKey::new(key);
        self
    }

    pub fn payload(mut self, payload: &[u8]) -> Self {
        self.payload = payload.to_vec();
        self
    }

    /// Another number of completed messages in a response.
    pub fn msn(self, msn: u32) -> Self {
        self.change_aeth(|aeth| aeth.msn = Msn::new(msn))
    }

    /// Another syndrome in a response.
    pub fn syndrome(self, syndrome: Syndrome) -> Self {
        self.change_aeth(|aeth| aeth.syndrome = syndrome)
    }

    fn change_aeth(mut self, change: impl FnOnce(&mut Aeth)) -> Self {
        match &mut self.body {
            Body::Acknowledge(aeth)
            | Body::ReadResponseFirst(aeth)
            | Body::ReadResponseLast(aeth)
            | Body::ReadResponseOnly(aeth)
            | Body::AtomicAcknowledge(aeth, _) => change(aeth),
            body => panic!("{body:?} has no AETH"),
        }
        self
    }

    /// Another key in a request.
    pub fn key(mut self, key: u32) -> Self {
        match &mut self.body {
            Body::WriteFirst(reth)
            | Body::WriteOnly(reth)
            | Body::WriteOnlyImm(reth, _)
            | Body::AtomicWrite(reth)
            | Body::Flush(_, reth)
            | Body::ReadRequest(reth) => reth.key = RKey::new(key),
            Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => atomic.key = RKey::new(key),
            body => panic!("{body:?} has no key"),
        }
        self
    }

    /// Another virtual address in a request.
    pub fn address(mut self, address: u64) -> Self {
        match &mut self.body {
            Body::WriteFirst(reth)
            | Body::WriteOnly(reth)
            | Body::WriteOnlyImm(reth, _)
            | Body::AtomicWrite(reth)
            | Body::Flush(_, reth)
            | Body::ReadRequest(reth) => reth.virtual_address = address,
            Body::CompareSwap(atomic) | Body::FetchAdd(atomic) => atomic.virtual_address = address,
            body => panic!("{body:?} has no address"),
        }
        self
    }
}

// What a responder sends.

fn aeth(syndrome: Syndrome) -> Aeth {
    Aeth { syndrome, msn: Msn::new(0) }
}

pub fn ack(psn: u32) -> Incoming {
    packet(psn, Body::Acknowledge(aeth(Syndrome::ACK)))
}

pub fn nak(psn: u32, code: NakCode) -> Incoming {
    packet(psn, Body::Acknowledge(aeth(Syndrome::Nak(code))))
}

/// The peer expected this PSN and got a later one.
pub fn sequence_nak(psn: u32) -> Incoming {
    nak(psn, NakCode::PsnSequenceError)
}

pub fn rnr_nak(psn: u32, timer: u8) -> Incoming {
    packet(psn, Body::Acknowledge(aeth(Syndrome::RnrNak { timer })))
}

pub fn read_response_first(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::ReadResponseFirst(aeth(Syndrome::ACK)), length)
}

pub fn read_response_middle(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::ReadResponseMiddle, length)
}

pub fn read_response_last(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::ReadResponseLast(aeth(Syndrome::ACK)), length)
}

pub fn read_response_only(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::ReadResponseOnly(aeth(Syndrome::ACK)), length)
}

pub fn atomic_ack(psn: u32, original: u64) -> Incoming {
    packet(psn, Body::AtomicAcknowledge(aeth(Syndrome::ACK), AtomicAckEth { original }))
}

// What a requester sends. Addresses are offsets into this side's region.

fn reth(offset: usize, length: u32) -> Reth {
    Reth { virtual_address: BASE + offset as u64, key: KEY, length }
}

pub fn send_first(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::SendFirst, length)
}

pub fn send_middle(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::SendMiddle, length)
}

pub fn send_last(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::SendLast, length).ackreq()
}

pub fn send_last_imm(psn: u32, length: usize, immediate: u32) -> Incoming {
    with_payload(psn, Body::SendLastImm(ImmDt(immediate.to_be_bytes())), length).ackreq()
}

pub fn send_only(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::SendOnly, length).ackreq()
}

pub fn send_only_imm(psn: u32, length: usize, immediate: u32) -> Incoming {
    with_payload(psn, Body::SendOnlyImm(ImmDt(immediate.to_be_bytes())), length).ackreq()
}

/// The first packet of a WRITE of `total` bytes.
pub fn write_first(psn: u32, offset: usize, total: u32, length: usize) -> Incoming {
    with_payload(psn, Body::WriteFirst(reth(offset, total)), length)
}

pub fn write_middle(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::WriteMiddle, length)
}

pub fn write_last(psn: u32, length: usize) -> Incoming {
    with_payload(psn, Body::WriteLast, length).ackreq()
}

pub fn write_last_imm(psn: u32, length: usize, immediate: u32) -> Incoming {
    with_payload(psn, Body::WriteLastImm(ImmDt(immediate.to_be_bytes())), length).ackreq()
}

pub fn write_only(psn: u32, offset: usize, length: usize) -> Incoming {
    with_payload(psn, Body::WriteOnly(reth(offset, length as u32)), length).ackreq()
}

pub fn write_only_imm(psn: u32, offset: usize, length: usize, immediate: u32) -> Incoming {
    let body = Body::WriteOnlyImm(reth(offset, length as u32), ImmDt(immediate.to_be_bytes()));
    with_payload(psn, body, length).ackreq()
}

pub fn read_request(psn: u32, offset: usize, length: u32) -> Incoming {
    packet(psn, Body::ReadRequest(reth(offset, length))).ackreq()
}

pub fn compare_swap_request(psn: u32, offset: usize, compare: u64, swap: u64) -> Incoming {
    let virtual_address = BASE + offset as u64;
    let atomic = AtomicEth { virtual_address, key: KEY, swap_or_add: swap, compare };
    packet(psn, Body::CompareSwap(atomic)).ackreq()
}

pub fn fetch_add_request(psn: u32, offset: usize, add: u64) -> Incoming {
    let virtual_address = BASE + offset as u64;
    let atomic = AtomicEth { virtual_address, key: KEY, swap_or_add: add, compare: 0 };
    packet(psn, Body::FetchAdd(atomic)).ackreq()
}

pub fn send_last_inv(psn: u32, length: usize, key: u32) -> Incoming {
    with_payload(psn, Body::SendLastInv(Ieth { key: RKey::new(key) }), length).ackreq()
}

pub fn send_only_inv(psn: u32, length: usize, key: u32) -> Incoming {
    with_payload(psn, Body::SendOnlyInv(Ieth { key: RKey::new(key) }), length).ackreq()
}

/// A FLUSH of bytes of this side's region; `placement` has the bits of the header.
pub fn flush_request(psn: u32, offset: usize, length: u32, placement: u8) -> Incoming {
    let feth = Feth { reserved: 0, selectivity: Feth::RANGE, placement };
    packet(psn, Body::Flush(feth, reth(offset, length))).ackreq()
}

/// A FLUSH of all that this side's key gives access to.
pub fn flush_region_request(psn: u32, placement: u8) -> Incoming {
    let feth = Feth { reserved: 0, selectivity: Feth::REGION, placement };
    packet(psn, Body::Flush(feth, Reth { virtual_address: 0, key: KEY, length: 0 })).ackreq()
}

/// An ATOMIC WRITE of eight bytes.
pub fn atomic_write_request(psn: u32, offset: usize, value: u64) -> Incoming {
    packet(psn, Body::AtomicWrite(reth(offset, 8))).payload(&value.to_ne_bytes()).ackreq()
}
