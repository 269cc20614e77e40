//! Neighbours of an adapter: looked for ahead, waited for, and missed, in virtual time.

mod way;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rdmalab_device::{
    Access, AdapterConfig, AddressError, Attributes, Capabilities, CmChannel, CmError, CmEventKind, CmId,
    Completion, CompletionQueueId, CompletionStatus, ConnectionParameters, HeapMemory, HostAddress, Network,
    NetworkConfig, Operation, Path, PortSpace, ProtectionDomainId, Psn, QKey, Qpn, QueuePairConfig,
    QueuePairType, ReceiveRequest, SendFlags, SendRequest, Sge, State, Target,
};
use rdmalab_sim::{End, LinkConfig, PerEnd, RuleSet, Seed};
use rdmalab_wire::is_roce_v2;

use way::{Terms, to_rts};

const SECOND: u64 = 1_000_000_000;
const KEY: QKey = QKey::new(0x1234);
const NOBODY: &str = "10.0.0.77";

fn address(end: End) -> IpAddr {
    if end == End::A { [10, 0, 0, 1].into() } else { [10, 0, 0, 2].into() }
}

struct Lab {
    network: Network,
    domains: PerEnd<ProtectionDomainId>,
    completions: PerEnd<CompletionQueueId>,
}

impl Lab {
    fn new() -> Self {
        let adapter = |end| AdapterConfig::new(vec![HostAddress::new(address(end), 24)], 1500);
        let adapters = PerEnd { a: adapter(End::A), b: adapter(End::B) };
        let rules = RuleSet::new(Seed::new(1));
        let mut network =
            Network::new(NetworkConfig { adapters, link: LinkConfig::default(), rules }).unwrap();
        let mut side = |end| {
            let context = &mut network.adapter(end).port.context;
            let domain = context.allocate_protection_domain().unwrap();
            (domain, context.create_completion_queue(256).unwrap())
        };
        let (a, b) = (side(End::A), side(End::B));
        let (domains, completions) = (PerEnd { a: a.0, b: b.0 }, PerEnd { a: a.1, b: b.1 });
        Self { network, domains, completions }
    }

    fn queue_pair(&mut self, end: End, kind: QueuePairType) -> Qpn {
        let most = Capabilities { max_send_requests: 200, max_receive_requests: 200, ..Default::default() };
        let config = QueuePairConfig::new(kind, self.domains[end], self.completions[end], most);
        self.network.adapter(end).port.create_queue_pair(&config).unwrap()
    }

    fn modify(&mut self, end: End, number: Qpn, steps: &[Attributes]) {
        for step in steps {
            self.network.adapter(end).port.modify(number, step).unwrap();
        }
    }

    /// Time passes. The frames that were sent, as whether each is RoCE's.
    fn pass(&mut self, time: u64) -> Vec<bool> {
        let until = self.network.now() + time;
        let mut frames = Vec::new();
        while self.network.step(until, |passage| frames.push(is_roce_v2(passage.frame))) {}
        frames
    }

    fn next(&mut self, end: End) -> Option<Completion> {
        let queue = self.completions[end];
        self.network.adapter(end).port.context.poll_completion(queue)
    }

    /// A that calls somebody, without waiting for anything.
    fn call(&mut self, peer: IpAddr) -> (CmChannel, CmId) {
        let config = QueuePairConfig::new(
            QueuePairType::Rc,
            self.domains.a,
            self.completions.a,
            Capabilities::default(),
        );
        let now = self.network.now();
        let port = &mut self.network.adapter(End::A).port;
        port.manage_connections(1).unwrap();
        let mut connections = port.connections().unwrap();
        let channel = connections.create_channel().unwrap();
        let id = connections.create_id(channel, PortSpace::Tcp).unwrap();
        connections.resolve_address(id, None, SocketAddr::new(peer, 7)).unwrap();
        connections.resolve_route(id).unwrap();
        connections.create_queue_pair(id, &config).unwrap();
        connections.connect(now, id, &ConnectionParameters::default()).unwrap();
        (channel, id)
    }

    fn event(&mut self, channel: CmChannel) -> Option<CmEventKind> {
        let mut connections = self.network.adapter(End::A).port.connections().unwrap();
        connections.poll_event(channel).map(|event| event.kind)
    }
}

/// The way of an RC queue pair to RTS, with two retries of 67 ms.
fn reliable(peer: IpAddr, destination: Qpn) -> [Attributes; 3] {
    let terms = Terms { psn: 1, reads: 1, retry_count: 2, ..Terms::default() };
    to_rts(Path::new(address(End::A), peer), destination, terms)
}

fn datagrams() -> [Attributes; 3] {
    [
        Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            queue_key: Some(KEY),
            ..Attributes::default()
        },
        Attributes { state: Some(State::Rtr), ..Attributes::default() },
        Attributes { state: Some(State::Rts), send_psn: Some(Psn::new(1)), ..Attributes::default() },
    ]
}

#[test]
fn a_connections_neighbour_is_asked_for_when_it_is_ready_to_receive() {
    let mut lab = Lab::new();
    let number = lab.queue_pair(End::A, QueuePairType::Rc);
    let steps = reliable(address(End::B), Qpn::new(0x777));
    lab.modify(End::A, number, &steps[..1]);
    assert_eq!(lab.pass(SECOND), [] as [bool; 0]);
    lab.modify(End::A, number, &steps[1..2]);
    assert_eq!(lab.pass(SECOND), [false, false], "a question and its answer, before anything is sent");
    assert!(lab.network.adapter(End::A).host.next_hop_mac(address(End::B)).is_some());
}

