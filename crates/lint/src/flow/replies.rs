//! What READs were answered with: a checksum of each of the last packets, to compare those of a repeated READ with.

use rdmalab_wire::Psn;

/// How many packets of answers are remembered of a flow.
const REMEMBERED: u32 = 128;

/// A packet of an answer.
#[derive(Clone, Copy, Debug)]
struct Reply {
    psn: Psn,
    /// Frame of the request, which tells it from one of the same PSN long ago.
    asked: u64,
    frame: u64,
    sum: u32,
}

/// The last packets of answers to READs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replies {
    /// Each in the place of its PSN; none until there is a READ.
    places: Vec<Option<Reply>>,
}

impl Replies {
    /// Takes the packet with this PSN, whose payload has this checksum, of the answer to the READ in the frame `asked`. Gives the
    /// frame of an earlier one that had another payload.
    pub fn take(&mut self, psn: Psn, asked: u64, frame: u64, sum: u32) -> Option<u64> {
        if self.places.is_empty() {
            self.places.resize(REMEMBERED as usize, None);
        }
        let place = self.places.get_mut((psn.value() % REMEMBERED) as usize)?;
        let reply = Reply { psn, asked, frame, sum };
        let before = place.replace(reply)?;
        let is_other = (before.psn, before.asked) == (psn, asked) && before.sum != reply.sum;
        is_other.then_some(before.frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_compared_with_those_of_the_same_request_only() {
        let mut replies = Replies::default();
        assert_eq!(replies.take(Psn::new(5), 1, 2, 1), None);
        assert_eq!(replies.take(Psn::new(5), 1, 3, 1), None);
        assert_eq!(replies.take(Psn::new(5), 1, 4, 2), Some(3));
        assert_eq!(replies.take(Psn::new(5), 9, 10, 3), None);
        assert_eq!(replies.take(Psn::new(5 + REMEMBERED), 9, 11, 4), None);
        assert_eq!(replies.take(Psn::new(5), 9, 12, 5), None);
        assert_eq!(replies.places.len(), REMEMBERED as usize);
    }
}
