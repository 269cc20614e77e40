//! Whose memory the requests of an extended reliable connection reach.
//!
//! Rule: xrc-memory-domain: the memory that a request reaches, and that its receive lies in, is that of the shared
//! receive queue's protection domain, not of the target's.

use rdmalab_verbs::{Access, ReceiveRequest, Sge, SharedReceiveQueueId};

use super::{queue, target};
use crate::script::*;

/// A shared queue in another protection domain, and the key of a region over the same memory there.
fn elsewhere(t: &mut Script) -> (SharedReceiveQueueId, u32) {
    let domain = t.side.context.allocate_protection_domain().unwrap();
    let memory = t.side.memory.clone();
    let key = t.side.context.register(domain, BASE, memory, Access::FULL).unwrap();
    let (xrc, completions) = (t.side.xrc_domain.unwrap(), t.side.completions);
    (queue(t, domain, xrc, completions), key)
}

#[test]
fn keys_of_the_queues_domain_work_and_the_targets_own_do_not() {
    let mut t = target();
    let (named, key) = elsewhere(&mut t);
    t.deliver(write_only(0, 0, 8).key(key).over(xrceth(named)));
    t.deliver(fetch_add_request(1, 64, 3).key(key).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=0 ack msn=1");
    t.expect("XRC ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0x0");
    t.deliver(read_request(2, 0, 8).key(key).over(xrceth(named)));
    t.expect("XRC READ_RESPONSE_ONLY psn=2 ack msn=3 len=8");
    assert_eq!(t.payload(), pattern(0, 8));
    t.deliver(write_only(3, 0, 8).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=3 nak=remote_access_error msn=3");
}

#[test]
fn a_repeated_read_reads_there_again() {
    let mut t = target();
    let (named, key) = elsewhere(&mut t);
    t.side.fill(0, 1500, 1);
    t.deliver(read_request(0, 0, 1500).key(key).over(xrceth(named)));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(read_request(0, 0, 1500).key(key).over(xrceth(named)));
    t.expect("XRC READ_RESPONSE_FIRST psn=0 ack msn=1 len=1024");
    t.expect("XRC READ_RESPONSE_LAST psn=1 ack msn=1 len=476");
    assert_eq!(t.payload(), t.side.bytes(1024, 476));
}

#[test]
fn receives_lie_in_the_queues_domain() {
    let mut t = target();
    let (named, key) = elsewhere(&mut t);
    let elements = [Sge { key, ..t.side.sge(0, 2048) }];
    t.side.context.post_shared_receive(named, &ReceiveRequest { id: 7, elements: &elements }).unwrap();
    t.deliver(send_first(0, 1024).over(xrceth(named)));
    t.deliver(send_last(1, 8).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(7, 1032);
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 8)].concat());
}

#[test]
fn a_message_stays_where_it_began_whatever_queue_its_later_packets_name() {
    let mut t = target();
    let (named, _) = elsewhere(&mut t);
    t.receive(2048);
    t.deliver(send_first(0, 1024));
    t.deliver(send_last(1, 8).over(xrceth(named)));
    t.expect("XRC ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(100, 1032);
    t.expect_bytes(0, &[pattern(0, 1024), pattern(1, 8)].concat());
}
