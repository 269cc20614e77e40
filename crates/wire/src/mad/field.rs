//! The fields of MADs as data: where each lies, what it is called here and in Wireshark, and how Wireshark
//! writes its value. What prints trees or JSON walks these tables and needs to know no message.
//!
//! The structs are what programs compute with; that they and the tables agree is tested. A field that
//! Wireshark 4.0 does not name has a name of ours in its style.

use core::fmt;
use core::net::Ipv6Addr;

/// One field of a header or message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Byte of its first bit, from the start of the header or message.
    pub byte: usize,
    /// Place of its first bit in that byte, 0 the most significant.
    pub bit: usize,
    /// Width in bits.
    pub bits: usize,
    /// Name of the struct's field, with the part it belongs to in front: `primary.local_lid`.
    pub name: &'static str,
    /// Wireshark's name of it, or one in its style.
    pub wireshark: &'static str,
    /// Whether the name is Wireshark's.
    pub known_to_wireshark: bool,
    /// How Wireshark writes the value.
    pub form: Form,
}

/// How Wireshark writes a value in its JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `0x` and at least so many digits.
    Hexadecimal(usize),
    /// A decimal number.
    Decimal,
    /// Two digits a byte, colons between them.
    Bytes,
    /// An IPv4 address, four bytes.
    Ipv4,
    /// An IPv6 address, 16 bytes.
    Ipv6,
    /// A GID: an IPv6 address, or under this other name the IPv4 address that is mapped into it. (Wireshark
    /// asks the packet's IP header which of them it is; on RoCE v2 that is the same.)
    Gid(&'static str),
}

impl Field {
    /// A number of at most 64 bits, written with the digits of its whole bytes (24 bits and 64 bits: 6, 16).
    pub(super) const fn number(
        byte: usize,
        bit: usize,
        bits: usize,
        name: &'static str,
        wireshark: &'static str,
    ) -> Self {
        let form = Form::Hexadecimal(bits.div_ceil(8) * 2);
        Field { byte, bit, bits, name, wireshark, known_to_wireshark: true, form }
    }

    /// Whole bytes, written as such.
    pub(super) const fn bytes(
        byte: usize,
        length: usize,
        name: &'static str,
        wireshark: &'static str,
    ) -> Self {
        Field { form: Form::Bytes, ..Field::number(byte, 0, length * 8, name, wireshark) }
    }

    /// The same field written otherwise.
    pub(super) const fn written(self, form: Form) -> Self {
        Field { form, ..self }
    }

    /// The same field with a name that is not Wireshark's.
    pub(super) const fn ours(self) -> Self {
        Field { known_to_wireshark: false, ..self }
    }

    /// The value as a number; `None` if it has more than 64 bits or lies outside `bytes`.
    pub fn value(&self, bytes: &[u8]) -> Option<u64> {
        let end = self.bit.checked_add(self.bits)?;
        if self.bits > 64 || self.bit > 7 {
            return None;
        }
        let whole = bytes.get(self.byte..)?.get(..end.div_ceil(8))?;
        let number = whole.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        let behind = whole.len() * 8 - end;
        Some((number >> behind & ((1 << self.bits) - 1)) as u64)
    }

    /// The bytes the field touches; `None` if it lies outside `bytes`.
    pub fn slice<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        bytes.get(self.byte..)?.get(..self.bit.checked_add(self.bits)?.div_ceil(8))
    }

    /// Name and value as Wireshark has them; `None` if the field lies outside `bytes`, which are the header
    /// or message that the field belongs to.
    pub fn text<'a>(&self, bytes: &'a [u8]) -> Option<(&'static str, FieldText<'a>)> {
        let slice = self.slice(bytes)?;
        let text =
            |form| Some(FieldText { form, value: self.value(bytes).unwrap_or_default(), bytes: slice });
        match self.form {
            Form::Gid(ipv4_name) => match *slice {
                [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, _, _, _, _] => {
                    let mapped = slice.last_chunk::<4>()?;
                    Some((ipv4_name, FieldText { form: Form::Ipv4, value: 0, bytes: mapped }))
                }
                _ => Some((self.wireshark, text(Form::Ipv6)?)),
            },
            form => Some((self.wireshark, text(form)?)),
        }
    }
}

/// The value of a field, displayed as Wireshark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldText<'a> {
    form: Form,
    value: u64,
    bytes: &'a [u8],
}

impl fmt::Display for FieldText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.form, self.bytes) {
            (Form::Hexadecimal(digits), _) => write!(f, "0x{:0digits$x}", self.value),
            (Form::Decimal, _) => write!(f, "{}", self.value),
            (Form::Ipv4, [a, b, c, d]) => write!(f, "{a}.{b}.{c}.{d}"),
            (Form::Ipv6 | Form::Gid(_), bytes) if bytes.first_chunk::<16>().is_some() => {
                let octets = bytes.first_chunk().copied().unwrap_or_default();
                fmt::Display::fmt(&Ipv6Addr::from_octets(octets), f)
            }
            (_, bytes) => {
                for (index, byte) in bytes.iter().enumerate() {
                    let colon = if index == 0 { "" } else { ":" };
                    write!(f, "{colon}{byte:02x}")?;
                }
                Ok(())
            }
        }
    }
}

/// Fields that lie one behind the other, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldGroup {
    /// Where the offsets of the fields count from, in bytes from the start of the MAD.
    pub base: usize,
    /// The fields.
    pub fields: &'static [Field],
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    extern crate alloc;

    fn written(field: Field, bytes: &[u8]) -> (&'static str, alloc::string::String) {
        let (name, text) = field.text(bytes).unwrap();
        (name, text.to_string())
    }

    #[test]
    fn values_are_cut_out_of_their_bytes() {
        let bytes = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x0f];
        assert_eq!(Field::number(0, 0, 20, "", "").value(&bytes), Some(0x12345));
        assert_eq!(Field::number(2, 4, 6, "", "").value(&bytes), Some(0b011001));
        assert_eq!(Field::number(0, 0, 64, "", "").value(&bytes), Some(0x1234_5678_9abc_def0));
        assert_eq!(Field::number(0, 4, 64, "", "").value(&bytes), Some(0x2345_6789_abcd_ef00));
        assert_eq!(Field::number(1, 0, 65, "", "").value(&bytes), None);
        assert_eq!(Field::number(8, 1, 8, "", "").value(&bytes), None);
        assert_eq!(Field::number(usize::MAX, 0, 8, "", "").text(&bytes), None);
    }

    #[test]
    fn values_are_written_as_wireshark_does() {
        assert_eq!(written(Field::number(0, 0, 5, "", "x"), &[0xa7]), ("x", "0x14".into()));
        assert_eq!(written(Field::number(0, 0, 24, "", "x"), &[0, 0, 0x12]), ("x", "0x000012".into()));
        let lid = Field::number(0, 0, 16, "", "x").written(Form::Decimal);
        assert_eq!(written(lid, &[0xff, 0xff]), ("x", "65535".into()));
        assert_eq!(written(Field::bytes(1, 2, "", "x"), &[0, 0xab, 0]), ("x", "ab:00".into()));
        let gid = Field::bytes(0, 16, "", "v6").written(Form::Gid("v4"));
        let mut bytes = [0; 16];
        bytes[10..].copy_from_slice(&[0xff, 0xff, 10, 9, 0, 1]);
        assert_eq!(written(gid, &bytes), ("v4", "10.9.0.1".into()));
        bytes[0] = 0xfd;
        assert_eq!(written(gid, &bytes), ("v6", "fd00::ffff:a09:1".into()));
    }
}
