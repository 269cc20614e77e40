//! Inline data: the message is handed over with the request.
//!
//! Rule: qp-inline-copied: Inline data is copied when it is posted: it needs no region, and its memory may
//! change at once.
//! Rule: qp-inline-limit: Inline data is no longer than the queue pair was made for, and only what is sent
//! can be inline.

use rdmalab_verbs::{Placement, PostError};

use crate::script::*;

#[test]
fn inline_data_is_what_it_was_when_posted() {
    let mut t = Script::new();
    let mut bytes = b"hello, world".to_vec();
    t.post(send(0).inline(&bytes));
    bytes.fill(0);
    t.expect("SEND_ONLY psn=0 len=12 ackreq");
    assert_eq!(t.payload(), b"hello, world");
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}

#[test]
fn everything_that_is_sent_may_be_inline() {
    let cases = [
        (send(0), "SEND_ONLY psn=0 len=3 ackreq"),
        (send_imm(0, 5), "SEND_ONLY_IMM psn=0 len=3 imm=0x00000005 ackreq"),
        (send_inv(0, 7), "SEND_ONLY_INV psn=0 len=3 inv=0x7 ackreq"),
        (write(0), "WRITE_ONLY psn=0 va=0x200000 rkey=0x200 dmalen=3 len=3 ackreq"),
        (write_imm(0, 5), "WRITE_ONLY_IMM psn=0 va=0x200000 rkey=0x200 dmalen=3 len=3 imm=0x00000005 ackreq"),
    ];
    for (work, line) in cases {
        let mut t = Script::new();
        t.post(work.inline(b"abc"));
        t.expect(line);
        assert_eq!(t.payload(), b"abc");
    }
}

#[test]
fn inline_data_may_be_as_long_as_agreed_and_no_longer() {
    let mut t = Script::new();
    let bytes = pattern(0, 257);
    t.post(send(0).inline(&bytes[..256]));
    t.expect("SEND_ONLY psn=0 len=256 ackreq");
    assert_eq!(t.payload(), bytes[..256]);
    let refused = t.try_post(send(0).inline(&bytes));
    assert_eq!(refused, Err(PostError::InlineTooLong { length: 257, limit: 256 }));
    t.expect_nothing();
}

#[test]
fn empty_inline_data_is_an_empty_message() {
    let mut t = Script::new();
    t.post(send(0).inline(b""));
    t.post(write(0).inline(b""));
    t.expect("SEND_ONLY psn=0 len=0 ackreq");
    t.expect("WRITE_ONLY psn=1 va=0x200000 rkey=0x200 dmalen=0 len=0 ackreq");
    t.deliver(ack(1).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn inline_data_and_elements_do_not_go_together() {
    let mut t = Script::new();
    let element = t.side.sge(0, 8);
    let refused = t.try_post(send(0).inline(b"abc").in_elements(&[element]));
    assert_eq!(refused, Err(PostError::InlineAndElements));
}

#[test]
fn what_brings_something_back_or_stays_here_cannot_be_inline() {
    let works = [
        read(0),
        fetch_add(1),
        compare_swap(1, 2),
        flush(8, Placement::GLOBAL),
        atomic_write(1),
        local_invalidate(1),
    ];
    for work in works {
        let mut t = Script::new();
        let operation = work.operation.name();
        let refused = t.try_post(work.inline(&[0; 8]));
        assert_eq!(refused, Err(PostError::InlineNotAllowed { operation }));
    }
}

#[test]
fn inline_data_is_repeated_as_it_was() {
    let mut t = Script::with(Setup { mtu: rdmalab_wire::PathMtu::M256, timeout: 1, ..Setup::default() });
    let bytes = pattern(7, 200);
    t.post(write(0).inline(&bytes));
    // What is posted behind it lies elsewhere.
    t.post(write(0).inline(&pattern(8, 200)));
    t.expect("WRITE_ONLY psn=0 va=0x200000 rkey=0x200 dmalen=200 len=200 ackreq");
    assert_eq!(t.take_lines().len(), 1);
    t.advance(8_192);
    t.expect("WRITE_ONLY psn=0 va=0x200000 rkey=0x200 dmalen=200 len=200 ackreq");
    assert_eq!(t.payload(), bytes);
    t.expect("WRITE_ONLY psn=1 va=0x200000 rkey=0x200 dmalen=200 len=200 ackreq");
    assert_eq!(t.payload(), pattern(8, 200));
}

#[test]
fn inline_data_needs_no_region() {
    let mut t = Script::new();
    t.side.context.deregister(KEY.value()).unwrap();
    t.post(send(0).inline(b"abc"));
    t.expect("SEND_ONLY psn=0 len=3 ackreq");
    assert_eq!(t.payload(), b"abc");
}

#[test]
fn places_of_the_queue_are_used_again_without_mixing_inline_data_up() {
    let mut t = Script::new();
    for n in 0..600_u32 {
        t.post(send(0).inline(&pattern(n, n as usize % 257)));
        t.expect(&format!("SEND_ONLY psn={n} len={} ackreq", n % 257));
        assert_eq!(t.payload(), pattern(n, n as usize % 257));
        t.deliver(ack(n).msn(n + 1));
        t.expect_done(n.into());
    }
}
