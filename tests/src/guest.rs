//! A Linux guest with an rxe device: made in seconds, told what to run, gone when dropped.
//!
//! It sees this machine's root read-only, so every program that is installed here runs there, and has one
//! writable folder, shared with us, through which commands go in and results come out ([`Guest::run`]). That there is
//! one is said on a serial line ([`orders`]), where the guest can wait for it without looking again and again.
//! QEMU only ever emulates the processor: where /dev/kvm exists a guest may still die in it.

mod adapter;
mod job;
mod loss;
mod orders;
mod state;
mod vanish;

use std::cell::Cell;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Network;
use crate::process::{Output, Process, wait_until};

pub use adapter::Adapter;
pub use job::{Job, Stuck};
use orders::Orders;
pub use state::GuestState;

/// How long a guest may take to be ready. It takes 5 to 10 seconds on two free cores.
const BOOT_LIMIT: Duration = Duration::from_secs(120);

/// How a guest is made.
#[derive(Debug, Clone)]
pub struct GuestConfig {
    /// The name of its TAP and of its logs, up to 15 letters.
    pub name: &'static str,
    /// Its address, in a network of 24 bits.
    pub ip: Ipv4Addr,
    /// The MTU of its interface. A path MTU of 4096 needs 4200, one of 1024 needs 1500.
    pub mtu: u16,
}

/// A running guest.
#[derive(Debug)]
pub struct Guest {
    network: Network,
    config: GuestConfig,
    share: PathBuf,
    orders: Orders,
    machine: Option<Process>,
    /// What kind of RDMA device it has.
    adapter: Cell<Adapter>,
}

impl Guest {
    /// The name of the guest's RDMA device.
    pub const DEVICE: &str = "rxe0";

    /// The index of the GID that stands for the guest's IPv4 address.
    pub const GID: u32 = 1;

    /// Boots a guest on `network` and waits until its RDMA device is ready. A panic with its console if it is not.
    #[track_caller]
    pub fn boot(network: &Network, config: GuestConfig) -> Self {
        let mut guest = Self::start(network, config);
        guest.wait_until_ready();
        guest
    }

    #[track_caller]
    fn start(network: &Network, config: GuestConfig) -> Self {
        let lab = network.lab();
        let share = lab.folder().join(format!("{}-share", lab.unique(config.name)));
        let files = [("agent.sh", include_str!("guest/agent.sh").to_owned()), ("setup.sh", config.setup())];
        fs::create_dir_all(&share).expect("the lab's folder is writable");
        for (name, text) in files {
            fs::write(share.join(name), text).expect("the lab's folder is writable");
        }
        network.add_tap(config.name);
        let orders = Orders::new(network, config.name);
        let arguments = arguments(network, &config, &share, &orders);
        let machine = network.start(config.name, "qemu-system-x86_64", &arguments);
        Self {
            network: network.clone(),
            config,
            share,
            orders,
            machine: Some(machine),
            adapter: Cell::new(Adapter::Rxe),
        }
    }

    #[track_caller]
    fn wait_until_ready(&mut self) {
        let ready = self.share.join("ready");
        let name = self.config.name;
        let machine = self.machine.as_mut().expect("the machine runs until it is dropped");
        let seen =
            wait_until(BOOT_LIMIT, || (ready.exists() || !machine.is_running()).then(|| ready.exists()));
        assert!(seen == Some(true), "the guest {name} did not come up, {}", machine.output_so_far());
    }

    /// Runs a command line of bash in the guest. A panic if it is not over within `limit`; whether it succeeded
    /// is in the output.
    #[track_caller]
    pub fn run(&self, command: &str, limit: Duration) -> Output {
        self.spawn(command, limit).wait()
    }

    /// Starts a command line of bash in the guest, which is ended after `limit` if it has not ended by then.
    /// Any number may run at once.
    #[track_caller]
    pub fn spawn(&self, command: &str, limit: Duration) -> Job {
        let name = self.network.lab().unique("job");
        let text = format!("# {}\n{command}\n", limit.as_secs().max(1));
        self.put(&format!("{name}.cmd"), &text);
        self.orders.give("run", &name);
        Job::new(self.share.join(name), limit, self.orders.clone())
    }

    /// Puts a file into the guest, which sees it as `/mnt/NAME`.
    #[track_caller]
    pub fn put(&self, name: &str, text: &str) {
        fs::write(self.share.join(name), text).expect("the lab's folder is writable");
    }

