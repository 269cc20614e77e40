//! Running the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// How a run ended.
pub struct Run {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Run {
    /// Fails unless it exited with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Fails unless it said this on standard error.
    #[track_caller]
    pub fn says(self, what: &str) -> Self {
        assert!(self.err.contains(what), "{what:?} is not in:\n{}", self.err);
        self
    }

    /// Lines of standard output.
    pub fn lines(&self) -> Vec<&str> {
        self.out.lines().collect()
    }
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdmalab"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the program with these arguments.
pub fn rdmalab(arguments: &[&str]) -> Run {
    with_input(arguments, &[])
}

/// Runs it with bytes on standard input.
pub fn with_input(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = command(arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // It may end without reading all of it.
        scope.spawn(move || drop(stdin.write_all(input)));
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    })
}

/// Runs it, reads a little, and closes its standard output.
pub fn headed(arguments: &[&str]) -> Run {
    let mut child = command(arguments).spawn().unwrap();
    let mut start = [0; 64];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    Run { code: output.status.code(), out: String::from_utf8_lossy(&start).into_owned(), err }
}

/// A program that runs until it is told to end, or the test has failed.
pub struct Running {
    pub child: Child,
    out: BufReader<ChildStdout>,
    said: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Only a child that nobody has waited for is still there.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

impl Running {
    /// Starts it, and waits until it has said so.
    pub fn start(arguments: &[&str], until: &str) -> Self {
        Self::of(&mut command(arguments), until)
    }

    /// Starts it by another command, which is given its arguments and no more.
    pub fn of(command: &mut Command, until: &str) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, out, said: String::new() };
        running.wait_for(until);
        running
    }

    pub fn wait_for(&mut self, what: &str) {
        let from = self.said.len();
        while !self.said[from..].contains(what) {
            assert!(self.out.read_line(&mut self.said).unwrap() > 0, "it ended: {:?}", self.child.wait());
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Sends a signal, and waits for the end.
    pub fn end(self, signal: &str) -> Run {
        self.signal(signal);
        self.finish()
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Run {
        self.out.read_to_string(&mut self.said).unwrap();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Run { code: self.child.wait().unwrap().code(), out: std::mem::take(&mut self.said), err }
    }
}

/// A capture of a real peer.
pub fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pcaps").join(name)
}

/// A place for a file of a test.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
