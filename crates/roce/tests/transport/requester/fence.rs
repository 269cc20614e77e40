//! A fenced request starts only when all READs and atomics before it are done.
//!
//! Rule: rc-fence: A fenced request begins only when all READs and atomics before it are done.

use crate::script::*;

#[test]
fn a_fenced_request_waits_for_the_reads_before_it() {
    let mut t = Script::new();
    t.post(read(2000));
    t.post(fetch_add(1).at(4096));
    t.post(send(1).fenced());
    t.post(send(1));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=2000 ackreq");
    t.expect("FETCH_ADD psn=2 va=0x200000 rkey=0x200 add=0x1 ackreq");
    t.expect_nothing();
    t.deliver(read_response_first(0, 1024).msn(1));
    t.deliver(read_response_last(1, 976).msn(1));
    t.expect_done(0);
    t.expect_nothing();
    t.deliver(atomic_ack(2, 1).msn(2));
    t.expect_done(1);
    t.expect("SEND_ONLY psn=3 len=1 ackreq");
    t.expect("SEND_ONLY psn=4 len=1 ackreq");
}

#[test]
fn a_fenced_request_sends_what_the_read_before_it_fetched() {
    let mut t = Script::new();
    t.post(read(64));
    t.post(send(64).fenced());
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(read_response_only(0, 64).msn(1));
    t.expect_done(0);
    t.expect("SEND_ONLY psn=1 len=64 ackreq");
    assert_eq!(t.payload(), pattern(0, 64));
}

#[test]
fn a_fence_does_not_wait_for_sends_and_writes() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(write(1));
    t.post(send(1).fenced());
    assert_eq!(t.take_lines().len(), 3);
}
