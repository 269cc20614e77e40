//! How far the segments of a stream have come, which smoltcp keeps to itself: what they have carried, what the peer has
//! confirmed, and what it has room for.
//!
//! All of it is counted from the first byte on, and wraps as sequence numbers do. Segments of a peer that lies make the numbers
//! wrong and nothing else: they only say when more is handed to the stack.

use super::SEND_BUFFER;
use super::segment::{Outgoing, Segment};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Bytes that the application has written.
    written: u32,
    /// Where the next byte comes to stand in the buffer, which is a ring.
    place: usize,
    /// The sequence number of the first of them, once our SYN is out.
    first: Option<u32>,
    /// Bytes that segments have carried, the first time.
    carried: u32,
    /// Bytes that the peer has confirmed.
    confirmed: u32,
    /// Bytes up to which the peer has room.
    room: u32,
    /// How far the peer's windows are shifted (RFC 7323 §2).
    shift: u8,
}

impl Progress {
    /// The application has written; `was_empty`: nothing was in the buffer before.
    pub(super) fn write(&mut self, length: usize, was_empty: bool) {
        // smoltcp begins the ring anew when it is empty.
        let place = if was_empty { 0 } else { self.place };
        self.place = (place + length) % SEND_BUFFER;
        self.written = self.written.wrapping_add(length as u32);
    }

    /// Whether so many bytes would not be cut at the end of the ring.
    pub(super) fn is_straight(&self, length: usize) -> bool {
        self.place + length <= SEND_BUFFER
    }

    /// A segment of ours goes out.
    pub(super) fn segment(&mut self, segment: &Outgoing) {
        let first = if segment.is_syn { segment.sequence.wrapping_add(1) } else { segment.sequence };
        let first = *self.first.get_or_insert(first);
        let end = segment.sequence.wrapping_add(segment.length).wrapping_sub(first);
        // What is sent again, and the byte that asks for a sign of life, lies behind.
        if is_behind(end, self.carried) {
            self.carried = end;
        }
    }

    /// A segment of the peer's came.
    pub(super) fn confirm(&mut self, segment: &Segment) {
        if segment.is_syn {
            self.shift = segment.shift.unwrap_or(0).min(14);
        }
        let (Some(first), Some(confirmed)) = (self.first, segment.confirmed) else { return };
        let confirmed = confirmed.wrapping_sub(first);
        // An old one, overtaken by others, or one for what was never sent; our FIN counts, too.
        if is_behind(self.confirmed, confirmed) || is_behind(confirmed, self.written.wrapping_add(1)) {
            return;
        }
        // The window of a SYN is never shifted.
        let shift = if segment.is_syn { 0 } else { self.shift };
        self.confirmed = confirmed;
        self.room = confirmed.wrapping_add(u32::from(segment.window) << shift);
    }

    /// Bytes that were written and that no segment has carried.
    pub(super) fn unsent(&self) -> usize {
        distance(self.carried, self.written)
    }

    /// Bytes that were written and that the peer has not confirmed.
    pub(super) fn unconfirmed(&self) -> usize {
        distance(self.confirmed, self.written)
    }

    /// Bytes that the peer has room for behind those that were written.
    pub(super) fn room(&self) -> usize {
        distance(self.written, self.room)
    }
}

/// Whether a number is behind another.
fn is_behind(number: u32, other: u32) -> bool {
    number.wrapping_sub(other).cast_signed() > 0
}

fn distance(from: u32, to: u32) -> usize {
    usize::try_from(to.wrapping_sub(from).cast_signed()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u32 = 0xffff_fff0;

    fn ours(sequence: u32, length: u32, is_syn: bool) -> Outgoing {
        Outgoing { is_syn, sequence, length, ..Outgoing::NONE }
    }

    fn theirs(confirmed: u32, window: u16) -> Segment {
        Segment { confirmed: Some(confirmed), window, ..Segment::NONE }
    }

    #[test]
    fn numbers_wrap_and_old_segments_change_nothing() {
        let mut progress = Progress::default();
        progress.segment(&ours(FIRST.wrapping_sub(1), 0, true));
        progress.confirm(&Segment { is_syn: true, shift: Some(2), ..theirs(FIRST, 1000) });
        assert_eq!((progress.unsent(), progress.room()), (0, 1000), "the window of a SYN is not shifted");
        progress.write(100, true);
        assert_eq!((progress.unsent(), progress.unconfirmed(), progress.room()), (100, 100, 900));
        progress.segment(&ours(FIRST, 60, false));
        progress.segment(&ours(FIRST, 30, false));
        assert_eq!(progress.unsent(), 40);
        progress.confirm(&theirs(FIRST.wrapping_add(60), 100));
        assert_eq!((progress.unconfirmed(), progress.room()), (40, 360));
        progress.confirm(&theirs(FIRST.wrapping_add(10), 5000));
        progress.confirm(&theirs(FIRST.wrapping_add(5000), 5000));
        assert_eq!((progress.unconfirmed(), progress.room()), (40, 360), "overtaken, and for nothing");
        progress.segment(&ours(FIRST.wrapping_add(60), 40, false));
        // A FIN counts, and so does its confirmation; a sign of life lies behind.
        progress.segment(&ours(FIRST.wrapping_add(99), 1, false));
        progress.confirm(&theirs(FIRST.wrapping_add(101), 0));
        assert_eq!((progress.unsent(), progress.unconfirmed(), progress.room()), (0, 0, 1));
    }

    #[test]
    fn the_ring_has_an_end_until_it_is_empty() {
        let mut progress = Progress::default();
        progress.write(SEND_BUFFER - 10, true);
        assert!(progress.is_straight(10) && !progress.is_straight(11));
        progress.write(10, false);
        assert!(progress.is_straight(SEND_BUFFER));
        progress.write(SEND_BUFFER - 10, false);
        progress.write(5, true);
        assert!(progress.is_straight(SEND_BUFFER - 5));
    }
}
