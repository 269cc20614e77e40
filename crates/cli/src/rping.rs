//! `rdmalab rping`: rping with a peer.

use std::net::{IpAddr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdmalab_device::DisconnectCause;
use rdmalab_programs::rping::{self, DEFAULT_PORT};
use rdmalab_programs::serve::{self, Happening, Ledger, Program, Services};
use rdmalab_programs::{ConnectError, Report};

use crate::address;
use crate::interrupt;
use crate::link::{LinkOptions, Opened};
use crate::outcome::{Error, Outcome, Result, herald, print, tell};

/// How long the ping that is under way and the end of the connection may take after Ctrl-C.
const GRACE: Duration = Duration::from_secs(4);

/// Speaks rping with a peer, which may be the real program on a real adapter, on Linux' rxe, or another rdmalab: connected
/// by rdma_cm, the server READs what the client has, and WRITEs it back
#[derive(clap::Args)]
#[command(disable_version_flag = true, group = clap::ArgGroup::new("role").args(["server", "client"]).required(true))]
pub struct Options {
    /// Be the server
    #[arg(short = 's')]
    server: bool,

    /// Be the client
    #[arg(short = 'c', requires = "address")]
    client: bool,

    /// The server's address: whom to call, or at which of our addresses to be called [default: all]
    #[arg(short = 'a', value_name = "ADDRESS", value_parser = address::peer)]
    address: Option<IpAddr>,

    /// From which of our addresses to call
    #[arg(short = 'I', value_name = "ADDRESS", requires = "client", value_parser = address::peer)]
    source: Option<IpAddr>,

    #[command(flatten)]
    link: LinkOptions,

    /// The server's RDMA-CM port
    #[arg(short = 'p', default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,

    /// How many pings [default: without end]. A server takes as many as its client sends
    #[arg(short = 'C', value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Bytes of a ping. A server takes what its client has
    #[arg(short = 'S', value_name = "SIZE", default_value_t = 100, value_parser = clap::value_parser!(u32).range(23..=65535))]
    size: u32,

    /// Show the data of each ping
    #[arg(short = 'v')]
    verbose: bool,

    /// Compare what comes back with what was sent. A server compares in any case
    #[arg(short = 'V')]
    validate: bool,

    /// Tell who comes and goes
    #[arg(short = 'd')]
    debug: bool,

    /// Serve any number of clients, until interrupted
    #[arg(short = 'P', requires = "server")]
    persistent: bool,

    /// Taken for the sake of command lines of rping
    #[arg(short = 'q')]
    _own_queue_pair: bool,

    /// Give up when the peer is silent for so many seconds; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

/// Plays.
pub fn run(options: &Options) -> Result<Outcome> {
    if let (true, Some(server)) = (options.client, options.address) {
        options.link.check_peer("-a", server)?;
    }
    if let (true, Some(own)) = (options.server, options.address) {
        options.link.check_own("-a", own)?;
    }
    if let Some(own) = options.source {
        options.link.check_own("-I", own)?;
    }
    let Opened { device, signalled: stop, .. } = options.link.open()?;
    let outcome = if options.server {
        serve_clients(options, &device, &stop)
    } else {
        interrupt::stops_after(&device, &stop, GRACE)?;
        ping(options, &device, &stop)
    };
    let traffic = options.link.traffic(&device);
    let closed = device.close();
    let outcome = outcome.map_err(|game| game.beside(&closed))?;
    print(traffic)?;
    closed.map(|()| outcome).map_err(Error::failed)
}

fn ping(options: &Options, device: &rdmalab_device::Device, stop: &Arc<AtomicBool>) -> Result<Outcome> {
    let Some(server) = options.address else { return Err(Error::usage("-c needs -a ADDRESS")) };
    let game = rping::Options {
        source: options.source,
        count: options.count,
        size: options.size,
        validate: options.validate,
        patience: (options.wait > 0).then(|| Duration::from_secs(options.wait)),
        stop: Arc::clone(stop),
        herald: herald(),
        ..rping::Options::new(SocketAddr::new(server, options.port))
    };
    // What cannot be printed must not end the game; it comes out at the end.
    let mut printed = Ok(());
    let mut pings = 0_u64;
    let report: std::result::Result<Report, ConnectError> = rping::connect(device, &game, |text| {
        pings += 1;
        if options.verbose && printed.is_ok() {
            printed = print(format_args!("ping data: {text}"));
        }
        // Then the server is told that this was all.
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    printed?;
    match report {
        Ok(report) => {
            if stop.load(Ordering::Relaxed) {
                print(format_args!("interrupted after {pings} pings"))?;
            }
            print(report).map(|()| Outcome::Fine)
        }
        Err(_) if stop.load(Ordering::Relaxed) => {
            print(format_args!("interrupted after {pings} pings")).map(|()| Outcome::Fine)
        }
        // A server that has had enough.
        Err(ConnectError::Disconnected { cause: DisconnectCause::Peer, done, .. })
            if options.count.is_none() =>
        {
            print(format_args!("the server ended the connection after {done} pings")).map(|()| Outcome::Fine)
        }
        Err(error @ ConnectError::Options(_)) => Err(Error::usage(error)),
        Err(error) => Err(Error::failed(error)),
    }
}

fn serve_clients(options: &Options, device: &rdmalab_device::Device, stop: &AtomicBool) -> Result<Outcome> {
    let services = Services {
        rping: listening(device, options.address, options.port),
        idle: if options.wait > 0 { Duration::from_secs(options.wait) } else { Duration::MAX },
        most_clients: if options.persistent { Services::none().most_clients } else { 1 },
        ..Services::none()
    };
    let ledger = Ledger::new();
    // What cannot be printed must not end the game.
    serve::run(device, &services, &ledger, stop, &|happening| match happening {
        Happening::Listening => {
            for at in &services.rping {
                let _ = print(format_args!("listening: {at}"));
            }
        }
        Happening::Ping(text) if options.verbose => drop(print(format_args!("server ping data: {text}"))),
        Happening::Came(_, Some(peer)) if options.debug => drop(print(format_args!("{peer} is connected"))),
        Happening::Refused(_, Some(peer), why) => tell(format_args!("rdmalab: {peer} was refused: {why}")),
        Happening::Gone(_, peer, failure) => {
            let peer = peer.map(|peer| peer.to_string()).unwrap_or_default();
            match failure {
                Some(failure) => tell(format_args!("rdmalab: {peer}: {failure}")),
                None if options.debug => drop(print(format_args!("{peer} has gone"))),
                None => {}
            }
            if !options.persistent {
                stop.store(true, Ordering::Relaxed);
            }
        }
        _ => {}
    })
    .map_err(Error::failed)?;
    let total = ledger.total(Program::Rping);
    print(format_args!(
        "{} clients, {} pings, {} bytes READ and written",
        total.served, total.messages, total.bytes
    ))?;
    Ok(Outcome::fine_if(total.failed == 0))
}

/// Where to listen: at the address given, or at any of the families that the device has.
pub fn listening(device: &rdmalab_device::Device, address: Option<IpAddr>, port: u16) -> Vec<SocketAddr> {
    if let Some(address) = address {
        return vec![SocketAddr::new(address, port)];
    }
    let gids = device.gids();
    let mut all = Vec::new();
    if gids.iter().any(IpAddr::is_ipv4) {
        all.push(SocketAddr::from(([0; 4], port)));
    }
    if gids.iter().any(IpAddr::is_ipv6) {
        all.push(SocketAddr::from(([0_u16; 8], port)));
    }
    all
}
