//! DCQCN's reaction point: the rate of a flow from the congestion notifications that its receiver sends.
//!
//! Source: Y. Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015 ("the paper"); the
//! notations R_C, R_T, α, g, F, R_AI, R_HAI are its own. Where it is silent, QCN (IEEE 802.1Qau), which it builds on,
//! and NVIDIA's public page "DCQCN CC Parameters" ("the vendor").
//!
//! - A notification cuts: R_T ← R_C, R_C ← R_C (1 - α/2), α ← (1 - g) α + g, and all counting begins anew.
//! - Without one, α ← (1 - g) α after each alpha period.
//! - Each timer period and each so many bytes is a round: R_C ← (R_T + R_C) / 2. While neither has had more than F
//!   rounds, that is all (fast recovery). Then R_T grows by R_AI first (additive increase), and once both are past F by
//!   i R_HAI, i being how far the slower of them is past F (hyper increase, as in QCN).
//!
//! A flow starts at line rate, and nothing runs until the first notification.
//!
//! Invariant: minimum ≤ R_C ≤ R_T ≤ line rate.

mod config;

pub use config::DcqcnConfig;

use super::RateController;

/// α = 1. Fractions are of 2^24, so that α comes to rest at 0 instead of a remainder of g.
const ONE: u32 = 1 << 24;
/// What g and the first α are given in.
const CONFIG_ONE: u32 = 1 << 10;
/// Rounds past F that are told apart; by then the target has long been at line rate, or is not meant to get there.
const PAST_RECOVERY: u16 = 1024;

/// Where a round comes from.
#[derive(Clone, Copy)]
enum Source {
    Timer,
    Bytes,
}

/// One flow's state. No call costs more than some ten thousand simple steps (α coming to rest at the smallest g),
/// whatever the configuration and however long ago the last call was; calls that come as often as the timers run cost one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dcqcn {
    config: DcqcnConfig,
    /// R_C and R_T.
    rate: u64,
    target: u64,
    alpha: u32,
    /// Whether a notification came; before, α stands still.
    notified: bool,
    /// When the running alpha period and timer period began.
    alpha_since: u64,
    timer_since: u64,
    /// No cut before.
    cut_after: u64,
    /// Bytes since the last round of the byte counter.
    sent: u32,
    timer_rounds: u16,
    byte_rounds: u16,
}

impl Dcqcn {
    pub(crate) fn new(config: DcqcnConfig) -> Self {
        let config = config.in_range();
        Self {
            config,
            rate: config.line_rate,
            target: config.line_rate,
            alpha: u32::from(config.initial_alpha) * (ONE / CONFIG_ONE),
            notified: false,
            alpha_since: 0,
            timer_since: 0,
            cut_after: 0,
            sent: 0,
            timer_rounds: 0,
            byte_rounds: 0,
        }
    }

    fn recovery_rounds(&self) -> u16 {
        u16::from(self.config.recovery_rounds)
    }

    /// The share g of a fraction.
    fn share(&self, fraction: u32) -> u64 {
        u64::from(fraction) * u64::from(self.config.gain)
    }

    fn cut(&mut self) {
        self.target = self.rate;
        let cut = u128::from(self.rate) * u128::from(self.alpha) / u128::from(2 * ONE);
        self.rate = (self.rate - cut as u64).max(self.config.min_rate);
        self.alpha += (self.share(ONE - self.alpha) / u64::from(CONFIG_ONE)) as u32;
    }

    fn decay_alpha(&mut self, periods: u64) {
        for _ in 0..periods {
            if self.alpha == 0 || self.config.gain == 0 {
                return;
            }
            // Rounded up, or a small α would never fall.
            self.alpha -= self.share(self.alpha).div_ceil(u64::from(CONFIG_ONE)) as u32;
        }
    }

    /// What R_T grows by in a round of the present phase.
    fn step(&self) -> u64 {
        let (fewer, more) =
            (self.timer_rounds.min(self.byte_rounds), self.timer_rounds.max(self.byte_rounds));
        let recovery = self.recovery_rounds();
        if more <= recovery {
            0
        } else if fewer <= recovery {
            self.config.additive_increase
        } else {
            self.config.hyper_increase.saturating_mul(u64::from(fewer - recovery))
        }
    }

