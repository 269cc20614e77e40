//! What loss costs: one MiB by WRITE, SEND and READ over a link of 10 Gbit/s that loses packets both ways, for every loss,
//! path MTU and number of operations outstanding, in virtual time.
//!
//! The rows stand in `table.txt`, so that a change of behaviour is a change of that file. A run compares; with
//! `BLESS=1 cargo test -p rdmalab-roce --test matrix` it writes the file anew. Everything comes from one seed.
//!
//! Rule: rc-go-back-n: a reliable connection delivers everything over a link that loses packets, by sending again from the
//! oldest packet that is not acknowledged.

#[path = "../pair/pair.rs"]
mod pair;
mod transfer;

use std::fmt::Write;

use rdmalab_sim::Probability;
use rdmalab_wire::PathMtu;

use transfer::{Kind, Transfer};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/matrix/table.txt");
const LEGEND: &str = "\
# 1 MiB in messages of 16 KiB over 10 Gbit/s, 5 us one way, local ACK timeout 1.05 ms, window of 128 packets.
# loss: of each packet, both ways. out: operations outstanding. MB/s: goodput. sent: packets of both sides. again: request
# packets sent before. timeout, seq, implied: why the requester went back.
";

fn table() -> String {
    let mut table = String::from(LEGEND);
    writeln!(
        table,
        "{:5} {:>5} {:>4} {:>3} {:>5} {:>9} {:>6} {:>6} {:>7} {:>4} {:>7}",
        "", "loss", "mtu", "out", "MB/s", "us", "sent", "again", "timeout", "seq", "implied"
    )
    .unwrap();
    for kind in [Kind::Write, Kind::Send, Kind::Read] {
        for (loss, probability) in [("0", 0.0), ("0.1%", 0.001), ("1%", 0.01), ("5%", 0.05)] {
            for mtu in [PathMtu::M256, PathMtu::M1024, PathMtu::M4096] {
                for outstanding in [1, 8, 64] {
                    let loss_of_each = Probability::new(probability).unwrap();
                    let found = Transfer { kind, loss: loss_of_each, mtu, outstanding }.run();
                    writeln!(
                        table,
                        "{:5} {:>5} {:>4} {:>3} {:>5} {:>9} {:>6} {:>6} {:>7} {:>4} {:>7}",
                        format!("{kind:?}"),
                        loss,
                        mtu.bytes(),
                        outstanding,
                        transfer::TOTAL as u64 * 1000 / found.nanoseconds,
                        found.nanoseconds / 1000,
                        found.sent,
                        found.again,
                        found.timeouts,
                        found.sequence_errors,
                        found.implied,
                    )
                    .unwrap();
                }
            }
        }
    }
    table
}

#[test]
fn what_loss_costs_is_what_the_table_says() {
    let found = table();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(TABLE, &found).unwrap();
    }
    let expected = std::fs::read_to_string(TABLE).unwrap();
    for (line, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {} of {TABLE}; if it is meant to change: BLESS=1", line + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}
