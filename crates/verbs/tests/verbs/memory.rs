//! Both kinds of memory against a plain vector.

use std::sync::Arc;

use proptest::prelude::*;
use rdmalab_verbs::{Atomic64, HeapMemory, Memory, MemoryFault, RawMemory};

const SIZE: usize = 67;

/// The application's side of a [`RawMemory`], deliberately not aligned.
fn raw() -> RawMemory {
    let bytes = Box::leak(vec![0u8; SIZE + 3].into_boxed_slice());
    // SAFETY: the bytes are leaked, so they live for ever, and nothing else refers to them.
    unsafe { RawMemory::from_raw_parts(bytes.as_mut_ptr().add(3), SIZE) }
}

fn memories() -> [Arc<dyn Memory>; 2] {
    [Arc::new(HeapMemory::new(SIZE)), Arc::new(raw())]
}

proptest! {
    #[test]
    fn memory_behaves_like_a_vector_of_bytes(
        writes in prop::collection::vec((0usize..SIZE + 4, prop::collection::vec(any::<u8>(), 0..SIZE)), 0..12),
        reads in prop::collection::vec((0usize..SIZE + 4, 0usize..SIZE), 1..12),
    ) {
        for memory in memories() {
            let mut model = [0u8; SIZE];
            for (offset, data) in &writes {
                let result = memory.write(*offset, data);
                if offset + data.len() <= SIZE {
                    model[*offset..offset + data.len()].copy_from_slice(data);
                    prop_assert_eq!(result, Ok(()));
                } else {
                    prop_assert_eq!(result, Err(MemoryFault));
                }
            }
            for (offset, length) in &reads {
                let mut found = vec![0xaa; *length];
                let result = memory.read(*offset, &mut found);
                if offset + length <= SIZE {
                    prop_assert_eq!(result, Ok(()));
                    prop_assert_eq!(&found[..], &model[*offset..offset + length]);
                } else {
                    prop_assert_eq!(result, Err(MemoryFault));
                }
            }
        }
    }
}

#[test]
fn offsets_near_the_end_of_the_address_space_are_a_fault() {
    for memory in memories() {
        assert_eq!(memory.write(usize::MAX, &[1]), Err(MemoryFault));
        assert_eq!(memory.read(usize::MAX - 1, &mut [0; 8]), Err(MemoryFault));
        assert_eq!(memory.atomic64(usize::MAX - 7, Atomic64::FetchAndAdd { add: 1 }), Err(MemoryFault));
    }
}

#[test]
fn atomics_return_the_old_value_and_swap_only_what_matches() {
    let memory = HeapMemory::new(16);
    assert_eq!(memory.atomic64(8, Atomic64::FetchAndAdd { add: 5 }), Ok(0));
    assert_eq!(memory.atomic64(8, Atomic64::CompareAndSwap { compare: 4, swap: 9 }), Ok(5));
    assert_eq!(memory.atomic64(8, Atomic64::CompareAndSwap { compare: 5, swap: u64::MAX }), Ok(5));
    assert_eq!(memory.atomic64(8, Atomic64::FetchAndAdd { add: 2 }), Ok(u64::MAX));
    let mut bytes = [0; 8];
    memory.read(8, &mut bytes).unwrap();
    assert_eq!(u64::from_ne_bytes(bytes), 1);
}

#[test]
fn a_swap_replaces_whatever_it_finds() {
    let memory = HeapMemory::new(8);
    let value = u64::from_ne_bytes(*b"abcdefgh");
    assert_eq!(memory.atomic64(0, Atomic64::Swap { value }), Ok(0));
    assert_eq!(memory.atomic64(0, Atomic64::Swap { value: 1 }), Ok(value));
    assert_eq!(memory.atomic64(0, Atomic64::FetchAndAdd { add: 0 }), Ok(1));
}

#[test]
fn a_masked_swap_looks_at_some_bits_and_replaces_some() {
    let memory = HeapMemory::new(8);
    memory.write(0, &0x1122_3344_5566_7788_u64.to_ne_bytes()).unwrap();
    let swap = |compare| Atomic64::MaskedCompareAndSwap {
        compare,
        compare_mask: 0xffff,
        swap: 0xaaaa_bbbb_cccc_dddd,
        swap_mask: 0xff00_0000_0000_00f0,
    };
    assert_eq!(memory.atomic64(0, swap(0x7789)), Ok(0x1122_3344_5566_7788), "another value: nothing happens");
    assert_eq!(memory.atomic64(0, swap(0xffff_0000_0000_7788)), Ok(0x1122_3344_5566_7788));
    assert_eq!(memory.atomic64(0, Atomic64::FetchAndAdd { add: 0 }), Ok(0xaa22_3344_5566_77d8));
}

#[test]
fn a_masked_add_carries_within_each_number_only() {
    let add = |value, add, boundary| Atomic64::MaskedFetchAndAdd { add, boundary }.apply(value);
    assert_eq!(add(u64::MAX, 1, 0), 0, "one number");
    assert_eq!(add(0xffff_ffff, 1, 1 << 31), 0, "the lower number wraps by itself");
    assert_eq!(add(0x0101_ff80, 0x0001_0180, 0x8080_8080), 0x0102_0000);
    // Bit by bit, as RFC 7306 5.1.1 describes it.
    let slowly = |value: u64, add: u64, boundary: u64| {
        let (mut sum, mut carry) = (0, 0);
        for bit in 0..64 {
            let here = (value >> bit & 1) + (add >> bit & 1) + carry;
            sum |= (here & 1) << bit;
            carry = if boundary >> bit & 1 == 1 { 0 } else { here >> 1 };
        }
        sum
    };
    let mut number = 1_u64;
    let mut next = || {
        number = number.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        number ^ number >> 29
    };
    for _ in 0..1000 {
        let (value, other, boundary) = (next(), next(), next());
        assert_eq!(add(value, other, boundary), slowly(value, other, boundary));
    }
}

#[test]
fn an_unaligned_atomic_is_a_fault() {
    for memory in memories() {
        let aligned = (0..8).filter(|&at| memory.atomic64(at, Atomic64::FetchAndAdd { add: 0 }).is_ok());
        assert_eq!(aligned.count(), 1, "{memory:?}");
    }
}

#[test]
fn a_reader_never_sees_a_later_byte_before_an_earlier_one() {
    const ROUNDS: u64 = 20_000;
    let memory = Arc::new(HeapMemory::new(64));
    let writer = {
        let memory = Arc::clone(&memory);
        std::thread::spawn(move || {
            for round in 1..=ROUNDS {
                memory.write(0, round.to_ne_bytes().repeat(8).as_slice()).unwrap();
            }
        })
    };
    let word = |offset| {
        let mut bytes = [0; 8];
        memory.read(offset, &mut bytes).unwrap();
        u64::from_ne_bytes(bytes)
    };
    while !writer.is_finished() {
        // The last word first: what stands before it must be as new, or newer.
        let last = word(56);
        let first = word(0);
        assert!(first >= last, "round {last} landed at the end before it landed at the start");
    }
    writer.join().unwrap();
}
