//! The daily choice of the cells with siw: few, in which nevertheless each value of each dimension meets each value of each
//! other one, where any cell has both.

use std::collections::BTreeSet;

use super::Iwarp;
use crate::matrix::{Cell, Fault, Mishap, Program, Role};

/// A value of a dimension: the dimension's place in [`values`], and the value.
type Value = (usize, &'static str);

/// The cells that are played daily.
#[derive(Debug)]
pub(super) struct Choice(BTreeSet<String>);

impl Choice {
    /// Takes, again and again, the cell with most pairs of values that no chosen one has; among equals, one with the setting of
    /// a chosen one, since settings take time.
    pub(super) fn of(cells: &[Cell]) -> Self {
        let all: Vec<(&Cell, BTreeSet<(Value, Value)>)> = cells
            .iter()
            .filter(|cell| cell.program != Program::Refused)
            .map(|cell| (cell, pairs(cell)))
            .collect();
        let mut missing: BTreeSet<_> = all.iter().flat_map(|(_, pairs)| pairs).copied().collect();
        let (mut settings, mut chosen) = (Vec::new(), BTreeSet::new());
        while !missing.is_empty() {
            let worth = |(cell, pairs): &&(&Cell, BTreeSet<_>)| {
                (pairs.intersection(&missing).count(), settings.contains(&setting(cell)))
            };
            // The first one of those that are worth most.
            let Some((cell, pairs)) = all.iter().rev().max_by_key(worth) else { break };
            missing.retain(|pair| !pairs.contains(pair));
            settings.push(setting(cell));
            chosen.insert(cell.to_string());
        }
        Self(chosen)
    }

    /// Whether a cell is among them.
    pub(super) fn takes(&mut self, cell: &Cell) -> bool {
        self.0.contains(&cell.to_string())
    }
}

fn setting(cell: &Cell) -> (Role, Option<Iwarp>, Fault, bool) {
    (cell.role, cell.iwarp, cell.fault, cell.mishap.is_some())
}

/// All pairs of values that a cell has.
fn pairs(cell: &Cell) -> BTreeSet<(Value, Value)> {
    let values = values(cell);
    let pairs = values
        .iter()
        .enumerate()
        .flat_map(|(place, one)| values[place + 1..].iter().map(move |other| (*one, *other)));
    pairs.collect()
}

/// What a cell has of each dimension.
fn values(cell: &Cell) -> Vec<Value> {
    let (operation, measured) = match cell.program {
        Program::Perf(word, _) => match word.split_once(' ') {
            Some((operation, _)) => (operation, "latency"),
            None => (word, "bandwidth"),
        },
        Program::Rping | Program::Served("rping", _) => ("rping", "nothing"),
        _ => ("ucmatose", "nothing"),
    };
    let size = match cell.option("-s") {
        Some(0..=1) => "1",
        Some(2..=64) => "33",
        Some(65536) => "65536",
        Some(1_048_576) => "1 MiB",
        _ => "another size",
    };
    let pairs = if cell.option("-q").is_some() { "many queue pairs" } else { "one" };
    let role = if cell.role == Role::Client { "client" } else { "server" };
    let carrier = match cell.iwarp.map(|iwarp| iwarp.carrier) {
        Some(super::Carrier::Sockets) => "sockets",
        _ => "host",
    };
    let crc = if cell.iwarp.is_some_and(|iwarp| iwarp.crc) { "CRC" } else { "no CRC" };
    let family = if cell.family == crate::matrix::Family::V4 { "IPv4" } else { "IPv6" };
    let circumstances = match (cell.mishap, cell.fault) {
        (Some(Mishap::NobodyListens), _) => "nobody",
        (Some(Mishap::Killed(victim)), _) if victim == cell.role => "Linux is killed",
        (Some(Mishap::Killed(_)), _) => "ours is killed",
        (None, Fault::None) => "none",
        (None, Fault::Delay) => "delay",
        (None, Fault::Reordering) => "reordering",
        (None, _) => "loss",
    };
    let values = [operation, measured, size, pairs, role, carrier, crc, family, circumstances];
    values.into_iter().enumerate().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cells_are_chosen_and_have_every_pair_that_any_has() {
        let all = super::super::cells();
        let has = |daily: bool| -> BTreeSet<_> {
            let of = all.iter().filter(|cell| cell.program != Program::Refused && (cell.daily || !daily));
            of.flat_map(pairs).collect()
        };
        assert_eq!(has(true), has(false));
        let count = all.iter().filter(|cell| cell.daily).count();
        assert!(count * 10 < all.len(), "{count} of {}", all.len());
    }
}
