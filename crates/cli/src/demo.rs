//! `rdmalab demo`: two emulated adapters over a simulated link, in virtual time.
//!
//! [`transport`] and [`kind`] are what can be shown, [`idle`] which options have no effect, [`plan`] says what is
//! done and what memory must be afterwards, [`setup`] makes what an application would make and [`pair`] is what it does
//! with it, [`connection`] is how it calls over iWARP, [`exchange`] runs the plan and judges completions, those of receives
//! in [`arrivals`]. [`witness`] sees every packet, RoCE's by [`packet`] and TCP's by [`segment`]: it counts, records, and
//! draws the [`ladder`], and has the [`teacher`] explain it. What single packets are to meet with is in [`fate`].
//! [`verdict`] compares memories, [`summary`] and [`report`] are what
//! is said at the beginning and the end.
//!
//! Everything follows from the seed: the same command line prints the same text and writes the same capture.

mod arrivals;
mod connection;
mod exchange;
mod fate;
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
mod teacher;
mod transport;
mod verdict;
mod witness;

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use rdmalab_device::{CongestionControl, IwarpProfile, IwarpSettings, Profile, Recorder};
use rdmalab_sim::{End, PerEnd, Probability, RuleSet, Seed, rule};
use rdmalab_wire::Psn;

use crate::capture;
use crate::outcome::{self, Error, Outcome, Result, unprinted};
use crate::profile;
use fate::{Appointed, Fate, Mischief};
use kind::Kind;
use ladder::{Detail, Ladder};
use loss::Lose;
use pair::{FIRST_PSNS, Habits, PATH_MTU, Pair};
use plan::Plan;
use teacher::Teacher;
use transport::Transport;
use verdict::Verdict;
use witness::{Recording, Witness, say};

/// Lines of the ladder that each operation may take unless `--all` is given.
const LINES: u32 = 30;

/// The branch of the seed that the link's chance comes from. Any number would do; with this one, `--seed 7 --loss 0.05`
/// shows both a NAK and a timeout.
const LINK: u64 = 20;

/// The last PSN, of 24 bits.
const LAST_PSN: i64 = 0xff_ffff;

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
    /// What slows A and B down: none, fixed=RATE with a rate in Gbit/s, or dcqcn, or dcqcn=RATE with the rate to begin with
    /// [default: 40], which needs --mark and a profile that answers congestion marks (spec or connectx)
    #[arg(long, value_name = "WHAT", default_value = "none", value_parser = profile::congestion_control)]
    congestion: CongestionControl,
    /// Probability that the link marks a packet as having met congestion, from 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    mark: Probability,
    /// Probability that a RoCE packet (over iWARP: a TCP segment) is lost, from 0 to 1, in either direction
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    loss: Probability,
    /// What becomes of single packets, as in A2=lose,B1=delay:3000: the end, the packet's number among those of its end
    /// (repetitions count, ARP does not), and lose, duplicate, delay:MICROSECONDS, corrupt or mark
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    fate: Vec<Fate>,
    /// Over RC, show how the connection is made and ended: by the connection manager, as over iWARP by MPA
    #[arg(long)]
    connect: bool,
    /// The PSN with which A begins, at most 16777215 [default: 100]
    #[arg(long, value_name = "N", conflicts_with = "connect",
        value_parser = clap::value_parser!(u32).range(0..=LAST_PSN))]
    first_psn: Option<u32>,
    /// B posts its receives so many microseconds too late, at most 1000000; RC and XRC have A wait
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    late_receives: u64,
    /// Write the exchange to a pcapng capture, lost packets with a comment
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Capture at one end, A or B: what it sends and what arrives there, when it does. Otherwise all is captured as it is
    /// sent, what is lost included
    #[arg(long, value_name = "END", requires = "pcap", value_parser = end)]
    pcap_at: Option<End>,
    /// Leave the comments out of the capture, for somebody who is to find out
    #[arg(long, requires = "pcap")]
    no_comments: bool,
    /// Explain what happens, as it happens: each kind of thing in a paragraph the first time, later in a few words
    #[arg(long, conflicts_with = "quiet")]
    explain: bool,
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

