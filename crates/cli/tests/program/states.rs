//! `rdmalab states`.

use rdmalab_verbs::{QueuePairType, transitions};

use crate::program::rdmalab;

#[test]
fn the_document_in_the_repository_is_what_the_command_prints() {
    let run = rdmalab(&["states", "--markdown"]).exits(0);
    // When the tables change: cargo run -p rdmalab -- states --markdown > crates/verbs/STATES.md
    assert_eq!(run.out, include_str!("../../../verbs/STATES.md"));
}

#[test]
fn no_line_is_longer_than_a_hundred_columns() {
    let run = rdmalab(&["states"]).exits(0);
    for line in run.lines() {
        assert!(line.chars().count() <= 100, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn every_change_of_state_is_there_with_all_its_attributes() {
    for (name, kind) in ["rc", "uc", "ud", "xrc-ini", "xrc-tgt"].into_iter().zip(QueuePairType::ALL) {
        let run = rdmalab(&["states", "--transport", name]).exits(0);
        // A row and the lines below it, up to the next row, are one text.
        let (_, table) = run.out.split_once(&format!("\n{kind}\n")).unwrap();
        let rows: Vec<String> = table.lines().skip(2).fold(Vec::new(), |mut rows, line| {
            match rows.last_mut() {
                Some(row) if line.starts_with(' ') => row.push_str(line),
                _ => rows.push(line.to_owned()),
            }
            rows
        });
        for change in transitions(kind) {
            let (from, to) = (change.from.to_string(), change.to.to_string());
            let row = rows.iter().find(|row| {
                let mut words = row.split_whitespace();
                words.next().is_some_and(|word| word == from || word == "any")
                    && words.next() == Some(to.as_str())
            });
            let row = row.unwrap_or_else(|| panic!("{kind}: {from} to {to} is missing:\n{}", run.out));
            let words: Vec<&str> = row.split_whitespace().collect();
            for attribute in change.required.union(change.optional).names() {
                assert!(words.contains(&attribute), "{kind}: {attribute} is missing in: {row}");
            }
            let attributes = words.iter().filter(|word| word.starts_with("IBV_QP_")).count();
            assert_eq!(attributes, change.required.union(change.optional).names().count(), "{row}");
        }
        assert!(rows.len() < transitions(kind).count(), "rows that are alike are joined");
    }
}

#[test]
fn xrc_has_the_tables_of_both_ends() {
    let titles = |kind: &str| {
        let run = rdmalab(&["states", "--transport", kind]).exits(0);
        let is_title = |line: &&str| QueuePairType::ALL.iter().any(|kind| *line == kind.to_string());
        run.lines().into_iter().filter(is_title).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(titles("xrc"), ["XRC_INI", "XRC_TGT"]);
    assert_eq!(titles("xrc-tgt"), ["XRC_TGT"]);
}

#[test]
fn a_kind_that_does_not_exist_is_told() {
    rdmalab(&["states", "--transport", "rd"])
        .exits(2)
        .says("possible values: rc, uc, ud, xrc, xrc-ini, xrc-tgt");
}
