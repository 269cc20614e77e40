//! Lengths: of a packet by its place in the message, of a message by what it said. NAK invalid request.
//!
//! Rule: rc-packet-length: FIRST and MIDDLE packets are as long as the path MTU, LAST ones not empty, none is
//! longer; anything else is an invalid request.
//! Rule: rc-message-length: A WRITE brings as many bytes as its first packet said, and no message is longer
//! than 2^31; anything else is an invalid request.

use rdmalab_verbs::CompletionStatus;
use rdmalab_wire::{Body, PathMtu, Reth};

use super::expect_fatal;
use crate::script::*;

const INVALID_AT_0: &str = "ACKNOWLEDGE psn=0 nak=invalid_request msn=0";
const INVALID_AT_1: &str = "ACKNOWLEDGE psn=1 nak=invalid_request msn=0";

#[test]
fn first_packets_are_as_long_as_the_path_mtu() {
    for length in [0, 1, 256, 512, 1023, 1025, 2048] {
        let mut t = Script::new();
        t.receive(8192);
        expect_fatal(&mut t, send_first(0, length), INVALID_AT_0);
        t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
        let mut t = Script::new();
        expect_fatal(&mut t, write_first(0, 0, 4000, length), INVALID_AT_0);
        t.expect_untouched(0);
    }
}

#[test]
fn middle_packets_are_as_long_as_the_path_mtu() {
    for length in [0, 1, 256, 1023, 1025, 2048] {
        let mut t = Script::new();
        t.receive(8192);
        t.deliver(send_first(0, 1024));
        expect_fatal(&mut t, send_middle(1, length), INVALID_AT_1);
        t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
        let mut t = Script::new();
        t.deliver(write_first(0, 0, 8000, 1024));
        expect_fatal(&mut t, write_middle(1, length), INVALID_AT_1);
        t.expect_untouched(1024);
    }
}

#[test]
fn last_packets_are_neither_empty_nor_longer_than_the_path_mtu() {
    for length in [0, 1025, 4096] {
        let mut t = Script::new();
        t.receive(8192);
        t.deliver(send_first(0, 1024));
        expect_fatal(&mut t, send_last(1, length), INVALID_AT_1);
        t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
        let mut t = Script::new();
        t.receive(8192);
        t.deliver(send_first(0, 1024));
        expect_fatal(&mut t, send_last_imm(1, length, 1), INVALID_AT_1);
        t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
        let mut t = Script::new();
        t.deliver(write_first(0, 0, 1024 + length as u32, 1024));
        if length > 0 {
            expect_fatal(&mut t, write_last(1, length), INVALID_AT_1);
        } else {
            t.expect(INVALID_AT_0);
        }
    }
}

#[test]
fn only_packets_are_not_longer_than_the_path_mtu() {
    let mut t = Script::new();
    t.receive(8192);
    expect_fatal(&mut t, send_only(0, 1025), INVALID_AT_0);
    t.expect_completion(100, CompletionStatus::RemoteInvalidRequest);
    let mut t = Script::new();
    expect_fatal(&mut t, write_only(0, 0, 1025), INVALID_AT_0);
    t.expect_untouched(0);
    let mut t = Script::with_mtu(PathMtu::M256);
    t.receive(8192);
    expect_fatal(&mut t, write_only_imm(0, 0, 257, 1), INVALID_AT_0);
    t.expect_flushed([100]);
}

#[test]
fn a_write_is_as_long_as_its_first_packet_said() {
    let only = |said| {
        let mut packet = write_only(0, 0, 8);
        if let Body::WriteOnly(reth) = &mut packet.body {
            reth.length = said;
        }
        packet
    };
    for said in [0, 7, 9, 1032, u32::MAX] {
        let mut t = Script::new();
        expect_fatal(&mut t, only(said), INVALID_AT_0);
        t.expect_untouched(0);
    }
    // A first packet that could have been the only one.
    for said in [0, 1, 1023, 1024] {
        let mut t = Script::new();
        expect_fatal(&mut t, write_first(0, 0, said, 1024), INVALID_AT_0);
        t.expect_untouched(0);
    }
    // A middle packet that could have been the last one.
    for said in [1025, 2047, 2048] {
        let mut t = Script::new();
        t.deliver(write_first(0, 0, said, 1024));
        expect_fatal(&mut t, write_middle(1, 1024), INVALID_AT_1);
        t.expect_untouched(1024);
    }
    // A last packet with too little or too much.
    for length in [1, 99, 101, 1024] {
        let mut t = Script::new();
        t.deliver(write_first(0, 0, 1124, 1024));
        expect_fatal(&mut t, write_last(1, length), INVALID_AT_1);
        t.expect_untouched(1024);
        let mut t = Script::new();
        t.receive(0);
        t.deliver(write_first(0, 0, 1124, 1024));
        expect_fatal(&mut t, write_last_imm(1, length, 1), INVALID_AT_1);
        t.expect_flushed([100]);
    }
}

#[test]
fn a_message_of_more_than_two_to_the_31_bytes_is_refused() {
    let mut t = Script::new();
    expect_fatal(&mut t, write_first(0, 0, (1 << 31) + 1, 1024), INVALID_AT_0);
    let mut t = Script::new();
    expect_fatal(&mut t, read_request(0, 0, (1 << 31) + 1), INVALID_AT_0);
    // Exactly so long is a matter of the key.
    let access = "ACKNOWLEDGE psn=0 nak=remote_access_error msn=0";
    let mut t = Script::new();
    expect_fatal(&mut t, write_first(0, 0, 1 << 31, 1024), access);
    let mut t = Script::new();
    expect_fatal(&mut t, read_request(0, 0, 1 << 31), access);
}

#[test]
fn lengths_are_judged_before_keys() {
    let mut t = Script::new();
    expect_fatal(&mut t, write_only(0, 0, 1025).key(0), INVALID_AT_0);
    let mut t = Script::new();
    let reth = Reth { virtual_address: 0, key: rdmalab_wire::RKey::new(0), length: 9 };
    expect_fatal(&mut t, packet(0, Body::WriteOnly(reth)).payload(&[0; 8]), INVALID_AT_0);
}

#[test]
fn only_and_last_packets_may_be_as_long_as_the_path_mtu() {
    let mut t = Script::new();
    t.receive(4096);
    t.receive(4096);
    t.deliver(send_only(0, 1024));
    t.deliver(write_only(1, 8192, 1024));
    t.deliver(send_first(2, 1024));
    t.deliver(send_last(3, 1024));
    t.deliver(write_first(4, 16384, 2048, 1024));
    t.deliver(write_last(5, 1024));
    t.expect("ACKNOWLEDGE psn=5 ack msn=4");
    t.expect_received(100, 1024);
    t.expect_received(101, 2048);
}
