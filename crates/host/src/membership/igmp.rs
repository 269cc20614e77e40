//! IGMP (RFC 3376, RFC 2236): questions read, reports written, as whole IPv4 packets with the router alert option.

use core::net::Ipv4Addr;

use rdmalab_wire::checksum::Sum;

use super::{Query, Record};
use crate::receive::ALL_SYSTEMS;

const QUERY: u8 = 0x11;
const REPORT: u8 = 0x22;
const OLD_REPORT: u8 = 0x16;
const OLD_LEAVE: u8 = 0x17;

const ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// All routers that speak IGMPv3.
const V3_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);

const TENTH: u64 = 100_000_000;

/// Reads what is behind the IP header; `None` if it is no question, or not sent to whom it concerns.
pub(crate) fn query(message: &[u8], destination: Ipv4Addr) -> Option<Query> {
    let [QUERY, code, _, _, a, b, c, d, rest @ ..] = message else { return None };
    if Sum::new().bytes(message).finish() != 0 {
        return None;
    }
    let group = Ipv4Addr::new(*a, *b, *c, *d);
    let robustness = match rest {
        [] => None,
        [flags, _, _, _, ..] => Some(flags & 0x07),
        // RFC 3376 §7.1: of no version.
        _ => return None,
    };
    let asks_all = group.is_unspecified() && destination == ALL_SYSTEMS;
    if !asks_all && !group.is_multicast() {
        return None;
    }
    let tenths = match (robustness, code) {
        // IGMPv1 has no such field; RFC 2236 §4 says ten seconds.
        (None, 0) => 100,
        (Some(_), 128..) => u64::from(code & 0x0f | 0x10) << ((code >> 4 & 0x07) + 3),
        _ => u64::from(*code),
    };
    Some(Query { group: group.into(), within: tenths * TENTH, robustness })
}

/// Appends a report of the current version; returns its destination.
pub(crate) fn report(source: Ipv4Addr, records: &[(Record, Ipv4Addr)], out: &mut Vec<u8>) -> Ipv4Addr {
    let [c0, c1] = (records.len() as u16).to_be_bytes();
    let mut message = vec![REPORT, 0, 0, 0, 0, 0, c0, c1];
    for (record, group) in records {
        message.extend([*record as u8, 0, 0, 0]);
        message.extend(group.octets());
    }
    packet(source, V3_ROUTERS, message, out)
}

/// Appends an IGMPv2 report, or one that the group was left.
pub(crate) fn old_report(source: Ipv4Addr, group: Ipv4Addr, left: bool, out: &mut Vec<u8>) -> Ipv4Addr {
    let (kind, destination) = if left { (OLD_LEAVE, ROUTERS) } else { (OLD_REPORT, group) };
    let [a, b, c, d] = group.octets();
    packet(source, destination, vec![kind, 0, 0, 0, a, b, c, d], out)
}

/// RFC 3376 §4: TTL 1, type of service 0xc0, router alert; and as Linux sends it: not to be fragmented, identification 0.
fn packet(source: Ipv4Addr, destination: Ipv4Addr, mut message: Vec<u8>, out: &mut Vec<u8>) -> Ipv4Addr {
    let sum = Sum::new().bytes(&message).finish();
    [message[2], message[3]] = sum.to_be_bytes();
    let [l0, l1] = (24 + message.len() as u16).to_be_bytes();
    let mut header = [0x46, 0xc0, l0, l1, 0, 0, 0x40, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x94, 4, 0, 0];
    header[12..16].copy_from_slice(&source.octets());
    header[16..20].copy_from_slice(&destination.octets());
    let sum = Sum::new().bytes(&header).finish();
    [header[10], header[11]] = sum.to_be_bytes();
    out.extend(header);
    out.extend(message);
    destination
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_answers_is_in_tenths_of_a_second_and_large_ones_are_coded() {
        let within = |code: u8, current: bool| {
            let mut message = vec![QUERY, code, 0, 0, 0, 0, 0, 0];
            message.extend(if current { &[3, 125, 0, 0][..] } else { &[] });
            let sum = Sum::new().bytes(&message).finish();
            [message[2], message[3]] = sum.to_be_bytes();
            let query = query(&message, ALL_SYSTEMS).unwrap();
            assert_eq!(query.robustness, current.then_some(3));
            query.within / TENTH
        };
        // RFC 3376 §4.1.1: mantissa and exponent from 128 on. IGMPv1 does not tell, and means ten seconds.
        for (code, current, older) in
            [(0, 0, 100), (1, 1, 1), (127, 127, 127), (128, 128, 128), (255, 31_744, 255)]
        {
            assert_eq!((within(code, true), within(code, false)), (current, older), "code {code}");
        }
    }
}
