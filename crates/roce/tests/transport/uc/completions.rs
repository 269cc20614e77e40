//! When a request of an unreliable connection is done: when its last packet has left, whoever gets it.
//!
//! Rule: uc-completes-when-sent: a request of an unreliable connection is complete when its last packet has been sent.

use rdmalab_roce::Batch;
use rdmalab_verbs::{Attributes, CompletionKind, State};
use rdmalab_wire::PathMtu;

use super::uc;
use crate::script::*;

/// Lets so many packets out.
fn poll(t: &mut Script, packets: usize) {
    let mut batch = Batch::new(packets, PathMtu::M4096, 0);
    let Side { endpoint, context, .. } = &mut t.side;
    endpoint.poll(context, 0, &mut batch);
    assert_eq!(batch.packets().count(), packets);
}

#[test]
fn a_request_is_not_done_before_its_last_packet_has_left() {
    let mut t = uc();
    t.post(send(3000));
    poll(&mut t, 2);
    assert_eq!(t.side.completions(), []);
    poll(&mut t, 1);
    t.expect_done(0);
}

#[test]
fn requests_complete_in_their_order_with_what_they_were() {
    let mut t = uc();
    t.post(send(3000));
    t.post(write(10));
    t.post(write_imm(10, 1));
    assert_eq!(t.take_lines().len(), 5);
    assert_eq!(t.expect_done(0).kind, CompletionKind::Send);
    assert_eq!(t.expect_done(1).kind, CompletionKind::RdmaWrite);
    assert_eq!(t.expect_done(2).kind, CompletionKind::RdmaWrite);
    assert_eq!(t.until_timeout(), None, "nothing is waited for");
}

#[test]
fn success_that_nobody_asked_for_is_not_told() {
    let mut t = uc();
    t.post(send(1).unsignaled());
    t.post(send(1));
    assert_eq!(t.take_lines().len(), 2);
    t.expect_done(1);
}

#[test]
fn a_place_of_the_send_queue_is_free_again_when_the_request_has_left() {
    let mut t = uc();
    for _ in 0..3 {
        for _ in 0..256 {
            t.post(send(1).unsignaled());
        }
        t.try_post(send(1)).unwrap_err();
        assert_eq!(t.take_lines().len(), 256);
    }
}

#[test]
fn in_sqd_the_message_that_was_begun_goes_out_and_no_other() {
    let mut t = uc();
    t.post(send(3000));
    t.post(send(1));
    poll(&mut t, 1);
    t.modify_state(State::Sqd);
    assert_eq!(t.side.endpoint.poll_event(), None);
    t.expect("UC SEND_MIDDLE psn=1 len=1024");
    t.expect("UC SEND_LAST psn=2 len=952");
    t.expect_done(0);
    t.expect_nothing();
    t.expect_event(rdmalab_roce::Event::SendQueueDrained);
    t.modify(Attributes { state: Some(State::Rts), ..Attributes::default() });
    t.expect("UC SEND_ONLY psn=3 len=1");
    t.expect_done(1);
}
