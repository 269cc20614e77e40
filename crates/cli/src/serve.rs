//! `rdmalab serve`: a host that stays up and serves the clients of the test programs.

mod bulletin;
mod columns;
mod counters;
pub mod ports;
mod table;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdmalab_device::{Device, PathMtu};
use rdmalab_programs::perf;
use rdmalab_programs::pingpong::Kind;
use rdmalab_programs::serve::{self, Happening, Ledger, Program, Services};
use rdmalab_programs::{ConnectError, pingpong, rping, ucmatose, udaddy};
use rdmalab_sim::Seed;

use crate::interrupt;
use crate::link::{LinkOptions, Opened};
use crate::outcome::{Error, Outcome, Result, print};
use crate::rping::listening;
use bulletin::Bulletin;
use ports::{PERF, PERF_PORT, SRQ_PORT, UC_PORT, UD_PORT};
use table::Table;

/// How often a flag is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long TCP clients may play on after Ctrl-C.
const GRACE: Duration = Duration::from_secs(2);

/// Stays up and serves any number of clients of rping, ucmatose, cmtime, udaddy, ibv_rc_pingpong with its sisters, and
/// perftest at once, until Ctrl-C.
/// On a terminal a table shows who is there and what goes on; elsewhere it is told now and then
#[derive(clap::Args)]
#[command(disable_version_flag = true)]
pub struct Options {
    #[command(flatten)]
    link: LinkOptions,

    /// RDMA-CM port for clients of rping; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = rping::DEFAULT_PORT)]
    rping_port: u16,

    /// RDMA-CM port for clients of ucmatose and cmtime; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = ucmatose::DEFAULT_PORT)]
    ucmatose_port: u16,

    /// RDMA-CM port (UDP) for clients of udaddy; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = udaddy::DEFAULT_PORT)]
    udaddy_port: u16,

    /// TCP port for clients of ibv_rc_pingpong; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = pingpong::DEFAULT_PORT)]
    pingpong_port: u16,

    /// TCP port for clients of ibv_uc_pingpong; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = UC_PORT)]
    uc_pingpong_port: u16,

    /// TCP port for clients of ibv_ud_pingpong; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = UD_PORT)]
    ud_pingpong_port: u16,

    /// TCP port for clients of ibv_srq_pingpong; 0 for none
    #[arg(long, value_name = "PORT", default_value_t = SRQ_PORT)]
    srq_pingpong_port: u16,

    /// TCP port for clients of ib_write_bw, with those of ib_read_bw, ib_send_bw, ib_atomic_bw, ib_write_lat, ib_read_lat,
    /// ib_send_lat and ib_atomic_lat behind it; 0 for none. Clients of ib_send_bw, ib_send_lat and ib_write_lat must keep to
    /// the programs' own -n (1000) and -s (65536, of latencies 2)
    #[arg(long, value_name = "PORT", default_value_t = PERF_PORT, value_parser = clap::value_parser!(u16).range(..65_529))]
    perf_port: u16,

    /// Messages that clients of ucmatose must have been told of (-C)
    #[arg(short = 'C', value_name = "COUNT", default_value_t = 10)]
    messages: u32,

    /// Bytes of each (-S)
    #[arg(short = 'S', value_name = "SIZE", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1 << 23))]
    size: u32,

    /// Bytes of a message that clients of ibv_rc_pingpong and its sisters must have (-s) [default: 4096, of ibv_ud_pingpong 2048]
    #[arg(long, value_name = "SIZE", value_parser = clap::value_parser!(u32).range(..=1 << 24))]
    pingpong_size: Option<u32>,

    /// Rounds that they must have (-n)
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pingpong_rounds: u32,

    /// Clients of a program at once, those that come by TCP counted together; more are refused. One address gets no more of
    /// these places than it leaves free for others
    #[arg(long, value_name = "COUNT", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    most_clients: u32,

