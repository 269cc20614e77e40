//! `rdmalab perf`: perftest's programs with a peer.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use rdmalab_device::{PathMtu, QueuePairType, Served};
use rdmalab_programs::perf::{
    self, DEFAULT_PORT, Each, Length, Measure, Operation, PerfError, RULE, Role, Row, Step,
};
use rdmalab_sim::Seed;

use crate::address;
use crate::discards;
use crate::interrupt;
use crate::link::{LinkOptions, Opened};
use crate::outcome::{Error, Outcome, Result, herald, print, tell as tell_error};
use crate::serve::ports;

/// How long leaving the peer may take after Ctrl-C.
const GRACE: Duration = Duration::from_secs(3);
/// Longest tests: what a latency test measures is kept until its end.
const MOST_LATENCIES: u64 = 10_000_000;

/// Requests under way, if nothing else is said.
const SEND_DEPTH: u32 = 128;

/// Measures bandwidth or latency with a peer as perftest does: as client if a server is named, else as server. The peer
/// may be ib_write_bw, ib_read_bw, ib_send_bw, ib_atomic_bw or the _lat of each, or another rdmalab. Both sides must be told
/// the same test and options.
#[derive(clap::Args)]
pub struct Options {
    /// What is measured of
    #[arg(value_enum, value_name = "TEST")]
    test: Test,

    /// The server to connect to; without one, wait for a client
    #[arg(value_name = "SERVER", value_parser = address::peer)]
    server: Option<IpAddr>,

    /// Measure latency, as the programs do whose names end with _lat, instead of bandwidth
    #[arg(long = "lat", visible_alias = "latency")]
    latency: bool,

    #[command(flatten)]
    link: LinkOptions,

    /// Bytes of a message [default: 65536, of datagrams the path MTU, of a latency 2]
    #[arg(short = 's', long, value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    size: Option<u32>,

    /// All sizes from 2 to 2^23 bytes, of datagrams to the path MTU, one after the other
    #[arg(short = 'a', long, conflicts_with = "size")]
    all: bool,

