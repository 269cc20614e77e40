//! Enhanced data of the MPA start-up: how many READs may be under way, and how the initiator says that it is
//! ready to receive (RFC 6581 §9).
//!
//! | offset | bits | name |
//! |---|---|---|
//! | 0 | 1 | A: peer-to-peer, a ready-to-receive message comes first |
//! | 0 | 1 | B: the message may be an FPDU of length zero |
//! | 0 | 14 | IRD: inbound READs the sender answers at once; 0x3fff: not negotiated |
//! | 2 | 1 | C: the message may be a WRITE of length zero |
//! | 2 | 1 | D: the message may be a READ of length zero |
//! | 2 | 14 | ORD: outbound READs the sender has under way at once; 0x3fff: not negotiated |

use core::fmt;

/// Enhanced connection establishment data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Enhanced {
    /// The initiator sends a ready-to-receive message before the responder may send.
    pub peer_to_peer: bool,
    /// An FPDU of length zero will do. A reply names one kind; a request all that the initiator can send.
    pub rtr_empty: bool,
    /// A WRITE of length zero will do.
    pub rtr_write: bool,
    /// A READ of length zero will do.
    pub rtr_read: bool,
    /// Inbound READs, 14 bits.
    pub ird: u16,
    /// Outbound READs, 14 bits.
    pub ord: u16,
}

const HIGH: u16 = 0x8000;
const LOW: u16 = 0x4000;

impl Enhanced {
    /// Length in bytes.
    pub const LENGTH: usize = 4;
    /// An IRD or ORD that leaves the number to the layers above.
    pub const NOT_NEGOTIATED: u16 = 0x3fff;

    /// From the bytes of the wire.
    pub const fn decode(bytes: &[u8; 4]) -> Self {
        let [a, b, c, d] = *bytes;
        let (first, second) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Enhanced {
            peer_to_peer: first & HIGH != 0,
            rtr_empty: first & LOW != 0,
            rtr_write: second & HIGH != 0,
            rtr_read: second & LOW != 0,
            ird: first & Enhanced::NOT_NEGOTIATED,
            ord: second & Enhanced::NOT_NEGOTIATED,
        }
    }

    /// To the bytes of the wire. Bits that do not fit their field are cut off.
    pub const fn encode(&self) -> [u8; 4] {
        let [a, b] = half(self.peer_to_peer, self.rtr_empty, self.ird);
        let [c, d] = half(self.rtr_write, self.rtr_read, self.ord);
        [a, b, c, d]
    }
}

const fn half(high: bool, low: bool, number: u16) -> [u8; 2] {
    let bits = if high { HIGH } else { 0 } | if low { LOW } else { 0 };
    (bits | (number & Enhanced::NOT_NEGOTIATED)).to_be_bytes()
}

/// As in `ird=16 ord=16 p2p rtr=empty,write,read`.
impl fmt::Display for Enhanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ird={} ord={}", self.ird, self.ord)?;
        if self.peer_to_peer {
            f.write_str(" p2p")?;
        }
        let kinds = [(self.rtr_empty, "empty"), (self.rtr_write, "write"), (self.rtr_read, "read")];
        let mut separator = " rtr=";
        for (_, name) in kinds.into_iter().filter(|(set, _)| *set) {
            write!(f, "{separator}{name}")?;
            separator = ",";
        }
        Ok(())
    }
}
