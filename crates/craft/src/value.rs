//! Values as a description has them: numbers in any base, texts, bytes in hexadecimal digits.
//!
//! TOML's integers end at 2^63 and know no width. [`Given`] reads a number or a text, whichever is more natural,
//! refuses what does not fit its field, and writes itself so that it reads the same.

use core::fmt;
use core::marker::PhantomData;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::clipped;
use rdmalab_wire::lrh::LinkNextHeader;
use rdmalab_wire::{Ecn, EthernetAddress, Gid, Msn, Opcode, PKey, Psn, QKey, Qpn, RKey, opcode};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// A value that a description gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given<T>(pub T);

/// A value in its written form.
pub enum Written {
    /// A TOML integer.
    Number(u64),
    /// A TOML string.
    Text(String),
}

/// What can stand in a description as a number or a text.
pub trait Value: Sized {
    /// What one has to write, for the error.
    const EXPECTS: &'static str;
    /// From an integer; `None` if it does not fit.
    fn from_number(number: u64) -> Option<Self>;
    /// From a text; `None` if it is none of this value's.
    fn from_text(text: &str) -> Option<Self> {
        Self::from_number(number(text)?)
    }
    /// To what reads the same.
    fn write(&self) -> Written;
}

/// A number in decimal, hexadecimal (`0x`) or binary (`0b`) digits, `_` between two of them as one likes.
pub fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match (text.strip_prefix("0x"), text.strip_prefix("0b")) {
        (Some(digits), _) => (digits, 16),
        (_, Some(digits)) => (digits, 2),
        (None, None) => (text, 10),
    };
    // Rust's own reading takes a sign, too.
    let is_fine =
        digits.split('_').all(|part| !part.is_empty() && part.bytes().all(|c| c.is_ascii_hexdigit()));
    u64::from_str_radix(&digits.replace('_', ""), radix).ok().filter(|_| is_fine)
}

impl<'de, T: Value> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads<T>(PhantomData<T>);
        impl<T: Value> Visitor<'_> for Reads<T> {
            type Value = Given<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTS)
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Given<T>, E> {
                let value = T::from_number(number);
                value.map(Given).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Given<T>, E> {
                let value = u64::try_from(number).ok().and_then(T::from_number);
                value.map(Given).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Given<T>, E> {
                let value = T::from_text(text);
                value.map(Given).ok_or_else(|| E::invalid_value(de::Unexpected::Str(&clipped(text)), &self))
            }
        }
        deserializer.deserialize_any(Reads(PhantomData))
    }
}

impl<T: Value> Serialize for Given<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.write() {
            Written::Number(number) => match i64::try_from(number) {
                Ok(number) => serializer.serialize_i64(number),
                Err(_) => serializer.serialize_str(&format!("{number:#x}")),
            },
            Written::Text(text) => serializer.serialize_str(&text),
        }
    }
}

/// A number of at most `N` bits in a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bits<const N: u32>(u8);

impl<const N: u32> Value for Bits<N> {
    const EXPECTS: &'static str = match N {
        2 => "a number of 2 bits",
        3 => "a number of 3 bits",
        4 => "a number of 4 bits",
        5 => "a number of 5 bits",
        6 => "a number of 6 bits",
        _ => "a number of 7 bits",
    };
    fn from_number(number: u64) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| *number < 1 << N).map(Bits)
    }
    fn write(&self) -> Written {
        Written::Number(self.0.into())
    }
}

impl<const N: u32> From<u8> for Bits<N> {
    fn from(byte: u8) -> Self {
        Bits(byte)
    }
}

impl<const N: u32> From<Bits<N>> for u8 {
    fn from(bits: Bits<N>) -> u8 {
        bits.0
    }
}

/// A number of at most `N` bits in more than a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wide<const N: u32>(u32);

impl<const N: u32> Value for Wide<N> {
    const EXPECTS: &'static str = match N {
        11 => "a number of 11 bits",
        12 => "a number of 12 bits",
        13 => "a number of 13 bits",
        18 => "a number of 18 bits",
        20 => "a number of 20 bits",
        _ => "a number of 24 bits",
    };
    fn from_number(number: u64) -> Option<Self> {
        u32::try_from(number).ok().filter(|number| *number < 1 << N).map(Wide)
    }
    fn write(&self) -> Written {
        Written::Number(self.0.into())
    }
}

impl<const N: u32> From<u32> for Wide<N> {
    fn from(number: u32) -> Self {
        Wide(number)
    }
}

impl<const N: u32> From<u16> for Wide<N> {
    fn from(number: u16) -> Self {
        Wide(number.into())
    }
}

