//! A simulated network of two adapters.

use std::num::NonZeroU64;
use std::sync::Arc;

use rdmalab_device::{
    Access, AdapterConfig, Attributes, Capabilities, CompletionStatus, HeapMemory, Network, NetworkConfig,
    Operation, Path, PathMtu, Port, Psn, QueuePairConfig, QueuePairType, RKey, RemoteAddress, SendFlags,
    SendRequest, Sge, State,
};
use rdmalab_sim::{End, LinkConfig, PerEnd, RuleSet, Seed};

const ADDRESS: u64 = 0x10_0000;

#[test]
fn a_long_read_over_a_slow_link_neither_piles_up_nor_is_lost() {
    const LENGTH: usize = 8 << 20;
    let addresses = ["10.0.0.1/24", "10.0.0.2/24"].map(|text| text.parse().unwrap());
    let mut network = Network::new(NetworkConfig {
        adapters: PerEnd {
            a: AdapterConfig::new(vec![addresses[0]], 4200),
            b: AdapterConfig::new(vec![addresses[1]], 4200),
        },
        link: LinkConfig { bandwidth: NonZeroU64::new(10_000_000_000), ..LinkConfig::default() },
        rules: RuleSet::new(Seed::new(1)),
    })
    .unwrap();
    let sides = [End::A, End::B].map(|end| {
        let Port { context, endpoint, .. } = &mut network.adapter(end).port;
        let domain = context.allocate_protection_domain().unwrap();
        let queue = context.create_completion_queue(4).unwrap();
        let key = context.register(domain, ADDRESS, Arc::new(HeapMemory::new(LENGTH)), Access::FULL).unwrap();
        let config = QueuePairConfig::new(QueuePairType::Rc, domain, queue, Capabilities::default());
        (endpoint.create_queue_pair(context, &config).unwrap(), key, queue)
    });
    for (end, own, peer) in [(End::A, 0, 1), (End::B, 1, 0)] {
        let Port { context, endpoint, .. } = &mut network.adapter(end).port;
        let steps = [
            Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                access: Some(Access::FULL),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rtr),
                path: Some(Path::new(addresses[own].address, addresses[peer].address)),
                path_mtu: Some(PathMtu::M4096),
                destination: Some(sides[peer].0),
                receive_psn: Some(Psn::new(0)),
                max_destination_reads: Some(1),
                min_rnr_timer: Some(12),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rts),
                // Longer than the queue in front of the link takes to empty.
                timeout: Some(8),
                retry_count: Some(0),
                rnr_retry: Some(0),
                send_psn: Some(Psn::new(0)),
                max_reads: Some(1),
                ..Attributes::default()
            },
        ];
        for step in &steps {
            endpoint.modify(context, sides[own].0, step).unwrap();
        }
    }
    let Port { context, endpoint, .. } = &mut network.adapter(End::A).port;
    let remote = RemoteAddress { address: ADDRESS, key: RKey::new(sides[1].1) };
    let elements = [Sge { address: ADDRESS, length: LENGTH as u32, key: sides[0].1 }];
    let operation = Operation::RdmaRead(remote);
    let request = SendRequest {
        id: 1,
        operation,
        elements: &elements,
        flags: SendFlags::SIGNALED,
        ..SendRequest::default()
    };
    endpoint.post_send(context, sides[0].0, &request).unwrap();

    let mut most = 0;
    loop {
        let goes_on = network.step(u64::MAX, |_| ());
        most = most.max(network.link().counts(End::B).in_flight);
        if !goes_on {
            break;
        }
    }
    let completion = network.adapter(End::A).port.context.poll_completion(sides[0].2).unwrap();
    assert_eq!((completion.status, completion.length), (CompletionStatus::Success, LENGTH as u32));
    assert_eq!(network.link().counts(End::B).tail_dropped, 0);
    assert!(most < 100, "{most} frames were on the link at once");
}
