//! The table of clients: drawn anew in its place on a terminal, as lines elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::net::IpAddr;
use std::time::Instant;

use rdmalab_programs::serve::{Count, Ledger, Program, Row};

use super::columns::{self, COLUMNS};
use crate::outcome::{Result, print};

/// Lines of news that stay in sight on a terminal.
const NEWS: usize = 8;
/// Draws the table, and knows what was there last.
pub struct Table {
    is_live: bool,
    /// Lines that are on the terminal now.
    drawn: usize,
    before: BTreeMap<(Program, Option<IpAddr>), Count>,
    then: Instant,
    news: Vec<String>,
}

impl Table {
    /// Nothing is drawn yet.
    pub fn new() -> Self {
        Self {
            is_live: std::io::stdout().is_terminal(),
            drawn: 0,
            before: BTreeMap::new(),
            then: Instant::now(),
            news: Vec::new(),
        }
    }

    /// Whether it is drawn anew in its place.
    pub fn is_live(&self) -> bool {
        self.is_live
    }

    /// Shows how things are now; on a terminal with lines about counters below.
    pub fn show(&mut self, ledger: &Ledger, counters: &[String], news: Vec<String>) -> Result<()> {
        if !self.is_live {
            let rows = self.rows(ledger, None);
            for line in news {
                print(line)?;
            }
            return if ledger.rows().is_empty() { Ok(()) } else { print(rows.join("\n")) };
        }
        self.news.extend(news);
        let stale = self.news.len().saturating_sub(NEWS);
        self.news.drain(..stale);
        let (width, height) = terminal();
        let mut below: Vec<String> = counters.iter().flat_map(|line| folded(line, width)).collect();
        below.extend(self.news.clone());
        let mut lines = self.rows(ledger, Some(width));
        let room = height.saturating_sub(below.len() + 2).max(2);
        if lines.len() > room {
            let more = lines.len() - room + 1;
            lines.truncate(room - 1);
            lines.push(format!("and {more} more lines"));
        }
        lines.extend(below);
        let up = if self.drawn > 0 { format!("\x1b[{}A\r\x1b[J", self.drawn) } else { String::new() };
        self.drawn = lines.len().min(height.saturating_sub(1));
        let cut = |line: &String| line.chars().take(width).collect::<String>();
        let text: Vec<String> = lines.iter().take(self.drawn).map(cut).collect();
        print(format_args!("{up}{}", text.join("\n")))
    }

    /// The table at the end, whole.
    pub fn last(&mut self, ledger: &Ledger, news: Vec<String>) -> Result<()> {
        if self.is_live && self.drawn > 0 {
            print(format_args!("\x1b[{}A\r\x1b[J", self.drawn))?;
        }
        for line in news {
            print(line)?;
        }
        if ledger.rows().is_empty() {
            return print("nobody came");
        }
        let width = self.is_live.then(|| terminal().0);
        print(self.rows(ledger, width).join("\n"))
    }

    /// The head of the table, and its lines; no wider than that, where it can be helped.
    fn rows(&mut self, ledger: &Ledger, width: Option<usize>) -> Vec<String> {
        let seconds = self.then.elapsed().as_secs_f64().max(1e-3);
        self.then = Instant::now();
        let rows = ledger.rows();
        let cells: Vec<_> = rows.iter().map(|row| self.cells(row, seconds)).collect();
        self.before = rows.iter().map(|row| ((row.program, row.peer), row.count)).collect();
        columns::lines(&cells, width)
    }

    fn cells(&self, row: &Row, seconds: f64) -> [String; COLUMNS] {
        let Row { program, peer, count } = row;
        let before = self.before.get(&(*program, *peer)).copied().unwrap_or_default();
        let rate = count.messages.saturating_sub(before.messages) as f64 / seconds;
        let megabytes = count.bytes.saturating_sub(before.bytes) as f64 / seconds / 1e6;
        [
            program.name().to_owned(),
            peer.map_or_else(|| "others".to_owned(), |peer| peer.to_string()),
            count.now.to_string(),
            count.served.to_string(),
            count.refused.to_string(),
            count.failed.to_string(),
            count.messages.to_string(),
            format!("{rate:.0}"),
            format!("{:.1}", count.bytes as f64 / 1e6),
            format!("{megabytes:.1}"),
        ]
    }
}

/// Columns and lines of the terminal.
fn terminal() -> (usize, usize) {
    let size = terminal_size::terminal_size();
    size.map_or((80, 24), |(width, height)| (width.0.into(), height.0.into()))
}

/// A line of words as lines of a width, those behind the first set in.
fn folded(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        match lines.last_mut() {
            Some(last) if last.is_empty() => last.push_str(word),
            Some(last) if last.len() + 1 + word.len() <= width => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(format!("  {word}")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_folded_and_none_is_lost() {
        let line = "counters: sent_pkts=1 rcvd_pkts=22 rdma_sends=333";
        assert_eq!(folded(line, 22), ["counters: sent_pkts=1", "  rcvd_pkts=22", "  rdma_sends=333"]);
        assert_eq!(folded(line, 1000), [line]);
        assert_eq!(folded("", 10), [""]);
    }

    #[test]
    fn without_a_peer_a_row_stands_for_all_others() {
        let row = Row { program: Program::Rping, peer: None, count: Count { served: 7, ..Count::default() } };
        assert_eq!(Table::new().cells(&row, 1.0)[..4], ["rping", "others", "0", "7"]);
    }
}
