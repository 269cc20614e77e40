//! How long a requester's timer runs, as far as the capture tells. A NAK, and an answer behind a missing one, may be lost behind the
//! place of capture; then the timer sends again what they asked for, and only the time that passed tells. That is so where
//! requesters heed NAKs at once; some take as long as their timer.

/// So many of the last times are remembered.
const LAST: usize = 16;
/// What is sent again sooner than so many nanoseconds behind the last answer is not the timer's.
const SHORTEST: i64 = 1_000_000;
/// The timer tells itself from a reaction if it takes so many times as long.
const CLEARLY: i64 = 20;

/// The last few of some times.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    times: [i64; LAST],
    count: usize,
}

impl Last {
    fn add(&mut self, time: i64) {
        self.times.rotate_right(1);
        self.times[0] = time;
        self.count = LAST.min(self.count + 1);
    }

    /// The time that so many quarters of them do not exceed.
    fn quartile(mut self, quarters: usize) -> Option<i64> {
        let known = self.times.get_mut(..self.count)?;
        known.sort_unstable();
        known.get(known.len() * quarters / 4).copied()
    }
}

/// How long the timer surely ran, and how soon the requester went back without it, the last times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    ran: Last,
    reactions: Last,
}

impl Timer {
    /// It ran out so many nanoseconds behind the last answer: nothing in the capture asked for what was sent again.
    pub fn ran_out(&mut self, silence: i64) {
        if silence >= SHORTEST {
            self.ran.add(silence);
        }
    }

    /// So many nanoseconds behind the last answer the requester sent again what that asked for.
    pub fn was_not_needed(&mut self, silence: i64) {
        self.reactions.add(silence);
    }

    /// In how many nanoseconds it has run out, nearly: three quarters of the median, as it begins to run before the capture tells, and
    /// kernels' clocks are coarse. `None` if that is not known, or not clearly more than what the requester takes without it.
    pub fn length(&self) -> Option<i64> {
        // Most reactions, not half of them: some requesters take very different times.
        let (ran, reaction) = (self.ran.quartile(2)?, self.reactions.quartile(3)?);
        (ran / CLEARLY >= reaction).then_some(ran / 4 * 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_wrong_time_does_not_count_among_several() {
        let mut timer = Timer::default();
        timer.was_not_needed(5_000);
        assert_eq!(timer.length(), None);
        timer.ran_out(SHORTEST - 1);
        assert_eq!(timer.length(), None, "too short for a timer");
        for silence in [40_000_000, 2_000_000, 44_000_000] {
            timer.ran_out(silence);
        }
        assert_eq!(timer.length(), Some(30_000_000));
        // Who sends again and again waits longer each time.
        (0..LAST).for_each(|_| timer.ran_out(400_000_000));
        assert_eq!(timer.length(), Some(300_000_000));
    }

    #[test]
    fn a_requester_that_heeds_naks_slowly_leaves_it_open() {
        let mut timer = Timer::default();
        timer.ran_out(8_000_000);
        assert_eq!(timer.length(), None, "it may always take so long");
        timer.was_not_needed(400_001);
        assert_eq!(timer.length(), None);
        (0..3).for_each(|_| timer.was_not_needed(300_000));
        assert_eq!(timer.length(), None, "one in four");
        timer.was_not_needed(300_000);
        assert_eq!(timer.length(), Some(6_000_000));
    }
}
