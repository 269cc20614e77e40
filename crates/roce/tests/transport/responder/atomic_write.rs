//! ATOMIC WRITE: eight aligned bytes that nobody sees half.
//!
//! Rule: rc-atomic-write-answer: An ATOMIC WRITE places its eight bytes at once, is answered by a READ
//! RESPONSE ONLY without data, and counts one message.
//! Rule: rc-atomic-write-checks: An ATOMIC WRITE whose length is not eight or whose address is not a multiple
//! of eight is an invalid request; it needs the right to write.
//! Rule: rc-atomic-write-duplicate: A repeated ATOMIC WRITE is answered again and not written again.

use rdmalab_roce::Discard;
use rdmalab_verbs::Access;
use rdmalab_wire::Body;

use super::expect_fatal;
use crate::script::*;

const INVALID: &str = "ACKNOWLEDGE psn=0 nak=invalid_request msn=0";
const REFUSED: &str = "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0";

#[test]
fn the_bytes_land_as_they_were_sent() {
    let mut t = Script::new();
    t.deliver(atomic_write_request(0, 16, 0x1122_3344_5566_7788));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
    t.expect_bytes(16, &0x1122_3344_5566_7788_u64.to_ne_bytes());
    t.expect_bytes(0, &[0; 16]);
    t.expect_untouched(24);
    t.deliver(read_request(1, 16, 8));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=8");
    assert_eq!(t.payload(), 0x1122_3344_5566_7788_u64.to_ne_bytes());
}

#[test]
fn an_unaligned_address_is_an_invalid_request_whatever_the_key() {
    for misalignment in 1..8 {
        for key in [KEY.value(), 0] {
            let mut t = Script::new();
            expect_fatal(&mut t, atomic_write_request(0, misalignment, 1).key(key), INVALID);
            t.expect_untouched(0);
        }
    }
}

#[test]
fn a_length_in_the_header_other_than_eight_is_an_invalid_request() {
    for length in [0, 1, 4, 7, 9, 16, u32::MAX] {
        let mut t = Script::new();
        let mut request = atomic_write_request(0, 0, 1);
        if let Body::AtomicWrite(reth) = &mut request.body {
            reth.length = length;
        }
        expect_fatal(&mut t, request, INVALID);
        t.expect_untouched(0);
    }
}

#[test]
fn the_right_to_write_is_needed_and_enough() {
    let mut t = Script::with(Setup { access: Access::FULL - Access::REMOTE_WRITE, ..Setup::default() });
    expect_fatal(&mut t, atomic_write_request(0, 0, 1), INVALID);
    let mut t = Script::new();
    let memory = t.side.memory.clone();
    let access = Access::FULL - Access::REMOTE_WRITE;
    let key = t.side.context.register(t.side.domain, BASE, memory, access).unwrap();
    expect_fatal(&mut t, atomic_write_request(0, 0, 1).key(key), REFUSED);
    t.expect_untouched(0);

    let mut t = Script::with(Setup { access: Access::REMOTE_WRITE, ..Setup::default() });
    let memory = t.side.memory.clone();
    let access = Access::REMOTE_WRITE | Access::LOCAL_WRITE;
    let key = t.side.context.register(t.side.domain, BASE, memory, access).unwrap();
    t.deliver(atomic_write_request(0, 0, 1).key(key));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
}

#[test]
fn bytes_outside_the_region_are_refused() {
    for address in [0, BASE - 8, BASE + MEMORY as u64, u64::MAX - 7] {
        let mut t = Script::new();
        expect_fatal(&mut t, atomic_write_request(0, 0, 1).address(address), REFUSED);
        t.expect_untouched(0);
    }
    let mut t = Script::new();
    t.deliver(atomic_write_request(0, MEMORY - 8, 1));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
}

#[test]
fn more_at_once_than_agreed_are_an_invalid_request() {
    let mut t = Script::with(Setup { reads: 1, ..Setup::default() });
    t.deliver(atomic_write_request(0, 0, 1));
    t.deliver(atomic_write_request(1, 8, 1));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
    t.expect("ACKNOWLEDGE psn=1 nak=invalid_request msn=1");
    t.expect_bytes(8, &[0; 8]);
}

#[test]
fn a_repeated_atomic_write_is_answered_and_not_written_again() {
    let mut t = Script::new();
    t.deliver(atomic_write_request(0, 0, 5));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=1 len=0");
    t.deliver(atomic_write_request(1, 0, 6));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=0");
    t.deliver(atomic_write_request(0, 0, 5));
    t.expect("READ_RESPONSE_ONLY psn=0 ack msn=2 len=0");
    t.expect_bytes(0, &6_u64.to_ne_bytes());
}

#[test]
fn a_repeated_atomic_write_that_is_forgotten_is_dropped() {
    let mut t = Script::with(Setup { reads: 1, ..Setup::default() });
    for psn in 0..2 {
        t.deliver(atomic_write_request(psn, 0, u64::from(psn) + 5));
        assert_eq!(t.take_lines().len(), 1);
    }
    t.deliver(atomic_write_request(0, 0, 5));
    t.expect_nothing();
    t.expect_discard(Discard::NotReplayed);
    t.expect_bytes(0, &6_u64.to_ne_bytes());
}

#[test]
fn a_repeated_atomic_write_elsewhere_is_dropped() {
    for other in
        [atomic_write_request(0, 8, 5), atomic_write_request(0, 0, 5).key(1), fetch_add_request(0, 0, 5)]
    {
        let mut t = Script::new();
        t.deliver(atomic_write_request(0, 0, 5));
        assert_eq!(t.take_lines().len(), 1);
        t.deliver(other);
        t.expect_nothing();
        t.expect_discard(Discard::NotReplayed);
        t.expect_bytes(0, &5_u64.to_ne_bytes());
        t.expect_untouched(8);
    }
}
