//! Two endpoints in one process with any number of connected queue pairs. Packets go from the batch of one straight
//! into the other: no copy, no allocation, no link between.
//!
//! The benchmarks and the test that counts allocations run on it. Every queue pair has a piece of its own of each
//! side's memory; its first half is a source, its second half a target.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rdmalab_roce::{Batch, Endpoint, EndpointConfig, QueuePairConfig};
use rdmalab_verbs::{
    Access, Attributes, Capabilities, CompletionQueueId, CompletionStatus, Context, HeapMemory, Memory,
    Operation, Path, QueuePairType, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_wire::{PathMtu, Psn, Qpn, RKey};

/// Where the region begins, on both sides.
const BASE: u64 = 0x10_0000;
/// Packets of a batch.
const BATCH: usize = 32;
/// Work requests that a queue holds.
pub const DEPTH: u32 = 64;

struct Side {
    context: Context,
    endpoint: Endpoint,
    queue_pairs: Vec<Qpn>,
    completions: CompletionQueueId,
    key: u32,
    batch: Batch,
}

/// Two endpoints, side 0 and side 1, whose queue pairs are connected one by one.
pub struct Pair {
    sides: [Side; 2],
    now: u64,
    /// Bytes of memory that each queue pair has on each side.
    piece: usize,
    /// Packets handed over so far.
    pub packets: u64,
}

fn address(side: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, side as u8 + 1))
}

impl Side {
    fn new(side: usize, queue_pairs: usize, piece: usize) -> Self {
        let mut context = Context::default();
        let mut endpoint = Endpoint::new(EndpointConfig::new(vec![address(side)], PathMtu::M4096));
        let domain = context.allocate_protection_domain().unwrap();
        let completions = context.create_completion_queue(2 * DEPTH * queue_pairs as u32).unwrap();
        let memory = HeapMemory::new(queue_pairs * piece);
        let pattern: Vec<u8> = (0..queue_pairs * piece).map(|n| n as u8).collect();
        memory.write(0, &pattern).unwrap();
        let key = context.register(domain, BASE, Arc::new(memory), Access::FULL).unwrap();
        let config = QueuePairConfig::new(
            QueuePairType::Rc,
            domain,
            completions,
            Capabilities { max_send_requests: DEPTH, max_receive_requests: DEPTH, ..Capabilities::default() },
        );
        let queue_pairs =
            (0..queue_pairs).map(|_| endpoint.create_queue_pair(&mut context, &config).unwrap()).collect();
        let batch = Batch::new(BATCH, PathMtu::M4096, 0);
        Self { context, endpoint, queue_pairs, completions, key, batch }
    }

    fn connect(&mut self, number: Qpn, path: Path, peer: Qpn, mtu: PathMtu) {
        let steps = [
            Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: Some(Access::FULL),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rtr),
                path: Some(path),
                path_mtu: Some(mtu),
                destination: Some(peer),
                receive_psn: Some(Psn::new(0)),
                max_destination_reads: Some(16),
                min_rnr_timer: Some(1),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rts),
                timeout: Some(8),
                retry_count: Some(7),
                rnr_retry: Some(7),
                send_psn: Some(Psn::new(0)),
                max_reads: Some(16),
                ..Attributes::default()
            },
        ];
        for attributes in steps {
            self.endpoint.modify(&mut self.context, number, &attributes).unwrap();
        }
    }
}

impl Pair {
    /// A pair with so many queue pairs, each with `piece` bytes of memory on each side.
    pub fn new(queue_pairs: usize, piece: usize, mtu: PathMtu) -> Self {
        let mut sides = [0, 1].map(|side| Side::new(side, queue_pairs, piece));
        for from in 0..2 {
            let to = 1 - from;
            for n in 0..queue_pairs {
                let (ours, peer) = (sides[from].queue_pairs[n], sides[to].queue_pairs[n]);
                sides[from].connect(ours, Path::new(address(from), address(to)), peer, mtu);
            }
        }
        Self { sides, now: 0, piece, packets: 0 }
    }

    fn sge(&self, side: usize, queue_pair: usize, offset: usize, length: usize) -> Sge {
        let address = BASE + (queue_pair * self.piece + offset) as u64;
        Sge { address, length: length as u32, key: self.sides[side].key }
    }

    /// The target half of a queue pair's memory on side 1.
    pub fn remote(&self, queue_pair: usize) -> RemoteAddress {
        let target = self.sge(1, queue_pair, self.piece / 2, 0);
        RemoteAddress { address: target.address, key: RKey::new(target.key) }
    }

    /// Posts on side 0, with the source half of the queue pair's memory as the local side.
    pub fn post(&mut self, queue_pair: usize, operation: Operation, length: usize) {
        let elements = [self.sge(0, queue_pair, 0, length)];
        let request = SendRequest {
            id: 0,
            operation,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        let side = &mut self.sides[0];
        side.endpoint.post_send(&mut side.context, side.queue_pairs[queue_pair], &request).unwrap();
    }

    /// Posts a receive on side 1, into the target half of the queue pair's memory.
    pub fn receive(&mut self, queue_pair: usize, length: usize) {
        let elements = [self.sge(1, queue_pair, self.piece / 2, length)];
        let request = ReceiveRequest { id: 0, elements: &elements };
        let side = &mut self.sides[1];
        side.endpoint.post_receive(&mut side.context, side.queue_pairs[queue_pair], &request).unwrap();
    }

    /// Hands packets over until nobody has any; `loses` is asked about each by its number.
    pub fn exchange(&mut self, mut loses: impl FnMut(u64) -> bool) {
        let [mut from, mut to] = self.sides.each_mut();
        loop {
            let mut idle = true;
            for _ in 0..2 {
                while from.endpoint.has_packets() {
                    idle = false;
                    from.batch.clear();
                    from.endpoint.poll(&mut from.context, self.now, &mut from.batch);
                    for packet in from.batch.packets() {
                        self.packets += 1;
                        if !loses(self.packets) {
                            to.endpoint.handle_packet(&mut to.context, self.now, packet);
                        }
                    }
                }
                std::mem::swap(&mut from, &mut to);
            }
            if idle {
                return;
            }
        }
    }

    /// As [`exchange`](Self::exchange), and goes on after timeouts until no requests are left. Events are dropped.
    pub fn settle(&mut self, mut loses: impl FnMut(u64) -> bool) {
        loop {
            self.exchange(&mut loses);
            for side in &mut self.sides {
                while side.endpoint.poll_event().is_some() {}
            }
            let deadlines = self.sides.iter().filter_map(|side| side.endpoint.next_timeout());
            let Some(next) = deadlines.min() else { return };
            self.now = next;
            for side in &mut self.sides {
                side.endpoint.handle_timeout(&mut side.context, self.now);
            }
        }
    }

    /// Takes out the completions of a side, all of which must be successes, and says how many they were.
    pub fn completions(&mut self, side: usize) -> usize {
        let side = &mut self.sides[side];
        let mut count = 0;
        while let Some(completion) = side.context.poll_completion(side.completions) {
            assert_eq!(completion.status, CompletionStatus::Success);
            count += 1;
        }
        count
    }
}
