//! What one side needs for a game: queue pairs, memory and receives; and how they come into being and are connected.
//!
//! Invariant: a [`Table`] has as many places as the session has queue pairs, each in RTS, and so many receives posted as
//! were asked for.

use std::net::IpAddr;

use rdmalab_device::{
    Access, AddressHandle, Attributes, Capabilities, CompletionQueue, Device, MemoryRegion, Operation, Path,
    ProtectionDomain, Psn, QKey, Qpn, QueuePair, QueuePairOptions, QueuePairType, ReceiveRequest, SendFlags,
    SendRequest, SharedReceiveQueue, SharedReceiveQueueOptions, State, Target,
};

use super::error::PingpongError;
use super::hello::Side;
use super::kind::Kind;
use super::{MOST_QUEUE_PAIRS, Options};

/// What datagrams carry. Seen in `pcaps/ud_pingpong.pcap`.
const QUEUE_KEY: QKey = QKey::new(0x1111_1111);
/// Bytes in front of a received datagram, for its network header.
const NETWORK_HEADER: u32 = 40;
/// All messages' memory together, in bytes. Anything larger is a slip of the pen.
const MOST_MEMORY: u64 = 1 << 32;
/// Numbers of send requests begin here; those of receives are below.
const SENDS: u64 = 1 << 32;

/// Everything one side needs, not connected yet.
pub(super) struct Session<'a> {
    pub(super) options: &'a Options,
    // Dropped in this order: the queue pairs before what they use.
    queue_pairs: Vec<QueuePair>,
    shared_receives: Option<SharedReceiveQueue>,
    pub(super) completions: CompletionQueue,
    memory: MemoryRegion,
    layout: Layout,
    domain: ProtectionDomain,
}

/// Where messages lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// As in the real programs, all are received into one buffer and sent from it: there is only one message on its way.
    One {
        /// Bytes in front of a received message.
        header: u32,
    },
    /// With several queue pairs each receive has a place of its own, and behind those each queue pair one to send from.
    Many {
        /// Receives.
        receives: u32,
    },
}

impl Layout {
    /// Bytes of all places.
    fn length(self, size: u32, queue_pairs: u32) -> u64 {
        match self {
            Self::One { header } => u64::from(header) + u64::from(size),
            Self::Many { receives } => (u64::from(receives) + u64::from(queue_pairs)) * u64::from(size),
        }
    }

    /// Where a receive begins, and bytes of the network header in front of its message.
    fn receive(self, size: u32, number: u32) -> (u64, u32) {
        match self {
            Self::One { header } => (0, header),
            Self::Many { .. } => (u64::from(number) * u64::from(size), 0),
        }
    }

    /// Where a queue pair's message is sent from.
    fn send(self, size: u32, queue_pair: usize) -> u64 {
        match self {
            Self::One { header } => u64::from(header),
            Self::Many { receives } => (u64::from(receives) + queue_pair as u64) * u64::from(size),
        }
    }
}

impl<'a> Session<'a> {
    pub(super) fn open(device: &Device, options: &'a Options) -> Result<Self, PingpongError> {
        let Options { kind, size, .. } = *options;
        let count = queue_pairs(options)?;
        let most = device.max_mtu().bytes();
        if kind == Kind::Ud && size as usize > most {
            return Err(PingpongError::TooLong { size, most });
        }
        let depth = options.receive_depth.max(1);
        if depth < count {
            return Err(PingpongError::Receives { receives: depth, queue_pairs: count });
        }
        let layout = match kind {
            Kind::Srq => Layout::Many { receives: depth },
            Kind::Ud => Layout::One { header: NETWORK_HEADER },
            Kind::Rc | Kind::Uc => Layout::One { header: 0 },
        };
        let length = layout.length(size, count);
        let fits = usize::try_from(length).ok().filter(|_| length <= MOST_MEMORY);
        let domain = device.protection_domain()?;
        let memory = domain.register(fits.ok_or(PingpongError::Memory(length))?, Access::LOCAL_WRITE)?;
        let completions = device.completion_queue(depth.saturating_add(count))?;
        let shared_receives = match kind {
            Kind::Srq => Some(domain.shared_receive_queue(&SharedReceiveQueueOptions {
                max_requests: depth,
                max_elements: 1,
                ..SharedReceiveQueueOptions::default()
            })?),
            _ => None,
        };
        let mut session =
            Self { options, queue_pairs: Vec::new(), shared_receives, completions, memory, layout, domain };
        for _ in 0..count {
            let queue_pair = session.queue_pair(depth)?;
            session.queue_pairs.push(queue_pair);
        }
        for number in 0..depth {
            session.post_receive(number)?;
        }
        Ok(session)
    }

    /// A queue pair in INIT.
    fn queue_pair(&self, depth: u32) -> Result<QueuePair, PingpongError> {
        let kind = self.options.kind.queue_pair_type();
        let capabilities = Capabilities {
            max_send_requests: 1,
            max_receive_requests: if self.shared_receives.is_some() { 0 } else { depth },
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let queue_pair = self.domain.queue_pair_with(&QueuePairOptions {
            capabilities,
            shared_receive_queue: self.shared_receives.as_ref(),
            ..QueuePairOptions::new(kind, &self.completions)
        })?;
        let is_datagram = kind == QueuePairType::Ud;
        queue_pair.modify(&Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: (!is_datagram).then(Access::empty),
            queue_key: is_datagram.then_some(QUEUE_KEY),
            ..Attributes::default()
        })?;
        Ok(queue_pair)
    }

