//! [`Tap`] against the kernel, in a network namespace that lives no longer than the test.
//!
//! Needs TAP devices and the program `ip`. Where something is missing the test says what and passes, except under
//! `CI=true`, where it fails.

use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

use rdmalab_namespace::{IP, Need, in_a_fresh_namespace, run};
use rdmalab_net::{FRAME_CAPACITY, Interest, NetError, Poller, Tap};

const OUR_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 2];

#[test]
fn frames_cross_a_tap_both_ways_and_its_faults_are_told() {
    let test = "frames_cross_a_tap_both_ways_and_its_faults_are_told";
    in_a_fresh_namespace(test, &[Need::Taps, IP], inside);
}

/// One process is one namespace, so these run one behind the other.
fn inside() {
    a_fresh_tap_is_down_with_the_usual_mtu();
    a_frame_of_the_kernel_arrives_with_its_checksum_complete();
    the_kernel_answers_a_frame_of_ours();
    a_persistent_tap_is_attached_to_and_left_behind();
    a_tap_in_use_and_a_device_of_another_kind_are_told_apart();
    a_deleted_tap_ends_the_wait_and_is_named();
    without_privilege_a_prepared_tap_opens_and_another_says_how_to_prepare_it();
}

/// A device that is up, with the kernel as 10.7.0.1 and a neighbour entry for us as 10.7.0.2.
fn tap(name: &str, mtu: u16) -> Tap {
    let mut tap = Tap::open(name).unwrap();
    tap.set_mtu(mtu).unwrap();
    tap.bring_up().unwrap();
    run(&format!("ip address add 10.7.0.1/24 dev {name}"));
    run(&format!("ip neighbour add 10.7.0.2 lladdr 02:00:00:00:00:02 dev {name}"));
    tap
}

/// The next frame for which `wanted` holds; the kernel also speaks IPv6 by itself.
#[track_caller]
fn next_frame(tap: &mut Tap, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut poller = Poller::new().unwrap();
    let mut buffer = vec![0; FRAME_CAPACITY];
    loop {
        while let Some(length) = tap.receive(&mut buffer).unwrap() {
            if wanted(&buffer[..length]) {
                return buffer[..length].to_vec();
            }
        }
        let ready = poller.wait(tap, Interest::Read, Some(Duration::from_secs(10))).unwrap();
        assert!(ready.readable, "no such frame within 10 seconds");
    }
}

fn a_fresh_tap_is_down_with_the_usual_mtu() {
    let mut tap = Tap::open("fresh%d").unwrap();
    assert_eq!(tap.name(), "fresh0");
    assert_eq!((tap.mtu().unwrap(), tap.is_up().unwrap()), (1500, false));
    assert_eq!(tap.receive(&mut [0; 2048]).unwrap(), None);
    let error = tap.send(&[0; 60]).unwrap_err();
    assert!(matches!(error, NetError::Down { .. }), "{error}");
    assert_eq!(error.to_string(), "device fresh0 is down: `ip link set fresh0 up`");
    let error = tap.send(&[0; 13]).unwrap_err();
    assert!(matches!(error, NetError::FrameTooShort { length: 13, .. }), "{error}");
    tap.bring_up().unwrap();
    assert!(tap.is_up().unwrap());
    assert!(tap.send(&[0; 60]).unwrap());
    tap.set_mtu(65_521).unwrap();
    assert_eq!(tap.mtu().unwrap(), 65_521);
    assert_ne!(tap.kernel_mac().unwrap(), [0; 6]);
}

fn a_frame_of_the_kernel_arrives_with_its_checksum_complete() {
    for (name, mtu, length) in [("usual", 1500, 33), ("jumbo", 9000, 8000), ("largest", 65_521, 65_000)] {
        let mut tap = tap(name, mtu);
        let sender = UdpSocket::bind("10.7.0.1:0").unwrap();
        let payload: Vec<u8> = (0..length).map(|index: usize| index.to_le_bytes()[0]).collect();
        sender.send_to(&payload, "10.7.0.2:4791").unwrap();
        let frame = next_frame(&mut tap, |frame| frame[12..14] == [0x08, 0x00] && frame[23] == 17);
        assert_eq!(frame.len(), 14 + 20 + 8 + length, "whole and in one piece");
        assert_eq!((&frame[..6], &frame[6..12]), (&OUR_MAC[..], &tap.kernel_mac().unwrap()[..]));
        assert_eq!(&frame[42..], payload);
        // The pseudo header's protocol and length, its addresses, and the whole datagram sum up to all ones.
        let sum = 17 + (8 + length as u64) + sum(&frame[26..34]) + sum(&frame[34..]);
        assert_ne!(frame[40..42], [0, 0], "a checksum is there");
        assert_eq!(folded(sum), 0xffff, "and it is right");
    }
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0))).sum()
}