    /// Waits until something in the guest listens on a TCP port.
    #[track_caller]
    pub fn wait_for_listener(&self, port: u16, limit: Duration) {
        // Starting a program for each look would take the guest's one slow processor from what is waited for.
        let look = format!(
            "mkfifo /run/nothing-$$ && exec 9<>/run/nothing-$$\n\
             listening=':{port:04X} [0-9A-F]+:0000 0A'\n\
             until mapfile four </proc/net/tcp; mapfile six </proc/net/tcp6; \
             [[ \"${{four[*]}}${{six[*]}}\" =~ $listening ]]; do read -r -t 0.1 -u 9; done; rm /run/nothing-$$"
        );
        self.run(&look, limit)
            .expect_success(&format!("waiting for a listener on port {port} of {}", self.config.name));
    }

    /// One of the RDMA device's counters by its name in sysfs, for example `out_of_seq_request`.
    #[track_caller]
    pub fn counter(&self, name: &str) -> u64 {
        let path = format!("/sys/class/infiniband/{}/ports/1/hw_counters/{name}", Self::DEVICE);
        let said =
            self.run(&format!("cat {path}"), Duration::from_secs(20)).expect_success("reading a counter");
        said.stdout.trim().parse().unwrap_or_else(|_| panic!("{path} holds {:?}", said.stdout))
    }

    /// The guest's address.
    pub fn ip(&self) -> Ipv4Addr {
        self.config.ip
    }

    /// The TAP to which the guest is plugged: the place to capture.
    pub fn tap(&self) -> &str {
        self.config.name
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.orders.give("stop", "");
        if let Some(mut machine) = self.machine.take() {
            // A guest that hangs is ended by dropping its process.
            wait_until(Duration::from_secs(5), || (!machine.is_running()).then_some(()));
        }
    }
}

impl GuestConfig {
    /// The script that makes the interface and the RDMA device. The GID table is filled after the fact.
    fn setup(&self) -> String {
        let (ip, mtu, device, gid) = (self.ip, self.mtu, Guest::DEVICE, Guest::GID);
        format!(
            "set -e\n\
             for _ in $(seq 100); do [ -e /sys/class/net/eth0 ] && break; sleep 0.1; done\n\
             ip link set eth0 mtu {mtu} up\n\
             ip address add {ip}/24 dev eth0\n\
             rdma link add {device} type rxe netdev eth0\n\
             for _ in $(seq 100); do\n\
             grep -q ':ffff:' /sys/class/infiniband/{device}/ports/1/gids/{gid} && exit 0; sleep 0.1\n\
             done\n\
             echo 'the RDMA device has no GID for its address'; exit 1\n"
        )
    }

    /// A locally administered address made from the IP address.
    fn mac(&self) -> String {
        let [a, b, c, d] = self.ip.octets();
        format!("02:00:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
    }
}

fn arguments(network: &Network, config: &GuestConfig, share: &Path, orders: &Orders) -> Vec<String> {
    let lab = network.lab();
    let machine =
        "-accel tcg,thread=multi -cpu max -smp 1 -m 768 -nographic -no-reboot -nodefaults -serial stdio";
    let mut all: Vec<String> = machine.split(' ').map(str::to_owned).collect();
    all.extend(orders.arguments());
    all.push("-netdev".into());
    all.push(format!("tap,id=n0,ifname={},script=no,downscript=no,vhost=off", config.name));
    // The guest finishes its checksums itself, so that captures and programs beside it see whole packets.
    all.push("-device".into());
    all.push(format!("virtio-net-pci,netdev=n0,mac={},romfile=,mrg_rxbuf=off,csum=off", config.mac()));
    for (option, value) in [
        ("-kernel", lab.kernel.image.to_string_lossy().into_owned()),
        ("-initrd", lab.initramfs.to_string_lossy().into_owned()),
        // A busy machine is late with the interrupts by which a kernel tries its timer, and it would panic. Warnings are
        // shown: what a kernel fell over it may have warned of.
        ("-append", "console=ttyS0 panic=-1 quiet loglevel=5 no_timer_check".to_owned()),
        ("-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap".to_owned()),
        ("-virtfs", format!("local,path={},mount_tag=share,security_model=none", comma_doubled(share))),
    ] {
        all.extend([option.to_owned(), value]);
    }
    all
}

/// QEMU's way to write a comma inside a value.
fn comma_doubled(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}
