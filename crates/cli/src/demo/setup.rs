//! Makes both sides' objects and brings their queue pairs to RTS.
//!
//! Which attributes each step takes is what the table of states asks for, so this is also how an application would know.

use std::net::IpAddr;
use std::sync::Arc;

use rdmalab_device::{Network, Port};
use rdmalab_roce::QueuePairConfig;
use rdmalab_sim::{End, PerEnd};
use rdmalab_verbs::{
    Access, AttributeSet, Attributes, Capabilities, CompletionQueueId, HeapMemory, Memory, Path,
    ProtectionDomainId, QueuePairType, SharedReceiveQueueConfig, State, XrcUse, transition,
};
use rdmalab_wire::{Psn, Qpn, RKey};

use super::pair::{BASE, PATH_MTU, QUEUE_KEY, READS, RETRY_COUNT, Side, TIMEOUT, unexpected};
use super::plan::Plan;
use super::transport::Transport;
use crate::outcome::Result;

/// Completions that fit; more than there are requests of a queue pair.
const COMPLETIONS: u32 = 256;
/// Bytes of the region whose key is given and taken away.
pub const FAST_REGION: usize = 64;

/// Both sides, connected with these first PSNs; without them the queue pairs are made when they are connected, which is
/// shown.
pub fn sides(
    network: &mut Network,
    plan: &Plan,
    addresses: PerEnd<IpAddr>,
    first_psns: Option<PerEnd<Psn>>,
) -> Result<PerEnd<Side>> {
    let (kind_a, kind_b) = plan.transport.ends();
    let is_made = first_psns.is_some();
    let sides = PerEnd {
        a: open(network, End::A, plan, addresses, kind_a, is_made)?,
        b: open(network, End::B, plan, addresses, kind_b, is_made)?,
    };
    let Some(psns) = first_psns else { return Ok(sides) };
    for end in [End::A, End::B] {
        let (ours, theirs) = (&sides[end], &sides[end.opposite()]);
        let kind = if end == End::A { kind_a } else { kind_b };
        connect(network, end, kind, psns, (ours, ours.queue_pair), (theirs, theirs.queue_pair))?;
        if let (Some(our_back), Some(their_back)) = (ours.back, theirs.back) {
            let kind = if end == End::A { kind_b } else { kind_a };
            connect(network, end, kind, psns, (ours, our_back), (theirs, their_back))?;
        }
    }
    Ok(sides)
}

/// Makes domain, region and queues of one side, and its queue pair if it is to be there from the start.
fn open(
    network: &mut Network,
    end: End,
    plan: &Plan,
    addresses: PerEnd<IpAddr>,
    kind: QueuePairType,
    is_made: bool,
) -> Result<Side> {
    let contents = if end == End::A { &plan.a } else { &plan.b };
    let adapter = network.adapter(end);
    let context = &mut adapter.port.context;
    let domain = context.allocate_protection_domain().map_err(unexpected)?;
    let send_queue = context.create_completion_queue(COMPLETIONS).map_err(unexpected)?;
    let receive_queue = context.create_completion_queue(COMPLETIONS).map_err(unexpected)?;
    let memory = Arc::new(HeapMemory::new(contents.len()));
    // The length is its own.
    let _ = memory.write(0, contents);
    let shared = Arc::clone(&memory) as Arc<dyn Memory>;
    let key = context.register(domain, BASE, shared, Access::FULL).map_err(unexpected)?;
    let fast_memory = Arc::new(HeapMemory::new(FAST_REGION)) as Arc<dyn Memory>;
    let fast_region = context.allocate_fast_region(domain, fast_memory).map_err(unexpected)?;
    let mut config = config(kind, domain, [send_queue, receive_queue]);
    let mut back = None;
    let mut shared_receive_queue = None;
    if plan.transport == Transport::Xrc {
        let xrc_domain = context.allocate_xrc_domain().map_err(unexpected)?;
        let xrc = Some(XrcUse { domain: xrc_domain, completions: receive_queue });
        let queue = SharedReceiveQueueConfig { xrc, ..SharedReceiveQueueConfig::default() };
        shared_receive_queue = Some(context.create_shared_receive_queue(domain, &queue).map_err(unexpected)?);
        let of = |kind| (kind == QueuePairType::XrcTarget).then_some(xrc_domain);
        let other = match kind {
            QueuePairType::XrcTarget => QueuePairType::XrcInitiator,
            _ => QueuePairType::XrcTarget,
        };
        let back_config = QueuePairConfig { kind: other, xrc_domain: of(other), ..config };
        back = Some(adapter.port.endpoint.create_queue_pair(context, &back_config).map_err(unexpected)?);
        config.xrc_domain = of(kind);
    }
    let queue_pair = match is_made {
        false => Qpn::default(),
        true => adapter.port.endpoint.create_queue_pair(context, &config).map_err(unexpected)?,
    };
    let path = Path::new(addresses[end], addresses[end.opposite()]);
    let way = match plan.transport {
        Transport::Ud => Some(context.create_address_handle(domain, path).map_err(unexpected)?),
        _ => None,
    };
    Ok(Side {
        address: addresses[end],
        queue_pair,
        back,
        domain,
        send_queue,
        receive_queue,
        memory,
        key,
        shared_receive_queue,
        way,
        fast_region: RKey::new(fast_region),
    })
}

