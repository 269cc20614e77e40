//! Programs on this machine, each with an end: a limit on how long it is waited for, and death when its owner goes.
//!
//! Output goes to files, never to pipes: a pipe that nobody reads stops its writer, and one that a grandchild
//! holds open keeps its reader waiting for ever.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::is_gone;

/// How often a wait looks again.
const TICK: Duration = Duration::from_millis(20);

/// What a program left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Output {
    /// Whether the program said that all is well.
    pub fn success(&self) -> bool {
        self.status == Some(0)
    }

    /// All that it wrote, for a report.
    pub(crate) fn texts(&self) -> String {
        let (stdout, stderr) = (self.stdout.trim_end(), self.stderr.trim_end());
        format!("--- standard output\n{stdout}\n--- standard error\n{stderr}")
    }

    /// The number that follows `label` at the start of a line of standard output, or else of standard error.
    pub fn number_after(&self, label: &str) -> Option<u64> {
        let mut lines = self.stdout.lines().chain(self.stderr.lines());
        let rest = lines.find_map(|line| line.trim().strip_prefix(label))?;
        rest.split_whitespace().next()?.parse().ok()
    }

    /// How many of its RoCE packets a program of ours says it sent again: `RoCE packets: 9 sent, 2 of them again; 9 received`.
    pub fn again(&self) -> Option<u64> {
        let mut lines = self.stdout.lines().chain(self.stderr.lines());
        let rest = lines.find_map(|line| line.trim().strip_prefix("RoCE packets: "))?;
        rest.split_once(" sent, ")?.1.split_whitespace().next()?.parse().ok()
    }

    /// Itself if the program succeeded; otherwise a panic that shows all it said.
    #[track_caller]
    pub fn expect_success(self, what: &str) -> Self {
        assert!(self.success(), "{what} failed, {self}");
        self
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.status {
            Some(status) => write!(f, "status {status}")?,
            None => write!(f, "ended by a signal")?,
        }
        write!(f, "\n{}", self.texts())
    }
}

/// A running program of this machine. Dropping it ends the program.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Process {
    /// Starts `command`, its output going to files called after `name` in `folder`. The name must be new there.
    pub fn start(name: &str, command: &mut Command, folder: &Path) -> Result<Self, String> {
        let stdout = folder.join(format!("{name}.out"));
        let stderr = folder.join(format!("{name}.err"));
        let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let child = command
            .stdin(Stdio::null())
            .stdout(create(&stdout)?)
            .stderr(create(&stderr)?)
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
        Ok(Self { name: name.to_owned(), child, stdout, stderr })
    }

    /// Waits for the end. `Err` if it does not come within `limit`; the program is ended then.
    pub fn finish(mut self, limit: Duration) -> Result<Output, String> {
        match self.exit_within(limit) {
            Some(status) => Ok(self.output(status)),
            None => {
                self.kill();
                Err(format!("{} did not end within {limit:?}, {}", self.name, self.output(None)))
            }
        }
    }

    /// What it has said, if it ends within `limit`.
    pub fn within(&mut self, limit: Duration) -> Option<Output> {
        self.exit_within(limit).map(|status| self.output(status))
    }

    /// Waits for the end; a program that has not come to it within `limit` is asked to, and then killed.
    pub fn end_within(mut self, limit: Duration) -> Output {
        self.exit_within(limit);
        self.stop(Duration::from_secs(2))
    }

    /// Waits for the end, which must come within `limit`: a panic otherwise.
    #[track_caller]
    pub fn wait(self, limit: Duration) -> Output {
        self.finish(limit).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Waits until the program has printed a line that contains `text`. A panic if it ends before, or at `limit`.
    #[track_caller]
    pub fn wait_for_line(&mut self, text: &str, limit: Duration) {
        let end = Instant::now() + limit;
        loop {
            let over = self.exit_within(Duration::ZERO);
            if [&self.stdout, &self.stderr].into_iter().any(|path| read(path).contains(text)) {
                return;
            }
            if over.is_some() || Instant::now() >= end {
                let status = over.flatten();
                panic!(
                    "{} never said {text:?} (waited at most {limit:?}), {}",
                    self.name,
                    self.output(status)
                );
            }
            std::thread::sleep(TICK);
        }
    }

    /// Asks the program to end (SIGTERM) and waits for it; one that does not is killed.
    pub fn stop(mut self, grace: Duration) -> Output {
        self.signal("TERM");
        let status = self.exit_within(grace).flatten();
        self.kill();
        self.output(status)
    }

    /// The number of its process, which stays its own until the end has been waited for.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, by a name such as `INT`, unless it has ended.
    pub fn signal(&mut self, name: &str) {
        if self.exit_within(Duration::ZERO).is_none() {
            let id = self.child.id().to_string();
            let _ = Command::new("kill").args([&format!("-{name}"), &id]).stderr(Stdio::null()).status();
        }
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.exit_within(Duration::ZERO).is_none()
    }

    /// Whether it has ended, asked without taking note of it.
    pub(crate) fn is_over(&self) -> bool {
        is_gone(&self.child.id().to_string())
    }

    /// What it has printed up to now.
    pub fn output_so_far(&self) -> Output {
        self.output(None)
    }

    fn exit_within(&mut self, limit: Duration) -> Option<Option<i32>> {
        let end = Instant::now() + limit;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status.code()),
                Ok(None) if Instant::now() < end => std::thread::sleep(TICK),
                Ok(None) => return None,
                Err(_) => return Some(None),
            }
        }
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn output(&self, status: Option<i32>) -> Output {
        Output { status, stdout: read(&self.stdout), stderr: read(&self.stderr) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs `command` to its end. `Err` if it cannot start, takes longer than `limit`, or fails; in one line first.
pub(crate) fn run(
    name: &str,
    command: &mut Command,
    folder: &Path,
    limit: Duration,
) -> Result<Output, String> {
    let output = Process::start(name, command, folder)?.finish(limit)?;
    if output.success() { Ok(output) } else { Err(format!("{name} failed, {output}")) }
}

/// Polls `done` until it yields something or `limit` has passed.
pub(crate) fn wait_until<T>(limit: Duration, mut done: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = done() {
            return Some(found);
        }
        if Instant::now() >= end {
            return None;
        }
        std::thread::sleep(TICK);
    }
}

/// A text file's content, whatever its bytes; empty if there is none.
pub(crate) fn read(path: &Path) -> String {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}
