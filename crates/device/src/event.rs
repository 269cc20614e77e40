//! Asynchronous events of a device, wherever they come from.

use rdmalab_roce::Event;
use rdmalab_verbs::ContextEvent;

/// Something that happened without being asked for (`ibv_async_event`).
///
/// At most 1024 events of queue pairs wait to be taken out; those that find no room are counted
/// ([`Counters::lost_events`](rdmalab_roce::Counters::lost_events)). No event of a shared queue is ever lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceEvent {
    /// About a queue pair.
    QueuePair(Event),
    /// About a completion queue or a shared receive queue.
    SharedQueue(ContextEvent),
}
