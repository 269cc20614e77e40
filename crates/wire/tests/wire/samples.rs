//! Packets from outside that are in no capture of `pcaps/`.

use rdmalab_wire::vcrc;

/// RoCE v1 WRITE ONLY of Mellanox hardware, five bytes and three of padding. From Scapy's test data.
pub(crate) const ROCE_V1_WRITE: &str = "
    7c fe 90 75 3c d8 7c fe 90 75 3c d8 89 15 60 20
    00 00 00 28 1b 40 00 00 00 00 00 00 00 00 00 00
    ff ff 0f 00 00 02 00 00 00 00 00 00 00 00 00 00
    ff ff 0f 00 00 02 0a 70 ff ff 00 00 01 0a 80 a7
    88 bc 00 00 55 d4 c0 72 60 00 00 00 47 b3 00 00
    00 05 00 00 00 00 01 00 00 00 e3 d8 56 bb";

/// RoCE v1 ACKNOWLEDGE of the same.
pub(crate) const ROCE_V1_ACKNOWLEDGE: &str = "
    7c fe 90 75 3c d8 7c fe 90 75 3c d8 89 15 60 20
    00 00 00 14 1b 40 00 00 00 00 00 00 00 00 00 00
    ff ff 0f 00 00 02 00 00 00 00 00 00 00 00 00 00
    ff ff 0f 00 00 02 11 40 ff ff 00 00 01 09 00 a7
    88 c0 00 00 00 05 25 f0 c0 38";

/// The specification's sample packet with its ICRC, as it is quoted in public:
/// <https://lore.kernel.org/linux-rdma/20250129202537.GA66821@sol.localdomain/>, which has masked bytes in the
/// places of the virtual lane (0xf for 7) and of BTH byte 4.
pub(crate) const LINK_LOCAL: &str = "
    70 12 37 5c 00 0e 17 d2 0a 20 24 87 00 87 b1 b3
    00 0d ec 2a 01 71 0a 1c 01 5d 40 02 38 f2 7a 05
    00 00 00 0e bb 88 4d 85 fd 5c fb a4 72 8b c0 69
    0e d4 00 00 96 25 b7 5a";

/// The same with a global route header, from the packet generator that Mellanox published with the first OpenIB
/// stack. Its ICRC is not given there: this one is our second implementation's.
pub(crate) const LINK_GLOBAL: &str = "
    70 13 37 5c 00 18 17 d2 60 00 00 00 00 32 00 10
    00 00 00 00 00 00 01 25 00 00 00 00 00 00 00 26
    00 00 00 00 00 00 01 17 00 00 00 00 00 00 00 96
    0a 20 24 87 00 87 b1 b3 00 0d ec 2a 01 71 0a 1c
    01 5d 40 02 38 f2 7a 05 00 00 00 0e bb 88 4d 85
    fd 5c fb a4 72 8b c0 69 0e d4 00 00 14 93 ec 46";

pub(crate) fn hexadecimal(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// A packet of a native link, its VCRC added.
pub(crate) fn link_sample(text: &str) -> Vec<u8> {
    let mut bytes = hexadecimal(text);
    bytes.extend_from_slice(&vcrc(&bytes).to_le_bytes());
    bytes
}
