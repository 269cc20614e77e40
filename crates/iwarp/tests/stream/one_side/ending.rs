//! The end of a connection in order, and by loss.
//!
//! Rule: rdmap-close-in-order: Closing in order sends what is queued, waits for the answers that are owed in both
//! directions, and then closes our direction (RFC 5040 §5.4, RFC 5044 §7.2).
//! Rule: rdmap-close-by-peer: A peer that closes between messages, with nothing owed to us, has closed in order; ours is
//! closed, too (RFC 5044 §7.2).
//! Rule: mpa-end-within-fpdu: A stream that ends within an FPDU or a message, or owes us an answer, was lost
//! (RFC 5044 §7.2).
//! Rule: rdmap-lost: When the stream is lost, all work is flushed, and nothing is sent any more (RFC 5044 §7.2).
//! Rule: qp-abort: A connection that is aborted resets the stream.

use rdmalab_iwarp::{End, Event, TerminatedBy};
use rdmalab_verbs::{PostError, State};
use rdmalab_wire::iwarp::TerminateError;

use crate::script::*;

const CLOSED: Event = Event::Closed { graceful: true };
const LOST: Event = Event::Closed { graceful: false };

#[test]
fn closing_sends_what_is_queued_and_waits_for_answers_both_ways() {
    let mut t = Script::new();
    t.side.receive(9, 0, 10);
    t.post(send(2000));
    t.post(read(1));
    t.deliver(t.incoming_read(1, 0, 1));
    t.disconnect();
    t.expect_state(State::Sqd);
    assert_eq!(t.try_post(send(1)), Err(PostError::WrongState(State::Sqd)));
    assert_eq!(t.lines().len(), 4);
    t.expect_no_event();
    t.deliver(t.response(0, 1));
    t.expect_event(Event::CloseSending);
    t.expect_all_done(0..2);
    t.expect_state(State::Sqd);
    // The peer may still have something to say.
    t.deliver(t.incoming_write(0, 100));
    t.deliver(incoming_send(1, 10));
    t.expect_done(9);
    t.expect_no_event();
    t.end(End::Graceful);
    t.expect_event(CLOSED);
    t.expect_state(State::Err);
    t.expect_nothing();
}

#[test]
fn closing_an_idle_connection_closes_at_once() {
    let mut t = Script::new();
    t.side.receive(9, 0, 10);
    t.disconnect();
    t.disconnect();
    t.expect_event(Event::CloseSending);
    t.expect_no_event();
    t.end(End::Graceful);
    t.expect_event(CLOSED);
    t.expect_flushed([9]);
    t.expect_no_event();
}

#[test]
fn a_peer_that_closes_is_closed_behind() {
    let mut t = Script::new();
    t.side.receive(9, 0, 10);
    t.deliver(t.incoming_write(0, 100));
    t.end(End::Graceful);
    t.expect_event(Event::CloseSending);
    t.expect_event(CLOSED);
    t.expect_no_event();
    t.expect_state(State::Err);
    t.expect_flushed([9]);
    t.expect_nothing();
}

#[test]
fn what_the_peer_has_asked_for_is_answered_behind_its_end() {
    let mut t = Script::new();
    t.deliver(t.incoming_read(1, 0, 2000));
    t.deliver(t.incoming_read(2, 0, 1));
    t.post(send(1));
    t.end(End::Graceful);
    t.expect_no_event();
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1440");
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x25a0 len=560 last");
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1 last");
    t.expect_event(Event::CloseSending);
    t.expect_event(CLOSED);
    t.expect_flushed([0]);
}

#[test]
fn nothing_comes_behind_the_peers_end() {
    let mut t = Script::new();
    t.side.receive(9, 0, 10);
    t.deliver(t.incoming_read(1, 0, 2000));
    t.end(End::Graceful);
    t.deliver(incoming_send(1, 10));
    t.deliver(t.incoming_read(2, 0, 1));
    t.expect_no_completion();
    assert_eq!(t.lines().len(), 2, "the first READ, and no other");
    t.expect_flushed([9]);
}

#[test]
fn a_message_of_ours_that_the_peers_end_cuts_off_resets_the_stream() {
    let mut t = Script::new();
    t.post(send(2000));
    t.expect("RDMAP SEND msn=1 mo=0 len=1436");
    t.end(End::Graceful);
    t.expect_event(Event::Reset);
    t.expect_event(LOST);
    t.expect_flushed([0]);
}

