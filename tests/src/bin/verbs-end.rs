//! The connecting end of verbs conversations, as a program that a live test runs beside its guest.
#![forbid(unsafe_code)]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rdmalab_device::{Device, DeviceConfig, HostAddress};
use rdmalab_sim::rule::{from, lose, only};
use rdmalab_sim::{End, Frame, Probability, RuleSet, Seed};
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

    /// Seed of the losses
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// How long to wait for each thing, in seconds
    #[arg(long, default_value_t = 30)]
    limit: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(dropped) => {
            println!("dropped by rule: {dropped}");
            println!("both ends are content");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The number of packets that the rule took.
fn run(options: &Options) -> Result<u64, String> {
    let rate = Probability::new(options.drop_rate).ok_or("--drop-rate is a number from 0 to 1")?;
    let is_roce = |frame: &Frame<'_>| rdmalab_wire::is_roce_v2(frame.bytes);
    let rules =
        RuleSet::new(Seed::new(options.seed)).with(from(End::A, only("RoCE packets", is_roce, lose(rate))));
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
    converse(&device, options.peer, &wish, Duration::from_secs(options.limit))?;
    let dropped = device.rule_counts().dropped;
    device.close().map_err(|error| error.to_string())?;
    Ok(dropped)
}