    /// Messages of each queue pair [default: 1000, of a WRITE's bandwidth 5000]
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(5..=100_000_000))]
    iters: Option<u64>,

    /// So many seconds, instead of a number of messages
    #[arg(short = 'D', long, value_name = "SECONDS", conflicts_with = "iters", value_parser = clap::value_parser!(u32).range(1..))]
    duration: Option<u32>,

    /// Of the seconds of -D, so many are left out at both ends, unless nothing were left or the test is interrupted
    #[arg(short = 'f', long, value_name = "SECONDS", default_value_t = 2, requires = "duration")]
    margin: u32,

    /// Queue pairs
    #[arg(short = 'q', long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16384))]
    qp: u32,

    /// Both sides send
    #[arg(short = 'b', long)]
    bidirectional: bool,

    /// Transport service
    #[arg(short = 'c', long, value_name = "TYPE", value_enum, default_value = "RC")]
    connection: Connection,

    /// Kind of atomic [default: FETCH_AND_ADD]
    #[arg(short = 'A', long = "atomic_type", value_name = "TYPE", value_enum)]
    atomic: Option<Atomic>,

    /// Path MTU: 256, 512, 1024, 2048 or 4096; the smaller one of both sides' counts [default: what the link carries]
    #[arg(short = 'm', long, value_parser = path_mtu)]
    mtu: Option<PathMtu>,

    /// TCP port for the exchange
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,

    /// Index of our address in the GID table: 0 the link-local one, then those given [default: the first of the peer's
    /// family]
    #[arg(short = 'x', long = "gid-index")]
    gid_index: Option<usize>,

    /// Requests of a queue pair that may be under way [default: 128]
    #[arg(short = 't', long = "tx-depth", value_parser = clap::value_parser!(u32).range(1..=32768))]
    send_depth: Option<u32>,

    /// Receives of a queue pair that are kept posted [default: 512; of UC and UD, where what finds none is lost, 16384]
    #[arg(short = 'r', long = "rx-depth", value_parser = clap::value_parser!(u32).range(1..=32768))]
    receive_depth: Option<u32>,

    /// One completion for so many requests [default: 100, of messages beyond 8192 bytes 1]
    #[arg(short = 'Q', long = "cq-mod", value_parser = clap::value_parser!(u32).range(1..))]
    moderation: Option<u32>,

    /// Hand messages up to so many bytes over inline
    #[arg(short = 'I', long = "inline_size", value_parser = clap::value_parser!(u32).range(..=4096))]
    inline: Option<u32>,

    /// READs or atomics of a queue pair under way at once [default: 128]
    #[arg(short = 'o', long, value_parser = clap::value_parser!(u8).range(1..=128))]
    outs: Option<u8>,

    /// How long to wait for an acknowledgement before a packet is sent again, up to seven times: 4.096 µs × 2^N, with 0
    /// for ever
    #[arg(short = 'u', long = "qp-timeout", value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u8).range(..=31))]
    timeout: u8,

    /// Look for no peak of the bandwidth; nobody looks in more than 20000 messages, or with -D
    #[arg(short = 'N', long = "noPeak")]
    no_peak: bool,

    /// Bandwidths in Gbit/s instead of MiB/s, which the table calls MB
    #[arg(long = "report_gbits")]
    gigabits: bool,

    /// Print all latencies, sorted
    #[arg(short = 'H', long = "report-histogram")]
    histogram: bool,

    /// Print all latencies in the order of their measurement
    #[arg(short = 'U', long = "report-unsorted")]
    unsorted: bool,

    /// IPv4 time to live or IPv6 hop limit
    #[arg(short = 'L', long = "hop_limit", default_value_t = 64, value_parser = clap::value_parser!(u8).range(1..))]
    hop_limit: u8,

    /// IPv4 type of service or IPv6 traffic class
    #[arg(long, default_value_t = 0)]
    tclass: u8,

    /// Connect by rdma_cm instead of exchanging queue pairs over TCP; not over UC, which rdma_cm does not know
    #[arg(short = 'R', long = "rdma_cm")]
    rdma_cm: bool,

    /// Taken for the sake of command lines of perftest: the device is the one of --tap, --interface or --ip
    #[arg(short = 'd', long = "ib-dev", value_name = "DEVICE")]
    _device: Option<String>,

    /// Taken likewise: there is one port
    #[arg(short = 'i', long = "ib-port", value_name = "PORT", value_parser = clap::value_parser!(u8).range(1..=1))]
    _device_port: Option<u8>,

    /// Taken likewise: nothing is said about the processor's frequency
    #[arg(short = 'F', long = "CPU-freq")]
    _frequency: bool,

    /// Give up when the peer is silent for so many seconds; 0 waits for ever
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Test {
    /// As ib_write_bw, with --lat ib_write_lat
    Write,
    /// As ib_read_bw, with --lat ib_read_lat
    Read,
    /// As ib_send_bw, with --lat ib_send_lat
    Send,
    /// As ib_atomic_bw, with --lat ib_atomic_lat
    Atomic,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "UPPER")]
enum Connection {
    /// Reliable
    Rc,
    /// Unreliable: write and send
    Uc,
    /// Datagrams: send
    Ud,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE")]
enum Atomic {
    FetchAndAdd,
    CmpAndSwap,
}

fn path_mtu(text: &str) -> std::result::Result<PathMtu, &'static str> {
    let bytes = text.parse().ok().and_then(PathMtu::from_bytes);
    bytes.ok_or("a path MTU is 256, 512, 1024, 2048 or 4096")
}

