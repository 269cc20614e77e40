//! What a real Linux iWARP stack (siw, in a guest) does when it is told what no well-behaved peer says: byte streams made by
//! hand, in both roles, and a record of all that passed.
//!
//! `cargo run -p rdmalab-tests --example siw-probe -- --captures FOLDER [CASE …]`, as root. It makes a network namespace and a
//! guest, and removes both. What it found is written down in `docs/SIW.md`. It judges nothing: read it, or compare what two
//! kernels say. Times are milliseconds since the stream was opened.
#![forbid(unsafe_code)]

mod answers;
mod bystander;
mod endings;
mod fpdus;
#[path = "../rxe-probe/peer.rs"]
mod peer;
mod peer_to_peer;
mod probe;
mod reads;
mod record;
mod requests;
mod stream;
mod tagged;
mod terminates;
mod untagged;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rdmalab_tests::{Adapter, Guest, GuestConfig, Lab, Network};

use probe::Probe;

/// Where the guest takes orders, and siw listens; the second of each for the connection that is left in peace.
const ORDERS: [u16; 2] = [18700, 18701];
const RDMA: [u16; 2] = [18800, 18801];
/// Where we listen.
const OURS_PORT: u16 = 18900;
const GUEST: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
/// Ours, on the bridge: the kernel's own TCP speaks from there.
const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 254);
/// All cases take about ten minutes; a guest on a busy machine is slow.
const LIMIT: Duration = Duration::from_secs(1800);

type Case = fn(&mut Probe) -> Result<(), String>;

/// Not run unless they are named, and best alone: the guest's kernel may not live through them.
const DEADLY: &[(&str, Case)] = &[
    ("reply_too_long", answers::too_long),
    ("reply_not_rdma", answers::not_rdma),
    ("not_ready_fault", peer_to_peer::fault),
];

/// What else there is. Each case makes its own connections and leaves one capture.
const CASES: &[(&str, Case)] = &[
    ("revisions", requests::revisions),
    ("flags", requests::flags),
    ("private_data", requests::private_data),
    ("depths", requests::depths),
    ("rejected", requests::rejected),
    ("early", requests::early),
    ("quick", requests::quick),
    ("garbage", requests::garbage),
    ("left", requests::left),
    ("silent", requests::silent),
    ("peer_to_peer", peer_to_peer::offers),
    ("ready_to_receive", peer_to_peer::messages),
    ("not_ready", peer_to_peer::other_messages),
    ("reply_revisions", answers::revisions),
    ("reply_flags", answers::flags),
    ("reply_private_data", answers::private_data),
    ("reply_depths", answers::depths),
    ("reply_rejected", answers::rejected),
    ("reply_early", answers::early),
    ("speaks_first", answers::speaks_first),
    ("reply_garbage", answers::garbage),
    ("reply_silent", answers::silent),
    ("headers", untagged::headers),
    ("opcodes", untagged::opcodes),
    ("sends", untagged::sends),
    ("receives", untagged::receives),
    ("invalidate", untagged::invalidate),
    ("writes", tagged::writes),
    ("write_rights", tagged::rights),
    ("crc", tagged::crc),
    ("reads", reads::requests),
    ("read_depth", reads::depth),
    ("read_responses", reads::responses),
    ("rfc7306", untagged::rfc7306),
    ("terminates", terminates::heard),
    ("terminated_work", terminates::with_work),
    ("endings", endings::all),
];

/// Puts byte streams made by hand before a real Linux iWARP stack, and tells what it does
#[derive(Parser)]
struct Options {
    /// Where the captures go
    #[arg(long, value_name = "FOLDER")]
    captures: PathBuf,

    /// The cases to run; all if none is named
    #[arg(value_name = "CASE")]
    cases: Vec<String>,

    /// This is the part inside the namespace
    #[arg(long, hide = true)]
    inside: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let all = || CASES.iter().chain(DEADLY);
    if let Some(name) = options.cases.iter().find(|name| all().all(|(known, _)| known != name)) {
        let known: Vec<&str> = all().map(|(name, _)| *name).collect();
        eprintln!("there is no case {name}; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let outcome = if options.inside { inside(&options) } else { outside(&options) };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the place, and runs this program again inside it.
fn outside(options: &Options) -> Result<(), String> {
    std::fs::create_dir_all(&options.captures).map_err(|error| error.to_string())?;
    let captures = options.captures.canonicalize().map_err(|error| error.to_string())?;
    let lab = Lab::ready("siw-probe").ok_or("no guest can run here")?;
    let network = Network::new(&lab);
    let guest = Guest::boot(&network, GuestConfig { name: "guest", ip: GUEST, mtu: 1500 });
    guest.switch_to(Adapter::Siw);
    guest.put("siw_peer.py", include_str!("../../peers/siw_peer.py"));
    let version = guest.run("uname -r", LIMIT).expect_success("uname");
    println!("Linux {}", version.stdout.trim());
    let address = ["address", "add", &format!("{OURS}/24"), "dev", "bridge"];
    network.start("address", "ip", &address).wait(LIMIT).expect_success("an address for the bridge");
    let peers = ORDERS.iter().zip(RDMA).map(|(orders, rdma)| {
        let command =
            format!("/usr/bin/python3 /mnt/siw_peer.py --listen {orders} --address {GUEST} --port {rdma}");
        guest.spawn(&command, LIMIT)
    });
    let peers: Vec<_> = peers.collect();
    for port in ORDERS {
        guest.wait_for_listener(port, Duration::from_secs(120));
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = captures.to_string_lossy();
    let mut arguments = vec!["--inside", "--captures", &folder];
    arguments.extend(options.cases.iter().map(String::as_str));
    let said = network.start("inside", &program, &arguments).end_within(LIMIT);
    print!("{}", said.stdout);
    if options.cases.iter().any(|name| DEADLY.iter().any(|(deadly, _)| deadly == name)) {
        println!("{}", guest.state());
    }
    if !said.success() {
        let peers: Vec<String> = peers.iter().map(|peer| peer.output_so_far().to_string()).collect();
        return Err(format!("{said}\nthe peers: {}\nthe guest: {}", peers.join("\n"), guest.state()));
    }
    Ok(())
}

fn inside(options: &Options) -> Result<(), String> {
    let peer = |port| peer::Peer::connect(SocketAddr::from((GUEST, port)));
    let mut probe = Probe::new(ORDERS.map(peer), options.captures.clone())?;
    let is_named = |name: &str| options.cases.iter().any(|wanted| wanted == name);
    let ordinary = CASES.iter().filter(|(name, _)| options.cases.is_empty() || is_named(name));
    for (name, case) in ordinary.chain(DEADLY.iter().filter(|(name, _)| is_named(name))) {
        println!("{name}");
        let record = probe.record(name)?;
        if let Err(error) = case(&mut probe) {
            println!("  STOPPED: {error}");
        }
        record.finish()?;
        probe.others()?;
    }
    Ok(())
}
