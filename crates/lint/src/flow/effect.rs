//! What congestion notifications bring about: how much their receiver sends before and behind them.

use std::collections::VecDeque;

/// How long before and behind a notification bytes are counted, in nanoseconds.
pub(crate) const SPAN: i64 = 100_000;
/// Packets that are remembered.
const MOST_RECENT: usize = 512;

/// Bytes sent before and behind notifications.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effect {
    /// When packets were sent, and their bytes.
    recent: VecDeque<(i64, u64)>,
    /// Until when bytes count as behind a notification.
    until: Option<i64>,
    pub before: u64,
    pub behind: u64,
}

impl Effect {
    /// A packet of so many bytes.
    pub fn packet(&mut self, time: i64, bytes: u64) {
        while self.recent.len() >= MOST_RECENT
            || self.recent.front().is_some_and(|(old, _)| time.saturating_sub(*old) > SPAN)
        {
            self.recent.pop_front();
        }
        self.recent.push_back((time, bytes));
        match self.until {
            Some(until) if time <= until => self.behind = self.behind.saturating_add(bytes),
            Some(_) => self.until = None,
            None => {}
        }
    }

    /// A notification. One that comes while bytes behind another are counted belongs to that one.
    pub fn notified(&mut self, time: i64) {
        if self.until.is_some_and(|until| time <= until) {
            return;
        }
        self.until = Some(time.saturating_add(SPAN));
        let recent = self.recent.iter().filter(|(old, _)| time.saturating_sub(*old) <= SPAN);
        self.before = recent.fold(self.before, |sum, (_, bytes)| sum.saturating_add(*bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_before_and_behind_are_told_apart() {
        let mut effect = Effect::default();
        for time in (0..1_000_000).step_by(10_000) {
            // Half as much behind the notification at 500 us.
            effect.packet(time, if time < 500_000 { 1000 } else { 500 });
            if time == 500_000 {
                effect.notified(time);
            }
        }
        assert_eq!((effect.before, effect.behind), (10 * 1000 + 500, 10 * 500));
        for _ in 0..10_000 {
            effect.packet(1_000_000, 1);
        }
        assert!(effect.recent.len() <= MOST_RECENT);
    }
}
