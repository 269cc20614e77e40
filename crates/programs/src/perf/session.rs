//! What a test works with on the device: memory, queue pairs, one completion queue for all of them.
//!
//! Memory is one region. Each queue pair has two areas in it: its source, from which it sends and writes and into which it
//! reads, and its sink, which is what the peer is told of, and where messages are received. One-sided operations do not
//! hit one place, but go round in a cycle of 4096 bytes ([`Ring`]), as those of the real programs do. The peer's sink is
//! at least as large, by the agreement at the beginning of the exchange.

use std::net::IpAddr;

use rdmalab_device::{
    Access, AddressHandle, Attributes, Capabilities, CompletionQueue, Device, Identifier, MemoryRegion,
    Meter, Path, PortSpace, ProtectionDomain, Psn, QKey, QueuePair, QueuePairOptions, QueuePairType,
    RemoteAddress, Served, Sge, State, Target,
};

use super::credit::{self, Credits};
use super::error::PerfError;
use super::exchange::{Side, Terms};
use super::managed::{Made, Manager, Wish, greeting};
use super::options::{Operation, Options};
use super::requests;

/// The queue key of the programs' datagrams.
const QUEUE_KEY: QKey = QKey::new(0x1111_1111);
/// Bytes in front of a received datagram.
pub(super) const HEADER_AREA: u32 = 40;
/// More memory than this is not registered for one test.
const MOST_MEMORY: u64 = 4 << 30;

/// The places at which one-sided operations of a size go round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ring {
    stride: u64,
    places: u64,
}

impl Ring {
    pub(super) fn new(size: u32, terms: &Terms) -> Self {
        let stride = u64::from(size).next_multiple_of(u64::from(terms.line)).max(1);
        Self { stride, places: (u64::from(terms.cycle) / stride).max(1) }
    }

    /// How many places there are.
    pub(super) fn places(&self) -> u64 {
        self.places
    }

    /// The place of the `number`-th operation of a queue pair, and where it begins.
    pub(super) fn place(&self, number: u64) -> (u64, u64) {
        let place = number % self.places;
        (place, place * self.stride)
    }
}

/// Everything one side works with.
pub(super) struct Session {
    // Dropped in this order: queue pairs before what they use.
    pub(super) queue_pairs: Vec<QueuePair>,
    ways: Vec<AddressHandle>,
    /// Of connections by rdma_cm.
    pub(super) identifiers: Vec<Identifier>,
    pub(super) completions: CompletionQueue,
    pub(super) memory: MemoryRegion,
    domain: ProtectionDomain,
    /// The peer's queue pairs, once they are connected.
    pub(super) remote: Vec<Side>,
    area: u64,
    /// Where credits are, if there are any.
    pub(super) credits: Option<Credits>,
    first_psns: Vec<Psn>,
    local: IpAddr,
}

