//! How often and when a requester may try again, and with how much.

use rdmalab_wire::Psn;

use crate::settings::Settings;

/// RNR retries without a limit, as the specification has it for this count only.
const INFINITE: u8 = 7;

/// Packets that follow a timeout, at most, before something is acknowledged.
const AFTER_TIMEOUT: u32 = 16;

/// Budgets and the deadline of a requester.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// When what it awaits is due.
    due: u64,
    /// Where the last restart began, until something new is acknowledged.
    pub(super) restarted: Option<Psn>,
    awaits: Awaits,
    /// How often the window is halved at present.
    halvings: u8,
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

    /// Something new was acknowledged: all budgets are whole again, and twice as much may be under way.
    pub(super) fn refill(&mut self, settings: &Settings) {
        self.set_budgets(settings);
        self.halvings = self.halvings.saturating_sub(1);
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

    /// Nothing came back in time. If some queue on the way is shorter than the window, what is sent again in one go is cut off
    /// at the same place as before; so less of it is sent until something is acknowledged.
    pub(super) fn shrink(&mut self, window: u32) {
        self.halvings = (window / AFTER_TIMEOUT).max(1).ilog2() as u8;
    }

    /// What is left of a window.
    pub(super) fn window(&self, whole: u32) -> u32 {
        (whole >> self.halvings).max(1)
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
