//! Connections by address and port between two adapters, in virtual time.

use std::net::{IpAddr, SocketAddr};

use rdmalab_device::{
    AdapterConfig, Attributes, Capabilities, CmChannel, CmError, CmEventKind, CmId, CompletionQueueId,
    CompletionStatus, ConnectionParameters, Connections, DisconnectCause, Network, NetworkConfig, Operation,
    PortSpace, ProtectionDomainId, Qpn, QueuePairConfig, QueuePairType, ReceiveRequest, RejReason, SendFlags,
    SendRequest, State,
};
use rdmalab_sim::rule::{lose, only};
use rdmalab_sim::{End, LinkConfig, PerEnd, Probability, RuleSet, Seed};

const PORT: u16 = 7174;

struct Pair {
    network: Network,
    channels: PerEnd<CmChannel>,
    completions: PerEnd<CompletionQueueId>,
    domains: PerEnd<ProtectionDomainId>,
}

fn address(end: End) -> IpAddr {
    if end == End::A { [10, 0, 0, 1].into() } else { [10, 0, 0, 2].into() }
}

impl Pair {
    fn new(rules: RuleSet) -> Self {
        let adapter = |end| {
            let address = rdmalab_device::HostAddress::new(address(end), 24);
            AdapterConfig::new(vec![address], 1500)
        };
        let mut network = Network::new(NetworkConfig {
            adapters: PerEnd { a: adapter(End::A), b: adapter(End::B) },
            link: LinkConfig::default(),
            rules,
        })
        .unwrap();
        let mut side = |end, seed| {
            let port = &mut network.adapter(end).port;
            port.manage_connections(seed).unwrap();
            let channel = port.connections().unwrap().create_channel().unwrap();
            let completions = port.context.create_completion_queue(64).unwrap();
            let domain = port.context.allocate_protection_domain().unwrap();
            (channel, completions, domain)
        };
        let (a, b) = (side(End::A, 1), side(End::B, 2));
        Self {
            network,
            channels: PerEnd { a: a.0, b: b.0 },
            completions: PerEnd { a: a.1, b: b.1 },
            domains: PerEnd { a: a.2, b: b.2 },
        }
    }

    fn connections(&mut self, end: End) -> Connections<'_> {
        self.network.adapter(end).port.connections().unwrap()
    }

    fn config(&self, end: End, kind: QueuePairType) -> QueuePairConfig {
        QueuePairConfig::new(kind, self.domains[end], self.completions[end], Capabilities::default())
    }

    fn listen(&mut self, space: PortSpace) -> CmId {
        let channel = self.channels.b;
        let mut connections = self.connections(End::B);
        let listener = connections.create_id(channel, space).unwrap();
        connections.listen(listener, SocketAddr::from(([0; 4], PORT)), 8).unwrap();
        listener
    }

    fn call(&mut self, kind: QueuePairType, private_data: &[u8]) -> CmId {
        let (channel, config, now) = (self.channels.a, self.config(End::A, kind), self.network.now());
        let space = if kind == QueuePairType::Ud { PortSpace::Udp } else { PortSpace::Tcp };
        let mut connections = self.connections(End::A);
        let id = connections.create_id(channel, space).unwrap();
        connections.resolve_address(id, None, SocketAddr::new(address(End::B), PORT)).unwrap();
        connections.resolve_route(id).unwrap();
        connections.create_queue_pair(id, &config).unwrap();
        let parameters = ConnectionParameters { private_data, ..ConnectionParameters::default() };
        connections.connect(now, id, &parameters).unwrap();
        for expected in [CmEventKind::AddressResolved, CmEventKind::RouteResolved] {
            assert_eq!(self.event(End::A), (id, expected));
        }
        id
    }

    /// Time passes until there is an event for one end.
    #[track_caller]
    fn event(&mut self, end: End) -> (CmId, CmEventKind) {
        let channel = self.channels[end];
        loop {
            if let Some(event) = self.connections(end).poll_event(channel) {
                return (event.id, event.kind);
            }
            assert!(self.network.step(u64::MAX, |_| ()), "nothing happens any more");
        }
    }

    #[track_caller]
    fn accept(&mut self, kind: QueuePairType, private_data: &[u8]) -> CmId {
        let (id, event) = self.event(End::B);
        assert!(matches!(event, CmEventKind::ConnectRequest { .. }), "{event:?}");
        let (config, now) = (self.config(End::B, kind), self.network.now());
        let mut connections = self.connections(End::B);
        connections.create_queue_pair(id, &config).unwrap();
        let parameters = ConnectionParameters { private_data, ..ConnectionParameters::default() };
        connections.accept(now, id, &parameters).unwrap();
        id
    }

    fn queue_pair(&mut self, end: End, id: CmId) -> Qpn {
        self.connections(end).queue_pair(id).unwrap()
    }

    fn state(&mut self, end: End, id: CmId) -> Option<State> {
        let number = self.queue_pair(end, id);
        self.network.adapter(end).port.endpoint.state(number)
    }

    /// An empty message from one end to the other.
    #[track_caller]
    fn message(&mut self, from: End, ids: PerEnd<CmId>) {
        let to = from.opposite();
        let (sender, receiver) = (self.queue_pair(from, ids[from]), self.queue_pair(to, ids[to]));
        let receive = ReceiveRequest { id: 1, elements: &[] };
        self.network.adapter(to).port.post_receive(receiver, &receive).unwrap();
        let send =
            SendRequest { operation: Operation::Send, flags: SendFlags::SIGNALED, ..SendRequest::default() };
        self.network.adapter(from).port.post_send(sender, &send).unwrap();
        for end in [to, from] {
            let completions = self.completions[end];
            let completion = loop {
                if let Some(found) = self.network.adapter(end).port.context.poll_completion(completions) {
                    break found;
                }
                assert!(self.network.step(u64::MAX, |_| ()), "the message does not arrive");
            };
            assert_eq!(completion.status, CompletionStatus::Success);
        }
    }
}