/// What a queue pair is made of.
fn config(
    kind: QueuePairType,
    domain: ProtectionDomainId,
    [send_queue, receive_queue]: [CompletionQueueId; 2],
) -> QueuePairConfig {
    QueuePairConfig {
        receive_queue,
        ..QueuePairConfig::new(kind, domain, send_queue, Capabilities::default())
    }
}

/// What a queue pair is made of that is made when it is connected.
pub fn connected_config(side: &Side) -> QueuePairConfig {
    config(QueuePairType::Rc, side.domain, [side.send_queue, side.receive_queue])
}

/// Brings a queue pair of one side to RTS, with what the other side told it.
fn connect(
    network: &mut Network,
    end: End,
    kind: QueuePairType,
    psns: PerEnd<Psn>,
    (ours, our_queue_pair): (&Side, Qpn),
    (theirs, their_queue_pair): (&Side, Qpn),
) -> Result<()> {
    let values = Attributes {
        state: None,
        partition_index: Some(0),
        access: Some(Access::FULL),
        path: Some(Path::new(ours.address, theirs.address)),
        path_mtu: Some(PATH_MTU),
        destination: Some(their_queue_pair),
        receive_psn: Some(psns[end.opposite()]),
        send_psn: Some(psns[end]),
        max_destination_reads: Some(READS),
        max_reads: Some(READS),
        min_rnr_timer: Some(12),
        timeout: Some(TIMEOUT),
        retry_count: Some(RETRY_COUNT),
        rnr_retry: Some(RETRY_COUNT),
        queue_key: Some(QUEUE_KEY),
    };
    let adapter = network.adapter(end);
    for (from, to) in [(State::Reset, State::Init), (State::Init, State::Rtr), (State::Rtr, State::Rts)] {
        let required = transition(kind, from, to).map_or(AttributeSet::empty(), |row| row.required);
        let attributes = only(&values, required, to);
        // Past the port, which would have neighbours looked for by both sides now: the ladder shows the question where it is
        // first needed.
        let Port { endpoint, context, .. } = &mut adapter.port;
        endpoint.modify(context, our_queue_pair, &attributes).map_err(unexpected)?;
    }
    Ok(())
}

/// Those of the values that a change of state takes.
fn only(values: &Attributes, set: AttributeSet, to: State) -> Attributes {
    let takes = |attribute| set.contains(attribute);
    Attributes {
        state: Some(to),
        partition_index: values.partition_index.filter(|_| takes(AttributeSet::PARTITION)),
        access: values.access.filter(|_| takes(AttributeSet::ACCESS)),
        path: values.path.filter(|_| takes(AttributeSet::PATH)),
        path_mtu: values.path_mtu.filter(|_| takes(AttributeSet::PATH_MTU)),
        destination: values.destination.filter(|_| takes(AttributeSet::DESTINATION)),
        receive_psn: values.receive_psn.filter(|_| takes(AttributeSet::RECEIVE_PSN)),
        send_psn: values.send_psn.filter(|_| takes(AttributeSet::SEND_PSN)),
        max_destination_reads: values
            .max_destination_reads
            .filter(|_| takes(AttributeSet::MAX_DESTINATION_READS)),
        max_reads: values.max_reads.filter(|_| takes(AttributeSet::MAX_READS)),
        min_rnr_timer: values.min_rnr_timer.filter(|_| takes(AttributeSet::MIN_RNR_TIMER)),
        timeout: values.timeout.filter(|_| takes(AttributeSet::TIMEOUT)),
        retry_count: values.retry_count.filter(|_| takes(AttributeSet::RETRY_COUNT)),
        rnr_retry: values.rnr_retry.filter(|_| takes(AttributeSet::RNR_RETRY)),
        queue_key: values.queue_key.filter(|_| takes(AttributeSet::QUEUE_KEY)),
    }
}
