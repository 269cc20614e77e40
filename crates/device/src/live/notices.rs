//! What programs are told by descriptors: that asynchronous events wait, and that armed completion queues got something.
//!
//! All of it stands behind the device's lock. Whenever that is let go, descriptors are made to say what is so
//! ([`Notices::settle`]): no event can come about without the lock.
//!
//! Invariants: a descriptor is readable exactly while something waits to be taken out, or once the device has ended. A
//! completion queue stands in the queue of its channel once at most, with a count.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rdmalab_net::{NetError, Signal};
use rdmalab_verbs::CompletionQueueId;

use super::sleepers::{Awaited, Sleepers};
use crate::port::Port;

/// Names a channel of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChannelId(u64);

pub(super) struct Notices {
    asynchronous: Flag,
    channels: BTreeMap<ChannelId, Channel>,
    made: u64,
    /// Completion queues that have a channel.
    queues: BTreeMap<CompletionQueueId, Attached>,
    has_ended: bool,
}

struct Channel {
    flag: Flag,
    /// Queues with events that nobody took out.
    waiting: VecDeque<CompletionQueueId>,
}

struct Attached {
    channel: ChannelId,
    /// Events that wait to be taken out.
    due: u32,
}

/// A descriptor, and whether it is readable.
struct Flag {
    signal: Arc<Signal>,
    is_raised: bool,
}

impl Flag {
    fn new(signal: &Arc<Signal>) -> Self {
        Self { signal: Arc::clone(signal), is_raised: false }
    }

    /// Says whether it has become readable.
    fn set(&mut self, raised: bool) -> bool {
        if raised == self.is_raised {
            return false;
        }
        self.is_raised = raised;
        if raised {
            self.signal.raise();
        } else {
            // Reading a descriptor of our own cannot fail; should it, somebody looks once in vain.
            let _ = self.signal.lower();
        }
        raised
    }
}

impl Notices {
    /// With the descriptor for asynchronous events.
    pub(super) fn new(asynchronous: &Arc<Signal>) -> Self {
        Self {
            asynchronous: Flag::new(asynchronous),
            channels: BTreeMap::new(),
            made: 0,
            queues: BTreeMap::new(),
            has_ended: false,
        }
    }

    /// Makes a channel, with its descriptor.
    pub(super) fn open(&mut self) -> Result<(ChannelId, Arc<Signal>), NetError> {
        let signal = Arc::new(Signal::new()?);
        let id = ChannelId(self.made);
        self.made += 1;
        self.channels.insert(id, Channel { flag: Flag::new(&signal), waiting: VecDeque::new() });
        Ok((id, signal))
    }

    /// A channel is gone. Its queues have none from then on.
    pub(super) fn close(&mut self, id: ChannelId) {
        self.channels.remove(&id);
        self.queues.retain(|_, attached| attached.channel != id);
    }

    /// From now on, the channel tells of a queue.
    pub(super) fn attach(&mut self, queue: CompletionQueueId, channel: ChannelId) {
        self.queues.insert(queue, Attached { channel, due: 0 });
    }

    /// Whether there is a channel to tell of a queue.
    pub(super) fn is_attached(&self, queue: CompletionQueueId) -> bool {
        self.queues.contains_key(&queue)
    }

    /// A queue is gone, and what was to be told of it.
    pub(super) fn detach(&mut self, queue: CompletionQueueId) {
        let attached = self.queues.remove(&queue);
        if let Some(channel) = attached.and_then(|attached| self.channels.get_mut(&attached.channel)) {
            channel.waiting.retain(|waiting| *waiting != queue);
        }
    }

    /// Takes the oldest event of a channel out.
    pub(super) fn next(&mut self, channel: ChannelId) -> Option<CompletionQueueId> {
        let waiting = &mut self.channels.get_mut(&channel)?.waiting;
        let queue = waiting.pop_front()?;
        if let Some(attached) = self.queues.get_mut(&queue) {
            attached.due -= 1;
            if attached.due > 0 {
                waiting.push_back(queue);
            }
        }
        Some(queue)
    }

    /// The device has ended: whoever waits for a descriptor is to find out.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// Takes in what the port has to tell, makes the descriptors say what is so, and calls those who sleep for it: whoever
    /// does has found nothing, so that the descriptor of what he sleeps for was not readable.
    pub(super) fn settle(&mut self, port: &mut Port, sleepers: &mut Sleepers) {
        while let Some(queue) = port.context.poll_completion_event() {
            let Some(attached) = self.queues.get_mut(&queue) else { continue };
            let Some(channel) = self.channels.get_mut(&attached.channel) else { continue };
            attached.due += 1;
            if attached.due == 1 {
                channel.waiting.push_back(queue);
            }
        }
        if self.asynchronous.set(port.has_events() || self.has_ended) {
            sleepers.call(Awaited::AsynchronousEvent);
        }
        for (&id, channel) in &mut self.channels {
            if channel.flag.set(!channel.waiting.is_empty() || self.has_ended) {
                sleepers.call(Awaited::CompletionEvent(id));
            }
        }
    }
}
