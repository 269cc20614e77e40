//! The IP identifications of what is sent to one queue pair. Where they count up, they say in which order packets were sent, whatever the
//! order in the capture; and where each is one more than the one before, that none is missing between them.
//!
//! Senders may number as they like. So nothing is concluded before they have counted up several times.

/// From one packet to the next, identifications grow by so many at most: others take the rest.
const FURTHEST: u16 = 1024;
/// After so many steps it is no chance that they grow.
const STEPS: u32 = 4;
/// Below this they may be those of the pieces of one send, which begin anew with each send.
const IDENTIFIES: u16 = 64;

/// Those of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbering {
    last: u16,
    steps: u32,
    sent: Sent,
}

/// What they say of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Of this frame on, packets were sent in the order in which they are in the capture, if that is certain.
    in_order: Option<u64>,
    /// Of this frame on, the capture has all that were sent.
    whole: Option<u64>,
}

impl Sent {
    /// Whether it was sent behind what is in this frame of the capture.
    pub fn is_behind(self, frame: u64) -> bool {
        self.in_order.is_some_and(|from| from <= frame)
    }

    /// Whether the capture has everything that was sent between this frame and the packet.
    pub fn is_next_to(self, frame: u64) -> bool {
        self.is_behind(frame) && self.whole.is_some_and(|from| from <= frame)
    }
}

impl Numbering {
    /// Takes a packet of this frame.
    pub fn next(&mut self, identification: u16, frame: u64) -> Sent {
        let step = identification.wrapping_sub(self.last);
        if step == 0 && self.steps > 0 {
            // The same packet again.
            return self.told();
        }
        let counts = (1..=FURTHEST).contains(&step) && self.last > 0 && identification > 0;
        if counts {
            self.steps = self.steps.saturating_add(1);
        } else {
            self.steps = 0;
            self.sent.in_order = Some(frame);
        }
        if !counts || step > 1 || self.last < IDENTIFIES {
            self.sent.whole = Some(frame);
        }
        self.last = identification;
        self.told()
    }

    fn told(self) -> Sent {
        if self.steps < STEPS { Sent::default() } else { self.sent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(identifications: &[u16]) -> Sent {
        let mut numbering = Numbering::default();
        let each = identifications
            .iter()
            .zip(1..)
            .map(|(identification, frame)| numbering.next(*identification, frame));
        each.last().unwrap_or_default()
    }

    #[test]
    fn identifications_that_count_up_tell_the_order() {
        let sent = numbered(&[500, 700, 701, 702, 703, 710, 711]);
        assert!(sent.is_behind(1) && sent.is_next_to(6) && !sent.is_next_to(5));
        // One packet twice says nothing.
        assert!(numbered(&[700, 701, 702, 702, 703, 704]).is_next_to(1));
        // One that is late was sent in front.
        assert!(!numbered(&[700, 701, 703, 704, 705, 702]).is_behind(5));
        assert!(!numbered(&[700, 701, 703, 704, 705, 702, 706, 707, 708, 709]).is_behind(5));
    }

    #[test]
    fn identifications_that_do_not_count_tell_nothing() {
        for identifications in
            [&[700, 701, 702, 703][..], &[0; 8], &[7; 8], &[0, 1, 2, 3], &[700, 9000, 200, 64_000, 3]]
        {
            assert_eq!(numbered(identifications), Sent::default());
        }
        // Pieces of sends, of which some are missing.
        assert!(!numbered(&[1, 2, 3, 4, 5, 6]).is_next_to(5));
        assert!(!numbered(&[0, 1, 2, 3, 4, 0, 1, 2, 3, 4]).is_behind(5));
        assert!(!numbered(&[65_533, 65_534, 65_535, 0, 1, 2, 3, 4, 5]).is_behind(3));
    }
}
