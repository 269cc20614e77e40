//! The table of what was played, as Markdown.

use std::fmt;
use std::process::Command;

use super::{Cell, Fault, Group, Page, Peer, Played};
use crate::Place;

/// Of what all that was played.
#[derive(Debug)]
pub struct Versions {
    /// A name and a version each.
    pub parts: Vec<(String, String)>,
}

/// All that was played.
#[derive(Debug, Default)]
pub struct Report {
    /// The cells.
    pub cells: Vec<Played>,
    /// RoCE packets, or FPDUs of iWARP, in captures, none malformed and each with the checksum that it should have.
    pub packets: u64,
}

/// Debian packages whose versions count.
const PACKAGES: [(&str, &str); 5] = [
    ("ibverbs-utils", "rdma-core"),
    ("perftest", "perftest"),
    ("python3-pyverbs", "pyverbs"),
    ("qemu-system-x86", "QEMU"),
    ("iproute2", "iproute2"),
];

impl Versions {
    /// Looks them up, the kernel's in the guest.
    #[track_caller]
    pub fn of(place: &Place) -> Self {
        let said = place.guest.run("uname -r", std::time::Duration::from_secs(60)).expect_success("uname");
        let mut parts = vec![("Linux in the guest".to_owned(), said.stdout.trim().to_owned())];
        for (package, name) in PACKAGES {
            let ask = Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]).output();
            let version =
                ask.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default();
            parts.push((name.to_owned(), if version.is_empty() { "unknown".to_owned() } else { version }));
        }
        let ask = Command::new(place.program()).arg("--version").output();
        let version =
            ask.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
        parts.push(("this program".to_owned(), format!("{version}{}", commit())));
        Self { parts }
    }
}

/// Of the sources, in words, and whether they differ from it; nothing where there is no Git to ask.
fn commit() -> String {
    let mut ask = Command::new("git");
    ask.args(["describe", "--always", "--dirty= and changes", "--exclude=*", "--abbrev=10"]);
    let said =
        ask.current_dir(env!("CARGO_MANIFEST_DIR")).output().map(|said| said.stdout).unwrap_or_default();
    match String::from_utf8_lossy(&said).trim() {
        "" => String::new(),
        commit => format!(", commit {commit}"),
    }
}

impl Report {
    /// Whether a cell has passed according to a page.
    pub fn has_passed(page: &str, cell: &Cell) -> bool {
        let row = format!("{} {PASSED} |", key(cell));
        page.lines().any(|line| line.starts_with(&row))
    }

    /// Whether all went well.
    pub fn is_fine(&self) -> bool {
        self.failed() == 0
    }

    /// How many cells failed.
    pub fn failed(&self) -> usize {
        self.cells.iter().filter(|played| played.failure.is_some()).count()
    }

    /// All cells of a group have failed, since its capture is not sound, or something else is wrong with all of it.
    pub fn fail(&mut self, group: &Group, why: &str) {
        for cell in &group.cells {
            match self.cells.iter_mut().find(|played| played.cell == *cell) {
                Some(played) => _ = played.failure.get_or_insert_with(|| why.to_owned()),
                None => self.cells.push(Played {
                    cell: *cell,
                    seconds: 0.0,
                    again: Vec::new(),
                    failure: Some(why.to_owned()),
                }),
            }
        }
    }

