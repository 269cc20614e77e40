//! What the two ends of a verbs conversation agree on: the operations, the memory, the lines they exchange.
//!
//! `peers/verbs_peer.py`, which is the other end in a guest, describes all of it at its head. Here is an end of ours:
//! what to carry out, what each byte of memory must be when that is done, and [`converse`], which does it.

mod end;
mod lines;
mod memory;

pub use end::converse;
pub use lines::{Introduction, Wish};
pub use memory::{Side, compare, expected, pattern};

/// The largest region that a conversation may have, in bytes: more is a mistake in the list of operations.
const LARGEST: usize = 1 << 28;

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// RDMA WRITE.
    Write,
    /// RDMA WRITE with immediate data.
    WriteWithImm,
    /// SEND.
    Send,
    /// SEND with immediate data.
    SendWithImm,
    /// RDMA READ.
    Read,
    /// Compare and swap, with the value that is there.
    CmpSwap,
    /// Compare and swap, with another value than the one that is there.
    CmpSwapMiss,
    /// Fetch and add.
    FetchAdd,
}

/// One operation of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Its place in the list, from 0.
    pub number: usize,
    /// What it does.
    pub kind: Kind,
    /// On how many bytes.
    pub size: usize,
    /// Where its bytes begin in the region, at both ends.
    pub offset: usize,
}

impl Kind {
    const NAMES: [(Self, &'static str); 8] = [
        (Self::Write, "WRITE"),
        (Self::WriteWithImm, "WRITE_WITH_IMM"),
        (Self::Send, "SEND"),
        (Self::SendWithImm, "SEND_WITH_IMM"),
        (Self::Read, "READ"),
        (Self::CmpSwap, "CMP_SWAP"),
        (Self::CmpSwapMiss, "CMP_SWAP_MISS"),
        (Self::FetchAdd, "FETCH_ADD"),
    ];

    /// Whether it works on eight bytes at once and returns what was there.
    pub fn is_atomic(self) -> bool {
        matches!(self, Self::CmpSwap | Self::CmpSwapMiss | Self::FetchAdd)
    }

    /// Whether it carries immediate data.
    pub fn has_immediate(self) -> bool {
        matches!(self, Self::WriteWithImm | Self::SendWithImm)
    }

    /// Whether it takes a receive request of the passive end.
    pub fn takes_a_receive(self) -> bool {
        matches!(self, Self::Send | Self::SendWithImm | Self::WriteWithImm)
    }
}

impl Operation {
    /// The bytes that it works on, at both ends.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.size
    }

    /// The immediate data that it carries, as a number.
    pub fn immediate(&self) -> Option<u32> {
        let number = u32::try_from(self.number).ok()?;
        self.kind.has_immediate().then(|| number.wrapping_add(0x1000))
    }
}

/// Reads a list such as `WRITE:33*50,READ:4096,FETCH_ADD*20`, and says how many bytes the region has.
pub fn operations(list: &str) -> Result<(Vec<Operation>, usize), String> {
    let (mut operations, mut offset) = (Vec::new(), 0_usize);
    for item in list.split(',') {
        let number = |text: &str| text.parse::<usize>().map_err(|error| format!("{item}: {error}"));
        let (what, times) = item.split_once('*').unwrap_or((item, "1"));
        let (name, size) = what.split_once(':').unwrap_or((what, ""));
        let kind = Kind::NAMES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind);
        let kind = kind.ok_or_else(|| format!("there is no operation {name:?}"))?;
        let size = if kind.is_atomic() { 8 } else { number(size)? };
        for _ in 0..number(times)? {
            operations.push(Operation { number: operations.len(), kind, size, offset });
            offset = size
                .checked_next_multiple_of(8)
                .and_then(|size| offset.checked_add(size + 8))
                .unwrap_or(LARGEST + 1);
            if offset > LARGEST {
                return Err(format!("{list:?} needs more than {LARGEST} bytes"));
            }
        }
    }
    Ok((operations, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_numbered_and_keep_a_gap() {
        let (operations, size) = operations("WRITE:33*2,FETCH_ADD,SEND_WITH_IMM:8").unwrap();
        let places: Vec<_> = operations.iter().map(|op| (op.number, op.kind, op.offset, op.size)).collect();
        assert_eq!(
            places,
            [
                (0, Kind::Write, 0, 33),
                (1, Kind::Write, 48, 33),
                (2, Kind::FetchAdd, 96, 8),
                (3, Kind::SendWithImm, 112, 8)
            ]
        );
        assert_eq!(size, 128);
        assert_eq!(operations[3].immediate(), Some(0x1003));
        assert_eq!(operations[0].immediate(), None);
    }

    #[test]
    fn a_list_that_is_wrong_is_refused() {
        for list in ["", "PUT:3", "WRITE", "WRITE:x", "WRITE:1*x", "WRITE:99999999999", "WRITE:1000*99999999"]
        {
            assert!(operations(list).is_err(), "{list:?}");
        }
    }
}
