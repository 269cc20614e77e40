//! The handles of a live device, on a TAP device in a network namespace that lives no longer than the test. The device talks
//! to itself, so nobody else is needed.
//!
//! Needs TAP devices. Where they are missing the test says so and passes, except under `CI=true`, where it fails.
#![cfg(feature = "net")]

use std::net::IpAddr;
use std::time::Duration;

use rdmalab_device::{
    Access, Attributes, Completion, CompletionKind, CompletionQueue, CompletionStatus, ContextEvent, Device,
    DeviceConfig, DeviceError, DeviceEvent, Discard, Event, HostAddress, MulticastError, Operation, PKey,
    Path, PathMtu, PostError, Profile, ProtectionDomain, Psn, QKey, Qpn, QueuePair, QueuePairOptions,
    QueuePairType, ReceiveRequest, SendFlags, SendRequest, SharedReceiveQueue, SharedReceiveQueueOptions,
    State, WindowType,
};
use rdmalab_namespace::{Need, in_a_fresh_namespace};

const OURS: &str = "10.8.0.2";
const KEY: QKey = QKey::new(0x1234);
const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

#[test]
fn handles_of_a_live_device_do_what_they_say() {
    in_a_fresh_namespace("handles_of_a_live_device_do_what_they_say", &[Need::Taps], inside);
}

/// One process is one namespace, so these run one behind the other.
fn inside() {
    datagrams_go_where_their_address_handle_says();
    multicast_needs_a_datagram_queue_pair();
    a_window_gives_access_until_its_key_is_invalidated_by_the_peer();
    a_fast_region_gives_access_under_its_new_key_only();
    xrc_targets_draw_from_the_shared_receive_queue_that_is_named();
    events_of_queue_pairs_and_of_shared_queues_come_out_of_one_place();
    objects_of_another_device_are_refused();
    handles_may_be_dropped_in_any_order();
}

fn open() -> Device {
    let address: HostAddress = format!("{OURS}/24").parse().unwrap();
    let config = DeviceConfig {
        profile: Profile::SPEC,
        partition_keys: vec![PKey::DEFAULT, PKey::new(0x8001)],
        ..DeviceConfig::new(vec![address])
    };
    Device::open_tap("rdmalab0", config).unwrap()
}

fn path() -> Path {
    let ours: IpAddr = OURS.parse().unwrap();
    Path::new(ours, ours)
}

/// Brings a queue pair to RTS; its peer is `destination`.
#[track_caller]
fn connect(queue_pair: &QueuePair, kind: QueuePairType, destination: Qpn) {
    let is_target = kind == QueuePairType::XrcTarget;
    let is_reliable = kind.is_reliable();
    let init = Attributes { state: Some(State::Init), partition_index: Some(1), ..Attributes::default() };
    let steps = if kind == QueuePairType::Ud {
        [
            Attributes { queue_key: Some(KEY), ..init },
            Attributes { state: Some(State::Rtr), ..Attributes::default() },
            Attributes { state: Some(State::Rts), send_psn: Some(Psn::new(7)), ..Attributes::default() },
        ]
    } else {
        [
            Attributes { access: Some(Access::FULL), ..init },
            Attributes {
                state: Some(State::Rtr),
                path: Some(path()),
                path_mtu: Some(PathMtu::M1024),
                destination: Some(destination),
                receive_psn: Some(Psn::new(7)),
                max_destination_reads: (is_reliable && kind.receives()).then_some(4),
                min_rnr_timer: (is_reliable && kind.receives()).then_some(1),
                ..Attributes::default()
            },
            Attributes {
                state: Some(State::Rts),
                send_psn: Some(Psn::new(7)),
                timeout: is_reliable.then_some(14),
                retry_count: (is_reliable && !is_target).then_some(7),
                rnr_retry: (is_reliable && !is_target).then_some(7),
                max_reads: (is_reliable && !is_target).then_some(4),
                ..Attributes::default()
            },
        ]
    };
    for attributes in steps {
        queue_pair.modify(&attributes).unwrap();
    }
}

/// Two RC queue pairs that are connected with each other.
fn connected(domain: &ProtectionDomain, completions: &CompletionQueue) -> [QueuePair; 2] {
    let options = QueuePairOptions::new(QueuePairType::Rc, completions);
    let pair = [0, 1].map(|_| domain.queue_pair_with(&options).unwrap());
    connect(&pair[0], QueuePairType::Rc, pair[1].number());
    connect(&pair[1], QueuePairType::Rc, pair[0].number());
    pair
}

