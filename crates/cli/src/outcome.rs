//! How a subcommand ends: an [`Outcome`], or an [`Error`] that knows its exit code and says what was wrong, where, and
//! what to do.
//!
//! Printing goes through here too, since `println!` panics when nobody reads. A closed standard output is no error: the
//! reader (`head`, say) has seen enough, and the program ends quietly.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use rdmalab_programs::Herald;

/// Exit code: the peer or the check failed.
pub const CHECK_FAILED: u8 = 1;
/// Exit code: wrong usage or unreadable input.
pub const WRONG_USAGE: u8 = 2;

/// How a subcommand that ran to its end came out. It has printed all that is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Fine,
    /// The peer or the check failed.
    Failed,
}

impl Outcome {
    /// Fine if `fine`.
    pub fn fine_if(fine: bool) -> Self {
        if fine { Self::Fine } else { Self::Failed }
    }
}

/// What `run` of a subcommand gives back.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a subcommand stopped.
#[derive(Debug)]
pub struct Error {
    kind: Kind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The peer, the device or a check.
    Failed,
    /// The command line, or a file that cannot be read.
    Usage,
    /// Nobody reads our output any more.
    Unheard,
}

impl Error {
    /// The peer, the device or a check failed: exit code 1.
    pub fn failed(what: impl Display) -> Self {
        Self { kind: Kind::Failed, text: what.to_string() }
    }

    /// Wrong usage or unreadable input: exit code 2.
    pub fn usage(what: impl Display) -> Self {
        Self { kind: Kind::Usage, text: what.to_string() }
    }

    /// Adds what to do about it, on a line of its own.
    pub fn advice(mut self, what_to_do: impl Display) -> Self {
        self.text = format!("{}\n  {what_to_do}", self.text);
        self
    }

    /// Tells how the device ended, too, unless that is what stopped us.
    pub fn beside<E: Display>(self, closed: &std::result::Result<(), E>) -> Self {
        if let Err(error) = closed
            && self.text != error.to_string()
        {
            tell(format_args!("rdmalab: {error}"));
        }
        self
    }

    /// What to print; nothing if nobody is to be told.
    pub fn message(&self) -> Option<&str> {
        (self.kind != Kind::Unheard).then_some(&*self.text)
    }

    /// The code to exit with.
    pub fn exit_code(&self) -> ExitCode {
        match self.kind {
            Kind::Failed => CHECK_FAILED.into(),
            Kind::Usage => WRONG_USAGE.into(),
            Kind::Unheard => ExitCode::SUCCESS,
        }
    }
}

/// Text that may hold names of files and of links, without what would command a terminal.
pub fn printable(text: &str) -> String {
    let is_harmless = |c: char| !c.is_control() || c == '\n' || c == '\t';
    if text.chars().all(is_harmless) {
        return text.to_owned();
    }
    text.chars()
        .flat_map(|c| {
            let (kept, escaped) =
                if is_harmless(c) { (Some(c), None) } else { (None, Some(c.escape_default())) };
            kept.into_iter().chain(escaped.into_iter().flatten())
        })
        .collect()
}

/// Printing to standard output failed.
///
/// There is no general conversion from `io::Error`: what failed elsewhere must say where.
pub fn unprinted(error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::BrokenPipe => Error { kind: Kind::Unheard, text: String::new() },
        _ => Error::failed(format_args!("cannot write to standard output: {error}")),
    }
}

/// Prints one line to standard output and flushes it; colours reach terminals only.
#[allow(dead_code, reason = "for subcommands that tell their progress")]
pub fn print(line: impl Display) -> Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(unprinted)
}

/// Tells what is waited for on standard error.
pub fn herald() -> Herald {
    Herald::new(|what| tell(format_args!("rdmalab: nothing for 3 s: waiting for {what}")))
}

/// Prints one line to standard error, if anybody listens there; what would command a terminal is escaped.
pub fn tell(line: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{}", printable(&line.to_string()));
}
