//! One direction of a TCP connection, put in order: every byte once, and told where bytes are missing.
//!
//! Segments may come late, twice, overlapping, or cut by the capture. What comes early is held; when more would have to be than
//! may ([`MOST_HELD`](super::early::MOST_HELD)), or when the other side has acknowledged what is not in the capture, the bytes in
//! front are given up. The bytes that came first count where two segments differ.

use super::early::Early;

/// What comes next in a stream, and the sequence number behind it.
pub(super) enum Piece<'p> {
    /// Bytes.
    Bytes(&'p [u8], u32),
    /// So many bytes that the capture does not have.
    Gap(u64, u32),
}

/// Where a direction stands, and what it holds.
#[derive(Debug)]
pub(super) struct Assembly {
    /// Place in the stream of the next byte, counted from the first that was seen.
    next: u64,
    /// Its sequence number.
    next_sequence: u32,
    /// Highest acknowledgement of the other side, as place in the stream.
    acknowledged: u64,
    /// Where the stream ends, from its FIN.
    end: Option<u64>,
    early: Early,
}

/// What the end of a capture leaves of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Bytes that were sent and are not in the capture: both sides had them, or later ones.
    pub missing: u64,
    /// Bytes behind them, which nothing was made of.
    pub waiting: u64,
}

impl Left {
    pub(super) fn add(&mut self, other: Left) {
        self.missing = self.missing.saturating_add(other.missing);
        self.waiting = self.waiting.saturating_add(other.waiting);
    }
}

impl Assembly {
    /// A direction whose next byte has this sequence number.
    pub(super) fn new(next_sequence: u32) -> Assembly {
        Assembly { next: 0, next_sequence, acknowledged: 0, end: None, early: Early::default() }
    }

