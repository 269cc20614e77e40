//! Two ports over loopback TCP in one thread, so that what they allocate can be counted.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use allocation_counter::measure;
use rdmalab_net::MonotonicClock;
use rdmalab_roce::{EndpointConfig, QueuePairConfig};
use rdmalab_verbs::{
    Access, Capabilities, CompletionQueueId, CompletionStatus, HeapMemory, Operation, ProtectionDomainId,
    QueuePairType, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge,
};
use rdmalab_wire::mad::PortSpace;
use rdmalab_wire::{PathMtu, Qpn, RKey};

use super::*;
use crate::connections::{CmChannel, CmEventKind, CmId, ConnectionParameters, Connections};
use crate::iwarp::{IwarpSettings, Transport};

const MEMORY: usize = 1 << 18;
const ADDRESS: u64 = 0x10_0000;
/// READs each way.
const READS: u8 = 16;

struct End {
    port: Port,
    streams: KernelStreams,
    channel: CmChannel,
    domain: ProtectionDomainId,
    completions: CompletionQueueId,
    key: u32,
}

impl End {
    fn new(address: IpAddr) -> Self {
        let mut port = Port::new(EndpointConfig::new(vec![address], PathMtu::M1024), 0);
        port.manage_connections(1).unwrap();
        let none = std::time::Duration::ZERO;
        let settings = IwarpSettings { pause: none, greeting_pause: none, ..IwarpSettings::default() };
        port.set_transport(Transport::Iwarp, settings);
        let channel = port.connections().unwrap().create_channel().unwrap();
        let domain = port.context.allocate_protection_domain().unwrap();
        let completions = port.context.create_completion_queue(1024).unwrap();
        let memory = Arc::new(HeapMemory::new(MEMORY));
        let key = port.context.register(domain, ADDRESS, memory, Access::FULL).unwrap();
        Self { port, streams: KernelStreams::open(address, 0).unwrap(), channel, domain, completions, key }
    }

    /// What the engine does in one turn.
    fn turn(&mut self) {
        self.streams.receive(&mut self.port).unwrap();
        self.port.handle_timeout(MonotonicClock::now());
        self.streams.send(&mut self.port);
    }

    fn connections(&mut self) -> Connections<'_> {
        self.port.connections().unwrap()
    }

    fn queue_pair(&mut self, id: CmId, requests: u32) -> Qpn {
        let capabilities = Capabilities {
            max_send_requests: requests,
            max_receive_requests: requests,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let config = QueuePairConfig::new(QueuePairType::Rc, self.domain, self.completions, capabilities);
        self.connections().create_queue_pair(id, &config).unwrap()
    }

    fn post(&mut self, number: Qpn, operation: Operation, length: u32) {
        let elements = [Sge { address: ADDRESS, length, key: self.key }];
        let flags = SendFlags::SIGNALED;
        let request = SendRequest { operation, elements: &elements, flags, ..SendRequest::default() };
        self.port.post_send(number, &request).unwrap();
    }

    fn receive(&mut self, number: Qpn, length: u32) {
        let elements = [Sge { address: ADDRESS, length, key: self.key }];
        self.port.post_receive(number, &ReceiveRequest { id: 0, elements: &elements }).unwrap();
    }

    /// How many requests are done, all with success.
    fn done(&mut self) -> usize {
        std::iter::from_fn(|| self.port.context.poll_completion(self.completions))
            .inspect(|completion| assert_eq!(completion.status, CompletionStatus::Success))
            .count()
    }
}

struct Pair {
    a: End,
    b: End,
    at: SocketAddr,
}

impl Pair {
    /// On two loopback addresses of this test's, and the second listens.
    fn new(number: u8) -> Self {
        let process = (std::process::id() % 200) as u8 + 20;
        let [a, b] = [1, 2].map(|end| End::new(IpAddr::from([127, 220, process, 2 * number + end])));
        let address = b.port.addresses()[0];
        let mut pair = Self { a, b, at: SocketAddr::new(address, 0) };
        let channel = pair.b.channel;
        let listener = pair.b.connections().create_id(channel, PortSpace::Tcp).unwrap();
        pair.b.connections().listen(listener, pair.at, 16).unwrap();
        pair.at = pair.until(|pair| pair.b.connections().listening(listener).unwrap());
        pair
    }

