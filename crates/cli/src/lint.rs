//! `rdmalab lint`: captures judged by the rules of the protocols.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rdmalab_explain::{Explanation, congestion, recovery, responses, states};
use rdmalab_lint::{Cause, Explained, LintError, RULES, Report, RuleId, Severity, Stats};

use crate::outcome::{Error, Outcome, Result, printable, tell, unprinted};
use crate::paragraph::paragraph;

/// Judge captures: were the conversations right, what was sent again, and why?
///
/// Prints what each flow did, then what broke a rule, with the frames that show it, then what could not be judged and why.
/// Reads pcap and pcapng, also packed with gzip or zstd. Exit code 1 if a rule was violated, 2 if a file cannot be read to
/// its end.
#[derive(clap::Args)]
pub struct Options {
    /// The captures, pcap or pcapng, plain or packed with gzip or zstd; "-" reads standard input
    #[arg(value_name = "FILE", required_unless_present = "rules")]
    files: Vec<PathBuf>,
    /// One JSON object per capture and line, in the order of the files; "error" says why one was not read to its end, or is null
    #[arg(long)]
    json: bool,
    /// Behind the findings a paragraph on each rule that was broken; at the end one on each thing of the table that is out
    /// of the ordinary: repetitions by their causes, NAKs, losses, marks
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// Rules that may be broken, by their names, with commas between: findings of theirs are shown, but do not make the exit code 1
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = rule)]
    allow: Vec<RuleId>,
    /// Print every rule with its source, severity and evidence, and judge nothing
    #[arg(long, conflicts_with_all = ["files", "explain", "allow"])]
    rules: bool,
}

/// Judges the captures.
pub fn run(options: &Options) -> Result<Outcome> {
    let mut out = io::stdout().lock();
    if options.rules {
        out.write_all(rules(options.json).as_bytes()).and_then(|()| out.flush()).map_err(unprinted)?;
        return Ok(Outcome::Fine);
    }
    let mut is_clean = true;
    let mut unread = None;
    for file in &options.files {
        // One that cannot be read keeps no other from being judged.
        let (report, why) = match judge(file) {
            Ok(report) => (Some(Box::new(report)), None),
            Err(Unjudged { report, why, error }) => {
                if let Some(earlier) = unread.replace(error)
                    && let Some(text) = earlier.message()
                {
                    tell(format_args!("rdmalab: {text}"));
                }
                (report, Some(why))
            }
        };
        let is_fine =
            |report: &Report| report.count(Severity::Violation) == report.violations_of(&options.allow);
        is_clean &= report.as_deref().is_none_or(is_fine);
        let text = if options.json {
            object(options, file, report.as_deref(), why.as_deref())
        } else {
            report.map(|report| text(options, file, &report)).unwrap_or_default()
        };
        out.write_all(text.as_bytes()).map_err(unprinted)?;
    }
    out.flush().map_err(unprinted)?;
    match unread {
        Some(error) => Err(error),
        None => Ok(Outcome::fine_if(is_clean)),
    }
}

/// The rule of this name.
fn rule(name: &str) -> std::result::Result<RuleId, String> {
    let rule = RULES.iter().find(|rule| rule.name == name);
    rule.map(|rule| rule.id)
        .ok_or_else(|| format!("there is no rule `{name}`; `rdmalab lint --rules` lists all"))
}

/// A capture that could not be read to its end, and what came before.
struct Unjudged {
    report: Option<Box<Report>>,
    /// Why, without the file's name.
    why: String,
    error: Error,
}

fn judge(file: &Path) -> std::result::Result<Report, Unjudged> {
    let judged = if file.as_os_str() == "-" {
        rdmalab_lint::lint(io::stdin().lock(), &mut ())
    } else {
        let opened: std::result::Result<Box<dyn Read>, _> = File::open(file).map(|file| Box::new(file) as _);
        match opened {
            Ok(input) => rdmalab_lint::lint(input, &mut ()),
            Err(cause) => {
                let error = Error::usage(format_args!("cannot open {}: {cause}", name(file)))
                    .advice("name a pcap or pcapng file, or - for standard input");
                return Err(Unjudged { report: None, why: format!("cannot be opened: {cause}"), error });
            }
        }
    };
    judged.map_err(|failure: LintError| {
        let (error, why) = (Error::usage(format_args!("{}: {failure}", name(file))), failure.to_string());
        if failure.report.totals.packets == 0 {
            let error = error.advice("pcap and pcapng are read; is this one?");
            return Unjudged { report: None, why, error };
        }
        let error = error.advice("what was judged is of the packets in front of that");
        Unjudged { report: Some(failure.report), why, error }
    })
}

