//! An adapter's addresses.

use rdmalab_device::{
    Adapter, AdapterConfig, Capabilities, ConnectionParameters, HostAddress, Network, NetworkConfig,
    PortSpace, QueuePairConfig, QueuePairType, VlanTag,
};
use rdmalab_sim::{End, LinkConfig, PerEnd, RuleSet, Seed};

fn addresses(configured: &[&str], mtu: usize) -> (Vec<String>, Vec<String>) {
    let configured = configured.iter().map(|text| text.parse::<HostAddress>().unwrap()).collect();
    let adapter = Adapter::new(&AdapterConfig::new(configured, mtu)).unwrap();
    let gids = adapter.port.endpoint.config().addresses.iter().map(ToString::to_string).collect();
    let host = adapter.host.addresses().iter().map(|own| own.address.to_string()).collect();
    (gids, host)
}

#[test]
fn every_gid_is_an_address_that_the_host_answers_for_and_the_link_local_one_comes_first() {
    let (gids, mut host) = addresses(&["10.9.0.1/24", "fd00::1/64"], 1500);
    assert_eq!(gids, ["fe80::aff:fe09:1", "10.9.0.1", "fd00::1"]);
    host.sort();
    let mut sorted = gids.clone();
    sorted.sort();
    assert_eq!(host, sorted);
    let (gids, host) = addresses(&["10.9.0.1/24"], 1500);
    assert_eq!((gids[0].as_str(), host.len()), ("fe80::aff:fe09:1", 2));
}

#[test]
fn a_link_too_small_for_ipv6_has_no_link_local_address() {
    assert_eq!(addresses(&["10.9.0.1/24"], 1279).0, ["10.9.0.1"]);
}

#[test]
fn in_a_vlan_all_frames_have_its_tag() {
    let tag = VlanTag { priority: 0, drop_eligible: false, id: 7 };
    let adapter = |last: u8| {
        let mut config = AdapterConfig::new(vec![format!("10.0.0.{last}/24").parse().unwrap()], 1500);
        config.host.vlan = Some(tag);
        config
    };
    let mut network = Network::new(NetworkConfig {
        adapters: PerEnd { a: adapter(1), b: adapter(2) },
        link: LinkConfig::default(),
        rules: RuleSet::new(Seed::new(1)),
    })
    .unwrap();
    // A call that nobody takes: a datagram there, and one back.
    for (end, seed) in [(End::A, 1), (End::B, 2)] {
        network.adapter(end).port.manage_connections(seed).unwrap();
    }
    let port = &mut network.adapter(End::A).port;
    let completions = port.context.create_completion_queue(4).unwrap();
    let domain = port.context.allocate_protection_domain().unwrap();
    let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, Capabilities::default());
    let mut connections = port.connections().unwrap();
    let channel = connections.create_channel().unwrap();
    let id = connections.create_id(channel, PortSpace::Tcp).unwrap();
    connections.resolve_address(id, None, "10.0.0.2:1".parse().unwrap()).unwrap();
    connections.resolve_route(id).unwrap();
    connections.create_queue_pair(id, &config).unwrap();
    connections.connect(0, id, &ConnectionParameters::default()).unwrap();
    let mut frames = 0;
    while network.step(1_000_000_000, |passage| {
        assert_eq!(passage.frame[12..16], [0x81, 0, 0, 7], "frame {frames}");
        frames += 1;
    }) {}
    assert_eq!(frames, 4, "two of ARP and two of connection management");
}
