//! What a pcapng section says of one interface, and how its time stamps are to be read.

use super::Order;
use super::options::{IF_NAME, IF_TSOFFSET, IF_TSRESOL, Options};
use crate::record::LinkType;

const NANOSECONDS: u64 = 1_000_000_000;
/// Longer names are kept this far, in bytes: a file must not fill our memory with names.
const LONGEST_NAME: usize = 255;

#[derive(Clone, Debug)]
pub(super) struct Interface {
    pub(super) link_type: LinkType,
    /// Longest packet that is captured, in bytes; 0 for no limit.
    pub(super) snap_length: u32,
    pub(super) name: Option<Box<str>>,
    pub(super) clock: Clock,
}

/// Unit of a time stamp, and what to add.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    unit: Unit,
    offset_nanoseconds: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// So many nanoseconds.
    Times(u64),
    /// A nanosecond divided by this.
    Divided(u128),
    /// A second divided by this power of two.
    SecondShifted(u8),
}

impl Interface {
    pub(super) fn new(link_type: LinkType, snap_length: u32, order: Order, options: Options<'_>) -> Self {
        let mut interface = Interface { link_type, snap_length, name: None, clock: Clock::MICROSECONDS };
        for (code, value) in options {
            match code {
                IF_NAME => interface.name = Some(name(value)),
                IF_TSRESOL => {
                    if let Some(&resolution) = value.first() {
                        interface.clock.unit = Unit::new(resolution);
                    }
                }
                IF_TSOFFSET => {
                    if let Ok(bytes) = <[u8; 8]>::try_from(value) {
                        let seconds = match order {
                            Order::Big => i64::from_be_bytes(bytes),
                            Order::Little => i64::from_le_bytes(bytes),
                        };
                        interface.clock.offset_nanoseconds = i128::from(seconds) * i128::from(NANOSECONDS);
                    }
                }
                _ => {}
            }
        }
        interface
    }
}

fn name(value: &[u8]) -> Box<str> {
    // Some programs count a terminating zero.
    let value = value.strip_suffix(&[0]).unwrap_or(value);
    String::from_utf8_lossy(value.get(..LONGEST_NAME).unwrap_or(value)).into()
}

impl Unit {
    /// From the option: a negative power of ten, or of two if the top bit is set.
    fn new(resolution: u8) -> Unit {
        let exponent = resolution & 0x7f;
        if resolution & 0x80 != 0 {
            return Unit::SecondShifted(exponent);
        }
        match exponent {
            0..=9 => Unit::Times(10u64.pow(9 - u32::from(exponent))),
            // Beyond 38 no stamp of 64 bits reaches a nanosecond: as good as any large divisor.
            _ => Unit::Divided(10u128.pow(u32::from(exponent - 9).min(38))),
        }
    }
}

impl Clock {
    /// What holds where the file does not say.
    pub(super) const MICROSECONDS: Clock = Clock { unit: Unit::Times(1_000), offset_nanoseconds: 0 };
    pub(super) const NANOSECONDS: Clock = Clock { unit: Unit::Times(1), offset_nanoseconds: 0 };

    /// Nanoseconds since 1970, rounded down.
    #[inline]
    pub(super) fn nanoseconds(&self, stamp: u64) -> i128 {
        let stamp = u128::from(stamp);
        let nanoseconds = match self.unit {
            Unit::Times(nanoseconds) => stamp * u128::from(nanoseconds),
            Unit::Divided(divisor) => stamp / divisor,
            Unit::SecondShifted(bits) => (stamp * u128::from(NANOSECONDS)) >> bits,
        };
        // Below 2^94, as is the offset's size.
        nanoseconds as i128 + self.offset_nanoseconds
    }

    pub(super) fn finer_than_microseconds(&self) -> bool {
        match self.unit {
            Unit::Times(nanoseconds) => nanoseconds < 1_000,
            Unit::Divided(_) => true,
            Unit::SecondShifted(bits) => bits >= 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(options: &[u8], order: Order) -> Clock {
        let options = Options::new(options, order == Order::Big);
        Interface::new(LinkType::ETHERNET, 0, order, options).clock
    }

    #[test]
    fn resolution_is_a_power_of_ten_or_of_two() {
        let of = |resolution| clock(&[9, 0, 1, 0, resolution, 0, 0, 0], Order::Little);
        assert_eq!(of(0).nanoseconds(7), 7_000_000_000);
        assert_eq!(of(3).nanoseconds(7), 7_000_000);
        assert_eq!(of(6), Clock::MICROSECONDS);
        assert_eq!(of(9).nanoseconds(u64::MAX), i128::from(u64::MAX));
        assert_eq!(of(12).nanoseconds(7_999), 7);
        assert_eq!(of(0x80 | 10).nanoseconds(1536), 1_500_000_000);
        assert_eq!(of(0x80 | 30).nanoseconds(1 << 29), 500_000_000);
        for resolution in 0..=255 {
            // Extremes neither overflow nor divide by zero.
            of(resolution).nanoseconds(u64::MAX);
        }
    }

    #[test]
    fn offset_is_in_seconds_signed_and_in_the_section_s_byte_order() {
        let mut little = vec![14, 0, 8, 0];
        little.extend((-3i64).to_le_bytes());
        assert_eq!(clock(&little, Order::Little).nanoseconds(1_000_000), -2_000_000_000);
        let mut big = vec![0, 14, 0, 8];
        big.extend(1_000i64.to_be_bytes());
        assert_eq!(clock(&big, Order::Big).nanoseconds(5), 1_000_000_005_000);
    }

    #[test]
    fn a_long_name_is_kept_in_part() {
        let mut options = vec![2, 0, 0, 4];
        options.extend([b'x'; 1024]);
        let options = Options::new(&options, false);
        let interface = Interface::new(LinkType::ETHERNET, 0, Order::Little, options);
        assert_eq!(interface.name.as_deref(), Some("x".repeat(255).as_str()));
    }
}
