//! The connecting end of verbs conversations, as a program that a live test runs beside its guest.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rdmalab_device::{Counters, Device, DeviceConfig, HostAddress};
use rdmalab_sim::rule::{delay, duplicate, from, lose, only, reorder};
use rdmalab_sim::{Counts, End, Frame, Probability, RuleSet, Seed};
use rdmalab_tests::conversation::{Wish, converse};

/// Holds a verbs conversation with `verbs_peer.py --listen` on the other side of a TAP device.
#[derive(Parser)]
struct Options {
    /// The TAP device
    #[arg(long)]
    tap: String,

    /// Our own address, with the prefix length
    #[arg(long)]
    ip: HostAddress,

    /// Where the other end listens
    #[arg(long)]
    peer: SocketAddr,

    /// Be the passive end: the peer carries out the operations
    #[arg(long)]
    passive: bool,

    /// What is to be done, for example WRITE:33*50,READ:4096,FETCH_ADD*20
    #[arg(long)]
    operations: String,

    /// The path MTU in bytes
    #[arg(long, default_value_t = 1024)]
    mtu: u16,

    /// The first PSN that we send; 24 bits
    #[arg(long, default_value_t = 0xff_fff0, value_parser = clap::value_parser!(u32).range(..1 << 24))]
    psn: u32,

    /// How often to retry
    #[arg(long, default_value_t = 7)]
    retry: u8,

    /// Lose this share of the RoCE packets that we send, 0 to 1
    #[arg(long, default_value_t = 0.0)]
    drop_rate: f64,

    /// Send this share of them twice
    #[arg(long, default_value_t = 0.0)]
    duplicate_rate: f64,

    /// Send this share of them behind the next one
    #[arg(long, default_value_t = 0.0)]
    reorder_rate: f64,

    /// Send all others so many milliseconds later
    #[arg(long, default_value_t = 0)]
    delay: u32,

    /// Seed of these
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How long to wait for each thing, in seconds
    #[arg(long, default_value_t = 30)]
    limit: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok((done, traffic)) => {
            println!("dropped by rule: {}", done.dropped);
            println!("duplicated by rule: {}", done.duplicated);
            println!("reordered by rule: {}", done.reordered);
            println!("delayed by rule: {}", done.delayed);
            println!(
                "RoCE packets: {} sent, {} of them again; {} received",
                traffic.sent_pkts, traffic.retransmitted_pkts, traffic.rcvd_pkts
            );
            println!("both ends are content");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// How many packets met with each rule, and how many there were.
fn run(options: &Options) -> Result<(Counts, Counters), String> {
    let rate = |rate| Probability::new(rate).ok_or("a rate is a number from 0 to 1");
    let later = u64::from(options.delay) * 1_000_000;
    let rules = [
        lose(rate(options.drop_rate)?),
        duplicate(rate(options.duplicate_rate)?),
        reorder(rate(options.reorder_rate)?, 10_000_000),
        delay(if later > 0 { Probability::ONE } else { Probability::ZERO }, later, later),
    ];
    let is_roce = |frame: &Frame<'_>| rdmalab_wire::is_roce_v2(frame.bytes);
    let add = |set: RuleSet, rule| set.with(from(End::A, only("RoCE packets", is_roce, rule)));
    let rules = rules.into_iter().fold(RuleSet::new(Seed::new(options.seed)), add);
    let config = DeviceConfig { rules: Some(rules), ..DeviceConfig::new(vec![options.ip]) };
    let device = Device::open_tap(&options.tap, config).map_err(|error| error.to_string())?;
    let wish = Wish {
        active: !options.passive,
        operations: options.operations.clone(),
        mtu: options.mtu,
        timeout: 14,
        retry: options.retry,
        rnr_retry: 7,
        rd_atomic: 4,
        psn: options.psn,
    };
    let begins = || println!("both ends are ready");
    let outcome = converse(&device, options.peer, &wish, Duration::from_secs(options.limit), begins);
    let done = (device.rule_counts(), device.counters());
    match (outcome, device.close().map_err(|error| error.to_string())) {
        (Ok(()), Ok(())) => Ok(done),
        (Err(fault), Ok(())) | (Ok(()), Err(fault)) => Err(fault),
        // Whatever went wrong, that the device is gone is why.
        (Err(fault), Err(why)) => Err(format!("{why}: {fault}")),
    }
}
