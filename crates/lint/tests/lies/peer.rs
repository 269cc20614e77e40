//! What a peer may lie about: one field of one packet, all checksums right.

use rdmalab_trace::{Dissection, Field, LinkType, Reader, Reading, fields};
use rdmalab_wire::{Carried, Fault, Frame, Layer, ParseError};

use crate::sound::{Packet, file};

/// Bits of a packet that are a field.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    pub name: &'static str,
    bit: usize,
    pub bits: usize,
}

/// The fields of a packet that stand in it.
pub fn told(packet: &Packet) -> Vec<Told> {
    let mut all = Vec::new();
    let file = file(std::slice::from_ref(packet));
    let mut reader = Reader::new(&file[..]).unwrap();
    let record = reader.next().unwrap().unwrap();
    fields(&record, &Dissection::of(&record), None, &mut |field: &Field<'_>| {
        if let Some(place) = field.place.filter(|place| matches!(place.reading, Reading::Times(_))) {
            all.push(Told { name: field.name, bit: place.bit, bits: place.bits });
        }
    });
    all
}

/// The packet with a bit of a field turned over, the `n`-th of it.
pub fn changed(packet: &Packet, told: &Told, n: usize) -> Packet {
    let mut packet = packet.clone();
    let bit = told.bit + n % told.bits;
    packet.data[bit / 8] ^= 0x80 >> (bit % 8);
    correct(&mut packet);
    packet
}

/// Makes the checksums right, those that others cover first, as far as the headers lead to them.
fn correct(packet: &mut Packet) {
    type Check = fn(&Carried<'_>) -> Result<(), ParseError>;
    let in_order_of_cover: [Check; 4] = [
        |carried| carried.verify_checksums(),
        |carried| carried.verify_icrc(),
        // UDP covers the ICRC.
        |carried| carried.verify_checksums(),
        |carried| carried.verify_vcrc().unwrap_or(Ok(())),
    ];
    for check in in_order_of_cover {
        // One behind the other: IP's, then UDP's.
        for _ in 0..2 {
            let Some((layer, at, expected)) = wrong(packet, check) else { break };
            let bytes = expected.to_le_bytes();
            let bytes = match layer {
                Layer::Icrc => &bytes[..],
                Layer::Vcrc => &bytes[..2],
                _ => &[bytes[1], bytes[0]],
            };
            packet.data[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }
}

/// A checksum that is wrong: of which layer, where, and what it should be.
fn wrong(packet: &Packet, check: fn(&Carried<'_>) -> Result<(), ParseError>) -> Option<(Layer, usize, u32)> {
    let frame;
    let carried = if packet.link == LinkType::ETHERNET {
        frame = Frame::parse(&packet.data).ok()?;
        Carried::in_frame(&frame)?.ok()?
    } else {
        Carried::in_link_packet(&packet.data)?.ok()?
    };
    let error = check(&carried).err()?;
    let Fault::BadChecksum { expected, .. } = error.fault else { return None };
    Some((error.layer, error.offset, expected))
}