fn name(file: &Path) -> String {
    if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() }
}

/// A file's line of JSON: what was judged of it, and why not all of it was, if so.
fn object(options: &Options, file: &Path, report: Option<&Report>, why: Option<&str>) -> String {
    let mut object = report.map_or_else(|| serde_json::json!({}), Report::json);
    if let Some(fields) = object.as_object_mut() {
        fields.insert("file".to_owned(), name(file).into());
        fields.insert("error".to_owned(), why.into());
        if let Some(report) = report {
            fields.insert("violations_allowed".to_owned(), report.violations_of(&options.allow).into());
        }
    }
    format!("{object}\n")
}

fn text(options: &Options, file: &Path, report: &Report) -> String {
    let head =
        if options.files.len() > 1 { format!("== {}\n", printable(&name(file))) } else { String::new() };
    let allowed = match report.violations_of(&options.allow) {
        0 => String::new(),
        1 => "1 of the violations is of a rule that may be broken\n".to_owned(),
        count => format!("{count} of the violations are of rules that may be broken\n"),
    };
    if !options.explain {
        return format!("{head}{report}\n{allowed}");
    }
    let mut words = String::new();
    for explanation in unusual(report) {
        paragraph(&mut words, explanation);
    }
    let words = if words.is_empty() { words } else { format!("\nWhat the table tells of:\n\n{words}") };
    format!("{head}{}\n{allowed}{words}", Explained(report))
}

/// What happened in a capture that is out of the ordinary without being wrong.
fn unusual(report: &Report) -> impl Iterator<Item = &'static Explanation> {
    let sum = |count: fn(&Stats) -> u64| report.flows.iter().map(|flow| count(&flow.stats)).sum::<u64>();
    let causes = Cause::ALL.into_iter().map(|cause| {
        let count = |counts: &[u64; 5]| counts.get(cause as usize).copied().unwrap_or_default();
        let happened = report.flows.iter().any(|flow| count(&flow.stats.repeated) > 0);
        (u64::from(happened), rdmalab_explain::cause(cause))
    });
    let others = [
        (sum(|stats| stats.naks), &responses::NAK_SEQUENCE),
        (sum(|stats| stats.rnr_naks), &responses::RNR_NAK),
        (sum(|stats| stats.error_naks), &states::ERR),
        (sum(|stats| stats.lost_ahead + stats.lost_behind), &recovery::LOST_REQUEST),
        (sum(|stats| stats.responses_missing), &recovery::LOST_RESPONSE),
        (sum(|stats| stats.duplicates), &recovery::DUPLICATE),
        (sum(|stats| stats.late), &recovery::LATE),
        (sum(|stats| stats.marked), &congestion::MARK),
        (report.totals.notifications, &congestion::NOTIFICATION),
        (report.totals.pauses, &congestion::PAUSE),
        (report.totals.priority_pauses, &congestion::PRIORITY_PAUSE),
    ];
    let all: Vec<(u64, &'static Explanation)> = causes.chain(others).collect();
    all.into_iter().filter(|(count, _)| *count > 0).map(|(_, explanation)| explanation)
}

fn rules(json: bool) -> String {
    let mut text = String::new();
    for rule in RULES {
        // A string takes everything.
        let _ = if json {
            writeln!(text, "{}", rule.json())
        } else {
            writeln!(
                text,
                "{} ({}, {}): {}\n  source: {}\n  needs: {}",
                rule.name, rule.family, rule.severity, rule.sentence, rule.source, rule.evidence
            )
        };
    }
    text
}
