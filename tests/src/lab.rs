//! Whether live tests can run here, and the folder in which they work.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::kernel::Kernel;
use crate::{initramfs, packages};

/// Everything a live test needs that does not belong to one network or guest. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Lab {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) initramfs: PathBuf,
    scratch: Arc<Scratch>,
}

impl Lab {
    /// Prepares for the live test called `test` (a word for file names). Where live tests cannot run it prints
    /// `SKIPPED` with the reason and returns `None`; with `CI=true` in the environment it panics instead, since
    /// a live test that did not run has shown nothing.
    pub fn ready(test: &str) -> Option<Self> {
        match Self::prepare(test) {
            Ok(lab) => Some(lab),
            Err(reason) if std::env::var("CI").is_ok_and(|value| value == "true") => {
                panic!("the live test {test} could not run: {reason}")
            }
            Err(reason) => {
                // Not println!: the test runner swallows the output of tests that pass.
                let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
                None
            }
        }
    }

    fn prepare(test: &str) -> Result<Self, String> {
        packages::present()?;
        let live = build_directory()?.join("live");
        let scratch = Scratch::create(&live, test)?;
        let kernel = Kernel::prepare(&live, scratch.path())?;
        let initramfs = initramfs::build(&kernel, scratch.path())?;
        Ok(Self { kernel: Arc::new(kernel), initramfs, scratch: Arc::new(scratch) })
    }

    /// The folder for this test's files. It goes with the last owner of the lab; after a failed test its
    /// captures and logs are kept in the build directory, as `live/failed/TEST`, until the test runs again.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Keeps the folder, as after a failed test.
    pub(crate) fn keep(&self) {
        self.scratch.has_failed.store(true, Ordering::Relaxed);
    }

    /// `name` with a number that makes it new in this lab, for files and processes.
    pub(crate) fn unique(&self, name: &str) -> String {
        let number = self.scratch.number.fetch_add(1, Ordering::Relaxed);
        format!("{number:03}-{name}")
    }
}

/// Cargo's build directory, found from this program's place in it (`BUILD/PROFILE/deps/PROGRAM`), wherever
/// it was told to build.
pub(crate) fn build_directory() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| format!("where is this program? {error}"))?;
    let place = program.ancestors().nth(3).filter(|place| place.join("CACHEDIR.TAG").exists());
    place
        .map(Path::to_owned)
        .ok_or_else(|| format!("{} is not in a build directory of cargo", program.display()))
}

#[derive(Debug)]
struct Scratch {
    path: PathBuf,
    failed: PathBuf,
    number: AtomicU32,
    has_failed: AtomicBool,
}

impl Scratch {
    fn create(live: &Path, test: &str) -> Result<Self, String> {
        let path = live.join(format!("run-{}-{test}", std::process::id()));
        let failed = live.join("failed").join(test);
        let _ = fs::remove_dir_all(&failed);
        sweep(live);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, failed, number: AtomicU32::new(0), has_failed: AtomicBool::new(false) })
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::thread::panicking() || self.has_failed.load(Ordering::Relaxed) {
            let _ = fs::remove_file(self.path.join("initramfs.cpio"));
            let _ = self.failed.parent().map(fs::create_dir_all);
            if fs::rename(&self.path, &self.failed).is_ok() {
                let _ = writeln!(std::io::stderr(), "captures and logs are in {}", self.failed.display());
            }
        }
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of test processes that were killed before they could.
fn sweep(live: &Path) {
    for entry in fs::read_dir(live).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix("run-")?.split('-').next());
        if id.is_some_and(is_gone) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether `id` is the number of a process that is no more, or that only waits for its parent to notice its end.
pub(crate) fn is_gone(id: &str) -> bool {
    if id.parse::<u32>().is_err() {
        return false;
    }
    match fs::read_to_string(Path::new("/proc").join(id).join("stat")) {
        // "NUMBER (NAME) STATE …", where the name may hold anything.
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_of_no_process_is_gone() {
        assert!(!is_gone(&std::process::id().to_string()));
        assert!(!is_gone("self"));
        // Above the largest number that Linux gives.
        assert!(is_gone("4194305"));
    }
}
