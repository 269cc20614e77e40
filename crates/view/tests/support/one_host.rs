//! Captures as if both hosts in them were one: all addresses are the first host's, and the second host's queue pairs and
//! communication IDs have other numbers, as one host would give them out.

use rdmalab_trace::{Entry, Reader, Writer};
use rdmalab_wire::{icrc_ipv4, icrc_ipv6};

use super::capture;

/// Where the addresses of the two hosts differ, from the end.
const FIRST: u8 = 1;
const SECOND: u8 = 2;
/// What tells numbers of the second host from the same ones of the first.
const OTHER: u8 = 0x40;

const ETHERNET: usize = 14;
const UDP: usize = 8;
const BTH: usize = 12;
const DETH: usize = 8;
const MAD: usize = 24;

/// The capture, and for each packet whether it went from the first host to the second; none of what others sent or got.
pub fn on_one_host(name: &str) -> (Vec<u8>, Vec<Option<bool>>) {
    let file = std::fs::read(capture(name)).unwrap();
    let mut writer = Writer::new(Vec::new()).unwrap();
    let interface = writer.interface("lo").unwrap();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut ways = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        let mut frame = record.data.to_vec();
        ways.push(moved(&mut frame));
        writer.write(Entry::new(interface, u64::try_from(record.time.unwrap()).unwrap(), &frame)).unwrap();
    }
    (writer.finish().unwrap(), ways)
}

/// Moves a frame to the one host.
fn moved(frame: &mut [u8]) -> Option<bool> {
    let (ends, ip_end, protocol) = match frame[12..14] {
        [0x08, 0x00] => {
            ([ETHERNET + 12..ETHERNET + 16, ETHERNET + 16..ETHERNET + 20], ETHERNET + 20, ETHERNET + 9)
        }
        [0x86, 0xdd] => {
            ([ETHERNET + 8..ETHERNET + 24, ETHERNET + 24..ETHERNET + 40], ETHERNET + 40, ETHERNET + 6)
        }
        _ => return None,
    };
    let [source, destination] = ends.clone().map(|end| &frame[end.start..end.end - 1]);
    if source != destination {
        return None;
    }
    let goes_forth = match ends.clone().map(|end| frame[end.end - 1]) {
        [FIRST, SECOND] => true,
        [SECOND, FIRST] => false,
        _ => return None,
    };
    for end in ends {
        frame[end.end - 1] = FIRST;
    }
    if frame[protocol] == 17 && frame[ip_end + 2..ip_end + 4] == 4791_u16.to_be_bytes() {
        roce(&mut frame[ip_end + UDP..], goes_forth);
    }
    checksums(frame, ip_end, frame[protocol] == 17);
    Some(goes_forth)
}

/// The numbers of queue pairs and of connection management.
fn roce(ib: &mut [u8], goes_forth: bool) {
    let to = u32::from_be_bytes([0, ib[5], ib[6], ib[7]]);
    let is_datagram = ib[0] >> 5 == 3;
    if to > 1 {
        if goes_forth {
            ib[5] ^= OTHER;
        }
        if is_datagram && !goes_forth {
            ib[BTH + 5] ^= OTHER;
        }
        return;
    }
    if !is_datagram {
        return;
    }
    let attribute = ib[BTH + DETH + 17];
    let data = BTH + DETH + MAD;
    // REQ, REP and DREQ name a queue pair; all but the questions of SIDR two communication IDs, those of REQ only one.
    let pair = match attribute {
        0x10 if !goes_forth => Some(32),
        0x13 if !goes_forth => Some(12),
        0x15 if goes_forth => Some(8),
        0x18 if !goes_forth => Some(8),
        _ => None,
    };
    if let Some(at) = pair {
        ib[data + at] ^= OTHER;
    }
    match (attribute, goes_forth) {
        (0x10..=0x16, false) if ib[data..data + 4] != [0; 4] => ib[data] ^= OTHER,
        (0x11..=0x16, true) if ib[data + 4..data + 8] != [0; 4] => ib[data + 4] ^= OTHER,
        _ => {}
    }
}

/// Header checksum of IPv4, and ICRC.
fn checksums(frame: &mut [u8], ip_end: usize, is_udp: bool) {
    let is_v4 = ip_end == ETHERNET + 20;
    if is_v4 {
        frame[ETHERNET + 10..ETHERNET + 12].fill(0);
        let sum: u32 = frame[ETHERNET..ip_end]
            .chunks(2)
            .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
            .sum();
        let folded = (sum & 0xffff) + (sum >> 16);
        let sum = !(((folded & 0xffff) + (folded >> 16)) as u16);
        frame[ETHERNET + 10..ETHERNET + 12].copy_from_slice(&sum.to_be_bytes());
    }
    if !is_udp || frame[ip_end + 2..ip_end + 4] != 4791_u16.to_be_bytes() {
        return;
    }
    let end = ip_end + usize::from(u16::from_be_bytes([frame[ip_end + 4], frame[ip_end + 5]])) - 4;
    let udp: [u8; UDP] = frame[ip_end..ip_end + UDP].try_into().unwrap();
    let ib = &frame[ip_end + UDP..end];
    let icrc = if is_v4 {
        icrc_ipv4(frame[ETHERNET..ip_end].try_into().unwrap(), &udp, ib)
    } else {
        icrc_ipv6(frame[ETHERNET..ip_end].try_into().unwrap(), &udp, ib)
    };
    frame[end..end + 4].copy_from_slice(&icrc.to_le_bytes());
}
