//! Messages as long as the specification lets them be, and PSNs as far apart as they may get.
//!
//! Rule: rc-longest-message: A message of 2^31 bytes is carried, as far as its PSNs can be told from
//! duplicates.

use std::sync::Arc;

use rdmalab_roce::Batch;
use rdmalab_verbs::{Access, Atomic64, Memory, MemoryFault, RemoteAddress, Sge, State};
use rdmalab_wire::{Body, PathMtu, RKey, Reth};

use crate::script::*;

/// More memory than a test should have: reads as zero, forgets what is written.
#[derive(Debug)]
struct Vast;

const VAST: u64 = 1 << 32;

impl Memory for Vast {
    fn length(&self) -> usize {
        VAST as usize
    }

    fn read(&self, _: usize, out: &mut [u8]) -> Result<(), MemoryFault> {
        out.fill(0);
        Ok(())
    }

    fn write(&self, _: usize, _: &[u8]) -> Result<(), MemoryFault> {
        Ok(())
    }

    fn atomic64(&self, _: usize, _: Atomic64) -> Result<u64, MemoryFault> {
        Ok(0)
    }
}

/// A script with a vast region at address 0, and its key.
fn with_vast_region(mtu: PathMtu) -> (Script, u32) {
    let mut t = Script::with_mtu(mtu);
    let key = t.side.context.register(t.side.domain, 0, Arc::new(Vast), Access::FULL).unwrap();
    (t, key)
}

/// The first packets that go out, without waiting for the millions behind them.
fn first_packets(t: &mut Script, count: usize) -> Vec<String> {
    let Side { endpoint, context, .. } = &mut t.side;
    let mut batch = Batch::new(count, PathMtu::M4096, 0);
    endpoint.poll(context, 0, &mut batch);
    batch.packets().map(line_of).collect()
}

#[test]
fn a_read_of_two_to_the_31_bytes_is_asked_for_in_one_request() {
    let (mut t, key) = with_vast_region(PathMtu::M4096);
    t.post(read(0).in_elements(&[Sge { address: 0, length: 1 << 31, key }]));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=2147483648 ackreq");
}

#[test]
fn at_the_smallest_path_mtu_a_message_is_as_long_as_psns_can_be_told_apart() {
    let (mut t, key) = with_vast_region(PathMtu::M256);
    let most = ((1 << 23) - 1) * 256;
    let piece = |length| Sge { address: 0, length, key };
    assert!(t.try_post(read(0).in_elements(&[piece(most), piece(1)])).is_err());
    t.post(read(0).in_elements(&[piece(most)]));
    t.post(send(1));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=2147483392 ackreq");
    t.expect_nothing();
    // The last PSN of the response is outstanding, and no other.
    t.deliver(read_response_only(0x7f_fffe, 256));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=2147483392 ackreq");
    t.deliver(read_response_only(0x7f_ffff, 256));
    t.expect_discard(rdmalab_roce::Discard::UnexpectedResponse);
}

#[test]
fn a_read_of_two_to_the_31_bytes_is_answered() {
    for (mtu, next) in [(PathMtu::M4096, 1 << 19), (PathMtu::M256, 1 << 23)] {
        let (mut t, key) = with_vast_region(mtu);
        let reth = Reth { virtual_address: VAST - (1 << 31), key: RKey::new(key), length: 1 << 31 };
        t.deliver(packet(0, Body::ReadRequest(reth)));
        let length = mtu.bytes();
        assert_eq!(
            first_packets(&mut t, 3),
            [
                format!("READ_RESPONSE_FIRST psn=0 ack msn=1 len={length}"),
                format!("READ_RESPONSE_MIDDLE psn=1 len={length}"),
                format!("READ_RESPONSE_MIDDLE psn=2 len={length}"),
            ]
        );
        t.modify_state(State::Err);
        t.expect_nothing();
        // The next request would have had the PSN behind all of them.
        t.modify_state(State::Reset);
        t.reconnect(Setup { mtu, ..Setup::default() });
        t.deliver(packet(0, Body::ReadRequest(reth)));
        t.deliver(write_only(next, 0, 8));
        t.expect_bytes(0, &pattern(next, 8));
        t.modify_state(State::Err);
    }
}

#[test]
fn one_byte_beyond_the_region_a_long_read_is_refused() {
    let (mut t, key) = with_vast_region(PathMtu::M4096);
    let reth = Reth { virtual_address: VAST - (1 << 31) + 1, key: RKey::new(key), length: 1 << 31 };
    t.deliver(packet(0, Body::ReadRequest(reth)));
    t.expect("ACKNOWLEDGE psn=0 nak=remote_access_error msn=0");
}

#[test]
fn a_long_write_sends_its_window_and_its_length() {
    let (mut t, key) = with_vast_region(PathMtu::M4096);
    let mut work = write(0).in_elements(&[Sge { address: 0, length: 1 << 31, key }]);
    work.operation = rdmalab_verbs::Operation::RdmaWrite(RemoteAddress { address: 1, key: RKey::new(2) });
    t.post(work);
    t.expect("WRITE_FIRST psn=0 va=0x1 rkey=0x2 dmalen=2147483648 len=4096");
    assert_eq!(t.take_lines().len(), 127);
}
