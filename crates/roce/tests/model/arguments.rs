//! The arguments of the test program: its own two, and what test runners pass.

use std::time::SystemTime;

pub const USAGE: &str =
    "usage: cargo test -p rdmalab-roce --test model -- [--cases N] [--seed N] [--exact] [NAME]...";

/// Cases of an ordinary run.
const ORDINARY: u64 = 2_000;

pub struct Arguments {
    pub cases: u64,
    /// Of the first case; the others follow it.
    pub seed: u64,
    pub list: bool,
    exact: bool,
    only_ignored: bool,
    names: Vec<String>,
    skipped: Vec<String>,
}

impl Arguments {
    /// Options of the usual test harness that make no difference here are passed over.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut parsed = Self {
            cases: ORDINARY,
            seed: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_micros() as u64),
            list: false,
            exact: false,
            only_ignored: false,
            names: Vec::new(),
            skipped: Vec::new(),
        };
        let mut arguments = arguments.flat_map(|argument| match argument.split_once('=') {
            Some((option, value)) if option.starts_with("--") => vec![option.to_owned(), value.to_owned()],
            _ => vec![argument],
        });
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let value = arguments.next().ok_or(format!("{argument} needs a number"))?;
                value.parse::<u64>().map_err(|error| format!("{argument} {value}: {error}"))
            };
            match argument.as_str() {
                "--cases" => parsed.cases = number()?,
                "--seed" => parsed.seed = number()?,
                "--list" => parsed.list = true,
                "--exact" => parsed.exact = true,
                "--ignored" => parsed.only_ignored = true,
                "--skip" => parsed.skipped.extend(arguments.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" | "-Z" => drop(arguments.next()),
                option if option.starts_with('-') => {}
                name => parsed.names.push(name.to_owned()),
            }
        }
        // None is ignored.
        parsed.list &= !parsed.only_ignored;
        Ok(parsed)
    }

    /// Whether a test is to run.
    pub fn selects(&self, name: &str) -> bool {
        let matches = |pattern: &String| if self.exact { name == pattern } else { name.contains(pattern) };
        !self.only_ignored
            && (self.names.is_empty() || self.names.iter().any(matches))
            && !self.skipped.iter().any(matches)
    }
}
