//! Each operation's effect and its answer.
//!
//! Rule: rc-operations: SENDs fill receives, WRITEs and READs move bytes, atomics change eight bytes at once,
//! and each is answered in order.

use rdmalab_verbs::{CompletionKind, PostError, ReceiveRequest};
use rdmalab_wire::{ImmDt, PathMtu};

use crate::script::*;

#[test]
fn a_send_fills_the_oldest_receive() {
    let mut t = Script::new();
    t.receive_at(5000, 2500);
    t.receive_at(9000, 10);
    t.deliver(send_first(0, 1024));
    t.deliver(send_middle(1, 1024));
    t.expect_no_completion();
    t.deliver(send_last(2, 300));
    t.expect("ACKNOWLEDGE psn=2 ack msn=1");
    let done = t.expect_received(100, 2348);
    assert_eq!((done.kind, done.immediate, done.solicited), (CompletionKind::Receive, None, false));
    t.expect_bytes(5000, &[pattern(0, 1024), pattern(1, 1024), pattern(2, 300)].concat());
    t.expect_untouched(5000 + 2348);
    t.deliver(send_only(3, 10));
    t.expect("ACKNOWLEDGE psn=3 ack msn=2");
    t.expect_received(101, 10);
    t.expect_bytes(9000, &pattern(3, 10));
}

#[test]
fn a_send_lands_in_the_elements_of_the_receive_in_order() {
    let mut t = Script::with_mtu(PathMtu::M256);
    let elements = [t.side.sge(4000, 300), t.side.sge(0, 0), t.side.sge(100, 1), t.side.sge(6000, 300)];
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 7, elements: &elements }).unwrap();
    t.deliver(send_first(0, 256));
    t.deliver(send_last(1, 256));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    t.expect_received(7, 512);
    let found = [t.side.bytes(4000, 300), t.side.bytes(100, 1), t.side.bytes(6000, 211)].concat();
    assert_eq!(found, [pattern(0, 256), pattern(1, 256)].concat());
    t.expect_untouched(6211);
}

#[test]
fn an_empty_send_completes_a_receive() {
    let mut t = Script::new();
    t.receive(10);
    t.deliver(send_only(0, 0));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 0);
}

#[test]
fn a_receive_without_elements_takes_an_empty_send() {
    let mut t = Script::new();
    let Side { endpoint, context, queue_pair, .. } = &mut t.side;
    endpoint.post_receive(context, *queue_pair, &ReceiveRequest { id: 7, elements: &[] }).unwrap();
    t.deliver(send_only_imm(0, 0, 0x0102_0304));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    assert_eq!(t.expect_received(7, 0).immediate, Some(ImmDt([1, 2, 3, 4])));
}

#[test]
fn immediate_data_and_the_solicited_bit_arrive_with_the_completion() {
    let mut t = Script::new();
    t.receive(2000);
    t.receive(2000);
    t.receive(2000);
    t.deliver(send_only_imm(0, 3, 0xdead_beef).solicited());
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    let done = t.expect_received(100, 3);
    assert_eq!(done.immediate, Some(ImmDt([0xde, 0xad, 0xbe, 0xef])));
    assert!(done.solicited);
    t.deliver(send_first(1, 1024));
    t.deliver(send_last_imm(2, 1, 7));
    t.expect("ACKNOWLEDGE psn=2 ack msn=2");
    let done = t.expect_received(101, 1025);
    assert_eq!((done.immediate, done.solicited), (Some(ImmDt([0, 0, 0, 7])), false));
    t.deliver(write_only_imm(3, 4096, 5, 9).solicited());
    t.expect("ACKNOWLEDGE psn=3 ack msn=3");
    let done = t.expect_received(102, 5);
    assert_eq!((done.immediate, done.solicited), (Some(ImmDt([0, 0, 0, 9])), true));
}

#[test]
fn a_write_lands_and_nobody_is_told() {
    let mut t = Script::new();
    t.receive(10);
    t.deliver(write_only(0, 3, 9));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_bytes(0, &[0; 3]);
    t.expect_bytes(3, &pattern(0, 9));
    t.deliver(write_first(1, 4096, 2500, 1024));
    t.deliver(write_middle(2, 1024));
    t.deliver(write_last(3, 452));
    t.expect("ACKNOWLEDGE psn=3 ack msn=2");
    t.expect_bytes(4096, &[pattern(1, 1024), pattern(2, 1024), pattern(3, 452)].concat());
    t.expect_untouched(4096 + 2500);
    t.expect_no_completion();
}

#[test]
fn a_write_with_immediate_completes_a_receive_and_leaves_its_memory_alone() {
    let mut t = Script::new();
    t.receive_at(0, 0);
    t.receive_at(0, 100);
    t.deliver(write_first(0, 4096, 2000, 1024));
    t.deliver(write_last_imm(1, 976, 0x0a0b_0c0d));
    t.expect("ACKNOWLEDGE psn=1 ack msn=1");
    let done = t.expect_received(100, 2000);
    assert_eq!(done.kind, CompletionKind::ReceiveRdmaWithImmediate);
    assert_eq!(done.immediate, Some(ImmDt([10, 11, 12, 13])));
    t.expect_bytes(4096, &[pattern(0, 1024), pattern(1, 976)].concat());
    t.deliver(write_only_imm(2, 8192, 0, 1));
    t.expect("ACKNOWLEDGE psn=2 ack msn=2");
    t.expect_received(101, 0);
    t.expect_bytes(0, &[0; 100]);
}

