//! SEND with invalidate, as its requester sends it: a SEND whose last packet names a key of the peer.
//!
//! Rule: rc-send-invalidate-last: The key to be invalidated travels in the last packet of a SEND, and only
//! there.

use rdmalab_verbs::{CompletionKind, CompletionStatus};
use rdmalab_wire::NakCode;

use crate::script::*;

#[test]
fn a_short_send_names_the_key_in_its_only_packet() {
    let mut t = Script::new();
    t.post(send_inv(5, 0xabcd).solicited());
    t.expect("SEND_ONLY_INV psn=0 len=5 inv=0xabcd solicited ackreq");
    t.deliver(ack(0).msn(1));
    let done = t.expect_done(0);
    assert_eq!((done.kind, done.invalidated), (CompletionKind::Send, None));
}

#[test]
fn a_long_send_names_the_key_in_its_last_packet() {
    let mut t = Script::new();
    t.post(send_inv(2500, 0xabcd));
    t.expect("SEND_FIRST psn=0 len=1024");
    t.expect("SEND_MIDDLE psn=1 len=1024");
    t.expect("SEND_LAST_INV psn=2 len=452 inv=0xabcd ackreq");
    t.deliver(ack(2).msn(1));
    t.expect_done(0);
}

#[test]
fn an_empty_send_may_invalidate() {
    let mut t = Script::new();
    t.post(send_inv(0, 7));
    t.expect("SEND_ONLY_INV psn=0 len=0 inv=0x7 ackreq");
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}

#[test]
fn a_peer_that_cannot_invalidate_the_key_fails_the_send() {
    let mut t = Script::new();
    t.post(send_inv(1, 7));
    assert_eq!(t.take_lines().len(), 1);
    t.deliver(nak(0, NakCode::RemoteAccessError));
    t.expect_completion(0, CompletionStatus::RemoteAccessError);
}

#[test]
fn the_last_packet_is_repeated_with_its_key() {
    let mut t = Script::new();
    t.post(send_inv(2048, 7));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(sequence_nak(1));
    t.expect("SEND_LAST_INV psn=1 len=1024 inv=0x7 ackreq");
    t.deliver(ack(1).msn(1));
    t.expect_done(0);
}
