//! What a packet carries: bytes, or a rule that makes them, so that a long payload takes no place in a description.

use core::fmt;

use serde::Serialize as DeriveSerialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::error::clipped;
use crate::limits::LONGEST_PACKET;
use crate::value::{Bytes, Given, Value};

/// A payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The same byte so many times.
    Fill {
        /// Length in bytes.
        length: usize,
        /// The byte.
        byte: u8,
    },
    /// Bytes that count up and wrap, so that one sees where a piece belongs.
    Count {
        /// Length in bytes.
        length: usize,
        /// The first of them.
        first: u8,
    },
}

impl Payload {
    /// None.
    pub const EMPTY: Payload = Payload::Bytes(Vec::new());

    /// Length in bytes.
    pub fn length(&self) -> usize {
        match self {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Fill { length, .. } | Payload::Count { length, .. } => *length,
        }
    }

    /// The shortest way to say these bytes.
    pub fn of(bytes: &[u8]) -> Payload {
        let length = bytes.len();
        match bytes {
            [first, rest @ ..] if length > 8 && rest.iter().all(|byte| byte == first) => {
                Payload::Fill { length, byte: *first }
            }
            [first, ..] if length > 8 && bytes.windows(2).all(|pair| pair[1] == pair[0].wrapping_add(1)) => {
                Payload::Count { length, first: *first }
            }
            _ => Payload::Bytes(bytes.to_vec()),
        }
    }

    /// Writes it behind `out`.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        match self {
            Payload::Bytes(bytes) => out.extend_from_slice(bytes),
            Payload::Fill { length, byte } => out.resize(out.len().saturating_add(*length), *byte),
            Payload::Count { length, first } => {
                out.extend((*first..=u8::MAX).chain((0..=u8::MAX).cycle()).take(*length));
            }
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reads;
        impl<'de> Visitor<'de> for Reads {
            type Value = Payload;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes in hexadecimal digits, or { length, fill }, { length, count } or { text }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Payload, E> {
                let bytes = Bytes::from_text(text);
                let bytes = bytes
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(&clipped(text)), &Bytes::EXPECTS))?;
                Ok(Payload::Bytes(bytes.0))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Payload, A::Error> {
                Rule::deserialize(MapAccessDeserializer::new(map))?.payload().map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Reads)
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rule = match self {
            Payload::Bytes(bytes) => return Given(Bytes(bytes.clone())).serialize(serializer),
            Payload::Fill { length, byte } => {
                Rule { length: Some(*length), fill: Some(*byte), ..Rule::default() }
            }
            Payload::Count { length, first } => {
                Rule { length: Some(*length), count: Some(*first), ..Rule::default() }
            }
        };
        rule.serialize(serializer)
    }
}

/// The table of a payload.
#[derive(Default, DeriveSerialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Rule {
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fill: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Rule {
    fn payload(self) -> Result<Payload, String> {
        if let Some(length) = self.length.filter(|length| *length > LONGEST_PACKET) {
            return Err(format!("payload of {length} bytes, a packet has at most {LONGEST_PACKET}"));
        }
        match (self.text, self.length, self.fill, self.count) {
            (Some(text), None, None, None) => Ok(Payload::Bytes(text.into_bytes())),
            (None, Some(length), None, count) => Ok(Payload::Count { length, first: count.unwrap_or(0) }),
            (None, Some(length), Some(byte), None) => Ok(Payload::Fill { length, byte }),
            _ => Err("a payload has a length and fill or count, or a text".to_owned()),
        }
    }
}
