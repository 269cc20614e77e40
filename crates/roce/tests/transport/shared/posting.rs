//! Where receives for queue pairs with a shared receive queue are posted.
//!
//! Rule: srq-posting: receives are posted to the shared queue; the queue pair itself takes none.

use rdmalab_verbs::{PostError, ReceiveRequest, RemoveError, State};

use super::{KINDS, extra, setup, sharing};
use crate::script::*;

#[test]
fn the_queue_pair_itself_refuses_receives() {
    for kind in KINDS {
        for state in [State::Init, State::Rts, State::Err] {
            let mut t = Script::in_state(state, setup(kind));
            let Side { endpoint, context, queue_pair, .. } = &mut t.side;
            let refused = endpoint.post_receive(context, *queue_pair, &ReceiveRequest::default());
            assert_eq!(refused, Err(PostError::SharedReceiveQueue));
        }
    }
}

#[test]
fn receives_may_be_there_before_and_after_the_queue_pair() {
    for kind in KINDS {
        let mut t = Script::in_state(State::Reset, setup(kind));
        t.receive(8 + extra(kind));
        t.go_to(State::Rts);
        t.deliver(send_only(0, 8));
        t.expect_received(100, 8 + extra(kind) as u32);
        t.take_lines();
    }
}

#[test]
fn the_shared_queue_stays_as_long_as_queue_pairs_draw_from_it() {
    let mut t = sharing(KINDS[0]);
    let shared = t.side.shared.unwrap();
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    let refused = context.destroy_shared_receive_queue(shared);
    assert_eq!(refused, Err(RemoveError::InUse { users: 1 }));
    endpoint.destroy_queue_pair(context, *queue_pair).unwrap();
    assert_eq!(context.destroy_shared_receive_queue(shared), Ok(()));
}
