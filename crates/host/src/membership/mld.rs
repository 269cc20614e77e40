//! MLD (RFC 3810, RFC 2710): questions read, reports written, as whole IPv6 packets with the router alert option.

use core::net::Ipv6Addr;

use rdmalab_wire::Ipv6Header;
use rdmalab_wire::checksum::Sum;

use super::{Query, Record};
use crate::receive::ALL_NODES;

pub(crate) const QUERY: u8 = 130;
const REPORT: u8 = 143;
const OLD_REPORT: u8 = 131;
const OLD_LEAVE: u8 = 132;

const ICMPV6: u8 = 58;
const ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// All routers that speak MLDv2.
const V2_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);

/// The hop-by-hop options in front: router alert for MLD (RFC 2711), and padding.
const ROUTER_ALERT: [u8; 8] = [ICMPV6, 0, 5, 2, 0, 0, 1, 0];

const MILLISECOND: u64 = 1_000_000;

/// Reads a packet whose hop-by-hop options end where `message` begins; `None` if it is no question, breaks a rule of RFC
/// 3810 §6.2 (from a link-local address, hop limit 1), or is not sent to whom it concerns.
pub(crate) fn query(header: &Ipv6Header, message: &[u8]) -> Option<Query> {
    let (source, destination) = (header.source, header.destination);
    let [QUERY, _, _, _, c0, c1, _, _, rest @ ..] = message else { return None };
    let (group, rest) = rest.split_first_chunk::<16>()?;
    let group = Ipv6Addr::from_octets(*group);
    if sum(source, destination, message) != 0 || header.hop_limit != 1 || !source.is_unicast_link_local() {
        return None;
    }
    let robustness = match rest {
        [] => None,
        [flags, _, _, _, ..] => Some(flags & 0x07),
        _ => return None,
    };
    let asks_all = group.is_unspecified() && destination == ALL_NODES;
    if !asks_all && !group.is_multicast() {
        return None;
    }
    let code = u64::from(u16::from_be_bytes([*c0, *c1]));
    let milliseconds = match robustness {
        Some(_) if code >= 0x8000 => (code & 0x0fff | 0x1000) << ((code >> 12 & 0x07) + 3),
        _ => code,
    };
    Some(Query { group: group.into(), within: milliseconds * MILLISECOND, robustness })
}

/// Appends a report of the current version; returns its destination.
pub(crate) fn report(source: Ipv6Addr, records: &[(Record, Ipv6Addr)], out: &mut Vec<u8>) -> Ipv6Addr {
    let [c0, c1] = (records.len() as u16).to_be_bytes();
    let mut message = vec![REPORT, 0, 0, 0, 0, 0, c0, c1];
    for (record, group) in records {
        message.extend([*record as u8, 0, 0, 0]);
        message.extend(group.octets());
    }
    packet(source, V2_ROUTERS, message, out)
}

/// Appends an MLDv1 report, or one that the group was left.
pub(crate) fn old_report(source: Ipv6Addr, group: Ipv6Addr, left: bool, out: &mut Vec<u8>) -> Ipv6Addr {
    let (kind, destination) = if left { (OLD_LEAVE, ROUTERS) } else { (OLD_REPORT, group) };
    let mut message = vec![kind, 0, 0, 0, 0, 0, 0, 0];
    message.extend(group.octets());
    packet(source, destination, message, out)
}

fn packet(source: Ipv6Addr, destination: Ipv6Addr, mut message: Vec<u8>, out: &mut Vec<u8>) -> Ipv6Addr {
    let sum = sum(source, destination, &message);
    [message[2], message[3]] = sum.to_be_bytes();
    let [l0, l1] = ((ROUTER_ALERT.len() + message.len()) as u16).to_be_bytes();
    out.extend([0x60, 0, 0, 0, l0, l1, 0, 1]);
    out.extend(source.octets());
    out.extend(destination.octets());
    out.extend(ROUTER_ALERT);
    out.extend(message);
    destination
}

/// Zero over a message that holds a right checksum.
fn sum(source: Ipv6Addr, destination: Ipv6Addr, message: &[u8]) -> u16 {
    Sum::new()
        .bytes(&source.octets())
        .bytes(&destination.octets())
        .number(message.len() as u32)
        .number(ICMPV6.into())
        .bytes(message)
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_answers_is_in_milliseconds_and_large_ones_are_coded() {
        let source: Ipv6Addr = "fe80::1".parse().unwrap();
        let within = |code: u16, current: bool| {
            let [c0, c1] = code.to_be_bytes();
            let mut message = vec![QUERY, 0, 0, 0, c0, c1, 0, 0];
            message.extend([0; 16]);
            message.extend(if current { &[3, 125, 0, 0][..] } else { &[] });
            let sum = sum(source, ALL_NODES, &message);
            [message[2], message[3]] = sum.to_be_bytes();
            let mut header = Ipv6Header::decode(&[0; 40]);
            (header.source, header.destination, header.hop_limit) = (source, ALL_NODES, 1);
            let query = query(&header, &message).unwrap();
            assert_eq!(query.robustness, current.then_some(3));
            query.within / MILLISECOND
        };
        // RFC 3810 §5.1.3: mantissa and exponent from 32768 on.
        for (code, current) in [(0, 0), (32_767, 32_767), (0x8000, 32_768), (0xffff, 8_387_584)] {
            assert_eq!((within(code, true), within(code, false)), (current, code.into()), "code {code}");
        }
    }
}
