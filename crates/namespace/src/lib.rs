//! Network namespaces for tests: a test runs in one that lives no longer than itself, or is skipped and says why.
//!
//! A process is in one namespace with all its threads, so a test that wants one of its own is started a second time, as
//! a process by itself ([`in_a_fresh_namespace`]). Making a namespace needs root, or a kernel that lets users be root in
//! one of their own.
//!
//! Under `CI=true` a test that cannot run fails.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::{Command, Stdio};

/// Names, in the second process, the test that runs there.
const INSIDE: &str = "RDMALAB_TEST_INSIDE";

/// The ways to a namespace: as root, and as anybody.
const WAYS: [&[&str]; 2] = [&["--net"], &["--user", "--map-root-user", "--net"]];

/// What a test needs besides a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// TAP devices.
    Taps,
    /// A program, and the package that has it.
    Program(&'static str, &'static str),
}

/// `ip`, which nearly all need.
pub const IP: Need = Need::Program("ip", "iproute2");

impl Need {
    fn look(self) -> Result<(), String> {
        match self {
            Self::Taps => std::fs::File::options()
                .read(true)
                .write(true)
                .open("/dev/net/tun")
                .map(drop)
                .map_err(|error| format!("cannot open /dev/net/tun: {error}")),
            Self::Program(name, package) => Command::new(name)
                .arg("-V")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .map(drop)
                .map_err(|error| format!("no program `{name}` (package {package}): {error}")),
        }
    }
}

/// Runs `inside` in a fresh network namespace, in a process of its own. `test` is the path of the test that calls this, as
/// the test harness knows it (`module::function`): the second process runs that one only. Panics if that fails.
#[track_caller]
pub fn in_a_fresh_namespace(test: &str, needs: &[Need], inside: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some_and(|name| name == test) {
        return inside();
    }
    let looked = needs.iter().try_for_each(|need| need.look()).and_then(|()| unshared());
    let mut command = match looked {
        Ok(command) => command,
        Err(reason) => return skip(test, &reason),
    };
    let program = std::env::current_exe().expect("the test's own program");
    let status = command.arg(program).args(["--exact", test, "--nocapture"]).env(INSIDE, test).status();
    assert!(
        status.as_ref().is_ok_and(std::process::ExitStatus::success),
        "{test}: the part inside the namespace failed, see above: {status:?}"
    );
}

/// The beginning of a command that runs what its further arguments say in a fresh network namespace.
///
/// # Errors
/// Why none can be made.
pub fn unshared() -> Result<Command, String> {
    let mut told = String::new();
    for way in WAYS {
        let output = Command::new("unshare")
            .args(way)
            .arg("true")
            .output()
            .map_err(|error| format!("no program `unshare` (package util-linux): {error}"))?;
        if output.status.success() {
            let mut command = Command::new("unshare");
            command.args(way);
            return Ok(command);
        }
        told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    }
    Err(format!("no permission to make a network namespace, run as root: {told}"))
}

/// Says that a test did not run; a failure under `CI=true`.
#[track_caller]
pub fn skip(test: &str, reason: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{test} did not run: {reason}");
    // Straight to the descriptor: the test harness keeps what `eprintln!` writes from those who pass.
    let _ = std::io::stderr().write_all(format!("SKIPPED: {test}: {reason}\n").as_bytes());
}

/// Runs a command, given as one line of words, and returns what it wrote. Panics if it fails.
#[track_caller]
pub fn run(line: &str) -> String {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a command");
    let output = Command::new(program).args(words).output().unwrap_or_else(|error| panic!("{line}: {error}"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
