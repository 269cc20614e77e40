//! WRITEs of the peer.
//!
//! Rule: ddp-place-tagged: A tagged segment's payload goes where its tag and offset say (RFC 5041 §5.2).
//! Rule: ddp-place-as-it-arrives: Payload is placed as it arrives; nothing is held back for the rest (RFC 5041 §5.3).
//! Rule: rdmap-write-tells-nobody: A WRITE completes nothing on the receiving side (RFC 5040 §5.1).
//! Rule: ddp-tagged-faults: A tagged segment that may not go where it names is told by DDP's errors for tagged buffers,
//! with its length and header, and none of its bytes is placed (RFC 5041 §7, §8.2).
//! Rule: rdmap-write-access: A WRITE without the right to it is told as RDMAP's access error (RFC 5040 §7).
//! Rule: rdmap-zero-length-write: A WRITE of no bytes looks at no tag (RFC 5040 §5.1).

use rdmalab_verbs::{Access, Operation, WindowBinding, WindowType};
use rdmalab_wire::iwarp::{Opcode, TerminateError};

use crate::script::*;
use crate::side::{BASE, Setup, pattern};

#[test]
fn a_write_goes_where_each_segment_says_and_tells_nobody() {
    let mut t = Script::new();
    t.deliver(t.incoming_write(100, 500).not_last());
    t.deliver(t.incoming_write(7000, 10));
    t.expect_bytes(100, &pattern(100, 500));
    t.expect_bytes(7000, &pattern(7000, 10));
    t.expect_no_completion();
    t.expect_alive();
}

#[test]
fn bytes_are_placed_as_they_arrive() {
    let mut t = Script::new();
    let fpdu = t.encode(&t.incoming_write(0, 1000));
    t.deliver_bytes(&fpdu[..16 + 300]);
    t.expect_bytes(0, &pattern(0, 1000)[..300]);
    t.expect_bytes(300, &[0]);
    t.deliver_bytes(&fpdu[16 + 300..]);
    t.expect_bytes(0, &pattern(0, 1000));
    t.expect_alive();
}

#[test]
fn a_write_of_no_bytes_looks_at_no_tag() {
    let mut t = Script::with(Setup { access: Access::empty(), ..Setup::default() });
    t.deliver(tagged(Opcode::WRITE, 0xdead, u64::MAX, &[]));
    t.expect_alive();
}

#[test]
fn each_fault_of_a_write_is_told_and_nothing_is_placed() {
    let end = BASE + (1 << 16);
    let cases: [(Access, Access, u32, u64, TerminateError); 7] = [
        (Access::FULL, Access::REMOTE, 0xdead, BASE, TerminateError::DDP_INVALID_STAG),
        (Access::FULL, Access::REMOTE, 0, BASE - 1, TerminateError::DDP_BOUNDS),
        (Access::FULL, Access::REMOTE, 0, end - 9, TerminateError::DDP_BOUNDS),
        (Access::FULL, Access::REMOTE, 0, end, TerminateError::DDP_BOUNDS),
        (Access::FULL, Access::REMOTE, 0, u64::MAX - 8, TerminateError::DDP_OFFSET_WRAP),
        (Access::LOCAL_WRITE, Access::REMOTE, 0, BASE, TerminateError::RDMAP_ACCESS),
        (Access::FULL, Access::REMOTE_READ, 0, BASE, TerminateError::RDMAP_ACCESS),
    ];
    for crc in [true, false] {
        for (rights, access, key, offset, error) in cases {
            for piece in [1000, 1] {
                let mut t = Script::with(Setup { rights, access, crc, ..Setup::default() });
                let key = if key == 0 { t.side.key } else { key };
                let fpdu = t.encode(&tagged(Opcode::WRITE, key, offset, &[1; 10]));
                fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
                t.expect_terminate(error, "WRITE length=24");
                t.expect_bytes(0, &[0; 16]);
                t.expect_bytes((1 << 16) - 16, &[0; 16]);
            }
        }
    }
}

#[test]
fn memory_of_another_domain_or_queue_pair_is_not_of_this_stream() {
    let mut t = Script::new();
    let other = t.side.context.allocate_protection_domain().unwrap();
    let memory = std::sync::Arc::clone(&t.side.memory);
    let key = t.side.context.register(other, BASE, memory, Access::FULL).unwrap();
    t.deliver(tagged(Opcode::WRITE, key, BASE, &[1]));
    t.expect_terminate(TerminateError::DDP_STAG_OF_OTHER_STREAM, "WRITE length=15");

    let mut t = Script::new();
    let window = t.side.context.allocate_window(t.side.domain, WindowType::Two).unwrap();
    let binding = WindowBinding {
        window,
        key: window,
        region: t.side.key,
        address: BASE,
        length: 100,
        access: Access::REMOTE_WRITE,
    };
    let accessor = rdmalab_verbs::Accessor { protection_domain: t.side.domain, queue_pair: 99 };
    t.side.context.bind_window(&accessor, &binding).unwrap();
    t.deliver(tagged(Opcode::WRITE, window.value(), BASE, &[1]));
    t.expect_terminate(TerminateError::DDP_STAG_OF_OTHER_STREAM, "WRITE length=15");
}

#[test]
fn a_window_that_we_bound_lets_the_peer_in_until_its_key_is_invalidated() {
    let mut t = Script::with(Setup { rights: Access::LOCAL_WRITE | Access::MW_BIND, ..Setup::default() });
    let window = t.side.context.allocate_window(t.side.domain, WindowType::Two).unwrap();
    let binding = WindowBinding {
        window,
        key: window,
        region: t.side.key,
        address: BASE + 100,
        length: 50,
        access: Access::REMOTE_WRITE,
    };
    t.post(operation(Operation::BindWindow(binding), 0));
    t.expect_nothing();
    t.expect_done(0);
    t.deliver(tagged(Opcode::WRITE, window.value(), BASE + 100, &[9; 50]));
    t.expect_bytes(99, &[&[0][..], &[9; 50], &[0]].concat());
    t.expect_alive();
    t.post(operation(Operation::LocalInvalidate(window), 0));
    t.expect_nothing();
    t.expect_done(1);
    t.deliver(tagged(Opcode::WRITE, window.value(), BASE + 100, &[8]));
    t.expect_terminate(TerminateError::DDP_INVALID_STAG, "WRITE length=15");
}

#[test]
fn a_region_that_goes_away_within_a_segment_ends_the_connection() {
    let mut t = Script::with(Setup { crc: false, ..Setup::default() });
    let fpdu = t.encode(&t.incoming_write(0, 100));
    t.deliver_bytes(&fpdu[..50]);
    t.side.context.deregister(t.side.key).unwrap();
    t.deliver_bytes(&fpdu[50..]);
    t.expect_terminate(TerminateError::DDP_INVALID_STAG, "WRITE length=114");
}
