//! What a queue pair still says when its connection is given up, and what it does not when it is moved to ERR.
//!
//! Rule: rc-last-words: A connection that is given up acknowledges what it has carried out, and flushes its own work;
//! a queue pair that is moved to ERR says nothing any more.

use rdmalab_roce::Event;
use rdmalab_verbs::State;

use crate::script::*;

fn give_up(t: &mut Script) {
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.give_up(context, *queue_pair).unwrap();
    t.expect_state(State::Err);
}

#[test]
fn a_message_that_has_arrived_is_acknowledged_though_the_connection_is_given_up_at_once() {
    let mut t = Script::new();
    let receive = t.receive(100);
    let waiting = t.receive(100);
    t.deliver(send_only(0, 10));
    assert!(t.side.endpoint.owes_answers(t.side.queue_pair));
    give_up(&mut t);
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_done(receive);
    t.expect_flushed([waiting]);
    assert!(!t.side.endpoint.owes_answers(t.side.queue_pair));
    t.deliver(send_only(1, 10));
    t.expect_nothing();
}

#[test]
fn a_queue_pair_that_is_moved_to_err_says_nothing_any_more() {
    let mut t = Script::new();
    let receive = t.receive(100);
    t.deliver(send_only(0, 10));
    t.modify_state(State::Err);
    t.expect_done(receive);
    assert!(!t.side.endpoint.owes_answers(t.side.queue_pair));
    t.expect_nothing();
}

#[test]
fn short_answers_still_go_out_and_a_long_response_ends_where_it_is() {
    let mut t = Script::new();
    t.deliver(fetch_add_request(0, 0, 5));
    t.deliver(read_request(1, 0, 2000));
    t.deliver(write_only(3, 4096, 8));
    // Of 200 packets.
    t.deliver(read_request(4, 0, 200 * 1024));
    t.deliver(write_only(204, 4096, 8));
    give_up(&mut t);
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    t.expect("READ_RESPONSE_FIRST psn=1 ack msn=2 len=1024");
    t.expect("READ_RESPONSE_LAST psn=2 ack msn=2 len=976");
    t.expect("ACKNOWLEDGE psn=3 ack msn=3");
    t.expect_nothing();
}

#[test]
fn a_port_that_is_gone_ends_all_queue_pairs_and_each_tells_so() {
    let mut t = Script::new();
    let request = t.post(send(10));
    let receive = t.receive(100);
    t.expect("SEND_ONLY psn=0 len=10 ackreq");
    for _ in 0..2 {
        let Side { endpoint, context, .. } = &mut t.side;
        endpoint.end_all(context);
    }
    t.expect_state(State::Err);
    t.expect_flushed([request, receive]);
    let number = t.side.queue_pair;
    assert_eq!(t.side.endpoint.poll_event(), Some(Event::Fatal(number)));
    assert_eq!(t.side.endpoint.poll_event(), None, "told once");
}

#[test]
fn own_requests_are_flushed_when_the_connection_is_given_up() {
    let mut t = Script::new();
    let request = t.post(send(10));
    t.expect("SEND_ONLY psn=0 len=10 ackreq");
    give_up(&mut t);
    t.expect_flushed([request]);
    give_up(&mut t);
    t.expect_nothing();
}
