//! How often and when a requester may try again.

use rdmalab_wire::Psn;

use crate::settings::Settings;

/// RNR retries without a limit, as the specification has it for this count only.
const INFINITE: u8 = 7;

/// Budgets and the deadline of a requester.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// When what it awaits is due.
    due: u64,
    /// Where the last restart began, until something new is acknowledged.
    pub(super) restarted: Option<Psn>,
    awaits: Awaits,
    retries_left: u8,
    rnr_left: u8,
}

/// What a requester waits for. While the receiver has asked for a wait, no ACK is awaited and nothing restarts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Awaits {
    #[default]
    Nothing,
    /// Without it, the oldest unacknowledged packet counts as lost.
    Acknowledgement,
    /// The end of the time that the receiver asked for.
    Receiver,
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

    /// Starts to wait for an acknowledgement, unless it waits already.
    pub(super) fn arm(&mut self, now: u64, settings: &Settings) {
        if self.awaits == Awaits::Nothing
            && let Some(timeout) = settings.ack_timeout()
        {
            (self.awaits, self.due) = (Awaits::Acknowledgement, now.saturating_add(timeout));
        }
    }

    /// Waits until the receiver may be ready, instead of for an acknowledgement.
    pub(super) fn wait_for_receiver(&mut self, until: u64) {
        (self.awaits, self.due) = (Awaits::Receiver, until);
    }

    /// Whether the receiver has asked for a wait.
    pub(super) fn is_held_back(&self) -> bool {
        self.awaits == Awaits::Receiver
    }

    /// What it awaits has come, or does not matter any more.
    pub(super) fn disarm(&mut self) {
        self.awaits = Awaits::Nothing;
    }

    /// Ends the receiver's wait if it is over by now; says whether the acknowledgement is overdue.
    pub(super) fn is_overdue(&mut self, now: u64) -> bool {
        let is_due = self.due <= now;
        if self.is_held_back() && is_due {
            self.disarm();
        }
        self.awaits == Awaits::Acknowledgement && is_due
    }

    /// The next time at which something is to be done.
    pub(super) fn next(&self) -> Option<u64> {
        (self.awaits != Awaits::Nothing).then_some(self.due)
    }
}
