//! Packets with any opcode and the headers that go with it, whatever is in them.

use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Feth, Header, Ieth, ImmDt, Msn, NetworkHeader, Opcode, Psn,
    QKey, Qpn, RKey, Rdeth, Reth, Syndrome, Xrceth,
};

use super::input::{Forged, Payload};

/// What a forged packet refers to.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    pub destination: Qpn,
    pub psn: Psn,
    /// High three bits of the opcode.
    pub transport: u8,
    pub key: RKey,
    pub address: u64,
    pub mtu: usize,
    pub shared_receive_queue: u32,
    pub queue_key: QKey,
    pub source: Qpn,
}

/// Longest payload that is built; more than any path MTU.
const LONGEST: usize = 5000;

/// Headers, payload, pad and ICRC.
pub fn build(network: &NetworkHeader, forged: &Forged, aim: &Aim) -> Option<Vec<u8>> {
    let opcode = Opcode(aim.transport << 5 | forged.operation & 0x1f);
    let payload = match forged.payload {
        Payload::None => 0,
        Payload::Mtu(more) => aim.mtu.saturating_add_signed(more.into()),
        Payload::Fitting => (forged.length as usize).min(aim.mtu),
        Payload::Short(length) => length.into(),
    };
    let payload = payload.min(LONGEST);
    let pad = payload.wrapping_neg() % 4;
    let flag = |bit: u8| forged.flags & bit != 0;
    let bth = Bth {
        solicited: flag(1),
        ack_request: flag(2),
        fecn: flag(4),
        becn: flag(8),
        migrated: flag(16),
        pad_count: pad as u8,
        ..Bth::new(aim.destination, aim.psn)
    };
    let mut packet = vec![0; network.length()];
    packet.extend(bth.encode(opcode));
    if let Some(row) = opcode.row() {
        for header in row.headers.iter() {
            extend(&mut packet, header, forged, aim);
        }
    }
    packet.extend((0..payload).map(|n| n as u8 ^ 0xa5));
    packet.resize(packet.len() + pad + 4, 0);
    network.finish(&mut packet, 1).ok()?;
    Some(packet)
}

fn extend(packet: &mut Vec<u8>, header: Header, forged: &Forged, aim: &Aim) {
    let Aim { key, address, .. } = *aim;
    match header {
        Header::Rdeth => packet.extend(Rdeth { reserved: 0, ee_context: 1 }.encode()),
        Header::Xrceth => {
            packet.extend(Xrceth { reserved: 0, shared_receive_queue: aim.shared_receive_queue }.encode());
        }
        Header::Deth => {
            packet.extend(Deth { queue_key: aim.queue_key, reserved: 0, source: aim.source }.encode());
        }
        Header::Feth => {
            let (selectivity, placement) = (forged.syndrome & 3, forged.syndrome >> 4);
            packet.extend(Feth { reserved: 0, selectivity, placement }.encode());
        }
        Header::Reth => {
            packet.extend(Reth { virtual_address: address, key, length: forged.length }.encode());
        }
        Header::AtomicEth => {
            let (swap_or_add, compare) = (forged.word, u64::from(forged.length));
            packet.extend(AtomicEth { virtual_address: address, key, swap_or_add, compare }.encode());
        }
        Header::Aeth => {
            let msn = Msn::new(forged.length & 0xff_ffff);
            packet.extend(Aeth { syndrome: Syndrome::from_byte(forged.syndrome), msn }.encode());
        }
        Header::AtomicAckEth => packet.extend(AtomicAckEth { original: forged.word }.encode()),
        Header::ImmDt => packet.extend(ImmDt([1, 2, 3, 4]).encode()),
        Header::Ieth => packet.extend(Ieth { key }.encode()),
    }
}
