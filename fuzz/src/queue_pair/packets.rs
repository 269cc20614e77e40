//! Packets of the peer, built from what the input says.

use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Body, Bth, Ieth, ImmDt, Msn, NetworkHeader, Opcode, Packet, Psn, Qpn,
    RKey, Reth, Syndrome, Transport,
};

use super::input::{Key, Payload, Place, Request, Response};

/// What the input's places and payloads refer to.
#[derive(Clone, Copy)]
pub struct Frame {
    pub mtu: usize,
    /// Address of the first byte of every region.
    pub base: u64,
    pub usual: u32,
    pub read_only: u32,
    pub may_go: u32,
    pub foreign: u32,
}

const IMMEDIATE: ImmDt = ImmDt([1, 2, 3, 4]);
/// Longest payload that is built; more than any path MTU.
const LONGEST: usize = 5000;

impl Frame {
    pub fn payload(&self, payload: Payload) -> Vec<u8> {
        let length = match payload {
            Payload::None => 0,
            Payload::Mtu(more) => self.mtu.saturating_add_signed(more.into()),
            Payload::Short(length) => length.into(),
            Payload::Long(length) => length.into(),
        };
        (0..length.min(LONGEST)).map(|n| n as u8 ^ 0x5a).collect()
    }

    fn address(&self, place: Place) -> (u64, RKey) {
        let key = match place.key {
            Key::Usual => self.usual,
            Key::ReadOnly => self.read_only,
            Key::MayGo => self.may_go,
            Key::Foreign => self.foreign,
            Key::Any(key) => key,
        };
        (self.base.wrapping_add_signed(place.offset.into()), RKey::new(key))
    }

    fn reth(&self, place: Place) -> Reth {
        let (virtual_address, key) = self.address(place);
        let more = place.more.map_or(0, |bit| 1 << (bit % 32));
        Reth { virtual_address, key, length: u32::from(place.length) | more }
    }

    fn atomic(&self, place: Place, swap_or_add: u64, compare: u64) -> AtomicEth {
        let (virtual_address, key) = self.address(place);
        AtomicEth { virtual_address, key, swap_or_add, compare }
    }

    pub fn request(&self, request: Request, payload: usize) -> Body {
        match request {
            Request::SendFirst => Body::SendFirst,
            Request::SendMiddle => Body::SendMiddle,
            Request::SendLast => Body::SendLast,
            Request::SendLastImm => Body::SendLastImm(IMMEDIATE),
            Request::SendOnly => Body::SendOnly,
            Request::SendOnlyImm => Body::SendOnlyImm(IMMEDIATE),
            Request::SendLastInv(key) => Body::SendLastInv(Ieth { key: RKey::new(key) }),
            Request::SendOnlyInv(key) => Body::SendOnlyInv(Ieth { key: RKey::new(key) }),
            Request::WriteFirst(place) => Body::WriteFirst(self.reth(place)),
            Request::WriteMiddle => Body::WriteMiddle,
            Request::WriteLast => Body::WriteLast,
            Request::WriteLastImm => Body::WriteLastImm(IMMEDIATE),
            Request::WriteOnly(place) => Body::WriteOnly(self.reth(place)),
            Request::WriteOnlyImm(place) => Body::WriteOnlyImm(self.reth(place), IMMEDIATE),
            Request::WriteFitting(place) => {
                Body::WriteOnly(Reth { length: payload as u32, ..self.reth(place) })
            }
            Request::Read(place) => Body::ReadRequest(self.reth(place)),
            Request::CompareSwap(place, swap, compare) => {
                Body::CompareSwap(self.atomic(place, swap, compare))
            }
            Request::FetchAdd(place, add) => Body::FetchAdd(self.atomic(place, add, 0)),
        }
    }
}

pub fn response(response: Response) -> Body {
    let aeth =
        |syndrome, msn: u8| Aeth { syndrome: Syndrome::from_byte(syndrome), msn: Msn::new(msn.into()) };
    match response {
        Response::Acknowledge { syndrome, msn } => Body::Acknowledge(aeth(syndrome, msn)),
        Response::ReadFirst { syndrome } => Body::ReadResponseFirst(aeth(syndrome, 1)),
        Response::ReadMiddle => Body::ReadResponseMiddle,
        Response::ReadLast { syndrome } => Body::ReadResponseLast(aeth(syndrome, 1)),
        Response::ReadOnly { syndrome } => Body::ReadResponseOnly(aeth(syndrome, 1)),
        Response::Atomic { syndrome, original } => {
            Body::AtomicAcknowledge(aeth(syndrome, 1), AtomicAckEth { original })
        }
    }
}

/// The packets that a peer without faults answers a request with: bodies and bytes of payload.
pub fn answer(asked: &Body, mtu: usize) -> Vec<(Body, usize)> {
    let ack = Aeth { syndrome: Syndrome::ACK, msn: Msn::new(1) };
    match asked {
        Body::ReadRequest(reth) => {
            let length = reth.length as usize;
            let packets = length.div_ceil(mtu).max(1);
            let body = |n| match (n == 0, n + 1 == packets) {
                (true, true) => Body::ReadResponseOnly(ack),
                (true, false) => Body::ReadResponseFirst(ack),
                (false, false) => Body::ReadResponseMiddle,
                (false, true) => Body::ReadResponseLast(ack),
            };
            (0..packets).map(|n| (body(n), (length - n * mtu).min(mtu))).collect()
        }
        Body::CompareSwap(_) | Body::FetchAdd(_) => {
            vec![(Body::AtomicAcknowledge(ack, AtomicAckEth { original: 7 }), 0)]
        }
        _ => vec![(Body::Acknowledge(ack), 0)],
    }
}

/// Puts headers and ICRC around a body and a payload. `None` if there are no such packets.
pub fn build(
    header: &NetworkHeader,
    destination: Qpn,
    psn: Psn,
    body: Body,
    payload: &[u8],
    flags: u8,
) -> Option<Vec<u8>> {
    let bth = Bth {
        solicited: flags & 1 != 0,
        ack_request: flags & 2 != 0,
        fecn: flags & 4 != 0,
        becn: flags & 8 != 0,
        migrated: flags & 16 != 0,
        ..Bth::new(destination, psn)
    };
    let packet = Packet { bth, transport: Transport::Rc, body, payload };
    let length = packet.encoded_length();
    let mut out = vec![0; header.length() + length + 4];
    packet.encode(&mut out[header.length()..]).ok()?;
    header.finish(&mut out, 1).ok()?;
    Some(out)
}

/// Any bytes behind a base header; `flags` are the two bytes behind the opcode, the partition key being right.
pub fn build_raw(
    header: &NetworkHeader,
    destination: Qpn,
    psn: Psn,
    opcode: u8,
    flags: u16,
    bytes: &[u8],
) -> Option<Vec<u8>> {
    let mut bth = Bth::new(destination, psn).encode(Opcode(opcode));
    [bth[1], bth[8]] = flags.to_be_bytes();
    let mut out = vec![0; header.length()];
    out.extend_from_slice(&bth);
    out.extend_from_slice(bytes);
    out.extend_from_slice(&[0; 4]);
    header.finish(&mut out, 1).ok()?;
    Some(out)
}
