//! `rdmalab demo`: two emulated adapters over a simulated link, in virtual time.
//!
//! [`plan`] says what is done and what memory must be afterwards, [`pair`] is what an application would set up,
//! [`exchange`] runs it and judges completions, [`witness`] sees every packet: it counts, records, and draws the
//! [`ladder`]. [`summary`] is what is said at the end.
//!
//! Everything follows from the seed: the same command line prints the same text and writes the same capture.

mod exchange;
mod ladder;
mod loss;
mod packet;
mod pair;
mod plan;
mod summary;
mod witness;

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use owo_colors::OwoColorize;
use rdmalab_device::Recorder;
use rdmalab_sim::{End, PerEnd, Probability, RuleSet, Seed};
use rdmalab_verbs::CompletionStatus;

use crate::outcome::{Error, Outcome, Result, unprinted};
use exchange::{Course, Failure};
use ladder::{Detail, Ladder, count};
use loss::LoseRoce;
use pair::{FIRST_PSN, Pair};
use plan::{Kind, Plan};
use summary::Verdict;
use witness::{Witness, say};

/// Lines of the ladder that each operation may take unless `--all` is given.
const LINES: u32 = 30;

/// The branch of the seed that the link's chance comes from. Any number would do; with this one, `--seed 7 --loss 0.05`
/// shows both a NAK and a timeout.
const LINK: u64 = 20;

/// Two emulated adapters over a simulated, lossy link: what RoCE v2 does, packet by packet.
///
/// A does SEND, WRITE, READ, FETCH_ADD and CMP_SWAP with B. Every packet is shown as it is sent: what is lost, what is sent
/// again, and why. At the end the memory of both sides is compared byte for byte, and every completion is checked. Time is
/// virtual and everything follows from the seed: the same command line prints the same text and writes the same capture,
/// on every machine. Needs no privileges and no network.
#[derive(clap::Args)]
// So that a negative number is told as one out of range, not as an unknown option.
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// Where all chance comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Probability that a RoCE packet is lost, from 0 to 1, in either direction
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    loss: Probability,
    /// Write the exchange to a pcapng capture, lost packets with a comment
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Messages of each operation, at most 100000
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=i64::from(Plan::MOST_MESSAGES)))]
    messages: u32,
    /// Bytes of a SEND, WRITE or READ, at most 1048576; the path MTU is 1024
    #[arg(long, value_name = "BYTES", default_value_t = 2500,
        value_parser = clap::value_parser!(u32).range(0..=i64::from(Plan::MOST_SIZE)))]
    size: u32,
    /// Draw every packet; otherwise the first 30 lines of each operation, and some of what is lost after that
    #[arg(long, conflicts_with = "quiet")]
    all: bool,
    /// Draw no packet, print the tables only
    #[arg(long, short)]
    quiet: bool,
}

fn probability(text: &str) -> std::result::Result<Probability, String> {
    text.parse()
        .ok()
        .and_then(Probability::new)
        .ok_or_else(|| "a number from 0 to 1, 0.05 for 5 %".to_owned())
}

/// Runs the demonstration.
pub fn run(options: &Options) -> Result<Outcome> {
    let bytes = u64::from(options.messages) * u64::from(options.size);
    if bytes > Plan::MOST_BYTES {
        let most = Plan::MOST_BYTES;
        return Err(Error::usage(format_args!(
            "--messages {} of --size {} are {bytes} bytes, at most {most} can be shown",
            options.messages, options.size
        ))
        .advice("ask for fewer or shorter messages"));
    }
    if options.pcap.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(Error::usage("--pcap - : standard output is for the ladder")
            .advice("name a file; a named pipe will do to hand the capture on"));
    }
    let seed = Seed::new(options.seed);
    let plan = Plan::new(seed.branch(0), options.messages, options.size);
    let rules = RuleSet::new(seed.branch(LINK)).with(LoseRoce::new(options.loss));
    let mut pair = Pair::new(&plan, rules)?;

    let recorder = options.pcap.as_deref().map(|path| {
        Recorder::create(path, &["A", "B"])
            .map_err(|error| Error::usage(error).advice("name a file that can be written after --pcap"))
    });
    let stdout = anstream::stdout();
    let columns = stdout.is_terminal().then(terminal_size::terminal_size).flatten().map(|(width, _)| width.0);
    let detail = match (options.all, options.quiet) {
        (true, _) => Detail::All,
        (_, true) => Detail::Nothing,
        _ => Detail::Lines(LINES),
    };
    let ladder = Ladder::new(BufWriter::new(stdout.lock()), detail, columns);
    let mut witness = Witness::new(ladder, recorder.transpose()?);

    introduce(options, &pair, &mut witness.ladder)?;
    let course = exchange::run(&mut pair, &plan, &mut witness)?;
    let (mut ladder, tally) = witness.finish()?;

    let verdict = Verdict::new(&plan, &pair.side(End::A).bytes(), &pair.side(End::B).bytes());
    let counters = PerEnd { a: pair.counters(End::A), b: pair.counters(End::B) };
    say(&mut ladder, "")?;
    say(&mut ladder, summary::operations(&plan, &course, &verdict).trim_fmt())?;
    say(&mut ladder, "")?;
    say(&mut ladder, summary::adapters(&tally, &counters).trim_fmt())?;
    let result = conclude(options, &course, &verdict, pair.now(), &mut ladder);
    ladder.out().flush().map_err(unprinted)?;
    result
}