fn no_rules() -> RuleSet {
    RuleSet::new(Seed::new(1))
}

/// The first so many bytes of a field of private data.
fn begins(private_data: &[u8], with: &[u8]) -> bool {
    private_data.starts_with(with) && private_data[with.len()..].iter().all(|&byte| byte == 0)
}

/// A whole life of a connection.
fn lives(mut pair: Pair) {
    pair.listen(PortSpace::Tcp);
    let caller = pair.call(QueuePairType::Rc, b"hello");
    let called = pair.accept(QueuePairType::Rc, b"welcome");
    let (id, event) = pair.event(End::A);
    let CmEventKind::Established { private_data, .. } = event else { panic!("{event:?}") };
    assert!(id == caller && begins(&private_data, b"welcome"));
    // The called side learns it from the caller's word, or from its first message.
    let ids = PerEnd { a: caller, b: called };
    pair.message(End::A, ids);
    let (id, event) = pair.event(End::B);
    assert!(id == called && matches!(event, CmEventKind::Established { .. }), "{event:?}");
    pair.message(End::B, ids);
    let ends = pair.connections(End::A).ends(caller).unwrap();
    let (theirs, ours) = pair.connections(End::B).ends(called).unwrap();
    assert_eq!((ours, theirs), ends);

    let now = pair.network.now();
    pair.connections(End::A).disconnect(now, caller).unwrap();
    assert_eq!(pair.state(End::A, caller), Some(State::Err));
    for (end, id) in [(End::B, called), (End::A, caller)] {
        let (whom, event) = pair.event(end);
        assert!(whom == id && matches!(event, CmEventKind::Disconnected(_)), "{event:?}");
        assert_eq!(pair.state(end, id), Some(State::Err));
    }
    for end in [End::A, End::B] {
        assert_eq!(pair.event(end).1, CmEventKind::TimeWaitExit);
    }
}

#[test]
fn a_connection_lives_from_the_call_to_the_end_of_time_wait() {
    lives(Pair::new(no_rules()));
}

#[test]
fn a_connection_lives_whatever_the_link_loses() {
    for seed in 0..20 {
        let loss = lose(Probability::new(0.2).unwrap());
        let is_roce = |frame: &rdmalab_sim::Frame<'_>| rdmalab_wire::is_roce_v2(frame.bytes);
        lives(Pair::new(RuleSet::new(Seed::new(seed)).with(only("RoCE packets", is_roce, loss))));
    }
}

#[test]
fn who_calls_where_nobody_listens_is_told_so() {
    let mut pair = Pair::new(no_rules());
    let caller = pair.call(QueuePairType::Rc, &[]);
    let (id, event) = pair.event(End::A);
    let CmEventKind::Rejected { reason, .. } = event else { panic!("{event:?}") };
    assert_eq!((id, reason), (caller, RejReason::INVALID_SERVICE_ID));
}

#[test]
fn who_is_called_may_refuse_with_a_word() {
    let mut pair = Pair::new(no_rules());
    let listener = pair.listen(PortSpace::Tcp);
    pair.call(QueuePairType::Uc, b"let me in");
    let (called, event) = pair.event(End::B);
    let CmEventKind::ConnectRequest { listener: by, private_data, .. } = event else { panic!("{event:?}") };
    assert!(by == listener && begins(&private_data, b"let me in"));
    let now = pair.network.now();
    pair.connections(End::B).reject(now, called, b"no").unwrap();
    let (_, event) = pair.event(End::A);
    let CmEventKind::Rejected { reason, private_data } = event else { panic!("{event:?}") };
    assert!(reason == RejReason::CONSUMER_REJECT && begins(&private_data, b"no"));
}