    #[track_caller]
    fn until<T>(&mut self, mut found: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begun = MonotonicClock::now();
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            assert!(MonotonicClock::now() - begun < 30_000_000_000, "nothing happens");
            self.a.turn();
            self.b.turn();
        }
    }

    /// A connection; the queue pairs of `a` and `b`.
    fn connect(&mut self, requests: u32) -> [Qpn; 2] {
        let reads =
            ConnectionParameters { responder_resources: READS, initiator_depth: READS, ..Default::default() };
        let (now, at, channel) = (MonotonicClock::now(), self.at, self.a.channel);
        let caller = self.a.connections().create_id(channel, PortSpace::Tcp).unwrap();
        self.a.connections().resolve_address(caller, None, at).unwrap();
        self.a.connections().resolve_route(caller).unwrap();
        let ours = self.a.queue_pair(caller, requests);
        self.a.connections().connect(now, caller, &reads).unwrap();
        let called = self.until(|pair| {
            let event = pair.b.port.connections().unwrap().poll_event(pair.b.channel)?;
            matches!(event.kind, CmEventKind::ConnectRequest { .. }).then_some(event.id)
        });
        let theirs = self.b.queue_pair(called, requests);
        self.b.connections().accept(now, called, &reads).unwrap();
        let mut standing = 0;
        self.until(|pair| {
            for end in [&mut pair.a, &mut pair.b] {
                while let Some(event) = end.port.connections().unwrap().poll_event(end.channel) {
                    standing += usize::from(matches!(event.kind, CmEventKind::Established { .. }));
                }
            }
            (standing == 2).then_some(())
        });
        [ours, theirs]
    }

    /// One of each both ways over a connection, in several FPDUs.
    fn round(&mut self, [ours, theirs]: [Qpn; 2]) {
        let remote = |key| RemoteAddress { address: ADDRESS, key: RKey::new(key) };
        let [to_b, to_a] = [remote(self.b.key), remote(self.a.key)];
        for (end, other, to) in [(0, theirs, to_b), (1, ours, to_a)] {
            let (sender, receiver) =
                if end == 0 { (&mut self.a, &mut self.b) } else { (&mut self.b, &mut self.a) };
            let own = if end == 0 { ours } else { theirs };
            receiver.receive(other, 70_000);
            sender.post(own, Operation::RdmaWrite(to), 200_000);
            sender.post(own, Operation::Send, 70_000);
            sender.post(own, Operation::RdmaRead(to), 200_000);
            sender.post(own, Operation::FetchAndAdd { remote: to, add: 1 }, 8);
        }
        let mut done = [0, 0];
        self.until(|pair| {
            done[0] += pair.a.done();
            done[1] += pair.b.done();
            (done == [5, 5]).then_some(())
        });
    }
}

#[test]
fn what_connections_carry_costs_no_allocation() {
    let mut pair = Pair::new(0);
    let connections: Vec<_> = (0..3).map(|_| pair.connect(8)).collect();
    let rounds = |pair: &mut Pair, count: usize| {
        for _ in 0..count {
            connections.iter().for_each(|connection| pair.round(*connection));
        }
    };
    rounds(&mut pair, 20);
    let before = pair.a.port.iwarp_counters().sent_fpdus;
    let counted = measure(|| rounds(&mut pair, 50));
    let fpdus = pair.a.port.iwarp_counters().sent_fpdus - before;
    assert!(fpdus > 50 * 3 * 8, "{fpdus} FPDUs");
    assert_eq!(counted.count_total, 0, "allocations for {fpdus} FPDUs");
}

/// All that both ends of a connection keep: queue pair, stream, socket, identifier, and their places in the tables.
#[test]
fn an_idle_connection_takes_less_than_8_kib_besides_its_rings() {
    const CONNECTIONS: usize = 150;
    let mut pair = Pair::new(1);
    // What is there once, as buffers that streams share.
    (0..20).for_each(|_| _ = pair.connect(1));
    let counted = measure(|| (0..CONNECTIONS).for_each(|_| _ = pair.connect(1)));
    let each = counted.bytes_current as usize / (2 * CONNECTIONS);
    println!("{each} bytes for each end of an idle connection, of which it may have {READS} READs each way");
    assert!(each > size_of::<rdmalab_iwarp::QueuePair>() / 2, "{each} bytes: what is counted?");
    assert!(each < 8 * 1024, "{each} bytes");
}
