//! What one side needs for a game: queue pairs, memory and receives; and how they come into being and are connected.
//!
//! Invariant: it has as many receives posted as were asked for, and at least one for each queue pair. When it is a [`Table`],
//! each queue pair is in RTS.

use std::net::IpAddr;

use rdmalab_device::{
    Access, Attributes, Capabilities, CompletionQueue, Device, MemoryRegion, Path, ProtectionDomain, Psn,
    QKey, QueuePair, QueuePairOptions, QueuePairType, ReceiveRequest, SharedReceiveQueue,
    SharedReceiveQueueOptions, State,
};

use super::error::PingpongError;
use super::hello::Side;
use super::kind::Kind;
use super::layout::Layout;
use super::table::{Table, Way};
use super::{MOST_QUEUE_PAIRS, Options};

/// What datagrams carry. Seen in `pcaps/ud_pingpong.pcap`.
pub(super) const QUEUE_KEY: QKey = QKey::new(0x1111_1111);
/// All messages' memory together, in bytes. Anything larger is a slip of the pen.
const MOST_MEMORY: u64 = 1 << 32;

/// Everything one side needs, not connected yet.
pub(super) struct Session<'a> {
    pub(super) options: &'a Options,
    // Dropped in this order: the queue pairs before what they use.
    pub(super) queue_pairs: Vec<QueuePair>,
    shared_receives: Option<SharedReceiveQueue>,
    pub(super) completions: CompletionQueue,
    pub(super) memory: MemoryRegion,
    pub(super) layout: Layout,
    domain: ProtectionDomain,
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
        let layout = Layout::of(kind, depth);
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

    pub(super) fn post_receive(&self, number: u32) -> Result<(), PingpongError> {
        let size = self.options.size;
        let length = self.layout.header().saturating_add(size);
        let elements = [self.memory.element(self.layout.receive(size, number), length)];
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