#[track_caller]
fn next(completions: &CompletionQueue) -> Completion {
    completions.wait(PATIENCE).unwrap().expect("a completion")
}

/// Posts one request, and waits for its completion.
#[track_caller]
fn done(queue_pair: &QueuePair, completions: &CompletionQueue, request: SendRequest<'_>) -> Completion {
    let request = SendRequest { flags: SendFlags::SIGNALED, ..request };
    queue_pair.post_send(&request).unwrap();
    next(completions)
}

fn datagrams_go_where_their_address_handle_says() {
    let device = open();
    let (domain, completions) = (device.protection_domain().unwrap(), device.completion_queue(16).unwrap());
    let received = device.completion_queue(16).unwrap();
    let sizes = rdmalab_device::Capabilities { max_inline: 16, ..Default::default() };
    let usual = QueuePairOptions::new(QueuePairType::Ud, &completions);
    let sender = domain.queue_pair_with(&QueuePairOptions { capabilities: sizes, ..usual }).unwrap();
    let receiver = domain.queue_pair_with(&QueuePairOptions { receive: &received, ..usual }).unwrap();
    connect(&sender, QueuePairType::Ud, Qpn::default());
    connect(&receiver, QueuePairType::Ud, Qpn::default());
    let memory = domain.register(100, Access::LOCAL_WRITE).unwrap();
    receiver.post_receive(&ReceiveRequest { id: 5, elements: &[memory.element(0, 100)] }).unwrap();
    let way = domain.address_handle(path()).unwrap();
    let target = way.target(receiver.number(), KEY);
    let request = SendRequest { target, inline: Some(b"to whom?"), ..SendRequest::default() };
    assert_eq!(done(&sender, &completions, request).status, CompletionStatus::Success);
    let completion = next(&received);
    assert_eq!((completion.id, completion.length, completion.has_grh), (5, 48, true));
    assert_eq!((completion.source, completion.partition_index), (Some(sender.number()), 1));
    let mut bytes = [0; 8];
    memory.read(40, &mut bytes).unwrap();
    assert_eq!(&bytes, b"to whom?");

    // With a wrong queue key, nobody gets it and nobody is told.
    let target = way.target(receiver.number(), QKey::new(0x4321));
    let request = SendRequest { target, inline: Some(b"nobody"), ..SendRequest::default() };
    assert_eq!(done(&sender, &completions, request).status, CompletionStatus::Success);
    let last = SendRequest { target: way.target(receiver.number(), KEY), ..SendRequest::default() };
    receiver.post_receive(&ReceiveRequest { id: 6, elements: &[memory.element(0, 100)] }).unwrap();
    done(&sender, &completions, last);
    assert_eq!((next(&received).length, device.counters().discarded(Discard::QueueKey)), (40, 1));

    assert!(way.wait_until_reachable(Duration::ZERO).unwrap(), "our own address");
    let far = Path::new(OURS.parse().unwrap(), "192.0.2.1".parse().unwrap());
    let far = domain.address_handle(far).unwrap();
    let error = far.wait_until_reachable(Duration::from_secs(20)).unwrap_err();
    assert_eq!(error.to_string(), "cannot reach 192.0.2.1: no prefix and no gateway leads to the address");
    let nobody = Path::new(OURS.parse().unwrap(), "10.8.0.99".parse().unwrap());
    let nobody = domain.address_handle(nobody).unwrap();
    assert!(!nobody.wait_until_reachable(Duration::from_millis(10)).unwrap(), "the time is up");
    let error = nobody.wait_until_reachable(Duration::from_secs(20)).unwrap_err();
    assert_eq!(error.to_string(), "cannot reach 10.8.0.99: nobody on the link answers for the address");

    // A way that is gone leads nowhere.
    drop(way);
    assert_eq!(sender.post_send(&request), Err(PostError::NoSuchAddressHandle));
}

