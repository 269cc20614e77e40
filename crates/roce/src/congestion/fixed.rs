//! A rate that nothing changes.

use super::RateController;

#[derive(Clone, Copy, Debug)]
pub(crate) struct FixedRate(u64);

impl FixedRate {
    /// Bytes per second; 0 would stop the flow for good and is taken as 1.
    pub(crate) fn new(rate: u64) -> Self {
        Self(rate.max(1))
    }
}

impl RateController for FixedRate {
    fn rate(&self) -> u64 {
        self.0
    }

    fn handle_notification(&mut self, _now: u64) {}

    fn handle_sent(&mut self, _now: u64, _bytes: usize) {}

    fn next_timeout(&self) -> Option<u64> {
        None
    }

    fn handle_timeout(&mut self, _now: u64) {}

    fn reset(&mut self) {}
}
