//! UDP header (RFC 768).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 16 | source port |
//! | 2 | 16 | destination port, 4791 for RoCE v2 |
//! | 4 | 16 | length: this header and everything behind it |
//! | 6 | 16 | checksum, 0 for none |
//!
//! RoCE v2 senders choose the source port per flow, so that switches spread flows over paths, and send no
//! checksum: the ICRC protects more.

/// The UDP port of RoCE v2.
pub const ROCE_V2_PORT: u16 = 4791;

/// The UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct UdpHeader {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// Bytes from this header on.
    pub length: u16,
    /// The checksum as found, or to be written; 0 for none.
    pub checksum: u16,
}

impl UdpHeader {
    /// Length in bytes.
    pub const LENGTH: usize = 8;

    /// From the bytes of the wire.
    #[inline]
    pub const fn decode(bytes: &[u8; 8]) -> Self {
        let [s0, s1, d0, d1, l0, l1, c0, c1] = *bytes;
        UdpHeader {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            length: u16::from_be_bytes([l0, l1]),
            checksum: u16::from_be_bytes([c0, c1]),
        }
    }

    /// To the bytes of the wire, the checksum as it stands.
    #[inline]
    pub const fn encode(&self) -> [u8; 8] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [l0, l1] = self.length.to_be_bytes();
        let [c0, c1] = self.checksum.to_be_bytes();
        [s0, s1, d0, d1, l0, l1, c0, c1]
    }
}
