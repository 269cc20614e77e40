//! What stops a requester from sending: its window of packets, and how many READs and atomics may be outstanding.
//!
//! Rule: rc-max-rd-atomic-requester: No more READs and atomics are outstanding than the queue pair was told,
//! and what is behind them waits.
//! Rule: rc-window: No more packets are outstanding than PSNs can be told apart from duplicates.

use rdmalab_verbs::{Operation, PostError, RemoteAddress};
use rdmalab_wire::{PathMtu, RKey};

use crate::script::*;

#[test]
fn no_more_packets_than_the_window_are_outstanding() {
    let mut t = Script::with_mtu(PathMtu::M256);
    t.post(write(256 * 300));
    assert_eq!(t.take_lines().len(), 128);
    t.deliver(ack(63));
    let lines = t.take_lines();
    assert_eq!(lines.len(), 64);
    assert_eq!(lines[0], "WRITE_MIDDLE psn=128 len=256");
    t.deliver(ack(191));
    assert_eq!(t.take_lines().len(), 300 - 192);
    t.deliver(ack(299).msn(1));
    t.expect_done(0);
}

#[test]
fn a_full_window_opens_packet_by_packet() {
    let mut t = Script::with_mtu(PathMtu::M256);
    t.post(write(256 * 300));
    assert_eq!(t.take_lines().len(), 128);
    t.deliver(ack(0));
    t.expect("WRITE_MIDDLE psn=128 len=256 ackreq");
    t.expect_nothing();
    t.deliver(ack(1));
    t.expect("WRITE_MIDDLE psn=129 len=256 ackreq");
}

#[test]
fn a_read_longer_than_the_window_goes_out_alone() {
    let mut t = Script::with_mtu(PathMtu::M256);
    t.post(read(256 * 200));
    t.post(send(1));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=51200 ackreq");
    t.expect_nothing();
    t.deliver(read_response_first(0, 256).msn(1));
    for psn in 1..72 {
        t.deliver(read_response_middle(psn, 256));
    }
    t.expect_nothing();
    t.deliver(read_response_middle(72, 256));
    t.expect("SEND_ONLY psn=200 len=1 ackreq");
}

#[test]
fn no_more_reads_and_atomics_than_agreed_are_outstanding_and_nothing_overtakes_them() {
    let mut t = Script::with(Setup { reads: 2, ..Setup::default() });
    t.post(read(1));
    t.post(send(1));
    t.post(fetch_add(1).at(8));
    t.post(read(1).at(16));
    t.post(send(1));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("SEND_ONLY psn=1 len=1 ackreq");
    t.expect("FETCH_ADD psn=2 va=0x200000 rkey=0x200 add=0x1 ackreq");
    t.expect_nothing();
    t.deliver(read_response_only(0, 1).msn(1));
    t.expect_done(0);
    t.expect("READ_REQUEST psn=3 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect("SEND_ONLY psn=4 len=1 ackreq");
}

#[test]
fn going_back_does_not_exceed_the_agreed_reads() {
    let mut t = Script::with(Setup { reads: 1, timeout: 1, ..Setup::default() });
    t.post(read(1));
    t.post(read(1));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.advance(8_192);
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect_nothing();
    t.deliver(read_response_only(0, 1).msn(1));
    t.expect_done(0);
    t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=1 ackreq");
}

#[test]
fn reads_are_refused_where_none_were_agreed() {
    let mut t = Script::with(Setup { reads: 0, ..Setup::default() });
    assert_eq!(t.try_post(read(1)), Err(PostError::NoReadsNegotiated));
    assert_eq!(t.try_post(fetch_add(1)), Err(PostError::NoReadsNegotiated));
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
}

#[test]
fn an_atomic_needs_eight_bytes_for_its_result() {
    let mut t = Script::new();
    for length in [0, 7, 9] {
        let element = t.side.sge(0, length);
        assert_eq!(
            t.try_post(fetch_add(1).in_elements(&[element])),
            Err(PostError::AtomicResultNotEightBytes)
        );
    }
    let halves = [t.side.sge(0, 4), t.side.sge(100, 4)];
    t.post(fetch_add(1).in_elements(&halves));
    t.expect("FETCH_ADD psn=0 va=0x200000 rkey=0x200 add=0x1 ackreq");
    let original = 0x0102_0304_0506_0708_u64;
    t.deliver(atomic_ack(0, original).msn(1));
    t.expect_done(0);
    assert_eq!([t.side.bytes(0, 4), t.side.bytes(100, 4)].concat(), original.to_ne_bytes());
}

#[test]
fn more_elements_than_the_queue_was_made_for_are_refused() {
    let mut t = Script::new();
    let element = t.side.sge(0, 1);
    assert_eq!(t.try_post(send(0).in_elements(&[element; 5])), Err(PostError::TooManyElements { limit: 4 }));
}

#[test]
fn what_only_iwarp_has_is_refused_by_name() {
    let mut t = Script::new();
    let remote = RemoteAddress::default();
    for operation in [
        Operation::RdmaReadWithInvalidate(remote, RKey::new(1)),
        Operation::MaskedCompareAndSwap { remote, compare: 0, compare_mask: 0, swap: 0, swap_mask: 0 },
        Operation::MaskedFetchAndAdd { remote, add: 0, boundary: 0 },
    ] {
        let mut work = send(8);
        work.operation = operation;
        let refused = t.try_post(work);
        assert_eq!(refused, Err(PostError::OnlyOverIwarp { operation: operation.name() }));
    }
    t.expect_nothing();
}
