//! The bandwidth and latency programs of perftest measure with us, in both roles, without knowing that there is no
//! adapter. Where the exchange carries results, both print the same line, letter by letter.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use rdmalab_tests::{Guest, Network, Output, Place, Verdict};

const GUEST: Ipv4Addr = Place::GUEST;
const OURS: Ipv4Addr = Place::OURS;

/// How long a measurement may take. A second or two are usual, most of it for starting Linux' program.
const LIMIT: Duration = Duration::from_secs(60);

/// What is measured, with which of our words and Linux' programs, told which options.
struct Measurement {
    ours: &'static str,
    linux: &'static str,
    options: &'static str,
}

const fn measurement(ours: &'static str, linux: &'static str, options: &'static str) -> Measurement {
    Measurement { ours, linux, options }
}

/// Each program over RC, with messages of odd sizes and of many packets; then what else there is.
const MEASUREMENTS: [Measurement; 15] = [
    measurement("write", "ib_write_bw", "-s 65537 -n 20"),
    measurement("read", "ib_read_bw", "-s 33 -n 150"),
    measurement("send", "ib_send_bw", "-s 10001 -n 50"),
    measurement("atomic", "ib_atomic_bw", "-n 150"),
    measurement("write --lat", "ib_write_lat", "-s 33 -n 50"),
    measurement("read --lat", "ib_read_lat", "-s 65537 -n 20"),
    measurement("send --lat", "ib_send_lat", "-s 4097 -n 50"),
    measurement("atomic --lat", "ib_atomic_lat", "-n 50"),
    measurement("atomic", "ib_atomic_bw", "-A CMP_AND_SWAP -b -n 20"),
    measurement("write", "ib_write_bw", "-s 1000 -n 20 -q 16 -m 256"),
    measurement("read", "ib_read_bw", "-s 3000 -n 20 -b -m 1024"),
    measurement("send", "ib_send_bw", "-s 3000 -n 20 -b -q 2"),
    measurement("send", "ib_send_bw", "-s 4096 -n 50 -c UD"),
    measurement("write --lat", "ib_write_lat", "-s 5000 -n 20 -c UC"),
    measurement("send --lat", "ib_send_lat", "-s 1 -n 20 -c UD"),
];

/// Linux calls.
pub fn linux_as_client(place: &mut Place) {
    measure(place, Role::Client);
}

/// Linux is called.
pub fn linux_as_server(place: &mut Place) {
    measure(place, Role::Server);
}

/// What Linux is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

fn measure(place: &mut Place, role: Role) {
    let (network, guest, program) = (&place.network, &place.guest, place.program());
    let capture = network.capture(guest.tap(), "all");
    for (number, measurement) in MEASUREMENTS.iter().enumerate() {
        let started = Instant::now();
        // A port for each, so that no connection meets what is left of the one before.
        let port = 18515 + number as u16;
        let (ours, linux) = measurement.run(role, network, guest, program, port);
        measurement.check(role, &ours, &linux);
        let Measurement { linux, options, .. } = measurement;
        println!("{linux} {options}: {:.1} s", started.elapsed().as_secs_f64());
    }
    Verdict::of(network, &capture.finish()).expect_sound();
}

impl Measurement {
    /// What both programs said, which both were content.
    fn run(
        &self,
        role: Role,
        network: &Network,
        guest: &Guest,
        program: &Path,
        port: u16,
    ) -> (Output, Output) {
        let Self { ours, linux, options } = self;
        // A second, seven times: a guest on a busy machine may stand still.
        let both = format!("{options} -p {port} -u 18");
        let server = if role == Role::Server { GUEST.to_string() } else { String::new() };
        let ours = format!("perf {ours} {server} --tap {} --ip {OURS}/24 {both}", Network::TAP);
        let arguments: Vec<&str> = ours.split_whitespace().collect();
        let linux = format!("{linux} -F -d {} -x {} {both}", Guest::DEVICE, Guest::GID);
        let (ours, linux) = match role {
            Role::Client => {
                let mut ours = network.start("ours", program, &arguments);
                ours.wait_for_line("Waiting", LIMIT);
                (ours, guest.spawn(&format!("{linux} {OURS}"), LIMIT))
            }
            Role::Server => {
                let linux = guest.spawn(&linux, LIMIT);
                guest.wait_for_listener(port, LIMIT);
                (network.start("ours", program, &arguments), linux)
            }
        };
        let ours = ours.end_within(LIMIT);
        // Linux has little left to do when ours is content; when ours is not, it may never end.
        let patience = if ours.success() { LIMIT } else { Duration::from_secs(2) };
        let said = linux.within(patience).unwrap_or_else(|| {
            panic!("{self}: Linux does not end\nours: {ours}\nthe guest: {}", guest.state())
        });
        assert!(
            ours.success() && said.success(),
            "{self}\nours: {ours}\nLinux: {said}\nthe guest: {}",
            guest.state()
        );
        (ours, said)
    }

    /// Both printed results of the size and the number of messages that they were told.
    fn check(&self, role: Role, ours: &Output, linux: &Output) {
        let (our_row, linux_row) = (row(ours), row(linux));
        let is_latency = self.ours.ends_with("--lat");
        let is_answered = self.ours.starts_with("read") || self.ours.starts_with("atomic");
        let size = self.option("-s").unwrap_or(8);
        let count = self.option("-n").unwrap_or(0) * self.option("-q").unwrap_or(1);
        let expected = format!("{size} {count}");
        for (whose, row, is_client) in
            [("ours", &our_row, role == Role::Server), ("Linux", &linux_row, role == Role::Client)]
        {
            // The server of a READ's or atomic's latency has nothing to say.
            let has_row = !is_latency || !is_answered || is_client;
            assert_eq!(row.is_some(), has_row, "{self}: {whose}: {ours}\n{linux}");
            let Some(row) = row else { continue };
            let start: Vec<&str> = row.split_whitespace().take(2).collect();
            assert_eq!(start.join(" "), expected, "{self}: {whose} says {row:?}");
        }
        let is_told = !is_latency && (!self.ours.starts_with("send") || self.options.contains("-b"));
        if is_told {
            assert_eq!(our_row, linux_row, "{self}: both sides know the same results");
        }
    }

    fn option(&self, letter: &str) -> Option<u64> {
        let mut words = self.options.split(' ').skip_while(|word| *word != letter);
        words.nth(1)?.parse().ok()
    }
}

/// The line of results, if there is one.
fn row(output: &Output) -> Option<&str> {
    let mut lines = output.stdout.lines().skip_while(|line| !line.trim_start().starts_with("#bytes"));
    lines.nth(1).map(str::trim_end)
}

impl std::fmt::Display for Measurement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.linux, self.options)
    }
}
