//! The lines of a queue pair that a look ahead ([`Endpoint::look_ahead`](crate::Endpoint::look_ahead)) reads. Nothing but
//! time depends on them.

use core::hint::black_box;

use super::QueuePair;

impl QueuePair {
    /// Reads a word of each cache line that a packet from the peer needs, for a look ahead.
    pub(crate) fn touch_for_packet(&self, is_response: bool) {
        black_box((self.settings.serial, self.state));
        if is_response {
            self.send_half.touch();
        } else {
            self.receive_half.touch();
        }
    }

    /// The same for a turn in sending.
    pub(crate) fn touch_for_turn(&self) {
        black_box((self.settings.serial, self.state));
        if self.has_requests {
            self.send_half.touch();
        }
        if self.has_answers {
            self.receive_half.touch();
        }
    }

    /// The same for what the halves point to.
    pub(crate) fn touch_queues(&self) {
        if self.has_requests {
            self.send_half.touch_queues();
        } else {
            self.receive_half.touch_queues();
        }
    }
}
