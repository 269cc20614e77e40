//! Our end of connections with siw in which somebody goes wrong, as a program that a live test runs beside its guest, where
//! `siw_peer.py` takes orders: calls that are refused, and requests that one side makes and the other must not carry out.
//!
//! Each case makes a connection of its own and leaves none; the next one shows that both sides have lived through it.
#![forbid(unsafe_code)]

mod calls;
mod faults;
#[path = "../../../examples/rxe-probe/peer.rs"]
mod peer;
mod scene;
mod words;

use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use rdmalab_device::{Device, DeviceConfig, HostAddress, IwarpProfile, IwarpSettings, Transport};

use faults::Wrong;
use peer::Peer;
use scene::{Caller, Scene};

/// Plays with siw what has to fail
#[derive(Parser)]
struct Options {
    /// The TAP device of an emulated host; without one, the kernel's TCP
    #[arg(long)]
    tap: Option<String>,

    /// Our own address, with the prefix length
    #[arg(long)]
    ip: HostAddress,

    /// Where the peer takes orders, by the kernel's TCP
    #[arg(long)]
    orders: SocketAddr,

    /// Where the peer listens for RDMA
    #[arg(long)]
    peer: SocketAddr,

    /// Ask for CRCs
    #[arg(long)]
    crc: bool,

    /// Have the habits of siw instead of those that our programs have
    #[arg(long)]
    as_siw: bool,

    #[command(flatten)]
    choice: Choice,
}

/// Which of the cases; all of them in every way, if nothing is said
#[derive(Clone, Parser)]
pub struct Choice {
    /// Only this one, by its first word
    #[arg(long, value_name = "CASE", value_parser = case)]
    case: Option<&'static str>,

    /// Only requests with this fault, if the case has requests
    #[arg(long, value_enum)]
    wrong: Option<Wrong>,

    /// Who asks for connections [default: both by turns]
    #[arg(long, value_enum)]
    caller: Option<Caller>,
}

type Case = fn(&mut Scene) -> Result<(), String>;

/// Reads the word of a case.
fn case(text: &str) -> Result<&'static str, String> {
    let words = CASES.iter().map(|(word, ..)| *word);
    let found = words.clone().find(|word| *word == text);
    found.ok_or_else(|| format!("cases are {}", words.collect::<Vec<_>>().join(", ")))
}

const CASES: &[(&str, &str, Case)] = &[
    ("nobody-there", "we call where nobody listens", calls::nobody_listens_there),
    ("nobody-here", "siw calls where nobody listens", calls::nobody_listens_here),
    ("rejected", "who is called rejects", calls::is_rejected),
    ("greeted", "who was called speaks first", words::who_was_called_speaks_first),
    ("siw-is-asked", "siw takes what is right and refuses what is not", faults::siw_is_asked),
    ("we-are-asked", "we take what is right and refuse what is not", faults::we_are_asked),
    ("siw-has-no-receive", "siw has no receive, or one that is too short", faults::siw_has_no_receive),
    ("we-have-no-receive", "we have no receive, or one that is too short", faults::we_have_no_receive),
];

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let profile = if options.as_siw { IwarpProfile::SIW } else { IwarpProfile::LINUX };
    let iwarp = IwarpSettings { profile, crc: Some(options.crc), ..IwarpSettings::default() };
    let config = DeviceConfig { transport: Transport::Iwarp, iwarp, ..DeviceConfig::new(vec![options.ip]) };
    let device = match &options.tap {
        Some(tap) => Device::open_tap(tap, config),
        None => Device::open_udp(config),
    };
    let device = device.map_err(|error| error.to_string())?;
    let own: IpAddr = options.ip.address;
    let peer = Peer::connect(options.orders)?;
    let mut scene = Scene::new(&device, own, options.peer, peer, options.choice.clone())?;
    let mut failed = Vec::new();
    let chosen = CASES.iter().filter(|(word, ..)| options.choice.case.is_none_or(|case| case == *word));
    for (_, name, case) in chosen {
        let started = Instant::now();
        let outcome = case(&mut scene).and_then(|()| scene.rest());
        let seconds = started.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("passed {seconds:.1} s: {name}"),
            Err(error) => {
                println!("FAILED {seconds:.1} s: {name}: {error}");
                failed.push(*name);
                scene.recover();
            }
        }
    }
    drop(scene);
    println!("{:?}", device.iwarp_counters());
    device.close().map_err(|error| error.to_string())?;
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join("; "))) }
}