    /// How many more rounds of this source keep [`step`](Self::step) as it is.
    fn rounds_alike(&self, source: Source) -> u64 {
        let (own, other) = match source {
            Source::Timer => (self.timer_rounds, self.byte_rounds),
            Source::Bytes => (self.byte_rounds, self.timer_rounds),
        };
        let recovery = self.recovery_rounds();
        if own <= recovery {
            u64::from(recovery - own)
        } else if other <= recovery || own >= other {
            u64::MAX
        } else {
            0
        }
    }

    fn count(&mut self, source: Source, rounds: u64) {
        let most = self.recovery_rounds() + PAST_RECOVERY;
        let counter = match source {
            Source::Timer => &mut self.timer_rounds,
            Source::Bytes => &mut self.byte_rounds,
        };
        *counter = u64::from(*counter).saturating_add(rounds).min(u64::from(most)) as u16;
    }

    fn increase(&mut self, source: Source, mut rounds: u64) {
        while rounds > 0 && self.rate < self.config.line_rate {
            self.count(source, 1);
            rounds -= 1;
            let (step, gap) = (self.step(), self.target - self.rate);
            self.target = self.target.saturating_add(step).min(self.config.line_rate);
            // Rounded up, or R_C would never arrive.
            self.rate += (self.target - self.rate).div_ceil(2);
            if self.target - self.rate == gap {
                rounds -= self.leap(source, step, rounds);
            }
        }
    }

    /// R_C follows R_T at a constant distance by now, so all rounds with the same step that stay below line rate are one
    /// sum. Returns how many.
    fn leap(&mut self, source: Source, step: u64, rounds: u64) -> u64 {
        let room = (self.config.line_rate - self.target).checked_div(step).unwrap_or(u64::MAX);
        let leap = rounds.min(self.rounds_alike(source)).min(room);
        self.count(source, leap);
        // At most the room; or the step is 0.
        self.target += leap.saturating_mul(step);
        self.rate += leap.saturating_mul(step);
        leap
    }
}

/// Whole periods between two times, and when the last of them ended.
fn periods(since: u64, now: u64, period: u32) -> (u64, u64) {
    let elapsed = now.saturating_sub(since);
    let period = u64::from(period);
    if elapsed < period {
        return (0, since);
    }
    (elapsed / period, now - elapsed % period)
}

impl RateController for Dcqcn {
    fn rate(&self) -> u64 {
        self.rate
    }

    fn handle_notification(&mut self, now: u64) {
        self.handle_timeout(now);
        if now < self.cut_after {
            return;
        }
        self.cut();
        self.notified = true;
        self.cut_after = now.saturating_add(u64::from(self.config.cut_interval));
        (self.alpha_since, self.timer_since) = (now, now);
        (self.timer_rounds, self.byte_rounds, self.sent) = (0, 0, 0);
    }

    fn handle_sent(&mut self, now: u64, bytes: usize) {
        self.handle_timeout(now);
        if self.rate == self.config.line_rate {
            return;
        }
        let sent = u64::from(self.sent).saturating_add(bytes as u64);
        let counter = u64::from(self.config.byte_counter);
        if sent >= counter {
            self.increase(Source::Bytes, sent / counter);
        }
        self.sent = (sent % counter) as u32;
    }

    fn next_timeout(&self) -> Option<u64> {
        (self.rate < self.config.line_rate)
            .then(|| self.timer_since.saturating_add(u64::from(self.config.timer)))
    }

    fn handle_timeout(&mut self, now: u64) {
        if !self.notified {
            return;
        }
        let (alpha_periods, alpha_since) = periods(self.alpha_since, now, self.config.alpha_period);
        self.alpha_since = alpha_since;
        self.decay_alpha(alpha_periods);
        let (rounds, timer_since) = periods(self.timer_since, now, self.config.timer);
        self.timer_since = timer_since;
        self.increase(Source::Timer, rounds);
    }

    fn reset(&mut self) {
        *self = Self::new(self.config);
    }
}

#[cfg(test)]
mod tests;