impl<const N: u32> From<Wide<N>> for u32 {
    fn from(number: Wide<N>) -> u32 {
        number.0
    }
}

/// Only for widths of at most 16 bits.
impl<const N: u32> From<Wide<N>> for u16 {
    fn from(number: Wide<N>) -> u16 {
        number.0 as u16
    }
}

/// Integers and the numbers of the transport.
macro_rules! numbers {
    ($($type:ty, $integer:ty, $expects:literal, $make:expr, $number:expr, $hex:literal;)+) => {$(
        impl Value for $type {
            const EXPECTS: &'static str = $expects;
            fn from_number(number: u64) -> Option<Self> {
                let number = <$integer>::try_from(number).ok()?;
                let make: fn($integer) -> Option<Self> = $make;
                make(number)
            }
            fn write(&self) -> Written {
                let number: fn(&Self) -> u64 = $number;
                if $hex { Written::Text(format!("{:#x}", number(self))) } else { Written::Number(number(self)) }
            }
        }
    )+};
}

/// The number, if it has no more than 24 bits.
fn narrow(number: u32) -> Option<u32> {
    (number < 1 << 24).then_some(number)
}

numbers! {
    u8, u8, "a number of 8 bits", Some, |n| (*n).into(), false;
    u16, u16, "a number of 16 bits", Some, |n| (*n).into(), false;
    u32, u32, "a number of 32 bits", Some, |n| (*n).into(), false;
    u64, u64, "a number of 64 bits, those from 2^63 in quotes", Some, |n| *n, true;
    Psn, u32, "a number of 24 bits", |n| narrow(n).map(Psn::new), |n| n.value().into(), false;
    Msn, u32, "a number of 24 bits", |n| narrow(n).map(Msn::new), |n| n.value().into(), false;
    Qpn, u32, "a number of 24 bits", |n| narrow(n).map(Qpn::new), |n| n.value().into(), true;
    PKey, u16, "a number of 16 bits", |n| Some(PKey::new(n)), |n| n.value().into(), true;
    QKey, u32, "a number of 32 bits", |n| Some(QKey::new(n)), |n| n.value().into(), true;
    RKey, u32, "a number of 32 bits", |n| Some(RKey::new(n)), |n| n.value().into(), true;
}

impl Value for Opcode {
    const EXPECTS: &'static str = "an opcode, as \"RC_SEND_ONLY\" or a number of 8 bits";
    fn from_number(number: u64) -> Option<Self> {
        u8::try_from(number).ok().map(Opcode)
    }
    fn from_text(text: &str) -> Option<Self> {
        if let Some(number) = number(text) {
            return Self::from_number(number);
        }
        let row = (0..=u8::MAX).filter_map(opcode::row).find(|row| Opcode(row.opcode).to_string() == text)?;
        Some(Opcode(row.opcode))
    }
    fn write(&self) -> Written {
        match self.row() {
            Some(_) => Written::Text(self.to_string()),
            None => Written::Number(self.0.into()),
        }
    }
}

/// A value that only has names or texts.
macro_rules! texts {
    ($($type:ty, $expects:literal, $read:expr, $write:expr;)+) => {$(
        impl Value for $type {
            const EXPECTS: &'static str = $expects;
            fn from_number(_: u64) -> Option<Self> {
                None
            }
            fn from_text(text: &str) -> Option<Self> {
                let read: fn(&str) -> Option<Self> = $read;
                read(text)
            }
            fn write(&self) -> Written {
                let write: fn(&Self) -> String = $write;
                Written::Text(write(self))
            }
        }
    )+};
}

texts! {
    Ipv4Addr, "an IPv4 address in quotes", |t| t.parse().ok(), |a| a.to_string();
    Ipv6Addr, "an IPv6 address in quotes", |t| t.parse().ok(), |a| a.to_string();
    IpAddr, "an IP address in quotes", |t| t.parse().ok(), |a| a.to_string();
    Gid, "a GID in quotes, written as an IPv6 or IPv4 address",
        |t| t.parse::<IpAddr>().ok().map(Gid::from), |g| Ipv6Addr::from_octets(g.0).to_string();
    EthernetAddress, "an Ethernet address, as \"02:00:00:00:00:01\"", ethernet_address, |a| a.to_string();
    Ecn, "one of \"not-ect\", \"ect1\", \"ect0\", \"ce\"", ecn, |e| match e {
        Ecn::NotEct => "not-ect",
        Ecn::Ect1 => "ect1",
        Ecn::Ect0 => "ect0",
        Ecn::Ce => "ce",
    }.to_owned();
    LinkNextHeader, "one of \"raw\", \"raw IPv6\", \"local\", \"global\"",
        |t| (0..4).map(LinkNextHeader::from_bits).find(|header| header.to_string() == t), |h| h.to_string();
}