    /// Nothing has been taken yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.next == 0 && self.early.is_empty()
    }

    /// Bytes of memory for what is held.
    pub(super) fn memory(&self) -> usize {
        self.early.memory()
    }

    /// The other side has all bytes before this sequence number.
    pub(super) fn acknowledge(&mut self, sequence: u32) {
        if let Some(place) = self.place(sequence) {
            self.acknowledged = self.acknowledged.max(place);
        }
    }

    /// Its last byte is in front of this sequence number: it has a FIN there.
    pub(super) fn end(&mut self, sequence: u32) {
        self.end = self.place(sequence).or(self.end);
    }

    /// Bytes that the capture ends without.
    pub(super) fn left(&self) -> Left {
        let (mut left, mut next) = (Left::default(), self.next);
        for (place, segment) in self.early.segments() {
            left.missing += place.saturating_sub(next);
            let end = place.saturating_add(segment.bytes.len() as u64);
            left.waiting += end.saturating_sub(next.max(place));
            let behind_cut = end.saturating_add(segment.cut);
            left.missing += behind_cut.saturating_sub(next.max(end));
            next = next.max(behind_cut);
        }
        left.missing += self.missing_before(self.acknowledged, next);
        left
    }

    /// How many bytes are missing from `next` on, since both sides had those in front of `had`. A FIN counts as a byte there,
    /// and is none; it may be missing as well.
    fn missing_before(&self, had: u64, next: u64) -> u64 {
        let missing = had.min(self.end.unwrap_or(u64::MAX)).saturating_sub(next);
        if missing == 1 && self.end.is_none() { 0 } else { missing }
    }

    /// A segment without data: its sender has sent all in front of its sequence number. What the other side has of that
    /// comes no more.
    fn settle(&mut self, sequence: u32, each: &mut dyn FnMut(Piece<'_>)) {
        let Some(sent) = self.place(sequence) else { return };
        loop {
            let missing = self.missing_before(self.acknowledged.min(sent), self.next);
            if missing == 0 {
                return;
            }
            let early = self.early.first().map(|place| place.saturating_sub(self.next));
            self.pass(&[], early.map_or(missing, |early| early.min(missing)), each);
            self.release(each);
        }
    }

    /// Takes a segment: the bytes that the capture has of it, and how long it was. Says whether bytes had to be
    /// given up because too many are held.
    pub(super) fn take(
        &mut self,
        sequence: u32,
        bytes: &[u8],
        length: usize,
        each: &mut dyn FnMut(Piece<'_>),
    ) -> bool {
        if length == 0 {
            self.settle(sequence, each);
            return false;
        }
        let cut = length.saturating_sub(bytes.len()) as u64;
        let (place, bytes) = match self.place(sequence) {
            Some(place) => (place, bytes),
            // It begins before the next byte, and perhaps before the first.
            None => {
                let old = self.next_sequence.wrapping_sub(sequence);
                let Some(new) = (length as u64).checked_sub(u64::from(old)).filter(|new| *new > 0) else {
                    return false;
                };
                let bytes = usize::try_from(old).ok().and_then(|old| bytes.get(old..)).unwrap_or_default();
                self.pass(bytes, new.saturating_sub(bytes.len() as u64), each);
                self.release(each);
                return false;
            }
        };
        if place == self.next {
            self.pass(bytes, cut, each);
        } else {
            self.early.hold(place, bytes, cut);
        }
        self.release(each);
        let mut gave_up = false;
        while let Some(first) = self.early.first() {
            let too_many = self.early.is_too_much();
            if !too_many && self.acknowledged <= self.next {
                break;
            }
            gave_up |= too_many;
            self.pass(&[], first.saturating_sub(self.next), each);
            self.release(each);
        }
        gave_up
    }

    /// Where a sequence number is in the stream, unless it is before the next byte.
    fn place(&self, sequence: u32) -> Option<u64> {
        let ahead = sequence.wrapping_sub(self.next_sequence);
        (ahead < 1 << 31).then(|| self.next.saturating_add(ahead.into()))
    }

    fn pass(&mut self, bytes: &[u8], gap: u64, each: &mut dyn FnMut(Piece<'_>)) {
        let taken = gap.saturating_add(bytes.len() as u64);
        self.next = self.next.saturating_add(taken);
        // Sequence numbers go round.
        let behind_bytes = self.next_sequence.wrapping_add(bytes.len() as u32);
        self.next_sequence = self.next_sequence.wrapping_add(taken as u32);
        if !bytes.is_empty() {
            each(Piece::Bytes(bytes, behind_bytes));
        }
        if gap > 0 {
            each(Piece::Gap(gap, self.next_sequence));
        }
    }

    /// Passes on what is held and no longer early.
    fn release(&mut self, each: &mut dyn FnMut(Piece<'_>)) {
        while let Some((place, segment)) = self.early.take_before(self.next) {
            let old = self.next - place;
            let new = usize::try_from(old).ok().and_then(|old| segment.bytes.get(old..)).unwrap_or_default();
            let end = (segment.bytes.len() as u64).saturating_add(segment.cut);
            let missing = end.saturating_sub(old).saturating_sub(new.len() as u64);
            self.pass(new, missing, each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::early::{MOST_HELD, MOST_SEGMENTS, SEGMENT_COST};
    use super::*;

    /// What comes of segments, each with its sequence number; gaps as question marks.
    fn together(first: u32, segments: &[(u32, &str)]) -> String {
        let mut assembly = Assembly::new(first);
        let mut text = String::new();
        for (sequence, bytes) in segments {
            assembly.take(*sequence, bytes.as_bytes(), bytes.len(), &mut |piece| match piece {
                Piece::Bytes(bytes, _) => text.push_str(std::str::from_utf8(bytes).unwrap()),
                Piece::Gap(length, _) => text.push_str(&"?".repeat(length as usize)),
            });
        }
        text
    }

    #[test]
    fn segments_come_in_any_order_twice_and_overlapping() {
        assert_eq!(together(10, &[(10, "abc"), (13, "def")]), "abcdef");
        assert_eq!(together(10, &[(13, "def"), (10, "abc")]), "abcdef");
        assert_eq!(together(10, &[(10, "abc"), (10, "abc"), (9, "xabc"), (13, "d")]), "abcd");
        assert_eq!(together(10, &[(10, "abc"), (11, "BCde"), (12, "CDEf")]), "abcdef");
        assert_eq!(together(10, &[(14, "efg"), (12, "cdef"), (10, "abc")]), "abcdefg");
        assert_eq!(together(10, &[(12, "c"), (12, "cde"), (10, "ab")]), "abcde");
    }

    #[test]
    fn sequence_numbers_go_round() {
        assert_eq!(together(u32::MAX - 1, &[(1, "def"), (u32::MAX - 1, "abc")]), "abcdef");
    }

    #[test]
    fn bytes_cut_off_by_the_capture_are_a_gap() {
        let mut assembly = Assembly::new(0);
        let mut text = String::new();
        let mut each = |piece: Piece<'_>| match piece {
            Piece::Bytes(bytes, _) => text.push_str(std::str::from_utf8(bytes).unwrap()),
            Piece::Gap(length, _) => text.push_str(&"?".repeat(length as usize)),
        };
        assembly.take(6, b"gh", 4, &mut each);
        assembly.take(0, b"ab", 6, &mut each);
        assembly.take(10, b"k", 1, &mut each);
        // Not asked for again, but what is new of it counts.
        assembly.take(8, b"ijkl", 4, &mut each);
        assert_eq!(text, "ab????gh??kl");
    }

    #[test]
    fn what_the_other_side_has_is_not_waited_for() {
        let mut assembly = Assembly::new(0);
        let mut seen = Vec::new();
        assembly.take(4, b"e", 1, &mut |_| panic!("it is early"));
        assembly.acknowledge(5);
        assert!(!assembly.take(5, b"f", 1, &mut |piece| seen.push(match piece {
            Piece::Bytes(bytes, _) => bytes.len() as i64,
            Piece::Gap(length, _) => -(length as i64),
        })));
        assert_eq!(seen, [-4, 1, 1]);
    }

    #[test]
    fn no_more_than_the_limit_is_held() {
        let mut assembly = Assembly::new(0);
        let block = vec![0; 1 << 16];
        let (mut gaps, mut gave_up) = (0, 0);
        // Every second block is missing.
        for index in 1..200_u32 {
            let sequence = index << 17;
            let given = assembly.take(sequence, &block, block.len(), &mut |piece| {
                gaps += usize::from(matches!(piece, Piece::Gap(..)));
            });
            gave_up += usize::from(given);
            assert!(assembly.memory() <= MOST_HELD + 200 * SEGMENT_COST);
        }
        assert!(gave_up > 150 && gaps >= gave_up, "{gave_up} {gaps}");
        // Segments of one byte are counted as well, and those of which the capture has none.
        let mut assembly = Assembly::new(0);
        for index in 1..100_000_u32 {
            let bytes: &[u8] = if index % 2 == 0 { b"x" } else { b"" };
            assembly.take(index * 2, bytes, 1, &mut |_| ());
            assert!(assembly.memory() <= (MOST_SEGMENTS + 1) * (SEGMENT_COST + 1));
        }
        assert!(assembly.memory() >= MOST_SEGMENTS * SEGMENT_COST);
    }
}
