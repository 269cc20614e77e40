//! Segments of one direction that came before bytes in front of them did, with a limit on what is held of them.

use std::collections::BTreeMap;

/// How many bytes of one direction are held while bytes in front of them are missing.
pub const MOST_HELD: usize = 1 << 20;
/// How many segments are: each costs more than its bytes.
pub(super) const MOST_SEGMENTS: usize = 4096;
/// What a segment that is held costs beside its bytes, which may be none at all: its place in the map, and
/// what an allocation costs.
pub(super) const SEGMENT_COST: usize = 128;

/// A segment that is held.
#[derive(Debug)]
pub(super) struct Segment {
    pub bytes: Vec<u8>,
    /// Bytes behind these that the capture cut off.
    pub cut: u64,
}

/// All that are held, by place in the stream.
#[derive(Debug, Default)]
pub(super) struct Early {
    segments: BTreeMap<u64, Segment>,
    /// Bytes of all of them.
    bytes: usize,
}

impl Early {
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// More is held than may be.
    pub(super) fn is_too_much(&self) -> bool {
        self.bytes > MOST_HELD || self.segments.len() > MOST_SEGMENTS
    }

    /// Bytes of memory for them.
    pub(super) fn memory(&self) -> usize {
        self.bytes + self.segments.len() * SEGMENT_COST
    }

    /// Holds a segment. Of two at one place the longer one is kept.
    pub(super) fn hold(&mut self, place: u64, bytes: &[u8], cut: u64) {
        let known = self.segments.get(&place);
        if known.is_none_or(|known| known.bytes.len() < bytes.len()) {
            self.bytes += bytes.len();
            let old = self.segments.insert(place, Segment { bytes: bytes.to_vec(), cut });
            self.bytes -= old.map_or(0, |old| old.bytes.len());
        }
    }

    /// Where the first of them is.
    pub(super) fn first(&self) -> Option<u64> {
        self.segments.first_key_value().map(|(place, _)| *place)
    }

    /// Takes the first, if it is at this place or in front of it.
    pub(super) fn take_before(&mut self, next: u64) -> Option<(u64, Segment)> {
        let entry = self.segments.first_entry().filter(|entry| *entry.key() <= next)?;
        let (place, segment) = entry.remove_entry();
        self.bytes -= segment.bytes.len();
        Some((place, segment))
    }

    /// All of them, in the order of the stream.
    pub(super) fn segments(&self) -> impl Iterator<Item = (u64, &Segment)> {
        self.segments.iter().map(|(place, segment)| (*place, segment))
    }
}
