//! As much of the classic pcap format as the captures need: little-endian, Ethernet, nothing cut off.

use std::path::Path;

/// The frames of a capture in `pcaps/`.
pub(crate) fn frames(name: &str) -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (header, mut rest) = bytes.split_at(24);
    assert_eq!(header[..4], 0xa1b2_c3d4_u32.to_le_bytes(), "{name}: little-endian classic pcap");
    assert_eq!(header[20], 1, "{name}: Ethernet");
    let mut frames = Vec::new();
    while !rest.is_empty() {
        let (record, behind) = rest.split_at(16);
        let captured = u32::from_le_bytes(record[8..12].try_into().unwrap());
        let original = u32::from_le_bytes(record[12..16].try_into().unwrap());
        assert_eq!(captured, original, "{name}: nothing cut off");
        let (frame, behind) = behind.split_at(captured as usize);
        frames.push(frame.to_vec());
        rest = behind;
    }
    frames
}
