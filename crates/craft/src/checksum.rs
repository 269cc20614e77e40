//! Checksums of a packet: right, wrong, as given, or none at all.

use core::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::error::clipped;

/// What to write where a checksum belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// The right one.
    #[default]
    Right,
    /// The right one with all bits flipped.
    Wrong,
    /// Nothing: the packet ends before it.
    Absent,
    /// This, as its bytes are read on the wire: the first is the most significant.
    Bytes(u32),
}

impl Checksum {
    /// Writes it behind `out`, given the right one. `right` has the bytes of the wire.
    pub(crate) fn put<const N: usize>(self, right: [u8; N], out: &mut Vec<u8>) {
        match self {
            Checksum::Right => out.extend_from_slice(&right),
            Checksum::Wrong => out.extend(right.iter().map(|byte| !byte)),
            Checksum::Absent => {}
            Checksum::Bytes(number) => {
                let bytes = number.to_be_bytes();
                out.extend_from_slice(bytes.get(bytes.len().saturating_sub(N)..).unwrap_or(&bytes));
            }
        }
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads;
        impl Visitor<'_> for Reads {
            type Value = Checksum;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"right\", \"wrong\", \"absent\", or the number that its bytes on the wire are")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Checksum, E> {
                let bytes = u32::try_from(number);
                bytes
                    .map(Checksum::Bytes)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(number), &self))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Checksum, E> {
                let number = || crate::value::number(text).and_then(|number| u32::try_from(number).ok());
                match text {
                    "right" => Ok(Checksum::Right),
                    "wrong" => Ok(Checksum::Wrong),
                    "absent" => Ok(Checksum::Absent),
                    _ => number()
                        .map(Checksum::Bytes)
                        .ok_or_else(|| E::invalid_value(de::Unexpected::Str(&clipped(text)), &self)),
                }
            }
        }
        deserializer.deserialize_any(Reads)
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Checksum::Right => serializer.serialize_str("right"),
            Checksum::Wrong => serializer.serialize_str("wrong"),
            Checksum::Absent => serializer.serialize_str("absent"),
            Checksum::Bytes(number) => serializer.serialize_str(&format!("{number:#010x}")),
        }
    }
}
