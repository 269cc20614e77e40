//! One direction of a TCP connection, as far as its sequence numbers tell: what was sent again and why, what its sender has
//! heard of the other direction, and where the capture lacks something. Its bytes are put together elsewhere.

use std::collections::VecDeque;

use rdmalab_trace::TcpSegment;

/// Segments that are remembered, to know one again that is in the capture twice.
const REMEMBERED: usize = 16;
/// Ranges of bytes that are missing and waited for, at most.
const MOST_HOLES: usize = 64;
/// What comes again so soon, in nanoseconds, is the same packet seen twice.
const AT_ONCE: i64 = 20_000;
/// What fills a hole so soon, in nanoseconds, and without the receiver having missed it came late.
const SOON: i64 = 500_000;
/// So long, in nanoseconds, what a receiver says of missing bytes is why they are sent again. No timer in use is shorter.
const FRESH: i64 = 150_000_000;
/// New segments whose IP identifications follow each other so closely tell that these are counted.
const CLOSE: u16 = 64;
/// So many bytes behind its SYN a direction is still at its beginning.
const SOON_HEARD: u32 = 1 << 20;
/// After so many acknowledgements of the same bytes again, those behind them are taken for lost.
const LOST: u32 = 3;
/// IP identifications below this come again and again: those of the pieces of one send.
const IDENTIFIES: u16 = 64;

/// Why TCP sent a segment again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResentCause {
    /// The receiver said that it misses bytes: by acknowledging the same ones again, or by telling of later ones that it has.
    DuplicateAcknowledgements,
    /// Nothing came: a timer ran out.
    Timer,
}

/// What a segment with data is in its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentRole {
    /// Bytes that have not been sent before.
    New,
    /// Bytes that are sent again.
    Resent {
        /// Why.
        cause: ResentCause,
        /// Whether the capture has some of them for the first time, the original having been lost in front.
        is_first_seen: bool,
    },
    /// The same packet once more.
    Duplicate,
    /// Bytes that come behind later ones.
    Late,
}

/// A segment that was seen: where it begins and ends, when, and its IP identification.
#[derive(Clone, Copy, Debug)]
struct Seen {
    begin: u32,
    end: u32,
    time: i64,
    ip_id: u16,
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Half {
    /// Sequence number of the first byte, from the SYN.
    pub first: Option<u32>,
    /// Behind the last byte that was seen.
    next: Option<u32>,
    /// Behind the last byte there is, from the FIN.
    end: Option<u32>,
    /// What this side waits for: the highest acknowledgement that it sent.
    acknowledged: Option<u32>,
    /// From which byte on it said that it misses some: the last two places.
    misses: [Option<Missed>; 2],
    /// Missing bytes, and what was sent behind them.
    holes: VecDeque<Hole>,
    remembered: VecDeque<Seen>,
    /// The IP identification of the last new segment, and whether it follows that of the one before.
    identification: (u16, bool),
}

/// What a receiver said of bytes that it misses.
#[derive(Clone, Copy, Debug)]
struct Missed {
    /// The first of them.
    from: u32,
    /// When it said so first, and last.
    times: (i64, i64),
    /// How often it acknowledged what is in front of them again.
    again: u32,
    /// It told of bytes behind them that it has.
    has_later: bool,
}

impl Missed {
    /// Whether a sender takes them for lost, and sends at once (RFC 5681 §3.2; RFC 6675 §4).
    fn is_lost(&self) -> bool {
        self.has_later || self.again >= LOST
    }
}

/// Bytes that are missing.
#[derive(Clone, Copy, Debug)]
struct Hole {
    begin: u32,
    end: u32,
    /// The segment behind them, by which they were missed first.
    behind: Seen,
}

/// Whether a sequence number is in front of another.
pub(crate) const fn is_before(one: u32, other: u32) -> bool {
    one.wrapping_sub(other).cast_signed() < 0
}

impl Half {
    /// What its sender has heard of the other direction, which ends there: a sequence number.
    pub fn heard(&self, other: &Half) -> Option<u32> {
        let heard = self.acknowledged?;
        // A FIN counts as a byte, and is none.
        Some(if other.end.is_some_and(|end| is_before(end, heard)) { other.end? } else { heard })
    }

    /// How many bytes there are behind this sequence number, or in all if there is none: those that were seen, and those that
    /// were not, though later ones were or `other`, the other direction, acknowledges them.
    pub fn behind(&self, end: Option<u32>, other: &Half) -> (u32, u32) {
        let Some(end) = end.or(self.first) else { return (0, 0) };
        let next = self.next.filter(|next| is_before(end, *next)).unwrap_or(end);
        let between = |from: u32, to: u32| if is_before(from, to) { to.wrapping_sub(from) } else { 0 };
        let in_holes = |hole: &Hole| {
            let begin = if is_before(hole.begin, end) { end } else { hole.begin };
            between(begin, hole.end)
        };
        let holes: u32 = self.holes.iter().map(in_holes).fold(0, u32::saturating_add);
        let unseen = other.heard(self).map_or(0, |heard| between(next, heard));
        // One more than was seen is a FIN that the capture does not have.
        let unseen = if unseen == 1 && self.end.is_none() { 0 } else { unseen };
        (between(end, next).saturating_sub(holes), holes.saturating_add(unseen))
    }

    /// Whether segments with data were seen.
    pub fn has_data(&self) -> bool {
        !self.remembered.is_empty()
    }

    /// Whether a SYN begins another connection than the one known.
    pub fn is_begun_by(&self, segment: &TcpSegment) -> bool {
        segment.syn && self.first != Some(segment.sequence.wrapping_add(1))
    }

