//! A connected session, as the game uses it: requests by their places, messages by their numbers.
//!
//! It never judges what it carries.

use rdmalab_device::{AddressHandle, Operation, Qpn, QueuePair, SendFlags, SendRequest, Target};

use super::error::PingpongError;
use super::hello::Side;
use super::session::{QUEUE_KEY, Session};

/// Numbers of send requests begin here; those of receives are below.
const SENDS: u64 = 1 << 32;

/// A datagram's way to the peer.
pub(super) struct Way {
    pub(super) peer: Side,
    pub(super) handle: AddressHandle,
}

/// Everything one side needs, connected.
pub(super) struct Table<'a> {
    // Before the domain that it is in.
    pub(super) way: Option<Way>,
    pub(super) session: Session<'a>,
}

/// Which request has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// The receive of this number.
    Receive(u32),
    /// What the queue pair in this place has sent.
    Send(usize),
}

impl Request {
    pub(super) fn of(id: u64) -> Self {
        match u32::try_from(id) {
            Ok(number) => Self::Receive(number),
            Err(_) => Self::Send((id - SENDS) as usize),
        }
    }
}

impl Table<'_> {
    /// The queue pairs' numbers, by place.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Qpn> + '_ {
        self.session.queue_pairs.iter().map(QueuePair::number)
    }

    /// Bytes in front of a received message.
    pub(super) fn header(&self) -> u32 {
        self.session.layout.header()
    }

    /// Whether a message from that queue pair is the peer's. Only datagrams tell, and may come from anybody.
    pub(super) fn is_peers(&self, source: Option<Qpn>) -> bool {
        self.way.as_ref().is_none_or(|way| source == Some(way.peer.queue_pair))
    }

    /// Posts a receive again.
    pub(super) fn post_receive(&self, number: u32) -> Result<(), PingpongError> {
        self.session.post_receive(number)
    }

    /// Sends what lies where the queue pair in this place sends from.
    pub(super) fn post_send(&self, place: usize) -> Result<(), PingpongError> {
        let Some(queue_pair) = self.session.queue_pairs.get(place) else { return Ok(()) };
        let size = self.session.options.size;
        let elements = [self.session.memory.element(self.session.layout.send(size, place), size)];
        let target = match &self.way {
            Some(way) => way.handle.target(way.peer.queue_pair, QUEUE_KEY),
            None => Target::Connected,
        };
        queue_pair.post_send(&SendRequest {
            id: SENDS + place as u64,
            operation: Operation::Send,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            target,
            ..SendRequest::default()
        })?;
        Ok(())
    }

    /// Copies the message of a receive out.
    pub(super) fn read(&self, number: u32, message: &mut [u8]) {
        let offset = self.session.layout.receive(self.session.options.size, number);
        // The region has a place for each receive.
        let _ = self.session.memory.read(offset as usize + self.header() as usize, message);
    }

    /// Puts a message where the queue pair in this place sends from.
    pub(super) fn write(&self, place: usize, message: &[u8]) {
        // The region has a place for each queue pair.
        let offset = self.session.layout.send(self.session.options.size, place);
        let _ = self.session.memory.write(offset as usize, message);
    }

    /// Whether what was received lies where it is sent from.
    pub(super) fn echoes_in_place(&self) -> bool {
        self.session.layout.is_one()
    }
}
