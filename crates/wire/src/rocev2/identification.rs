//! An IPv4 identification that the ICRC covers and the receiver cannot see, as behind a UDP socket.
//!
//! A CRC is linear: changing 16 bits in one place changes it by one of 2^16 values, each of which tells the change. So the
//! difference between the ICRC that is expected with some identification and the one that is found leads back to the
//! identification that was sent, or to none. A damaged packet passes with a probability of 2^-16 instead of 2^-32.

use crate::ipv4::Ipv4Header;
use crate::udp::UdpHeader;

/// The polynomial of CRC-32, lowest power first (in the highest bit).
const POLYNOMIAL: u32 = 0xedb8_8320;

/// Bytes of the IPv4 header behind the identification.
const BEHIND: usize = Ipv4Header::LENGTH - 6;

/// x^-(8 * 2^n) modulo the polynomial, for as many n as a packet's length has bits.
const BACK: [u32; 17] = {
    let mut powers = [0; 17];
    let mut power = 1 << 31; // x^0
    let mut step = 0;
    while step < 8 {
        power = back_one(power);
        step += 1;
    }
    let mut n = 0;
    while n < powers.len() {
        powers[n] = power;
        power = multiply(power, power);
        n += 1;
    }
    powers
};

/// Divides by x.
const fn back_one(value: u32) -> u32 {
    if value & 0x8000_0000 != 0 { ((value ^ POLYNOMIAL) << 1) | 1 } else { value << 1 }
}

/// The product modulo the polynomial.
const fn multiply(a: u32, b: u32) -> u32 {
    let (mut product, mut power, mut bit) = (0, b, 1 << 31);
    while bit != 0 {
        if a & bit != 0 {
            product ^= power;
        }
        power = if power & 1 != 0 { (power >> 1) ^ POLYNOMIAL } else { power >> 1 };
        bit >>= 1;
    }
    product
}

/// By what the identification differs, if that is all by which a packet differs whose ICRCs, without and with the change,
/// differ by `difference`. `covered` is the length in bytes from the base header to the end of the padding.
pub(super) fn change(difference: u32, covered: usize) -> Option<u16> {
    let mut value = difference;
    // Back over all that is behind the identification, and over itself.
    let mut bytes = 2 + BEHIND + UdpHeader::LENGTH + covered;
    for power in BACK {
        if bytes & 1 != 0 {
            value = multiply(value, power);
        }
        bytes >>= 1;
    }
    // The register takes the first byte in its lowest bits.
    (bytes == 0 && value >> 16 == 0).then(|| (value as u16).swap_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icrc::icrc_ipv4;

    fn icrc(identification: u16, ib: &[u8]) -> u32 {
        let mut ip = [0x45; 20];
        [ip[4], ip[5]] = identification.to_be_bytes();
        icrc_ipv4(&ip, &[7; 8], ib)
    }

    #[test]
    fn every_identification_is_found_back_at_every_length() {
        let bytes = [0x5a; 5000];
        for length in [12, 13, 16, 100, 1040, 4096, 4140, 5000] {
            let ib = &bytes[..length];
            for (one, other) in [(0, 1), (0, 0x8000), (0, 0xffff), (0x1234, 0xfedc), (7, 7)] {
                let difference = icrc(one, ib) ^ icrc(other, ib);
                assert_eq!(change(difference, length), Some(one ^ other), "{one:#x} {other:#x} {length}");
            }
        }
        for identification in 0..=u16::MAX {
            let difference = icrc(0, &bytes[..28]) ^ icrc(identification, &bytes[..28]);
            assert_eq!(change(difference, 28), Some(identification));
        }
    }

    #[test]
    fn damage_elsewhere_is_no_identification() {
        let mut ib = [0x5a; 1040];
        let right = icrc(0, &ib);
        for bit in 0..ib.len() * 8 {
            ib[bit / 8] ^= 1 << (bit % 8);
            // Byte 4 of the base header is not covered.
            if bit / 8 != 4 {
                assert_eq!(change(right ^ icrc(0, &ib), ib.len()), None, "bit {bit}");
            }
            ib[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
