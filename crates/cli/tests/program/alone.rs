//! A script in a network namespace of its own, where there is nothing but a loopback interface.

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rdmalab_namespace::{skip, unshared};

use crate::program::Run;

/// Longer than any of them takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a script of bash, which has the program as `$1` and these arguments behind it. `None` where there can be no namespace.
pub fn alone(test: &str, script: &str, program: &OsStr, arguments: &[&OsStr]) -> Option<Run> {
    let mut command = match unshared() {
        Ok(command) => command,
        Err(reason) => {
            skip(test, &reason);
            return None;
        }
    };
    command.args(["bash", "-c", script, "script"]).arg(program).args(arguments);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let end = Instant::now() + LIMIT;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            let _ = child.kill();
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some(Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) })
}
