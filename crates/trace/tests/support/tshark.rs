//! Wireshark's programs, where they are installed. Under `CI=true` they must be.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether the programs are there; says so if not.
pub(crate) fn is_there() -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok_and(|out| out.status.success());
    if !there {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "tshark is needed: apt-get install tshark");
        eprintln!("not run: tshark is not installed (apt-get install tshark)");
    }
    there
}

/// What the program prints, which must succeed.
pub(crate) fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| {
        panic!("{program}: {error}");
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap_or_else(|error| panic!("{program} {arguments:?}: {error}"))
}

/// Fields of every packet of a file, a tab between them, a line for each packet.
#[allow(dead_code)]
pub(crate) fn fields(file: &Path, names: &[&str]) -> Vec<String> {
    let file = file.to_str().unwrap();
    // The guess at RPC over RDMA calls short SENDs malformed.
    let mut arguments =
        vec!["-r", file, "-t", "r", "--disable-heuristic", "rpcrdma_infiniband", "-T", "fields"];
    for name in names {
        arguments.extend(["-e", name]);
    }
    run("tshark", &arguments).lines().map(String::from).collect()
}

/// A file of these bytes in cargo's directory for such.
pub(crate) fn scratch(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}