impl Session {
    pub(super) fn open(
        device: &Device,
        options: &Options,
        terms: &Terms,
        local: IpAddr,
        manager: Option<&Manager>,
    ) -> Result<Self, PerfError> {
        let count = options.queue_pairs as usize;
        let area = area(options, terms);
        let areas = needed(options, area)?;
        let credits = credit::are_due(options, device.transport()).then_some(Credits::new(areas));
        let length = areas + if credits.is_some() { Credits::needed(options.queue_pairs) } else { 0 };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let domain = device.protection_domain()?;
        let rights = match options.operation {
            Operation::Write => Access::LOCAL_WRITE | Access::REMOTE_WRITE,
            Operation::Read => Access::LOCAL_WRITE | Access::REMOTE_READ,
            Operation::Send if credits.is_some() => Access::LOCAL_WRITE | Access::REMOTE_WRITE,
            Operation::Send => Access::LOCAL_WRITE,
            Operation::FetchAndAdd | Operation::CompareAndSwap => Access::LOCAL_WRITE | Access::REMOTE_ATOMIC,
        };
        let memory = domain.register(length, rights)?;
        let is_greeted = greeting::is_due(options);
        let capabilities = Capabilities {
            max_send_requests: options.send_depth() + u32::from(credits.is_some()),
            max_receive_requests: options.receive_depth() + u32::from(is_greeted),
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: options.inline,
        };
        let entries = (capabilities.max_send_requests + capabilities.max_receive_requests)
            .saturating_mul(options.queue_pairs);
        let completions = device.completion_queue(entries)?;
        let (mut queue_pairs, mut identifiers) = (Vec::with_capacity(count), Vec::new());
        let wished = QueuePairOptions { capabilities, ..QueuePairOptions::new(options.kind, &completions) };
        let is_datagram = options.kind == QueuePairType::Ud;
        if let Some(manager) = manager {
            let made = manager.connect(&Wish {
                space: if is_datagram { PortSpace::Udp } else { PortSpace::Tcp },
                count,
                domain: &domain,
                options: &wished,
                reads: options.outstanding(),
                prepare: &|place, queue_pair| {
                    if !is_greeted {
                        return Ok(());
                    }
                    // A client gets no greeting, and one receive more does no harm.
                    let sink = (count + place) as u64 * area;
                    let length = options.largest_size() + HEADER_AREA;
                    requests::post_receive_at(queue_pair, place, memory.element(sink, length))
                },
                found: &|made| {
                    if !is_greeted {
                        return Ok(());
                    }
                    greeting::send(
                        &domain,
                        &completions,
                        made,
                        memory.element(0, greeting::LENGTH),
                        options.patience,
                    )
                },
            })?;
            for Made { identifier, queue_pair, .. } in made {
                identifiers.push(identifier);
                queue_pairs.push(queue_pair);
            }
        }
        while queue_pairs.len() < count {
            let queue_pair = domain.queue_pair_with(&wished)?;
            queue_pair.modify(&Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: (!is_datagram).then_some(rights & Access::REMOTE),
                queue_key: is_datagram.then_some(QUEUE_KEY),
                ..Attributes::default()
            })?;
            queue_pairs.push(queue_pair);
        }
        let first_psns = (0..count as u64).map(|place| options.first_psn(place)).collect();
        let session = Self {
            queue_pairs,
            ways: Vec::new(),
            identifiers,
            completions,
            memory,
            domain,
            remote: Vec::new(),
            area,
            credits,
            first_psns,
            local,
        };
        session.fill(count);
        Ok(session)
    }

    /// Puts something into the sources. Sinks stay zero: what WRITEs are waited for by their last byte relies on it.
    fn fill(&self, count: usize) {
        let area: Vec<u8> = (0..self.area).map(|place| (place % 251) as u8).collect();
        for place in 0..count as u64 {
            // The region holds all areas.
            let _ = self.memory.write((place * self.area) as usize, &area);
        }
    }

    /// Read what our queue pairs have served, from wherever.
    pub(super) fn meters(&self) -> Vec<Meter> {
        self.queue_pairs.iter().map(QueuePair::meter).collect()
    }

    /// What all of our queue pairs have served; not known over iWARP.
    pub(super) fn served(&self) -> Option<Served> {
        self.queue_pairs.iter().map(QueuePair::served).sum()
    }

    /// Our queue pairs, as the peer is told of them.
    pub(super) fn sides(&self, options: &Options) -> Vec<Side> {
        let pairs = self.queue_pairs.iter().zip(&self.first_psns).enumerate();
        let side = |(place, (queue_pair, &psn)): (usize, (&QueuePair, &Psn))| Side {
            outstanding: options.outstanding(),
            queue_pair: queue_pair.number(),
            psn,
            key: self.memory.key(),
            address: self.memory.address()
                + self.credits.map_or_else(|| self.sink(place), |credits| credits.granted(place)),
            gid: self.local,
        };
        pairs.map(side).collect()
    }

    /// Brings all queue pairs to RTS, with the attributes that the real programs set.
    pub(super) fn connect(
        &mut self,
        options: &Options,
        terms: &Terms,
        remote: Vec<Side>,
    ) -> Result<(), PerfError> {
        for (place, (queue_pair, peer)) in self.queue_pairs.iter().zip(&remote).enumerate() {
            let is_managed = !self.identifiers.is_empty();
            let connected = options.kind != QueuePairType::Ud;
            if is_managed && connected {
                // rdma_cm has connected it. The GID that the peer tells leads nowhere: Linux' iWARP has a MAC address there.
                continue;
            }
            if self.local.is_ipv4() != peer.gid.is_ipv4() {
                return Err(PerfError::Families { local: self.local, peer: peer.gid });
            }
            let path = Path {
                traffic_class: options.traffic_class,
                hop_limit: options.hop_limit,
                ..Path::new(self.local, peer.gid)
            };
            let reliable = options.kind == QueuePairType::Rc;
            if !connected {
                self.ways.push(self.domain.address_handle(path)?);
            }
            if is_managed {
                // It sends already.
                continue;
            }
            queue_pair.modify(&Attributes {
                state: Some(State::Rtr),
                path: connected.then_some(path),
                path_mtu: connected.then_some(terms.mtu),
                destination: connected.then_some(peer.queue_pair),
                receive_psn: connected.then_some(peer.psn),
                max_destination_reads: reliable.then(|| options.outstanding()),
                min_rnr_timer: reliable.then_some(12),
                ..Attributes::default()
            })?;
            queue_pair.modify(&Attributes {
                state: Some(State::Rts),
                timeout: reliable.then_some(options.timeout),
                retry_count: reliable.then_some(7),
                rnr_retry: reliable.then_some(7),
                send_psn: self.first_psns.get(place).copied(),
                max_reads: reliable.then(|| options.outstanding().min(peer.outstanding)),
                ..Attributes::default()
            })?;
        }
        self.remote = remote;
        Ok(())
    }

    /// Where a queue pair's source begins.
    pub(super) fn source(&self, queue_pair: usize) -> u64 {
        queue_pair as u64 * self.area
    }

    /// Where a queue pair's sink begins.
    pub(super) fn sink(&self, queue_pair: usize) -> u64 {
        (self.queue_pairs.len() + queue_pair) as u64 * self.area
    }

    /// A piece of a queue pair's source.
    pub(super) fn element(&self, queue_pair: usize, offset: u64, length: u32) -> Sge {
        self.memory.element(self.source(queue_pair) + offset, length)
    }

    /// The eight bytes that an atomic brought to a place of a queue pair's source, where these places lie side by side.
    pub(super) fn result(&self, queue_pair: usize, place: u64) -> u64 {
        let mut bytes = [0; 8];
        // Areas have room for all results.
        let _ = self.memory.read((self.source(queue_pair) + place * 8) as usize, &mut bytes);
        u64::from_ne_bytes(bytes)
    }

    /// A place in the sink of a queue pair's peer.
    pub(super) fn remote(&self, queue_pair: usize, offset: u64) -> RemoteAddress {
        let peer = self.remote[queue_pair];
        RemoteAddress { address: peer.address.wrapping_add(offset), key: peer.key }
    }

    /// Whom a queue pair's requests are for.
    pub(super) fn target(&self, queue_pair: usize) -> Target {
        match self.ways.get(queue_pair) {
            Some(way) => {
                let key = if self.identifiers.is_empty() { QUEUE_KEY } else { greeting::QUEUE_KEY };
                way.target(self.remote[queue_pair].queue_pair, key)
            }
            None => Target::Connected,
        }
    }
}