/// Measures.
pub fn run(options: &Options) -> Result<Outcome> {
    options.check()?;
    if !options.rdma_cm {
        options.link.check_transport("connections over iWARP are made by rdma_cm: add -R")?;
    }
    if let Some(server) = options.server {
        options.link.check_peer("SERVER", server)?;
    }
    let Opened { device, seed, link, signalled: interrupted } = options.link.open()?;
    interrupt::stops_after(&device, &interrupted, GRACE)?;
    let most = device.max_mtu();
    let mtu = options.mtu.unwrap_or(most);
    if mtu.bytes() > most.bytes() {
        let (most, needed) = (most.bytes(), mtu.bytes() + 80);
        let text =
            format!("the MTU of {link} carries a path MTU of {most} bytes at most, not {}", mtu.bytes());
        return Err(
            Error::usage(text).advice(format!("take -m {most}, or `ip link set {link} mtu {needed}`"))
        );
    }
    let stop = Arc::clone(&interrupted);
    let test = options.test(stop, mtu, Seed::new(seed).branch(1).random().below(1 << 24) as u32);

    // What cannot be printed must not end the test; it comes out at the end.
    let mut printed = Ok(());
    let mut out = |line: &dyn std::fmt::Display| {
        if printed.is_ok() {
            printed = print(line);
        }
    };
    let (mut told, mut carried_out) = (0, None);
    let mut tell = |step: Step<'_>| match step {
        Step::Listening(_) => out(&WAITING),
        Step::Heading(heading) => out(heading),
        Step::Side(side) => out(side),
        Step::Columns(columns) => {
            out(&RULE);
            out(&columns);
        }
        Step::Each(latencies) if options.histogram || options.unsorted => {
            out(&Each::new(latencies, !options.unsorted));
        }
        Step::Each(_) => {}
        Step::Row(row) => {
            out(row);
            if let Row::Bandwidth { figures, .. } = row {
                told = figures.iterations;
            }
        }
        Step::Connected(_) => {}
        Step::Served(served) => carried_out = Some(served),
        Step::Progress { size, done } => {
            tell_error(format_args!("rdmalab: {done} messages of {size} bytes so far"));
        }
    };
    let role = options.server.map_or(Role::Server, Role::Client);
    let outcome = perf::run(&device, &link, role, &test, &mut tell);
    if outcome.is_ok() {
        out(&RULE);
    }
    let (counters, rules) = (device.counters(), device.rule_counts());
    let traffic = options.link.traffic(&device);
    let closed = device.close();
    if outcome.is_err() && interrupted.load(Ordering::Relaxed) {
        tell_error("rdmalab: interrupted: the table holds what was done until then");
        return closed.map(|()| Outcome::Fine).map_err(Error::failed);
    }
    if let Err(error @ (PerfError::NoSuchGid(_) | PerfError::Options(_))) = outcome {
        return Err(test_error(&error));
    }
    // Beside the table, which others may want to read.
    if options.is_asked() {
        carried_out.map(|served| options.carried_out(served, told)).into_iter().for_each(tell_error);
    }
    tell_error(traffic);
    for (reason, count) in discards::seen(&counters) {
        tell_error(format_args!("received and discarded: {count} ({})", discards::words(reason)));
    }
    options.link.mistreated(&rules, seed).for_each(tell_error);
    outcome.map_err(|error| options.at_another_port(&error, &test, test_error(&error)).beside(&closed))?;
    printed?;
    closed.map(|()| Outcome::Fine).map_err(Error::failed)
}

const WAITING: &str = "\n************************************\n\
                       * Waiting for client to connect... *\n\
                       ************************************";

impl Options {
    /// Refuses what has no meaning for the test.
    fn check(&self) -> Result<()> {
        let atomic = matches!(self.test, Test::Atomic);
        let send = matches!(self.test, Test::Send);
        let answered = atomic || matches!(self.test, Test::Read);
        let bandwidth = !self.latency;
        let wishes = [
            (self.size.is_some() && atomic, "-s", "not for atomics, which have eight bytes"),
            (self.all && atomic, "-a", "not for atomics, which have eight bytes"),
            (self.atomic.is_some() && !atomic, "-A", "for atomics only"),
            (self.receive_depth.is_some() && !send, "-r", "for send only"),
            (self.outs.is_some() && !answered, "-o", "for read and atomic only"),
            (self.inline.is_some() && answered, "-I", "for write and send only"),
            (self.bidirectional && !bandwidth, "-b", "not for latencies, which have one message under way"),
            (self.qp > 1 && !bandwidth, "-q", "not for latencies, which have one message under way"),
            (
                self.send_depth.is_some() && !bandwidth,
                "-t",
                "not for latencies, which have one message under way",
            ),
            (self.moderation.is_some() && !bandwidth, "-Q", "for bandwidths only"),
            (self.no_peak && !bandwidth, "-N", "for bandwidths only"),
            (self.gigabits && !bandwidth, "--report_gbits", "for bandwidths only"),
            (self.histogram && bandwidth, "-H", "for latencies only"),
            (self.unsorted && bandwidth, "-U", "for latencies only"),
            (self.all && self.duration.is_some(), "-a", "not together with -D"),
        ];
        if let Some((_, option, why)) = wishes.into_iter().find(|(is_wished, ..)| *is_wished) {
            return Err(Error::usage(format_args!("{option} is {why}")));
        }
        let depth = self.send_depth.unwrap_or(SEND_DEPTH);
        if let Some(moderation) = self.moderation.filter(|&moderation| moderation > depth) {
            let text = format!("-Q {moderation}: no more than {depth} requests (-t) are under way at once");
            return Err(Error::usage(text));
        }
        if self.link.iwarp && matches!(self.connection, Connection::Ud) {
            return Err(Error::usage("-c UD: iWARP has no datagrams"));
        }
        if self.latency && self.iters.is_some_and(|iters| iters > MOST_LATENCIES) {
            let text = format!("-n: at most {MOST_LATENCIES} latencies are measured");
            return Err(Error::usage(text).advice("-D measures any number, and keeps none of them"));
        }
        Ok(())
    }

