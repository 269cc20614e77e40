//! Application memory, as the engines see it: a row of bytes reached by copying calls.
//!
//! No slice of application memory is ever lent out, since other threads may be changing it. Bytes land in increasing
//! order, because programs spin on the last byte of a WRITE.

mod heap;
mod raw;

pub use heap::HeapMemory;
pub use raw::RawMemory;

/// An atomic operation on eight aligned bytes, a number in the host's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic64 {
    /// Replaces the value by `swap` if it equals `compare`.
    CompareAndSwap {
        /// What the value must be.
        compare: u64,
        /// What it becomes.
        swap: u64,
    },
    /// Adds, wrapping at 2^64.
    FetchAndAdd {
        /// What is added.
        add: u64,
    },
    /// Replaces the value whatever it is; what an ATOMIC WRITE does.
    Swap {
        /// What it becomes.
        value: u64,
    },
    /// Replaces some bits of the value if some equal those of `compare` (RFC 7306 §5.1.2).
    MaskedCompareAndSwap {
        /// What the value must be.
        compare: u64,
        /// In these bits.
        compare_mask: u64,
        /// What it becomes.
        swap: u64,
        /// In these bits; the others stay.
        swap_mask: u64,
    },
    /// Adds to several numbers side by side, each wrapping by itself (RFC 7306 §5.1.1).
    MaskedFetchAndAdd {
        /// What is added.
        add: u64,
        /// The highest bit of each number, behind which no carry goes on.
        boundary: u64,
    },
}

impl Atomic64 {
    /// What a value becomes.
    pub fn apply(self, value: u64) -> u64 {
        match self {
            Self::CompareAndSwap { compare, swap } if value == compare => swap,
            Self::CompareAndSwap { .. } => value,
            Self::FetchAndAdd { add } => value.wrapping_add(add),
            Self::Swap { value } => value,
            Self::MaskedCompareAndSwap { compare, compare_mask, swap, swap_mask } => {
                if (value ^ compare) & compare_mask == 0 {
                    value & !swap_mask | swap & swap_mask
                } else {
                    value
                }
            }
            // Without the highest bit of each number no carry can leave it; that bit is added without its carry.
            Self::MaskedFetchAndAdd { add, boundary } => {
                (value & !boundary).wrapping_add(add & !boundary) ^ (value ^ add) & boundary
            }
        }
    }
}

/// An access reached beyond the memory, or an atomic access was not aligned to eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFault;

impl core::fmt::Display for MemoryFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("beyond the end of the memory, or not aligned to eight bytes")
    }
}

impl core::error::Error for MemoryFault {}

/// A row of bytes that the application and the device share.
///
/// Offsets count bytes from the start. Every call checks its bounds; none panics.
pub trait Memory: Send + Sync + core::fmt::Debug {
    /// Size in bytes; never changes.
    fn length(&self) -> usize;

    /// Copies `out.len()` bytes from `offset` on.
    fn read(&self, offset: usize, out: &mut [u8]) -> Result<(), MemoryFault>;

    /// Copies `data` to `offset`, lower addresses first.
    fn write(&self, offset: usize, data: &[u8]) -> Result<(), MemoryFault>;

    /// Runs an atomic operation at `offset` and returns the value found before it.
    fn atomic64(&self, offset: usize, operation: Atomic64) -> Result<u64, MemoryFault>;
}

/// Runs `operation` on a cell. Shared by every kind of memory, so that they cannot differ.
fn apply(cell: &core::sync::atomic::AtomicU64, operation: Atomic64) -> u64 {
    use core::sync::atomic::Ordering::AcqRel;
    use core::sync::atomic::Ordering::Acquire;
    match operation {
        Atomic64::CompareAndSwap { compare, swap } => {
            cell.compare_exchange(compare, swap, AcqRel, Acquire).unwrap_or_else(|found| found)
        }
        Atomic64::FetchAndAdd { add } => cell.fetch_add(add, AcqRel),
        Atomic64::Swap { value } => cell.swap(value, AcqRel),
        Atomic64::MaskedCompareAndSwap { .. } | Atomic64::MaskedFetchAndAdd { .. } => cell
            .fetch_update(AcqRel, Acquire, |value| Some(operation.apply(value)))
            .unwrap_or_else(|found| found),
    }
}

/// The part of `length` that an access touches, if it lies inside.
fn bounds(length: usize, offset: usize, size: usize) -> Result<core::ops::Range<usize>, MemoryFault> {
    let end = offset.checked_add(size).ok_or(MemoryFault)?;
    if end <= length { Ok(offset..end) } else { Err(MemoryFault) }
}
