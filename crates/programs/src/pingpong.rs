//! `ibv_rc_pingpong`, `ibv_uc_pingpong`, `ibv_ud_pingpong` and `ibv_srq_pingpong`: two sides send a message to and fro.
//!
//! First the two tell each other their queue pairs over TCP (`hello`). Then the client sends, the server answers each
//! message that it got with a message of its own, and both count until all rounds are done (`game`). Either side may be the
//! real program: what it asks of the data with `-c` holds for what we send, and we check every byte that comes back.
//!
//! Over UC and UD a lost message is lost for good. The real programs then wait for ever; we end with
//! [`PingpongError::Lost`] after [`Options::patience`].

mod data;
mod error;
mod game;
mod hello;
mod kind;
mod layout;
mod report;
mod session;
mod table;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{Device, PathMtu, Stream};

pub use error::PingpongError;
pub use hello::Side;
pub use kind::Kind;
pub use report::Report;

use crate::herald::Herald;
use crate::meeting::{own_gid, stay};
use session::Session;

/// The TCP port that the program listens on if nothing else is said.
pub const DEFAULT_PORT: u16 = 18515;

/// Queue pairs that a game may have: `ibv_srq_pingpong` refuses more.
pub const MOST_QUEUE_PAIRS: u32 = 256;

/// How to play.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which of the programs.
    pub kind: Kind,
    /// Queue pairs (`-q`), for [`Kind::Srq`]; the others have one.
    pub queue_pairs: u32,
    /// Bytes of a message (`-s`).
    pub size: u32,
    /// Rounds (`-n`).
    pub rounds: u32,
    /// Receives that are kept posted (`-r`), at least one for each queue pair.
    pub receive_depth: u32,
    /// Path MTU (`-m`); a datagram has the link's.
    pub mtu: PathMtu,
    /// TCP port of the server (`-p`).
    pub port: u16,
    /// Index of our address in the GID table (`-g`); the first that fits the peer, if not given.
    pub gid_index: Option<usize>,
    /// The peer was told to check the data, or checks it (`-c`).
    pub check: bool,
    /// Where our first queue pair's PSNs begin.
    pub first_psn: u32,
    /// How long to wait for an acknowledgement before a packet is sent again: 4.096 µs × 2^n, 0 for ever. It is 14 in
    /// the real program: 67 ms, seven times.
    pub ack_timeout: u8,
    /// How long the peer must have been quiet before we leave: until then, acknowledgements that it lost are repeated.
    pub linger: Duration,
    /// How long to wait for the peer to connect, and for each next message; for ever, if not given.
    pub patience: Option<Duration>,
    /// Is told what is waited for.
    pub herald: Herald,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kind: Kind::Rc,
            queue_pairs: 16,
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
            herald: Herald::default(),
        }
    }
}

/// What happens on the way, for those who print it.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The server listens on this address.
    Listening(SocketAddr),
    /// A queue pair of ours.
    Local(Side),
    /// A queue pair of the peer's.
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
    let ours = Session::open(device, options)?;
    let own = own_gid(device, options.gid_index, None)?.1;
    tell(Step::Listening(SocketAddr::new(own, options.port)));
    let stream = listener
        .accept(options.patience)?
        .ok_or(PingpongError::Silence { what: "a client", patience: options.patience })?;
    answer_with(ours, device, stream, tell)
}

/// Plays the server for a client that has connected to a listener of the caller's.
pub fn answer(
    device: &Device,
    stream: Stream,
    options: &Options,
    tell: impl FnMut(Step),
) -> Result<Report, PingpongError> {
    answer_with(Session::open(device, options)?, device, stream, tell)
}

fn answer_with(
    ours: Session<'_>,
    device: &Device,
    mut stream: Stream,
    mut tell: impl FnMut(Step),
) -> Result<Report, PingpongError> {
    let Options { kind, gid_index, patience, linger, .. } = *ours.options;
    stream.set_timeout(patience);
    let client = stream.ends().map(|(_, peer)| peer.ip());
    let local = ours.sides(own_gid(device, gid_index, client)?.1);
    local.iter().for_each(|side| tell(Step::Local(*side)));
    let remote = hello::read(&mut stream, kind, local.len(), patience)?;
    remote.iter().for_each(|side| tell(Step::Remote(*side)));
    let table = ours.connect(&local, &remote)?;
    hello::write(&mut stream, kind, &local)?;
    hello::wait_for_done(&mut stream)?;
    let report = game::play(&table, game::Role::Server)?;
    stay(device, linger);
    Ok(report)
}

/// Plays the client: connects to a server and begins.
pub fn connect(
    device: &Device,
    server: IpAddr,
    options: &Options,
    mut tell: impl FnMut(Step),
) -> Result<Report, PingpongError> {
    let Options { kind, patience, .. } = *options;
    let ours = Session::open(device, options)?;
    let local = ours.sides(own_gid(device, options.gid_index, Some(server))?.1);
    local.iter().for_each(|side| tell(Step::Local(*side)));
    let mut stream = device.connect(SocketAddr::new(server, options.port), patience)?;
    stream.set_timeout(patience);
    hello::write(&mut stream, kind, &local)?;
    let remote = hello::read(&mut stream, kind, local.len(), patience)?;
    remote.iter().for_each(|side| tell(Step::Remote(*side)));
    let table = ours.connect(&local, &remote)?;
    hello::say_done(&mut stream)?;
    let report = game::play(&table, game::Role::Client)?;
    stay(device, options.linger);
    Ok(report)
}