    /// Let a client go that does nothing for so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    idle: u64,

    /// Where standard output is no terminal: tell what has been done every so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    every: u64,
}

/// Serves.
pub fn run(options: &Options) -> Result<Outcome> {
    options.check()?;
    let Opened { device, seed, link, signalled: stop } = options.link.open()?;
    interrupt::stops_after(&device, &stop, GRACE)?;
    let services = options.services(&device, seed);
    let outcome = work(options, &device, &link, &services, &stop);
    let counted = counters::of(&device);
    let closed = device.close();
    for line in counted {
        print(line)?;
    }
    outcome.map_err(|error| error.beside(&closed))?;
    closed.map(|()| Outcome::Fine).map_err(Error::failed)
}

fn work(
    options: &Options,
    device: &Device,
    link: &str,
    services: &Services,
    stop: &AtomicBool,
) -> Result<()> {
    let ledger = Ledger::new();
    let bulletin = Mutex::new(Bulletin::default());
    let lock = || bulletin.lock().unwrap_or_else(PoisonError::into_inner);
    let mut table = Table::new();
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let outcome = serve::run(device, services, &ledger, stop, &|happening| match happening {
                // A line that cannot be printed is missed by nobody: the table will fail, too.
                Happening::Listening => drop(print(banner(device, link, services).join("\n"))),
                happening => lock().tell(happening),
            });
            // If the device failed, there is nothing left to show.
            stop.store(true, Ordering::Relaxed);
            outcome
        });
        let every = if table.is_live() { Duration::from_secs(1) } else { Duration::from_secs(options.every) };
        let mut shown = Ok(());
        let mut next = Instant::now() + every;
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            if Instant::now() >= next && shown.is_ok() {
                next = Instant::now() + every;
                let news = lock().take();
                shown = table.show(&ledger, &counters::of(device), news);
            }
        }
        let served = served.join().unwrap_or(Ok(()));
        let has_listened = !matches!(served, Err(ConnectError::Port { .. }));
        if shown.is_ok() && has_listened {
            let news = lock().take();
            shown = table.last(&ledger, news);
        }
        served.map_err(|error| options.serve_error(error))?;
        shown
    })
}

/// What is served where.
fn banner(device: &Device, link: &str, services: &Services) -> Vec<String> {
    let addresses: Vec<String> = device.gids().iter().map(IpAddr::to_string).collect();
    let mut lines = vec![format!("serving on {link}: {}", addresses.join(", "))];
    for (name, at) in
        [("rping", &services.rping), ("ucmatose", &services.ucmatose), ("udaddy", &services.udaddy)]
    {
        if let Some(at) = at.first() {
            lines.push(format!("  {name:<12} rdma_cm port {}", at.port()));
        }
    }
    for pingpong in &services.pingpong {
        lines.push(format!("  {:<12} TCP port {}", Program::Pingpong(pingpong.kind).name(), pingpong.port));
    }
    for (options, (name, ..)) in services.perf.iter().zip(PERF) {
        lines.push(format!("  {name:<12} TCP port {}", options.port));
    }
    lines.push("listening, until Ctrl-C".to_owned());
    lines
}

impl Options {
    fn services(&self, device: &Device, seed: u64) -> Services {
        let at = |port: u16| if port == 0 { Vec::new() } else { listening(device, None, port) };
        let most = device.max_mtu();
        let first_psn = Seed::new(seed).branch(1).random().below(1 << 24) as u32;
        Services {
            rping: at(self.rping_port),
            ucmatose: at(self.ucmatose_port),
            // Datagrams are for RoCE only.
            udaddy: if self.link.iwarp { Vec::new() } else { at(self.udaddy_port) },
            messages: self.messages,
            size: self.size,
            pingpong: self.pingpong(most, first_psn),
            perf: self.perf(most, first_psn),
            most_clients: self.most_clients as usize,
            idle: Duration::from_secs(self.idle),
        }
    }