/// What one sees before the first packet.
fn introduce<W: Write>(options: &Options, pair: &Pair, ladder: &mut Ladder<W>) -> Result<()> {
    let (a, b) = (pair.side(End::A), pair.side(End::B));
    let title = format!(
        "{} each of SEND, WRITE, READ, FETCH_ADD and CMP_SWAP, {}",
        count(options.messages, "message"),
        count(options.size, "byte")
    );
    say(ladder, title.bold())?;
    say(
        ladder,
        format_args!(
            "seed {}, loss of RoCE packets {}, path MTU {}, link {} µs and {} Gbit/s",
            options.seed,
            options.loss,
            pair::PATH_MTU.bytes(),
            pair::LATENCY / 1_000,
            pair::BANDWIDTH.get() / 1_000_000_000
        ),
    )?;
    say(
        ladder,
        format_args!(
            "The queue pairs are connected: their numbers (A {}, B {}) and first PSNs (A {}, B {}) were exchanged",
            a.queue_pair, b.queue_pair, FIRST_PSN.a, FIRST_PSN.b
        ),
    )?;
    say(ladder, "out of band, as applications do it over TCP or with a connection manager.")?;
    say(ladder, "")?;
    ladder.head(&format!("A {}", a.address), &format!("B {}", b.address)).map_err(unprinted)
}

/// The last lines, and how it all came out.
fn conclude<W: Write>(
    options: &Options,
    course: &Course,
    verdict: &Verdict,
    now: u64,
    ladder: &mut Ladder<W>,
) -> Result<Outcome> {
    say(ladder, "")?;
    let yes = |yes: bool| if yes { "yes" } else { "NO" };
    say(ladder, format_args!("virtual time     {}.{:03} µs", now / 1_000, now % 1_000))?;
    let broken_off = if course.failure.is_some() { " (the exchange broke off)" } else { "" };
    say(ladder, format_args!("memory verified  {}{broken_off}", yes(verdict.whole)))?;
    if let Some(path) = &options.pcap {
        say(ladder, format_args!("capture          {}", path.display()))?;
    }
    let fault = |what: &dyn std::fmt::Display| {
        Error::failed(what).advice("this is a fault of rdmalab; please report it with the command line")
    };
    match course.failure {
        Some(Failure::Request { kind, index, status: CompletionStatus::RetryExceeded }) => {
            return Err(Error::failed(format_args!(
                "{} #{} failed with {}: A sent the same packet {} times and heard nothing new from B",
                kind.name(),
                index + 1,
                CompletionStatus::RetryExceeded,
                pair::RETRY_COUNT + 1
            ))
            .advice(
                "a reliable connection gives up when too much is lost; try a lower --loss or another --seed",
            ));
        }
        Some(Failure::Request { kind, index, status }) => {
            return Err(fault(&format_args!("{} #{} failed with {status}", kind.name(), index + 1)));
        }
        Some(Failure::Stuck { kind }) => {
            return Err(fault(&format_args!("the {}s did not come to an end", kind.name())));
        }
        None => {}
    }
    let fine = verdict.whole && verdict.bears_out(course) && course.complaints.is_empty();
    if !fine {
        let first = course.complaints.first().map_or("the memory is not as it must be", String::as_str);
        return Err(
            Error::failed(first).advice("this is a fault of rdmalab; please report it with the command line")
        );
    }
    let done: u32 = course.completed.iter().sum();
    let line = format!("{} done exactly once, both memories as they must be.", count(done, "operation"));
    say(ladder, line.bold().green())?;
    debug_assert_eq!(done as usize, Kind::ALL.len() * options.messages as usize);
    Ok(Outcome::Fine)
}
