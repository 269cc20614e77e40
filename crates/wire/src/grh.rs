//! Global route header (GRH): what an IPv6 header is to IP, with GIDs for addresses. RoCE v1 has it on every
//! packet, a native InfiniBand link on those that leave their subnet or go to many.
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 4 | version (IPVer), 6 |
//! | 0 | 8 | traffic class (TClass) |
//! | 1 | 20 | flow label |
//! | 4 | 16 | payload length (PayLen): from the base header to the end of the ICRC |
//! | 6 | 8 | next header (NxtHdr), 0x1b for the base transport header |
//! | 7 | 8 | hop limit |
//! | 8 | 128 | source GID |
//! | 24 | 128 | destination GID |

use crate::gid::Gid;

/// The global route header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Grh {
    /// Version, 4 bits; 6 is the only one there is.
    pub version: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Bytes from the base header to the end of the ICRC.
    pub payload_length: u16,
    /// What follows, [`Grh::TRANSPORT`] for an InfiniBand packet.
    pub next_header: u8,
    /// Hops left.
    pub hop_limit: u8,
    /// Who sent it.
    pub source: Gid,
    /// Whom it is for.
    pub destination: Gid,
}

impl Grh {
    /// Length in bytes.
    pub const LENGTH: usize = 40;
    /// The version.
    pub const VERSION: u8 = 6;
    /// The next header of an InfiniBand packet.
    pub const TRANSPORT: u8 = 0x1b;

    /// A header in front of an InfiniBand packet, its length still to be set.
    pub const fn new(source: Gid, destination: Gid) -> Self {
        Grh {
            version: Self::VERSION,
            traffic_class: 0,
            flow_label: 0,
            payload_length: 0,
            next_header: Self::TRANSPORT,
            hop_limit: 64,
            source,
            destination,
        }
    }

    /// From the bytes of the wire.
    #[inline]
    pub fn decode(bytes: &[u8; 40]) -> Self {
        let [w0, w1, w2, w3, l0, l1, next_header, hop_limit, gids @ ..] = *bytes;
        let word = u32::from_be_bytes([w0, w1, w2, w3]);
        let gids = gids.as_chunks::<16>().0;
        Grh {
            version: (word >> 28) as u8,
            traffic_class: (word >> 20) as u8,
            flow_label: word & 0x000f_ffff,
            payload_length: u16::from_be_bytes([l0, l1]),
            next_header,
            hop_limit,
            source: Gid(gids[0]),
            destination: Gid(gids[1]),
        }
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    #[inline]
    pub fn encode(&self) -> [u8; 40] {
        let word = u32::from(self.version & 0x0f) << 28
            | u32::from(self.traffic_class) << 20
            | (self.flow_label & 0x000f_ffff);
        let mut bytes = [0; 40];
        let (head, gids) = bytes.split_at_mut(8);
        head[..4].copy_from_slice(&word.to_be_bytes());
        head[4..6].copy_from_slice(&self.payload_length.to_be_bytes());
        head[6] = self.next_header;
        head[7] = self.hop_limit;
        gids[..16].copy_from_slice(&self.source.0);
        gids[16..].copy_from_slice(&self.destination.0);
        bytes
    }
}