#[test]
fn a_read_is_answered_with_the_bytes() {
    let mut t = Script::new();
    t.side.fill(0, MEMORY, 5);
    t.deliver(read_request(0, 3, 2500));
    t.expect("READ_RESPONSE_FIRST psn=0 ack msn=1 len=1024");
    assert_eq!(t.payload(), t.side.bytes(3, 1024));
    t.expect("READ_RESPONSE_MIDDLE psn=1 len=1024");
    assert_eq!(t.payload(), t.side.bytes(1027, 1024));
    t.expect("READ_RESPONSE_LAST psn=2 ack msn=1 len=452");
    assert_eq!(t.payload(), t.side.bytes(2051, 452));
}

#[test]
fn a_read_response_is_cut_at_the_path_mtu() {
    for path_mtu in [PathMtu::M256, PathMtu::M1024, PathMtu::M4096] {
        let mtu = path_mtu.bytes();
        for length in [0, 1, mtu - 1, mtu] {
            let mut t = Script::with_mtu(path_mtu);
            t.deliver(read_request(0, 0, length as u32));
            t.expect(&format!("READ_RESPONSE_ONLY psn=0 ack msn=1 len={length}"));
        }
        for tail in [1, mtu - 1, mtu] {
            let mut t = Script::with_mtu(path_mtu);
            t.deliver(read_request(0, 0, (mtu + tail) as u32));
            t.expect(&format!("READ_RESPONSE_FIRST psn=0 ack msn=1 len={mtu}"));
            t.expect(&format!("READ_RESPONSE_LAST psn=1 ack msn=1 len={tail}"));
        }
    }
}

#[test]
fn the_next_request_comes_behind_all_psns_of_a_read() {
    let mut t = Script::new();
    t.deliver(read_request(0, 0, 2049));
    t.deliver(write_only(3, 0, 1));
    assert_eq!(t.take_lines().len(), 4);
    t.expect_bytes(0, &pattern(3, 1));
}

#[test]
fn compare_and_swap_swaps_only_what_it_expects() {
    let mut t = Script::new();
    let memory = |t: &Script| u64::from_ne_bytes(t.side.bytes(64, 8).try_into().unwrap());
    t.deliver(compare_swap_request(0, 64, 0, 5));
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    assert_eq!(memory(&t), 5);
    t.deliver(compare_swap_request(1, 64, 4, 6));
    t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0x5");
    assert_eq!(memory(&t), 5);
    t.deliver(compare_swap_request(2, 64, 5, u64::MAX));
    t.expect("ATOMIC_ACKNOWLEDGE psn=2 ack msn=3 original=0x5");
    assert_eq!(memory(&t), u64::MAX);
}

#[test]
fn fetch_and_add_wraps() {
    let mut t = Script::new();
    t.deliver(fetch_add_request(0, 8, u64::MAX));
    t.expect("ATOMIC_ACKNOWLEDGE psn=0 ack msn=1 original=0x0");
    t.deliver(fetch_add_request(1, 8, 3));
    t.expect("ATOMIC_ACKNOWLEDGE psn=1 ack msn=2 original=0xffffffffffffffff");
    t.expect_bytes(8, &2u64.to_ne_bytes());
    t.expect_untouched(16);
}

#[test]
fn answers_go_out_in_the_order_of_their_requests() {
    let mut t = Script::new();
    t.receive(10);
    t.deliver(write_only(0, 0, 8));
    t.deliver(read_request(1, 0, 1500));
    t.deliver(fetch_add_request(3, 4096, 1));
    t.deliver(send_only(4, 10));
    t.deliver(read_request(5, 0, 1));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect("READ_RESPONSE_FIRST psn=1 ack msn=2 len=1024");
    t.expect("READ_RESPONSE_LAST psn=2 ack msn=2 len=476");
    t.expect("ATOMIC_ACKNOWLEDGE psn=3 ack msn=3 original=0x0");
    t.expect("ACKNOWLEDGE psn=4 ack msn=4");
    t.expect("READ_RESPONSE_ONLY psn=5 ack msn=5 len=1");
    t.expect_received(100, 10);
}

#[test]
fn a_read_sees_the_writes_before_it() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 64));
    t.deliver(read_request(1, 0, 64));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=64");
    assert_eq!(t.payload(), pattern(0, 64));
}

#[test]
fn pad_bytes_are_no_data() {
    let mut t = Script::new();
    for (psn, length) in [1, 2, 3, 5].into_iter().enumerate() {
        t.deliver(write_only(psn as u32, psn * 100, length));
        t.expect(&format!("ACKNOWLEDGE psn={psn} ack msn={}", psn + 1));
        t.expect_bytes(psn * 100, &[&pattern(psn as u32, length)[..], &[0; 8]].concat());
    }
}

#[test]
fn a_responder_in_rtr_answers_like_one_in_rts() {
    let mut t = Script::in_state(rdmalab_verbs::State::Rtr, Setup::default());
    t.receive(10);
    t.deliver(send_only(0, 10));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_received(100, 10);
    t.deliver(read_request(1, 0, 5));
    t.expect("READ_RESPONSE_ONLY psn=1 ack msn=2 len=5");
}

#[test]
fn a_full_receive_queue_refuses_the_next_receive() {
    let mut t = Script::new();
    for _ in 0..256 {
        t.receive(1);
    }
    assert_eq!(t.side.receive(0, 0, 1), Err(PostError::QueueFull { capacity: 256 }));
}
