//! Datagrams to a multicast group, from one adapter through the link and the other's host to its queue pairs.

use std::net::IpAddr;

use rdmalab_device::{
    Access, AdapterConfig, AddressHandleId, Attributes, Capabilities, CompletionQueueId, Discard, HeapMemory,
    Network, NetworkConfig, PKey, Path, Port, Psn, QKey, Qpn, QueuePairConfig, QueuePairType, ReceiveRequest,
    SendRequest, Sge, State, Target,
};
use rdmalab_sim::{End, LinkConfig, PerEnd, RuleSet, Seed};

const KEY: QKey = QKey::new(0x77);
const ADDRESS: u64 = 0x1000;

struct Side {
    queue_pair: Qpn,
    completions: CompletionQueueId,
    key: u32,
    way: AddressHandleId,
}

fn side(network: &mut Network, end: End, source: IpAddr, group: IpAddr) -> Side {
    let Port { context, endpoint, .. } = &mut network.adapter(end).port;
    let domain = context.allocate_protection_domain().unwrap();
    let completions = context.create_completion_queue(16).unwrap();
    let memory = std::sync::Arc::new(HeapMemory::new(100));
    let key = context.register(domain, ADDRESS, memory, Access::LOCAL_WRITE).unwrap();
    let way = context.create_address_handle(domain, Path::new(source, group)).unwrap();
    let sizes = Capabilities { max_inline: 32, ..Capabilities::default() };
    let config = QueuePairConfig::new(QueuePairType::Ud, domain, completions, sizes);
    let queue_pair = endpoint.create_queue_pair(context, &config).unwrap();
    for attributes in [
        Attributes {
            state: Some(State::Init),
            // The second of the table that the adapter was made with.
            partition_index: Some(1),
            queue_key: Some(KEY),
            ..Attributes::default()
        },
        Attributes { state: Some(State::Rtr), ..Attributes::default() },
        Attributes { state: Some(State::Rts), send_psn: Some(Psn::new(0)), ..Attributes::default() },
    ] {
        endpoint.modify(context, queue_pair, &attributes).unwrap();
    }
    Side { queue_pair, completions, key, way }
}

#[test]
fn a_datagram_to_a_group_reaches_who_is_attached_and_no_one_else() {
    for (addresses, group) in
        [(["10.0.0.1/24", "10.0.0.2/24"], "224.1.2.3"), (["fd00::1/64", "fd00::2/64"], "ff0e::1:2")]
    {
        let addresses = addresses.map(|text| text.parse().unwrap());
        let group: IpAddr = group.parse().unwrap();
        let adapter = |own| AdapterConfig {
            partition_keys: vec![PKey::DEFAULT, PKey::new(0x8002)],
            ..AdapterConfig::new(vec![own], 1500)
        };
        let adapters = PerEnd { a: adapter(addresses[0]), b: adapter(addresses[1]) };
        let rules = RuleSet::new(Seed::new(1));
        let mut network =
            Network::new(NetworkConfig { adapters, link: LinkConfig::default(), rules }).unwrap();
        let a = side(&mut network, End::A, addresses[0].address, group);
        let b = side(&mut network, End::B, addresses[1].address, group);
        // The host hands on what is for groups that it joined; who is attached the transport knows.
        network.adapter(End::B).host.join(0, group).unwrap();
        for attached in [false, true] {
            let Port { context, endpoint, .. } = &mut network.adapter(End::B).port;
            let elements = [Sge { address: ADDRESS, length: 100, key: b.key }];
            let receive = ReceiveRequest { id: 9, elements: &elements };
            endpoint.post_receive(context, b.queue_pair, &receive).unwrap();
            if attached {
                endpoint.attach_multicast(b.queue_pair, group).unwrap();
            }
            let Port { context, endpoint, .. } = &mut network.adapter(End::A).port;
            let target = Target::Datagram { path: a.way, queue_pair: Qpn::MULTICAST, queue_key: KEY };
            let request = SendRequest { target, inline: Some(b"to all"), ..SendRequest::default() };
            endpoint.post_send(context, a.queue_pair, &request).unwrap();
            while network.step(1_000_000_000, |_| ()) {}
            let Port { context, endpoint, .. } = &mut network.adapter(End::B).port;
            let completion = context.poll_completion(b.completions);
            assert_eq!(endpoint.counters().discarded(Discard::NoMember), 1);
            assert_eq!(completion.map(|completion| completion.id), attached.then_some(9), "{group}");
            let Some(completion) = completion else { continue };
            assert_eq!((completion.length, completion.source), (46, Some(a.queue_pair)));
            assert_eq!(completion.partition_index, 1);
        }
    }
}