fn multicast_needs_a_datagram_queue_pair() {
    let device = open();
    let (domain, completions) = (device.protection_domain().unwrap(), device.completion_queue(16).unwrap());
    let [reliable, _peer] = connected(&domain, &completions);
    let group: IpAddr = "224.1.2.3".parse().unwrap();
    let refused = reliable.attach_multicast(group).unwrap_err();
    assert!(matches!(refused, DeviceError::Multicast(MulticastError::NotDatagram)), "{refused}");
    let datagrams = QueuePairOptions::new(QueuePairType::Ud, &completions);
    let datagrams = domain.queue_pair_with(&datagrams).unwrap();
    datagrams.attach_multicast(group).unwrap();
    datagrams.detach_multicast(group).unwrap();
    let refused = datagrams.detach_multicast(group).unwrap_err();
    assert!(matches!(refused, DeviceError::Multicast(MulticastError::NotAttached)), "{refused}");
}

fn a_window_gives_access_until_its_key_is_invalidated_by_the_peer() {
    let device = open();
    let (domain, completions) = (device.protection_domain().unwrap(), device.completion_queue(16).unwrap());
    let received = device.completion_queue(16).unwrap();
    let usual = QueuePairOptions::new(QueuePairType::Rc, &completions);
    let owner = domain.queue_pair_with(&QueuePairOptions { receive: &received, ..usual }).unwrap();
    let asker = domain.queue_pair_with(&usual).unwrap();
    connect(&asker, QueuePairType::Rc, owner.number());
    connect(&owner, QueuePairType::Rc, asker.number());
    let local = domain.register(8, Access::LOCAL_WRITE).unwrap();
    local.write(0, b"windowed").unwrap();
    let memory = domain.register(100, Access::LOCAL_WRITE | Access::MW_BIND).unwrap();
    let window = domain.window(WindowType::Two).unwrap();
    let first = window.key();
    let binding = window.binding(&memory, 50, 8, Access::REMOTE_WRITE);
    let bind = SendRequest { operation: Operation::BindWindow(binding), ..SendRequest::default() };
    let completion = done(&owner, &completions, bind);
    assert_eq!((completion.kind, completion.status), (CompletionKind::BindWindow, CompletionStatus::Success));
    assert_eq!(window.key(), binding.key);
    assert_ne!(window.key(), first);

    let place = rdmalab_device::RemoteAddress { key: window.key(), ..memory.remote(50) };
    let write = Operation::RdmaWrite(place);
    let elements = [local.element(0, 8)];
    let write = SendRequest { operation: write, elements: &elements, ..SendRequest::default() };
    assert_eq!(done(&asker, &completions, write).status, CompletionStatus::Success);
    let mut bytes = [0; 8];
    memory.read(50, &mut bytes).unwrap();
    assert_eq!(&bytes, b"windowed");

    owner.post_receive(&ReceiveRequest::default()).unwrap();
    let operation = Operation::SendWithInvalidate(window.key());
    done(&asker, &completions, SendRequest { operation, ..SendRequest::default() });
    assert_eq!(next(&received).invalidated, Some(window.key()));
    assert_eq!(done(&asker, &completions, write).status, CompletionStatus::RemoteAccessError);
}

fn a_fast_region_gives_access_under_its_new_key_only() {
    let device = open();
    let (domain, completions) = (device.protection_domain().unwrap(), device.completion_queue(16).unwrap());
    let [asker, owner] = connected(&domain, &completions);
    let fast = domain.fast_region(64).unwrap();
    fast.write(32, b"eight by").unwrap();
    let old = fast.remote(32);
    let registration = fast.registration(32, 16, Access::REMOTE_READ);
    let register = SendRequest { operation: Operation::FastRegister(registration), ..SendRequest::default() };
    assert_eq!(done(&owner, &completions, register).kind, CompletionKind::FastRegister);
    let local = domain.register(8, Access::LOCAL_WRITE).unwrap();
    let elements = [local.element(0, 8)];
    let read = |place| {
        let operation = Operation::RdmaRead(place);
        SendRequest { operation, elements: &elements, ..SendRequest::default() }
    };
    assert_eq!(done(&asker, &completions, read(fast.remote(32))).status, CompletionStatus::Success);
    let mut bytes = [0; 8];
    local.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"eight by");
    assert_ne!(old.key, fast.key());
    assert_eq!(done(&asker, &completions, read(old)).status, CompletionStatus::RemoteAccessError);
}

