//! Several datagrams of RoCE v2 in one packet: what the kernel shows of a sender that leaves it to cut (segmentation offload), and
//! of a receiver that puts together what came (receive offload). No wire has such packets.
//!
//! All datagrams but the last have one length, and may go to different queue pairs. Where the second begins is told by a base header of the
//! first one's partition, and is believed if the ICRC in front of it is right for a datagram that ends there.

use rdmalab_wire::{Bth, Carried, Carrier, Ipv4Header, Ipv6Header, UdpHeader};

/// The ICRC's length in bytes.
const ICRC: usize = 4;
/// Places that are looked at closely, at most.
const MOST_TRIED: usize = 4;

/// The length of each of the datagrams from the base header to the ICRC, if there are several. `ip` begins with the IP header, and
/// `headers` bytes of it are in front of the base header.
pub(super) fn first_length(carrier: &Carrier, ip: &[u8], headers: usize, ib: &[u8]) -> Option<usize> {
    let (_, first) = Bth::decode(ib.first_chunk()?);
    let begins = |at: usize| {
        ib.get(at..).and_then(<[u8]>::first_chunk).is_some_and(|bytes| {
            let (opcode, here) = Bth::decode(bytes);
            let is_plain = here.header_version == 0 && here.reserved_6 == 0 && here.reserved_7 == 0;
            opcode.row().is_some() && here.partition_key == first.partition_key && is_plain
        })
    };
    let shortest = Bth::LENGTH + ICRC;
    let starts = (shortest..ib.len().saturating_sub(Bth::LENGTH)).step_by(4);
    starts.filter(|at| begins(*at)).take(MOST_TRIED).find(|at| is_one(carrier, ip, headers, *at))
}

/// Whether the bytes up to there are a datagram with the right ICRC, once the lengths of IP and UDP say that they are.
fn is_one(carrier: &Carrier, ip: &[u8], headers: usize, length: usize) -> bool {
    let Some(bytes) = ip.get(..headers + length) else { return false };
    let mut one = bytes.to_vec();
    // No longer than the packet, whose length has a place there.
    let udp = ((UdpHeader::LENGTH + length) as u16).to_be_bytes();
    let (at, of_ip) = match carrier {
        Carrier::RoceV2Ipv4(..) => (2, one.len() as u16),
        Carrier::RoceV2Ipv6(..) => (4, (one.len() - Ipv6Header::LENGTH.min(one.len())) as u16),
        Carrier::RoceV1(_) | Carrier::Native(..) => return false,
    };
    let places = [(at, of_ip.to_be_bytes()), (headers.saturating_sub(4), udp)];
    for (at, value) in places {
        let Some(place) = one.get_mut(at..at + value.len()) else { return false };
        place.copy_from_slice(&value);
    }
    Carried::in_ip(&one).is_some_and(|carried| carried.error.is_none() && carried.verify_icrc().is_ok())
}

/// Headers without options and extensions, which is what senders that leave cutting to others have.
pub(super) fn is_plain(carrier: &Carrier, headers: usize) -> bool {
    match carrier {
        Carrier::RoceV2Ipv4(..) => headers == Ipv4Header::LENGTH + UdpHeader::LENGTH,
        Carrier::RoceV2Ipv6(..) => headers == Ipv6Header::LENGTH + UdpHeader::LENGTH,
        Carrier::RoceV1(_) | Carrier::Native(..) => false,
    }
}
