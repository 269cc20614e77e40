//! pcapng files: sections of blocks (draft-ietf-opsawg-pcapng).
//!
//! ```text
//! block                                section header 0a0d0d0a        interface description 1
//! offset  bits  name                   offset  bits  name             offset  bits  name
//!      0    32  type                        8    32  byte-order mark       8    16  link type
//!      4    32  length, all of it          12    16  major version        12    32  longest packet
//!      8     *  body                       14    16  minor version        16     *  options
//!     -4    32  length again               16    64  section length
//!
//! enhanced packet 6                    simple packet 3                packet 2 (obsolete)
//! offset  bits  name                   offset  bits  name             as 6, but
//!      8    32  interface                   8    32  original length       8    16  interface
//!     12    64  time, high half first      12     *  bytes, padded        10    16  drops
//!     20    32  captured length
//!     24    32  original length
//!     28     *  bytes, padded, options
//! ```
//!
//! Other blocks are passed over. The section length is not needed, hence not believed.

use std::io::Read;
use std::ops::Range;

use super::interface::Interface;
use super::options::{EPB_FLAGS, Options};
use super::source::Source;
use super::{Found, LONGEST_BLOCK, LONGEST_PACKET, MOST_INTERFACES, Order, ReadFault};
use crate::record::{Direction, LinkType};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
/// Type, length and length again.
const AROUND: usize = 12;
/// Where the bytes of a packet begin in its block.
const PACKET_BYTES: usize = 28;
const SIMPLE_PACKET_BYTES: usize = 12;

/// What holds in the section that is being read.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) order: Order,
    pub(super) interfaces: Vec<Interface>,
}

impl Section {
    /// Whether these are the first four bytes of such a file.
    pub(super) fn recognize(magic: [u8; 4]) -> bool {
        magic == SECTION_HEADER.to_be_bytes()
    }

    pub(super) fn new() -> Section {
        Section { order: Order::Little, interfaces: Vec::new() }
    }

