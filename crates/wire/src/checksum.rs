//! The Internet checksum (RFC 1071): of IPv4 headers, and of UDP with its pseudo header.

use core::net::IpAddr;

use crate::ipv4::PROTOCOL_UDP;
use crate::udp::UdpHeader;

/// A one's complement sum under way.
///
/// Pieces are summed as if each began at an even offset, so all but the last must have even length.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum(u64);

impl Sum {
    /// The sum of nothing.
    pub const fn new() -> Self {
        Sum(0)
    }

    /// With `bytes` added, an odd last byte padded with zero.
    #[must_use]
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        // 2^48 words fit before the 64-bit sum could overflow; a slice cannot be that long.
        let (pairs, odd) = bytes.as_chunks::<2>();
        for pair in pairs {
            self.0 += u64::from(u16::from_be_bytes(*pair));
        }
        if let [last] = odd {
            self.0 += u64::from(*last) << 8;
        }
        self
    }

    /// With a 32-bit number added.
    #[must_use]
    pub const fn number(mut self, number: u32) -> Self {
        self.0 += (number >> 16) as u64 + (number & 0xffff) as u64;
        self
    }

    /// The checksum: the complement of the folded sum. Zero over data that hold a right checksum.
    pub const fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

/// The checksum of an IPv4 header, the checksum field counted as it is: zero if it is right.
pub fn ipv4_header(header: &[u8]) -> u16 {
    Sum::new().bytes(header).finish()
}

/// The checksum that a UDP datagram should have (RFC 768, over IPv6 RFC 8200 §8.1), never 0: a computed 0 is
/// sent as all ones, since 0 says that there is no checksum.
///
/// `data` is what is behind the header, in bytes as the header's length says. The header's own checksum
/// field does not count. Addresses of two families have no checksum of meaning.
pub fn udp(source: IpAddr, destination: IpAddr, header: &UdpHeader, data: &[u8]) -> u16 {
    let sum = [source, destination].into_iter().fold(Sum::new(), |sum, address| match address {
        IpAddr::V4(address) => sum.bytes(&address.octets()),
        IpAddr::V6(address) => sum.bytes(&address.octets()),
    });
    let header = UdpHeader { checksum: 0, ..*header };
    let checksum = sum
        .number(u32::from(PROTOCOL_UDP))
        .number(u32::from(header.length))
        .bytes(&header.encode())
        .bytes(data)
        .finish();
    if checksum == 0 { 0xffff } else { checksum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_the_rfc_1071_example() {
        assert_eq!(!Sum::new().bytes(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]).finish(), 0xddf2);
    }

    #[test]
    fn odd_last_byte_counts_as_the_high_one() {
        assert_eq!(Sum::new().bytes(&[1, 2, 3]).finish(), Sum::new().bytes(&[1, 2, 3, 0]).finish());
    }

    #[test]
    fn udp_checksum_of_zero_is_sent_as_ones() {
        // Two data bytes chosen so that the sum is all ones.
        let address = IpAddr::from([0, 0, 0, 0]);
        let header = UdpHeader { source_port: 0, destination_port: 0, length: 10, checksum: 7 };
        let rest = 0xffff - (17 + 10 + 10);
        assert_eq!(udp(address, address, &header, &u16::to_be_bytes(rest)), 0xffff);
        assert_eq!(udp(address, address, &header, &u16::to_be_bytes(rest - 1)), 1);
    }
}
