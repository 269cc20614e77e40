//! A cable in memory: what one device sends, another one in the same process receives.
//!
//! Like a real one it never refuses a frame that it has room for, and loses what nobody is there to take. Invariant: at
//! most [`ROOM`] frames wait in each direction; their buffers are used again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rdmalab_net::{Poller, Waker};

/// Frames that wait in one direction.
const ROOM: usize = 512;

/// One direction.
struct Direction {
    queue: Mutex<Queue>,
    /// Wakes who receives.
    receiver: Waker,
    /// Wakes who sends.
    sender: Waker,
    /// Somebody receives.
    is_open: AtomicBool,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    /// Buffers that are free.
    spare: Vec<Vec<u8>>,
    /// A frame was refused for lack of room.
    refused: bool,
}

impl Direction {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a cable.
pub(super) struct Cable {
    outgoing: Arc<Direction>,
    incoming: Arc<Direction>,
    /// The frame that was received last.
    present: Vec<u8>,
}

impl Cable {
    /// A cable between two devices that wait with these.
    pub(super) fn between(a: &Poller, b: &Poller) -> (Self, Self) {
        let direction = |from: &Poller, to: &Poller| {
            Arc::new(Direction {
                queue: Mutex::default(),
                receiver: to.waker(),
                sender: from.waker(),
                is_open: AtomicBool::new(true),
            })
        };
        let (there, back) = (direction(a, b), direction(b, a));
        let end = |outgoing: &Arc<Direction>, incoming: &Arc<Direction>| Self {
            outgoing: Arc::clone(outgoing),
            incoming: Arc::clone(incoming),
            present: Vec::new(),
        };
        (end(&there, &back), end(&back, &there))
    }

    /// Sends a frame; `false` if there is no room now.
    pub(super) fn send(&mut self, frame: &[u8]) -> bool {
        if !self.outgoing.is_open.load(Ordering::Acquire) {
            return true;
        }
        let mut queue = self.outgoing.queue();
        if queue.frames.len() >= ROOM {
            queue.refused = true;
            return false;
        }
        let mut buffer = queue.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(frame);
        queue.frames.push_back(buffer);
        let was_empty = queue.frames.len() == 1;
        drop(queue);
        if was_empty {
            self.outgoing.receiver.wake();
        }
        true
    }

    /// The next frame.
    pub(super) fn next_frame(&mut self) -> Option<&[u8]> {
        let mut queue = self.incoming.queue();
        let frame = queue.frames.pop_front()?;
        let used = std::mem::replace(&mut self.present, frame);
        queue.spare.push(used);
        let wakes = queue.frames.len() == ROOM / 2 && std::mem::take(&mut queue.refused);
        drop(queue);
        if wakes {
            self.incoming.sender.wake();
        }
        Some(&self.present)
    }

    /// Whether the other end is gone.
    pub(super) fn is_cut(&self) -> bool {
        !self.outgoing.is_open.load(Ordering::Acquire)
    }

    /// Whether frames wait.
    pub(super) fn has_frames(&self) -> bool {
        !self.incoming.queue().frames.is_empty()
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        self.incoming.is_open.store(false, Ordering::Release);
        self.incoming.queue().frames.clear();
        // Who waits for room finds that everything is taken now.
        self.incoming.sender.wake();
    }
}
