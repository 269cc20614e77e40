//! Live devices without any privilege: over a cable in memory and over UDP sockets on loopback addresses; and one at a UDP
//! socket with a host that is no socket, in a network namespace.

mod way;

use std::net::SocketAddr;
use std::time::Duration;

use rdmalab_device::{
    Access, CmEventKind, CompletionStatus, ConnectionParameters, Counters, Device, DeviceConfig, Discard,
    HostAddress, MemoryRegion, Operation, Path, PathMtu, PortSpace, QueuePair, QueuePairOptions,
    QueuePairType, ReceiveRequest, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_namespace::{IP, in_a_fresh_namespace, run};
use rdmalab_sim::rule::{from, lose};
use rdmalab_sim::{End, Probability, RuleSet, Seed};

use way::{Terms, to_rts};

const LENGTH: usize = 3_000_001;
const PATIENCE: Option<Duration> = Some(Duration::from_secs(30));

fn config(address: &str) -> DeviceConfig {
    DeviceConfig::new(vec![address.parse::<HostAddress>().unwrap()])
}

struct Side {
    device: Device,
    queue_pair: QueuePair,
    completions: rdmalab_device::CompletionQueue,
    memory: MemoryRegion,
}

impl Side {
    fn new(device: Device) -> Self {
        let domain = device.protection_domain().unwrap();
        let completions = device.completion_queue(64).unwrap();
        let queue_pair =
            domain.queue_pair_with(&QueuePairOptions::new(QueuePairType::Rc, &completions)).unwrap();
        let memory = domain.register(LENGTH, Access::FULL).unwrap();
        Self { device, queue_pair, completions, memory }
    }

    fn connect(&self, peer: &Self) {
        // Behind the link-local one, if there is that.
        let gid = |side: &Self| *side.device.gids().last().unwrap();
        let path = Path::new(gid(self), gid(peer));
        let terms = Terms { path_mtu: PathMtu::M4096, psn: 0xff_fff0, ..Terms::default() };
        for step in &to_rts(path, peer.queue_pair.number(), terms) {
            self.queue_pair.modify(step).unwrap();
        }
    }

    fn all(&self) -> (Sge, RemoteAddress) {
        (self.memory.element(0, LENGTH as u32), self.memory.remote(0))
    }

    fn done(&self) {
        let completion = self.completions.wait(PATIENCE).unwrap().expect("no completion in time");
        assert_eq!(completion.status, CompletionStatus::Success);
    }
}

/// A WRITE there, a READ back, and a SEND, each of some megabytes.
fn all_arrives(a: Device, b: Device) -> [Counters; 2] {
    let (a, b) = (Side::new(a), Side::new(b));
    a.connect(&b);
    b.connect(&a);
    let data: Vec<u8> = (0..LENGTH as u32).map(|n| (n * 7 + n / 251) as u8).collect();
    a.memory.write(0, &data).unwrap();
    let ((ours, _), (theirs, remote)) = (a.all(), b.all());
    let read = |side: &Side| {
        let mut bytes = vec![0; LENGTH];
        side.memory.read(0, &mut bytes).unwrap();
        bytes
    };

    let post = |id, operation| {
        let flags = SendFlags::SIGNALED;
        let request = SendRequest { id, operation, elements: &[ours], flags, ..SendRequest::default() };
        a.queue_pair.post_send(&request).unwrap();
    };

    post(1, Operation::RdmaWrite(remote));
    a.done();
    assert!(read(&b) == data, "the WRITE arrived damaged");

    a.memory.write(0, &vec![0; LENGTH]).unwrap();
    post(2, Operation::RdmaRead(remote));
    a.done();
    assert!(read(&a) == data, "the READ came back damaged");

    b.memory.write(0, &vec![0; LENGTH]).unwrap();
    b.queue_pair.post_receive(&ReceiveRequest { id: 3, elements: &[theirs] }).unwrap();
    post(3, Operation::Send);
    a.done();
    b.done();
    assert!(read(&b) == data, "the SEND arrived damaged");
    [a.device.counters(), b.device.counters()]
}

#[test]
fn megabytes_go_over_a_cable_in_memory() {
    let (a, b) = Device::pair(config("10.0.0.1/24"), config("10.0.0.2/24")).unwrap();
    all_arrives(a, b);
}

#[test]
fn megabytes_go_over_udp_sockets_and_no_checksum_is_wrong() {
    let a = Device::open_udp(config("127.7.92.1/8")).unwrap();
    let b = Device::open_udp(config("127.7.92.2/8")).unwrap();
    let counters = all_arrives(a, b);
    for counters in counters {
        assert_eq!(counters.discarded(Discard::Icrc), 0);
        assert!(counters.rcvd_pkts > 700, "{counters:?}");
    }
}

/// Other implementations send packets over IPv6 without a UDP checksum, which the kernel does not take for granted.
#[test]
fn over_ipv6_a_udp_socket_takes_packets_without_checksum() {
    in_a_fresh_namespace("over_ipv6_a_udp_socket_takes_packets_without_checksum", &[IP], || {
        run("ip link add left mtu 5000 type veth peer name right mtu 5000");
        for end in ["left", "right"] {
            run(&format!("ip link set {end} up"));
        }
        run("ip address add fd00:6::1/64 dev left nodad");
        let a = Device::open_udp(config("fd00:6::1/64")).unwrap();
        let b = Device::open_interface("right", config("fd00:6::2/64")).unwrap();
        all_arrives(a, b);
    });
}

#[test]
fn losses_on_udp_sockets_are_made_up_for() {
    let rules = |seed| {
        let losses = lose(Probability::new(0.02).unwrap());
        Some(RuleSet::new(Seed::new(seed)).with(from(End::A, losses)))
    };
    let a = Device::open_udp(DeviceConfig { rules: rules(1), ..config("127.7.92.3/8") }).unwrap();
    let b = Device::open_udp(DeviceConfig { rules: rules(2), ..config("127.7.92.4/8") }).unwrap();
    all_arrives(a, b);
}

#[test]
fn a_connection_by_address_and_port_goes_over_udp_sockets() {
    let a = Device::open_udp(config("127.7.92.5/8")).unwrap();
    let b = Device::open_udp(config("127.7.92.6/8")).unwrap();
    let channels = [&a, &b].map(|device| device.event_channel().unwrap());
    let event = |end: usize| channels[end].wait(PATIENCE).unwrap().expect("no event in time");
    let listener = channels[1].identifier(PortSpace::Tcp).unwrap();
    listener.listen("0.0.0.0:0".parse().unwrap(), 4).unwrap();
    let port = listener.ends().unwrap().0.unwrap().port();

    let caller = channels[0].identifier(PortSpace::Tcp).unwrap();
    caller.resolve_address(None, SocketAddr::new(b.gids()[0], port)).unwrap();
    assert_eq!(event(0).kind, CmEventKind::AddressResolved);
    caller.resolve_route().unwrap();
    assert_eq!(event(0).kind, CmEventKind::RouteResolved);
    let (domain_a, domain_b) = (a.protection_domain().unwrap(), b.protection_domain().unwrap());
    let (done_a, done_b) = (a.completion_queue(8).unwrap(), b.completion_queue(8).unwrap());
    let ours = caller.queue_pair(&domain_a, &QueuePairOptions::new(QueuePairType::Rc, &done_a)).unwrap();
    caller.connect(&ConnectionParameters::default()).unwrap();

    let called = event(1).called.expect("a call");
    let theirs = called.queue_pair(&domain_b, &QueuePairOptions::new(QueuePairType::Rc, &done_b)).unwrap();
    theirs.post_receive(&ReceiveRequest { id: 5, elements: &[] }).unwrap();
    called.accept(&ConnectionParameters::default()).unwrap();
    assert!(matches!(event(0).kind, CmEventKind::Established { .. }));
    assert!(matches!(event(1).kind, CmEventKind::Established { .. }));
    ours.post_send(&SendRequest { operation: Operation::Send, ..SendRequest::default() }).unwrap();
    assert_eq!(done_b.wait(PATIENCE).unwrap().unwrap().id, 5);

    drop(called);
    assert!(matches!(event(0).kind, CmEventKind::Disconnected(_)));
    assert_eq!(ours.state(), Some(State::Err));
}