    #[inline]
    pub(super) fn next<R: Read>(&mut self, source: &mut Source<R>) -> Result<Option<Found>, ReadFault> {
        loop {
            if !super::need_or_end(source, AROUND, "a block header")? {
                return Ok(None);
            }
            let head = source.window();
            let kind = self.order.u32_at(head, 0);
            if kind == SECTION_HEADER {
                // The same in both orders; the mark in its body says which holds from here on.
                self.order = match head.get(8..12) {
                    Some([0x1a, 0x2b, 0x3c, 0x4d]) => Order::Big,
                    Some([0x4d, 0x3c, 0x2b, 0x1a]) => Order::Little,
                    found => {
                        let found = found.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
                        return Err(ReadFault::ByteOrder { found });
                    }
                };
            }
            let length = self.block(source)?;
            let found = match kind {
                ENHANCED_PACKET | PACKET | SIMPLE_PACKET => {
                    let block = source.window().get(..length).unwrap_or_default();
                    Some(if kind == SIMPLE_PACKET {
                        self.simple_packet(block)?
                    } else {
                        self.packet(block, kind)?
                    })
                }
                SECTION_HEADER | INTERFACE => {
                    let block = source.window().get(..length).unwrap_or_default();
                    if kind == INTERFACE {
                        self.interface(block)?
                    } else {
                        self.section_header(block)?
                    };
                    None
                }
                _ => None,
            };
            source.consume(length);
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// Has the whole block in the window and its two lengths agree.
    #[inline]
    fn block<R: Read>(&self, source: &mut Source<R>) -> Result<usize, ReadFault> {
        let front = self.order.u32_at(source.window(), 4);
        if front < AROUND as u32 {
            return Err(too_short("the block", front as usize, AROUND));
        }
        if front > LONGEST_BLOCK {
            return Err(super::too_long("the block", front, LONGEST_BLOCK));
        }
        if !front.is_multiple_of(4) {
            let (rule, bound) = ("where block lengths are multiples of", 4);
            return Err(ReadFault::Length { what: "the block", found: front.into(), rule, bound });
        }
        let length = front as usize;
        super::need(source, length, "the block")?;
        let behind = self.order.u32_at(source.window(), length - 4);
        if behind != front {
            return Err(ReadFault::LengthsDiffer { front, behind });
        }
        Ok(length)
    }

    fn section_header(&mut self, block: &[u8]) -> Result<(), ReadFault> {
        at_least("the section header", block, 28)?;
        let (major, minor) = (self.order.u16_at(block, 12), self.order.u16_at(block, 14));
        // Minor version 2 was written by some programs and means the same as 0.
        if major != 1 || !matches!(minor, 0 | 2) {
            return Err(ReadFault::Version { major, minor });
        }
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, block: &[u8]) -> Result<(), ReadFault> {
        at_least("the interface description", block, 20)?;
        if self.interfaces.len() >= MOST_INTERFACES as usize {
            return Err(ReadFault::TooManyInterfaces { limit: MOST_INTERFACES });
        }
        let link_type = LinkType(self.order.u16_at(block, 8));
        let options = self.options(block, 16..block.len() - 4, |_, _| {})?;
        self.interfaces.push(Interface::new(
            link_type,
            self.order.u32_at(block, 12),
            self.order,
            Options::new(block.get(options).unwrap_or_default(), self.order == Order::Big),
        ));
        Ok(())
    }

    #[inline]
    fn packet(&self, block: &[u8], kind: u32) -> Result<Found, ReadFault> {
        at_least("the packet's block", block, PACKET_BYTES + 4)?;
        let order = self.order;
        let interface = if kind == PACKET { order.u16_at(block, 8).into() } else { order.u32_at(block, 8) };
        let clock = self.described(interface)?.clock;
        let stamp = u64::from(order.u32_at(block, 12)) << 32 | u64::from(order.u32_at(block, 16));
        let captured = order.u32_at(block, 20);
        let bytes = packet_bytes(block, PACKET_BYTES, captured)?;
        let options = bytes.end.next_multiple_of(4)..block.len() - 4;
        let mut direction = None;
        let options = self.options(block, options, |code, value| {
            if let (EPB_FLAGS, Ok(flags)) = (code, value.try_into()) {
                let lowest =
                    if order == Order::Big { u32::from_be_bytes(flags) } else { u32::from_le_bytes(flags) };
                direction = match lowest & 3 {
                    1 => Some(Direction::In),
                    2 => Some(Direction::Out),
                    _ => None,
                };
            }
        })?;
        let (original, time) = (order.u32_at(block, 24), Some(clock.nanoseconds(stamp)));
        Ok(Found { length: block.len(), bytes, options, interface, original, time, direction })
    }

    fn simple_packet(&self, block: &[u8]) -> Result<Found, ReadFault> {
        at_least("the packet's block", block, SIMPLE_PACKET_BYTES + 4)?;
        let interface = self.described(0)?;
        let original = self.order.u32_at(block, 8);
        // The captured length is not in the block: what the interface captures of it.
        let captured =
            if interface.snap_length == 0 { original } else { original.min(interface.snap_length) };
        let bytes = packet_bytes(block, SIMPLE_PACKET_BYTES, captured)?;
        let (length, time, direction) = (block.len(), None, None);
        Ok(Found { length, bytes, options: 0..0, interface: 0, original, time, direction })
    }

    fn described(&self, interface: u32) -> Result<&Interface, ReadFault> {
        self.interfaces
            .get(interface as usize)
            .ok_or(ReadFault::UnknownInterface { interface, described: self.interfaces.len() as u32 })
    }

    /// Walks over options that are all whole.
    #[inline]
    fn options(
        &self,
        block: &[u8],
        range: Range<usize>,
        mut each: impl FnMut(u16, &[u8]),
    ) -> Result<Range<usize>, ReadFault> {
        let bytes = block.get(range.clone()).unwrap_or_default();
        let mut options = Options::new(bytes, self.order == Order::Big);
        for (code, value) in options.by_ref() {
            each(code, value);
        }
        match options.rest() {
            [] => Ok(range),
            rest => {
                let length = rest.get(2..4).map_or(0, |_| self.order.u16_at(rest, 2));
                Err(ReadFault::Length {
                    what: "an option of the block",
                    found: length.into(),
                    rule: "but the bytes left for it are",
                    bound: rest.len().saturating_sub(4) as u64,
                })
            }
        }
    }
}

/// Where in the block the packet's bytes are.
#[inline]
fn packet_bytes(block: &[u8], start: usize, captured: u32) -> Result<Range<usize>, ReadFault> {
    if captured > LONGEST_PACKET {
        return Err(super::too_long("the packet", captured, LONGEST_PACKET));
    }
    let room = block.len() - 4 - start;
    if captured as usize > room {
        let (rule, bound) = ("but the bytes left for it in its block are", room as u64);
        return Err(ReadFault::Length { what: "the packet", found: captured.into(), rule, bound });
    }
    Ok(start..start + captured as usize)
}

fn at_least(what: &'static str, block: &[u8], bound: usize) -> Result<(), ReadFault> {
    if block.len() < bound { Err(too_short(what, block.len(), bound)) } else { Ok(()) }
}

#[cold]
fn too_short(what: &'static str, found: usize, bound: usize) -> ReadFault {
    ReadFault::Length { what, found: found as u64, rule: "at least are", bound: bound as u64 }
}
