//! The options at the end of pcapng blocks (draft-ietf-opsawg-pcapng, "Options").
//!
//! ```text
//! offset  bits  name
//!      0    16  code, 0 ends the list
//!      2    16  length of the value, without the pad
//!      4     *  value, padded with 0..3 bytes to a multiple of four
//! ```

use std::borrow::Cow;

/// Ends the list of options.
pub(crate) const END: u16 = 0;
/// A comment, UTF-8, in any block.
pub(crate) const COMMENT: u16 = 1;
/// Name of the interface, in an interface description.
pub(crate) const IF_NAME: u16 = 2;
/// Resolution of time stamps, in an interface description.
pub(crate) const IF_TSRESOL: u16 = 9;
/// Seconds to add to each time stamp, in an interface description.
pub(crate) const IF_TSOFFSET: u16 = 14;
/// Direction and more, in an enhanced packet.
pub(crate) const EPB_FLAGS: u16 = 2;
/// Name of the program that wrote the file, in a section header.
pub(crate) const SHB_USERAPPL: u16 = 4;

/// Iterates over options as long as they are whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    rest: &'a [u8],
    big_endian: bool,
}

impl<'a> Options<'a> {
    pub(crate) fn new(bytes: &'a [u8], big_endian: bool) -> Self {
        Options { rest: bytes, big_endian }
    }

    /// What is left. After the last option: empty unless the list is damaged there.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let ([c0, c1, l0, l1], value) = self.rest.split_first_chunk::<4>()?;
        let read = if self.big_endian { u16::from_be_bytes } else { u16::from_le_bytes };
        let (code, length) = (read([*c0, *c1]), usize::from(read([*l0, *l1])));
        if code == END {
            self.rest = &[];
            return None;
        }
        let rest = value.get(length.next_multiple_of(4)..)?;
        self.rest = rest;
        Some((code, value.get(..length)?))
    }
}

/// The comments on one packet.
#[derive(Clone, Copy, Debug)]
pub struct Comments<'a>(pub(crate) Options<'a>);

impl<'a> Iterator for Comments<'a> {
    type Item = Cow<'a, str>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.find(|(code, _)| *code == COMMENT).map(|(_, value)| String::from_utf8_lossy(value))
    }
}
