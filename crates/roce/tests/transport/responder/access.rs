//! Keys, bounds and rights: NAK remote access error, and no byte moves.
//!
//! Rule: key-remote-access: A request that names an unknown key, another domain's, a missing right or bytes
//! outside of the region is answered by a NAK remote access error, and no byte moves.
//! Rule: key-zero-length: A WRITE or READ without bytes is not judged by its key and address.
//! Rule: rc-atomic-alignment: An atomic on an address that is no multiple of eight is an invalid request.

use rdmalab_verbs::Access;

use super::expect_fatal;
use crate::script::*;

const REFUSED: &str = "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0";

/// One request of each kind that reaches for 8 bytes.
fn requests() -> [Incoming; 6] {
    [
        write_only(0, 0, 8),
        write_only_imm(0, 0, 8, 1),
        write_first(0, 0, 1032, 1024),
        read_request(0, 0, 8),
        compare_swap_request(0, 0, 0, 1),
        fetch_add_request(0, 0, 1),
    ]
}

#[track_caller]
fn expect_refused(t: &mut Script, request: Incoming) {
    t.receive(0);
    expect_fatal(t, request, REFUSED);
    t.expect_flushed([100]);
    t.expect_untouched(0);
}

#[test]
fn a_key_that_names_nothing_is_refused() {
    for key in [0, 1, KEY.value() + 1, KEY.value() - 1, KEY.value() << 1, u32::MAX] {
        for request in requests() {
            expect_refused(&mut Script::new(), request.key(key));
        }
    }
}

#[test]
fn a_key_of_another_protection_domain_is_refused() {
    for request in requests() {
        let mut t = Script::new();
        let other = t.side.context.allocate_protection_domain().unwrap();
        let key = t.side.context.register(other, BASE, t.side.memory.clone(), Access::FULL).unwrap();
        expect_refused(&mut t, request.key(key));
    }
}

#[test]
fn a_region_without_the_right_is_refused() {
    let needed = [
        Access::REMOTE_WRITE,
        Access::REMOTE_WRITE,
        Access::REMOTE_WRITE,
        Access::REMOTE_READ,
        Access::REMOTE_ATOMIC,
        Access::REMOTE_ATOMIC,
    ];
    for (request, right) in requests().into_iter().zip(needed) {
        let mut t = Script::new();
        let memory = t.side.memory.clone();
        let key = t.side.context.register(t.side.domain, BASE, memory, Access::FULL - right).unwrap();
        expect_refused(&mut t, request.key(key));
    }
}

#[test]
fn a_region_needs_no_other_right_than_the_one_used() {
    let needed = [Access::REMOTE_WRITE, Access::REMOTE_READ, Access::REMOTE_ATOMIC, Access::REMOTE_ATOMIC];
    let requests = [
        write_only(0, 0, 8),
        read_request(0, 0, 8),
        compare_swap_request(0, 0, 0, 1),
        fetch_add_request(0, 0, 1),
    ];
    for (request, right) in requests.into_iter().zip(needed) {
        let mut t = Script::new();
        let memory = t.side.memory.clone();
        let key = t.side.context.register(t.side.domain, BASE, memory, right | Access::LOCAL_WRITE).unwrap();
        t.deliver(request.key(key));
        assert_eq!(t.take_lines().len(), 1);
        t.expect_state(rdmalab_verbs::State::Rts);
    }
}

#[test]
fn bytes_in_front_of_or_behind_the_region_are_refused() {
    let end = BASE + MEMORY as u64;
    for address in [0, BASE - 8, end - 8 + 8, end, u64::MAX - 7] {
        for request in requests() {
            expect_refused(&mut Script::new(), request.address(address));
        }
    }
    // One byte too many, where alignment does not come first.
    for address in [BASE - 1, end - 7] {
        for request in [write_only(0, 0, 8), read_request(0, 0, 8)] {
            expect_refused(&mut Script::new(), request.address(address));
        }
    }
}

#[test]
fn the_first_and_the_last_bytes_of_the_region_may_be_reached() {
    for offset in [0, MEMORY - 8] {
        for request in [write_only(0, offset, 8), read_request(0, offset, 8), fetch_add_request(0, offset, 1)]
        {
            let mut t = Script::new();
            t.deliver(request);
            assert_eq!(t.take_lines().len(), 1);
            t.expect_state(rdmalab_verbs::State::Rts);
        }
    }
}

#[test]
fn an_address_that_wraps_is_refused() {
    for address in [u64::MAX, u64::MAX - 6, u64::MAX - 7] {
        for request in [write_only(0, 0, 8), read_request(0, 0, 8), read_request(0, 0, 1 << 30)] {
            expect_refused(&mut Script::new(), request.address(address));
        }
    }
}

#[test]
fn the_first_packet_of_a_write_answers_for_all_of_its_bytes() {
    let mut t = Script::new();
    expect_refused(&mut t, write_first(0, MEMORY - 1500, 1501, 1024));
    let mut t = Script::new();
    expect_refused(&mut t, read_request(0, MEMORY - 1500, 1501));
    let mut t = Script::new();
    t.deliver(write_first(0, MEMORY - 1500, 1500, 1024));
    t.deliver(write_last(1, 476));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
}

#[test]
fn a_key_is_asked_nothing_when_there_are_no_bytes() {
    let mut t = Script::new();
    t.receive(0);
    t.deliver(write_only(0, 0, 0).key(0).address(u64::MAX));
    t.deliver(write_only_imm(1, 0, 0, 5).key(0).address(u64::MAX));
    t.expect("ACKNOWLEDGE psn=1 ack msn=2");
    t.expect_received(100, 0);
    t.deliver(read_request(2, 0, 0).key(0).address(u64::MAX));
    t.expect("READ_RESPONSE_ONLY psn=2 ack msn=3 len=0");
    t.deliver(read_request(2, 0, 0).key(0).address(u64::MAX));
    t.expect("READ_RESPONSE_ONLY psn=2 ack msn=3 len=0");
}

#[test]
fn an_unaligned_atomic_is_an_invalid_request_whatever_its_key() {
    for misalignment in 1..8 {
        for request in [compare_swap_request(0, misalignment, 0, 1), fetch_add_request(0, misalignment, 1)] {
            for key in [KEY.value(), 0] {
                let mut t = Script::new();
                let invalid = "ACKNOWLEDGE psn=0 nak=invalid_request msn=0";
                expect_fatal(&mut t, request.clone().key(key), invalid);
                t.expect_untouched(0);
            }
        }
    }
}

#[test]
fn a_deregistered_key_is_never_valid_again() {
    let mut t = Script::new();
    t.side.context.deregister(KEY.value()).unwrap();
    let memory = t.side.memory.clone();
    let again = t.side.context.register(t.side.domain, BASE, memory, Access::FULL).unwrap();
    assert_ne!(again, KEY.value());
    t.deliver(write_only(0, 0, 8).key(again));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(write_only(1, 0, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
    t.expect_state(rdmalab_verbs::State::Err);
}
