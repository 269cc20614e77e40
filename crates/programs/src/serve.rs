//! A host that stays up and serves the test programs' clients, any number of programs and clients at once.
//!
//! Clients of rping, ucmatose (with cmtime, which calls the same port) and udaddy come by RDMA-CM; two threads serve all
//! of them: one waits for what happens to connections, one for completions (`reception`). Clients of ibv_rc_pingpong, its
//! sisters and perftest come by TCP and have a thread each (`games`). Everything that happens is counted by program and peer
//! ([`Ledger`]).
//!
//! Invariants: no more than [`Services::most_clients`] clients of a program at once, and no more of all that come by TCP
//! together; further ones are refused, as are those of an address that has more places than it leaves for others; nothing
//! that a client does ends anything but its own connection; who does nothing for [`Services::idle`] is let go.

mod client;
mod games;
mod ledger;
mod places;
mod reception;

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rdmalab_device::Device;

use crate::connect_error::ConnectError;
use crate::perf;
use crate::pingpong::{self, Kind};

pub use ledger::{Count, Ledger, Row};
pub use reception::Reception;

/// A program whose clients are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// rping.
    Rping,
    /// ucmatose, and cmtime.
    Ucmatose,
    /// udaddy.
    Udaddy,
    /// ibv_rc_pingpong, or one of its sisters.
    Pingpong(Kind),
    /// perftest.
    Perf,
}

impl Program {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rping => "rping",
            Self::Ucmatose => "ucmatose",
            Self::Udaddy => "udaddy",
            Self::Pingpong(Kind::Rc) => "rc_pingpong",
            Self::Pingpong(Kind::Uc) => "uc_pingpong",
            Self::Pingpong(Kind::Ud) => "ud_pingpong",
            Self::Pingpong(Kind::Srq) => "srq_pingpong",
            Self::Perf => "perf",
        }
    }
}

/// What is served.
#[derive(Clone, Debug)]
pub struct Services {
    /// Where rping's clients call; nowhere, if empty.
    pub rping: Vec<SocketAddr>,
    /// Where those of ucmatose and cmtime call.
    pub ucmatose: Vec<SocketAddr>,
    /// Where those of udaddy ask.
    pub udaddy: Vec<SocketAddr>,
    /// Messages that ucmatose's clients were told to expect (`-C`).
    pub messages: u32,
    /// Bytes of each (`-S`).
    pub size: u32,
    /// How ibv_rc_pingpong and its sisters are played, each on a TCP port of its own.
    pub pingpong: Vec<pingpong::Options>,
    /// The tests of perftest, each on a TCP port of its own.
    pub perf: Vec<perf::Options>,
    /// Clients at once: of each program that comes by RDMA-CM, and of all that come by TCP.
    pub most_clients: usize,
    /// How long a client may do nothing.
    pub idle: Duration,
}

impl Services {
    /// Nothing is served yet; 4096 clients of a program at most, and each may rest for five minutes.
    pub fn none() -> Self {
        Self {
            rping: Vec::new(),
            ucmatose: Vec::new(),
            udaddy: Vec::new(),
            messages: 10,
            size: 100,
            pingpong: Vec::new(),
            perf: Vec::new(),
            most_clients: 4096,
            idle: Duration::from_secs(300),
        }
    }
}

/// What happens, for those who print it.
#[derive(Debug)]
pub enum Happening<'a> {
    /// Clients may come.
    Listening,
    /// A client has come.
    Came(Program, Option<SocketAddr>),
    /// A client has not been let in.
    Refused(Program, Option<SocketAddr>, &'a str),
    /// A client has gone; if not as it should, why.
    Gone(Program, Option<SocketAddr>, Option<&'a (dyn std::error::Error + 'static)>),
    /// The text of a ping.
    Ping(&'a str),
}

/// Who is told what happens, from any of the threads.
pub type Tell<'a> = dyn Fn(&Happening<'_>) + Sync + 'a;

/// Serves until `stop`, or until the device fails.
pub fn run(
    device: &Device,
    services: &Services,
    ledger: &Ledger,
    stop: &AtomicBool,
    tell: &Tell<'_>,
) -> Result<(), ConnectError> {
    let reception = Reception::open(device, services)?;
    let games = games::Games::open(device, services)?;
    tell(&Happening::Listening);
    std::thread::scope(|scope| {
        games.start(scope, games::Hall { ledger, stop, tell });
        reception.run(ledger, stop, tell)
    })
}

/// What one completion came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Messages that are done with it.
    pub(crate) messages: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// The connection has done what it was for.
    pub(crate) finished: bool,
    /// The peer, too, and has left without a word that came through.
    pub(crate) gone: bool,
}

/// The numbers of one client's work requests: the client's own, and the place among its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    const PLACES: u32 = 8;

    /// The number for a place, below 256.
    pub(crate) fn number(self, place: u64) -> u64 {
        self.0 << Self::PLACES | place
    }

    /// The place in a number.
    pub(crate) fn place(number: u64) -> u64 {
        number & ((1 << Self::PLACES) - 1)
    }

    /// Whose number it is.
    pub(crate) fn client(number: u64) -> u64 {
        number >> Self::PLACES
    }
}
