//! What a capture file says of one packet, whatever format the file has.
//!
//! A [`Record`] borrows from its reader: nothing of it is copied or allocated. It knows where in the
//! file it stood and which number it has there, so that everything said about it can name the place.

use crate::read::options::Comments;

/// What kind of frame the bytes of a record begin with: the numbers of the LINKTYPE registry
/// (<https://www.tcpdump.org/linktypes.html>).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// The loopback of the BSDs: an address family in the byte order of the host that captured.
    pub const NULL: LinkType = LinkType(0);
    /// Ethernet, beginning with the destination address, usually without the frame check sequence.
    pub const ETHERNET: LinkType = LinkType(1);
    /// IPv4 or IPv6 without a link header; the first four bits tell which. The numbers 12 and 14, which some systems have for
    /// it inside, stand in files, too.
    pub const RAW_IP: LinkType = LinkType(101);
    /// The loopback of OpenBSD: an address family in network byte order.
    pub const LOOP: LinkType = LinkType(108);
    /// Linux' cooked header, version 1: of all interfaces at once (`tcpdump -i any`).
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// IPv4 without a link header.
    pub const IPV4: LinkType = LinkType(228);
    /// IPv6 without a link header.
    pub const IPV6: LinkType = LinkType(229);
    /// InfiniBand, beginning with the local route header.
    pub const INFINIBAND: LinkType = LinkType(247);
    /// Linux' cooked header, version 2, which names the interface.
    pub const LINUX_SLL2: LinkType = LinkType(276);

    /// Whether an IP header comes first.
    pub const fn is_bare_ip(self) -> bool {
        matches!(self, LinkType(12 | 14) | LinkType::RAW_IP | LinkType::IPV4 | LinkType::IPV6)
    }
}

impl core::fmt::Display for LinkType {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            LinkType::ETHERNET => f.write_str("Ethernet"),
            LinkType::NULL => f.write_str("BSD loopback"),
            LinkType::LOOP => f.write_str("OpenBSD loopback"),
            LinkType::LINUX_SLL => f.write_str("Linux cooked"),
            LinkType::LINUX_SLL2 => f.write_str("Linux cooked, version 2"),
            LinkType(12 | 14) | LinkType::RAW_IP => f.write_str("raw IP"),
            LinkType::IPV4 => f.write_str("raw IPv4"),
            LinkType::IPV6 => f.write_str("raw IPv6"),
            LinkType::INFINIBAND => f.write_str("InfiniBand"),
            LinkType(number) => write!(f, "link type {number}"),
        }
    }
}

/// Which way a packet went, as seen from the interface it was captured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Received by the interface.
    In,
    /// Sent by the interface.
    Out,
}

/// One packet of a capture file, borrowed from the reader until the next call.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Number of the packet in the file, beginning with 1, as every other program counts.
    pub frame: u64,
    /// Where the packet's record or block begins, in bytes from the start of the file.
    pub offset: u64,
    /// Nanoseconds since 1970-01-01T00:00:00Z, before it if negative. None where the file has no time
    /// (a simple packet block). Wide enough for all that a file can say.
    pub time: Option<i128>,
    /// Whether the file's clock ticks finer than microseconds.
    pub finer_than_microseconds: bool,
    /// What `data` begins with.
    pub link_type: LinkType,
    /// Index of the interface in its section; 0 in a classic capture.
    pub interface: u32,
    /// The interface's name, where the file has one.
    pub interface_name: Option<&'a str>,
    /// Which way the packet went, where the file says so.
    pub direction: Option<Direction>,
    /// Length the packet had on the wire, in bytes. More than `data` if the capture cut it.
    pub original_length: u32,
    /// The packet as captured.
    pub data: &'a [u8],
    /// Comments on the packet; empty in a classic capture.
    pub comments: Comments<'a>,
}

impl Record<'_> {
    /// Whether the capture kept less than was on the wire.
    pub fn is_cut(&self) -> bool {
        u32::try_from(self.data.len()).is_ok_and(|kept| kept < self.original_length)
    }
}