#[test]
fn a_datagram_service_tells_its_queue_pair_and_key() {
    let mut pair = Pair::new(no_rules());
    pair.listen(PortSpace::Udp);
    pair.call(QueuePairType::Ud, b"where?");
    let called = pair.accept(QueuePairType::Ud, b"here");
    let expected = pair.queue_pair(End::B, called);
    let (_, event) = pair.event(End::A);
    let CmEventKind::ServiceResolved { queue_pair, queue_key, private_data } = event else {
        panic!("{event:?}")
    };
    assert_eq!((queue_pair, queue_key.value()), (expected, 0x0123_4567));
    assert!(begins(&private_data, b"here"));
}

#[test]
fn an_identifier_that_is_destroyed_takes_what_it_had_along() {
    let mut pair = Pair::new(no_rules());
    let listener = pair.listen(PortSpace::Tcp);
    let caller = pair.call(QueuePairType::Rc, &[]);
    let called = pair.accept(QueuePairType::Rc, &[]);
    assert!(matches!(pair.event(End::A).1, CmEventKind::Established { .. }));
    let now = pair.network.now();
    pair.connections(End::A).destroy_id(now, caller).unwrap();
    assert_eq!(pair.connections(End::A).disconnect(now, caller), Err(CmError::UnknownId));
    assert!(matches!(pair.event(End::B).1, CmEventKind::Established { .. }));
    let (id, event) = pair.event(End::B);
    assert_eq!((id, event), (called, CmEventKind::Disconnected(DisconnectCause::Peer)));
    let now = pair.network.now();
    pair.connections(End::B).destroy_id(now, listener).unwrap();
    pair.call(QueuePairType::Rc, &[]);
    assert!(matches!(pair.event(End::A).1, CmEventKind::Rejected { .. }));
}

#[test]
fn who_has_accepted_may_end_the_connection_before_the_caller_has_confirmed_it() {
    let mut pair = Pair::new(no_rules());
    pair.listen(PortSpace::Tcp);
    pair.call(QueuePairType::Rc, &[]);
    let called = pair.accept(QueuePairType::Rc, &[]);
    let now = pair.network.now();
    pair.connections(End::B).disconnect(now, called).unwrap();
    assert_eq!(pair.event(End::B).1, CmEventKind::Disconnected(DisconnectCause::Ours));
    assert_eq!(pair.state(End::B, called), Some(State::Err));
    let (_, event) = pair.event(End::A);
    assert!(matches!(event, CmEventKind::Rejected { .. } | CmEventKind::Established { .. }), "{event:?}");
    if matches!(event, CmEventKind::Established { .. }) {
        assert!(matches!(pair.event(End::A).1, CmEventKind::Disconnected(_)));
    }
}

#[test]
fn callers_of_a_listener_that_goes_before_it_hears_of_them_are_refused() {
    let mut pair = Pair::new(no_rules());
    let listener = pair.listen(PortSpace::Tcp);
    pair.call(QueuePairType::Rc, &[]);
    while pair.network.step(pair.network.now() + 1_000_000, |_| ()) {}
    let now = pair.network.now();
    pair.connections(End::B).destroy_id(now, listener).unwrap();
    assert!(matches!(pair.event(End::A).1, CmEventKind::Rejected { .. }));
}

#[test]
fn commands_out_of_turn_are_refused_by_name() {
    let mut pair = Pair::new(no_rules());
    let (channel, config) = (pair.channels.a, pair.config(End::A, QueuePairType::Ud));
    let mut connections = pair.connections(End::A);
    let id = connections.create_id(channel, PortSpace::Tcp).unwrap();
    assert_eq!(connections.resolve_route(id), Err(CmError::WrongState("new")));
    assert_eq!(connections.connect(0, id, &ConnectionParameters::default()), Err(CmError::WrongState("new")));
    assert_eq!(connections.create_queue_pair(id, &config), Err(CmError::WrongKind));
    let v6: SocketAddr = "[2001:db8::1]:5".parse().unwrap();
    assert_eq!(connections.resolve_address(id, None, v6), Err(CmError::NoAddress(v6.ip())));
    connections.resolve_address(id, None, SocketAddr::new(address(End::B), 1)).unwrap();
    connections.resolve_route(id).unwrap();
    assert_eq!(connections.connect(0, id, &ConnectionParameters::default()), Err(CmError::NoQueuePair));
    let port = &mut pair.network.adapter(End::A).port;
    let gone = Attributes { state: Some(State::Err), ..Attributes::default() };
    assert!(port.modify(Qpn::new(0x7777), &gone).is_err());
}
