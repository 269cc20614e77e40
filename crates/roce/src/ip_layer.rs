//! Who writes the IP header: this crate, or a kernel behind a UDP socket.
//!
//! The ICRC covers the IPv4 identification, so the two have to agree on it. The packets built here always begin with an IP
//! header; where a kernel writes its own in place of it, the identification in it says what that will have:
//!
//! * a packet with identification 0 begins a send;
//! * one with the number behind that of the packet before it is part of the same send, which the kernel cuts up.
//!
//! Invariant of [`Numbering`]: packets of one send stand one behind the other in one batch, go the same way, are as long as
//! the first (the last may be shorter), and are together no more than a kernel cuts up.

use rdmalab_wire::NetworkHeader;

/// Pieces of one send at most, as Linux limits it.
const SEGMENTS_MAX: u16 = 64;
/// Bytes of one send at most: what an IPv4 datagram holds behind its headers.
const SEND_MAX: usize = 65_507;

/// Who writes the IP header of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpLayer {
    /// The transport: each packet has another identification, and one that arrives is shown with its own.
    #[default]
    Own,
    /// A kernel, behind a UDP socket that is unconnected and forbids fragments. What arrives has lost its identification:
    /// any is accepted with which the ICRC is right.
    Kernel {
        /// The port that the socket is bound to, which all packets come from.
        source_port: u16,
        /// Whether it cuts up sends and numbers the pieces from 0 on (`UDP_SEGMENT`).
        cuts: bool,
    },
}

impl IpLayer {
    /// Where all packets come from, if not each flow has a port of its own.
    pub(crate) fn source_port(self) -> Option<u16> {
        match self {
            Self::Own => None,
            Self::Kernel { source_port, .. } => Some(source_port),
        }
    }
}

/// The identifications of packets.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    /// That of the last packet.
    last: u16,
    /// Which way the last packet went, and how long it was.
    way: Option<(NetworkHeader, usize)>,
    /// Bytes behind the IP and UDP headers in the send so far.
    bytes: usize,
    /// A piece was shorter: it is the last.
    is_complete: bool,
}

impl Numbering {
    /// The identification of the next packet, whose length in bytes counts from the IP header on. `begins`: it is the
    /// first of a batch.
    #[inline]
    pub(crate) fn next(&mut self, ip: IpLayer, network: &NetworkHeader, length: usize, begins: bool) -> u16 {
        match ip {
            // Zero is never used, as real peers do it.
            IpLayer::Own => self.last = self.last.wrapping_add(1).max(1),
            IpLayer::Kernel { cuts: false, .. } => self.last = 0,
            IpLayer::Kernel { cuts: true, .. } => self.continue_send(network, length, begins),
        }
        self.last
    }

    fn continue_send(&mut self, network: &NetworkHeader, length: usize, begins: bool) {
        let payload = length.saturating_sub(network.length());
        let continues = !begins
            && !self.is_complete
            && self.last + 1 < SEGMENTS_MAX
            && self.bytes + payload <= SEND_MAX
            && matches!(&self.way, Some((way, first)) if length <= *first && way == network);
        if continues {
            self.last += 1;
            self.bytes += payload;
            self.is_complete = matches!(&self.way, Some((_, first)) if length < *first);
        } else {
            *self = Self { last: 0, way: Some((*network, length)), bytes: payload, is_complete: false };
        }
    }
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use rdmalab_wire::Ecn;

    use super::*;

    const KERNEL: IpLayer = IpLayer::Kernel { source_port: 4791, cuts: true };

    fn to(last: u8) -> NetworkHeader {
        let address = |last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
        NetworkHeader::new(address(1), address(last), 4791, 0, Ecn::NotEct, 64).unwrap()
    }

    fn numbers(packets: &[(u8, usize)]) -> Vec<u16> {
        let mut numbering = Numbering::default();
        packets.iter().map(|&(last, length)| numbering.next(KERNEL, &to(last), length, false)).collect()
    }

    extern crate std;
    use std::vec::Vec;

    #[test]
    fn packets_of_one_way_and_length_are_one_send_and_a_shorter_one_ends_it() {
        assert_eq!(numbers(&[(2, 100), (2, 100), (2, 60), (2, 60), (2, 60)]), [0, 1, 2, 0, 1]);
        assert_eq!(numbers(&[(2, 100), (3, 100), (3, 100), (3, 101)]), [0, 0, 1, 0]);
    }

    #[test]
    fn a_send_is_no_longer_than_a_kernel_cuts_up_and_ends_with_the_batch() {
        let many = numbers(&[(2, 100); 130]);
        assert_eq!((many[63], many[64], many[127], many[128]), (63, 0, 63, 0));
        let long = numbers(&[(2, 4144 + 28); 17]);
        assert_eq!((long[14], long[15]), (14, 0), "15 x 4144 bytes are below 65507, 16 are not");
        let mut numbering = Numbering::default();
        assert_eq!(numbering.next(KERNEL, &to(2), 100, true), 0);
        assert_eq!(numbering.next(KERNEL, &to(2), 100, true), 0);
    }

    #[test]
    fn without_cutting_all_are_zero_and_our_own_never() {
        let mut numbering = Numbering::default();
        let uncut = IpLayer::Kernel { source_port: 4791, cuts: false };
        for _ in 0..3 {
            assert_eq!(numbering.next(uncut, &to(2), 100, false), 0);
        }
        let own: Vec<_> = (0..70_000).map(|_| numbering.next(IpLayer::Own, &to(2), 100, false)).collect();
        assert!(own.iter().all(|&number| number != 0) && own.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
