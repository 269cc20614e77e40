//! What programs are told by descriptors: that asynchronous events wait, and that armed completion queues got something.
//!
//! All of it stands behind the device's lock. Whenever that is let go, descriptors are made to say what is so
//! ([`Notices::settle`]): no event can come about without the lock.
//!
//! There may be thousands of channels, and the lock is let go at every turn: only those of which something has changed are looked
//! at.
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
    /// Channels whose descriptors may not say what is so; some twice, some that are gone.
    changed: Vec<ChannelId>,
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
            changed: Vec::new(),
            has_ended: false,
        }
    }

    /// Makes a channel, with its descriptor.
    pub(super) fn open(&mut self) -> Result<(ChannelId, Arc<Signal>), NetError> {
        let signal = Arc::new(Signal::new()?);
        let id = ChannelId(self.made);
        self.made += 1;
        self.channels.insert(id, Channel { flag: Flag::new(&signal), waiting: VecDeque::new() });
        self.changed.push(id);
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
        let Some(Attached { channel: id, .. }) = attached else { return };
        if let Some(channel) = self.channels.get_mut(&id) {
            channel.waiting.retain(|waiting| *waiting != queue);
            self.changed.push(id);
        }
    }

    /// Takes the oldest event of a channel out.
    pub(super) fn next(&mut self, channel: ChannelId) -> Option<CompletionQueueId> {
        let waiting = &mut self.channels.get_mut(&channel)?.waiting;
        let queue = waiting.pop_front()?;
        self.changed.push(channel);
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
        self.changed.extend(self.channels.keys());
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
                self.changed.push(attached.channel);
            }
        }
        if self.asynchronous.set(port.has_events() || self.has_ended) {
            sleepers.call(Awaited::AsynchronousEvent);
        }
        while let Some(id) = self.changed.pop() {
            let Some(channel) = self.channels.get_mut(&id) else { continue };
            if channel.flag.set(!channel.waiting.is_empty() || self.has_ended) {
                sleepers.call(Awaited::CompletionEvent(id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use rdmalab_roce::EndpointConfig;
    use rdmalab_verbs::{Completion, NotifyOn};
    use rdmalab_wire::PathMtu;

    use super::*;

    struct Scene {
        port: Port,
        notices: Notices,
        sleepers: Sleepers,
    }

    impl Scene {
        fn new() -> Self {
            let config = EndpointConfig::new(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], PathMtu::M1024);
            let notices = Notices::new(&Arc::new(Signal::new().unwrap()));
            Self { port: Port::new(config, 0), notices, sleepers: Sleepers::default() }
        }

        fn queue(&mut self, channel: ChannelId) -> CompletionQueueId {
            let queue = self.port.context.create_completion_queue(4).unwrap();
            self.notices.attach(queue, channel);
            queue
        }

        fn completes(&mut self, queue: CompletionQueueId) {
            self.port.context.arm_completion_queue(queue, NotifyOn::Any).unwrap();
            self.port.context.complete(queue, Completion::default());
        }

        /// Whether each channel is readable, once the lock has been let go.
        fn readable(&mut self) -> Vec<bool> {
            self.notices.settle(&mut self.port, &mut self.sleepers);
            assert!(self.notices.changed.is_empty(), "they are looked at once");
            self.notices.channels.values().map(|channel| channel.flag.is_raised).collect()
        }
    }

    #[test]
    fn a_channel_is_readable_while_events_wait_and_no_other_is_looked_at() {
        let mut scene = Scene::new();
        let channels: Vec<ChannelId> = (0..3).map(|_| scene.notices.open().unwrap().0).collect();
        let queues: Vec<_> = channels.iter().map(|channel| scene.queue(*channel)).collect();
        assert_eq!(scene.readable(), [false; 3]);
        scene.completes(queues[1]);
        assert_eq!(scene.readable(), [false, true, false]);
        assert_eq!(scene.notices.next(channels[1]), Some(queues[1]));
        assert_eq!(scene.notices.changed, [channels[1]]);
        assert_eq!(scene.notices.next(channels[0]), None);
        assert_eq!(scene.notices.changed.len(), 1, "nothing of it has changed");
        assert_eq!(scene.readable(), [false; 3]);
    }

    #[test]
    fn a_channel_whose_last_queue_with_events_goes_is_not_readable_any_more() {
        let mut scene = Scene::new();
        let channel = scene.notices.open().unwrap().0;
        let queues = [(); 2].map(|()| scene.queue(channel));
        queues.iter().for_each(|queue| scene.completes(*queue));
        assert_eq!(scene.readable(), [true]);
        scene.notices.detach(queues[0]);
        assert_eq!(scene.readable(), [true], "the other has events still");
        scene.notices.detach(queues[1]);
        assert_eq!(scene.readable(), [false]);
    }

    #[test]
    fn at_the_end_all_are_readable_those_too_that_are_made_later() {
        let mut scene = Scene::new();
        let gone = scene.notices.open().unwrap().0;
        scene.notices.open().unwrap();
        scene.notices.close(gone);
        assert_eq!(scene.readable(), [false]);
        scene.notices.end();
        assert_eq!(scene.readable(), [true]);
        scene.notices.open().unwrap();
        assert_eq!(scene.readable(), [true; 2]);
    }
}
