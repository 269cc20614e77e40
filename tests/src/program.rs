//! The programs of ours that live tests run, built when they are first asked for.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::Lab;
use crate::lab::build_directory;
use crate::process::run;

/// The program `rdmalab`, built with this test's profile.
#[track_caller]
pub fn program(lab: &Lab) -> PathBuf {
    build(lab, "rdmalab", "rdmalab").unwrap_or_else(|error| panic!("cannot build rdmalab: {error}"))
}

/// The program `verbs-end`, likewise.
#[track_caller]
pub fn verbs_end(lab: &Lab) -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        build(lab, "rdmalab-tests", "verbs-end")
            .unwrap_or_else(|error| panic!("cannot build verbs-end: {error}"))
    })
}

/// The program `siw-end`, likewise.
#[track_caller]
pub fn siw_end(lab: &Lab) -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        build(lab, "rdmalab-tests", "siw-end").unwrap_or_else(|error| panic!("cannot build siw-end: {error}"))
    })
}

fn build(lab: &Lab, package: &str, program: &str) -> Result<PathBuf, String> {
    let build = build_directory()?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--package", package, "--bin", program, "--target-dir"]).arg(&build);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    if profile == "release" {
        cargo.arg("--release");
    }
    let name = lab.unique("cargo-build");
    run(&name, &mut cargo, lab.folder(), Duration::from_secs(1200))?;
    // A copy of its own, since the next build, by whomever, may put another one in its place.
    let (built, own) = (build.join(profile).join(program), lab.folder().join(program));
    let text = |error: std::io::Error| format!("{}: {error}", own.display());
    std::fs::copy(built, &own).map_err(text)?;
    Ok(own)
}