#[test]
fn a_stream_that_ends_where_it_must_not_was_lost() {
    type Cut = fn(&mut Script);
    let cuts: [Cut; 6] = [
        |t| {
            let fpdu = t.encode(&t.incoming_write(0, 10));
            t.deliver_bytes(&fpdu[..1]);
        },
        |t| {
            let fpdu = t.encode(&t.incoming_write(0, 10));
            t.deliver_bytes(&fpdu[..fpdu.len() - 1]);
        },
        |t| t.deliver(t.incoming_write(0, 10).not_last()),
        |t| t.deliver(incoming_send(1, 5).not_last()),
        |t| {
            t.post(read(1));
            t.lines();
        },
        |t| {
            t.post(operation(rdmalab_verbs::Operation::FetchAndAdd { remote: peer(), add: 1 }, 8));
            t.lines();
        },
    ];
    for cut in cuts {
        let mut t = Script::new();
        t.side.receive(9, 0, 10);
        cut(&mut t);
        t.end(End::Graceful);
        t.expect_event(Event::Reset);
        t.expect_event(LOST);
        t.expect_state(State::Err);
        let flushed = t.side.take_completions();
        assert!(flushed.iter().all(|it| it.status == rdmalab_verbs::CompletionStatus::WorkRequestFlushed));
        t.expect_nothing();
    }
}

#[test]
fn a_lost_stream_flushes_everything() {
    let mut t = Script::new();
    t.side.receive(9, 0, 10);
    t.post(send(1));
    t.post(read(1));
    t.end(End::Abortive);
    t.expect_event(LOST);
    t.expect_no_event();
    t.expect_flushed([0, 1, 9]);
    t.expect_nothing();
    t.post(send(1));
    t.side.receive(10, 0, 1);
    t.expect_flushed([2, 10]);
}

#[test]
fn an_abort_resets_the_stream() {
    let mut t = Script::new();
    t.side.receive(9, 0, 10);
    t.post(send(1));
    t.deliver(t.incoming_read(1, 0, 1));
    t.abort();
    t.abort();
    t.expect_event(Event::Reset);
    t.expect_no_event();
    t.expect_flushed([0, 9]);
    t.expect_nothing();
    t.end(End::Abortive);
    t.expect_event(LOST);
}

#[test]
fn a_request_behind_our_end_cannot_be_answered() {
    let mut t = Script::new();
    t.disconnect();
    t.expect_event(Event::CloseSending);
    t.deliver(t.incoming_read(1, 0, 1));
    t.expect_event(Event::Reset);
    t.expect_event(Event::Terminated { by: TerminatedBy::Us, error: TerminateError::DDP_NO_BUFFER });
    t.expect_nothing();
}

#[test]
fn an_error_behind_our_end_resets_the_stream() {
    let mut t = Script::new();
    t.disconnect();
    t.expect_event(Event::CloseSending);
    t.deliver(incoming_send(1, 1));
    t.expect_event(Event::Reset);
    t.expect_nothing();
    t.end(End::Abortive);
    t.expect_event(Event::Terminated { by: TerminatedBy::Us, error: TerminateError::DDP_NO_BUFFER });
    t.expect_event(LOST);
}

#[test]
fn a_terminate_message_is_dropped_with_a_lost_stream() {
    let mut t = Script::new();
    t.deliver(incoming_send(1, 1));
    assert!(t.side.queue_pair.has_work());
    t.end(End::Abortive);
    t.expect_nothing();
    t.expect_event(Event::Terminated { by: TerminatedBy::Us, error: TerminateError::DDP_NO_BUFFER });
    t.expect_event(LOST);
}

#[test]
fn a_terminate_message_goes_out_behind_the_peers_end() {
    let mut t = Script::new();
    t.deliver(incoming_send(1, 1));
    t.end(End::Graceful);
    t.expect("RDMAP TERMINATE msn=1 error=ddp_no_buffer of SEND length=19");
}

#[test]
fn a_queue_pair_that_was_never_connected_is_aborted() {
    let mut side = crate::side::Side::unconnected(&Default::default());
    side.receive(9, 0, 10);
    side.queue_pair.disconnect(&mut side.context);
    assert_eq!(side.queue_pair.poll_event(), Some(Event::Reset));
    assert_eq!(side.queue_pair.state(), State::Err);
    assert_eq!(side.take_completions().len(), 1);
}

#[test]
fn what_a_queue_pair_used_is_free_when_it_is_gone() {
    let mut side = crate::side::Side::new(&Default::default());
    assert!(side.context.destroy_completion_queue(side.completions).is_err());
    side.queue_pair.destroy(&mut side.context);
    side.context.destroy_completion_queue(side.completions).unwrap();
}
