//! Requests that bring a payload where they have none, or one of the wrong length.
//!
//! Rule: rc-payload-where-none: A READ, atomic or FLUSH request with a payload, and an ATOMIC WRITE without
//! exactly eight bytes, is an invalid request.

use rdmalab_roce::{Discard, Event};
use rdmalab_verbs::State;

use crate::script::*;

/// A request with other bytes behind its headers than it may have.
fn with_payload(t: &Script, request: &Incoming, payload: &[u8]) -> Vec<u8> {
    let own = request.payload.len();
    let mut bytes = t.encode(request);
    // In front of the ICRC, which has four bytes.
    bytes.truncate(bytes.len() - 4 - own);
    bytes.extend_from_slice(payload);
    let pad = payload.len().wrapping_neg() % 4;
    bytes.resize(bytes.len() + pad + 4, 0);
    // The pad count stands in the second byte of the base header, behind IPv4 and UDP.
    bytes[29] = bytes[29] & !0x30 | (pad as u8) << 4;
    with_right_icrc(bytes)
}

fn wrong(psn: u32) -> Vec<(Incoming, Vec<u8>)> {
    let without = [
        read_request(psn, 0, 8),
        compare_swap_request(psn, 0, 0, 1),
        fetch_add_request(psn, 0, 1),
        flush_request(psn, 0, 8, 1),
    ];
    let mut all = Vec::new();
    for request in without {
        for length in [1, 4, 8, 1024] {
            all.push((request.clone(), vec![0x5a; length]));
        }
    }
    for length in [0, 4, 7, 9, 16] {
        all.push((atomic_write_request(psn, 0, 1), vec![0x5a; length]));
    }
    all
}

#[test]
fn a_payload_that_cannot_be_is_an_invalid_request() {
    for (request, payload) in wrong(0) {
        let mut t = Script::new();
        t.receive(8);
        let bytes = with_payload(&t, &request, &payload);
        t.deliver_bytes(&bytes);
        t.expect("ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
        t.expect_state(State::Err);
        t.expect_event(Event::RequestError);
        t.expect_flushed([100]);
        t.expect_untouched(0);
        assert_eq!((t.counters().rcvd_pkts, t.counters().send_fatal_nak), (1, 1));
    }
}

#[test]
fn a_duplicate_or_a_packet_ahead_with_such_a_payload_is_dropped() {
    for psn in [4, 6, 0x80_0000] {
        for (request, payload) in wrong(psn) {
            let mut t = Script::from_psn(5);
            let bytes = with_payload(&t, &request, &payload);
            t.deliver_bytes(&bytes);
            t.expect_discard(Discard::Malformed);
            t.expect_state(State::Rts);
            t.expect_nothing();
        }
    }
}

#[test]
fn such_a_packet_must_be_sound_otherwise() {
    let mut t = Script::new();
    let (request, payload) = wrong(0).swap_remove(0);
    let mut bytes = with_payload(&t, &request, &payload);
    *bytes.last_mut().unwrap() ^= 1;
    t.deliver_bytes(&bytes);
    t.expect_discard(Discard::Icrc);
    let bytes = with_payload(&t, &request.clone().partition(0x1234), &payload);
    t.deliver_bytes(&bytes);
    t.expect_discard(Discard::PartitionKey);
    t.expect_state(State::Rts);
}

#[test]
fn a_response_with_a_payload_that_cannot_be_is_dropped() {
    let mut t = Script::new();
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    let bytes = with_payload(&t, &ack(0).msn(1), &[1, 2, 3, 4]);
    t.deliver_bytes(&bytes);
    t.expect_discard(Discard::Malformed);
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}