    /// The programs that come by TCP to a port each, but for perftest's, with the options that name the ports.
    fn pingpong_ports(&self) -> [(Kind, &'static str, u16); 4] {
        [
            (Kind::Rc, "--pingpong-port", self.pingpong_port),
            (Kind::Uc, "--uc-pingpong-port", self.uc_pingpong_port),
            (Kind::Ud, "--ud-pingpong-port", self.ud_pingpong_port),
            (Kind::Srq, "--srq-pingpong-port", self.srq_pingpong_port),
        ]
    }

    /// The programs that come by TCP with their ports, and the options that name those.
    fn tcp_ports(&self) -> impl Iterator<Item = (String, u16)> {
        let perf = PERF
            .iter()
            .zip(self.perf_port..)
            .map(|((name, ..), port)| (format!("{name} (--perf-port)"), port));
        let perf = perf.filter(|_| self.perf_port != 0);
        let pingpong = self
            .pingpong_ports()
            .into_iter()
            .map(|(kind, option, port)| (format!("{} ({option})", Program::Pingpong(kind).name()), port));
        pingpong.filter(|(_, port)| *port != 0).chain(perf)
    }

    /// Refuses two programs at one port, and none at any.
    fn check(&self) -> Result<()> {
        let rdma_cm = [self.rping_port, self.ucmatose_port, self.udaddy_port];
        let rdma_cm = &rdma_cm[..if self.link.iwarp { 2 } else { 3 }];
        if rdma_cm.iter().all(|port| *port == 0) && self.tcp_ports().next().is_none() {
            return Err(Error::usage("all ports are 0: nothing is served"));
        }
        let mut tcp: BTreeMap<u16, String> = BTreeMap::new();
        for (name, port) in self.tcp_ports() {
            if let Some(other) = tcp.insert(port, name.clone()) {
                let text = format!("{other} and {name} cannot both have TCP port {port}");
                return Err(Error::usage(text).advice("give one of them another, or 0 for none"));
            }
        }
        if self.rping_port != 0 && self.rping_port == self.ucmatose_port {
            let text = format!("rping and ucmatose cannot both have rdma_cm port {}", self.rping_port);
            let advice = "give one of them another with --rping-port or --ucmatose-port, or 0 for none";
            return Err(Error::usage(text).advice(advice));
        }
        Ok(())
    }

    /// Says whose port could not be had.
    fn serve_error(&self, error: ConnectError) -> Error {
        let ConnectError::Port { port, .. } = error else { return Error::failed(error) };
        match self.tcp_ports().find(|(_, of)| *of == port) {
            Some((name, _)) => Error::failed(format_args!("{name}: {error}")),
            None => Error::failed(error),
        }
    }

    fn pingpong(&self, most: PathMtu, first_psn: u32) -> Vec<pingpong::Options> {
        let game = |(kind, _, port): (Kind, &str, u16)| pingpong::Options {
            kind,
            size: self.pingpong_size.unwrap_or(kind.usual_size()),
            rounds: self.pingpong_rounds,
            port,
            mtu: if most.bytes() < PathMtu::M1024.bytes() { most } else { PathMtu::M1024 },
            first_psn,
            patience: Some(Duration::from_secs(30)),
            ..pingpong::Options::default()
        };
        self.pingpong_ports().into_iter().filter(|(.., port)| *port != 0).map(game).collect()
    }

    fn perf(&self, mtu: PathMtu, first_psn: u32) -> Vec<perf::Options> {
        if self.perf_port == 0 {
            return Vec::new();
        }
        let patience = Some(Duration::from_secs(30));
        let ports = self.perf_port..;
        let test = |(port, (_, operation, measure))| perf::Options {
            port,
            mtu,
            first_psn,
            patience,
            ..perf::Options::new(operation, measure)
        };
        ports.zip(PERF).map(test).collect()
    }
}
