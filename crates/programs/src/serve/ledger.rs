//! What has been served so far, by program and by peer.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use super::Program;

/// Peers that are told apart. What others do is counted without a name.
const MOST_PEERS: usize = 256;

/// What there is to count of a program, or of a program and a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Clients that are there now.
    pub now: u64,
    /// Clients that have been let in.
    pub served: u64,
    /// Clients that have not.
    pub refused: u64,
    /// Clients that went otherwise than they should.
    pub failed: u64,
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The program.
    pub program: Program,
    /// The peer; `None` stands for all that have no line of their own.
    pub peer: Option<IpAddr>,
    /// The counts.
    pub count: Count,
}

/// What has been served so far. Any thread may add to it and look at it.
#[derive(Debug, Default)]
pub struct Ledger {
    rows: Mutex<BTreeMap<(Program, Option<IpAddr>), Count>>,
}

impl Ledger {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// All lines, in order of programs and peers.
    pub fn rows(&self) -> Vec<Row> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().map(|(&(program, peer), &count)| Row { program, peer, count }).collect()
    }

    /// The sum over all peers of a program.
    pub fn total(&self, program: Program) -> Count {
        let mut sum = Count::default();
        for Row { count, .. } in self.rows().into_iter().filter(|row| row.program == program) {
            sum.now += count.now;
            sum.served += count.served;
            sum.refused += count.refused;
            sum.failed += count.failed;
            sum.messages += count.messages;
            sum.bytes += count.bytes;
        }
        sum
    }

    pub(crate) fn came(&self, program: Program, peer: Option<IpAddr>) {
        self.change(program, peer, |count| {
            count.now += 1;
            count.served += 1;
        });
    }

    pub(crate) fn refused(&self, program: Program, peer: Option<IpAddr>) {
        self.change(program, peer, |count| count.refused += 1);
    }

    pub(crate) fn did(&self, program: Program, peer: Option<IpAddr>, messages: u64, bytes: u64) {
        self.change(program, peer, |count| {
            count.messages += messages;
            count.bytes += bytes;
        });
    }

    pub(crate) fn gone(&self, program: Program, peer: Option<IpAddr>, failed: bool) {
        self.change(program, peer, |count| {
            count.now = count.now.saturating_sub(1);
            count.failed += u64::from(failed);
        });
    }

    /// Lines stay, so that who came under a name goes under it.
    fn change(&self, program: Program, peer: Option<IpAddr>, change: impl FnOnce(&mut Count)) {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = rows.contains_key(&(program, peer)) || rows.len() < MOST_PEERS;
        change(rows.entry((program, if is_known { peer } else { None })).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_beyond_the_limit_share_a_line() {
        let ledger = Ledger::new();
        for number in 0..2000_u32 {
            let peer = Some(IpAddr::from(number.to_be_bytes()));
            ledger.came(Program::Rping, peer);
            ledger.did(Program::Rping, peer, 2, 10);
            ledger.gone(Program::Rping, peer, number % 2 == 0);
        }
        assert!(ledger.rows().len() <= MOST_PEERS + 1);
        let expected =
            Count { served: 2000, failed: 1000, messages: 4000, bytes: 20_000, ..Count::default() };
        assert_eq!(ledger.total(Program::Rping), expected);
        assert_eq!(ledger.total(Program::Udaddy), Count::default());
    }
}
