//! What the programs of a game must have said, beside that all was well.

use super::game::Said;
use super::{Cell, Peer, Program, Role};
use crate::Output;

impl Cell {
    /// `Err` says what is wrong with what they said.
    pub(super) fn check(&self, said: &Said) -> Result<(), String> {
        let is_ours_called = self.peer != Peer::Linux || self.role == Role::Client;
        let ours = if is_ours_called && !matches!(self.program, Program::Verbs | Program::Refused) {
            &said.server
        } else {
            &said.client
        };
        match self.program {
            Program::Perf(..) => self.check_results(&said.server, &said.client)?,
            Program::Served(row, clients) => {
                let found =
                    Row::of(&said.server, row).ok_or_else(|| format!("no row of {row}: {}", said.server))?;
                let wanted = Row { served: clients, refused: 0, failed: 0 };
                if found != wanted {
                    return Err(format!("{row}: {found:?} instead of {wanted:?}: {}", said.server));
                }
            }
            // It shows the data of each ping, which it has READ from us.
            Program::Rping if !is_ours_called => {
                let pings = said.server.stdout.matches("server ping data: rdma-ping-").count() as u64;
                if Some(pings) != self.option("-C") {
                    return Err(format!("{pings} pings: {}", said.server));
                }
            }
            Program::Verbs if !said.server.stdout.contains(r#""verdict": "ok", "other": "ok""#) => {
                return Err(format!("no verdict: {}", said.server));
            }
            Program::Pingpong(_)
            | Program::Rping
            | Program::Called(_)
            | Program::Verbs
            | Program::Refused => {}
        }
        let tells = matches!(self.program, Program::Pingpong(_) | Program::Perf(..) | Program::Verbs);
        // Of iWARP the FPDUs are told, which are fewer than the segments.
        let sent = ours.number_after("iWARP: ").or_else(|| ours.number_after("RoCE packets: "));
        if let Some((_, word)) = self.our_fault()
            && tells
            && sent.is_none_or(|sent| self.fault.certainly_strikes(sent))
        {
            let label = format!("{word} by rule:");
            if ours.number_after(&label).is_none_or(|count| count == 0) {
                return Err(format!("nothing was {word} by us: {ours}"));
            }
        }
        Ok(())
    }

    /// Both printed results of the size and the number of messages that they were told, and the same ones, letter by
    /// letter, where the exchange carries results.
    fn check_results(&self, server: &Output, client: &Output) -> Result<(), String> {
        let Program::Perf(word, _) = self.program else { return Ok(()) };
        let (at_server, at_client) = (row(server), row(client));
        let is_latency = word.ends_with("--lat");
        let is_answered = word.starts_with("read") || word.starts_with("atomic");
        let size = if word.starts_with("atomic") { 8 } else { self.option("-s").unwrap_or(8) };
        let count = self.option("-n").unwrap_or(0) * self.option("-q").unwrap_or(1);
        let expected = format!("{size} {count}");
        for (whose, row, is_client) in [("server", &at_server, false), ("client", &at_client, true)] {
            // The server of a READ's or atomic's latency has nothing to say.
            let has_row = !is_latency || !is_answered || is_client;
            if row.is_some() != has_row {
                return Err(format!("the {whose}'s results: {server}\n{client}"));
            }
            let Some(row) = row else { continue };
            let start: Vec<&str> = row.split_whitespace().take(2).collect();
            if start.join(" ") != expected {
                return Err(format!("the {whose} says {row:?}, not {expected:?} …"));
            }
        }
        let is_told = !is_latency && (!word.starts_with("send") || self.has("-b"));
        if is_told && at_server != at_client {
            return Err(format!("the server's results {at_server:?} are not the client's {at_client:?}"));
        }
        Ok(())
    }
}

/// The line of results, if there is one.
fn row(output: &Output) -> Option<&str> {
    let mut lines = output.stdout.lines().skip_while(|line| !line.trim_start().starts_with("#bytes"));
    lines.nth(1).map(str::trim_end).filter(|line| !line.starts_with('-'))
}

/// What the last table of `serve` says of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) served: u64,
    pub(super) refused: u64,
    pub(super) failed: u64,
}

impl Row {
    pub(super) fn of(said: &Output, program: &str) -> Option<Self> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let mut rows = said.stdout.lines().rev().map(words);
        let row = rows.find(|row| row.first().is_some_and(|first| first == program) && row.len() > 6)?;
        let number = |place: usize| row.get(place).and_then(|word| word.parse().ok());
        Some(Self { served: number(3)?, refused: number(4)?, failed: number(5)? })
    }
}
