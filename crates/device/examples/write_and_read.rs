//! Two emulated adapters on a link that loses one packet in ten: one side WRITEs into the other's memory and READs it
//! back. Runs in virtual time, needs no privilege, and does the same every time.
//!
//! `cargo run -p rdmalab-device --example write_and_read`

use std::sync::Arc;

use rdmalab_device::{
    Access, Adapter, AdapterConfig, Attributes, Capabilities, CompletionStatus, HeapMemory, HostAddress,
    Memory, Network, NetworkConfig, Operation, Path, PathMtu, Port, Psn, Qpn, QueuePairConfig, QueuePairType,
    RKey, RemoteAddress, SendFlags, SendRequest, Sge, State,
};
use rdmalab_sim::rule::{lose, only};
use rdmalab_sim::{End, Frame, LinkConfig, PerEnd, Probability, RuleSet, Seed};

const LENGTH: usize = 10_000;
const ADDRESS: u64 = 0x10_0000;

/// One side's objects.
struct Side {
    queue_pair: Qpn,
    completions: rdmalab_device::CompletionQueueId,
    memory: Arc<HeapMemory>,
    key: u32,
}

fn open(adapter: &mut Adapter) -> Result<Side, Box<dyn std::error::Error>> {
    let Port { context, endpoint, .. } = &mut adapter.port;
    let domain = context.allocate_protection_domain()?;
    let completions = context.create_completion_queue(16)?;
    let memory = Arc::new(HeapMemory::new(LENGTH));
    let key = context.register(domain, ADDRESS, memory.clone(), Access::FULL)?;
    let config = QueuePairConfig::new(QueuePairType::Rc, domain, completions, Capabilities::default());
    let queue_pair = endpoint.create_queue_pair(context, &config)?;
    Ok(Side { queue_pair, completions, memory, key })
}

/// Brings a queue pair to RTS, as an application does after both sides have told each other their numbers.
fn connect(
    adapter: &mut Adapter,
    side: &Side,
    path: Path,
    peer: Qpn,
) -> Result<(), Box<dyn std::error::Error>> {
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
            path_mtu: Some(PathMtu::M1024),
            destination: Some(peer),
            receive_psn: Some(Psn::new(0)),
            max_destination_reads: Some(1),
            min_rnr_timer: Some(12),
            ..Attributes::default()
        },
        Attributes {
            state: Some(State::Rts),
            timeout: Some(8),
            retry_count: Some(7),
            rnr_retry: Some(7),
            send_psn: Some(Psn::new(0)),
            max_reads: Some(1),
            ..Attributes::default()
        },
    ];
    for step in &steps {
        adapter.port.modify(side.queue_pair, step)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let addresses: [HostAddress; 2] = ["10.0.0.1/24".parse()?, "10.0.0.2/24".parse()?];
    let loss = Probability::new(0.1).ok_or("not a probability")?;
    let is_roce = |frame: &Frame<'_>| rdmalab_wire::is_roce_v2(frame.bytes);
    let mut network = Network::new(NetworkConfig {
        adapters: PerEnd {
            a: AdapterConfig::new(vec![addresses[0]], 1500),
            b: AdapterConfig::new(vec![addresses[1]], 1500),
        },
        link: LinkConfig::default(),
        rules: RuleSet::new(Seed::new(1)).with(only("RoCE packets", is_roce, lose(loss))),
    })?;

    let a = open(network.adapter(End::A))?;
    let b = open(network.adapter(End::B))?;
    let path = Path::new(addresses[0].address, addresses[1].address);
    let back = Path::new(path.destination, path.source);
    connect(network.adapter(End::A), &a, path, b.queue_pair)?;
    connect(network.adapter(End::B), &b, back, a.queue_pair)?;

    let data: Vec<u8> = (0..LENGTH).map(|n| n as u8).collect();
    a.memory.write(0, &data).map_err(|_| "out of bounds")?;
    let remote = RemoteAddress { address: ADDRESS, key: RKey::new(b.key) };
    let elements = [Sge { address: ADDRESS, length: LENGTH as u32, key: a.key }];
    for (id, operation) in [(1, Operation::RdmaWrite(remote)), (2, Operation::RdmaRead(remote))] {
        let adapter = network.adapter(End::A);
        let request = SendRequest {
            id,
            operation,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        adapter.port.post_send(a.queue_pair, &request)?;
    }

    let mut lost = 0;
    while network.step(u64::MAX, |passage| lost += u32::from(passage.report.is_lost())) {}

    while let Some(completion) = network.adapter(End::A).port.context.poll_completion(a.completions) {
        println!("request {} ended with {}", completion.id, completion.status);
        assert_eq!(completion.status, CompletionStatus::Success);
    }
    let mut found = vec![0; LENGTH];
    b.memory.read(0, &mut found).map_err(|_| "out of bounds")?;
    assert_eq!(found, data);
    println!(
        "{LENGTH} bytes are in the peer's memory after {} us; {lost} packets were lost",
        network.now() / 1000
    );
    Ok(())
}
