//! Throughput and latency of a Linux guest's perftest against `rdmalab serve`, beside the same against a second Linux guest, on one
//! network in one run: native code against an emulated machine, so the two columns say what a test with us costs a guest, and
//! nothing about rxe on real processors.
//!
//! `cargo run --release -p rdmalab-tests --example rxe-figures [ROUNDS [WORD]]`, as root, measures what has the word in its name, or
//! everything. It makes a network namespace and two guests, and removes them. Rounds alternate; the table has their medians. Its
//! figures are in `docs/PERFORMANCE.md`.
#![forbid(unsafe_code)]

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::Duration;

use rdmalab_tests::{Guest, GuestConfig, Lab, Network, Output, program};

const LIMIT: Duration = Duration::from_secs(120);
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const OURS: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);
const SECOND: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 3);

/// A program of perftest, the port at which `serve` has it, and what it is told.
struct Measurement {
    program: &'static str,
    port: u16,
    options: &'static str,
    what: &'static str,
    unit: &'static str,
}

const fn throughput(program: &'static str, port: u16, what: &'static str) -> Measurement {
    Measurement { program, port, options: "-s 65536 -n 1000", what, unit: "MiB/s" }
}

/// Few rounds: a guest of one processor that waits busily for memory to change lets its own driver in only when its time is over.
const fn latency(program: &'static str, port: u16, what: &'static str) -> Measurement {
    Measurement { program, port, options: "-n 100", what, unit: "us" }
}

const MEASUREMENTS: [Measurement; 6] = [
    throughput("ib_write_bw", 18516, "WRITE of 64 KiB"),
    throughput("ib_read_bw", 18517, "READ of 64 KiB"),
    throughput("ib_send_bw", 18518, "SEND of 64 KiB"),
    latency("ib_write_lat", 18520, "WRITE of 2 bytes, one way"),
    latency("ib_read_lat", 18521, "READ of 2 bytes, there and back"),
    latency("ib_send_lat", 18522, "SEND of 2 bytes, one way"),
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let rounds = words.next().map_or(Ok(3), |rounds| rounds.parse::<usize>());
    let word = words.next().unwrap_or_default();
    let Ok(rounds @ 1..) = rounds else {
        eprintln!("rxe-figures takes a number of rounds, 1 or more");
        return ExitCode::from(2);
    };
    let Some(lab) = Lab::ready("rxe-figures") else { return ExitCode::FAILURE };
    let network = Network::new(&lab);
    let boot = |name, ip| Guest::boot(&network, GuestConfig { name, ip, mtu: 4200 });
    let (client, second) = (boot("guest", CLIENT), boot("second", SECOND));
    let line = format!("serve --tap {} --ip {OURS}/24 --every 3600", Network::TAP);
    let mut serve = network.start("serve", program(&lab), &line.split(' ').collect::<Vec<_>>());
    serve.wait_for_line("listening", LIMIT);
    println!("| what | against `rdmalab serve` | against a second guest | |\n|---|---|---|---|");
    for measurement in MEASUREMENTS.iter().filter(|measurement| measurement.what.contains(&word)) {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            ours.push(measurement.run(&client, OURS));
            let common = format!(
                "{} -F -d {} -x {} {}",
                measurement.program,
                Guest::DEVICE,
                Guest::GID,
                measurement.options
            );
            let server = second.spawn(&format!("{common} -p {}", measurement.port), LIMIT);
            second.wait_for_listener(measurement.port, LIMIT);
            theirs.push(measurement.run(&client, SECOND));
            server.wait().expect_success("the second guest's server");
        }
        let Measurement { what, unit, .. } = measurement;
        println!("| {what} | {} | {} | {unit} |", median(ours), median(theirs));
    }
    ExitCode::SUCCESS
}

impl Measurement {
    /// The average throughput, or the typical latency.
    fn run(&self, client: &Guest, server: Ipv4Addr) -> f64 {
        let Self { program, port, options, .. } = self;
        let line =
            format!("{program} -F -d {} -x {} {options} -p {port} {server}", Guest::DEVICE, Guest::GID);
        let said = client.run(&line, LIMIT).expect_success(&line);
        let column = if program.ends_with("_lat") { 4 } else { 3 };
        value(&said, column).unwrap_or_else(|| panic!("no result: {said}"))
    }
}

/// A column of the line of results.
fn value(said: &Output, column: usize) -> Option<f64> {
    let mut lines = said.stdout.lines().skip_while(|line| !line.trim_start().starts_with("#bytes"));
    lines.nth(1)?.split_whitespace().nth(column)?.parse().ok()
}

fn median(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or_default();
    if middle < 100.0 { format!("{middle:.1}") } else { format!("{middle:.0}") }
}