fn xrc_targets_draw_from_the_shared_receive_queue_that_is_named() {
    let device = open();
    let (domain, completions) = (device.protection_domain().unwrap(), device.completion_queue(16).unwrap());
    let received = device.completion_queue(16).unwrap();
    let xrc = device.xrc_domain().unwrap();
    let queues = [0, 1].map(|_| {
        let options = SharedReceiveQueueOptions { xrc: Some((&xrc, &received)), ..Default::default() };
        domain.shared_receive_queue(&options).unwrap()
    });
    let options = |kind| QueuePairOptions::new(kind, &completions);
    let initiator = domain.queue_pair_with(&options(QueuePairType::XrcInitiator)).unwrap();
    let target = QueuePairOptions { xrc_domain: Some(&xrc), ..options(QueuePairType::XrcTarget) };
    let target = domain.queue_pair_with(&target).unwrap();
    connect(&initiator, QueuePairType::XrcInitiator, target.number());
    connect(&target, QueuePairType::XrcTarget, initiator.number());
    for (queue, id) in queues.iter().zip([10, 20]) {
        queue.post_receive(&ReceiveRequest { id, elements: &[] }).unwrap();
    }
    let named = SharedReceiveQueue::target(queues[1].id().number());
    done(&initiator, &completions, SendRequest { target: named, ..SendRequest::default() });
    let completion = next(&received);
    assert_eq!((completion.id, completion.queue_pair), (20, target.number()));
    assert_eq!(queues.each_ref().map(SharedReceiveQueue::length), [1, 0]);
    let wrong = initiator.post_send(&SendRequest::default());
    assert_eq!(wrong, Err(PostError::WrongTarget(QueuePairType::XrcInitiator)));
}

fn events_of_queue_pairs_and_of_shared_queues_come_out_of_one_place() {
    let device = open();
    let (domain, completions) = (device.protection_domain().unwrap(), device.completion_queue(16).unwrap());
    let shared = SharedReceiveQueueOptions { limit: 1, ..Default::default() };
    let shared = domain.shared_receive_queue(&shared).unwrap();
    let usual = QueuePairOptions::new(QueuePairType::Rc, &completions);
    let receiver = QueuePairOptions { shared_receive_queue: Some(&shared), ..usual };
    let receiver = domain.queue_pair_with(&receiver).unwrap();
    let sender = domain.queue_pair_with(&usual).unwrap();
    connect(&sender, QueuePairType::Rc, receiver.number());
    connect(&receiver, QueuePairType::Rc, sender.number());
    let request = ReceiveRequest::default();
    assert_eq!(receiver.post_receive(&request), Err(PostError::SharedReceiveQueue));
    shared.post_receive(&request).unwrap();
    done(&sender, &completions, SendRequest::default());
    let event = device.wait_event(PATIENCE).unwrap();
    assert_eq!(event, Some(DeviceEvent::SharedQueue(ContextEvent::SharedReceiveLimit(shared.id()))));

    receiver.modify(&Attributes { state: Some(State::Err), ..Attributes::default() }).unwrap();
    let event = device.wait_event(PATIENCE).unwrap();
    assert_eq!(event, Some(DeviceEvent::QueuePair(Event::LastReceiveReached(receiver.number()))));
    assert_eq!(device.poll_event(), None);
}

fn objects_of_another_device_are_refused() {
    let device = open();
    let domain = device.protection_domain().unwrap();
    let address: HostAddress = "10.8.1.2/24".parse().unwrap();
    let other = Device::open_tap("rdmalab1", DeviceConfig::new(vec![address])).unwrap();
    let completions = other.completion_queue(16).unwrap();
    let made = domain.queue_pair_with(&QueuePairOptions::new(QueuePairType::Rc, &completions));
    assert!(matches!(made, Err(DeviceError::OtherDevice)));
}

fn handles_may_be_dropped_in_any_order() {
    let device = open();
    let completions = device.completion_queue(16).unwrap();
    let domain = device.protection_domain().unwrap();
    let memory = domain.register(64, Access::LOCAL_WRITE | Access::MW_BIND).unwrap();
    let window = domain.window(WindowType::One).unwrap();
    let [one, two] = connected(&domain, &completions);
    drop(domain);
    drop(memory);
    drop(window);
    drop(completions);
    one.post_send(&SendRequest::default()).unwrap();
    drop(device);
    drop((one, two));
}