    /// Whether a SYN, the first of this direction, stands behind what answers what comes behind it.
    pub fn is_late(&self, syn: &TcpSegment, other: &Half) -> bool {
        let behind = |number: u32| number.wrapping_sub(syn.sequence.wrapping_add(1));
        self.first.is_none()
            && other.acknowledged.is_some_and(|number| (1..=SOON_HEARD).contains(&behind(number)))
    }

    /// Takes what a segment says beside its data.
    pub fn hear(&mut self, segment: &TcpSegment, time: i64) {
        if segment.syn {
            if self.is_begun_by(segment) {
                // What it said before was of an earlier connection of these ports (RFC 9293 §3.10.7.4).
                (self.acknowledged, self.misses) = (None, [None; 2]);
            }
            self.first = Some(segment.sequence.wrapping_add(1));
            self.next = self.first;
        }
        let length = segment.length as u32;
        if segment.fin {
            self.end = Some(segment.sequence.wrapping_add(length));
        }
        let Some(number) = segment.acknowledgment else { return };
        let is_again = self.acknowledged == Some(number) && length == 0 && !segment.fin && !segment.syn;
        if is_again || segment.misses_some {
            let [last, _] = self.misses;
            let new = Missed { from: number, times: (time, time), again: 0, has_later: false };
            let mut missed = last.filter(|last| last.from == number).unwrap_or(new);
            if last.is_some_and(|last| last.from != number) {
                self.misses[1] = last;
            }
            missed.times.1 = time;
            missed.again = missed.again.saturating_add(is_again.into());
            missed.has_later |= segment.misses_some;
            self.misses[0] = Some(missed);
        }
        if self.acknowledged.is_none_or(|before| is_before(before, number)) {
            self.acknowledged = Some(number);
        }
    }

    /// Takes a segment with data, to which the other side answers as it does.
    pub fn data(&mut self, segment: &TcpSegment, ip_id: u16, time: Option<i64>, other: &Half) -> SegmentRole {
        let begin = if segment.syn { segment.sequence.wrapping_add(1) } else { segment.sequence };
        let seen = Seen {
            begin,
            end: begin.wrapping_add(segment.length as u32),
            time: time.unwrap_or_default(),
            ip_id,
        };
        let role = self.place(&seen, time.is_some(), other);
        if self.remembered.len() == REMEMBERED {
            self.remembered.pop_front();
        }
        self.remembered.push_back(seen);
        role
    }

    fn place(&mut self, seen: &Seen, has_time: bool, other: &Half) -> SegmentRole {
        let next = *self.next.get_or_insert(seen.begin);
        if is_before(next, seen.end) {
            self.next = Some(seen.end);
        }
        if !is_before(seen.begin, next) {
            if seen.begin != next {
                if self.holes.len() == MOST_HOLES {
                    self.holes.pop_front();
                }
                self.holes.push_back(Hole { begin: next, end: seen.begin, behind: *seen });
            }
            let follows = (1..=CLOSE).contains(&seen.ip_id.wrapping_sub(self.identification.0));
            self.identification = (seen.ip_id, follows);
            return SegmentRole::New;
        }
        let same = self.remembered.iter().rev().find(|old| (old.begin, old.end) == (seen.begin, seen.end));
        let is_same = same.is_some_and(|old| {
            let is_at_once = has_time && seen.time.saturating_sub(old.time) < AT_ONCE;
            // Where the way is short, the receiver may have missed it by then.
            let is_asked =
                |missed: &Missed| missed.from == seen.begin && missed.is_lost() && missed.times.0 > old.time;
            match old.ip_id == seen.ip_id {
                true if old.ip_id >= IDENTIFIES => true,
                true => is_at_once && !other.misses.iter().flatten().any(is_asked),
                false => false,
            }
        });
        if is_same {
            return SegmentRole::Duplicate;
        }
        let hole = self.fill(seen.begin, seen.end);
        let is_missed = other.misses.iter().flatten().any(|missed| {
            !is_before(seen.begin, missed.from)
                && (!has_time || seen.time.saturating_sub(missed.times.1) < FRESH)
        });
        let is_late = hole.is_some_and(|hole| {
            let order = seen.ip_id.wrapping_sub(hole.behind.ip_id).cast_signed();
            if self.identification.1 && order != 0 && order.unsigned_abs() <= CLOSE {
                // It was sent in front of the one behind it.
                return order < 0;
            }
            has_time && !is_missed && seen.time.saturating_sub(hole.behind.time) < SOON
        });
        if is_late {
            return SegmentRole::Late;
        }
        let cause = if is_missed { ResentCause::DuplicateAcknowledgements } else { ResentCause::Timer };
        SegmentRole::Resent { cause, is_first_seen: hole.is_some() }
    }

    /// Fills holes; gives the first of them.
    fn fill(&mut self, begin: u32, end: u32) -> Option<Hole> {
        let overlaps = |hole: &Hole| is_before(begin, hole.end) && is_before(hole.begin, end);
        let first = self.holes.iter().copied().find(overlaps)?;
        let mut left = VecDeque::new();
        for hole in self.holes.drain(..) {
            if !overlaps(&hole) {
                left.push_back(hole);
                continue;
            }
            if is_before(hole.begin, begin) {
                left.push_back(Hole { end: begin, ..hole });
            }
            if is_before(end, hole.end) {
                left.push_back(Hole { begin: end, ..hole });
            }
        }
        left.truncate(MOST_HOLES);
        self.holes = left;
        Some(first)
    }
}

#[cfg(test)]
mod tests;