    /// Whether the other side alone asks for what is done, and nothing completes here.
    fn is_asked(&self) -> bool {
        let to_and_fro = self.bidirectional || (self.latency && matches!(self.test, Test::Write));
        self.server.is_none() && !to_and_fro && !matches!(self.test, Test::Send)
    }

    /// What came of the client's requests, of which it tells so many.
    fn carried_out(&self, served: Served, told: u64) -> String {
        let Served { messages, bytes } = served;
        let is_all = self.all || self.duration.is_some() || messages >= told;
        let lost = match self.connection {
            Connection::Uc if !is_all => {
                format!("; {} of its {told} are lost, as UC sends nothing again", told - messages)
            }
            _ => String::new(),
        };
        format!("carried out for the client: {messages} messages, {bytes} bytes{lost}")
    }

    /// Says where `serve` has this test, if the server may be one and the port is another's.
    fn at_another_port(&self, error: &PerfError, test: &perf::Options, told: Error) -> Error {
        let is_suspect = matches!(
            error,
            PerfError::TurnedAway { .. } | PerfError::Hangup { .. } | PerfError::Silence { .. }
        );
        match ports::of_perf(test.operation, test.measure) {
            Some((name, port)) if is_suspect && self.server.is_some() && port != self.port => {
                told.advice(format_args!("`rdmalab serve` has {name} at TCP port {port}: -p {port}"))
            }
            _ => told,
        }
    }

    fn test(&self, stop: Arc<AtomicBool>, mtu: PathMtu, first_psn: u32) -> perf::Options {
        let operation = match (self.test, self.atomic) {
            (Test::Write, _) => Operation::Write,
            (Test::Read, _) => Operation::Read,
            (Test::Send, _) => Operation::Send,
            (Test::Atomic, Some(Atomic::CmpAndSwap)) => Operation::CompareAndSwap,
            (Test::Atomic, _) => Operation::FetchAndAdd,
        };
        let measure = if self.latency { Measure::Latency } else { Measure::Bandwidth };
        let usual = perf::Options::new(operation, measure);
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        let length = match (self.duration, self.iters) {
            (Some(total), _) => Length::Time { total: seconds(total), margin: seconds(self.margin) },
            (None, Some(iters)) => Length::Messages(iters),
            (None, None) => usual.length,
        };
        perf::Options {
            kind: match self.connection {
                Connection::Rc => QueuePairType::Rc,
                Connection::Uc => QueuePairType::Uc,
                Connection::Ud => QueuePairType::Ud,
            },
            size: self.size(usual.size, mtu),
            // Only both sides' path MTUs tell how long a datagram may be.
            fits_mtu: self.size.is_none(),
            all_sizes: self.all,
            length,
            queue_pairs: self.qp,
            bidirectional: self.bidirectional,
            mtu,
            port: self.port,
            gid_index: self.gid_index,
            send_depth: self.send_depth.unwrap_or(SEND_DEPTH),
            receive_depth: self.receive_depth,
            moderation: self.moderation,
            inline: self.inline.unwrap_or(0),
            outstanding: self.outs.unwrap_or(usual.outstanding),
            timeout: self.timeout,
            peak: !self.no_peak,
            gigabits: self.gigabits,
            hop_limit: self.hop_limit,
            traffic_class: self.tclass,
            first_psn,
            managed: self.rdma_cm,
            patience: (self.wait > 0).then(|| Duration::from_secs(self.wait)),
            stop,
            herald: herald(),
            ..usual
        }
    }

    /// Bytes of a message. A datagram is no longer than a packet.
    fn size(&self, usual: u32, mtu: PathMtu) -> u32 {
        let most = if matches!(self.connection, Connection::Ud) { mtu.bytes() as u32 } else { u32::MAX };
        self.size.unwrap_or(usual.min(most))
    }
}

fn test_error(error: &PerfError) -> Error {
    match error {
        PerfError::NoSuchGid { .. } | PerfError::Options(_) => Error::usage(error),
        _ => Error::failed(error),
    }
}
