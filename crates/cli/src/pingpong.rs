//! `rdmalab pingpong`: `ibv_rc_pingpong` with a peer.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rdmalab_device::PathMtu;
use rdmalab_programs::pingpong::{self, DEFAULT_PORT, PingpongError, Step};
use rdmalab_sim::Seed;

use crate::discards;
use crate::interrupt;
use crate::link::{LinkOptions, Opened};
use crate::outcome::{Error, Outcome, Result, print, tell as tell_error};

/// Speaks ibv_rc_pingpong with a peer: as client if a server is named, else as server. The peer may be the real
/// program on a real adapter, on Linux' rxe, or another rdmalab.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// The server to connect to; without one, wait for a client
    #[arg(value_name = "SERVER", conflicts_with = "listen")]
    server: Option<IpAddr>,

    /// Wait for a client, which is the rule where no server is named
    #[arg(long)]
    listen: bool,

    #[command(flatten)]
    link: LinkOptions,

    /// Bytes of a message
    #[arg(short = 's', long, default_value_t = 4096, value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    size: u32,

    /// Rounds
    #[arg(short = 'n', long = "iters", default_value_t = 1000)]
    rounds: u32,

    /// Path MTU: 256, 512, 1024, 2048 or 4096 [default: 1024, or less if the link asks for it]
    #[arg(short = 'm', long, value_parser = path_mtu)]
    mtu: Option<PathMtu>,

    /// Receives that are kept posted
    #[arg(short = 'r', long = "rx-depth", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=32768))]
    receive_depth: u32,

    /// TCP port for the exchange of addresses
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,

    /// Index of our address in the GID table: 0 the link-local one, then those given
    #[arg(short = 'g', long = "gid-idx")]
    gid_index: Option<usize>,

    /// Put in, and look for, what ibv_rc_pingpong -c checks. All other bytes are checked anyway
    #[arg(short = 'c', long = "chk")]
    check: bool,

    /// How long to wait for an acknowledgement before a packet is sent again, up to seven times: 4.096 µs × 2^N, with 0
    /// for ever. The real program's is 14: 67 ms. A peer that is slow, or that loses much, needs more
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u8).range(..=31))]
    ack_timeout: u8,

    /// Give up when the peer is silent for so many seconds; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

fn path_mtu(text: &str) -> std::result::Result<PathMtu, &'static str> {
    let bytes = text.parse().ok().and_then(PathMtu::from_bytes);
    bytes.ok_or("a path MTU is 256, 512, 1024, 2048 or 4096")
}

/// Plays.
pub fn run(options: &Options) -> Result<Outcome> {
    if let Some(server) = options.server {
        options.link.check_peer(server)?;
    }
    let Opened { device, seed, link } = options.link.open()?;
    let interrupted = interrupt::stops(&device)?;
    let drops = options.link.drops();

    let most = device.max_mtu();
    let mtu = match options.mtu {
        Some(mtu) if mtu.bytes() > most.bytes() => {
            let text = format!(
                "the MTU of {} carries a path MTU of {} bytes at most, not {}",
                link,
                most.bytes(),
                mtu.bytes()
            );
            let needed = mtu.bytes() + 80;
            let advice = format!("take -m {}, or `ip link set {link} mtu {needed}`", most.bytes());
            return Err(Error::usage(text).advice(advice));
        }
        Some(mtu) => mtu,
        None if most.bytes() < PathMtu::M1024.bytes() => most,
        None => PathMtu::M1024,
    };
    let game = pingpong::Options {
        size: options.size,
        rounds: options.rounds,
        receive_depth: options.receive_depth,
        mtu,
        port: options.port,
        gid_index: options.gid_index,
        check: options.check,
        first_psn: Seed::new(seed).branch(1).random().below(1 << 24) as u32,
        ack_timeout: options.ack_timeout,
        // The real program's ACK timeout is 67 ms; where packets are lost, several may pass before it is heard again.
        linger: Duration::from_millis(if drops { 1000 } else { 150 }),
        patience: (options.wait > 0).then(|| Duration::from_secs(options.wait)),
    };

    // What cannot be printed must not end the game; it comes out at the end.
    let mut printed = Ok(());
    let tell = |step: Step| {
        let line = match step {
            Step::Listening(at) => format!("  listening:       {at}"),
            Step::Local(side) => format!("  local address:   {side}"),
            Step::Remote(side) => format!("  remote address:  {side}"),
        };
        if printed.is_ok() {
            printed = print(line);
        }
    };
    let report = match options.server {
        Some(server) => pingpong::connect(&device, server, &game, tell),
        None => pingpong::serve(&device, &game, tell),
    };
    let (counters, rules) = (device.counters(), device.rule_counts());
    let closed = device.close();
    if let (Err(_), Err(error)) = (&report, &closed) {
        tell_error(format_args!("rdmalab: {error}"));
    }
    if report.is_err() && interrupted.load(Ordering::Relaxed) {
        print("interrupted")?;
        return Ok(Outcome::Fine);
    }
    let report = report.map_err(game_error)?;
    closed.map_err(Error::failed)?;
    printed?;
    print(report)?;
    if report.unacknowledged {
        print("the last message was not acknowledged: the peer, done with its part, had left")?;
    }
    let received = counters.rcvd_pkts;
    let retransmitted = counters.retransmitted_pkts;
    print(format_args!(
        "RoCE packets: {} sent, {retransmitted} of them again; {received} received",
        counters.sent_pkts
    ))?;
    for (reason, count) in discards::seen(&counters) {
        print(format_args!("received and discarded: {count} ({})", discards::words(reason)))?;
    }
    if drops {
        print(format_args!("dropped by rule: {} (seed {seed})", rules.dropped))?;
    }
    Ok(Outcome::Fine)
}

fn game_error(error: PingpongError) -> Error {
    match error {
        PingpongError::NoSuchGid { .. } => Error::usage(error),
        _ => Error::failed(error),
    }
}
