//! What the active end of a conversation does, in the words of a list such as `WRITE:33*50,READ:4096@2,WRITE:8@2!beyond`.

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
    /// SEND that ends a key of the passive end.
    SendWithInv,
    /// RDMA READ.
    Read,
    /// Compare and swap, with the value that is there.
    CmpSwap,
    /// Compare and swap, with another value than the one that is there.
    CmpSwapMiss,
    /// Fetch and add.
    FetchAdd,
    /// ATOMIC WRITE.
    AtomicWrite,
    /// FLUSH, so that everybody sees what was written.
    Flush,
}

/// A key of the passive end that one operation has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// That of a memory window of type 1.
    Type1,
    /// That of a memory window of type 2B.
    Type2,
    /// That of a fast-registered region, which no operation can reach the conversation's memory through.
    Fast,
}

/// Why an operation must fail. It is the last one then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its window ends one byte before it.
    Beyond,
    /// Its window lacks the right.
    Right,
    /// Its window is bound on another queue pair.
    Stranger,
    /// The binding of its window was ended by the owner.
    Unbound,
    /// It names the key that the SEND before it has ended.
    Ended,
    /// The passive end does not answer.
    Unheard,
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
    /// A key of its own; otherwise it has the region's.
    pub key: Option<KeyKind>,
    /// Why it must fail, if it must.
    pub refusal: Option<Refusal>,
}

impl Kind {
    const NAMES: [(Self, &'static str); 11] = [
        (Self::Write, "WRITE"),
        (Self::WriteWithImm, "WRITE_WITH_IMM"),
        (Self::Send, "SEND"),
        (Self::SendWithImm, "SEND_WITH_IMM"),
        (Self::SendWithInv, "SEND_WITH_INV"),
        (Self::Read, "READ"),
        (Self::CmpSwap, "CMP_SWAP"),
        (Self::CmpSwapMiss, "CMP_SWAP_MISS"),
        (Self::FetchAdd, "FETCH_ADD"),
        (Self::AtomicWrite, "ATOMIC_WRITE"),
        (Self::Flush, "FLUSH"),
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
        matches!(self, Self::Send | Self::SendWithImm | Self::SendWithInv | Self::WriteWithImm)
    }
}

impl KeyKind {
    const NAMES: [(Self, &'static str); 3] = [(Self::Type1, "1"), (Self::Type2, "2"), (Self::Fast, "F")];
}

impl Refusal {
    const NAMES: [(Self, &'static str); 6] = [
        (Self::Beyond, "beyond"),
        (Self::Right, "right"),
        (Self::Stranger, "stranger"),
        (Self::Unbound, "unbound"),
        (Self::Ended, "ended"),
        (Self::Unheard, "unheard"),
    ];
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

/// Reads a list of operations, and says how many bytes the region has.
pub fn operations(list: &str) -> Result<(Vec<Operation>, usize), String> {
    let (mut operations, mut offset) = (Vec::new(), 0_usize);
    for item in list.split(',') {
        let number = |text: &str| text.parse::<usize>().map_err(|error| format!("{item}: {error}"));
        let (what, times) = item.split_once('*').unwrap_or((item, "1"));
        let (what, refusal) = optional(what, '!', "refusal", &Refusal::NAMES)?;
        let (what, key) = optional(what, '@', "key", &KeyKind::NAMES)?;
        let (name, size) = what.split_once(':').unwrap_or((what, ""));
        let kind = named(name, "operation", &Kind::NAMES)?;
        let size = if kind.is_atomic() || kind == Kind::AtomicWrite { 8 } else { number(size)? };
        for _ in 0..number(times)? {
            operations.push(Operation { number: operations.len(), kind, size, offset, key, refusal });
            offset = size
                .checked_next_multiple_of(8)
                .and_then(|size| offset.checked_add(size + 8))
                .unwrap_or(LARGEST + 1);
            if offset > LARGEST {
                return Err(format!("{list:?} needs more than {LARGEST} bytes"));
            }
        }
    }
    check(&operations)?;
    Ok((operations, offset))
}

/// What a list must be for each byte to have one right value at the end.
fn check(operations: &[Operation]) -> Result<(), String> {
    for (index, operation) in operations.iter().enumerate() {
        let Operation { kind, key, refusal, .. } = *operation;
        let before = index.checked_sub(1).and_then(|before| operations.get(before));
        let fault = if refusal.is_some() && index + 1 < operations.len() {
            "only the last one can be refused"
        } else if refusal == Some(Refusal::Ended)
            && before.is_none_or(|before| before.kind != Kind::SendWithInv)
        {
            "there is no SEND_WITH_INV before it"
        } else if (key == Some(KeyKind::Fast)) && kind != Kind::SendWithInv {
            "only SEND_WITH_INV can name a fast-registered key"
        } else if kind == Kind::SendWithInv && (key.is_none() || refusal.is_some()) {
            "SEND_WITH_INV needs a key that it can end"
        } else if matches!(
            refusal,
            Some(Refusal::Beyond | Refusal::Right | Refusal::Stranger | Refusal::Unbound)
        ) && key.is_none()
        {
            "such a refusal needs a window"
        } else {
            continue;
        };
        return Err(format!("operation {index}, {kind:?}: {fault}"));
    }
    Ok(())
}

/// What follows `mark`, if that is there.
fn optional<'t, T: Copy>(
    text: &'t str,
    mark: char,
    what: &str,
    names: &[(T, &str)],
) -> Result<(&'t str, Option<T>), String> {
    match text.split_once(mark) {
        None => Ok((text, None)),
        Some((text, name)) => Ok((text, Some(named(name, what, names)?))),
    }
}

fn named<T: Copy>(name: &str, what: &str, names: &[(T, &str)]) -> Result<T, String> {
    let found = names.iter().find(|(_, known)| *known == name);
    found.map(|(value, _)| *value).ok_or_else(|| format!("there is no {what} {name:?}"))
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
    fn an_operation_may_have_a_key_and_the_last_one_a_refusal() {
        let (operations, _) = operations("ATOMIC_WRITE@1*2,SEND_WITH_INV:33@F,READ:5!ended").unwrap();
        let (keys, refusals): (Vec<_>, Vec<_>) = operations.iter().map(|op| (op.key, op.refusal)).unzip();
        assert_eq!(keys, [Some(KeyKind::Type1), Some(KeyKind::Type1), Some(KeyKind::Fast), None]);
        assert_eq!(refusals, [None, None, None, Some(Refusal::Ended)]);
    }

    #[test]
    fn a_list_that_is_wrong_is_refused() {
        for list in [
            "",
            "PUT:3",
            "WRITE",
            "WRITE:x",
            "WRITE:1*x",
            "WRITE:99999999999",
            "WRITE:1000*99999999",
            "WRITE:3@3",
            "WRITE:3@1!why",
            "WRITE:3!beyond",
            "WRITE:3@1!beyond,WRITE:3",
            "WRITE:3@1!beyond*2",
            "WRITE:3@F",
            "SEND_WITH_INV:3",
            "WRITE:3!ended",
        ] {
            assert!(operations(list).is_err(), "{list:?}");
        }
    }
}
