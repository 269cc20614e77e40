//! Threads that sleep until something is there for them, each with a bell of its own: who has nothing to take is left
//! asleep, however many there are.
//!
//! All of it stands behind the device's lock. Before that is let go, those for whom something has come about are called
//! ([`Sleepers::call`]), and their bells are rung once it is free, or nearly.
//!
//! Invariants: who sleeps has looked, under the lock that he sleeps with, and found nothing; from then on he is called as
//! soon as there is something, whoever brought it about. Places and bells are used again: going to sleep allocates
//! nothing, once as many have slept at once.

use std::sync::{Arc, Condvar};

use rdmalab_verbs::CompletionQueueId;

use super::notices::ChannelId;
use crate::connections::CmChannel;
use crate::port::Port;

/// What a thread sleeps for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// That a completion queue gets something.
    Completion(CompletionQueueId),
    /// That a completion channel has something to tell.
    CompletionEvent(ChannelId),
    /// That an event channel of connections has something to tell.
    ConnectionEvent(CmChannel),
    /// An asynchronous event.
    AsynchronousEvent,
    /// Something that the emulated host does.
    Host,
    /// Something else, which any turn of the engine may bring.
    Turn,
}

#[derive(Default)]
pub(super) struct Sleepers {
    places: Vec<Place>,
    free: Vec<usize>,
    /// Those who have been called, until they are rung.
    called: Vec<Arc<Condvar>>,
    /// Events of connections that were there when those who sleep for such were called last.
    connection_events: u64,
}

struct Place {
    /// Nothing: nobody sleeps here, or who does has been called.
    awaited: Option<Awaited>,
    bell: Arc<Condvar>,
}

/// Where somebody sleeps.
pub(super) struct Bed {
    place: usize,
    pub(super) bell: Arc<Condvar>,
}

impl Sleepers {
    /// Somebody goes to sleep.
    pub(super) fn lie_down(&mut self, awaited: Awaited, port: &mut Port) -> Bed {
        if let Awaited::Completion(queue) = awaited {
            // It is there as long as its handle is.
            let _ = port.context.watch_completion_queue(queue);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { awaited: None, bell: Arc::default() });
            self.places.len() - 1
        });
        self.places[place].awaited = Some(awaited);
        Bed { place, bell: Arc::clone(&self.places[place].bell) }
    }

    /// Somebody has woken, called or not. Who sleeps there next may be rung for this one, and sleeps on.
    pub(super) fn get_up(&mut self, bed: &Bed) {
        self.places[bed.place].awaited = None;
        self.free.push(bed.place);
    }

    /// Calls those who wait for this.
    pub(super) fn call(&mut self, come: Awaited) {
        self.call_if(|awaited| awaited == come);
    }

    /// Calls everybody.
    pub(super) fn call_all(&mut self) {
        self.call_if(|_| true);
    }

    fn call_if(&mut self, is_met: impl Fn(Awaited) -> bool) {
        for Place { awaited, bell } in &mut self.places {
            if awaited.take_if(|awaited| is_met(*awaited)).is_some() {
                self.called.push(Arc::clone(bell));
            }
        }
    }

    /// Calls those for whom there is something in the port that is not told in another way.
    pub(super) fn settle(&mut self, port: &mut Port) {
        while let Some(queue) = port.context.poll_stirred() {
            self.call(Awaited::Completion(queue));
        }
        let events = port.connection_events();
        if std::mem::replace(&mut self.connection_events, events) != events {
            let has_one = |awaited| matches!(awaited, Awaited::ConnectionEvent(channel) if port.has_connection_event(channel));
            self.call_if(has_one);
        }
    }

    /// Takes those who have been called out, to be rung when the lock is free; `room` is left in their place.
    pub(super) fn swap_called(&mut self, room: &mut Vec<Arc<Condvar>>) {
        std::mem::swap(&mut self.called, room);
    }

    /// Rings for those who have been called.
    pub(super) fn ring(&mut self) {
        ring(&mut self.called);
    }
}

/// Rings bells, each once.
pub(super) fn ring(bells: &mut Vec<Arc<Condvar>>) {
    for bell in bells.drain(..) {
        bell.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use rdmalab_roce::EndpointConfig;
    use rdmalab_verbs::Completion;
    use rdmalab_wire::PathMtu;

    use super::*;

    fn port() -> Port {
        Port::new(EndpointConfig::new(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)], PathMtu::M1024), 0)
    }

    #[test]
    fn only_those_are_called_for_whom_something_has_come_and_each_once() {
        let (mut port, mut sleepers) = (port(), Sleepers::default());
        let queues = [(); 2].map(|()| port.context.create_completion_queue(4).unwrap());
        let beds: Vec<Bed> = [queues[0], queues[1], queues[1]]
            .map(|queue| sleepers.lie_down(Awaited::Completion(queue), &mut port))
            .into();
        let other = sleepers.lie_down(Awaited::Host, &mut port);
        for _ in 0..2 {
            port.context.complete(queues[1], Completion::default());
        }
        sleepers.settle(&mut port);
        let is_called = |sleepers: &Sleepers, bed: &Bed| {
            sleepers.called.iter().filter(|bell| Arc::ptr_eq(bell, &bed.bell)).count()
        };
        let called: Vec<usize> = beds.iter().map(|bed| is_called(&sleepers, bed)).collect();
        assert_eq!((called, is_called(&sleepers, &other)), (vec![0, 1, 1], 0));
        sleepers.settle(&mut port);
        sleepers.call_all();
        let called: Vec<usize> = beds.iter().map(|bed| is_called(&sleepers, bed)).collect();
        assert_eq!((called, is_called(&sleepers, &other)), (vec![1, 1, 1], 1), "nobody twice");
    }

    #[test]
    fn places_are_used_again() {
        let (mut port, mut sleepers) = (port(), Sleepers::default());
        for _ in 0..100 {
            let beds = [Awaited::Turn, Awaited::Host].map(|awaited| sleepers.lie_down(awaited, &mut port));
            beds.iter().for_each(|bed| sleepers.get_up(bed));
            sleepers.call_all();
        }
        assert_eq!((sleepers.places.len(), sleepers.called.len()), (2, 0));
    }
}
