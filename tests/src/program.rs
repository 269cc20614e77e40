//! The programs of ours that live tests run, built when they are first asked for.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::Lab;
use crate::lab::build_directory;
use crate::process::run;

/// The program `rdmalab`.
#[track_caller]
pub fn program(lab: &Lab) -> PathBuf {
    built(lab, "rdmalab")
}

/// The program `verbs-end`.
#[track_caller]
pub fn verbs_end(lab: &Lab) -> PathBuf {
    built(lab, "verbs-end")
}

/// The program `siw-end`.
#[track_caller]
pub fn siw_end(lab: &Lab) -> PathBuf {
    built(lab, "siw-end")
}

#[track_caller]
fn built(lab: &Lab, program: &str) -> PathBuf {
    static BUILT: OnceLock<Result<(), String>> = OnceLock::new();
    let copy = || {
        BUILT.get_or_init(|| build(lab)).clone()?;
        // A copy of its own, since the next build, by whomever, may put another one in its place.
        let (built, own) = (build_directory()?.join("release").join(program), lab.folder().join(program));
        if !own.exists() {
            std::fs::copy(built, &own).map_err(|error| format!("{}: {error}", own.display()))?;
        }
        Ok::<_, String>(own)
    };
    copy().unwrap_or_else(|error| panic!("cannot build {program}: {error}"))
}

/// Builds all of them, as `check.sh` has done before: other packages, or another profile, would be another build.
fn build(lab: &Lab) -> Result<(), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--release", "--workspace", "--bins", "--target-dir"]).arg(build_directory()?);
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    run(&lab.unique("cargo-build"), &mut cargo, lab.folder(), Duration::from_secs(1200)).map(drop)
}
