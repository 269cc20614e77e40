//! Virtual time: a count of nanoseconds that somebody moves.

/// Nanoseconds since the simulation began. Only moves forward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clock {
    now: u64,
}

impl Clock {
    /// A clock at 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nanoseconds now.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Moves on to the moment `to`, or stays where it is when that has passed already.
    pub fn advance_to(&mut self, to: u64) {
        self.now = self.now.max(to);
    }

    /// Moves on by `nanoseconds`, at most to the end of time.
    pub fn advance_by(&mut self, nanoseconds: u64) {
        self.now = self.now.saturating_add(nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_only_moves_forward() {
        let mut clock = Clock::new();
        clock.advance_to(100);
        clock.advance_to(40);
        assert_eq!(clock.now(), 100);
        clock.advance_by(u64::MAX);
        assert_eq!(clock.now(), u64::MAX);
    }
}
