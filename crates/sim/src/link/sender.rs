//! One direction's sending side: when each frame has left, whether there is room for it, and which frames
//! a rule holds back.

use std::num::NonZeroU64;

use super::LinkConfig;
use super::flight::{Flight, Ticket};

/// What a frame counts at least towards the bytes on the link, so that empty ones do not fill the memory.
const LEAST: usize = 64;
const NANOSECONDS_TIMES_BITS: u128 = 8 * 1_000_000_000;

/// Invariant: `rest / bandwidth` is the part of a nanosecond by which the last frame leaves later than
/// `free_at`, so that rounding never adds up, however short the frames.
#[derive(Debug, Default)]
pub(super) struct Sender {
    free_at: u64,
    rest: u64,
    on_link: usize,
    held: Vec<Ticket>,
}

impl Sender {
    /// Bytes that have not left by `now`.
    pub(super) fn queued(&self, now: u64, bandwidth: Option<NonZeroU64>) -> usize {
        let (Some(wait), Some(bandwidth)) = (self.free_at.checked_sub(now), bandwidth) else { return 0 };
        let bits = u128::from(wait) * u128::from(bandwidth.get()) + u128::from(self.rest);
        usize::try_from(bits.div_ceil(NANOSECONDS_TIMES_BITS)).unwrap_or(usize::MAX)
    }

    /// From when on no more than `waiting` bytes wait to leave.
    pub(super) fn below(&self, waiting: usize, bandwidth: NonZeroU64) -> u64 {
        let time = waiting as u128 * NANOSECONDS_TIMES_BITS / u128::from(bandwidth.get());
        self.free_at.saturating_sub(u64::try_from(time).unwrap_or(u64::MAX)).saturating_add(1)
    }

    /// Bytes on the link, with those that wait.
    pub(super) fn on_link(&self) -> usize {
        self.on_link
    }

    /// Sends a frame of `length` bytes behind those that wait: when its last bit leaves, or `None` where
    /// there is no room for it.
    pub(super) fn depart(&mut self, now: u64, length: usize, config: &LinkConfig) -> Option<u64> {
        let on_link = self.on_link.checked_add(length.max(LEAST))?;
        let queued = self.queued(now, config.bandwidth);
        let queue_full = queued > 0 && queued.saturating_add(length) > config.queue_limit;
        if queue_full || on_link > config.in_flight_limit {
            return None;
        }
        self.on_link = on_link;
        if self.free_at < now {
            (self.free_at, self.rest) = (now, 0);
        }
        if let Some(bandwidth) = config.bandwidth {
            let bandwidth = u128::from(bandwidth.get());
            let work = length as u128 * NANOSECONDS_TIMES_BITS + u128::from(self.rest);
            self.free_at = self.free_at.saturating_add(u64::try_from(work / bandwidth).unwrap_or(u64::MAX));
            // Less than the bandwidth, so it fits.
            self.rest = (work % bandwidth) as u64;
        }
        Some(self.free_at.saturating_add(u64::from(self.rest > 0)))
    }

    /// A frame of `length` bytes has left the link.
    pub(super) fn arrived(&mut self, length: usize) {
        self.on_link -= length.max(LEAST);
    }

    /// Holds a frame back until the next [`Sender::release`].
    pub(super) fn hold(&mut self, ticket: Ticket, flight: &Flight) {
        if self.held.len() == self.held.capacity() {
            // Forget those whose time ran out. Growing where that freed less than half keeps this rare.
            self.held.retain(|&held| flight.is_flying(held));
            if self.held.len() > self.held.capacity() / 2 {
                self.held.reserve(self.held.capacity());
            }
        }
        self.held.push(ticket);
    }

    /// The frames held back, in their order, no longer held. Some of them may have arrived already.
    pub(super) fn release(&mut self) -> impl Iterator<Item = Ticket> {
        self.held.drain(..)
    }

    #[cfg(test)]
    pub(super) fn room_for_held(&self) -> usize {
        self.held.capacity()
    }
}
