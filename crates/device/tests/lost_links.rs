//! Links that are lost under a live device, each in a network namespace that lives no longer than the test: errors name the
//! device, connections end with the right error, and the device goes on when the link is back, or says that it is gone.
//!
//! Needs TAP devices and the programs `ip` and `tc`. Where something is missing the test says what and passes, except under
//! `CI=true`, where it fails.
#![cfg(feature = "net")]

mod way;

use std::time::{Duration, Instant};

use rdmalab_device::{
    Access, Attributes, CompletionQueue, CompletionStatus, Device, DeviceConfig, DeviceError, DeviceEvent,
    Event, HostAddress, MemoryRegion, NetError, Operation, Path, QueuePair, QueuePairOptions, QueuePairType,
    ReceiveRequest, SendFlags, SendRequest, State,
};
use rdmalab_namespace::{IP, Need, in_a_fresh_namespace, run};

use way::{Terms, to_rts};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));
const LENGTH: usize = 300_000;
const NEEDS: [Need; 3] = [Need::Taps, IP, Need::Program("tc", "iproute2")];

fn config(address: &str) -> DeviceConfig {
    DeviceConfig::new(vec![address.parse::<HostAddress>().unwrap()])
}

struct Side {
    device: Device,
    queue_pair: QueuePair,
    completions: CompletionQueue,
    memory: MemoryRegion,
}

impl Side {
    fn new(device: Device) -> Self {
        let domain = device.protection_domain().unwrap();
        let completions = device.completion_queue(64).unwrap();
        let options = QueuePairOptions::new(QueuePairType::Rc, &completions);
        let queue_pair = domain.queue_pair_with(&options).unwrap();
        let memory = domain.register(LENGTH, Access::FULL).unwrap();
        Self { device, queue_pair, completions, memory }
    }

    /// From wherever it is to RTS, with a fifth of a second until its retries are over.
    fn connect(&self, peer: &Self) {
        let address = |side: &Self| *side.device.gids().iter().find(|own| own.is_ipv4()).unwrap();
        let path = Path::new(address(self), address(peer));
        let terms = Terms { timeout: 13, retry_count: 5, ..Terms::default() };
        self.queue_pair.modify(&Attributes { state: Some(State::Reset), ..Attributes::default() }).unwrap();
        for step in &to_rts(path, peer.queue_pair.number(), terms) {
            self.queue_pair.modify(step).unwrap();
        }
    }

    fn write(&self, peer: &Self) {
        let operation = Operation::RdmaWrite(peer.memory.remote(0));
        let elements = [self.memory.element(0, LENGTH as u32)];
        let flags = SendFlags::SIGNALED;
        let request = SendRequest { operation, elements: &elements, flags, ..SendRequest::default() };
        self.queue_pair.post_send(&request).unwrap();
    }

    #[track_caller]
    fn ends(&self) -> CompletionStatus {
        self.completions.wait(PATIENCE).unwrap().expect("no completion in time").status
    }
}

/// All goes through from one to the other, soon: that a link is up, its neighbours may hear some time later.
#[track_caller]
fn works(one: &Side, other: &Side) {
    let start = Instant::now();
    loop {
        one.connect(other);
        other.connect(one);
        one.write(other);
        match one.ends() {
            CompletionStatus::Success => return,
            status => assert_eq!(status, CompletionStatus::RetryExceeded),
        }
        assert!(start.elapsed() < Duration::from_secs(20), "nothing goes through");
    }
}

/// Two devices at the ends of a veth pair.
fn over_a_veth_pair() -> [Side; 2] {
    run("ip link add left type veth peer name right");
    for end in ["left", "right"] {
        run(&format!("ip link set {end} up"));
    }
    [("left", "10.6.0.1/24"), ("right", "10.6.0.2/24")]
        .map(|(name, address)| Side::new(Device::open_interface(name, config(address)).unwrap()))
}

/// The device says that it is gone, by its name, to whoever asks, and what was queued has ended.
#[track_caller]
fn is_gone(side: &Side, name: &str) {
    let start = Instant::now();
    // Who never waits finds out, too.
    let flushed = loop {
        if let Some(completion) = side.completions.poll() {
            break completion;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "nobody tells that {name} is gone");
        std::thread::yield_now();
    };
    assert_eq!(flushed.status, CompletionStatus::WorkRequestFlushed);
    assert_eq!(side.queue_pair.state(), Some(State::Err));
    let error = side.completions.wait(PATIENCE).unwrap_err();
    let expected = format!("device {name} was deleted while in use: create it again and restart");
    assert_eq!(error.to_string(), expected);
    assert!(matches!(&error, DeviceError::Net(error) if matches!(**error, NetError::Gone { .. })));
    let event = side.device.poll_event();
    assert_eq!(event, Some(DeviceEvent::QueuePair(Event::Fatal(side.queue_pair.number()))));
}

