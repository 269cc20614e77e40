//! What a real Linux RoCE stack (rxe, in a guest) does when it is told what no well-behaved peer says: packets made by
//! hand, for its responder and for its requester, and a record of all that passed.
//!
//! `cargo run -p rdmalab-tests --example rxe-probe -- --captures FOLDER [CASE …]`, as root. It makes a network namespace and a
//! guest, and removes both. What it found is written down in `docs/RXE.md`. It judges nothing: read it, or compare what two
//! kernels say. Times are milliseconds since the queue pair was made.
#![forbid(unsafe_code)]

mod atomics;
mod cable;
mod orders;
mod packets;
mod peer;
mod probe;
mod reads;
mod refusals;
mod requester;
mod retries;
mod windows;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rdmalab_tests::{Guest, GuestConfig, Lab, Network};

use probe::Probe;

const PORT: u16 = 18700;
/// All cases take about three minutes; a guest on a busy machine is slow.
const LIMIT: Duration = Duration::from_secs(900);

type Case = fn(&mut Probe) -> Result<(), String>;

/// Not run unless it is named, and best alone: the guest's kernel may not live through it.
const DEADLY: (&str, Case) = ("invalidate_twice", orders::invalidate_twice);

/// What else there is. Each case makes its own queue pairs and leaves one capture.
const CASES: &[(&str, Case)] = &[
    ("atomic_changed", atomics::changed),
    ("atomic_or_read", atomics::another_operation),
    ("atomic_write", atomics::writes),
    ("atomic_write_again", retries::atomic_write_again),
    ("read_changed", reads::changed),
    ("read_empty", reads::empty),
    ("read_forgotten", reads::forgotten),
    ("flush", orders::flush),
    ("flush_sent", orders::flush_sent),
    ("flush_rules", orders::flush_rules),
    ("send_invalidate", orders::invalidate),
    ("window_bounds", windows::bounds),
    ("ask_in_the_middle", orders::ask_in_the_middle),
    ("harmless", orders::harmless),
    ("lengths", refusals::lengths),
    ("rights", refusals::rights),
    ("opcodes", refusals::opcodes),
    ("other_services", refusals::other_services),
    ("silent", refusals::silent),
    ("read_shortened", requester::shortened),
    ("ghost", requester::ghosts),
    ("syndromes", requester::syndromes),
    ("wrong_answers", requester::wrong_answers),
    ("credits", requester::credits),
    ("retry_seven", retries::seven),
    ("ack_in_repetition", retries::acknowledged_while_repeating),
    ("rnr_timer", retries::rnr_timer),
];

/// Puts packets made by hand before a real Linux RoCE stack, and tells what it does
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
    let all = || CASES.iter().chain([&DEADLY]);
    if let Some(name) = options.cases.iter().find(|name| all().all(|(known, _)| known != name)) {
        let known: Vec<&str> = all().map(|(name, _)| *name).collect();
        eprintln!("there is no case {name}; there are {}", known.join(", "));
        return ExitCode::FAILURE;
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
    let lab = Lab::ready("rxe-probe").ok_or("no guest can run here")?;
    let network = Network::new(&lab);
    let guest = Guest::boot(&network, GuestConfig { name: "guest", ip: cable::GUEST, mtu: 4200 });
    let mac: Vec<String> = cable::MAC.iter().map(|byte| format!("{byte:02x}")).collect();
    let neighbour =
        format!("ip neigh replace {} lladdr {} dev eth0 nud permanent", cable::OURS, mac.join(":"));
    guest.run(&neighbour, LIMIT).expect_success(&neighbour);
    guest.put("rxe_peer.py", include_str!("../../peers/rxe_peer.py"));
    let version = guest.run("uname -r", LIMIT).expect_success("uname");
    println!("Linux {}", version.stdout.trim());
    // Orders go another way than packets: by the kernel's TCP, from an address of the bridge.
    let address = ["address", "add", "10.9.0.254/24", "dev", "bridge"];
    network.start("address", "ip", &address).wait(LIMIT).expect_success("an address for the bridge");
    let peer = guest.spawn(&format!("/usr/bin/python3 /mnt/rxe_peer.py --listen {PORT}"), LIMIT);
    guest.wait_for_listener(PORT, Duration::from_secs(120));
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = captures.to_string_lossy();
    let mut arguments = vec!["--inside", "--captures", &folder];
    arguments.extend(options.cases.iter().map(String::as_str));
    let said = network.start("inside", &program, &arguments).end_within(LIMIT);
    print!("{}", said.stdout);
    if options.cases.iter().any(|name| name == DEADLY.0) {
        println!("{}", guest.state());
    }
    if !said.success() {
        return Err(format!("{said}\nthe peer: {}\nthe guest: {}", peer.output_so_far(), guest.state()));
    }
    drop(peer);
    Ok(())
}

fn inside(options: &Options) -> Result<(), String> {
    let peer = peer::Peer::connect(SocketAddr::from((cable::GUEST, PORT)))?;
    let cable = cable::Cable::open(Network::TAP)?;
    let mut probe = Probe::new(cable, peer, options.captures.clone());
    for (name, case) in CASES.iter().chain([&DEADLY]) {
        let is_named = options.cases.iter().any(|wanted| wanted == name);
        if !is_named && (!options.cases.is_empty() || *name == DEADLY.0) {
            continue;
        }
        println!("{name}");
        let record = probe.record(name)?;
        if let Err(error) = case(&mut probe) {
            println!("  STOPPED: {error}");
        }
        record.finish()?;
    }
    Ok(())
}
