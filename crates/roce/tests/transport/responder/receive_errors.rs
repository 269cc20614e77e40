//! Receives that cannot take the message: too small, or with memory that may not be written.
//!
//! Rule: rc-receive-too-small: A message longer than its receive is an invalid request, and the receive ends
//! with IBV_WC_LOC_LEN_ERR.
//! Rule: rc-remote-operational-error: A receive whose memory may not be written is answered by a NAK remote
//! operational error.

use rdmalab_roce::Event;
use rdmalab_verbs::{Access, CompletionStatus, ReceiveRequest, Sge, State};

use crate::script::*;

#[test]
fn a_message_too_long_for_its_receive_is_an_invalid_request() {
    let mut t = Script::new();
    t.receive(9);
    t.receive(4096);
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
    t.expect_completion(100, CompletionStatus::LocalLengthError);
    t.expect_flushed([101]);
    t.expect_state(State::Err);
    t.expect_untouched(0);
}

#[test]
fn a_message_is_too_long_at_the_packet_that_does_not_fit() {
    let mut t = Script::new();
    t.receive(2047);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.expect("ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
    t.expect_completion(100, CompletionStatus::LocalLengthError);
    t.expect_untouched(1024);

    let mut t = Script::new();
    t.receive(1033);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last_imm(1, 10, 7));
    t.expect("ACKNOWLEDGE psn=1 nak=invalid_request msn=0");
    t.expect_completion(100, CompletionStatus::LocalLengthError);
}

#[test]
fn a_message_may_fill_its_receive_to_the_last_byte() {
    let mut t = Script::new();
    t.receive(1034);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last(1, 10));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 1034);
}

#[test]
fn a_receive_whose_memory_may_not_be_written_is_an_operational_error() {
    let mut t = Script::new();
    let memory = t.side.memory.clone();
    let read_only = t.side.context.register(t.side.domain, BASE, memory, Access::empty()).unwrap();
    let good = t.side.sge(0, 8);
    let outside = BASE + MEMORY as u64 - 4;
    for bad in [
        Sge { key: 0, ..good },
        Sge { key: read_only, ..good },
        Sge { address: outside, ..good },
        Sge { address: u64::MAX - 3, ..good },
    ] {
        let mut t = Script::new();
        let memory = t.side.memory.clone();
        assert_eq!(t.side.context.register(t.side.domain, BASE, memory, Access::empty()).unwrap(), read_only);
        let Side { endpoint, context, queue_pair, .. } = &mut t.side;
        endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 7, elements: &[bad] }).unwrap();
        t.receive(8);
        t.deliver(send_only(0, 8));
        t.expect("ACKNOWLEDGE psn=0 nak=remote_operational_error msn=0");
        t.expect_completion(7, CompletionStatus::LocalProtectionError);
        t.expect_flushed([100]);
        t.expect_state(State::Err);
        t.expect_untouched(0);
        t.expect_event(Event::Fatal);
    }
}

#[test]
fn an_empty_message_asks_nothing_of_the_memory_of_its_receive() {
    let mut t = Script::new();
    let nowhere = Sge { address: 0, length: 8, key: 0 };
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 7, elements: &[nowhere] }).unwrap();
    t.deliver(send_only(0, 0));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(7, 0);
}

#[test]
fn a_receive_whose_region_goes_within_a_message_fails_there() {
    let mut t = Script::new();
    t.receive(4096);
    t.deliver(send_first(0, 1024));
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(send_last(1, 8));
    t.expect("ACKNOWLEDGE psn=1 nak=remote_operational_error msn=0");
    t.expect_completion(100, CompletionStatus::LocalProtectionError);
}

#[test]
fn an_error_of_the_peer_flushes_requests_and_receives() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(read(1));
    t.receive(1);
    t.receive(1);
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(write_only(0, 0, 8).key(0));
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
    t.expect_flushed([0, 1, 100, 101]);
    t.expect_state(State::Err);
    assert_eq!(t.until_timeout(), None);
}
