//! Requests and receives of 32 elements with odd sizes.
//!
//! Rule: qp-elements-any-size: A message may be gathered from, and scattered to, elements of any sizes and
//! alignments, in their order, some of them empty.

use rdmalab_verbs::{ReceiveRequest, SendFlags, SendRequest, Sge};

use crate::script::*;

/// Sizes that hit every alignment, cross packets and leave elements empty.
fn sizes() -> Vec<usize> {
    (0..32).map(|n| [1, 0, 3, 7, 130, 2, 0, 255][n % 8] + n).collect()
}

/// Where the n-th element begins: far apart, at odd addresses, from the last to the first.
fn place(n: usize) -> usize {
    (31 - n) * 1001 + 13
}

fn elements(t: &Script) -> Vec<Sge> {
    sizes().iter().enumerate().map(|(n, &size)| t.side.sge(place(n), size)).collect()
}

fn total() -> usize {
    sizes().iter().sum()
}

fn with_32() -> Script {
    Script::with(Setup { elements: 32, mtu: rdmalab_wire::PathMtu::M256, ..Setup::default() })
}

/// The bytes of the elements, one behind the other.
fn gathered(t: &Script) -> Vec<u8> {
    sizes().iter().enumerate().flat_map(|(n, &size)| t.side.bytes(place(n), size)).collect()
}

/// The payloads of all packets that go out.
fn sent(t: &mut Script) -> Vec<u8> {
    let packets = t.take_packets();
    let payload = |bytes: &Vec<u8>| {
        let datagram = rdmalab_wire::Datagram::parse(bytes).unwrap();
        rdmalab_wire::Packet::parse(datagram.ib).unwrap().payload.to_vec()
    };
    packets.iter().flat_map(payload).collect()
}

#[test]
fn sends_and_writes_are_gathered_from_32_elements() {
    for work in [send(0), write(0)] {
        let mut t = with_32();
        t.side.fill(0, 40_000, 7);
        let elements = elements(&t);
        t.post(work.in_elements(&elements));
        let sent = sent(&mut t);
        assert_eq!(sent.len(), total());
        assert!(sent == gathered(&t));
    }
}

#[test]
fn a_read_is_scattered_to_32_elements() {
    let mut t = with_32();
    let elements = elements(&t);
    t.post(read(0).in_elements(&elements));
    assert_eq!(t.take_lines().len(), 1);
    let bytes = pattern(5, total());
    let packets = bytes.chunks(256).collect::<Vec<_>>();
    let last = packets.len() as u32 - 1;
    for (psn, payload) in (0..).zip(packets) {
        let response = match psn {
            0 => read_response_first(psn, 0),
            _ if psn == last => read_response_last(psn, 0),
            _ => read_response_middle(psn, 0),
        };
        t.deliver(response.payload(payload));
    }
    assert_eq!(t.expect_done(0).length, total() as u32);
    assert!(gathered(&t) == bytes);
}

#[test]
fn a_send_is_scattered_to_a_receive_of_32_elements() {
    let mut t = with_32();
    let elements = elements(&t);
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 100, elements: &elements }).unwrap();
    let bytes = pattern(5, total());
    let packets = bytes.chunks(256).collect::<Vec<_>>();
    let last = packets.len() as u32 - 1;
    for (psn, payload) in (0..).zip(packets) {
        let request = match psn {
            0 => send_first(psn, 0),
            _ if psn == last => send_last(psn, 0),
            _ => send_middle(psn, 0),
        };
        t.deliver(request.payload(payload));
    }
    t.expect(&format!("ACKNOWLEDGE psn={last} ack msn=1"));
    t.expect_received(100, total() as u32);
    assert!(gathered(&t) == bytes);
}

#[test]
fn a_message_shorter_than_its_receive_leaves_the_rest_of_the_elements_alone() {
    let mut t = with_32();
    let elements = elements(&t);
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 100, elements: &elements }).unwrap();
    t.deliver(send_only(0, 100));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 100);
    let found = gathered(&t);
    assert!(found[..100] == pattern(0, 100));
    assert!(found[100..].iter().all(|&byte| byte == 0));
}

#[test]
fn one_element_too_many_is_refused() {
    let mut t = with_32();
    let elements = vec![t.side.sge(0, 1); 33];
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    let request = SendRequest { elements: &elements, flags: SendFlags::SIGNALED, ..SendRequest::default() };
    assert!(endpoint.post_send(context, *queue_pair, &request).is_err());
    let request = ReceiveRequest { id: 1, elements: &elements };
    assert!(endpoint.post_receive(context, *queue_pair, &request).is_err());
}
