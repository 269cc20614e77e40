//! The line of an ordinary packet, written without the machinery of formatting: that machinery, not decoding and not
//! checksums, is what printing a large capture takes its time for.
//!
//! Ordinary is RoCE v2 over IPv4 of a reliable connection, with nothing wrong and nothing said of it. Of everything else, and of
//! headers that are rare, it says so and writes nothing; [`Line`](super::Line) decides what a line looks like, and a
//! test holds the two against each other.

use core::net::Ipv4Addr;

use rdmalab_wire::{Aeth, Carrier, Ecn, Headers, ImmDt, PayloadRule, Reth, Syndrome, TransportKind};

use crate::dissect::{Content, Dissection, Icrc, Network};
use crate::line::since_first;
use crate::record::Record;

/// Appends the packet's line, without its end; false, and nothing appended, if it is not an ordinary packet.
pub(crate) fn write(
    record: &Record<'_>,
    dissection: &Dissection<'_>,
    first: Option<i128>,
    text: &mut Vec<u8>,
) -> bool {
    let Content::Roce(roce) = &dissection.content else { return false };
    let Some(Network::V4 { header, .. }) = &dissection.network else { return false };
    let packet = &roce.packet;
    let (Some(opcode), Some(bth)) = (packet.opcode, &packet.bth) else { return false };
    let Some(row) = opcode.row() else { return false };
    let time = since_first(record, first).and_then(|time| u64::try_from(time).ok());
    let Some(nanoseconds) = time else { return false };
    let Some(Extended { reth, aeth, imm_dt }) = extended(&packet.headers) else { return false };
    let ordinary = row.transport == TransportKind::Rc
        && matches!(roce.carrier, Carrier::RoceV2Ipv4(..))
        && roce.icrc == Icrc::Right
        && roce.vcrc.is_none()
        && packet.error.is_none()
        && packet.payload.len() >= roce.payload_length
        && dissection.malformed.is_none()
        && !dissection.cut
        && dissection.vlan.iter().all(Option::is_none);
    if !ordinary || { record.comments }.next().is_some() {
        return false;
    }

    right_aligned(text, record.frame, 5);
    text.push(b' ');
    seconds(text, nanoseconds, record.finer_than_microseconds);
    text.push(b' ');
    ipv4(text, header.source);
    text.extend_from_slice(b" > ");
    ipv4(text, header.destination);
    if header.dscp != 0 {
        text.extend_from_slice(b" dscp=");
        decimal(text, header.dscp);
    }
    text.extend_from_slice(match header.ecn {
        Ecn::NotEct => b"",
        Ecn::Ect0 => b" ecn=ect0",
        Ecn::Ect1 => b" ecn=ect1",
        Ecn::Ce => b" ecn=ce",
    });
    text.extend_from_slice(b" RoCE ");
    text.extend_from_slice(row.name.as_bytes());
    text.extend_from_slice(b" psn=");
    decimal(text, bth.psn.value());
    if let Some(reth) = reth {
        text.extend_from_slice(b" va=0x");
        hexadecimal(text, reth.virtual_address, 1);
        text.extend_from_slice(b" rkey=0x");
        hexadecimal(text, reth.key.value().into(), 1);
        text.extend_from_slice(b" dmalen=");
        decimal(text, reth.length);
    }
    if let Some(aeth) = aeth {
        text.extend_from_slice(b" ack");
        if let Syndrome::Ack { credits } = aeth.syndrome
            && credits != 31
        {
            text.extend_from_slice(b" credits=");
            decimal(text, credits);
        }
        text.extend_from_slice(b" msn=");
        decimal(text, aeth.msn.value());
    }
    if row.payload != PayloadRule::None || !packet.payload.is_empty() {
        text.extend_from_slice(b" len=");
        decimal(text, packet.payload.len());
    }
    if let Some(imm_dt) = imm_dt {
        text.extend_from_slice(b" imm=0x");
        hexadecimal(text, u32::from_be_bytes(imm_dt.0).into(), 8);
    }
    for (set, name) in [
        (bth.solicited, &b" solicited"[..]),
        (bth.ack_request, b" ackreq"),
        (bth.fecn, b" fecn"),
        (bth.becn, b" becn"),
        (bth.migrated, b" migrated"),
    ] {
        if set {
            text.extend_from_slice(name);
        }
    }
    text.extend_from_slice(b" qp=0x");
    hexadecimal(text, bth.destination.value().into(), 6);
    text.extend_from_slice(b" icrc ok");
    true
}

/// The headers that ordinary packets have behind the base header.
struct Extended<'h> {
    reth: Option<&'h Reth>,
    aeth: Option<&'h Aeth>,
    imm_dt: Option<&'h ImmDt>,
}

/// None if there are others, or a negative acknowledgement.
fn extended(headers: &Headers) -> Option<Extended<'_>> {
    let Headers {
        rdeth: None,
        xrceth: None,
        deth: None,
        feth: None,
        reth,
        atomic_eth: None,
        aeth,
        atomic_ack_eth: None,
        imm_dt,
        ieth: None,
    } = headers
    else {
        return None;
    };
    match aeth {
        None | Some(Aeth { syndrome: Syndrome::Ack { .. }, .. }) => {
            Some(Extended { reth: reth.as_ref(), aeth: aeth.as_ref(), imm_dt: imm_dt.as_ref() })
        }
        Some(_) => None,
    }
}

fn decimal(text: &mut Vec<u8>, number: impl itoa::Integer) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn right_aligned(text: &mut Vec<u8>, number: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    (digits.len()..width).for_each(|_| text.push(b' '));
    text.extend_from_slice(digits);
}

/// At least `least` digits, at most 16.
fn hexadecimal(text: &mut Vec<u8>, number: u64, least: usize) {
    let mut digits = [0; 16];
    for (at, digit) in digits.iter_mut().enumerate() {
        let nibble = (number >> (60 - 4 * at) & 0xf) as u8;
        *digit = if nibble < 10 { b'0' + nibble } else { b'a' - 10 + nibble };
    }
    let needed = 16 - number.leading_zeros() as usize / 4;
    text.extend_from_slice(digits.get(16 - needed.max(least).min(16)..).unwrap_or_default());
}

fn seconds(text: &mut Vec<u8>, nanoseconds: u64, nine_decimals: bool) {
    right_aligned(text, nanoseconds / 1_000_000_000, 4);
    let mut rest = (nanoseconds % 1_000_000_000) as u32;
    let mut decimals = *b".000000000";
    for digit in decimals.iter_mut().skip(1).rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let length = if nine_decimals { 10 } else { 7 };
    text.extend_from_slice(decimals.get(..length).unwrap_or_default());
}

fn ipv4(text: &mut Vec<u8>, address: Ipv4Addr) {
    let [a, b, c, d] = address.octets();
    decimal(text, a);
    for byte in [b, c, d] {
        text.push(b'.');
        decimal(text, byte);
    }
}
