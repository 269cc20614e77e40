//! `rdmalab ucmatose` and `rdmalab udaddy`: the clients of these programs. `rdmalab serve` is the server of both.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rdmalab_device::Device;
use rdmalab_programs::{ClientOptions, ConnectError, Report, Stop, ucmatose, udaddy};

use crate::address;
use crate::interrupt;
use crate::link::{LinkOptions, Opened};
use crate::outcome::{Error, Outcome, Result, herald, print};

/// How long what is under way and the end of all connections may take after Ctrl-C.
const GRACE: Duration = Duration::from_secs(5);

/// What both take.
#[derive(clap::Args)]
#[command(disable_version_flag = true)]
pub struct Options {
    /// The server's address
    #[arg(short = 's', value_name = "SERVER", value_parser = address::peer)]
    server: IpAddr,

    /// From which of our addresses to call
    #[arg(short = 'b', value_name = "ADDRESS", value_parser = address::peer)]
    source: Option<IpAddr>,

    #[command(flatten)]
    link: LinkOptions,

    /// How many connections, or datagram services
    #[arg(short = 'c', value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=28_000))]
    connections: u32,

    /// Messages over each; the server must be told alike
    #[arg(short = 'C', value_name = "COUNT", default_value_t = 10)]
    messages: u32,

    /// Bytes of a message; the server must be told alike
    #[arg(short = 'S', value_name = "SIZE", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1 << 23))]
    size: u32,

    /// The server's RDMA-CM port [default: 7471 for ucmatose, 7174 for udaddy]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Give up when the peer is silent for so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
}

/// Makes connections, and plays the messages of each.
pub fn run(options: &Options) -> Result<Outcome> {
    play(options, |device, stop| ucmatose::connect(device, &options.game(ucmatose::DEFAULT_PORT, stop)))
}

/// Asks for datagram services, and plays the datagrams of each.
pub fn run_udaddy(options: &Options) -> Result<Outcome> {
    options.link.check_transport("it has no datagrams, which udaddy exchanges")?;
    play(options, |device, stop| udaddy::connect(device, &options.game(udaddy::DEFAULT_PORT, stop)))
}

impl Options {
    fn game(&self, usual_port: u16, stop: Stop) -> ClientOptions {
        let server = SocketAddr::new(self.server, self.port.unwrap_or(usual_port));
        ClientOptions {
            source: self.source,
            connections: self.connections,
            messages: self.messages,
            size: self.size,
            stop,
            herald: herald(),
            ..ClientOptions::new(server, Duration::from_secs(self.wait))
        }
    }
}

fn play(
    options: &Options,
    game: impl FnOnce(&Device, Stop) -> std::result::Result<Report, ConnectError>,
) -> Result<Outcome> {
    options.link.check_peer("-s", options.server)?;
    if let Some(own) = options.source {
        options.link.check_own("-b", own)?;
    }
    let Opened { device, signalled: stop, .. } = options.link.open()?;
    interrupt::stops_after(&device, &stop, GRACE)?;
    let report = game(&device, Arc::clone(&stop));
    let traffic = options.link.traffic(&device);
    let closed = device.close();
    match report {
        Err(_) if stop.load(Ordering::Relaxed) => print("interrupted")?,
        Err(error @ (ConnectError::Options(_) | ConnectError::TooLong { .. })) => {
            return Err(Error::usage(error));
        }
        Err(error) => return Err(Error::failed(error).beside(&closed)),
        Ok(report) => print(report)?,
    }
    print(traffic)?;
    closed.map(|()| Outcome::Fine).map_err(Error::failed)
}
