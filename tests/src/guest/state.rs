//! What a guest looks like, for the report of a failed test.

use std::time::Duration;

use super::Guest;
use crate::process::Output;

/// It takes three seconds, and many more in a guest that is short of its processor.
const LIMIT: Duration = Duration::from_secs(30);

/// A guest seen from outside and, if it still takes orders, from inside.
#[derive(Debug)]
pub struct GuestState {
    /// The machine has ended.
    pub is_over: bool,
    /// What it printed on its console.
    pub console: Output,
    /// What the guest says about itself: counters, processes and where in the kernel they are; `None` if it says nothing.
    pub inside: Option<String>,
}

/// What the kernel says when it cannot go on, behind the time in brackets. That it was held up it says in other words.
const FALLS: [&str; 5] =
    ["Oops: ", "BUG: kernel NULL pointer ", "BUG: unable to handle ", "kernel BUG at ", "Kernel panic - "];

impl GuestState {
    /// The first of its kernel's own words, with their time, by which it has failed.
    pub fn fall(&self) -> Option<&str> {
        fall(&self.console.stdout)
    }
}

fn fall(console: &str) -> Option<&str> {
    console.lines().find_map(|line| {
        let (before, words) = line.split_once("] ")?;
        // The boot loader's last line has no end.
        let from = before.rfind('[')?;
        before[from + 1..].trim().parse::<f64>().ok()?;
        FALLS.iter().any(|fall| words.starts_with(fall)).then_some(&line[from..])
    })
}

impl Guest {
    /// The words by which its kernel says that it has failed, if it does.
    pub fn fall(&self) -> Option<String> {
        let machine = self.machine.as_ref().expect("the machine is there until the guest is dropped");
        fall(&machine.output_so_far().stdout).map(str::to_owned)
    }

    /// Looks at the guest, within a minute, whatever has become of it.
    pub fn state(&self) -> GuestState {
        let machine = self.machine.as_ref().expect("the machine is there until the guest is dropped");
        let ask = || {
            let job = self.spawn(include_str!("state.sh"), LIMIT);
            job.within(LIMIT + Duration::from_secs(5));
            // A slow guest may not come to the end of it; what it has said by then shows that it is alive.
            Some(job.output_so_far().stdout).filter(|said| !said.is_empty())
        };
        let inside = if machine.is_over() { None } else { ask() };
        GuestState { is_over: machine.is_over(), console: machine.output_so_far(), inside }
    }
}

impl std::fmt::Display for GuestState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", if self.is_over { "its machine has ended" } else { "its machine runs" })?;
        match &self.inside {
            Some(inside) => write!(f, "{inside}")?,
            None => writeln!(f, "it does not say how it is")?,
        }
        write!(f, "--- its console\n{}", self.console.texts())
    }
}
