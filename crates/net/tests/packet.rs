//! [`PacketSocket`] against the kernel, over veth pairs in a network namespace that lives no longer than the test: one
//! end is the kernel's, on the other one lives our host.
//!
//! Needs TAP devices and the programs `ip` and `tc`. Where something is missing the test says what and passes, except
//! under `CI=true`, where it fails.

#[path = "packet/frames.rs"]
mod frames;
#[path = "packet/link.rs"]
mod link;
#[path = "packet/offloads.rs"]
mod offloads;

use std::net::UdpSocket;

use frames::{KERNEL, OURS, datagram, frame_to, identification, is_udp, payload};
use link::{Pair, SOON, next_frame};
use rdmalab_namespace::{IP, Need, in_a_fresh_namespace, run};
use rdmalab_net::{Interest, NetError, PacketLosses, PacketSocket, Poller};

#[test]
fn frames_cross_an_interface_both_ways_and_whole_and_its_faults_are_told() {
    let test = "frames_cross_an_interface_both_ways_and_whole_and_its_faults_are_told";
    in_a_fresh_namespace(test, &[Need::Taps, IP, Need::Program("tc", "iproute2")], inside);
}

/// One process is one namespace, so these run one behind the other.
fn inside() {
    // The kernel speaks IPv6 by itself, at moments of its own choice.
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    offloads::datagrams_of_the_kernel_arrive_with_their_checksums();
    offloads::a_superframe_of_datagrams_arrives_as_the_datagrams_that_were_sent();
    offloads::a_stream_of_the_kernel_arrives_in_segments_of_the_mtu();
    offloads::runs_of_datagrams_reach_the_kernels_sockets();
    offloads::runs_leave_as_the_same_datagrams_where_no_superframe_can_go();
    a_tag_is_in_the_bytes_again();
    only_frames_for_the_host_and_for_groups_arrive();
    jumbo_frames_cross_and_longer_ones_are_lost_and_counted();
    a_full_queue_refuses_and_the_poller_says_when_it_takes_again();
    frames_that_nobody_takes_are_counted();
    hosts_find_each_other_on_the_loopback_interface();
    a_link_that_goes_down_is_told_once_and_serves_again_when_it_is_up();
    a_deleted_interface_ends_the_wait_and_is_named();
    what_cannot_be_opened_says_why();
}

fn a_tag_is_in_the_bytes_again() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let mut peer = PacketSocket::open("kernel", [2, 0, 0, 0, 0, 3]).unwrap();
    for tag in [[0x81, 0x00, 0x60, 0x05], [0x88, 0xa8, 0x0f, 0xff], [0x81, 0x00, 0xe0, 0x00]] {
        let mut frame = datagram(7, &payload(100));
        frame[..6].copy_from_slice(&OURS);
        frame.splice(12..12, tag);
        assert!(peer.send(&frame).unwrap() && peer.flush().unwrap());
        assert_eq!(next_frame(&mut socket, |frame| frame[12] != 0x86), frame, "{tag:02x?}");
    }
    // Two tags: the kernel takes the outer one out.
    let mut frame = datagram(8, &payload(1472));
    frame[..6].copy_from_slice(&OURS);
    frame.splice(12..12, [0x88, 0xa8, 0, 1, 0x81, 0, 0, 2]);
    assert!(peer.send(&frame).unwrap() && peer.flush().unwrap());
    assert_eq!(peer.losses().refused, 1, "two tags are longer than the MTU allows");
    frame.truncate(1500);
    assert!(peer.send(&frame).unwrap() && peer.flush().unwrap());
    assert_eq!(next_frame(&mut socket, |frame| frame[12] != 0x86), frame);
}

fn only_frames_for_the_host_and_for_groups_arrive() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let mut peer = PacketSocket::open("kernel", [2, 0, 0, 0, 0, 3]).unwrap();
    let own_mac = socket.kernel_mac();
    let others = [own_mac, [2, 0, 0, 0, 0, 3], [2, 0, 0, 0, 1, 2], [0x12, 0, 0, 0, 0, 2]];
    let wanted = [OURS, [0xff; 6], [0x01, 0, 0x5e, 1, 2, 3], [0x33, 0x33, 0, 0, 0, 9]];
    for to in others.into_iter().chain(wanted) {
        assert!(peer.send(&frame_to(to)).unwrap());
    }
    // What we send ourselves does not come back, to whomever it is.
    for to in [OURS, [0xff; 6]] {
        let mut frame = frame_to(to);
        frame[20] = 1;
        assert!(socket.send(&frame).unwrap());
    }
    assert!(peer.flush().unwrap() && socket.flush().unwrap());
    for to in wanted {
        assert_eq!(next_frame(&mut socket, |frame| frame[12..14] == [0x89, 0x15]), frame_to(to));
    }
    assert!(peer.send(&frame_to(OURS)).unwrap() && peer.flush().unwrap());
    assert_eq!(
        next_frame(&mut socket, |frame| frame[12..14] == [0x89, 0x15]),
        frame_to(OURS),
        "nothing between"
    );
}

