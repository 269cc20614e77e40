//! The options of `rdmalab perf`, which of them go together, and the test that they make.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::ValueEnum;
use rdmalab_device::{PathMtu, QueuePairType};
use rdmalab_programs::perf::{self, DEFAULT_PORT, Length, Measure, Operation};

use crate::address;
use crate::link::LinkOptions;
use crate::outcome::{Error, Result, herald};

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
    pub(super) test: Test,

    /// The server to connect to; without one, wait for a client
    #[arg(value_name = "SERVER", value_parser = address::peer)]
    pub(super) server: Option<IpAddr>,

    /// Measure latency, as the programs do whose names end with _lat, instead of bandwidth
    #[arg(long = "lat", visible_alias = "latency")]
    pub(super) latency: bool,

    #[command(flatten)]
    pub(super) link: LinkOptions,

    /// Bytes of a message [default: 65536, of datagrams the path MTU, of a latency 2]
    #[arg(short = 's', long, value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    pub(super) size: Option<u32>,

    /// All sizes from 2 to 2^23 bytes, of datagrams to the path MTU, one after the other
    #[arg(short = 'a', long, conflicts_with = "size")]
    pub(super) all: bool,

    /// Messages of each queue pair [default: 1000, of a WRITE's bandwidth 5000]
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(5..=100_000_000))]
    pub(super) iters: Option<u64>,

    /// So many seconds, instead of a number of messages
    #[arg(short = 'D', long, value_name = "SECONDS", conflicts_with = "iters", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) duration: Option<u32>,

    /// Of the seconds of -D, so many are left out at both ends, unless nothing were left or the test is interrupted
    #[arg(short = 'f', long, value_name = "SECONDS", default_value_t = 2, requires = "duration")]
    pub(super) margin: u32,

    /// Queue pairs
    #[arg(short = 'q', long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub(super) qp: u32,

    /// Both sides send
    #[arg(short = 'b', long)]
    pub(super) bidirectional: bool,

    /// Transport service
    #[arg(short = 'c', long, value_name = "TYPE", value_enum, default_value = "RC")]
    pub(super) connection: Connection,

    /// Kind of atomic [default: FETCH_AND_ADD]
    #[arg(short = 'A', long = "atomic_type", value_name = "TYPE", value_enum)]
    pub(super) atomic: Option<Atomic>,

    /// Path MTU: 256, 512, 1024, 2048 or 4096; the smaller one of both sides' counts [default: what the link carries]
    #[arg(short = 'm', long, value_parser = path_mtu)]
    pub(super) mtu: Option<PathMtu>,

    /// TCP port for the exchange
    #[arg(short = 'p', long, default_value_t = DEFAULT_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: u16,

    /// Index of our address in the GID table: 0 the link-local one, then those given [default: the first of the peer's
    /// family]
    #[arg(short = 'x', long = "gid-index")]
    pub(super) gid_index: Option<usize>,

    /// Requests of a queue pair that may be under way [default: 128]
    #[arg(short = 't', long = "tx-depth", value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub(super) send_depth: Option<u32>,

    /// Receives of a queue pair that are kept posted [default: 512; of UC and UD, where what finds none is lost, 16384]
    #[arg(short = 'r', long = "rx-depth", value_parser = clap::value_parser!(u32).range(1..=32768))]
    pub(super) receive_depth: Option<u32>,

    /// One completion for so many requests [default: 100, of messages beyond 8192 bytes 1]
    #[arg(short = 'Q', long = "cq-mod", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) moderation: Option<u32>,

    /// Hand messages up to so many bytes over inline
    #[arg(short = 'I', long = "inline_size", value_parser = clap::value_parser!(u32).range(..=4096))]
    pub(super) inline: Option<u32>,

    /// READs or atomics of a queue pair under way at once [default: 128]
    #[arg(short = 'o', long, value_parser = clap::value_parser!(u8).range(1..=128))]
    pub(super) outs: Option<u8>,

    /// How long to wait for an acknowledgement before a packet is sent again, up to seven times: 4.096 µs × 2^N, with 0
    /// for ever
    #[arg(short = 'u', long = "qp-timeout", value_name = "N", default_value_t = 14, value_parser = clap::value_parser!(u8).range(..=31))]
    pub(super) timeout: u8,

    /// Look for no peak of the bandwidth; nobody looks in more than 20000 messages, or with -D
    #[arg(short = 'N', long = "noPeak")]
    pub(super) no_peak: bool,

    /// Bandwidths in Gbit/s instead of MiB/s, which the table calls MB
    #[arg(long = "report_gbits")]
    pub(super) gigabits: bool,

    /// Print all latencies, sorted
    #[arg(short = 'H', long = "report-histogram")]
    pub(super) histogram: bool,

    /// Print all latencies in the order of their measurement
    #[arg(short = 'U', long = "report-unsorted")]
    pub(super) unsorted: bool,

    /// IPv4 time to live or IPv6 hop limit
    #[arg(short = 'L', long = "hop_limit", default_value_t = 64, value_parser = clap::value_parser!(u8).range(1..))]
    pub(super) hop_limit: u8,

    /// IPv4 type of service or IPv6 traffic class
    #[arg(long, default_value_t = 0)]
    pub(super) tclass: u8,

    /// Connect by rdma_cm instead of exchanging queue pairs over TCP; not over UC, which rdma_cm does not know
    #[arg(short = 'R', long = "rdma_cm")]
    pub(super) rdma_cm: bool,

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
    pub(super) wait: u64,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Test {
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
pub(super) enum Connection {
    /// Reliable
    Rc,
    /// Unreliable: write and send
    Uc,
    /// Datagrams: send
    Ud,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE")]
pub(super) enum Atomic {
    FetchAndAdd,
    CmpAndSwap,
}

fn path_mtu(text: &str) -> std::result::Result<PathMtu, &'static str> {
    let bytes = text.parse().ok().and_then(PathMtu::from_bytes);
    bytes.ok_or("a path MTU is 256, 512, 1024, 2048 or 4096")
}

impl Options {
    /// Refuses what has no meaning for the test.
    pub(super) fn check(&self) -> Result<()> {
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

    /// The test that they make.
    pub(super) fn test(&self, stop: Arc<AtomicBool>, mtu: PathMtu, first_psn: u32) -> perf::Options {
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
