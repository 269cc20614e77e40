//! One guest for many tests: a guest takes ten seconds to boot, most tests less.
//!
//! A test gets the [`Place`] as another one left it: with a guest that runs and loses nothing. One that fails, or says that
//! it has [used the guest up](Place::use_up), leaves none, and the next test gets a fresh one.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use crate::{Guest, GuestConfig, Lab, Network, program};

/// Where tests take place, one behind the other.
#[derive(Debug)]
pub struct Venue {
    lab: Lab,
    program: Option<PathBuf>,
    place: Option<Place>,
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
}

impl Venue {
    /// A venue, with nothing in it yet. `None` where live tests cannot run, which [`Lab::ready`] has told.
    pub fn open(name: &str) -> Option<Self> {
        Some(Self { lab: Lab::ready(name)?, program: None, place: None })
    }

    /// Lets one test take place.
    #[track_caller]
    pub fn host(&mut self, test: impl FnOnce(&mut Place)) {
        let lab = &self.lab;
        let program = self.program.get_or_insert_with(|| program(lab));
        let mut place = self.place.take().unwrap_or_else(|| Place::new(lab, program));
        // After a panic it is gone, and its captures and logs stay.
        let keep = KeepOnPanic(lab);
        test(&mut place);
        drop(keep);
        if !place.is_used_up {
            place.guest.clear_netem();
            self.place = Some(place);
        }
    }
}

struct KeepOnPanic<'a>(&'a Lab);

impl Drop for KeepOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.keep();
        }
    }
}

impl Place {
    /// The guest's address.
    pub const GUEST: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
    /// The address that programs of ours take.
    pub const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

    #[track_caller]
    fn new(lab: &Lab, program: &Path) -> Self {
        let network = Network::new(lab);
        let guest = Guest::boot(&network, GuestConfig { name: "guest", ip: Self::GUEST, mtu: 4200 });
        Self { lab: lab.clone(), network, guest, program: program.to_owned(), is_used_up: false }
    }

    /// The program `rdmalab`.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Puts another guest in the place of this one, which has failed.
    #[track_caller]
    pub fn renew(&mut self) {
        *self = Self::new(&self.lab, &self.program);
    }

    /// The guest is no use any more.
    pub fn use_up(&mut self) {
        self.is_used_up = true;
    }
}