fn end(text: &str) -> std::result::Result<End, &'static str> {
    match text {
        "A" => Ok(End::A),
        "B" => Ok(End::B),
        _ => Err("A or B"),
    }
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
    if options.fate.len() > fate::MOST {
        return Err(Error::usage(format_args!("--fate: {} packets", options.fate.len()))
            .advice(format_args!("name {} at most, or take --loss", fate::MOST)));
    }
    if options.connect && options.transport != Transport::Rc {
        let name = options.transport.name();
        return Err(Error::usage(format_args!("--connect: how {name} is connected cannot be shown"))
            .advice("leave it out, or take --transport rc; iWARP shows it anyway"));
    }
    if options.late_receives > 0 && !matches!(options.transport, Transport::Rc | Transport::Xrc) {
        let name = options.transport.name();
        return Err(Error::usage(format_args!("--late-receives: {name} cannot have A wait"))
            .advice("leave it out, or take --transport rc or xrc"));
    }
    let kinds = kinds(options)?;
    let seed = Seed::new(options.seed);
    let mut plan = Plan::new(
        seed.branch(0),
        options.transport,
        &kinds,
        (options.messages, size),
        Mischief::of(&options.fate),
    );
    plan.receives_late = 1_000 * options.late_receives;
    let is_iwarp = options.transport == Transport::Iwarp;
    let mut rules = RuleSet::new(seed.branch(LINK)).with(Lose::new(options.transport, options.loss));
    if options.mark.fraction() > 0.0 && !is_iwarp {
        rules = rules.with(rule::mark(options.mark));
    }
    for fate in &options.fate {
        rules = rules.with(Appointed::new(options.transport, *fate));
    }
    if let Some(note) = options.idle() {
        outcome::tell(format_args!("rdmalab: {note}"));
    }
    let (crc, markers) = (options.crc, options.markers);
    let habits = Habits {
        profile: options.profile(),
        congestion_control: options.congestion,
        // Nobody here needs time to get ready.
        iwarp: IwarpSettings {
            profile: options.iwarp_profile(),
            crc,
            markers,
            pause: Duration::ZERO,
            greeting_pause: Duration::ZERO,
        },
        seed: seed.branch(HOSTS),
        rules,
        connects: options.connect,
        first_psns: PerEnd {
            a: Psn::new(options.first_psn.unwrap_or(FIRST_PSNS.a)),
            b: Psn::new(FIRST_PSNS.b),
        },
    };
    let mut pair = Pair::new(&plan, habits)?;

    let recorder = options.pcap.as_deref().map(|path| {
        let names: &[&str] = match options.pcap_at {
            None => &["A", "B"],
            Some(End::A) => &["A"],
            Some(End::B) => &["B"],
        };
        Recorder::create(path, names)
            .map(|recorder| Recording { recorder, place: options.pcap_at, comments: !options.no_comments })
            .map_err(|fault| capture::refused(&fault))
    });
    let stdout = anstream::stdout();
    let columns = stdout.is_terminal().then(terminal_size::terminal_size).flatten().map(|(width, _)| width.0);
    let detail = match (options.all, options.quiet) {
        (true, _) => Detail::All,
        (_, true) => Detail::Nothing,
        _ => Detail::Lines(LINES),
    };
    let width = if is_iwarp { ladder::WIDE } else { ladder::WIDTH };
    let ladder = Ladder::new(BufWriter::new(stdout.lock()), detail, width, columns);
    let teacher = options.explain.then(Teacher::default);
    let mut witness = Witness::new(options.transport, ladder, teacher, recorder.transpose()?);

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
        let marks = [("--mark", self.mark.fraction() > 0.0), ("--fate", self.fate.iter().any(Fate::is_mark))];
        let marking = marks.iter().find(|(_, is_asked)| *is_asked).map(|(name, _)| *name);
        let is_controlled = !matches!(self.congestion, CongestionControl::None);
        let of_roce = [
            ("--profile", self.profile.is_some()),
            ("--congestion", is_controlled),
            (marking.unwrap_or("--mark"), marking.is_some()),
            ("--first-psn", self.first_psn.is_some()),
        ];
        let of_iwarp = [
            ("--iwarp-profile", self.iwarp_profile.is_some()),
            ("--crc", self.crc.is_some()),
            ("--markers", self.markers),
        ];
        idle::foreign(self.transport, &of_roce, &of_iwarp)
            .or_else(|| idle::note(self.transport, &self.profile(), self.congestion, marking))
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
