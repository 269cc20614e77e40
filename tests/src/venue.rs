//! One guest for many tests: a guest takes ten seconds to boot, most tests less.
//!
//! A test gets the [`Place`] as another one left it: with a guest that runs and loses nothing. One that fails, or says that
//! it has [used the guest up](Place::use_up), leaves none, and the next test gets a fresh one.
//!
//! A guest's kernel can fall over nothing that is sent to it. Seen so twice in some days of tests: in siw's thread, which copied from an
//! address that is none, and in rxe's, which asked for memory. Both times the flags of the processor, as QEMU 7.2 emulates it, were the
//! lower half of an address that stood in other registers (c35c0646 with ff384cd2c35d1740, 838b9202 with ff2da92b838b9000), and no
//! processor has bits set above the 21st. So a test during which a kernel says that it has fallen takes place once more.

use std::io::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Adapter, Guest, GuestConfig, Lab, Network, program};

/// For what the guest is told in between.
const LIMIT: Duration = Duration::from_secs(60);

const fn v6(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 9, 0, 0, 0, 0, 0, number)
}

/// Where tests take place, one behind the other.
#[derive(Debug)]
pub struct Venue {
    lab: Lab,
    program: Option<PathBuf>,
    place: Option<Place>,
    /// How the guest's kernel fell in a test that has panicked.
    fall: Option<String>,
}

/// A guest on a network, and our program beside it.
#[derive(Debug)]
pub struct Place {
    /// What it is made in.
    pub lab: Lab,
    /// The network.
    pub network: Network,
    /// The guest.
    pub guest: Guest,
    program: PathBuf,
    is_used_up: bool,
    /// The port that was given last.
    last_port: u16,
}

impl Venue {
    /// A venue, with nothing in it yet. `None` where live tests cannot run, which [`Lab::ready`] has told.
    pub fn open(name: &str) -> Option<Self> {
        Some(Self { lab: Lab::ready(name)?, program: None, place: None, fall: None })
    }

    /// Keeps all captures and logs, as after a failed test.
    pub fn keep(&self) {
        self.lab.keep();
    }

    /// Lets one test take place, and once more if it panics and the guest's kernel says that it has fallen: loudly, and with a fresh
    /// guest. A kernel that falls twice over the same is our doing.
    #[track_caller]
    pub fn host_again_if_the_guest_falls(&mut self, name: &str, test: fn(&mut Place)) {
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.host(test))) else { return };
        let Some(words) = self.fall.take() else { resume_unwind(panic) };
        // Not eprintln!: the test runner swallows the output of tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "PLAYED AGAIN, with a fresh guest: {name}: the guest's kernel has fallen: {words}"
        );
        self.host(test);
    }

    /// Lets one test take place.
    #[track_caller]
    pub fn host(&mut self, test: impl FnOnce(&mut Place)) {
        let lab = &self.lab;
        let program = self.program.get_or_insert_with(|| program(lab));
        let mut place = self.place.take().unwrap_or_else(|| Place::new(lab, program));
        let outcome = catch_unwind(AssertUnwindSafe(|| test(&mut place)));
        if let Err(panic) = outcome {
            // It is gone, and its captures and logs stay.
            self.lab.keep();
            self.fall = place.guest.fall();
            resume_unwind(panic);
        }
        if !place.is_used_up {
            place.guest.clear_netem();
            place.guest.switch_to(Adapter::Rxe);
            self.place = Some(place);
        }
    }
}

