//! The table of keys against a model that remembers every key that ever was.

use std::collections::BTreeSet;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(LowBits),
    /// Of the living entry that the number chooses.
    Remove(usize),
    /// Gives a living entry another key; the low bits come from the number, too.
    Rekey(usize, u32),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Insert(LowBits::Ours)),
        Just(Step::Insert(LowBits::Consumers)),
        any::<usize>().prop_map(Step::Remove),
        (any::<usize>(), any::<u32>()).prop_map(|(which, low)| Step::Rekey(which, low)),
    ]
}

struct Living {
    key: Key,
    low_bits: LowBits,
    value: u32,
}

proptest! {
    #[test]
    fn exactly_the_present_keys_of_the_living_are_found(steps in prop::collection::vec(step(), 1..100)) {
        // Few indices, so that they are used again and again and run out of generations.
        let mut table = KeyTable::with_indices(3);
        let mut living: Vec<Living> = Vec::new();
        // Every key that an entry had which is gone, and every other one of its block; and those that were ever in use.
        let mut dead: BTreeSet<Key> = BTreeSet::new();
        let mut known: BTreeSet<Key> = BTreeSet::new();
        for (value, step) in (0..).zip(steps) {
            match step {
                Step::Insert(low_bits) => {
                    let Ok(key) = table.insert(low_bits, value) else { continue };
                    prop_assert!(!dead.contains(&key), "{key:#x} comes again");
                    if low_bits == LowBits::Consumers {
                        prop_assert_eq!(key & 0xff, 0, "the whole block is the consumer's");
                        prop_assert!(dead.range(key..=key | 0xff).next().is_none());
                    }
                    living.push(Living { key, low_bits, value });
                }
                Step::Remove(which) if !living.is_empty() => {
                    let entry = living.remove(which % living.len());
                    prop_assert_eq!(table.remove(entry.key), Some(entry.value));
                    match entry.low_bits {
                        LowBits::Ours => drop(dead.insert(entry.key)),
                        LowBits::Consumers => dead.extend((0..256).map(|low| entry.key & !0xff | low)),
                    }
                }
                Step::Rekey(which, low) if !living.is_empty() => {
                    let count = living.len();
                    let entry = &mut living[which % count];
                    if entry.low_bits == LowBits::Consumers {
                        let new = entry.key & !0xff | low & 0xff;
                        table.rekey(entry.key, new);
                        known.insert(entry.key);
                        entry.key = new;
                    }
                }
                Step::Remove(_) | Step::Rekey(..) => {}
            }
            known.extend(living.iter().map(|entry| entry.key));
            for &key in &known {
                let expected = living.iter().find(|entry| entry.key == key).map(|entry| entry.value);
                prop_assert_eq!(table.get(key).copied(), expected, "{:#x}", key);
                prop_assert_eq!(table.get_mut(key).copied(), expected, "{:#x}", key);
                let of_block = living.iter().map(|entry| entry.key).find(|other| is_same_block(*other, key));
                prop_assert_eq!(table.present(key), of_block, "{:#x}", key);
            }
        }
    }
}

/// Makes and removes entries until no index is left; returns how many there were.
fn exhaust(table: &mut KeyTable<()>, low_bits: LowBits) -> usize {
    core::iter::from_fn(|| table.insert(low_bits, ()).ok().and_then(|key| table.remove(key))).count()
}

#[test]
fn used_up_indices_retire() {
    let mut table = KeyTable::with_indices(2);
    assert_eq!(exhaust(&mut table, LowBits::Ours), 2 * 4096);
    assert_eq!(exhaust(&mut table, LowBits::Ours), 0);
    assert_eq!(exhaust(&mut table, LowBits::Consumers), 0);

    let mut table = KeyTable::with_indices(2);
    assert_eq!(exhaust(&mut table, LowBits::Consumers), 2 * 16, "blocks of 256 generations");
    assert_eq!(exhaust(&mut table, LowBits::Ours), 0);
}

#[test]
fn an_entry_without_consumer_s_bits_comes_behind_the_block_of_one_with_them() {
    let mut table = KeyTable::with_indices(1);
    let ours = table.insert(LowBits::Ours, ()).unwrap();
    table.remove(ours).unwrap();
    let block = table.insert(LowBits::Consumers, ()).unwrap();
    assert_eq!((ours, block), (0x1000, 0x1100), "the rest of the first block is given up");
    table.remove(block).unwrap();
    assert_eq!(table.insert(LowBits::Ours, ()), Ok(0x1200));
}

#[test]
fn a_key_of_another_block_is_not_taken() {
    let mut table = KeyTable::with_indices(1);
    let key = table.insert(LowBits::Consumers, 7).unwrap();
    table.rekey(key, key ^ 0x100);
    assert_eq!(table.get(key), Some(&7));
    assert_eq!(table.get(key ^ 0x100), None);
    table.rekey(key ^ 1, key ^ 2);
    assert_eq!(table.get(key), Some(&7), "only the present key names the entry");
}

#[test]
fn numbers_that_are_no_keys_find_nothing() {
    let mut table = KeyTable::new();
    let key = table.insert(LowBits::Ours, ()).unwrap();
    for nobody in [0, 0xfff, key + 1, 0x2000, u32::MAX] {
        assert_eq!(table.get(nobody), None, "{nobody:#x}");
        assert_eq!(table.get_mut(nobody), None);
        assert_eq!(table.remove(nobody), None);
    }
    assert!(table.get(key).is_some());
}
