//! The capture beside a link. One that cannot go on is left behind, and the link goes on without: the traffic is what the device
//! is for.

use std::sync::Arc;

use rdmalab_net::MonotonicClock;
use rdmalab_trace::Direction;

use crate::recorder::{RecordError, Recorder};

/// The capture, as long as there is one.
pub(super) struct Capture {
    recorder: Option<Recorder>,
    fault: Option<Arc<RecordError>>,
    /// Its time 0.
    start: u64,
}

impl Capture {
    pub(super) fn new(recorder: Option<Recorder>) -> Self {
        Self { recorder, fault: None, start: MonotonicClock::now() }
    }

    /// Why it has ended early, if it has.
    pub(super) fn fault(&self) -> Option<Arc<RecordError>> {
        self.fault.clone()
    }

    /// Records with the time of this very moment: a turn's own time is that of its beginning.
    pub(super) fn record(&mut self, direction: Direction, frame: &[u8], comment: Option<&str>) {
        let Some(recorder) = &mut self.recorder else { return };
        let time = MonotonicClock::now().saturating_sub(self.start);
        if let Err(fault) = recorder.record(0, time, direction, frame, comment) {
            self.recorder = None;
            self.fault = Some(Arc::new(fault));
        }
    }

    /// Ends it.
    pub(super) fn finish(&mut self) {
        if let Some(Err(fault)) = self.recorder.take().map(Recorder::finish) {
            self.fault = Some(Arc::new(fault));
        }
    }
}
