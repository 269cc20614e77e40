//! The numbers of the transport, each its own type so that a sequence number cannot be handed over where a
//! queue pair number is meant.
//!
//! Packet and message sequence numbers have 24 bits and wrap; they have no order, only a
//! [distance](Psn::distance). A value outside 24 bits cannot be held: `new` masks.

use core::fmt;

const MASK_24: u32 = 0x00ff_ffff;

/// Signed difference of two 24-bit numbers, in `[-2^23, 2^23)`.
const fn distance_24(later: u32, earlier: u32) -> i32 {
    // Shifting the 24 bits to the top and back extends their sign.
    ((later.wrapping_sub(earlier) << 8) as i32) >> 8
}

/// Packet sequence number: 24 bits, wrapping.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Psn(u32);

impl Psn {
    /// The low 24 bits of `value`.
    pub const fn new(value: u32) -> Self {
        Psn(value & MASK_24)
    }

    /// The number, below 2^24.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The number `n` packets later.
    #[must_use]
    pub const fn add(self, n: u32) -> Self {
        Psn(self.0.wrapping_add(n) & MASK_24)
    }

    /// The number `n` packets earlier.
    #[must_use]
    pub const fn sub(self, n: u32) -> Self {
        Psn(self.0.wrapping_sub(n) & MASK_24)
    }

    /// The number of the next packet.
    #[must_use]
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// How many packets this one is behind `earlier`, in `[-2^23, 2^23)`; negative if it is in front of it.
    /// A difference of exactly 2^23 counts as in front: half of all numbers are duplicates, as the
    /// specification's duplicate region has it.
    pub const fn distance(self, earlier: Psn) -> i32 {
        distance_24(self.0, earlier.0)
    }
}

/// Message sequence number: 24 bits, wrapping; counts the request messages a responder has completed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Msn(u32);

impl Msn {
    /// The low 24 bits of `value`.
    pub const fn new(value: u32) -> Self {
        Msn(value & MASK_24)
    }

    /// The number, below 2^24.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The number `n` messages later.
    #[must_use]
    pub const fn add(self, n: u32) -> Self {
        Msn(self.0.wrapping_add(n) & MASK_24)
    }

    /// The number of the next message.
    #[must_use]
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// How many messages this one is behind `earlier`, in `[-2^23, 2^23)`.
    pub const fn distance(self, earlier: Msn) -> i32 {
        distance_24(self.0, earlier.0)
    }
}

/// Queue pair number: 24 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Qpn(u32);

impl Qpn {
    /// The subnet management interface.
    pub const SMI: Qpn = Qpn(0);
    /// The general services interface, over which connections are managed.
    pub const GSI: Qpn = Qpn(1);
    /// The destination of multicast datagrams.
    pub const MULTICAST: Qpn = Qpn(MASK_24);

    /// The low 24 bits of `value`.
    pub const fn new(value: u32) -> Self {
        Qpn(value & MASK_24)
    }

    /// The number, below 2^24.
    pub const fn value(self) -> u32 {
        self.0
    }
}

/// Partition key: 15 bits that name the partition and, on top, the membership bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PKey(u16);

impl PKey {
    /// The default partition with full membership, the only one most RoCE networks know.
    pub const DEFAULT: PKey = PKey(0xffff);

    /// A key of these 16 bits.
    pub const fn new(value: u16) -> Self {
        PKey(value)
    }

    /// All 16 bits.
    pub const fn value(self) -> u16 {
        self.0
    }

    /// Whether the membership bit is set. Two limited members of a partition may not talk to each other.
    pub const fn is_full_member(self) -> bool {
        self.0 & 0x8000 != 0
    }

    /// The low 15 bits, which must be equal for two keys to match.
    pub const fn partition(self) -> u16 {
        self.0 & 0x7fff
    }
}

impl Default for PKey {
    fn default() -> Self {
        PKey::DEFAULT
    }
}

/// Queue key of a datagram queue pair: 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct QKey(u32);

impl QKey {
    /// The well-known key of the general services interface.
    pub const GSI: QKey = QKey(0x8001_0000);

    /// A key of these 32 bits.
    pub const fn new(value: u32) -> Self {
        QKey(value)
    }

    /// All 32 bits.
    pub const fn value(self) -> u32 {
        self.0
    }
}

/// Key by which a peer names a memory region or window: 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RKey(u32);

impl RKey {
    /// A key of these 32 bits.
    pub const fn new(value: u32) -> Self {
        RKey(value)
    }

    /// All 32 bits.
    pub const fn value(self) -> u32 {
        self.0
    }
}

/// Display and Debug of a number, and the ways to and from its integer.
macro_rules! number {
    ($name:ident, $integer:ty, $format:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "(", $format, ")"), self.0)
            }
        }

        impl From<$name> for $integer {
            fn from(number: $name) -> $integer {
                number.0
            }
        }
    };
}

number!(Psn, u32, "{}");
number!(Msn, u32, "{}");
number!(Qpn, u32, "0x{:06x}");
number!(PKey, u16, "0x{:04x}");
number!(QKey, u32, "0x{:08x}");
number!(RKey, u32, "{:#x}");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psn_wraps_after_24_bits() {
        assert_eq!(Psn::new(0xff_ffff).next(), Psn::new(0));
        assert_eq!(Psn::new(0).sub(1), Psn::new(0xff_ffff));
        assert_eq!(Psn::new(5).add(u32::MAX), Psn::new(4));
        assert_eq!(Psn::new(0x0123_4567).value(), 0x23_4567);
        assert_eq!(Msn::new(0xff_ffff).next(), Msn::new(0));
    }

    #[test]
    fn psn_distance_is_signed_and_wraps() {
        assert_eq!(Psn::new(3).distance(Psn::new(1)), 2);
        assert_eq!(Psn::new(1).distance(Psn::new(3)), -2);
        assert_eq!(Psn::new(1).distance(Psn::new(0xff_ffff)), 2);
        assert_eq!(Psn::new(0xff_ffff).distance(Psn::new(1)), -2);
        assert_eq!(Psn::new(0x7f_ffff).distance(Psn::new(0)), 0x7f_ffff);
        assert_eq!(Psn::new(0x80_0000).distance(Psn::new(0)), -0x80_0000);
    }

    #[test]
    fn partition_key_splits_into_membership_and_partition() {
        assert!(PKey::DEFAULT.is_full_member());
        assert!(!PKey::new(0x7fff).is_full_member());
        assert_eq!(PKey::DEFAULT.partition(), PKey::new(0x7fff).partition());
    }
}
