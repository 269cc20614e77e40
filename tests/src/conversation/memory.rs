//! The memory of a conversation: what it holds at first, and what each byte must be at the end.

use super::{Kind, Operation};

/// After how many bytes the pattern begins again: a prime, so that no two packets of a message look alike.
const PERIOD: usize = 65_521;

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It carries out the operations.
    Active = 1,
    /// It offers its memory.
    Passive = 2,
}

/// What the region of an end holds at first.
pub fn pattern(side: Side, size: usize) -> Vec<u8> {
    let byte = |index: u32| {
        let mixed = index.wrapping_mul(0x9E37_79B1).wrapping_add((side as u32).wrapping_mul(0x85EB_CA6B));
        mixed.to_be_bytes()[0]
    };
    (0..PERIOD as u32).map(byte).cycle().take(size).collect()
}

/// What the region of `side` must hold when all operations are done.
pub fn expected(side: Side, operations: &[Operation], size: usize) -> Vec<u8> {
    let (active, passive) = (pattern(Side::Active, size), pattern(Side::Passive, size));
    let (mut memory, other) = match side {
        Side::Active => (active, passive),
        Side::Passive => (passive, active),
    };
    let done = |operation: &&Operation| operation.refusal.is_none() && operation.kind != Kind::Flush;
    for operation in operations.iter().filter(done) {
        let (mine, theirs) = (&mut memory[operation.range()], &other[operation.range()]);
        match (side, operation.kind) {
            (Side::Active, kind) if kind == Kind::Read || kind.is_atomic() => mine.copy_from_slice(theirs),
            (Side::Active, _) | (Side::Passive, Kind::Read | Kind::CmpSwapMiss) => {}
            (Side::Passive, Kind::FetchAdd) => {
                let sum = number(mine).wrapping_add(number(theirs));
                mine.copy_from_slice(&sum.to_le_bytes());
            }
            (Side::Passive, _) => mine.copy_from_slice(theirs),
        }
    }
    memory
}

/// The value of an atomic operation's eight bytes.
pub(super) fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("an atomic operation has eight bytes"))
}

/// Compares every byte. `Err` says how many differ, and where the first is.
pub fn compare(found: &[u8], wanted: &[u8], operations: &[Operation]) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("the region has {} bytes, not {}", found.len(), wanted.len()));
    }
    let mut wrong = found.iter().zip(wanted).enumerate().filter(|(_, (found, wanted))| found != wanted);
    let Some((first, (is, should))) = wrong.next() else { return Ok(()) };
    let more = wrong.count();
    let place = match operations.iter().find(|operation| operation.range().contains(&first)) {
        Some(operation) => format!("{:?} {} of {} bytes", operation.kind, operation.number, operation.size),
        None => "a gap".into(),
    };
    Err(format!("{} wrong bytes, the first at {first:#x} in {place}: {is:#04x}, not {should:#04x}", more + 1))
}

#[cfg(test)]
mod tests {
    use super::super::operations;
    use super::*;

    #[test]
    fn the_pattern_is_the_one_that_the_peer_has() {
        // Computed by peers/verbs_peer.py.
        assert_eq!(pattern(Side::Active, 6), PATTERN_ACTIVE);
        assert_eq!(pattern(Side::Passive, 6), PATTERN_PASSIVE);
        assert_eq!(pattern(Side::Active, 65_523)[65_521..], PATTERN_ACTIVE[..2]);
    }

    const PATTERN_ACTIVE: [u8; 6] = [0x85, 0x24, 0xc2, 0x60, 0xfe, 0x9d];
    const PATTERN_PASSIVE: [u8; 6] = [0x0b, 0xaa, 0x48, 0xe6, 0x84, 0x22];

    #[test]
    fn each_operation_leaves_its_mark_at_the_right_end_and_nowhere_else() {
        let list =
            "WRITE:3,SEND:3,READ:3,CMP_SWAP,CMP_SWAP_MISS,FETCH_ADD,ATOMIC_WRITE,READ:3@1,FLUSH:3!unheard";
        let (list, size) = operations(list).unwrap();
        let (active, passive) = (pattern(Side::Active, size), pattern(Side::Passive, size));
        let (at_active, at_passive) =
            (expected(Side::Active, &list, size), expected(Side::Passive, &list, size));
        let [write, send, read, swap, miss, add] = [0, 1, 2, 3, 4, 5].map(|index| list[index].range());
        let [atomic, window, flush] = [6, 7, 8].map(|index| list[index].range());
        assert_eq!(at_active[flush.clone()], active[flush.clone()]);
        assert_eq!(at_passive[flush.clone()], passive[flush]);
        assert_eq!(at_active[window.clone()], passive[window]);
        for range in [write.clone(), send.clone(), atomic] {
            assert_eq!(at_passive[range.clone()], active[range.clone()]);
            assert_eq!(at_active[range.clone()], active[range]);
        }
        assert_eq!(at_active[read.clone()], passive[read.clone()]);
        assert_eq!(at_passive[read.clone()], passive[read]);
        assert_eq!(at_passive[swap.clone()], active[swap.clone()]);
        assert_eq!(at_passive[miss.clone()], passive[miss.clone()]);
        assert_eq!(
            number(&at_passive[add.clone()]),
            number(&passive[add.clone()]).wrapping_add(number(&active[add.clone()]))
        );
        for range in [swap, miss, add] {
            assert_eq!(at_active[range.clone()], passive[range]);
        }
        let gap = list[0].range().end..list[1].offset;
        assert_eq!(at_passive[gap.clone()], passive[gap]);
    }

    #[test]
    fn the_first_wrong_byte_is_told_with_its_operation() {
        let (list, size) = operations("WRITE:3,READ:3").unwrap();
        let wanted = expected(Side::Passive, &list, size);
        assert_eq!(compare(&wanted, &wanted, &list), Ok(()));
        let mut found = wanted.clone();
        found[17] ^= 1;
        found[20] ^= 1;
        let fault = compare(&found, &wanted, &list).unwrap_err();
        assert!(fault.starts_with("2 wrong bytes, the first at 0x11 in Read 1 of 3 bytes"), "{fault}");
    }
}
