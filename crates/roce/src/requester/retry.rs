//! How often and when a requester may try again.

use rdmalab_wire::Psn;

use crate::queue_pair::Settings;

/// RNR retries without a limit, as the specification has it for this count only.
const INFINITE: u8 = 7;

/// Budgets and deadlines of a requester.
///
/// Invariant: at most one of the two deadlines is set. While the receiver has asked for a wait, no ACK is awaited and
/// nothing restarts.
#[derive(Debug, Default)]
pub(super) struct Retry {
    retries_left: u8,
    rnr_left: u8,
    /// When the oldest unacknowledged packet counts as lost.
    pub(super) deadline: Option<u64>,
    /// Until when the receiver asked us to wait.
    pub(super) wait: Option<u64>,
    /// Where the last restart began, until something new is acknowledged.
    pub(super) restarted: Option<Psn>,
}

impl Retry {
    pub(super) fn new(settings: &Settings) -> Self {
        let mut retry = Self::default();
        retry.refill(settings);
        retry
    }

    /// Something new was acknowledged: all budgets are whole again.
    pub(super) fn refill(&mut self, settings: &Settings) {
        self.set_budgets(settings);
        self.restarted = None;
    }

    /// Makes the budgets what the settings say.
    pub(super) fn set_budgets(&mut self, settings: &Settings) {
        self.retries_left = settings.retry_count;
        self.rnr_left = settings.rnr_retry;
    }

    /// Takes one from the retry budget; `false` if there is none left.
    pub(super) fn take(&mut self) -> bool {
        let left = self.retries_left.checked_sub(1);
        self.retries_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Takes one from the RNR budget; `false` if there is none left.
    pub(super) fn take_rnr(&mut self, settings: &Settings) -> bool {
        if settings.rnr_retry == INFINITE {
            return true;
        }
        let left = self.rnr_left.checked_sub(1);
        self.rnr_left = left.unwrap_or(0);
        left.is_some()
    }

    /// Starts to wait for an acknowledgement, unless that has begun already.
    pub(super) fn arm(&mut self, now: u64, settings: &Settings) {
        if self.deadline.is_none() {
            self.deadline = settings.ack_timeout.map(|timeout| now.saturating_add(timeout));
        }
    }

    /// The next time at which something is to be done.
    pub(super) fn next(&self) -> Option<u64> {
        self.wait.or(self.deadline)
    }
}