#[test]
fn no_datagram_of_a_burst_is_lost_once_the_neighbour_of_its_address_handle_is_known() {
    let mut lab = Lab::new();
    let [sender, receiver] = [End::A, End::B].map(|end| lab.queue_pair(end, QueuePairType::Ud));
    lab.modify(End::A, sender, &datagrams());
    lab.modify(End::B, receiver, &datagrams());
    let domain = lab.domains.b;
    let port = &mut lab.network.adapter(End::B).port;
    // For the addresses in front of each, which may overwrite each other's.
    let area = Arc::new(HeapMemory::new(40));
    let key = port.context.register(domain, 0x1000, area, Access::LOCAL_WRITE).unwrap();
    let elements = [Sge { address: 0x1000, length: 40, key }];
    for id in 0..200 {
        port.post_receive(receiver, &ReceiveRequest { id, elements: &elements }).unwrap();
    }
    let path = Path::new(address(End::A), address(End::B));
    let domain = lab.domains.a;
    let way = lab.network.adapter(End::A).port.create_address_handle(domain, path).unwrap();
    assert_eq!(lab.pass(SECOND), [false, false]);
    for id in 0..200 {
        let target = Target::Datagram { path: way, queue_pair: receiver, queue_key: KEY };
        let request = SendRequest { id, operation: Operation::Send, target, ..SendRequest::default() };
        lab.network.adapter(End::A).port.post_send(sender, &request).unwrap();
    }
    assert_eq!(lab.pass(SECOND), [true; 200]);
    assert_eq!(lab.network.adapter(End::A).host.counters().unsent, 0);
    for id in 0..200 {
        let completion = lab.next(End::B).expect("a datagram");
        assert_eq!((completion.id, completion.status), (id, CompletionStatus::Success));
    }
}

#[test]
fn an_rc_queue_pair_whose_neighbour_does_not_answer_runs_out_of_retries() {
    let mut lab = Lab::new();
    let number = lab.queue_pair(End::A, QueuePairType::Rc);
    lab.modify(End::A, number, &reliable(NOBODY.parse().unwrap(), Qpn::new(0x777)));
    let request = SendRequest { id: 9, flags: SendFlags::SIGNALED, ..SendRequest::default() };
    lab.network.adapter(End::A).port.post_send(number, &request).unwrap();
    let frames = lab.pass(10 * SECOND);
    assert_eq!(frames, [false; 3], "three questions, and no packet");
    let completion = lab.next(End::A).expect("a completion");
    assert_eq!((completion.id, completion.status), (9, CompletionStatus::RetryExceeded));
    assert_eq!(lab.network.adapter(End::A).port.endpoint.state(number), Some(State::Err));
}

#[test]
fn a_call_waits_for_the_neighbour_and_the_events_come_in_their_order() {
    let mut lab = Lab::new();
    lab.network.adapter(End::B).port.manage_connections(2).unwrap();
    let (channel, _) = lab.call(address(End::B));
    assert_eq!(lab.event(channel), None, "nobody has answered yet");
    let frames = lab.pass(SECOND);
    assert_eq!(frames[..2], [false, false]);
    assert!(frames.len() > 2 && frames[2..].iter().all(|is_roce| *is_roce), "{frames:?}");
    assert_eq!(lab.event(channel), Some(CmEventKind::AddressResolved));
    assert_eq!(lab.event(channel), Some(CmEventKind::RouteResolved));
    assert!(matches!(lab.event(channel), Some(CmEventKind::Rejected { .. })), "nobody listens");
}

#[test]
fn a_call_to_a_neighbour_that_does_not_answer_ends_with_an_address_error() {
    let mut lab = Lab::new();
    let (channel, id) = lab.call(NOBODY.parse().unwrap());
    assert_eq!(lab.pass(2 * SECOND - 1), [false, false]);
    assert_eq!(lab.event(channel), None);
    lab.pass(2 * SECOND);
    assert_eq!(lab.event(channel), Some(CmEventKind::AddressError(AddressError::NoAnswer)));
    assert_eq!(lab.pass(600 * SECOND), [] as [bool; 0], "the call is not repeated");
    assert_eq!(lab.event(channel), None, "and nothing else comes of it");
    let now = lab.network.now();
    let mut connections = lab.network.adapter(End::A).port.connections().unwrap();
    let again = connections.connect(now, id, &ConnectionParameters::default());
    assert_eq!(again, Err(CmError::WrongState("over")));
    connections.destroy_id(now, id).unwrap();
}

#[test]
fn an_address_without_a_route_is_told_at_once_and_another_may_be_tried() {
    let mut lab = Lab::new();
    lab.network.adapter(End::B).port.manage_connections(2).unwrap();
    let port = &mut lab.network.adapter(End::A).port;
    port.manage_connections(1).unwrap();
    let mut connections = port.connections().unwrap();
    let channel = connections.create_channel().unwrap();
    let [id, gone] = [0, 1].map(|_| {
        let id = connections.create_id(channel, PortSpace::Tcp).unwrap();
        connections.resolve_address(id, None, "192.0.2.1:7".parse().unwrap()).unwrap();
        id
    });
    // One that does not wait for its answer.
    connections.destroy_id(0, gone).unwrap();
    lab.pass(0);
    assert_eq!(lab.event(channel), Some(CmEventKind::AddressError(AddressError::NoRoute)));
    let mut connections = lab.network.adapter(End::A).port.connections().unwrap();
    connections.resolve_address(id, None, SocketAddr::new(address(End::B), 7)).unwrap();
    lab.pass(SECOND);
    assert_eq!(lab.event(channel), Some(CmEventKind::AddressResolved));
    assert_eq!(lab.event(channel), None);
}
