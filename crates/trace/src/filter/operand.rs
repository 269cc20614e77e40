//! What a field is compared with: text that the field's own kind says how to read.

use core::cmp::Ordering;
use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::fields::Value;

/// A value of an expression, in all the ways it can be read.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    text: String,
    number: Option<u64>,
    nanoseconds: Option<i128>,
    bytes: Option<Vec<u8>>,
    ipv4: Option<Ipv4Addr>,
    ipv6: Option<Ipv6Addr>,
}

impl Operand {
    pub(super) fn new(text: String) -> Operand {
        Operand {
            number: number(&text),
            nanoseconds: nanoseconds(&text),
            bytes: bytes(&text),
            ipv4: text.parse().ok(),
            ipv6: text.parse().ok(),
            text,
        }
    }

    /// How a field's value stands to this one; None if they are not of one kind.
    pub(super) fn compared_with(&self, value: &Value<'_>) -> Option<Ordering> {
        Some(match *value {
            Value::Number(value) | Value::Wide(value) | Value::Hex(value, _) => value.cmp(&self.number?),
            Value::Flag(value) => u64::from(value).cmp(&self.number?),
            Value::Time(value) => value.cmp(&self.nanoseconds?),
            Value::Ethernet(value) => value.0.as_slice().cmp(self.bytes.as_deref().filter(|b| b.len() == 6)?),
            Value::Ipv4(value) => value.cmp(&self.ipv4?),
            Value::Ipv6(value) => value.cmp(&self.ipv6?),
            Value::Bytes(value) => value.cmp(self.bytes.as_deref()?),
            Value::Text(value) => value.cmp(&self.text),
        })
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text)
    }
}

/// What to call a value.
pub(super) fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Number(_) | Value::Wide(_) | Value::Hex(..) => "a number",
        Value::Flag(_) => "a flag, 0 or 1",
        Value::Time(_) => "a number of seconds",
        Value::Ethernet(_) => "an Ethernet address",
        Value::Ipv4(_) => "an IPv4 address",
        Value::Ipv6(_) => "an IPv6 address",
        Value::Bytes(_) => "a row of bytes like 00:1f",
        Value::Text(_) => "text",
    }
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        // `from_str_radix` takes a sign.
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            u64::from_str_radix(digits, 16).ok()
        }
        Some(_) => None,
        None => text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())),
    }
}

/// Seconds, with up to nine decimals.
fn nanoseconds(text: &str) -> Option<i128> {
    let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
    let (whole, decimals) = size.split_once('.').unwrap_or((size, ""));
    let whole: u64 = number(whole)?;
    if decimals.len() > 9 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let decimals: i128 = format!("{decimals:0<9}").parse().ok()?;
    Some(sign * (i128::from(whole) * 1_000_000_000 + decimals))
}

/// Two hexadecimal digits for each byte, colons between.
fn bytes(text: &str) -> Option<Vec<u8>> {
    text.split(':')
        .map(|byte| match byte.as_bytes() {
            [a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => u8::from_str_radix(byte, 16).ok(),
            _ => None,
        })
        .collect()
}
