//! A network namespace with a bridge, a TAP for each guest and two for programs of ours; beside the bridge, a veth pair for
//! two of them.
//!
//! Nothing in it is connected to this machine's other networks. The namespace goes with its last owner, and with
//! it everything in it; one whose test was killed before it could is removed by the next test.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::Lab;
use crate::capture::Capture;
use crate::lab::is_gone;
use crate::process::{Process, run};

/// Namespaces are called after the test's process: `rdmalab-PID-NUMBER`.
const PREFIX: &str = "rdmalab-";

/// All that is sent here is shorter than this: room for a path MTU of 4096 with its headers.
const MTU: &str = "4200";

/// A network of its own. Cheap to clone; the namespace lives as long as the last clone.
#[derive(Debug, Clone)]
pub struct Network(Arc<Namespace>);

#[derive(Debug)]
struct Namespace {
    lab: Lab,
    name: String,
}

impl Network {
    /// The TAP that a program of ours attaches to by its name. It stays when the program ends.
    pub const TAP: &str = "rd-lab0";
    /// The TAP of another program of ours.
    pub const SECOND_TAP: &str = "rd-lab1";
    /// Two interfaces with a cable between them, and no addresses.
    pub const VETH: [&str; 2] = ["rd-veth0", "rd-veth1"];

    /// Makes the namespace, its bridge and the program's TAP. A panic says what failed.
    #[track_caller]
    pub fn new(lab: &Lab) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        sweep();
        let name = format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let network = Self(Arc::new(Namespace { lab: lab.clone(), name }));
        network.ip(&["netns", "add", network.namespace()]);
        // Without IPv6 the interfaces on this side say nothing of their own: captures hold the parties' packets only.
        network.within("ipv6-off", "sh", &["-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"]);
        let bridge =
            ["link", "add", "bridge", "mtu", MTU, "type", "bridge", "stp_state", "0", "mcast_snooping", "0"];
        network.ip_inside(&bridge);
        network.ip_inside(&["link", "set", "bridge", "up"]);
        network.add_tap(Self::TAP);
        network.add_tap(Self::SECOND_TAP);
        let [one, other] = Self::VETH;
        network
            .ip_inside(&["link", "add", one, "mtu", MTU, "type", "veth", "peer", "name", other, "mtu", MTU]);
        for end in Self::VETH {
            network.ip_inside(&["link", "set", end, "up"]);
        }
        network
    }

    /// The namespace's name.
    pub fn namespace(&self) -> &str {
        &self.0.name
    }

    /// The lab that the network was made for.
    pub fn lab(&self) -> &Lab {
        &self.0.lab
    }

    /// Adds a TAP called `name` to the bridge.
    #[track_caller]
    pub fn add_tap(&self, name: &str) {
        self.ip_inside(&["tuntap", "add", "dev", name, "mode", "tap"]);
        self.ip_inside(&["link", "set", "dev", name, "mtu", MTU, "master", "bridge", "up"]);
    }

    /// Sets the MTU of an interface.
    #[track_caller]
    pub fn set_mtu(&self, interface: &str, mtu: u16) {
        self.ip_inside(&["link", "set", "dev", interface, "mtu", &mtu.to_string()]);
    }

    /// How many bytes an interface has carried, both ways.
    #[track_caller]
    pub fn carried(&self, interface: &str) -> u64 {
        let folder = format!("/sys/class/net/{interface}/statistics");
        let files = ["rx_bytes", "tx_bytes"].map(|name| format!("{folder}/{name}"));
        let said = self.start("carried", "cat", &files).wait(Duration::from_secs(20)).expect_success("cat");
        said.stdout.lines().filter_map(|line| line.parse::<u64>().ok()).sum()
    }

    /// A command that runs `program` inside the namespace and dies with the thread that starts it, so that it
    /// is not left over even if this process is killed.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", self.namespace(), "setpriv", "--pdeathsig", "KILL", "--"])
            .arg(program);
        command
    }

    /// Starts `program` inside the namespace. `name` tells its logs apart.
    #[track_caller]
    pub fn start(&self, name: &str, program: impl AsRef<OsStr>, arguments: &[impl AsRef<OsStr>]) -> Process {
        let mut command = self.command(program);
        command.args(arguments);
        let name = self.lab().unique(name);
        Process::start(&name, &mut command, self.lab().folder()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Captures what passes `interface` (a guest's TAP, or [`Network::TAP`]) until the capture is finished.
    #[track_caller]
    pub fn capture(&self, interface: &str, name: &str) -> Capture {
        Capture::start(self, interface, name)
    }

    /// A new path for a file of this test.
    pub fn file(&self, name: &str) -> PathBuf {
        self.lab().folder().join(self.lab().unique(name))
    }

    #[track_caller]
    fn ip(&self, arguments: &[&str]) {
        let mut command = Command::new("ip");
        command.args(arguments);
        let name = self.lab().unique("ip");
        if let Err(error) = run(&name, &mut command, self.lab().folder(), Duration::from_secs(20)) {
            panic!("ip {}: {error}", arguments.join(" "));
        }
    }

    #[track_caller]
    fn ip_inside(&self, arguments: &[&str]) {
        self.ip(&[&["-n", self.namespace()], arguments].concat());
    }

    #[track_caller]
    fn within(&self, name: &str, program: &str, arguments: &[&str]) {
        self.start(name, program, arguments).wait(Duration::from_secs(20)).expect_success(name);
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// Removes the namespaces of test processes that are no more.
fn sweep() {
    for entry in std::fs::read_dir("/run/netns").into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let id = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if id.is_some_and(is_gone) {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}
