//! A command at work in the guest.

use std::path::PathBuf;
use std::time::Duration;

use super::orders::Orders;
use crate::process::{Output, read, wait_until};

/// How long the end may take when it is due. The guest kills what does not end when it is asked to, two seconds
/// later, and may be slow.
const GRACE: Duration = Duration::from_secs(15);

/// A command at work in the guest.
#[derive(Debug)]
#[must_use = "a job that nobody waits for says nothing"]
pub struct Job {
    /// Where its files are, without their endings.
    path: PathBuf,
    limit: Duration,
    orders: Orders,
}

/// A job that is not over though it was killed: the guest has died, or its kernel does not let go of the process.
#[derive(Debug)]
pub struct Stuck {
    /// The command.
    pub command: String,
    /// What it had printed.
    pub output: Output,
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { command, output } = self;
        write!(f, "{} in the guest did not end though it was killed\n{}", command.trim_end(), output.texts())
    }
}

impl Job {
    pub(super) fn new(path: PathBuf, limit: Duration, orders: Orders) -> Self {
        Self { path, limit, orders }
    }

    /// Waits for the end, which the guest brings about at the job's limit. A panic if there is none.
    #[track_caller]
    pub fn wait(self) -> Output {
        self.finish().unwrap_or_else(|stuck| panic!("{stuck}"))
    }

    /// Waits for the end, which the guest brings about at the job's limit.
    pub fn finish(self) -> Result<Output, Stuck> {
        let limit = self.limit + GRACE;
        self.within(limit).ok_or_else(|| self.stuck())
    }

    /// The output, if the job ends within `limit`.
    pub fn within(&self, limit: Duration) -> Option<Output> {
        let status = self.file("status");
        wait_until(limit, || read(&status).ends_with('\n').then_some(()))?;
        Some(self.output_so_far())
    }

    /// Asks the job to end (SIGTERM), soon after with SIGKILL, and waits for it.
    pub fn stop(self) -> Result<Output, Stuck> {
        if let Some(name) = self.path.file_name().and_then(|name| name.to_str()) {
            self.orders.give("end", name);
        }
        self.within(GRACE).ok_or_else(|| self.stuck())
    }

    /// What the job has printed up to now.
    pub fn output_so_far(&self) -> Output {
        Output {
            status: read(&self.file("status")).trim().parse().ok(),
            stdout: read(&self.file("out")),
            stderr: read(&self.file("err")),
        }
    }

    fn stuck(&self) -> Stuck {
        Stuck { command: read(&self.file("cmd")), output: self.output_so_far() }
    }

    fn file(&self, ending: &str) -> PathBuf {
        self.path.with_extension(ending)
    }
}
