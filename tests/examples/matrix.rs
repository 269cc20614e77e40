//! Plays the matrix: every program of the field with us, in both roles. Needs root, and what `check.sh` installs.
//!
//! `cargo run --release -p rdmalab-tests --example matrix -- [--peer rxe|siw] [--only WORDS] [--daily] [--list]
//! [--times N] [--write FILE [--missing]]`
//!
//! A cell that fails says why, its captures and logs stay, and the others are played all the same. Exit code 1 if one failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use rdmalab_tests::Venue;
use rdmalab_tests::matrix::{Cell, Group, Page, Played, Report, Versions};

#[derive(Parser)]
struct Options {
    /// With which of Linux' stacks; two of ours are played with each other beside RoCE's
    #[arg(long, value_enum, default_value = "rxe")]
    peer: Page,

    /// Only cells whose line, as --list shows it, has all of these words in it, separated by commas
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    only: Vec<String>,

    /// Only what the ordinary live tests play
    #[arg(long)]
    daily: bool,

    /// Only what has not passed according to the table that is there
    #[arg(long, requires = "write")]
    missing: bool,

    /// Play each so many times, to find what happens seldom
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "write")]
    times: usize,

    /// Show the cells, and play none
    #[arg(long)]
    list: bool,

    /// Write the table here; rows of cells that are not played stay
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    // There may be no page yet.
    let page =
        || options.write.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
    let before = page();
    let wanted = |cell: &Cell| {
        let line = cell.to_string();
        (!options.daily || cell.daily)
            && (!options.missing || !Report::has_passed(&before, cell))
            && options.only.iter().all(|words| line.contains(words.as_str()))
    };
    let wanted: Vec<Cell> = options.peer.cells().into_iter().filter(wanted).collect();
    let chosen = wanted.repeat(options.times);
    if options.list {
        chosen.iter().for_each(|cell| println!("{cell}"));
        println!("{} cells", chosen.len());
        return ExitCode::SUCCESS;
    }
    if chosen.is_empty() {
        eprintln!("no cell has these words; --list shows all");
        return ExitCode::from(2);
    }
    let Some(mut venue) = Venue::open("matrix") else { return ExitCode::from(2) };
    let (count, started) = (chosen.len(), Instant::now());
    let (mut report, mut versions) = (Report::default(), None);
    // Faults come first, since most can be learnt there.
    for group in Group::of(chosen.clone()).into_iter().rev() {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            venue.host(|place| {
                if versions.is_none() {
                    versions = Some(Versions::of(place));
                }
                match group.play(place, |played| tell(&mut report, count, played)) {
                    Ok(packets) => report.packets += packets,
                    Err(fault) => {
                        println!("FAILED: {}: {fault}", group.setting);
                        report.fail(&group, &fault);
                    }
                }
            });
        }));
        if outcome.is_err() {
            report.fail(&group, "the game could not go on, see above");
        }
        // After each group, so that an interruption leaves what was done; what others have written meanwhile stays.
        if let (Some(path), Some(versions)) = (&options.write, &versions)
            && let Err(error) = std::fs::write(path, report.page(options.peer, versions, &page()))
        {
            eprintln!("{}: {error}", path.display());
            return ExitCode::from(2);
        }
    }
    report.cells.sort_by_key(|played| chosen.iter().position(|cell| *cell == played.cell));
    for played in report.cells.iter().filter(|played| played.failure.is_some()) {
        println!("FAILED: {}", played.cell);
    }
    println!("{report}; {:.0} s altogether", started.elapsed().as_secs_f64());
    if !report.is_fine() {
        venue.keep();
        return ExitCode::from(1);
    }
    ExitCode::SUCCESS
}

fn tell(report: &mut Report, count: usize, played: Played) {
    let number = report.cells.len() + 1;
    let result = if played.failure.is_some() { "FAILED" } else { "passed" };
    println!("{number}/{count} {result} {:.1} s: {}", played.seconds, played.cell);
    if let Some(failure) = &played.failure {
        println!("{failure}");
    }
    report.cells.push(played);
}
