//! Throws at a host whatever might harm it: the fuzzers' corpora in every shape in which they can travel, and packets of the captures
//! in `pcaps/`, made out with right ICRCs to the queue pairs that work there, with their PSNs and keys.
//!
//! It speaks for itself, and for addresses that it is told may be spoken for: what it says in the name of others may end their
//! connections, as a forger on the same wire may with any adapter.
#![forbid(unsafe_code)]

mod thrower;
mod witness;

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use rdmalab_sim::Seed;

use thrower::Thrower;
use witness::Flow;

/// Throws everything at a host, a few times over
#[derive(Parser)]
struct Options {
    /// The TAP device from which it throws
    #[arg(long)]
    tap: String,

    /// Where the host can be overheard
    #[arg(long)]
    overhear: String,

    /// The host's address, of which its Ethernet address is made
    #[arg(long)]
    target: Ipv4Addr,

    /// Our own address
    #[arg(long)]
    own: Ipv4Addr,

    /// Whose address is used besides
    #[arg(long)]
    forge: Vec<Ipv4Addr>,

    /// How often all of it is thrown
    #[arg(long, default_value_t = 3)]
    rounds: u32,

    /// Seed of the PSNs and addresses
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok((frames, flows)) => {
            println!("thrown: {frames} frames");
            println!("overheard: {flows} queue pairs");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// How many frames were thrown, and how many of the host's queue pairs were known.
fn run(options: &Options) -> Result<(u64, usize), String> {
    let seed = Seed::new(options.seed);
    let mut thrower = Thrower::open(&options.tap, options.target, seed)?;
    let packets = captured()?;
    let mut known = 0;
    for _ in 0..options.rounds {
        let flows = witness::overhear(&options.overhear, options.target)?;
        known = known.max(flows.len());
        thrower.corpora(options.own, &flows)?;
        for packet in &packets {
            for flow in &flows {
                // A queue pair whose peer may be spoken for hears it from there, too.
                let peer = Some(flow.peer).filter(|peer| options.forge.contains(peer));
                for from in [Some(options.own), peer].into_iter().flatten() {
                    thrower.packet(from, packet, flow)?;
                }
            }
        }
    }
    Ok((thrower.thrown(), known))
}

/// InfiniBand packets out of the captures, some of each, from the base header to the end of the padding.
fn captured() -> Result<Vec<Vec<u8>>, String> {
    const OF_EACH: usize = 60;
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../pcaps");
    let mut packets = Vec::new();
    for folder in [folder.join("rxe"), folder] {
        let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "pcap"));
        files.sort();
        for file in files {
            let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            packets.extend(witness::packets(&bytes).map(|(_, ib)| ib).take(OF_EACH));
        }
    }
    if packets.len() < 500 {
        return Err(format!("there are only {} packets in {}", packets.len(), env!("CARGO_MANIFEST_DIR")));
    }
    Ok(packets)
}

/// Whom a packet can be made out to when nothing was overheard.
const NOBODY: Flow = Flow { peer: Ipv4Addr::UNSPECIFIED, queue_pair: 1, psn: 0, key: 0, address: 0 };
