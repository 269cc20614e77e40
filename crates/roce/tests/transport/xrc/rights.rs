//! What a target lets its peer do.
//!
//! Rule: xrc-rights: the rights of the target's queue pair, and those of the key in the shared queue's protection
//! domain, must both allow what a request asks for.
//! Rule: xrc-outstanding-reads: a peer that has more READs and atomics outstanding than it was promised makes an
//! invalid request.

use rdmalab_verbs::{Access, State};

use super::{setup, target};
use crate::script::*;

#[test]
fn what_the_queue_pair_does_not_allow_is_an_invalid_request() {
    for (access, request) in [
        (Access::REMOTE_READ, write_only(0, 0, 8)),
        (Access::REMOTE_WRITE, read_request(0, 0, 8)),
        (Access::REMOTE_WRITE | Access::REMOTE_READ, fetch_add_request(0, 0, 1)),
    ] {
        let mut t = Script::with(Setup { access, ..setup() });
        t.deliver(request);
        t.expect("XRC ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
        t.expect_state(State::Err);
        t.expect_untouched(0);
    }
}

#[test]
fn what_the_key_does_not_allow_is_a_remote_access_error() {
    let mut t = target();
    let memory = t.side.memory.clone();
    let key = t.side.context.register(t.side.domain, BASE, memory, Access::REMOTE_READ).unwrap();
    t.deliver(read_request(0, 0, 8).key(key));
    t.expect("XRC READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.deliver(write_only(1, 0, 8).key(key));
    t.expect("XRC ACKNOWLEDGE psn=1 nak=remote_access_error msn=1");
}

#[test]
fn sends_need_no_right() {
    let mut t = Script::with(Setup { access: Access::empty(), ..setup() });
    t.receive(8);
    t.deliver(send_only(0, 8));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 8);
}

#[test]
fn one_read_more_than_was_promised_is_an_invalid_request() {
    let mut t = Script::with(Setup { reads: 2, ..setup() });
    for psn in 0..3 {
        t.deliver(read_request(psn, 0, 8));
    }
    t.expect("XRC READ_RESPONSE_ONLY psn=0 ack msn=1 len=8");
    t.expect("XRC READ_RESPONSE_ONLY psn=1 ack msn=2 len=8");
    t.expect("XRC ACKNOWLEDGE psn=2 nak=invalid_request msn=2");
}

#[test]
fn a_send_ends_a_key_of_the_queues_domain() {
    let mut t = target();
    let region = t.side.context.allocate_fast_region(t.side.domain, t.side.memory.clone()).unwrap();
    let registration = rdmalab_verbs::FastRegistration {
        region: rdmalab_wire::RKey::new(region),
        key: rdmalab_wire::RKey::new(region + 1),
        offset: 0,
        length: 4096,
        address: BASE,
        access: Access::REMOTE_WRITE | Access::LOCAL_WRITE,
    };
    let accessor = t.accessor();
    t.side.context.fast_register(&accessor, &registration).unwrap();
    t.receive(8);
    t.deliver(write_only(0, 0, 8).key(region + 1));
    t.deliver(send_only_inv(1, 8, region + 1));
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=2");
    let received = t.expect_received(100, 8);
    assert_eq!(received.invalidated.map(|key| key.value()), Some(region + 1));
    t.deliver(write_only(2, 0, 8).key(region + 1));
    t.expect("XRC ACKNOWLEDGE psn=2 nak=remote_access_error msn=2");
}
