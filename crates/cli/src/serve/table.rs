//! The table of clients: drawn anew in its place on a terminal, as lines elsewhere.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::net::IpAddr;
use std::time::Instant;

use rdmalab_device::Counters;
use rdmalab_programs::serve::{Count, Ledger, Program, Row};

use super::counters;
use crate::outcome::{Result, print};

/// Lines of news that stay in sight on a terminal.
const NEWS: usize = 8;
const HEAD: &str = "program    peer                                    now    served   refused   failed     \
                    messages     per s      MB   MB/s";

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

    /// Shows how things are now.
    pub fn show(&mut self, ledger: &Ledger, counters: &Counters, news: Vec<String>) -> Result<()> {
        let rows = self.rows(ledger);
        if !self.is_live {
            for line in news {
                print(line)?;
            }
            return match rows.is_empty() {
                true => Ok(()),
                false => print(rows.join("\n")),
            };
        }
        self.news.extend(news);
        let stale = self.news.len().saturating_sub(NEWS);
        self.news.drain(..stale);
        let (width, height) = terminal_size::terminal_size()
            .map_or((80, 24), |(width, height)| (usize::from(width.0), usize::from(height.0)));
        let below: Vec<String> = counters::lines(counters).into_iter().chain(self.news.clone()).collect();
        let mut lines = vec![HEAD.to_owned()];
        lines.extend(rows);
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
        print(HEAD)?;
        let rows = self.rows(ledger);
        if rows.is_empty() { print("nobody came") } else { print(rows.join("\n")) }
    }

    fn rows(&mut self, ledger: &Ledger) -> Vec<String> {
        let seconds = self.then.elapsed().as_secs_f64().max(1e-3);
        self.then = Instant::now();
        let rows = ledger.rows();
        let lines = rows.iter().map(|row| self.line(row, seconds)).collect();
        self.before = rows.iter().map(|row| ((row.program, row.peer), row.count)).collect();
        lines
    }

    fn line(&self, row: &Row, seconds: f64) -> String {
        let Row { program, peer, count } = row;
        let before = self.before.get(&(*program, *peer)).copied().unwrap_or_default();
        let rate = count.messages.saturating_sub(before.messages) as f64 / seconds;
        let megabytes = count.bytes.saturating_sub(before.bytes) as f64 / seconds / 1e6;
        let peer = peer.map_or_else(|| "others".to_owned(), |peer| peer.to_string());
        format!(
            "{:<10} {peer:<36} {:>6} {:>9} {:>9} {:>8} {:>12} {rate:>9.0} {:>7.1} {megabytes:>6.1}",
            program.name(),
            count.now,
            count.served,
            count.refused,
            count.failed,
            count.messages,
            count.bytes as f64 / 1e6,
        )
    }
}
