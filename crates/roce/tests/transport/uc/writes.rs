//! WRITEs over an unreliable connection, received.
//!
//! Rule: uc-write: an RDMA WRITE over an unreliable connection is placed packet by packet, and told only if it brings
//! immediate data.

use super::uc;
use crate::script::*;
use rdmalab_verbs::CompletionKind;

#[test]
fn a_write_lands_without_a_word() {
    let mut t = uc();
    t.deliver(write_first(0, 100, 2058, 1024));
    t.deliver(write_middle(1, 1024));
    t.deliver(write_last(2, 10));
    t.deliver(write_only(3, 8000, 3));
    t.expect_bytes(100, &[pattern(0, 1024), pattern(1, 1024), pattern(2, 10)].concat());
    t.expect_bytes(8000, &pattern(3, 3));
    t.expect_no_completion();
    t.expect_nothing();
}

#[test]
fn immediate_data_takes_a_receive_and_tells_the_length_of_the_whole_write() {
    let mut t = uc();
    t.receive(0);
    t.receive(0);
    t.deliver(write_first(0, 0, 1034, 1024));
    t.expect_no_completion();
    t.deliver(write_last_imm(1, 10, 5).solicited());
    let received = t.expect_received(100, 1034);
    assert_eq!(received.kind, CompletionKind::ReceiveRdmaWithImmediate);
    assert_eq!(received.immediate.map(|data| data.0), Some([0, 0, 0, 5]));
    assert!(received.solicited);
    t.deliver(write_only_imm(2, 0, 0, 6));
    t.expect_received(101, 0);
}

#[test]
fn a_write_of_no_bytes_needs_no_key() {
    let mut t = uc();
    t.receive(0);
    t.deliver(write_only_imm(0, 0, 0, 6).key(0).address(0));
    t.expect_received(100, 0);
}
