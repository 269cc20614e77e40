//! Which requests are reported when they succeed.
//!
//! Rule: qp-signals-all: A queue pair that was made to signal all requests reports each success, whether it
//! was asked for or not.
//! Rule: qp-unsignaled-silent: Otherwise the success of a request that does not ask is not reported, and
//! frees its place all the same.

use rdmalab_verbs::{Access, Placement, WindowType};

use crate::script::*;

/// One request of each kind, unsignaled, with the answer that completes it at PSN 0.
fn everything(t: &mut Script) -> Vec<(Work, Option<Incoming>)> {
    let (window, region) = (t.window(WindowType::Two), t.fast_region());
    let done = || Some(ack(0).msn(1));
    let empty = || Some(read_response_only(0, 0).msn(1));
    [
        (send(1), done()),
        (send_imm(1, 2), done()),
        (send_inv(1, 2), done()),
        (write(1), done()),
        (write_imm(1, 2), done()),
        (read(8), Some(read_response_only(0, 8).msn(1))),
        (fetch_add(1), Some(atomic_ack(0, 1).msn(1))),
        (compare_swap(1, 2), Some(atomic_ack(0, 1).msn(1))),
        (flush(8, Placement::GLOBAL), empty()),
        (atomic_write(1), empty()),
        (bind(window, window, 0, 8, Access::REMOTE_READ), None),
        (fast_register(region, region, 0, 8, Access::REMOTE_READ), None),
    ]
    .map(|(work, answer)| (work.unsignaled(), answer))
    .to_vec()
}

#[track_caller]
fn succeed(signals_all: bool, case: usize) -> Script {
    let mut t = Script::with(Setup { signals_all, ..Setup::default() });
    let (work, answer) = everything(&mut t).swap_remove(case);
    t.post(work);
    assert_eq!(t.take_lines().len(), usize::from(answer.is_some()));
    if let Some(answer) = answer {
        t.deliver(answer);
    }
    t
}

#[test]
fn where_all_are_signaled_every_success_is_told() {
    for case in 0..everything(&mut Script::new()).len() {
        succeed(true, case).expect_done(0);
    }
}

#[test]
fn elsewhere_the_success_of_an_unsignaled_request_is_not_told() {
    for case in 0..everything(&mut Script::new()).len() {
        succeed(false, case).expect_no_completion();
    }
}

#[test]
fn unsignaled_requests_free_their_places_when_something_behind_them_completes() {
    let mut t = Script::new();
    for round in 0..4 {
        for _ in 0..255 {
            t.post(send(1).unsignaled());
        }
        let id = t.post(send(1));
        let refused = t.try_post(send(1));
        assert!(refused.is_err(), "the queue is full");
        let first = round * 256;
        for window in [first + 127, first + 255] {
            assert_eq!(t.take_lines().len(), 128);
            t.deliver(ack(window).msn(window + 1));
        }
        t.expect_done(id);
    }
}
