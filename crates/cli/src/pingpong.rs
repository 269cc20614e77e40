//! `rdmalab pingpong`: `ibv_rc_pingpong`, `ibv_uc_pingpong`, `ibv_ud_pingpong` or `ibv_srq_pingpong` with a peer.

use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rdmalab_device::PathMtu;
use rdmalab_programs::pingpong::{self, DEFAULT_PORT, Kind, MOST_QUEUE_PAIRS, PingpongError, Step};
use rdmalab_sim::Seed;

use crate::address;
use crate::discards;
use crate::interrupt;
use crate::link::{LinkOptions, Opened};
use crate::outcome::{Error, Outcome, Result, herald, print};
use crate::serve::ports;

/// Speaks ibv_rc_pingpong, or one of its sisters, with a peer: as client if a server is named, else as server. The peer
/// may be the real program on a real adapter, on Linux' rxe, or another rdmalab.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// The server to connect to; without one, wait for a client
    #[arg(value_name = "SERVER", conflicts_with = "listen", value_parser = address::peer)]
    server: Option<IpAddr>,

    /// Wait for a client, which is the rule where no server is named
    #[arg(long)]
    listen: bool,

    #[command(flatten)]
    link: LinkOptions,

    /// Which program is spoken: ibv_rc_pingpong, ibv_uc_pingpong, ibv_ud_pingpong or ibv_srq_pingpong
    #[arg(long, value_enum, default_value_t = Transport::Rc)]
    transport: Transport,

    /// Bytes of a message [default: 4096, over ud 2048]
    #[arg(short = 's', long, value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    size: Option<u32>,

    /// Rounds
    #[arg(short = 'n', long = "iters", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Path MTU: 256, 512, 1024, 2048 or 4096 [default: 1024, or less if the link asks for it]. Not over ud
    #[arg(short = 'm', long, value_parser = path_mtu)]
    mtu: Option<PathMtu>,

    /// Queue pairs that share the receives, with srq; both sides need the same number [default: 16]
    #[arg(short = 'q', long = "num-qp", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_QUEUE_PAIRS)))]
    queue_pairs: Option<u32>,

    /// Receives that are kept posted, with srq at least one for each queue pair
    #[arg(short = 'r', long = "rx-depth", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=32768))]
    receive_depth: u32,

    /// TCP port for the exchange of addresses
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,

    /// Index of our address in the GID table: 0 the link-local one, then those given
    #[arg(short = 'g', long = "gid-idx")]
    gid_index: Option<usize>,

    /// Put in, and look for, what the real program checks with -c. All other bytes are checked anyway
    #[arg(short = 'c', long = "chk")]
    check: bool,

    /// Sleep while waiting for completions. We always do; this is for command lines of the real program
    #[arg(short = 'e', long)]
    events: bool,

    /// Do not pin memory, with rc and srq. We never do; this is for command lines of the real program
    #[arg(short = 'o', long)]
    odp: bool,

    /// Service level. Packets over IP have no place for it; that of a VLAN's tag is not filled yet
    #[arg(short = 'l', long = "sl", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=15))]
    service_level: u8,

    /// How long to wait for an acknowledgement before a packet is sent again, up to seven times: 4.096 µs × 2^N, with 0
    /// for ever. The real program's is 14: 67 ms. A peer that is slow, or that loses much, needs more. With rc and srq
    /// [default: 14]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(..=31))]
    ack_timeout: Option<u8>,

    /// Give up when the peer is silent for so many seconds; 0 waits for ever. Over uc and ud a lost message ends the game
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

/// Names of the programs, without what they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Transport {
    Rc,
    Uc,
    Ud,
    Srq,
}

impl Transport {
    fn kind(self) -> Kind {
        match self {
            Self::Rc => Kind::Rc,
            Self::Uc => Kind::Uc,
            Self::Ud => Kind::Ud,
            Self::Srq => Kind::Srq,
        }
    }
}

