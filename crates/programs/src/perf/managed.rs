//! Connections by rdma_cm (`-R`): one that carries the conversation, then one for each queue pair of the test, all to the
//! same port. The client calls for all of those at once; the n-th call that comes is for the server's n-th queue pair. Where
//! the test is of datagrams, the client asks for as many services instead.

mod calls;
pub(super) mod greeting;
mod talk;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rdmalab_device::{
    CmEventKind, CmId, Device, EventChannel, Identifier, PortSpace, ProtectionDomain, Qpn, QueuePair,
    QueuePairOptions, QueuePairType,
};

use super::Role;
use super::error::PerfError;
use super::options::Options;
use crate::calling::Stop;
use crate::herald::Herald;

pub(super) use talk::Talk;

/// Callers that may wait while others are let in.
const BACKLOG: usize = 1024;
/// How long the peer may take to say that a connection is over.
const PARTING: Duration = Duration::from_secs(1);

/// Makes the connections of one test.
pub(super) struct Manager {
    // Dropped in this order.
    place: Place,
    channel: EventChannel,
    patience: Option<Duration>,
    stop: Stop,
    herald: Herald,
    /// Connections that have been ended.
    over: RefCell<BTreeSet<CmId>>,
    /// Who called first: nobody else is let in.
    client: RefCell<Option<IpAddr>>,
}

enum Place {
    Caller { server: SocketAddr, source: Option<IpAddr> },
    Called { connections: Identifier, datagrams: Option<Identifier> },
}

/// What connections are to be made.
pub(super) struct Wish<'a> {
    /// [`PortSpace::Udp`] for datagram services.
    pub(super) space: PortSpace,
    /// How many.
    pub(super) count: usize,
    pub(super) domain: &'a ProtectionDomain,
    pub(super) options: &'a QueuePairOptions<'a>,
    /// READs and atomics that may be under way each way.
    pub(super) reads: u8,
    /// What is to be done with the queue pair in a place before it is connected.
    pub(super) prepare: &'a dyn Fn(usize, &QueuePair) -> Result<(), PerfError>,
    /// What is to be done at once with a datagram service that has been found: real servers answer no further question before.
    pub(super) found: &'a dyn Fn(&Made) -> Result<(), PerfError>,
}

/// A connection, or one end of a datagram service.
pub(super) struct Made {
    pub(super) identifier: Identifier,
    pub(super) queue_pair: QueuePair,
    /// Of a datagram service that was asked for, the peer's queue pair.
    pub(super) service: Option<Qpn>,
}

impl Manager {
    /// Listens as server, on the address given; as client, knows whom to call.
    pub(super) fn new(
        device: &Device,
        role: Role,
        options: &Options,
        own: IpAddr,
    ) -> Result<Self, PerfError> {
        let channel = device.event_channel()?;
        let place = match role {
            Role::Server => {
                let listen = |space| {
                    let listener = channel.identifier(space)?;
                    listener.listen(SocketAddr::new(own, options.port), BACKLOG)?;
                    Ok::<_, PerfError>(listener)
                };
                let is_datagram = options.kind == QueuePairType::Ud;
                Place::Called {
                    connections: listen(PortSpace::Tcp)?,
                    datagrams: is_datagram.then(|| listen(PortSpace::Udp)).transpose()?,
                }
            }
            Role::Client(server) => {
                let source = options.gid_index.map(|_| own);
                Place::Caller { server: SocketAddr::new(server, options.port), source }
            }
        };
        Ok(Self {
            place,
            channel,
            patience: options.patience,
            stop: options.stop.clone(),
            herald: options.herald.clone(),
            over: RefCell::default(),
            client: RefCell::default(),
        })
    }

    /// Ends the connections of a test that has failed, so that the peer need not find out by itself.
    pub(super) fn give_up(&self, identifiers: &[Identifier]) {
        for identifier in identifiers {
            // One that is over needs no end.
            let _ = identifier.disconnect();
        }
        self.part(identifiers);
    }

    /// Ends the connections of the test, as client; as server, waits for the client to do so. Datagram services just end.
    pub(super) fn part(&self, identifiers: &[Identifier]) {
        if let Place::Caller { .. } = self.place {
            for identifier in identifiers {
                // One that is over needs no end.
                let _ = identifier.disconnect();
            }
        }
        let end = Instant::now() + PARTING;
        while !identifiers.iter().all(|identifier| self.over.borrow().contains(&identifier.id())) {
            let left = end.saturating_duration_since(Instant::now());
            match self.channel.wait(Some(left)) {
                Ok(Some(event)) => self.note(event.id, &event.kind),
                _ => return,
            }
        }
    }

    fn note(&self, id: CmId, kind: &CmEventKind) {
        if let CmEventKind::Disconnected(_) = kind {
            self.over.borrow_mut().insert(id);
        }
    }
}