#[test]
fn a_tap_device_that_is_deleted_ends_everything_by_its_name() {
    in_a_fresh_namespace("a_tap_device_that_is_deleted_ends_everything_by_its_name", &NEEDS, || {
        let side = Side::new(Device::open_tap("doomed", config("10.6.0.1/24")).unwrap());
        let other = Side::new(Device::open_tap("other", config("10.6.1.1/24")).unwrap());
        side.connect(&side);
        side.queue_pair.post_receive(&ReceiveRequest::default()).unwrap();
        run("ip link delete doomed");
        is_gone(&side, "doomed");
        let error = side.device.close().unwrap_err();
        assert!(error.to_string().contains("doomed"), "{error}");
        // Another one of the same name can be had, and other devices never noticed.
        let again = Side::new(Device::open_tap("doomed", config("10.6.0.1/24")).unwrap());
        works(&again, &again);
        works(&other, &other);
    });
}

#[test]
fn a_tap_device_that_is_down_ends_connections_by_their_retries_and_serves_again_when_it_is_up() {
    let test = "a_tap_device_that_is_down_ends_connections_by_their_retries_and_serves_again_when_it_is_up";
    in_a_fresh_namespace(test, &NEEDS, || {
        run("ip link add joint type bridge");
        run("ip link set joint up");
        let sides = [("tap1", "10.6.0.1/24"), ("tap2", "10.6.0.2/24")]
            .map(|(name, address)| Side::new(Device::open_tap(name, config(address)).unwrap()));
        for name in ["tap1", "tap2"] {
            run(&format!("ip link set {name} master joint"));
        }
        goes_down_and_up(&sides, "tap1");
    });
}

#[test]
fn an_interface_that_is_down_ends_connections_by_their_retries_and_serves_again_when_it_is_up() {
    let test = "an_interface_that_is_down_ends_connections_by_their_retries_and_serves_again_when_it_is_up";
    in_a_fresh_namespace(test, &NEEDS, || goes_down_and_up(&over_a_veth_pair(), "left"));
}

#[track_caller]
fn goes_down_and_up(sides: &[Side; 2], name: &str) {
    let [one, other] = sides;
    works(one, other);
    run(&format!("ip link set {name} down"));
    one.write(other);
    assert_eq!(one.ends(), CompletionStatus::RetryExceeded);
    assert_eq!(one.queue_pair.state(), Some(State::Err));
    let fault = one.device.link_fault().expect("a fault of the link").to_string();
    assert_eq!(fault, format!("device {name} is down: `ip link set {name} up`"));
    assert!(other.device.link_fault().is_none());
    run(&format!("ip link set {name} up"));
    works(one, other);
    assert!(one.device.link_fault().is_none(), "it is over");
}

#[test]
fn an_interface_that_is_deleted_ends_everything_by_its_name() {
    in_a_fresh_namespace("an_interface_that_is_deleted_ends_everything_by_its_name", &NEEDS, || {
        let [one, other] = over_a_veth_pair();
        works(&one, &other);
        for side in [&one, &other] {
            side.queue_pair.post_receive(&ReceiveRequest::default()).unwrap();
        }
        // Both ends of the pair go.
        run("ip link delete left");
        is_gone(&one, "left");
        is_gone(&other, "right");
    });
}

#[test]
fn an_interface_whose_queue_is_full_loses_frames_and_everything_arrives_in_the_end() {
    let test = "an_interface_whose_queue_is_full_loses_frames_and_everything_arrives_in_the_end";
    in_a_fresh_namespace(test, &NEEDS, || {
        let [one, other] = over_a_veth_pair();
        // Less than a connection may have under way.
        run("tc qdisc add dev left root tbf rate 20mbit burst 5kb limit 100kb");
        let data: Vec<u8> = (0..LENGTH).map(|n| (n / 253) as u8 ^ n as u8).collect();
        one.memory.write(0, &data).unwrap();
        works(&one, &other);
        let mut arrived = vec![0; LENGTH];
        other.memory.read(0, &mut arrived).unwrap();
        assert!(arrived == data);
        assert!(one.device.counters().retransmitted_pkts > 0, "nothing was lost");
    });
}

#[test]
fn an_address_that_is_removed_ends_connections_by_their_retries_and_serves_again_when_it_is_back() {
    let test =
        "an_address_that_is_removed_ends_connections_by_their_retries_and_serves_again_when_it_is_back";
    in_a_fresh_namespace(test, &[IP], || {
        run("ip link set lo up");
        for address in ["10.6.0.1/32", "10.6.0.2/32"] {
            run(&format!("ip address add {address} dev lo"));
        }
        let [one, other] = ["10.6.0.1/32", "10.6.0.2/32"]
            .map(|address| Side::new(Device::open_udp(config(address)).unwrap()));
        works(&one, &other);
        // The sender's own, and then the one that it sends to.
        for address in ["10.6.0.1/32", "10.6.0.2/32"] {
            run(&format!("ip address delete {address} dev lo"));
            one.write(&other);
            assert_eq!(one.ends(), CompletionStatus::RetryExceeded, "{address}");
            let fault = one.device.link_fault().map(|fault| fault.to_string());
            let own = "UDP 10.6.0.1:4791: 10.6.0.1 is no address of this machine any more: `ip address add` it again";
            assert_eq!(fault.as_deref(), (address == "10.6.0.1/32").then_some(own));
            run(&format!("ip address add {address} dev lo"));
            works(&one, &other);
            assert!(one.device.link_fault().is_none());
        }
    });
}
