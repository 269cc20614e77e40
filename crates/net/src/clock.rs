//! Clocks of the operating system, as u64 nanoseconds: what the protocol code is handed as `now`, and what
//! a capture is stamped with.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time that only moves forward, for timers: nanoseconds since an unnamed moment (Linux: since boot, not
/// counting suspend). All threads of a machine read the same count.
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock;

impl MonotonicClock {
    /// Nanoseconds now.
    #[must_use]
    pub fn now() -> u64 {
        nanoseconds(clock_gettime(ClockId::Monotonic))
    }
}

/// Time of day, for captures: nanoseconds since 1970-01-01 00:00 UTC. It jumps when somebody sets it, so
/// it drives no timer.
#[derive(Debug, Clone, Copy, Default)]
pub struct WallClock;

impl WallClock {
    /// Nanoseconds now.
    #[must_use]
    pub fn now() -> u64 {
        nanoseconds(clock_gettime(ClockId::Realtime))
    }
}

/// A time before the epoch (a machine whose clock is unset) counts as the epoch; u64 nanoseconds last
/// until the year 2554.
fn nanoseconds(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_clock_never_goes_back() {
        let mut last = MonotonicClock::now();
        for _ in 0..10_000 {
            let now = MonotonicClock::now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn wall_clock_agrees_with_the_standard_library() {
        let before = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        let now = u128::from(WallClock::now());
        let after = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        assert!(before <= now && now <= after);
    }

    #[test]
    fn time_before_the_epoch_is_the_epoch_and_the_far_future_saturates() {
        assert_eq!(nanoseconds(Timespec { tv_sec: -5, tv_nsec: 0 }), 0);
        assert_eq!(nanoseconds(Timespec { tv_sec: i64::MAX, tv_nsec: 1 }), u64::MAX);
    }
}
