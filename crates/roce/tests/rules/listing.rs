//! All rules together, and how they are printed.

use std::fmt;
use std::fs;
use std::path::Path;

use super::collect::{self, TestFile};
use super::not_covered::{self, NotCovered};
use super::rule::{PREFIXES, Rule};

/// What was found.
pub struct Listing {
    pub files: Vec<TestFile>,
    pub not_covered: Vec<NotCovered>,
    /// Lines that are not as they must be.
    pub faults: Vec<String>,
}

impl Listing {
    /// The rules of this repository.
    pub fn of_the_repository() -> Self {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate lies in a folder");
        let mut faults = Vec::new();
        let mut files = collect::files(crates, "roce/tests", &mut faults);
        files.extend(collect::files(crates, "verbs/tests", &mut faults));
        let name = "roce/tests/RULES-NOT-COVERED.md";
        let text = fs::read_to_string(crates.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let not_covered = not_covered::parse(name, &text, &mut faults);
        Self { files, not_covered, faults }
    }

    /// All rules, covered or not.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        let covered = self.files.iter().flat_map(|file| &file.rules);
        covered.chain(self.not_covered.iter().map(|other| &other.rule))
    }

    /// Whether the first file of a file's test program names the rules for it.
    pub fn speaks_for(&self, file: &TestFile) -> bool {
        self.files.iter().filter(|head| head.is_head && !head.rules.is_empty()).any(|head| {
            let folder = head.name.trim_end_matches("main.rs");
            file.name.starts_with(folder)
        })
    }

    /// Tests that stand for the rules of a file: its own, or those of the program that it is the first file of.
    fn tests(&self, file: &TestFile) -> String {
        if file.is_program {
            return "a program".to_owned();
        }
        let folder = file.name.trim_end_matches("main.rs");
        let beside = self.files.iter().filter(|other| file.is_head && other.name.starts_with(folder));
        let tests = if file.is_head { beside.map(|other| other.tests).sum() } else { file.tests };
        format!("{tests} test{}", if tests == 1 { "" } else { "s" })
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let covered: usize = self.files.iter().map(|file| file.rules.len()).sum();
        writeln!(f, "{covered} rules with tests, {} without\n", self.not_covered.len())?;
        for (prefix, meaning) in PREFIXES {
            let of_prefix = |rule: &&Rule| rule.prefix() == prefix;
            if !self.rules().any(|rule| of_prefix(&rule)) {
                continue;
            }
            writeln!(f, "{prefix}: {meaning}")?;
            for file in &self.files {
                for rule in file.rules.iter().filter(of_prefix) {
                    writeln!(
                        f,
                        "  {}: {}\n      {}, {}",
                        rule.id,
                        rule.sentence,
                        file.name,
                        self.tests(file)
                    )?;
                }
            }
            for other in self.not_covered.iter().filter(|other| of_prefix(&&other.rule)) {
                let NotCovered { rule, why } = other;
                writeln!(f, "  NOT COVERED {}: {}\n      {why}", rule.id, rule.sentence)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
