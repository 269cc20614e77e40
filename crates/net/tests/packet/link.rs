//! What the tests stand on: a link with the kernel at its other end, and waiting for frames.

use std::process::Command;
use std::time::Duration;

use rdmalab_namespace::run;
use rdmalab_net::{FRAME_CAPACITY, Interest, PacketSocket, Poller};

use crate::frames::OURS;

/// Whoever waits longer has failed.
pub const SOON: Option<Duration> = Some(Duration::from_secs(10));

/// A veth pair of which the kernel has one end, `kernel`, as 10.8.0.1 with a neighbour entry for us as 10.8.0.2; ours is
/// `ours`. It goes when it is dropped.
pub struct Pair;

impl Pair {
    pub fn new(mtu: u16) -> Self {
        run(&format!(
            "ip link add ours mtu {mtu} type veth peer name kernel mtu {mtu} address 02:00:00:00:00:01"
        ));
        for end in ["ours", "kernel"] {
            run(&format!("ip link set {end} up"));
        }
        let pair = Self;
        pair.wait_until_ready();
        run("ip address add 10.8.0.1/24 dev kernel");
        run("ip neighbour add 10.8.0.2 lladdr 02:00:00:00:00:02 dev kernel");
        pair
    }

    /// That its other end is up an interface hears some time later, and throws frames away until then.
    #[track_caller]
    pub fn wait_until_ready(&self) {
        for end in ["ours", "kernel"] {
            let is_ready = |_: &u32| {
                let output = Command::new("ip").args(["link", "show", end]).output().unwrap();
                String::from_utf8_lossy(&output.stdout).contains("state UP")
            };
            (0..10_000).find(is_ready).expect("the link does not get ready");
        }
    }

    pub fn open(&self) -> PacketSocket {
        PacketSocket::open("ours", OURS).unwrap()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["link", "delete", "ours"]).output();
    }
}

/// The next frame for which `wanted` holds; the kernel also asks for neighbours by itself.
#[track_caller]
pub fn next_frame(socket: &mut PacketSocket, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut poller = Poller::new().unwrap();
    let mut buffer = vec![0; FRAME_CAPACITY];
    loop {
        while let Some(length) = socket.receive(&mut buffer).unwrap() {
            if wanted(&buffer[..length]) {
                return buffer[..length].to_vec();
            }
        }
        assert!(!socket.has_frames());
        let ready = poller.wait(socket, Interest::Read, SOON).unwrap();
        assert!(ready.readable, "no such frame within 10 seconds");
    }
}
