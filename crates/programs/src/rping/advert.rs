//! What an rping client tells in its SENDs: where the server finds, or puts, the data.
//!
//! | bytes | what (big-endian) |
//! |---|---|
//! | 0..8 | address |
//! | 8..12 | remote key |
//! | 12..16 | bytes |
//!
//! The server's SENDs have the same length, and nothing in them (`pcaps/rping.pcap`).

use rdmalab_device::{RKey, RemoteAddress};

/// Bytes of a SEND.
pub(super) const LENGTH: usize = 16;

/// A piece of the client's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Advert {
    pub(super) remote: RemoteAddress,
    pub(super) length: u32,
}

impl Advert {
    pub(super) fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&self.remote.address.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.remote.key.value().to_be_bytes());
        bytes[12..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; LENGTH]) -> Self {
        let [a, b, c, d, e, f, g, h, k0, k1, k2, k3, l0, l1, l2, l3] = *bytes;
        Self {
            remote: RemoteAddress {
                address: u64::from_be_bytes([a, b, c, d, e, f, g, h]),
                key: RKey::new(u32::from_be_bytes([k0, k1, k2, k3])),
            },
            length: u32::from_be_bytes([l0, l1, l2, l3]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame 4 of `pcaps/rping.pcap`.
    const SEEN: [u8; LENGTH] = [0, 0, 0x55, 0xb7, 0xac, 0x1a, 6, 0xc0, 0, 0, 6, 0x3a, 0, 0, 0, 0xc8];

    #[test]
    fn an_advert_of_the_real_program_is_understood_and_made_again() {
        let advert = Advert::decode(&SEEN);
        let remote = RemoteAddress { address: 0x55b7_ac1a_06c0, key: RKey::new(0x63a) };
        assert_eq!(advert, Advert { remote, length: 200 });
        assert_eq!(advert.encode(), SEEN);
    }
}