fn ecn(text: &str) -> Option<Ecn> {
    (0..4)
        .map(Ecn::from_bits)
        .find(|ecn| matches!(Given(*ecn).0.write(), Written::Text(name) if name == text))
}

fn ethernet_address(text: &str) -> Option<EthernetAddress> {
    let mut bytes = [0; 6];
    let mut parts = text.split(':');
    for byte in &mut bytes {
        let part = parts.next().filter(|part| part.bytes().all(|c| c.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(EthernetAddress(bytes))
}

/// Bytes in hexadecimal digits, with spaces, colons and line ends between them as one likes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Value for Bytes {
    const EXPECTS: &'static str = "bytes in hexadecimal digits, two of them a byte, as \"00 1f ab\"";
    fn from_number(_: u64) -> Option<Self> {
        None
    }
    fn from_text(text: &str) -> Option<Self> {
        let mut bytes = Vec::with_capacity(text.len() / 2);
        let mut high = None;
        for c in text.bytes().filter(|c| !c.is_ascii_whitespace() && *c != b':') {
            let digit = char::from(c).to_digit(16)? as u8;
            match high.take() {
                None => high = Some(digit),
                Some(high) => bytes.push(high << 4 | digit),
            }
        }
        high.is_none().then_some(Bytes(bytes))
    }
    fn write(&self) -> Written {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
        Written::Text(digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect())
    }
}

/// A time in nanoseconds; written in seconds, as `"1700000000.123456789"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub u64);

impl Value for Time {
    const EXPECTS: &'static str = "a time, nanoseconds or \"SECONDS.FRACTION\"";
    fn from_number(number: u64) -> Option<Self> {
        Some(Time(number))
    }
    fn from_text(text: &str) -> Option<Self> {
        let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let mut digits = seconds.bytes().chain(fraction.bytes());
        let is_fine = fraction.len() <= 9 && digits.all(|digit| digit.is_ascii_digit());
        let nanoseconds: u64 = format!("{fraction:0<9}").parse().ok().filter(|_| is_fine)?;
        seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanoseconds).map(Time)
    }
    fn write(&self) -> Written {
        Written::Text(format!("{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written reads the same.
    fn again<T: Value>(value: &T) -> Option<T> {
        match value.write() {
            Written::Number(number) => T::from_number(number),
            Written::Text(text) => T::from_text(&text),
        }
    }

    #[test]
    fn values_read_as_they_are_written() {
        assert_eq!(again(&u64::MAX), Some(u64::MAX));
        assert_eq!(again(&Time(1_700_000_000_000_000_001)), Some(Time(1_700_000_000_000_000_001)));
        assert_eq!(again(&Bytes(vec![0, 0x1f, 0xff])), Some(Bytes(vec![0, 0x1f, 0xff])));
        assert_eq!(again(&EthernetAddress::BROADCAST), Some(EthernetAddress::BROADCAST));
        for opcode in (0..=u8::MAX).map(Opcode) {
            assert_eq!(again(&opcode), Some(opcode));
        }
        for ecn in (0..4).map(Ecn::from_bits) {
            assert_eq!(again(&ecn), Some(ecn));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(Bits::<2>::from_number(4), None);
        assert_eq!(Wide::<20>::from_number(1 << 20), None);
        assert_eq!(Psn::from_number(1 << 24), None);
        assert_eq!(u8::from_text("0x100"), None);
        for text in ["1.0000000001", "1.x", "-1", "18446744074.0", "1.-1", "+5.5", "+5", ".5"] {
            assert_eq!(Time::from_text(text), None, "{text}");
        }
        for text in ["0", "0g", "\u{e9}\u{e9}"] {
            assert_eq!(Bytes::from_text(text), None, "{text}");
        }
        for text in ["", "1:2:3:4:5", "1:2:3:4:5:6:7", "1:2:3:4:5:+6", "100:2:3:4:5:6"] {
            assert_eq!(ethernet_address(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_have_bases_and_underscores() {
        assert_eq!(number("0xff_ff"), Some(0xffff));
        assert_eq!(number("0b101"), Some(5));
        assert_eq!(number("1_000"), Some(1000));
        for text in ["0x", "", "+5", "0x+5", "0b+1", "_5_", "5_", "0x_5", "1__0", "-1", "0b2", "a"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(Time::from_text("1.5"), Some(Time(1_500_000_000)));
    }
}
