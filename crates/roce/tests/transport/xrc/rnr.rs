//! The named queue is empty.
//!
//! Rule: xrc-rnr: a message that finds the named shared receive queue empty is answered by an RNR NAK.
//! Rule: xrc-no-credits: acknowledgements of a target carry no credits.

use super::{queue, setup, target};
use crate::script::*;
use crate::side::CREDITS;

#[test]
fn a_send_that_finds_the_queue_empty_is_asked_to_come_again() {
    let mut t = target();
    t.deliver(send_first(0, 1024));
    t.expect("XRC ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last(1, 8));
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 1032);
}

#[test]
fn receives_of_another_queue_do_not_help() {
    let mut t = target();
    let (domain, completions, xrc) = (t.side.domain, t.side.completions, t.side.xrc_domain.unwrap());
    let empty = queue(&mut t, domain, xrc, completions);
    t.receive(8);
    t.deliver(send_only(0, 8).over(xrceth(empty)));
    t.expect("XRC ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.deliver(write_only_imm(0, 0, 8, 1).over(xrceth(empty)));
    t.expect("XRC ACKNOWLEDGE psn=0 rnr=12 msn=0");
    t.expect_untouched(0);
}

#[test]
fn no_credits_are_granted() {
    let mut t = Script::with(Setup { profile: CREDITS, ..setup() });
    for _ in 0..5 {
        t.receive(8);
    }
    t.deliver(send_only(0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
}
