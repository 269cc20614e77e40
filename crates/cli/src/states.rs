//! `rdmalab states`: the tables of queue pair states, as documentation.
//!
//! Prints what [`rdmalab_verbs::transitions`] holds and nothing of its own, so that the text cannot differ from what
//! `modify` obeys.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::ValueEnum;
use rdmalab_verbs::{AttributeSet, QueuePairType, State, Transition, transitions};

use crate::outcome::{Outcome, Result, unprinted};
use crate::paragraph::paragraph;

/// Columns of the required and of the optional attributes; with the states before them a line has 96 at most.
const COLUMN: usize = 39;

/// The tables of queue pair states: which change of state needs which attributes, and which it may take besides.
///
/// For each kind of queue pair, in the verbs' names. They are the very tables by which `modify` decides.
#[derive(clap::Args)]
pub struct Options {
    /// Only the tables of this kind; xrc has two
    #[arg(long, value_enum, value_name = "KIND")]
    transport: Option<Kind>,
    /// As Markdown
    #[arg(long)]
    markdown: bool,
    /// In place of the tables a paragraph on each state: what a queue pair does in it, and what it is there for
    #[arg(long, conflicts_with_all = ["markdown", "transport"])]
    explain: bool,
}

/// The kinds of queue pairs, as they are named on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Rc,
    Uc,
    Ud,
    /// Both ends of XRC
    Xrc,
    XrcIni,
    XrcTgt,
}

impl Kind {
    fn of_queue_pairs(self) -> &'static [QueuePairType] {
        match self {
            Self::Rc => &[QueuePairType::Rc],
            Self::Uc => &[QueuePairType::Uc],
            Self::Ud => &[QueuePairType::Ud],
            Self::Xrc => &[QueuePairType::XrcInitiator, QueuePairType::XrcTarget],
            Self::XrcIni => &[QueuePairType::XrcInitiator],
            Self::XrcTgt => &[QueuePairType::XrcTarget],
        }
    }
}

/// Prints the tables.
pub fn run(options: &Options) -> Result<Outcome> {
    let mut text = String::new();
    if options.explain {
        for state in State::ALL {
            paragraph(&mut text, rdmalab_explain::state(state));
        }
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unprinted)?;
        return Ok(Outcome::Fine);
    }
    if options.markdown {
        text.push_str(
            "# The states of queue pairs\n\nWritten by `rdmalab states --markdown`; a test keeps it so.\n\n",
        );
    }
    text.push_str(INTRODUCTION);
    for &kind in options.transport.map_or(&QueuePairType::ALL[..], Kind::of_queue_pairs) {
        text.push('\n');
        if options.markdown { markdown(&mut text, kind) } else { plain(&mut text, kind) }
    }
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(unprinted)?;
    Ok(Outcome::Fine)
}

const INTRODUCTION: &str = "\
What `ibv_modify_qp` takes: each change of state with the attributes that must come with it and
those that may. Everything else is refused, and then nothing changes. A device here has one port
and no alternate paths, so no row has attributes for them. Two changes come by themselves: an error
brings a queue pair to ERR, and an error in the send queue of UC and UD brings it to SQE. While the
send queue drains (SQD), nothing may be ordered but RESET and ERR; the end of that is told.
";

/// Where a row leads from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    Any,
    One(State),
}

impl std::fmt::Display for From {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Any => f.pad("any"),
            Self::One(state) => state.fmt(f),
        }
    }
}

/// The rows of a kind. A state to which every state leads alike has one row, at the end.
fn rows(kind: QueuePairType) -> Vec<(From, Transition)> {
    let all: Vec<Transition> = transitions(kind).collect();
    let is_everywhere = |row: &Transition| {
        let alike = |other: &&Transition| {
            (other.to, other.required, other.optional) == (row.to, row.required, row.optional)
        };
        all.iter().filter(alike).count() == State::ALL.len()
    };
    let (everywhere, some): (Vec<Transition>, Vec<Transition>) =
        all.iter().partition(|row| is_everywhere(row));
    let mut rows: Vec<(From, Transition)> = some.into_iter().map(|row| (From::One(row.from), row)).collect();
    for row in everywhere {
        if !rows.iter().any(|(from, other)| *from == From::Any && other.to == row.to) {
            rows.push((From::Any, row));
        }
    }
    rows
}

fn plain(text: &mut String, kind: QueuePairType) {
    let mut line = |from: &str, to: &str, required: &str, optional: &str| {
        let line = format!("{from:<7} {to:<7} {required:<COLUMN$}  {optional}");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    };
    line(&kind.to_string(), "", "", "");
    line("from", "to", "required", "optional");
    line("─────", "─────", &"─".repeat(COLUMN), &"─".repeat(COLUMN));
    for (from, row) in rows(kind) {
        let (required, optional) = (wrapped(row.required), wrapped(row.optional));
        for place in 0..required.len().max(optional.len()) {
            let piece = |column: &[String]| column.get(place).cloned().unwrap_or_default();
            let (from, to) =
                if place == 0 { (from.to_string(), row.to.to_string()) } else { Default::default() };
            line(&from, &to, &piece(&required), &piece(&optional));
        }
    }
}

/// The names of a set, as lines of a column; a dash if there are none.
fn wrapped(set: AttributeSet) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in set.names() {
        match lines.last_mut() {
            Some(last) if last.len() + 1 + name.len() <= COLUMN => {
                last.push(' ');
                last.push_str(name);
            }
            _ => lines.push(name.to_owned()),
        }
    }
    if lines.is_empty() { vec!["-".to_owned()] } else { lines }
}

fn markdown(text: &mut String, kind: QueuePairType) {
    let names = |set: AttributeSet| {
        let names: Vec<String> = set.names().map(|name| format!("`{name}`")).collect();
        if names.is_empty() { "-".to_owned() } else { names.join(", ") }
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "## {kind}\n\n| from | to | required | optional |\n|---|---|---|---|");
    for (from, row) in rows(kind) {
        let _ = writeln!(text, "| {from} | {} | {} | {} |", row.to, names(row.required), names(row.optional));
    }
}
