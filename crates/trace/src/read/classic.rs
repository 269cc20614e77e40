//! Classic capture files: one file header, then records (draft-ietf-opsawg-pcap).
//!
//! ```text
//! file header                                     record
//! offset  bits  name                              offset  bits  name
//!      0    32  magic: byte order, resolution          0    32  seconds since 1970
//!      4    16  major version, 2                       4    32  micro- or nanoseconds
//!      6    16  minor version, 4                       8    32  captured length
//!      8    64  zone, accuracy: unused                12    32  original length
//!     16    32  longest packet                        16     *  captured bytes
//!     20    32  link type in the low 16 bits
//! ```

use std::io::Read;

use super::interface::{Clock, Interface};
use super::source::Source;
use super::{Found, LONGEST_PACKET, Order, ReadFault};
use crate::record::LinkType;

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

/// What the file header says.
#[derive(Debug)]
pub(super) struct Classic {
    order: Order,
    nanoseconds: bool,
    pub(super) interface: Interface,
}

impl Classic {
    /// Byte order and resolution by the first four bytes, if they are those of such a file.
    pub(super) fn recognize(magic: [u8; 4]) -> Option<(Order, bool)> {
        match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => Some((Order::Big, false)),
            [0xd4, 0xc3, 0xb2, 0xa1] => Some((Order::Little, false)),
            [0xa1, 0xb2, 0x3c, 0x4d] => Some((Order::Big, true)),
            [0x4d, 0x3c, 0xb2, 0xa1] => Some((Order::Little, true)),
            _ => None,
        }
    }

    pub(super) fn open<R: Read>(
        source: &mut Source<R>,
        (order, nanoseconds): (Order, bool),
    ) -> Result<Classic, ReadFault> {
        super::need(source, FILE_HEADER, "the file header")?;
        let header = source.window();
        let (major, minor) = (order.u16_at(header, 4), order.u16_at(header, 6));
        if major != 2 {
            return Err(ReadFault::Version { major, minor });
        }
        // The upper half tells of a frame check sequence behind each frame, which nobody here minds.
        let link_type = LinkType(order.u32_at(header, 20) as u16);
        source.consume(FILE_HEADER);
        let clock = if nanoseconds { Clock::NANOSECONDS } else { Clock::MICROSECONDS };
        let interface = Interface { link_type, snap_length: 0, name: None, clock };
        Ok(Classic { order, nanoseconds, interface })
    }

    #[inline]
    pub(super) fn next<R: Read>(&self, source: &mut Source<R>) -> Result<Option<Found>, ReadFault> {
        if !super::need_or_end(source, RECORD_HEADER, "a record header")? {
            return Ok(None);
        }
        let header = source.window();
        let (seconds, fraction) = (self.order.u32_at(header, 0), self.order.u32_at(header, 4));
        let captured = self.order.u32_at(header, 8);
        let original = self.order.u32_at(header, 12);
        if captured > LONGEST_PACKET {
            return Err(super::too_long("the packet", captured, LONGEST_PACKET));
        }
        let captured = captured as usize;
        super::need(source, RECORD_HEADER + captured, "the packet's record")?;
        source.consume(RECORD_HEADER + captured);
        let fraction = i128::from(fraction) * if self.nanoseconds { 1 } else { 1_000 };
        let time = i128::from(seconds) * 1_000_000_000 + fraction;
        Ok(Some(Found {
            length: RECORD_HEADER + captured,
            bytes: RECORD_HEADER..RECORD_HEADER + captured,
            options: 0..0,
            interface: 0,
            original,
            time: Some(time),
            direction: None,
        }))
    }
}
