//! Frames made and judged by hand, byte by byte, without the code under test.

pub const OURS: [u8; 6] = [2, 0, 0, 0, 0, 2];
pub const KERNEL: [u8; 6] = [2, 0, 0, 0, 0, 1];

pub fn is_udp(frame: &[u8]) -> bool {
    frame[12..14] == [0x08, 0x00] && frame[23] == 17
}

pub fn is_tcp(frame: &[u8]) -> bool {
    frame[12..14] == [0x08, 0x00] && frame[23] == 6
}

/// An experimental frame without meaning.
pub fn frame_to(destination: [u8; 6]) -> Vec<u8> {
    let mut frame = destination.to_vec();
    frame.extend([2, 0, 0, 0, 0, 9, 0x89, 0x15]);
    frame.resize(60, 0);
    frame
}

pub fn identification(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[18], frame[19]])
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0))).sum()
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The sum over the pseudo header and all that is behind the IPv4 header.
fn transport_sum(frame: &[u8]) -> u16 {
    let transport = &frame[34..];
    folded(u64::from(frame[23]) + transport.len() as u64 + sum(&frame[26..34]) + sum(transport))
}

/// Whether the checksums of an IPv4 frame with TCP or UDP are right, and its lengths.
pub fn checksum_is_right(frame: &[u8]) -> bool {
    usize::from(u16::from_be_bytes([frame[16], frame[17]])) == frame.len() - 14
        && folded(sum(&frame[14..34])) == 0xffff
        && transport_sum(frame) == 0xffff
}

fn ipv4(identification: u16, protocol: u8, transport: &[u8]) -> Vec<u8> {
    let mut frame = KERNEL.to_vec();
    frame.extend(OURS);
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend(((20 + transport.len()) as u16).to_be_bytes());
    frame.extend(identification.to_be_bytes());
    frame.extend([0x40, 0, 64, protocol, 0, 0, 10, 8, 0, 2, 10, 8, 0, 1]);
    let sum = !folded(sum(&frame[14..34]));
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend_from_slice(transport);
    frame
}

/// A datagram from us to the kernel's RoCE port, without a checksum.
pub fn datagram(identification: u16, payload: &[u8]) -> Vec<u8> {
    let mut udp = vec![0xc0, 0x00, 0x12, 0xb7];
    udp.extend(((8 + payload.len()) as u16).to_be_bytes());
    udp.extend([0, 0]);
    udp.extend_from_slice(payload);
    ipv4(identification, 17, &udp)
}

/// The sequence number and the data of a TCP segment.
pub fn tcp_segment(frame: &[u8]) -> (u32, &[u8]) {
    let sequence = u32::from_be_bytes(frame[38..42].try_into().unwrap());
    (sequence, &frame[34 + usize::from(frame[46] >> 4) * 4..])
}

/// Our acknowledgement of a segment; `opens`: of the first one, so that the connection is there.
pub fn tcp_reply(frame: &[u8], opens: bool) -> Vec<u8> {
    let (sequence, data) = tcp_segment(frame);
    let mut tcp = Vec::new();
    tcp.extend_from_slice(&frame[36..38]);
    tcp.extend_from_slice(&frame[34..36]);
    tcp.extend((if opens { 0 } else { 1_u32 }).to_be_bytes());
    tcp.extend(sequence.wrapping_add(data.len() as u32 + u32::from(opens)).to_be_bytes());
    // SYN and ACK with an MSS of 8,960 and windows counted in units of 128 bytes, or ACK alone.
    tcp.extend(if opens { [0x70, 0x12] } else { [0x50, 0x10] });
    tcp.extend([0xff, 0xff, 0, 0, 0, 0]);
    if opens {
        tcp.extend([2, 4, 0x23, 0x00, 3, 3, 7, 1]);
    }
    let mut frame = ipv4(1, 6, &tcp);
    let sum = !transport_sum(&frame);
    frame[50..52].copy_from_slice(&sum.to_be_bytes());
    frame
}

/// Bytes that are not all the same.
pub fn payload(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index % 251) as u8).collect()
}
