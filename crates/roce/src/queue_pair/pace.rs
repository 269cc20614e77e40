//! The rate to which congestion holds a queue pair, and the wait for it.

use alloc::boxed::Box;

use super::QueuePair;
use crate::congestion::{CongestionControl, Controller};

/// Invariant: `until` is set only while the rate of the flow holds back a packet that could go out otherwise.
#[derive(Debug)]
pub(super) struct Pace {
    pub(super) controller: Controller,
    pub(super) until: Option<u64>,
}

impl Pace {
    pub(super) fn new(control: CongestionControl) -> Option<Box<Self>> {
        let controller = Controller::new(control);
        (!matches!(controller, Controller::None)).then(|| Box::new(Self { controller, until: None }))
    }
}

impl QueuePair {
    /// The rate to which the network's congestion holds it, in bytes per second.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.pace.as_ref()?.controller.rate()
    }

    #[inline]
    pub(super) fn paced_until(&self) -> Option<u64> {
        self.pace.as_ref()?.until
    }
}
