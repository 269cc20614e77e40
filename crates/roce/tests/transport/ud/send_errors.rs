//! Datagram queue pairs and errors of their own: SQE for a bad request, ERR for a bad receive.
//!
//! Rule: ud-sqe: a local error of a send request brings a datagram queue pair into SQE, where receiving goes on, and
//! from where it may go back to RTS.
//! Rule: ud-bad-receive: a receive whose own memory may not be written ends in error, and the queue pair with it.

use rdmalab_roce::Event;
use rdmalab_verbs::{CompletionStatus, ReceiveRequest, Sge, State};

use super::{AREA, ud};
use crate::script::*;

#[test]
fn a_bad_element_stops_the_send_queue_until_it_is_started_again() {
    let mut t = ud();
    t.receive(100);
    let bad = Sge { key: 0, ..t.side.sge(0, 8) };
    t.post(send(1));
    t.post(send(0).in_elements(&[bad]));
    t.post(send(1));
    t.expect("UD SEND_ONLY psn=0 qkey=0x11111111 src=0x000080 len=1");
    t.expect_done(0);
    t.expect_completion(1, CompletionStatus::LocalProtectionError);
    t.expect_flushed([2]);
    t.expect_state(State::Sqe);
    t.deliver(send_only(0, 8));
    t.expect_received(100, AREA + 8);
    t.modify_state(State::Rts);
    t.post(send(2));
    t.expect("UD SEND_ONLY psn=1 qkey=0x11111111 src=0x000080 len=2");
    t.expect_done(3);
    t.expect_no_event();
}

#[test]
fn a_receive_with_a_bad_element_ends_the_queue_pair() {
    let mut t = ud();
    let bad = Sge { key: 0, ..t.side.sge(0, 100) };
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 7, elements: &[bad] }).unwrap();
    t.receive(100);
    t.deliver(send_only(0, 8));
    t.expect_completion(7, CompletionStatus::LocalProtectionError);
    t.expect_flushed([100]);
    t.expect_state(State::Err);
    t.expect_event(Event::Fatal);
    t.expect_no_event();
}
