//! Finds the test files and what is in them.

use std::fs;
use std::path::{Path, PathBuf};

use super::rule::{self, Rule};

/// A file below a folder of tests.
pub struct TestFile {
    /// Its path from `crates` on.
    pub name: String,
    pub rules: Vec<Rule>,
    /// Functions with `#[test]`.
    pub tests: usize,
    /// It has a `main` of its own and is no list of tests.
    pub is_program: bool,
    /// It is the first file of a test program, and its rules may be proven by the others beside it.
    pub is_head: bool,
}

/// All files of Rust below a folder of `crates`, in the order of their names.
pub fn files(crates: &Path, folder: &str, faults: &mut Vec<String>) -> Vec<TestFile> {
    let mut paths = Vec::new();
    walk(&crates.join(folder), &mut paths);
    paths.sort();
    paths.iter().map(|path| file(crates, path, faults)).collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

fn file(crates: &Path, path: &Path, faults: &mut Vec<String>) -> TestFile {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.strip_prefix(crates).unwrap_or(path).to_string_lossy().replace('\\', "/");
    let rules = rule::in_head(&name, &text, faults);
    let lines = || text.lines().map(str::trim);
    TestFile {
        is_head: name.ends_with("/main.rs"),
        name,
        rules,
        tests: lines().filter(|line| *line == "#[test]").count(),
        is_program: lines().any(|line| line.starts_with("fn main()")),
    }
}
