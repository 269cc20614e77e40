//! `rdmalab pingpong`: `ibv_rc_pingpong` with a peer on the other side of a TAP device.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rdmalab_device::{
    ConfigError, CongestionControl, Device, DeviceError, HostAddress, NetError, PathMtu, Profile, TapConfig,
};
use rdmalab_programs::pingpong::{self, DEFAULT_PORT, PingpongError, Step};
use rdmalab_sim::rule::{from, lose, only};
use rdmalab_sim::{End, Probability, RuleSet, Seed};

use crate::discards;
use crate::outcome::{Error, Outcome, Result, print, tell as tell_error};
use crate::profile;

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

    /// TAP device behind which the emulated host lives; made if it does not exist
    #[arg(long, value_name = "NAME")]
    tap: String,

    /// The emulated host's own address, which must not be the kernel's
    #[arg(long, value_name = "ADDR/LEN")]
    ip: HostAddress,

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

    /// The implementation whose habits we have: spec, rxe or connectx
    #[arg(long, value_name = "NAME", default_value = "rxe", value_parser = profile::profile)]
    profile: Profile,

    /// What slows us down: none, fixed=RATE with a rate in Gbit/s, or dcqcn, which heeds congestion notifications
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = profile::congestion_control)]
    congestion: CongestionControl,

    /// How long to wait for an acknowledgement before a packet is sent again, up to seven times: 4.096 µs × 2^N, with 0
    /// for ever. The real program's is 14: 67 ms. A peer that is slow, or that loses much, needs more
    #[arg(long, value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u8).range(..=31))]
    ack_timeout: u8,

    /// Lose this share of the RoCE packets that we send, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    drop_rate: Probability,

    /// Seed of the losses, our first PSN and TCP's numbers [default: the time of day]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Record all frames as pcapng
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,

    /// Give up when the peer is silent for so many seconds; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

fn path_mtu(text: &str) -> std::result::Result<PathMtu, &'static str> {
    let bytes = text.parse().ok().and_then(PathMtu::from_bytes);
    bytes.ok_or("a path MTU is 256, 512, 1024, 2048 or 4096")
}

/// Reads a probability.
fn probability(text: &str) -> std::result::Result<Probability, &'static str> {
    text.parse().ok().and_then(Probability::new).ok_or("a share is a number from 0 to 1")
}

/// Plays.
pub fn run(options: &Options) -> Result<Outcome> {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = options.seed.unwrap_or(time.as_nanos() as u64);
    if options.server.is_some_and(|server| server.is_ipv4() != options.ip.address.is_ipv4()) {
        return Err(Error::usage("SERVER and --ip must both be IPv4 or both be IPv6 addresses"));
    }
    let drops = options.drop_rate.fraction() > 0.0;
    let rules = drops.then(|| {
        let is_roce = |frame: &rdmalab_sim::Frame<'_>| rdmalab_wire::is_roce_v2(frame.bytes);
        let losses = only("RoCE packets", is_roce, lose(options.drop_rate));
        RuleSet::new(Seed::new(seed)).with(from(End::A, losses))
    });
    let device = Device::open_tap(TapConfig {
        rules,
        record: options.pcap.clone(),
        seed,
        profile: options.profile,
        congestion_control: options.congestion,
        ..TapConfig::new(&options.tap, vec![options.ip])
    })
    .map_err(|error| open_error(error, &options.tap))?;

    let most = device.max_mtu();
    let mtu = match options.mtu {
        Some(mtu) if mtu.bytes() > most.bytes() => {
            let text = format!(
                "the MTU of {} carries a path MTU of {} bytes at most, not {}",
                options.tap,
                most.bytes(),
                mtu.bytes()
            );
            let needed = mtu.bytes() + 80;
            let advice = format!("take -m {}, or `ip link set {} mtu {needed}`", most.bytes(), options.tap);
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

fn open_error(error: DeviceError, tap: &str) -> Error {
    match &error {
        DeviceError::Config(config) => match **config {
            ConfigError::Mtu { .. } => Error::usage(format_args!("{tap}: {error}"))
                .advice(format_args!("give it a larger one: `ip link set {tap} mtu 1500`")),
            _ => Error::usage(format_args!("--ip: {error}")),
        },
        DeviceError::Record(_) | DeviceError::KernelsAddress { .. } => Error::usage(error),
        DeviceError::Net(net) => match **net {
            NetError::BadName { .. } | NetError::WrongKind { .. } => Error::usage(error),
            _ => Error::failed(error),
        },
        _ => Error::failed(error),
    }
}

fn game_error(error: PingpongError) -> Error {
    match error {
        PingpongError::NoSuchGid { .. } => Error::usage(error),
        _ => Error::failed(error),
    }
}
