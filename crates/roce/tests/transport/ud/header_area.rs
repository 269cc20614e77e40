//! The 40 bytes in front of a datagram's payload.
//!
//! Rule: ud-header-area: the first 40 bytes of a receive hold the network header of the datagram: an IPv6 header as it
//! came, an IPv4 header in the last 20 of them.

use super::{AREA, ud, ud_of_two_families, v6};
use crate::script::*;

#[test]
fn over_ipv4_twenty_bytes_of_zero_precede_the_header_as_it_came() {
    let mut t = ud();
    t.side.fill(0, 200, 1);
    t.receive(100);
    let bytes = t.encode(&send_only(0, 8));
    t.deliver_bytes(&bytes);
    assert!(t.expect_received(100, AREA + 8).has_grh);
    t.expect_bytes(0, &[vec![0; 20], bytes[..20].to_vec(), pattern(0, 8)].concat());
}

#[test]
fn over_ipv6_the_header_fills_it() {
    let mut t = ud_of_two_families();
    t.side.fill(0, 200, 1);
    t.receive(100);
    let bytes = t.encode_between(v6(2), v6(1), &send_only(0, 8));
    t.deliver_bytes(&bytes);
    assert!(t.expect_received(100, AREA + 8).has_grh);
    t.expect_bytes(0, &[bytes[..40].to_vec(), pattern(0, 8)].concat());
}

#[test]
fn it_may_be_spread_over_elements() {
    let mut t = ud();
    let elements = [t.side.sge(1000, 30), t.side.sge(2000, 12), t.side.sge(3000, 50)];
    let request = rdmalab_verbs::ReceiveRequest { id: 7, elements: &elements };
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &request).unwrap();
    let bytes = t.encode(&send_only(0, 8));
    t.deliver_bytes(&bytes);
    t.expect_received(7, AREA + 8);
    t.expect_bytes(1000, &[vec![0; 20], bytes[..10].to_vec()].concat());
    t.expect_bytes(2000, &[bytes[10..20].to_vec(), pattern(0, 8)[..2].to_vec()].concat());
    t.expect_bytes(3000, &pattern(0, 8)[2..]);
}

#[test]
fn a_datagram_for_an_address_that_is_not_the_ports_is_dropped() {
    let mut t = ud();
    t.receive(100);
    let bytes = t.encode_between(peer(), crate::side::address(9), &send_only(0, 8));
    t.deliver_bytes(&bytes);
    t.expect_discard(rdmalab_roce::Discard::Address);
}
