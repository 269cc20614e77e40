//! The limit of a shared receive queue.
//!
//! Rule: srq-limit: when messages bring the number of receives below the armed limit, that is told once, and the limit
//! is disarmed.

use rdmalab_verbs::ContextEvent;

use super::{KINDS, extra, sharing};
use crate::script::*;

#[test]
fn falling_below_the_limit_is_told_once_until_it_is_armed_again() {
    for kind in KINDS {
        let mut t = sharing(kind);
        let shared = t.side.shared.unwrap();
        for _ in 0..4 {
            t.receive(8 + extra(kind));
        }
        t.side.context.set_shared_receive_limit(shared, 3).unwrap();
        let deliver = |t: &mut Script, psn: u32| {
            t.deliver(send_only(psn, 8));
            t.expect_received(100 + u64::from(psn), 8 + extra(kind) as u32);
            t.take_lines();
        };
        deliver(&mut t, 0);
        assert_eq!(t.side.context.poll_event(), None, "as many as the limit says are left");
        deliver(&mut t, 1);
        assert_eq!(t.side.context.poll_event(), Some(ContextEvent::SharedReceiveLimit(shared)));
        deliver(&mut t, 2);
        assert_eq!(t.side.context.poll_event(), None, "disarmed");
        t.side.context.set_shared_receive_limit(shared, 1).unwrap();
        deliver(&mut t, 3);
        assert_eq!(t.side.context.poll_event(), Some(ContextEvent::SharedReceiveLimit(shared)));
        t.expect_no_event();
    }
}

#[test]
fn it_is_told_when_a_message_begins_and_not_when_it_ends() {
    let mut t = sharing(rdmalab_verbs::QueuePairType::Rc);
    let shared = t.side.shared.unwrap();
    t.receive(4096);
    t.side.context.set_shared_receive_limit(shared, 1).unwrap();
    t.deliver(send_first(0, 1024));
    assert_eq!(t.side.context.poll_event(), Some(ContextEvent::SharedReceiveLimit(shared)));
    t.deliver(send_last(1, 8));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 1032);
    assert_eq!(t.side.context.poll_event(), None);
}
