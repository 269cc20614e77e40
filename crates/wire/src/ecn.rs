//! Explicit congestion notification: the low two bits of IPv4's type of service and of IPv6's traffic class
//! (RFC 3168 §5).

/// The two ECN bits, by RFC 3168's names; the discriminant is the code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// Not-ECT: the sender does not understand ECN.
    #[default]
    NotEct = 0b00,
    /// ECT(1).
    Ect1 = 0b01,
    /// ECT(0), what RoCE senders set.
    Ect0 = 0b10,
    /// Congestion experienced: set by a switch.
    Ce = 0b11,
}

impl Ecn {
    /// The code point in the low two bits of `bits`.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Ecn::NotEct,
            0b01 => Ecn::Ect1,
            0b10 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// The code point, 0 to 3.
    #[inline]
    pub const fn bits(self) -> u8 {
        self as u8
    }
}
