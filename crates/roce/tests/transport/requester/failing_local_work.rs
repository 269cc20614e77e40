//! Local work that cannot be done: it fails in its turn, and the queue pair with it.
//!
//! Rule: mw-bind-error: A binding that breaks a rule ends with IBV_WC_MW_BIND_ERR once the requests before it
//! are done, and the queue pair goes into ERR.
//! Rule: qp-local-operation-error: A local invalidation or fast registration that breaks a rule ends with
//! IBV_WC_LOC_QP_OP_ERR, and the queue pair goes into ERR.

use rdmalab_verbs::{Access, CompletionStatus, State, WindowType};

use crate::script::*;

const BIND_ERROR: CompletionStatus = CompletionStatus::MemoryWindowBindError;
const OPERATION_ERROR: CompletionStatus = CompletionStatus::LocalQueuePairOperationError;

/// A script and work of each kind that cannot be done.
fn failing() -> Vec<(Work, CompletionStatus)> {
    vec![
        (bind(0x7700, 0x7701, 0, 8, Access::REMOTE_READ), BIND_ERROR),
        (local_invalidate(KEY.value()), OPERATION_ERROR),
        (fast_register(KEY.value(), KEY.value(), 0, 8, Access::REMOTE_READ), OPERATION_ERROR),
    ]
}

#[test]
fn local_work_that_breaks_a_rule_ends_the_connection() {
    for (work, status) in failing() {
        let mut t = Script::new();
        t.receive(8);
        t.post(work);
        t.post(send(1));
        t.expect_completion(0, status);
        t.expect_flushed([1, 100]);
        t.expect_state(State::Err);
        t.expect_nothing();
    }
}

#[test]
fn it_fails_only_after_the_older_requests_are_done() {
    for (work, status) in failing() {
        let mut t = Script::new();
        t.post(send(1));
        t.post(read(8));
        t.post(work);
        t.post(send(1));
        t.post(local_invalidate(1));
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
        t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=8 ackreq");
        t.expect_nothing();
        t.deliver(ack(0).msn(1));
        t.expect_done(0);
        t.expect_no_completion();
        t.expect_state(State::Rts);
        t.deliver(read_response_only(1, 8).msn(2));
        t.expect_done(1);
        t.expect_completion(2, status);
        t.expect_flushed([3, 4]);
        t.expect_state(State::Err);
    }
}

#[test]
fn it_fails_even_if_success_would_not_have_been_told() {
    for (work, status) in failing() {
        let mut t = Script::new();
        t.post(work.unsignaled());
        t.expect_completion(0, status);
        t.expect_state(State::Err);
    }
}

#[test]
fn older_requests_are_repeated_while_it_waits() {
    for (work, status) in failing() {
        let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
        t.post(send(1));
        t.post(work);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
        t.advance(8_192);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
        t.expect_nothing();
        t.deliver(ack(0).msn(1));
        t.expect_done(0);
        t.expect_completion(1, status);
    }
}

#[test]
fn an_older_request_that_fails_flushes_it() {
    for (work, _) in failing() {
        let mut t = Script::new();
        t.post(send(1));
        t.post(work);
        t.expect("SEND_ONLY psn=0 len=1 ackreq");
        t.deliver(nak(0, rdmalab_wire::NakCode::RemoteOperationalError));
        t.expect_completion(0, CompletionStatus::RemoteOperationError);
        t.expect_flushed([1]);
    }
}

#[test]
fn every_rule_of_a_binding_is_held_when_it_is_posted() {
    let all = MEMORY as u64;
    let breaks: [fn(u32) -> Work; 5] = [
        |window| bind(window, window + 0x100, 0, 8, Access::REMOTE_READ),
        |window| bind(window, window + 1, MEMORY, 1, Access::REMOTE_READ),
        |window| bind(window, window + 1, 0, 0, Access::REMOTE_READ),
        |window| bind(window, window + 1, 0, 8, Access::LOCAL_WRITE),
        |window| bind_to(0, window, window + 1, BASE, 8, Access::REMOTE_READ),
    ];
    for work in breaks {
        let mut t = Script::new();
        let window = t.window(WindowType::Two);
        t.post(work(window));
        t.expect_completion(0, BIND_ERROR);
    }
    let mut t = Script::new();
    let window = t.bound_window(WindowType::Two, Access::REMOTE_READ);
    t.post(bind(window, window, 0, all, Access::REMOTE_READ));
    t.expect_completion(1, BIND_ERROR);
}

#[test]
fn a_key_is_not_invalidated_twice() {
    let mut t = Script::new();
    let window = t.bound_window(WindowType::Two, Access::REMOTE_READ);
    t.post(local_invalidate(window));
    t.post(local_invalidate(window));
    t.expect_done(1);
    t.expect_completion(2, OPERATION_ERROR);
}

#[test]
fn a_window_of_type_1_is_not_invalidated() {
    let mut t = Script::new();
    let window = t.bound_window(WindowType::One, Access::REMOTE_READ);
    t.post(local_invalidate(window));
    t.expect_completion(1, OPERATION_ERROR);
}

#[test]
fn a_fast_region_is_not_mapped_over_a_mapping() {
    let mut t = Script::new();
    let region = t.mapped_region(Access::REMOTE_READ);
    t.post(fast_register(region, region + 1, 0, 8, Access::REMOTE_READ));
    t.expect_completion(1, OPERATION_ERROR);
}

#[test]
fn a_fast_region_with_windows_bound_to_it_is_not_invalidated() {
    let mut t = Script::new();
    let region = t.mapped_region(Access::FULL);
    let window = t.window(WindowType::Two);
    t.post(bind_to(region, window, window + 1, BASE, 8, Access::REMOTE_READ));
    t.post(local_invalidate(region));
    t.expect_done(1);
    t.expect_completion(2, OPERATION_ERROR);
}

#[test]
fn work_that_would_have_failed_earlier_may_succeed_in_its_turn_and_holds_nothing_back_after_that() {
    let mut t = Script::new();
    let bound = t.bound_window(WindowType::Two, REMOTE_ACCESS);
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    // Not free: it waits behind the SEND. Then the peer sets the window free.
    t.post(bind(bound, bound + 1, 0, 8, REMOTE_ACCESS));
    t.post(send(2));
    t.post(send(3));
    t.expect_nothing();
    t.receive(8);
    t.deliver(send_only_inv(0, 8, bound));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
    t.deliver(ack(0).msn(1));
    t.expect_done(1);
    t.expect_done(2);
    t.expect("SEND_ONLY psn=1 len=2 ackreq");
    t.expect("SEND_ONLY psn=2 len=3 ackreq");
}
