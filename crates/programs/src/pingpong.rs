//! `ibv_rc_pingpong`: two sides send a message to and fro.
//!
//! First the two tell each other their queue pairs over TCP (`hello`). Then the client sends, the server answers each
//! message that it got with a message of its own, and both count until all rounds are done. Either side may be the real
//! program: what it asks of the data with `-c` holds for what we send, and we check every byte that comes back.

mod data;
mod error;
mod exchange;
mod hello;
mod report;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{Device, PathMtu, Stream};

pub use error::PingpongError;
pub use hello::Side;
pub use report::Report;

/// The TCP port that the program listens on if nothing else is said.
pub const DEFAULT_PORT: u16 = 18515;

/// How to play.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes of a message (`-s`).
    pub size: u32,
    /// Rounds (`-n`).
    pub rounds: u32,
    /// Receives that are kept posted (`-r`).
    pub receive_depth: u32,
    /// Path MTU (`-m`).
    pub mtu: PathMtu,
    /// TCP port of the server (`-p`).
    pub port: u16,
    /// Index of our address in the GID table (`-g`); the first that fits the peer, if not given.
    pub gid_index: Option<usize>,
    /// The peer was told to check the data, or checks it (`-c`).
    pub check: bool,
    /// Where our PSNs begin.
    pub first_psn: u32,
    /// How long to wait for an acknowledgement before a packet is sent again: 4.096 µs × 2^n, 0 for ever. It is 14 in
    /// the real program: 67 ms, seven times.
    pub ack_timeout: u8,
    /// How long the peer must have been quiet before we leave: until then, acknowledgements that it lost are repeated.
    pub linger: Duration,
    /// How long to wait for the peer to connect, and for each next message; for ever, if not given.
    pub patience: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: 4096,
            rounds: 1000,
            receive_depth: 500,
            mtu: PathMtu::M1024,
            port: DEFAULT_PORT,
            gid_index: None,
            check: false,
            first_psn: 0,
            ack_timeout: 14,
            linger: Duration::from_millis(150),
            patience: Some(Duration::from_secs(60)),
        }
    }
}

/// What happens on the way, for those who print it.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The server listens on this address.
    Listening(SocketAddr),
    /// Our queue pair.
    Local(Side),
    /// The peer's queue pair.
    Remote(Side),
}

/// Plays the server: waits for one client and answers it.
pub fn serve(
    device: &Device,
    options: &Options,
    mut tell: impl FnMut(Step),
) -> Result<Report, PingpongError> {
    // Before anything that takes time: a client may be waiting already.
    let listener = device.listen(options.port)?;
    let ours = exchange::Session::open(device, options)?;
    let own = own_address(device, options.gid_index, None)?;
    tell(Step::Listening(SocketAddr::new(own, options.port)));
    let stream = listener
        .accept(options.patience)?
        .ok_or(PingpongError::Silence { what: "a client", patience: options.patience })?;
    answer_with(&ours, device, stream, options, tell)
}

/// Plays the server for a client that has connected to a listener of the caller's.
pub fn answer(
    device: &Device,
    stream: Stream,
    options: &Options,
    tell: impl FnMut(Step),
) -> Result<Report, PingpongError> {
    answer_with(&exchange::Session::open(device, options)?, device, stream, options, tell)
}

fn answer_with(
    ours: &exchange::Session<'_>,
    device: &Device,
    mut stream: Stream,
    options: &Options,
    mut tell: impl FnMut(Step),
) -> Result<Report, PingpongError> {
    stream.set_timeout(options.patience);
    let client = stream.ends().map(|(_, peer)| peer.ip());
    let local = ours.side(own_address(device, options.gid_index, client)?);
    tell(Step::Local(local));
    let remote = hello::read(&mut stream, options.patience)?;
    tell(Step::Remote(remote));
    ours.connect(&local, &remote)?;
    hello::write(&mut stream, &local)?;
    hello::wait_for_done(&mut stream)?;
    let report = ours.play(exchange::Role::Server)?;
    linger(device, options.linger);
    Ok(report)
}

/// Plays the client: connects to a server and begins.
pub fn connect(
    device: &Device,
    server: IpAddr,
    options: &Options,
    mut tell: impl FnMut(Step),
) -> Result<Report, PingpongError> {
    let ours = exchange::Session::open(device, options)?;
    let local = ours.side(own_address(device, options.gid_index, Some(server))?);
    tell(Step::Local(local));
    let mut stream = device.connect(SocketAddr::new(server, options.port), options.patience)?;
    stream.set_timeout(options.patience);
    hello::write(&mut stream, &local)?;
    let remote = hello::read(&mut stream, options.patience)?;
    tell(Step::Remote(remote));
    ours.connect(&local, &remote)?;
    hello::say_done(&mut stream)?;
    let report = ours.play(exchange::Role::Client)?;
    linger(device, options.linger);
    Ok(report)
}

/// Stays, with the queue pair, until nothing has come for a while: the peer may not know yet that all its messages arrived.
fn linger(device: &Device, quiet: Duration) {
    /// In the end the peer has to see for itself.
    const MOST: u32 = 10;
    let mut seen = device.counters().rcvd_pkts;
    for _ in 0..MOST {
        std::thread::sleep(quiet);
        let now = device.counters().rcvd_pkts;
        if now == seen {
            return;
        }
        seen = now;
    }
}

/// The address of our queue pair: the one asked for, or the first of the peer's family that is not link-local.
fn own_address(device: &Device, index: Option<usize>, peer: Option<IpAddr>) -> Result<IpAddr, PingpongError> {
    let gids = device.gids();
    match index {
        Some(index) => {
            gids.get(index).copied().ok_or(PingpongError::NoSuchGid { index, entries: gids.len() })
        }
        None => {
            let fits = |gid: &&IpAddr| {
                let link_local = matches!(gid, IpAddr::V6(gid) if gid.is_unicast_link_local());
                !link_local && peer.is_none_or(|peer| peer.is_ipv4() == gid.is_ipv4())
            };
            let none = PingpongError::NoSuchGid { index: 0, entries: gids.len() };
            gids.iter().find(fits).or(gids.first()).copied().ok_or(none)
        }
    }
}
