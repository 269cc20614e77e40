//! PSNs have 24 bits: the one behind 0xffffff is 0, for everything.
//!
//! Rule: rc-psn-wrap-requester: PSNs wrap at 2^24, and what is older or newer is told by half of them.

use crate::script::*;

#[test]
fn a_message_goes_on_across_the_wrap() {
    let mut t = Script::from_psn(0xff_fffe);
    t.post(send(4000));
    t.expect("SEND_FIRST psn=16777214 len=1024");
    t.expect("SEND_MIDDLE psn=16777215 len=1024");
    t.expect("SEND_MIDDLE psn=0 len=1024");
    t.expect("SEND_LAST psn=1 len=928 ackreq");
    t.deliver(ack(0xff_ffff));
    t.expect_no_completion();
    t.deliver(ack(1).msn(1));
    t.expect_done(0);
}

#[test]
fn a_sequence_nak_behind_the_wrap_goes_back_to_its_psn() {
    let mut t = Script::from_psn(0xff_ffff);
    t.post(write(1));
    t.post(write(2000));
    assert_eq!(t.take_lines().len(), 3);
    t.deliver(sequence_nak(1).msn(1));
    t.expect_done(0);
    t.expect("WRITE_LAST psn=1 len=976 ackreq");
}

#[test]
fn a_sequence_nak_in_front_of_the_wrap_repeats_across_it() {
    let mut t = Script::from_psn(0xff_ffff);
    t.post(write(1));
    t.post(write(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(sequence_nak(0xff_ffff));
    t.expect("WRITE_ONLY psn=16777215 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
    t.expect("WRITE_ONLY psn=0 va=0x200000 rkey=0x200 dmalen=1 len=1 ackreq");
}

#[test]
fn a_read_whose_response_wraps_is_resumed_behind_the_wrap() {
    let mut t = Script::from_psn(0xff_fffe);
    t.post(read(4000));
    t.post(send(1));
    t.expect("READ_REQUEST psn=16777214 va=0x200000 rkey=0x200 dmalen=4000 ackreq");
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
    t.deliver(read_response_first(0xff_fffe, 1024).msn(1));
    t.deliver(read_response_middle(0xff_ffff, 1024));
    t.deliver(read_response_middle(0, 1024));
    t.deliver(ack(2).msn(2));
    t.expect("READ_REQUEST psn=1 va=0x200c00 rkey=0x200 dmalen=928 ackreq");
    t.expect("SEND_ONLY psn=2 len=1 ackreq");
    t.deliver(read_response_only(1, 928).msn(2));
    t.deliver(ack(2).msn(2));
    t.expect_done(0);
    t.expect_done(1);
}

#[test]
fn a_late_answer_from_in_front_of_the_wrap_is_dropped() {
    let mut t = Script::from_psn(0xff_ffff);
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(ack(0xff_ffff).msn(1));
    t.deliver(ack(0xff_ffff).msn(1));
    t.expect_discard(rdmalab_roce::Discard::UnexpectedResponse);
    t.expect_done(0);
    t.deliver(ack(0).msn(2));
    t.expect_done(1);
}
