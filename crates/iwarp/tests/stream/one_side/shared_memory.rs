//! Memory that several have at once: what is behind a READ, and another device.
//!
//! Rule: rdmap-read-behind-write: A READ sees what WRITEs in front of it wrote; what those behind it write it sees or not, byte
//! for byte (RFC 5040 §5.5).
//! Rule: rdmap-atomic-between-devices: Atomics on the same number through two devices are atomic with each other (RFC 7306 §5).

use std::sync::Arc;

use rdmalab_verbs::{Access, HeapMemory, Memory};
use rdmalab_wire::iwarp::{AtomicOperation, AtomicRequest, Opcode, RawSegment, Stag};

use crate::script::*;
use crate::side::{BASE, pattern};

/// The payload of the next segment, which must be a READ response.
#[track_caller]
fn answer(t: &mut Script) -> Vec<u8> {
    let ulpdu = t.poll_ulpdu().expect("an answer");
    assert!(RawSegment::parse(&ulpdu).to_string().starts_with("RDMAP READ_RESPONSE"));
    ulpdu[14..].to_vec()
}

#[test]
fn a_read_sees_the_write_in_front_of_it_and_of_the_one_behind_it_what_is_there_when_the_answer_goes() {
    const LENGTH: usize = 3000;
    // How many segments of the answer have gone when the second WRITE comes.
    for gone in 0..=3 {
        let mut t = Script::new();
        let key = t.side.key;
        let (one, other) = (pattern(1, 1440), pattern(2, LENGTH));
        let behind = [pattern(1, 1440), pattern(3, LENGTH - 1440)].concat();
        t.deliver(tagged(Opcode::WRITE, key, BASE, &one).not_last());
        t.deliver(tagged(Opcode::WRITE, key, BASE + 1440, &behind[1440..2880]).not_last());
        t.deliver(tagged(Opcode::WRITE, key, BASE + 2880, &behind[2880..]));
        t.deliver(t.incoming_read(1, 0, LENGTH));
        let mut read = Vec::new();
        (0..gone).for_each(|_| read.extend(answer(&mut t)));
        let seen_before = read.len();
        t.deliver(tagged(Opcode::WRITE, key, BASE, &other[..1440]).not_last());
        t.deliver(tagged(Opcode::WRITE, key, BASE + 1440, &other[1440..2880]).not_last());
        t.deliver(tagged(Opcode::WRITE, key, BASE + 2880, &other[2880..]));
        while read.len() < LENGTH {
            read.extend(answer(&mut t));
        }
        assert_eq!(read.len(), LENGTH);
        assert!(read[..seen_before] == behind[..seen_before], "what had gone was of the WRITE in front");
        assert!(read[seen_before..] == other[seen_before..], "the rest is of the one behind");
        t.expect_nothing();
        t.expect_alive();
    }
}

#[test]
fn two_devices_that_add_to_the_same_number_lose_nothing() {
    const ADDITIONS: u32 = 10_000;
    let memory = Arc::new(HeapMemory::new(64));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let memory = Arc::clone(&memory);
            scope.spawn(move || {
                let mut t = Script::new();
                let key = t.side.context.register(t.side.domain, 0, memory, Access::FULL).unwrap();
                for number in 0..ADDITIONS {
                    let request = AtomicRequest {
                        operation: AtomicOperation::FetchAdd,
                        request_id: number,
                        stag: Stag::new(key),
                        offset: 8,
                        add_or_swap: 1,
                        ..AtomicRequest::default()
                    };
                    t.deliver(untagged(Opcode::ATOMIC_REQUEST, 1, number + 1, &request.encode()));
                    assert!(t.line().unwrap().starts_with("RDMAP ATOMIC_RESPONSE"));
                }
            });
        }
    });
    let mut found = [0; 8];
    memory.read(8, &mut found).unwrap();
    assert_eq!(u64::from_ne_bytes(found), 2 * u64::from(ADDITIONS));
}
