//! `rdmalab demo`: two emulated adapters over a simulated link, in virtual time.
//!
//! [`transport`] and [`kind`] are what can be shown, [`idle`] which options have no effect, [`plan`] says what is
//! done and what memory must be afterwards, [`setup`] makes what an application would make and [`pair`] is what it does
//! with it, [`connection`] is how it calls over iWARP, [`exchange`] runs the plan and judges completions, those of receives
//! in [`arrivals`]. [`witness`] sees every packet, RoCE's by [`packet`] and TCP's by [`segment`]: it counts, records, and
//! draws the [`ladder`]. [`verdict`] compares memories, [`summary`] and [`report`] are what
//! is said at the beginning and the end.
//!
//! Everything follows from the seed: the same command line prints the same text and writes the same capture.

mod arrivals;
mod connection;
mod exchange;
mod idle;
mod kind;
mod ladder;
mod loss;
mod packet;
mod pair;
mod plan;
mod report;
mod segment;
mod setup;
mod summary;
mod transport;
mod verdict;
mod witness;

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use rdmalab_device::{CongestionControl, IwarpProfile, IwarpSettings, Profile, Recorder};
use rdmalab_sim::{End, PerEnd, Probability, RuleSet, Seed, rule};

use crate::capture;
use crate::outcome::{self, Error, Outcome, Result, unprinted};
use crate::profile;
use kind::Kind;
use ladder::{Detail, Ladder};
use loss::Lose;
use pair::{Habits, PATH_MTU, Pair};
use plan::Plan;
use transport::Transport;
use verdict::Verdict;
use witness::{Witness, say};

/// Lines of the ladder that each operation may take unless `--all` is given.
const LINES: u32 = 30;

/// The branch of the seed that the link's chance comes from. Any number would do; with this one, `--seed 7 --loss 0.05`
/// shows both a NAK and a timeout.
const LINK: u64 = 20;

/// The branch of the numbers with which TCP begins.
const HOSTS: u64 = 21;

/// Two emulated adapters over a simulated, lossy link: what RoCE v2 or iWARP does, packet by packet.
///
/// A does SEND, WRITE, READ, FETCH_ADD and CMP_SWAP with B, or what another transport has to show. Every packet is shown as
/// it is sent: what is lost, what is sent again, and why. At the end the memory of both sides is compared byte for byte,
/// and every completion is checked; on transports where messages may be lost, what arrived must be whole and right. Time is
/// virtual and everything follows from the seed: the same command line prints the same text and writes the same capture,
/// on every machine. Needs no privileges and no network.
#[derive(clap::Args)]
// So that a negative number is told as one out of range, not as an unknown option.
#[command(allow_negative_numbers = true)]
pub struct Options {
    /// Where all chance comes from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The transport service
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Transport::Rc)]
    transport: Transport,
    /// Operations, in this order, with commas between them [default: the usual ones of the transport]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    operations: Vec<Kind>,
    /// Whose habits both adapters have: spec, rxe or connectx [default: rxe]
    #[arg(long, value_name = "NAME", value_parser = profile::profile)]
    profile: Option<Profile>,
    /// Over iWARP, whose habits both adapters have: linux, spec, siw or chelsio-like [default: spec]
    #[arg(long, value_name = "NAME", value_parser = profile::iwarp_profile)]
    iwarp_profile: Option<IwarpProfile>,
    /// Over iWARP, ask for CRCs or do not: on or off [default: as the profile has it]
    #[arg(long, value_name = "SWITCH", value_parser = profile::switch)]
    crc: Option<bool>,
    /// Over iWARP, ask for markers
    #[arg(long)]
    markers: bool,
    /// What slows A and B down: none, fixed=RATE with a rate in Gbit/s, or dcqcn, which needs --mark and a profile that
    /// answers congestion marks (spec or connectx)
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = profile::congestion_control)]
    congestion: CongestionControl,
    /// Probability that the link marks a packet as having met congestion, from 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    mark: Probability,
    /// Probability that a RoCE packet (over iWARP: a TCP segment) is lost, from 0 to 1, in either direction
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    loss: Probability,
    /// Write the exchange to a pcapng capture, lost packets with a comment
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Messages of each operation, at most 100000
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(0..=i64::from(Plan::MOST_MESSAGES)))]
    messages: u32,
    /// Bytes of a SEND, WRITE or READ, at most 1048576; the path MTU is 1024, and a datagram is one packet
    /// [default: 2500, for datagrams 1000]
    #[arg(long, value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(0..=i64::from(Plan::MOST_SIZE)))]
    size: Option<u32>,
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
    let size = options.size.unwrap_or(options.transport.usual_size());
    let bytes = u64::from(options.messages) * u64::from(size);
    if bytes > Plan::MOST_BYTES {
        let most = Plan::MOST_BYTES;
        return Err(Error::usage(format_args!(
            "--messages {} of --size {} are {bytes} bytes, at most {most} can be shown",
            options.messages, size
        ))
        .advice("ask for fewer or shorter messages"));
    }
    if options.pcap.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(Error::usage("--pcap - : standard output is for the ladder")
            .advice("name a file; a named pipe will do to hand the capture on"));
    }
    if options.transport == Transport::Ud && size as usize > PATH_MTU.bytes() {
        return Err(Error::usage(format_args!(
            "--size {size}: a datagram holds {} bytes at most",
            PATH_MTU.bytes()
        ))
        .advice("ask for shorter messages, or for another transport"));
    }
    let profile = options.iwarp_profile();
    if options.transport == Transport::Iwarp && options.markers && !profile.sends_markers {
        return Err(Error::usage(format_args!(
            "--markers: the profile {} sends none, and rejects who asks for them",
            profile.name
        ))
        .advice("leave it out, or take --iwarp-profile spec"));
    }
    let kinds = kinds(options)?;
    let seed = Seed::new(options.seed);
    let plan = Plan::new(seed.branch(0), options.transport, &kinds, options.messages, size);
    let is_iwarp = options.transport == Transport::Iwarp;
    let mut rules = RuleSet::new(seed.branch(LINK)).with(Lose::new(options.transport, options.loss));
    if options.mark.fraction() > 0.0 && !is_iwarp {
        rules = rules.with(rule::mark(options.mark));
    }
    if let Some(note) = options.idle() {
        outcome::tell(format_args!("rdmalab: {note}"));
    }
    let (crc, markers) = (options.crc, options.markers);
    let habits = Habits {
        profile: options.profile(),
        congestion_control: options.congestion,
        // Nobody here needs time to get ready.
        iwarp: IwarpSettings { profile: options.iwarp_profile(), crc, markers, pause: Duration::ZERO },
        seed: seed.branch(HOSTS),
        rules,
    };
    let mut pair = Pair::new(&plan, habits)?;

    let recorder = options
        .pcap
        .as_deref()
        .map(|path| Recorder::create(path, &["A", "B"]).map_err(|fault| capture::refused(&fault)));
    let stdout = anstream::stdout();
    let columns = stdout.is_terminal().then(terminal_size::terminal_size).flatten().map(|(width, _)| width.0);
    let detail = match (options.all, options.quiet) {
        (true, _) => Detail::All,
        (_, true) => Detail::Nothing,
        _ => Detail::Lines(LINES),
    };
    let width = if is_iwarp { ladder::WIDE } else { ladder::WIDTH };
    let ladder = Ladder::new(BufWriter::new(stdout.lock()), detail, width, columns);
    let mut witness = Witness::new(options.transport, ladder, recorder.transpose()?);

    report::introduce(options, &plan, &pair, &mut witness.ladder)?;
    let course = exchange::run(&mut pair, &plan, &mut witness)?;
    let (mut ladder, tally, unrecorded) = witness.finish();

    let lost = tally.a.lost + tally.b.lost;
    let (a, b) = (pair.side(End::A).bytes(), pair.side(End::B).bytes());
    let verdict = Verdict::new(&plan, &course, lost, &a, &b);
    let adapters = if is_iwarp {
        let counters = PerEnd { a: pair.iwarp_counters(End::A), b: pair.iwarp_counters(End::B) };
        summary::iwarp_adapters(&tally, &counters)
    } else {
        summary::adapters(&tally, &PerEnd { a: pair.counters(End::A), b: pair.counters(End::B) })
    };
    say(&mut ladder, "")?;
    say(&mut ladder, summary::operations(&plan, &course, &verdict).trim_fmt())?;
    say(&mut ladder, "")?;
    say(&mut ladder, adapters.trim_fmt())?;
    let result = report::conclude(options, &plan, &course, &verdict, pair.now(), &mut ladder);
    ladder.out().flush().map_err(unprinted)?;
    match unrecorded {
        Some(fault) => result.and(Err(Error::failed(fault))),
        None => result,
    }
}

