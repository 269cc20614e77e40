//! TCP segments in their order, as far as drawing needs it: which come again, and where bytes are missing.
//!
//! `rdmalab-trace` puts streams together to find iWARP in them; here only the numbers are looked at.

use std::collections::HashMap;

use rdmalab_lint::{Cause, Role};

use crate::kind::Marks;
use crate::layout::Tcp;

/// Where each direction is: the sequence number behind the highest byte seen.
#[derive(Debug, Default)]
pub(crate) struct Segments {
    next: HashMap<u32, u32>,
}

impl Segments {
    /// What a segment is in its flow.
    pub(crate) fn segment(&mut self, flow: u32, tcp: &Tcp) -> (Role, Marks) {
        let length = tcp.length.wrapping_add(tcp.begins.into()).wrapping_add(tcp.ends.into());
        let end = tcp.sequence.wrapping_add(length);
        if length == 0 {
            return (Role::Alone, Marks::default());
        }
        let next = self.next.entry(flow).or_insert(tcp.sequence);
        if tcp.begins {
            *next = tcp.sequence;
        }
        let ahead = |a: u32, b: u32| a.wrapping_sub(b).cast_signed();
        let mut marks = Marks::default();
        if ahead(end, *next) <= 0 {
            return (Role::Repetition { cause: Cause::Unknown, is_first_seen: false }, marks);
        }
        if ahead(tcp.sequence, *next) > 0 {
            marks.add(Marks::GAP_BEFORE);
        }
        *next = end;
        (Role::Request, marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_come_again_and_gaps_are_seen_also_where_numbers_go_round() {
        let mut segments = Segments::default();
        let mut come = |sequence: u32, length: u32| {
            let (role, marks) = segments.segment(0, &Tcp { sequence, length, ..Tcp::default() });
            (matches!(role, Role::Repetition { .. }), marks.has(Marks::GAP_BEFORE))
        };
        assert_eq!(come(u32::MAX - 9, 10), (false, false));
        assert_eq!(come(0, 10), (false, false));
        assert_eq!(come(u32::MAX - 9, 10), (true, false));
        assert_eq!(come(20, 10), (false, true));
        assert_eq!(come(10, 10), (true, false), "it fills the gap");
        assert_eq!(come(30, 10), (false, false));
    }
}