impl Options {
    /// Refuses what has no meaning for the program that is spoken.
    fn check(&self) -> Result<()> {
        let kind = self.transport.kind();
        let refuse = |text: &str| Err(Error::usage(format_args!("{text}; this is {}", kind.program())));
        if self.mtu.is_some() && kind == Kind::Ud {
            return refuse("-m is not for ud, where a message is one packet");
        }
        if self.queue_pairs.is_some() && kind != Kind::Srq {
            return refuse("-q is for srq only");
        }
        if self.ack_timeout.is_some() && !kind.is_reliable() {
            return refuse("--ack-timeout is for rc and srq only: nobody acknowledges anything here");
        }
        if self.odp && !kind.is_reliable() {
            return refuse("-o is for rc and srq only");
        }
        if self.service_level != 0 && self.link.vlan.is_some() {
            return Err(Error::usage("-l with --vlan is not possible yet: tags are sent with priority 0"));
        }
        Ok(())
    }
}

fn path_mtu(text: &str) -> std::result::Result<PathMtu, &'static str> {
    let bytes = text.parse().ok().and_then(PathMtu::from_bytes);
    bytes.ok_or("a path MTU is 256, 512, 1024, 2048 or 4096")
}

/// Plays.
pub fn run(options: &Options) -> Result<Outcome> {
    options.check()?;
    options.link.check_transport("pingpong makes its connections by itself, without rdma_cm")?;
    let kind = options.transport.kind();
    if let Some(server) = options.server {
        options.link.check_peer("SERVER", server)?;
    }
    let Opened { device, seed, link, signalled: interrupted } = options.link.open()?;
    interrupt::stops(&device, &interrupted)?;
    let mistreats = options.link.mistreats();

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
    let usual = pingpong::Options::default();
    let game = pingpong::Options {
        kind,
        queue_pairs: options.queue_pairs.unwrap_or(usual.queue_pairs),
        size: options.size.unwrap_or(kind.usual_size()),
        rounds: options.rounds,
        receive_depth: options.receive_depth,
        mtu,
        port: options.port,
        gid_index: options.gid_index,
        check: options.check,
        first_psn: Seed::new(seed).branch(1).random().below(1 << 24) as u32,
        ack_timeout: options.ack_timeout.unwrap_or(usual.ack_timeout),
        // The real program's ACK timeout is 67 ms; where packets are lost, several may pass before it is heard again.
        linger: Duration::from_millis(if mistreats { 1000 } else { 150 }),
        patience: (options.wait > 0).then(|| Duration::from_secs(options.wait)),
        herald: herald(),
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
    if let Err(error) = &report
        && interrupted.load(Ordering::Relaxed)
    {
        if let PingpongError::Interrupted(report) = error {
            print(report)?;
        }
        print("interrupted")?;
        return closed.map(|()| Outcome::Fine).map_err(Error::failed);
    }
    let report = report.map_err(|error| {
        let is_turned_away = options.server.is_some()
            && matches!(error, PingpongError::Hangup { .. } | PingpongError::Perftest { .. });
        let (told, port) = (game_error(error), ports::of_pingpong(kind));
        let told = if is_turned_away && port != options.port {
            let advice = format!("`rdmalab serve` has {} at TCP port {port}: -p {port}", kind.program());
            told.advice(advice)
        } else {
            told
        };
        told.beside(&closed)
    })?;
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
    options.link.mistreated(&rules, seed).try_for_each(print)?;
    closed.map(|()| Outcome::Fine).map_err(Error::failed)
}

fn game_error(error: PingpongError) -> Error {
    match error {
        PingpongError::NoSuchGid { .. }
        | PingpongError::Receives { .. }
        | PingpongError::NoSuchNumber(_)
        | PingpongError::TooLong { .. }
        | PingpongError::Memory(_) => Error::usage(error),
        _ => Error::failed(error),
    }
}
