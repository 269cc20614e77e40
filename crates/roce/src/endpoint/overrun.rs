//! Completion queues that overrun end the queue pairs that complete into them.

use rdmalab_verbs::Context;

use super::Endpoint;

impl Endpoint {
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
                queue_pair.end_by_overrun(context, &mut self.port);
                self.settle_at(index as u32);
            }
        }
    }
}
