//! A place in a slice from which headers are taken one after the other. It knows how far it is, so that
//! every error carries the right offset.

use crate::error::{Layer, ParseError};

#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, offset: 0 }
    }

    pub(crate) const fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `N` bytes as a header of `layer`.
    #[inline]
    pub(crate) const fn take<const N: usize>(&mut self, layer: Layer) -> Result<&'a [u8; N], ParseError> {
        match self.rest.split_first_chunk::<N>() {
            Some((header, rest)) => {
                self.rest = rest;
                self.offset += N;
                Ok(header)
            }
            None => Err(ParseError::truncated(layer, self.offset, N, self.rest.len())),
        }
    }
}

/// The last three of four bytes, as the 24-bit numbers of most headers lie.
pub(crate) const fn low24(bytes: &[u8; 4]) -> u32 {
    u32::from_be_bytes(*bytes) & 0x00ff_ffff
}

/// One byte above a 24-bit number.
pub(crate) const fn byte_and_24(byte: u8, number: u32) -> [u8; 4] {
    ((byte as u32) << 24 | (number & 0x00ff_ffff)).to_be_bytes()
}