impl Place {
    /// The guest's address.
    pub const GUEST: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
    /// The address that programs of ours take.
    pub const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
    /// The address of another program of ours.
    pub const OTHER: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 3);
    /// The guest's IPv6 address, once it has [one](Self::give_v6).
    pub const GUEST_V6: Ipv6Addr = v6(1);
    /// The IPv6 address that programs of ours take.
    pub const OURS_V6: Ipv6Addr = v6(2);
    /// The IPv6 address of another program of ours.
    pub const OTHER_V6: Ipv6Addr = v6(3);

    #[track_caller]
    fn new(lab: &Lab, program: &Path) -> Self {
        let network = Network::new(lab);
        let guest = Guest::boot(&network, GuestConfig { name: "guest", ip: Self::GUEST, mtu: 4200 });
        Self {
            lab: lab.clone(),
            network,
            guest,
            program: program.to_owned(),
            is_used_up: false,
            last_port: 0,
        }
    }

    /// The program `rdmalab`.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Puts another guest in the place of this one, which has failed.
    #[track_caller]
    pub fn renew(&mut self) {
        *self = Self { last_port: self.last_port, ..Self::new(&self.lab, &self.program) };
    }

    /// A port (the 10,000 above are free, too) that nothing has used for thousands of games, so that none meets what is left of another: TCP remembers connections
    /// for a minute.
    pub fn next_port(&mut self) -> u16 {
        const PORTS: std::ops::Range<u16> = 10_000..20_000;
        let next = self.last_port + 1;
        self.last_port = if PORTS.contains(&next) { next } else { PORTS.start };
        self.last_port
    }

    /// Gives the guest its IPv6 address, and waits until its rxe device, if it has one now, has it, behind that of IPv4.
    #[track_caller]
    pub fn give_v6(&self) {
        let (address, gids) =
            (Self::GUEST_V6, format!("/sys/class/infiniband/{}/ports/1/gids", Guest::DEVICE));
        let line = format!(
            "ip address add {address}/64 dev eth0 nodad 2>/dev/null\n\
             [ -e {gids} ] || exit 0\n\
             for _ in $(seq 100); do grep -q '^fd00' {gids}/2 && exit 0; sleep 0.1; done; exit 1"
        );
        self.guest.run(&line, LIMIT).expect_success("giving the guest an IPv6 address");
    }

    /// Sets the MTU of the guest's interface and of our TAP, of which that of their RDMA devices follows.
    #[track_caller]
    pub fn set_mtu(&self, mtu: u16) {
        let line = format!("ip link set eth0 mtu {mtu}");
        self.guest.run(&line, LIMIT).expect_success("setting the guest's MTU");
        self.network.set_mtu(Network::TAP, mtu);
    }

    /// Gives this side's kernel the [addresses](Self::OURS) that programs of ours take, at the bridge, so that its TCP is at
    /// hand. No emulated host may have them meanwhile. It makes each segment itself, since a capture would hold superframes of
    /// many.
    #[track_caller]
    pub fn move_in(&self) {
        let line = format!(
            "set -e; ip link set bridge gso_max_segs 1; echo 0 >/proc/sys/net/ipv6/conf/bridge/disable_ipv6; ip address add {}/24 dev bridge; \
             ip address add {}/64 dev bridge nodad",
            Self::OURS,
            Self::OURS_V6
        );
        self.network.start("move-in", "sh", &["-c", &line]).wait(LIMIT).expect_success("moving in");
    }

    /// Gives this side's kernel an address beside the one that programs of ours take, for TCP of its own.
    #[track_caller]
    pub fn move_in_beside(&self) {
        let words = ["address", "add", &format!("{}/24", Self::OTHER), "dev", "bridge"];
        self.network.start("move-in", "ip", &words).wait(LIMIT).expect_success("moving in");
    }

    /// Takes its addresses away again.
    #[track_caller]
    pub fn move_out(&self) {
        let line = "set -e; ip address flush dev bridge; echo 1 >/proc/sys/net/ipv6/conf/bridge/disable_ipv6";
        self.network.start("move-out", "sh", &["-c", line]).wait(LIMIT).expect_success("moving out");
    }

    /// Has the guest forget who has which address: another one may have it now.
    #[track_caller]
    pub fn forget_neighbours(&self) {
        self.guest.run("ip neighbour flush dev eth0", LIMIT).expect_success("forgetting neighbours");
    }

    /// The guest is no use any more.
    pub fn use_up(&mut self) {
        self.is_used_up = true;
    }
}