fn jumbo_frames_cross_and_longer_ones_are_lost_and_counted() {
    let pair = Pair::new(9000);
    let mut socket = pair.open();
    assert_eq!((socket.mtu().unwrap(), socket.is_up().unwrap()), (9000, true));
    let receiver = UdpSocket::bind("10.8.0.1:4791").unwrap();
    receiver.set_read_timeout(SOON).unwrap();
    for length in [8972, 9000, 70_000, 1] {
        let mut frame = datagram(1, &payload(length.min(60_000)));
        frame.resize(42 + length, 0);
        assert!(socket.send(&frame).unwrap() && socket.flush().unwrap());
    }
    let mut buffer = [0; 10_000];
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 8972);
    assert_eq!(buffer[..8972], payload(8972));
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 1);
    assert_eq!(socket.losses(), PacketLosses { refused: 2, ..PacketLosses::default() });
}

fn a_full_queue_refuses_and_the_poller_says_when_it_takes_again() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let mut peer = PacketSocket::open("kernel", [2, 0, 0, 0, 0, 3]).unwrap();
    run("tc qdisc add dev ours root tbf rate 20mbit burst 10kb limit 100mb");
    let numbered = |number: u32| {
        let mut frame = frame_to([2, 0, 0, 0, 0, 3]);
        frame.extend(number.to_be_bytes());
        frame.resize(1200, 0);
        frame
    };
    let mut taken = 0;
    while socket.send(&numbered(taken)).unwrap() {
        taken += 1;
        assert!(taken < 100_000, "it takes everything");
    }
    let mut poller = Poller::new().unwrap();
    loop {
        let ready = poller.wait(&socket, Interest::ReadOrWrite, SOON).unwrap();
        assert!(ready.readable || ready.writable, "never again");
        if ready.writable && socket.flush().unwrap() {
            break;
        }
        while socket.next_frame().unwrap().is_some() {}
    }
    assert!(socket.send(&numbered(taken)).unwrap() && socket.flush().unwrap());
    for number in 0..=taken {
        assert_eq!(next_frame(&mut peer, |frame| frame[12..14] == [0x89, 0x15]), numbered(number));
    }
    assert_eq!(socket.losses(), PacketLosses::default());
}

fn frames_that_nobody_takes_are_counted() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let mut peer = PacketSocket::open("kernel", [2, 0, 0, 0, 0, 3]).unwrap();
    let mut frame = frame_to([2, 0, 0, 0, 0, 3]);
    frame.resize(1500, 0);
    for _ in 0..20_000 {
        assert!(socket.send(&frame).unwrap());
    }
    assert!(socket.flush().unwrap());
    let mut arrived = 0;
    while peer.next_frame().unwrap().is_some() {
        arrived += 1;
    }
    let losses = peer.losses();
    assert!(arrived > 1000 && losses.overruns > 0, "{arrived} arrived, {losses:?}");
    assert_eq!(arrived + losses.overruns, 20_000);
    assert_eq!(peer.losses(), losses, "each is counted once");
}

fn hosts_find_each_other_on_the_loopback_interface() {
    run("ip link set lo up");
    let [mut one, mut other] = [OURS, KERNEL].map(|mac| PacketSocket::open("lo", mac).unwrap());
    assert_eq!(one.mtu().unwrap(), u16::MAX, "it is even more");
    for number in 0..20 {
        assert!(one.send(&datagram(number, &[7; 4112])).unwrap());
    }
    assert!(one.flush().unwrap());
    for number in 0..20 {
        let frame = next_frame(&mut other, is_udp);
        assert_eq!((frame.len(), identification(&frame)), (42 + 4112, number));
    }
    assert!(other.send(&frame_to(OURS)).unwrap() && other.flush().unwrap());
    assert_eq!(next_frame(&mut one, |_| true), frame_to(OURS));
}

