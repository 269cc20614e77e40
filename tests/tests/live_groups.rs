//! The emulated host behind a packet socket, with a real Linux bridge for a switch: it hears of the groups that the host
//! joins and leaves and asks for them, and a kernel talks TCP to the host.
//!
//! Needs the programs `ip` and `bridge`. Where one is missing the test says which and passes, except under `CI=true`,
//! where it fails.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream};
use std::time::Duration;

use rdmalab_host::{Host, HostAddress, HostConfig, Read};
use rdmalab_namespace::{IP, Need, in_a_fresh_namespace, run};
use rdmalab_net::{Interest, MonotonicClock, PacketLosses, PacketSocket, Poller};
use rdmalab_wire::EthernetAddress;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 0x55];
const SECOND: u64 = 1_000_000_000;

#[test]
fn a_bridge_hears_of_the_groups_that_a_host_joins_and_leaves() {
    let test = "a_bridge_hears_of_the_groups_that_a_host_joins_and_leaves";
    in_a_fresh_namespace(test, &[IP, Need::Program("bridge", "iproute2")], inside);
}

/// The host, its interface, and the time that drives it.
struct Live {
    host: Host,
    socket: PacketSocket,
    poller: Poller,
    frame: Vec<u8>,
}

impl Live {
    /// Lives until `done` holds, which is looked at ten times a second; fails after 20 seconds.
    fn until(&mut self, what: &str, mut done: impl FnMut(&mut Host) -> bool) {
        let start = MonotonicClock::now();
        let mut look_at = start;
        loop {
            let now = MonotonicClock::now();
            while let Some(frame) = self.socket.next_frame().unwrap() {
                self.host.handle_frame(now, frame);
            }
            while self.host.poll_frame(now, &mut self.frame) {
                assert!(self.socket.send(&self.frame).unwrap());
            }
            assert!(self.socket.flush().unwrap());
            if now >= look_at {
                if done(&mut self.host) {
                    return;
                }
                look_at = now + SECOND / 10;
            }
            assert!(now < start + 20 * SECOND, "not within 20 seconds: {what}");
            let next = self.host.next_timeout(now).map_or(look_at, |next| next.min(look_at));
            let wait = Duration::from_nanos(next.saturating_sub(now));
            self.poller.wait(&self.socket, Interest::Read, Some(wait)).unwrap();
        }
    }
}

fn inside() {
    let v4 = IpAddr::V4(Ipv4Addr::new(239, 1, 2, 3));
    let v6 = IpAddr::V6(Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 1, 2));
    run("ip link add host0 type veth peer name port0");
    // Times in hundredths of a second; a bridge asks by IGMPv2 and MLDv1 if it is not told otherwise.
    run(
        "ip link add switch0 type bridge mcast_snooping 1 mcast_querier 1 mcast_igmp_version 3 mcast_mld_version 2 \
         mcast_query_interval 300 mcast_startup_query_interval 100 mcast_query_response_interval 100",
    );
    run("ip address add 10.9.0.1/24 dev switch0");
    run("ip link set port0 master switch0");
    run("ip link set host0 addrgenmode none");
    for name in ["switch0", "port0", "host0"] {
        run(&format!("ip link set {name} up"));
    }
    let mac = EthernetAddress(MAC);
    let addresses =
        vec![HostAddress::new(Ipv4Addr::new(10, 9, 0, 5).into(), 24), HostAddress::link_local(mac)];
    let host =
        Host::new(&HostConfig { addresses, every_group: false, seed: 7, ..HostConfig::new(mac) }).unwrap();
    let socket = PacketSocket::open("host0", MAC).unwrap();
    let mut live = Live { host, socket, poller: Poller::new().unwrap(), frame: Vec::new() };
    let knows = |group: &str| {
        let groups = run("bridge mdb show");
        groups.lines().any(|line| line.contains("port port0") && line.contains(&format!("grp {group} ")))
    };

    live.until("the port is ready", |_| run("ip link show host0").contains("state UP"));
    let now = MonotonicClock::now();
    live.host.announce();
    live.host.join(now, v4).unwrap();
    live.host.join(now, v6).unwrap();
    for group in ["239.1.2.3", "ff0e::1:2", "ff02::1:ff00:55"] {
        live.until(group, |_| knows(group));
    }
    live.until("the bridge asks by both protocols", |host| host.counters().received_queries >= 4);
    live.host.leave(MonotonicClock::now(), v4).unwrap();
    live.host.leave(MonotonicClock::now(), v6).unwrap();
    live.until("the bridge forgets", |_| !knows("239.1.2.3") && !knows("ff0e::1:2"));
    assert!(knows("ff02::1:ff00:55"), "the group of the host's own address stays");

    // The kernel finds the host and talks to it, leaving checksums and segmentation to hardware that is not there.
    let listener = live.host.listen(7777).unwrap();
    let text: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    let sent = text.clone();
    let writer = std::thread::spawn(move || {
        let mut stream = TcpStream::connect("10.9.0.5:7777").unwrap();
        stream.write_all(&sent).unwrap();
        stream
    });
    let mut stream = None;
    let mut arrived = Vec::new();
    let mut buffer = vec![0; 65_536];
    live.until("100,000 bytes by TCP", |host| {
        stream = stream.or_else(|| host.accept(listener));
        if let Some(stream) = stream
            && let Ok(Read::Bytes(length)) = host.read(stream, &mut buffer)
        {
            arrived.extend_from_slice(&buffer[..length]);
        }
        arrived.len() >= text.len()
    });
    assert!(arrived == text);
    assert_eq!(live.socket.losses(), PacketLosses::default());
    drop(writer.join().unwrap());
}