/// Whether a test with these options fits into memory, as far as can be said before the peer is known.
pub(super) fn check_memory(options: &Options) -> Result<(), PerfError> {
    needed(options, options.largest_size().into()).map(|_| ())
}

/// Bytes of all areas, if they are not too many.
fn needed(options: &Options, area: u64) -> Result<u64, PerfError> {
    let (count, size) = (options.queue_pairs, options.largest_size());
    let total = area * 2 * u64::from(count);
    if total <= MOST_MEMORY {
        return Ok(total);
    }
    Err(PerfError::Options(format!(
        "{count} queue pairs with messages of {size} bytes need {total} bytes of memory; {MOST_MEMORY} is the most"
    )))
}

/// Bytes of an area: room for a message with what stands before it, for the cycle, and for the results of atomics.
fn area(options: &Options, terms: &Terms) -> u64 {
    let message = u64::from(options.largest_size()) + u64::from(HEADER_AREA);
    let results = u64::from(options.send_depth()) * 8;
    message.max(results).max(terms.cycle.into()).next_multiple_of(terms.line.into())
}

#[cfg(test)]
mod tests {
    use rdmalab_device::PathMtu;

    use super::*;

    const TERMS: Terms = Terms { mtu: PathMtu::M1024, cycle: 4096, line: 64 };

    #[test]
    fn operations_go_round_as_those_of_the_real_program() {
        // Seen of `ib_write_bw -s 100` and `ib_atomic_bw`.
        let ring = Ring::new(100, &TERMS);
        let offsets: Vec<u64> = (0..34).map(|number| ring.place(number).1).collect();
        assert_eq!(offsets[..3], [0, 128, 256]);
        assert_eq!(offsets[31..], [3968, 0, 128]);
        assert_eq!(Ring::new(8, &TERMS).places(), 64);
    }

    #[test]
    fn no_operation_reaches_beyond_the_cycle_or_its_own_size() {
        for size in [1, 63, 64, 65, 1000, 2048, 2049, 4095, 4096, 4097, 1 << 23] {
            let ring = Ring::new(size, &TERMS);
            let end = (0..200).map(|number| ring.place(number).1).max().unwrap() + u64::from(size);
            assert!(end <= u64::from(size).max(4096), "size {size}: {end}");
        }
    }
}
