//! TCP segments forged by somebody who watches the connection.

use proptest::prelude::*;

use super::super::link::*;

/// Sets every checksum right that a stack would otherwise drop the packet for.
pub(super) fn mend(frame: &mut [u8]) {
    use smoltcp::wire::{Icmpv4Packet, Icmpv6Packet, IpAddress, Ipv4Packet, Ipv6Packet, TcpPacket};
    let Some(packet) = frame.get_mut(14..) else { return };
    let (source, destination, protocol, payload): (IpAddress, IpAddress, u8, &mut [u8]) = match packet.first()
    {
        Some(byte) if byte >> 4 == 4 && packet.len() >= 20 => {
            let mut ip = Ipv4Packet::new_unchecked(&mut *packet);
            if ip.check_len().is_err() {
                return;
            }
            ip.fill_checksum();
            let (source, destination, protocol) = (ip.src_addr(), ip.dst_addr(), ip.next_header().into());
            let start = usize::from(ip.header_len());
            (source.into(), destination.into(), protocol, &mut packet[start..])
        }
        Some(byte) if byte >> 4 == 6 && packet.len() >= 40 => {
            let ip = Ipv6Packet::new_unchecked(&mut *packet);
            let (source, destination, protocol) = (ip.src_addr(), ip.dst_addr(), ip.next_header().into());
            (source.into(), destination.into(), protocol, &mut packet[40..])
        }
        _ => return,
    };
    match (protocol, source, destination) {
        (6, ..) if payload.len() >= 20 => {
            TcpPacket::new_unchecked(payload).fill_checksum(&source, &destination)
        }
        (1, ..) if payload.len() >= 4 => Icmpv4Packet::new_unchecked(payload).fill_checksum(),
        (58, IpAddress::Ipv6(source), IpAddress::Ipv6(destination)) if payload.len() >= 4 => {
            Icmpv6Packet::new_unchecked(payload).fill_checksum(&source, &destination);
        }
        _ => {}
    }
}

/// One segment of an attacker who sees the connection: numbers near the right ones, anything else as it comes.
#[derive(Clone, Debug)]
pub(super) struct Forgery {
    pub(super) v6: bool,
    pub(super) from_other_port: bool,
    pub(super) flags: u8,
    pub(super) sequence: i32,
    pub(super) acknowledges: i32,
    pub(super) window: u16,
    pub(super) options: Vec<u8>,
    pub(super) payload: usize,
    pub(super) wait: u64,
}

fn near() -> impl Strategy<Value = i32> {
    prop_oneof![4 => -3..4_i32, 2 => -70_000..70_000_i32, 1 => any::<i32>()]
}

fn option() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => Just(vec![]),
        1 => any::<u16>().prop_map(|mss| vec![2, 4, (mss >> 8) as u8, mss as u8]),
        1 => any::<u8>().prop_map(|shift| vec![1, 3, 3, shift]),
        1 => Just(vec![1, 1, 4, 2]),
        1 => any::<[u8; 8]>().prop_map(|t| [&[1, 1, 8, 10][..], &t].concat()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

pub(super) fn forgery() -> impl Strategy<Value = Forgery> {
    let flags =
        prop_oneof![6 => Just(0x10_u8), 2 => Just(0x02), 2 => Just(0x12), 2 => Just(0x11), 1 => any::<u8>()];
    let window = prop_oneof![Just(0), Just(u16::MAX), any::<u16>()];
    let payload = prop_oneof![3 => Just(0), 2 => 1..1500_usize];
    let wait = prop_oneof![6 => Just(0), 2 => 0..SECOND, 1 => 0..100 * SECOND];
    (any::<bool>(), proptest::bool::weighted(0.1), flags, near(), near(), window, option(), payload, wait)
        .prop_map(|(v6, from_other_port, flags, sequence, acknowledges, window, options, payload, wait)| {
            Forgery { v6, from_other_port, flags, sequence, acknowledges, window, options, payload, wait }
        })
}

/// What is known of a connection: a port of the peer, and the numbers last seen from our side.
#[derive(Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) own_port: u16,
    pub(super) peer_port: u16,
    pub(super) next: u32,
    pub(super) acknowledged: u32,
}

pub(super) fn forge(seen: &Seen, forgery: &Forgery) -> Vec<u8> {
    let mut tcp = vec![0; 20];
    let port = seen.peer_port.wrapping_add(u16::from(forgery.from_other_port));
    tcp[..2].copy_from_slice(&port.to_be_bytes());
    tcp[2..4].copy_from_slice(&seen.own_port.to_be_bytes());
    tcp[4..8].copy_from_slice(&seen.acknowledged.wrapping_add_signed(forgery.sequence).to_be_bytes());
    tcp[8..12].copy_from_slice(&seen.next.wrapping_add_signed(forgery.acknowledges).to_be_bytes());
    tcp[13] = forgery.flags;
    tcp[14..16].copy_from_slice(&forgery.window.to_be_bytes());
    tcp.extend_from_slice(&forgery.options);
    tcp.resize(tcp.len().next_multiple_of(4).min(60), 0);
    tcp[12] = ((tcp.len() / 4) << 4) as u8;
    tcp.resize(tcp.len() + forgery.payload, 0xda);
    let (source, destination, kind) = if forgery.v6 { (A6, B6, 0x86dd) } else { (A4, B4, 0x0800) };
    let mut frame = ethernet(MAC_B, MAC_A, kind, &ip_packet(source, destination, 6, &tcp));
    mend(&mut frame);
    frame
}

/// Takes in what our side says.
pub(super) fn watch(seen: &mut [Seen; 2], frame: &[u8]) {
    let (v6, tcp) = match frame.get(12..14) {
        Some([0x08, 0x00]) => (false, frame.get(34..)),
        Some([0x86, 0xdd]) if frame[20] == 6 => (true, frame.get(54..)),
        _ => return,
    };
    let Some([s0, s1, d0, d1, n0, n1, n2, n3, a0, a1, a2, a3, offset, flags, ..]) = tcp else { return };
    if flags & 4 != 0 {
        return;
    }
    let length = tcp.map_or(0, <[u8]>::len) as u32 - u32::from(offset >> 4) * 4 + u32::from(flags & 3 != 0);
    seen[usize::from(v6)] = Seen {
        own_port: u16::from_be_bytes([*s0, *s1]),
        peer_port: u16::from_be_bytes([*d0, *d1]),
        next: u32::from_be_bytes([*n0, *n1, *n2, *n3]).wrapping_add(length),
        acknowledged: u32::from_be_bytes([*a0, *a1, *a2, *a3]),
    };
}

/// A forgery that fits exactly where the connection is.
pub(super) fn exact(flags: u8, window: u16) -> Forgery {
    Forgery {
        v6: false,
        from_other_port: false,
        flags,
        sequence: 0,
        acknowledges: 0,
        window,
        options: vec![],
        payload: 0,
        wait: 0,
    }
}
