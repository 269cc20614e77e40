//! A simulated link that loses one packet in ten, in virtual time, recorded as a capture for Wireshark or `rdmalab dump`.
//! The same every time.
//!
//! `cargo run -p rdmalab-device --example lossy_link -- FILE.pcapng`

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use rdmalab_device::{
    AdapterConfig, Capabilities, CmChannel, CmEventKind, CmId, ConnectionParameters, HostAddress, Network,
    NetworkConfig, Operation, PortSpace, QueuePairConfig, QueuePairType, ReceiveRequest, Recorder,
    SendRequest,
};
use rdmalab_sim::rule::{lose, only};
use rdmalab_sim::{End, Frame, LinkConfig, PerEnd, Probability, RuleSet, Seed};
use rdmalab_trace::Direction;

const PORT: u16 = 7471;
const MESSAGES: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("say where the capture is to go: lossy_link FILE.pcapng")?;
    let addresses: [IpAddr; 2] = [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()];
    let adapter = |address| AdapterConfig::new(vec![HostAddress::new(address, 24)], 1500);
    let is_roce = |frame: &Frame<'_>| rdmalab_wire::is_roce_v2(frame.bytes);
    let loss = lose(Probability::new(0.1).ok_or("not a probability")?);
    let mut network = Network::new(NetworkConfig {
        adapters: PerEnd { a: adapter(addresses[0]), b: adapter(addresses[1]) },
        link: LinkConfig::default(),
        rules: RuleSet::new(Seed::new(1)).with(only("RoCE packets", is_roce, loss)),
    })?;
    let mut recorder = Recorder::create(Path::new(&file), &["link"])?;

    // b listens, a calls.
    let (channel_b, config_b) = prepare(&mut network, End::B)?;
    let (channel_a, config_a) = prepare(&mut network, End::A)?;
    let mut b = network.adapter(End::B).port.connections()?;
    let listener = b.create_id(channel_b, PortSpace::Tcp)?;
    b.listen(listener, SocketAddr::new(addresses[1], PORT), 1)?;
    let mut a = network.adapter(End::A).port.connections()?;
    let caller = a.create_id(channel_a, PortSpace::Tcp)?;
    a.resolve_address(caller, None, SocketAddr::new(addresses[1], PORT))?;
    a.resolve_route(caller)?;
    let sender = a.create_queue_pair(caller, &config_a)?;
    a.connect(0, caller, &ConnectionParameters::default())?;

    let (mut lost, mut arrived) = (0, 0);
    loop {
        // Time passes from one event to the next; a connection is over when time-wait is.
        let going = network.step(u64::MAX, |passage| {
            lost += u32::from(passage.report.is_lost());
            let comment = passage.report.is_lost().then_some("lost");
            let _ = recorder.record(0, passage.now, Direction::Out, passage.frame, comment);
        });
        let now = network.now();
        while let Some(event) = network.adapter(End::B).port.connections()?.poll_event(channel_b) {
            if matches!(event.kind, CmEventKind::ConnectRequest { .. }) {
                accept(&mut network, now, event.id, &config_b)?;
            }
        }
        while let Some(event) = network.adapter(End::A).port.connections()?.poll_event(channel_a) {
            if matches!(event.kind, CmEventKind::Established { .. }) {
                for id in 0..MESSAGES {
                    let message = SendRequest { id, operation: Operation::Send, ..SendRequest::default() };
                    network.adapter(End::A).port.post_send(sender, &message)?;
                }
            }
        }
        while network.adapter(End::B).port.context.poll_completion(config_b.receive_queue).is_some() {
            arrived += 1;
            if arrived == MESSAGES {
                network.adapter(End::A).port.connections()?.disconnect(now, caller)?;
            }
        }
        if !going {
            break;
        }
    }
    let frames = recorder.finish()?;
    println!("{MESSAGES} messages arrived, {lost} of {frames} frames were lost: see {file}");
    Ok(())
}

/// Lets a side manage connections, and makes what its queue pairs need.
fn prepare(network: &mut Network, end: End) -> Result<(CmChannel, QueuePairConfig), Box<dyn Error>> {
    let port = &mut network.adapter(end).port;
    port.manage_connections(if end == End::A { 1 } else { 2 })?;
    let channel = port.connections()?.create_channel()?;
    let domain = port.context.allocate_protection_domain()?;
    let completions = port.context.create_completion_queue(64)?;
    Ok((channel, QueuePairConfig::new(QueuePairType::Rc, domain, completions, Capabilities::default())))
}

fn accept(
    network: &mut Network,
    now: u64,
    call: CmId,
    config: &QueuePairConfig,
) -> Result<(), Box<dyn Error>> {
    let port = &mut network.adapter(End::B).port;
    let receiver = port.connections()?.create_queue_pair(call, config)?;
    for id in 0..MESSAGES {
        port.post_receive(receiver, &ReceiveRequest { id, elements: &[] })?;
    }
    port.connections()?.accept(now, call, &ConnectionParameters::default())?;
    Ok(())
}