impl Options {
    fn profile(&self) -> Profile {
        self.profile.unwrap_or(Profile::RXE)
    }

    fn iwarp_profile(&self) -> IwarpProfile {
        self.iwarp_profile.clone().unwrap_or(IwarpProfile::SPEC)
    }

    /// Which options change nothing, if some do; one line.
    fn idle(&self) -> Option<String> {
        let is_marking = self.mark.fraction() > 0.0;
        let is_controlled = !matches!(self.congestion, CongestionControl::None);
        let of_roce =
            [("--profile", self.profile.is_some()), ("--congestion", is_controlled), ("--mark", is_marking)];
        let of_iwarp = [
            ("--iwarp-profile", self.iwarp_profile.is_some()),
            ("--crc", self.crc.is_some()),
            ("--markers", self.markers),
        ];
        idle::foreign(self.transport, &of_roce, &of_iwarp)
            .or_else(|| idle::note(self.transport, &self.profile(), self.congestion, is_marking))
    }
}

/// The operations that are asked for, if the transport has them.
fn kinds(options: &Options) -> Result<Vec<Kind>> {
    let Options { transport, operations, .. } = options;
    let profile = options.iwarp_profile();
    if operations.is_empty() {
        return Ok(transport.usual().iter().copied().filter(|kind| transport.has(*kind, &profile)).collect());
    }
    for (place, kind) in operations.iter().enumerate() {
        if !transport.has(*kind, &profile) {
            let of = match (transport, transport.has(*kind, &IwarpProfile::SPEC)) {
                (Transport::Iwarp, true) => format!(" of the profile {}", profile.name),
                _ => String::new(),
            };
            let error = format!("{}{of} has no {}", transport.name(), kind.name());
            return Err(
                Error::usage(error).advice("leave it out of --operations, or take another --transport")
            );
        }
        if operations.iter().take(place).any(|other| other == kind) {
            return Err(Error::usage(format_args!("{} is there twice", kind.name()))
                .advice("name each operation once in --operations; --messages says how often it is done"));
        }
    }
    let ends = |kind: &Kind| kind.ends_connection();
    if let Some(kind) = operations.iter().rev().skip(1).find(|kind| ends(kind)) {
        return Err(Error::usage(format_args!("{} is not the last, and ends the connection", kind.name()))
            .advice("name it last in --operations"));
    }
    Ok(operations.clone())
}
