//! What a queue pair costs in memory: its rings, which are as large as the application asks for, and the rest, which is
//! small, since there may be a hundred thousand.

use std::net::{IpAddr, Ipv4Addr};

use allocation_counter::measure;
use rdmalab_roce::{CongestionControl, DcqcnConfig, Endpoint, EndpointConfig, Profile, QueuePairConfig};
use rdmalab_verbs::{
    Access, AttributeSet, Attributes, Capabilities, Context, Path, QueuePairType, State, transition,
};
use rdmalab_wire::{PathMtu, Psn, QKey, Qpn};

/// With the place of the special queue pairs a power of two, so that tables that double are just full.
const QUEUE_PAIRS: usize = 255;

const KINDS: [QueuePairType; 5] = [
    QueuePairType::Rc,
    QueuePairType::Uc,
    QueuePairType::Ud,
    QueuePairType::XrcInitiator,
    QueuePairType::XrcTarget,
];

const NO_RINGS: Capabilities = Capabilities {
    max_send_requests: 0,
    max_receive_requests: 0,
    max_send_elements: 0,
    max_receive_elements: 0,
    max_inline: 0,
};

/// Bytes that a queue pair in RTS keeps, its share of the endpoint's tables with it. `reads` is how many READs and
/// atomics there may be at once, each way.
fn bytes(kind: QueuePairType, capabilities: Capabilities, reads: u8, control: CongestionControl) -> u64 {
    let ours = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let peer = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
    let mut context = Context::default();
    let mut endpoint = Endpoint::new(EndpointConfig {
        profile: Profile::SPEC,
        congestion_control: control,
        ..EndpointConfig::new(vec![ours], PathMtu::M4096)
    });
    let domain = context.allocate_protection_domain().unwrap();
    let completions = context.create_completion_queue(16).unwrap();
    let xrc_domain = (kind == QueuePairType::XrcTarget).then(|| context.allocate_xrc_domain().unwrap());
    let config =
        QueuePairConfig { xrc_domain, ..QueuePairConfig::new(kind, domain, completions, capabilities) };
    let counted = measure(|| {
        for _ in 0..QUEUE_PAIRS {
            let number = endpoint.create_queue_pair(&mut context, &config).unwrap();
            connect(&mut endpoint, &mut context, number, kind, Path::new(ours, peer), reads);
        }
    });
    assert!(counted.bytes_current > 0, "nothing was counted");
    (counted.bytes_current as u64).div_ceil(QUEUE_PAIRS as u64)
}

fn connect(
    endpoint: &mut Endpoint,
    context: &mut Context,
    number: Qpn,
    kind: QueuePairType,
    path: Path,
    reads: u8,
) {
    for (from, to) in [(State::Reset, State::Init), (State::Init, State::Rtr), (State::Rtr, State::Rts)] {
        let needed = transition(kind, from, to).unwrap().required;
        let has = |attribute: AttributeSet| needed.contains(attribute);
        let attributes = Attributes {
            state: Some(to),
            partition_index: has(AttributeSet::PARTITION).then_some(0),
            access: has(AttributeSet::ACCESS).then_some(Access::FULL),
            queue_key: has(AttributeSet::QUEUE_KEY).then_some(QKey::new(1)),
            path: has(AttributeSet::PATH).then_some(path),
            path_mtu: has(AttributeSet::PATH_MTU).then_some(PathMtu::M4096),
            destination: has(AttributeSet::DESTINATION).then_some(Qpn::new(0x80)),
            receive_psn: has(AttributeSet::RECEIVE_PSN).then_some(Psn::new(0)),
            max_destination_reads: has(AttributeSet::MAX_DESTINATION_READS).then_some(reads),
            min_rnr_timer: has(AttributeSet::MIN_RNR_TIMER).then_some(1),
            timeout: has(AttributeSet::TIMEOUT).then_some(14),
            retry_count: has(AttributeSet::RETRY_COUNT).then_some(7),
            rnr_retry: has(AttributeSet::RNR_RETRY).then_some(7),
            send_psn: has(AttributeSet::SEND_PSN).then_some(Psn::new(0)),
            max_reads: has(AttributeSet::MAX_READS).then_some(reads),
        };
        endpoint.modify(context, number, &attributes).unwrap();
    }
}

/// Rings are those of work requests with their elements and inline data, of packets' places beside them, and those of
/// READs and atomics: what is remembered for replay and the answers that wait.
#[test]
fn an_idle_queue_pair_costs_at_most_two_kib_besides_its_rings() {
    let none = CongestionControl::None;
    println!("bytes of a queue pair in RTS");
    println!(
        "                 without rings  with DCQCN  16 READs  128 READs  queues of 128 with 4 elements"
    );
    for kind in KINDS {
        let without = bytes(kind, NO_RINGS, 0, none);
        let paced = bytes(kind, NO_RINGS, 0, CongestionControl::Dcqcn(DcqcnConfig::new(1_000_000_000)));
        let (sixteen, most) = (bytes(kind, NO_RINGS, 16, none), bytes(kind, NO_RINGS, 128, none));
        let queues = bytes(kind, Capabilities::default(), 0, none) - without;
        println!(
            "{:16} {without:13} {paced:11} {:9} {:10} {queues:30}",
            format!("{kind:?}"),
            sixteen - without,
            most - without
        );
        assert!(without.max(paced) <= 2048, "{kind:?}: {without} bytes, {paced} with a rate");
    }
}