fn a_link_that_goes_down_is_told_once_and_serves_again_when_it_is_up() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    let mut peer = PacketSocket::open("kernel", [2, 0, 0, 0, 0, 3]).unwrap();
    run("ip link set ours down");
    assert!(!socket.is_up().unwrap());
    let mut poller = Poller::new().unwrap();
    let error = loop {
        assert!(poller.wait(&socket, Interest::Read, SOON).unwrap().readable, "nobody says that it is down");
        if let Err(error) = socket.next_frame() {
            break error;
        }
    };
    assert!(matches!(&error, NetError::Down { device } if device == "ours"), "{error}");
    assert_eq!(error.to_string(), "device ours is down: `ip link set ours up`");
    assert_eq!(socket.next_frame().unwrap(), None);
    for _ in 0..3 {
        assert!(socket.send(&frame_to(KERNEL)).unwrap());
        let error = socket.flush().unwrap_err();
        assert!(matches!(&error, NetError::Down { .. }), "{error}");
        assert!(socket.flush().unwrap(), "what waited is lost");
    }
    run("ip link set ours up");
    assert!(socket.is_up().unwrap());
    pair.wait_until_ready();
    assert!(socket.send(&frame_to([2, 0, 0, 0, 0, 3])).unwrap() && socket.flush().unwrap());
    let is_ours = |frame: &[u8]| frame[12..14] == [0x89, 0x15];
    assert_eq!(next_frame(&mut peer, is_ours), frame_to([2, 0, 0, 0, 0, 3]));
    assert!(peer.send(&frame_to(OURS)).unwrap() && peer.flush().unwrap());
    assert_eq!(next_frame(&mut socket, is_ours), frame_to(OURS));
}

fn a_deleted_interface_ends_the_wait_and_is_named() {
    let pair = Pair::new(1500);
    let mut socket = pair.open();
    run("ip link delete ours");
    // One that comes later and has the name is another one.
    let other = Pair::new(1500);
    let mut poller = Poller::new().unwrap();
    let error = loop {
        assert!(poller.wait(&socket, Interest::Read, SOON).unwrap().readable, "nobody says that it is gone");
        if let Err(error) = socket.next_frame() {
            break error;
        }
    };
    let is_gone = |error: &NetError| matches!(error, NetError::Gone { device } if device == "ours");
    assert!(is_gone(&error), "{error}");
    assert!(socket.send(&frame_to(KERNEL)).unwrap());
    assert!(is_gone(&socket.flush().unwrap_err()));
    assert!(is_gone(&socket.mtu().unwrap_err()));
    assert!(is_gone(&socket.is_up().unwrap_err()));
    drop((other, pair));
}

/// The last one: it gives all rights away.
fn what_cannot_be_opened_says_why() {
    let pair = Pair::new(1500);
    let mac = pair.open().kernel_mac();
    run("ip tuntap add mode tun name layer3");
    let error = PacketSocket::open("a/b", OURS).unwrap_err();
    assert!(matches!(&error, NetError::BadName { .. }), "{error}");
    let error = PacketSocket::open("nowhere", OURS).unwrap_err();
    assert!(matches!(&error, NetError::NoSuchDevice { device } if device == "nowhere"), "{error}");
    let error = PacketSocket::open("layer3", OURS).unwrap_err();
    assert!(matches!(&error, NetError::NotEthernet { device } if device == "layer3"), "{error}");
    let error = PacketSocket::open("ours", mac).unwrap_err();
    assert!(matches!(&error, NetError::KernelsMac { device } if device == "ours"), "{error}");
    run("ip link set ours down");
    let mut down = pair.open();
    assert!(!down.is_up().unwrap());
    assert!(down.send(&frame_to(KERNEL)).unwrap());
    assert!(matches!(down.flush().unwrap_err(), NetError::Down { .. }));
    assert!(matches!(down.send(&[0; 13]).unwrap_err(), NetError::FrameTooShort { length: 13, .. }));
    let none = rustix::thread::CapabilitySet::empty();
    let nothing = rustix::thread::CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, nothing).unwrap();
    let error = PacketSocket::open("ours", OURS).unwrap_err();
    assert!(matches!(&error, NetError::NoRawSockets { .. }), "{error}");
    assert!(error.to_string().contains("ours"), "{error}");
}
