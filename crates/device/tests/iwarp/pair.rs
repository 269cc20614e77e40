//! Two emulated hosts with iWARP on a simulated link, in virtual time, connected by the first. What goes over the link is shown to
//! who wants to see it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rdmalab_device::{
    Access, AdapterConfig, Capabilities, CmChannel, CmEventKind, CmId, CompletionQueueId,
    ConnectionParameters, Connections, DisconnectCause, HeapMemory, HostAddress, IwarpSettings, Network,
    NetworkConfig, Operation, Passage, PortSpace, ProtectionDomainId, Qpn, QueuePairConfig, QueuePairType,
    RKey, RemoteAddress, SendFlags, SendRequest, Sge, Transport,
};
use rdmalab_sim::{End, LinkConfig, PerEnd, RuleSet};

const PORT: u16 = 7174;
pub const MTU: usize = 1500;
/// Where the memory of each side begins.
pub const ADDRESS: u64 = 0x10_0000;

/// What a pair is to be like.
pub struct Setup {
    pub link: LinkConfig,
    pub rules: RuleSet,
    /// Bytes of memory of each side.
    pub memory: usize,
    /// READs and atomics at once.
    pub reads: u8,
}

pub struct Side {
    channel: CmChannel,
    pub completions: CompletionQueueId,
    domain: ProtectionDomainId,
    pub memory: Arc<HeapMemory>,
    pub key: u32,
    pub queue_pair: Qpn,
    identifier: CmId,
}

pub struct Pair<S> {
    pub network: Network,
    pub sides: PerEnd<Side>,
    /// What was seen of the frames on the link.
    pub seen: S,
    see: fn(&mut S, &Passage<'_>),
}

fn address(end: End) -> IpAddr {
    if end == End::A { [10, 0, 0, 1].into() } else { [10, 0, 0, 2].into() }
}

impl<S: Default> Pair<S> {
    /// Connected by the one end.
    pub fn new(setup: Setup, see: fn(&mut S, &Passage<'_>)) -> Self {
        let Setup { link, rules, memory, reads } = setup;
        let adapter = |end| AdapterConfig::new(vec![HostAddress::new(address(end), 24)], MTU);
        let adapters = PerEnd { a: adapter(End::A), b: adapter(End::B) };
        let mut network = Network::new(NetworkConfig { adapters, link, rules }).unwrap();
        let mut side = |end: End| {
            let port = &mut network.adapter(end).port;
            port.manage_connections(3).unwrap();
            port.set_transport(Transport::Iwarp, IwarpSettings::default());
            let mut connections = port.connections().unwrap();
            let channel = connections.create_channel().unwrap();
            let identifier = connections.create_id(channel, PortSpace::Tcp).unwrap();
            let completions = port.context.create_completion_queue(256).unwrap();
            let domain = port.context.allocate_protection_domain().unwrap();
            let memory = Arc::new(HeapMemory::new(memory));
            let key = port.context.register(domain, ADDRESS, Arc::clone(&memory) as _, Access::FULL).unwrap();
            Side { channel, completions, domain, memory, key, queue_pair: Qpn::default(), identifier }
        };
        let sides = PerEnd { a: side(End::A), b: side(End::B) };
        let mut pair = Self { network, sides, seen: S::default(), see };
        pair.connect(reads);
        pair
    }

    fn connections(&mut self, end: End) -> Connections<'_> {
        self.network.adapter(end).port.connections().unwrap()
    }

    /// Time passes until there is what is looked for.
    #[track_caller]
    pub fn wait<T>(&mut self, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        let mut goes_on = true;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            // What happens at one end without a frame is there behind the last step.
            assert!(goes_on, "nothing happens any more");
            let (seen, see) = (&mut self.seen, self.see);
            goes_on = self.network.step(u64::MAX, |passage| see(seen, passage));
        }
    }

    #[track_caller]
    fn event(&mut self, end: End) -> (CmId, CmEventKind) {
        let channel = self.sides[end].channel;
        let event = self.wait(|pair| pair.connections(end).poll_event(channel));
        (event.id, event.kind)
    }

    fn create_queue_pair(&mut self, end: End, id: CmId) {
        let Side { domain, completions, .. } = self.sides[end];
        let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, Capabilities::default());
        let number = self.connections(end).create_queue_pair(id, &config).unwrap();
        (self.sides[end].queue_pair, self.sides[end].identifier) = (number, id);
    }

    fn connect(&mut self, reads: u8) {
        let (listener, caller) = (self.sides.b.identifier, self.sides.a.identifier);
        let at = SocketAddr::new(address(End::B), PORT);
        self.connections(End::B).listen(listener, SocketAddr::from(([0; 4], PORT)), 8).unwrap();
        self.wait(|pair| pair.connections(End::B).listening(listener).unwrap());
        let now = self.network.now();
        self.connections(End::A).resolve_address(caller, None, at).unwrap();
        self.connections(End::A).resolve_route(caller).unwrap();
        self.create_queue_pair(End::A, caller);
        let parameters = ConnectionParameters {
            responder_resources: reads,
            initiator_depth: reads,
            ..ConnectionParameters::default()
        };
        self.connections(End::A).connect(now, caller, &parameters).unwrap();
        let (called, kind) = self.event(End::B);
        assert!(matches!(kind, CmEventKind::ConnectRequest { .. }), "{kind:?}");
        self.create_queue_pair(End::B, called);
        self.connections(End::B).accept(now, called, &parameters).unwrap();
        for end in [End::A, End::B] {
            while !matches!(self.event(end).1, CmEventKind::Established { .. }) {}
        }
    }

    /// The other side's memory.
    pub fn remote(&self, end: End) -> RemoteAddress {
        RemoteAddress { address: ADDRESS, key: RKey::new(self.sides[end.opposite()].key) }
    }

    pub fn post(&mut self, end: End, id: u64, operation: Operation, length: usize) {
        let Side { key, queue_pair, .. } = self.sides[end];
        let elements = [Sge { address: ADDRESS, length: length as u32, key }];
        let flags = SendFlags::SIGNALED;
        let request = SendRequest { id, operation, elements: &elements, flags, ..SendRequest::default() };
        self.network.adapter(end).port.post_send(queue_pair, &request).unwrap();
    }

    pub fn disconnect(&mut self) {
        let (now, ours) = (self.network.now(), self.sides.a.identifier);
        self.connections(End::A).disconnect(now, ours).unwrap();
        for (end, cause) in [(End::B, DisconnectCause::Peer), (End::A, DisconnectCause::Ours)] {
            let id = self.sides[end].identifier;
            assert_eq!(self.event(end), (id, CmEventKind::Disconnected(cause)));
        }
    }
}