    /// Our queue pairs, as the peer is told of them.
    pub(super) fn sides(&self, address: IpAddr) -> Vec<Side> {
        let psns = (0_u32..).map(|place| self.options.first_psn.wrapping_add(place.wrapping_mul(0x01_0101)));
        let side = |(queue_pair, psn): (&QueuePair, u32)| Side {
            queue_pair: queue_pair.number(),
            psn: Psn::new(psn),
            address,
        };
        self.queue_pairs.iter().zip(psns).map(side).collect()
    }

    /// Brings the queue pairs to RTS, each with its peer.
    pub(super) fn connect(self, local: &[Side], remote: &[Side]) -> Result<Table<'a>, PingpongError> {
        if local.len() != self.queue_pairs.len() || remote.len() != self.queue_pairs.len() {
            return Err(PingpongError::QueuePairs { peer: remote.len(), ours: self.queue_pairs.len() });
        }
        for (local, remote) in local.iter().zip(remote) {
            if local.address.is_ipv4() != remote.address.is_ipv4() {
                return Err(PingpongError::Families { local: local.address, peer: remote.address });
            }
            if local.address == remote.address && local.queue_pair == remote.queue_pair {
                return Err(PingpongError::Echo);
            }
        }
        let mut way = None;
        for ((queue_pair, local), remote) in self.queue_pairs.iter().zip(local).zip(remote) {
            self.bring_up(queue_pair, local, remote)?;
            if self.options.kind == Kind::Ud {
                let handle = self.domain.address_handle(Path::new(local.address, remote.address))?;
                way = Some(Way { peer: *remote, handle });
            }
        }
        Ok(Table { way, session: self })
    }

    /// With the attributes that the real programs set, but for the ACK timeout if asked.
    fn bring_up(&self, queue_pair: &QueuePair, local: &Side, remote: &Side) -> Result<(), PingpongError> {
        let kind = self.options.kind;
        let (is_connected, is_reliable) = (kind != Kind::Ud, kind.is_reliable());
        queue_pair.modify(&Attributes {
            state: Some(State::Rtr),
            path: is_connected.then(|| Path::new(local.address, remote.address)),
            path_mtu: is_connected.then_some(self.options.mtu),
            destination: is_connected.then_some(remote.queue_pair),
            receive_psn: is_connected.then_some(remote.psn),
            max_destination_reads: is_reliable.then_some(1),
            min_rnr_timer: is_reliable.then_some(12),
            ..Attributes::default()
        })?;
        queue_pair.modify(&Attributes {
            state: Some(State::Rts),
            timeout: is_reliable.then_some(self.options.ack_timeout),
            retry_count: is_reliable.then_some(7),
            rnr_retry: is_reliable.then_some(7),
            send_psn: Some(local.psn),
            max_reads: is_reliable.then_some(1),
            ..Attributes::default()
        })?;
        Ok(())
    }

    fn post_receive(&self, number: u32) -> Result<(), PingpongError> {
        let size = self.options.size;
        let (offset, header) = self.layout.receive(size, number);
        let elements = [self.memory.element(offset, header.saturating_add(size))];
        let request = ReceiveRequest { id: u64::from(number), elements: &elements };
        match (&self.shared_receives, self.queue_pairs.first()) {
            (Some(queue), _) => queue.post_receive(&request)?,
            (None, Some(queue_pair)) => queue_pair.post_receive(&request)?,
            (None, None) => {}
        }
        Ok(())
    }
}

/// How many queue pairs there are to be.
fn queue_pairs(options: &Options) -> Result<u32, PingpongError> {
    match (options.kind, options.queue_pairs) {
        (Kind::Srq, count @ 1..=MOST_QUEUE_PAIRS) => Ok(count),
        (Kind::Srq, count) => Err(PingpongError::NoSuchNumber(count)),
        _ => Ok(1),
    }
}

/// A datagram's way to the peer.
struct Way {
    peer: Side,
    handle: AddressHandle,
}

/// Everything one side needs, connected.
pub(super) struct Table<'a> {
    // Before the domain that it is in.
    way: Option<Way>,
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
        self.session.layout.receive(0, 0).1
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
        let (offset, header) = self.session.layout.receive(self.session.options.size, number);
        // The region has a place for each receive.
        let _ = self.session.memory.read(offset as usize + header as usize, message);
    }

    /// Puts a message where the queue pair in this place sends from.
    pub(super) fn write(&self, place: usize, message: &[u8]) {
        // The region has a place for each queue pair.
        let offset = self.session.layout.send(self.session.options.size, place);
        let _ = self.session.memory.write(offset as usize, message);
    }

    /// Whether what was received lies where it is sent from.
    pub(super) fn echoes_in_place(&self) -> bool {
        matches!(self.session.layout, Layout::One { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_many_queue_pairs_do_not_overlap() {
        let layout = Layout::Many { receives: 5 };
        let receives = (0..5).map(|number| layout.receive(100, number).0);
        let places: Vec<u64> = receives.chain((0..3).map(|place| layout.send(100, place))).collect();
        assert_eq!(places, [0, 100, 200, 300, 400, 500, 600, 700]);
        assert_eq!(layout.length(100, 3), 800);
    }

    #[test]
    fn a_datagram_is_sent_from_behind_its_network_header() {
        let layout = Layout::One { header: NETWORK_HEADER };
        assert_eq!((layout.receive(2048, 7), layout.send(2048, 0)), ((0, 40), 40));
        assert_eq!(layout.length(2048, 1), 2088);
    }
}