    /// The whole page. Rows of cells that were not played are taken from `before`, an earlier page.
    pub fn page(&self, page: Page, versions: &Versions, before: &str) -> String {
        let rows = |of: fn(Peer) -> bool| {
            let all = page.cells().into_iter().filter(|cell| of(cell.peer));
            all.filter_map(|cell| self.row(&cell, before)).collect::<Vec<_>>()
        };
        let (with_linux, among_ours) = (rows(|peer| peer == Peer::Linux), rows(|peer| peer != Peer::Linux));
        let count = |result: &str| {
            with_linux
                .iter()
                .chain(&among_ours)
                .filter(|row| row.contains(&format!(" | {result} | ")))
                .count()
        };
        let mut text = String::from(page.head());
        for (name, version) in &versions.parts {
            text += &format!("| {name} | {version} |\n");
        }
        text += &format!("\n{} cells passed, {} failed.\n", count(PASSED), count(FAILED));
        for (heading, rows) in [("With Linux", with_linux), ("Among ourselves", among_ours)] {
            if !rows.is_empty() {
                text += &format!("\n## {heading}\n\n{}", table(&rows));
            }
        }
        for played in self.cells.iter().filter(|played| !played.again.is_empty()) {
            text += &format!("\nPlayed again, {}: {}.\n", played.cell, played.again.join("; "));
        }
        text
    }

    /// The row of a cell, or else that of an earlier page.
    fn row(&self, cell: &Cell, before: &str) -> Option<String> {
        let key = key(cell);
        let Some(played) = self.cells.iter().find(|played| played.cell == *cell) else {
            return before.lines().find(|line| line.starts_with(&key)).map(str::to_owned);
        };
        let result = if played.failure.is_some() { FAILED } else { PASSED };
        let again = if played.again.is_empty() { String::new() } else { played.again.len().to_string() };
        Some(format!("{key} {result} | {again} | {:.1} |", played.seconds))
    }
}

const PASSED: &str = "passed";
const FAILED: &str = "**failed**";

/// What a cell's row begins with.
fn key(cell: &Cell) -> String {
    let mut link = Vec::new();
    link.extend(cell.iwarp.map(|iwarp| iwarp.to_string()));
    if cell.link_mtu != Cell::LINK_MTU {
        link.push(format!("MTU {}", cell.link_mtu));
    }
    if cell.in_vlan {
        link.push("VLAN".to_owned());
    }
    if cell.fault != Fault::None {
        link.push(cell.fault.to_string());
    }
    link.extend(cell.mishap.map(|mishap| mishap.to_string()));
    let who = if cell.peer == Peer::Linux { cell.role.to_string() } else { cell.peer.to_string() };
    format!("| `{}` | {who} | {} | {} |", cell.line(), cell.family, link.join(", "))
}

fn table(rows: &[String]) -> String {
    let head = "| programs | the other side | addresses | link | result | played again | s |\n\
                |---|---|---|---|---|---|---|\n";
    rows.iter().fold(head.to_owned(), |table, row| table + row + "\n")
}

impl fmt::Display for Report {
    /// In a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again: usize = self.cells.iter().map(|played| played.again.len()).sum();
        let seconds: f64 = self.cells.iter().map(|played| played.seconds).sum();
        let (passed, all) = (self.cells.len() - self.failed(), self.cells.len());
        write!(
            f,
            "{passed} of {all} cells passed, {again} games were played again, {seconds:.0} s of games; {} RoCE packets \
             or FPDUs were captured with every checksum right and none malformed",
            self.packets
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_the_rows_of_what_was_not_played() {
        let versions = Versions { parts: vec![("rdmalab".to_owned(), "1".to_owned())] };
        let all = Page::Rxe.cells();
        let played = |cell: &Cell, failure: Option<&str>| Played {
            cell: *cell,
            seconds: 1.0,
            again: Vec::new(),
            failure: failure.map(str::to_owned),
        };
        let report = |cells: Vec<Played>| Report { cells, packets: 1 }.page(Page::Rxe, &versions, "");
        let first = report(vec![played(&all[0], Some("why")), played(&all[1], None)]);
        assert!(first.contains("\n1 cells passed, 1 failed.\n"), "{first}");
        let second = Report { cells: vec![played(&all[0], None)], packets: 1 };
        let second = second.page(Page::Rxe, &versions, &first);
        assert!(second.contains("\n2 cells passed, 0 failed.\n"), "{second}");
        assert_eq!(second.matches("| passed | ").count(), 2, "{second}");
        assert!(Report::has_passed(&second, &all[0]) && !Report::has_passed(&first, &all[0]));
    }
}
