//! `rdmalab perf`: perftest's programs with a peer.

mod options;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rdmalab_device::Served;
use rdmalab_programs::perf::{self, Each, PerfError, RULE, Role, Row, Step};
use rdmalab_sim::Seed;

use crate::discards;
use crate::interrupt;
use crate::link::Opened;
use crate::outcome::{Error, Outcome, Result, print, tell as tell_error};
use crate::serve::ports;
use options::{Connection, Test};

pub use options::Options;

/// How long leaving the peer may take after Ctrl-C.
const GRACE: Duration = Duration::from_secs(3);

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
}

fn test_error(error: &PerfError) -> Error {
    match error {
        PerfError::NoSuchGid { .. } | PerfError::Options(_) => Error::usage(error),
        _ => Error::failed(error),
    }
}
