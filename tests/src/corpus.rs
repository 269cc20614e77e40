//! The inputs that fuzzing kept, `fuzz/corpus` at the root of the repository.

use std::path::{Path, PathBuf};

/// All of them, by the target that they are for.
pub const TARGETS: [&str; 11] = [
    "capture",
    "cm",
    "craft_spec",
    "iwarp_start_up",
    "iwarp_stream",
    "lint",
    "packet",
    "pair",
    "queue_pair",
    "stream",
    "view",
];

/// The files of a target, by name, and what they hold. A panic if there are too few for the corpus to be where it is looked for.
#[track_caller]
pub fn files(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let read = |path: PathBuf| match std::fs::read(&path) {
        Ok(bytes) => (path, bytes),
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let entries =
        std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    assert!(paths.len() >= 5, "{} holds only {} files", directory.display(), paths.len());
    paths.into_iter().map(read).collect()
}
