//! Numbers for the page: columns of variable length, seven bits a byte, the lowest first; and bytes as text.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;

/// How hard is packed: more takes twice as long for a hundredth.
const LEVEL: Compression = Compression::new(6);

/// A column of numbers.
#[derive(Debug, Default)]
pub(crate) struct Column(Vec<u8>);

impl Column {
    pub(crate) fn push(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 & 0x7f | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Numbers near zero are short, whatever their sign.
pub(crate) fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

/// Bytes packed.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::with_capacity(bytes.len() / 2), LEVEL);
    // A vector takes everything.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// Writes bytes as text in which nothing can be markup.
pub(crate) fn write_base64(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    // A multiple of three, so that nothing need be filled up in between.
    bytes.chunks(48 * 1024).try_for_each(|chunk| out.write_all(STANDARD.encode(chunk).as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_as_many_bytes_as_they_need() {
        let mut column = Column::default();
        for number in [0, 127, 128, u64::MAX] {
            column.push(number);
        }
        assert_eq!(column.bytes()[..4], [0, 127, 128, 1]);
        assert_eq!(column.bytes().len(), 4 + 10);
        assert_eq!([0, -1, 1, -64, i64::MIN].map(zigzag), [0, 1, 2, 127, u64::MAX]);
    }
}