fn folded(mut sum: u64) -> u64 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

fn the_kernel_answers_a_frame_of_ours() {
    let mut tap = tap("asking", 1500);
    let mut request = vec![0xff; 6];
    request.extend_from_slice(&OUR_MAC);
    // ARP, Ethernet and IPv4, a request: "10.7.0.2 asks who is 10.7.0.1".
    request.extend_from_slice(&[0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0, 1]);
    request.extend_from_slice(&OUR_MAC);
    request.extend_from_slice(&[10, 7, 0, 2, 0, 0, 0, 0, 0, 0, 10, 7, 0, 1]);
    assert!(tap.send(&request).unwrap());
    let reply = next_frame(&mut tap, |frame| frame[12..14] == [0x08, 0x06] && frame[20..22] == [0, 2]);
    assert_eq!(&reply[..6], OUR_MAC);
    assert_eq!((&reply[22..28], &reply[28..32]), (&tap.kernel_mac().unwrap()[..], &[10, 7, 0, 1][..]));
}

fn a_persistent_tap_is_attached_to_and_left_behind() {
    run("ip tuntap add mode tap name kept");
    run("ip link set kept mtu 4200 up");
    for _ in 0..20 {
        let tap = Tap::open("kept").unwrap();
        assert_eq!((tap.mtu().unwrap(), tap.is_up().unwrap()), (4200, true));
    }
    run("ip link show kept");
    drop(Tap::open("passing").unwrap());
    let output = Command::new("ip").args(["link", "show", "passing"]).output().unwrap();
    assert!(!output.status.success(), "a device that we created goes with us");
}

fn a_tap_in_use_and_a_device_of_another_kind_are_told_apart() {
    let _held = Tap::open("held").unwrap();
    let error = Tap::open("held").unwrap_err();
    assert!(matches!(&error, NetError::Busy { device } if device == "held"), "{error}");
    run("ip tuntap add mode tun name layer3");
    run("ip tuntap add mode tap multi_queue name queues");
    for name in ["layer3", "queues", "lo"] {
        let error = Tap::open(name).unwrap_err();
        assert!(matches!(&error, NetError::WrongKind { device } if device == name), "{error}");
    }
}

fn a_deleted_tap_ends_the_wait_and_is_named() {
    let mut tap = tap("doomed", 1500);
    let mut buffer = vec![0; FRAME_CAPACITY];
    let (mut poller, for_ever) = (Poller::new().unwrap(), Some(Duration::from_secs(10)));
    run("ip link delete doomed");
    let error = loop {
        assert!(poller.wait(&tap, Interest::Read, for_ever).unwrap().readable);
        match tap.receive(&mut buffer) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    let is_gone = |error: &NetError| matches!(error, NetError::Gone { device } if device == "doomed");
    assert!(is_gone(&error), "{error}");
    assert!(is_gone(&tap.send(&[0; 60]).unwrap_err()));
    assert!(is_gone(&tap.mtu().unwrap_err()));
    assert!(is_gone(&tap.is_up().unwrap_err()));
    assert!(is_gone(&tap.bring_up().unwrap_err()));
}

fn without_privilege_a_prepared_tap_opens_and_another_says_how_to_prepare_it() {
    run("ip tuntap add mode tap name prepared user 0");
    run("ip link set prepared up");
    rustix::thread::set_capabilities(
        None,
        rustix::thread::CapabilitySets {
            effective: rustix::thread::CapabilitySet::empty(),
            permitted: rustix::thread::CapabilitySet::empty(),
            inheritable: rustix::thread::CapabilitySet::empty(),
        },
    )
    .unwrap();
    let mut tap = Tap::open("prepared").unwrap();
    assert!(tap.is_up().unwrap() && tap.send(&[0; 60]).unwrap());
    let error = tap.set_mtu(9000).unwrap_err();
    assert!(matches!(error, NetError::ChangeNotPermitted { .. }), "{error}");
    assert!(error.to_string().contains("`ip link set prepared mtu 9000`"), "{error}");
    let error = Tap::open("wished").unwrap_err();
    assert!(matches!(error, NetError::NotPermitted { .. }), "{error}");
    assert!(error.to_string().contains("`ip tuntap add mode tap name wished user $USER`"), "{error}");
}
