//! What ends many queue pairs at once: completion queues that overrun end those that complete into them, and a port that is
//! gone ends all.

use rdmalab_verbs::Context;

use super::Endpoint;

impl Endpoint {
    /// Ends all queue pairs, since the port is gone for good: what is queued is flushed, and each tells
    /// [`Event::Fatal`](crate::Event::Fatal).
    pub fn end_all(&mut self, context: &mut Context) {
        for index in 0..self.queue_pairs.places() {
            let Some(queue_pair) = self.queue_pairs.at_mut(index) else { continue };
            queue_pair.end_by_fate(context, &mut self.port);
            self.settle_at(index as u32);
        }
        self.notice_overruns(context);
    }

    /// Ends the queue pairs whose completion queues have overrun. That happens once for a queue, so that looking at all
    /// queue pairs then costs nothing that counts.
    #[inline]
    pub(super) fn notice_overruns(&mut self, context: &mut Context) {
        if self.overruns != context.overruns() {
            self.end_overrun(context);
        }
    }

    #[cold]
    fn end_overrun(&mut self, context: &mut Context) {
        self.overruns = context.overruns();
        for index in 0..self.queue_pairs.places() {
            let Some(queue_pair) = self.queue_pairs.at_mut(index) else { continue };
            if queue_pair.settings().has_overrun(context) {
                queue_pair.end_by_fate(context, &mut self.port);
                self.settle_at(index as u32);
            }
        }
    }
}
