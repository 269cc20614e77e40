//! What loss costs: one MiB by WRITE, SEND and READ over a link of 10 Gbit/s that loses packets both ways, for every loss,
//! path MTU and number of operations outstanding, in virtual time.
//!
//! A second part says what arrives of messages over unreliable services, a third what congestion marks cost a flow that
//! heeds them.
//!
//! The rows stand in `table.txt`, so that a change of behaviour is a change of that file. A run compares; with
//! `BLESS=1 cargo test -p rdmalab-roce --test matrix` it writes the file anew. Everything comes from one seed.
//!
//! Rule: rc-go-back-n: a reliable connection delivers everything over a link that loses packets, by sending again from the
//! oldest packet that is not acknowledged.

mod arrivals;
#[path = "../pair/pair.rs"]
mod pair;
mod short_queues;
mod transfer;

use std::fmt::Write;

use rdmalab_roce::{CongestionControl, DcqcnConfig};
use rdmalab_sim::Probability;
use rdmalab_wire::PathMtu;

use pair::peer::Service;
use transfer::{Kind, Transfer};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/matrix/table.txt");
const LEGEND: &str = "\
# 1 MiB in messages of 16 KiB over 10 Gbit/s, 5 us one way, local ACK timeout 1.05 ms, window of 128 packets.
# loss: of each packet, both ways. out: operations outstanding. MB/s: goodput. sent: packets of both sides. again: request
# packets sent before. timeout, seq, implied: why the requester went back.
";

const ARRIVALS: &str = "
# 64 messages sent at once over the same link, of 16 KiB over UC, of one packet over UD; sent: packets, arrived: messages.
";
const RATES: &str = "
# WRITE as in the first part, at MTU 1024 and with 8 outstanding, held to a rate or by DCQCN, which begins at 10 Gbit/s.
# marks: of each packet, both ways. marked: packets that came with one. told: notifications that came back.
";

const MTUS: [PathMtu; 3] = [PathMtu::M256, PathMtu::M1024, PathMtu::M4096];
const LOSSES: [(&str, f64); 4] = [("0", 0.0), ("0.1%", 0.001), ("1%", 0.01), ("5%", 0.05)];

fn probability(of_each: f64) -> Probability {
    Probability::new(of_each).unwrap()
}

fn table() -> String {
    let mut table = String::from(LEGEND);
    reliable(&mut table);
    table += ARRIVALS;
    unreliable(&mut table);
    table += RATES;
    rates(&mut table);
    table
}

fn reliable(table: &mut String) {
    writeln!(
        table,
        "{:5} {:>5} {:>4} {:>3} {:>5} {:>9} {:>6} {:>6} {:>7} {:>4} {:>7}",
        "", "loss", "mtu", "out", "MB/s", "us", "sent", "again", "timeout", "seq", "implied"
    )
    .unwrap();
    for kind in [Kind::Write, Kind::Send, Kind::Read] {
        for (loss, of_each) in LOSSES {
            for mtu in MTUS {
                for outstanding in [1, 8, 64] {
                    let lost = probability(of_each);
                    let found = Transfer { kind, loss: lost, mtu, outstanding, ..Transfer::default() }.run();
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
}

fn unreliable(table: &mut String) {
    writeln!(table, "{:5} {:>5} {:>4} {:>6} {:>7}", "", "loss", "mtu", "sent", "arrived").unwrap();
    for service in [Service::Uc, Service::Ud] {
        for (loss, of_each) in LOSSES {
            for mtu in MTUS {
                let found = arrivals::run(service, probability(of_each), mtu);
                let (service, mtu) = (format!("{service:?}"), mtu.bytes());
                writeln!(table, "{service:5} {loss:>5} {mtu:>4} {:>6} {:>7}", found.sent, found.arrived)
                    .unwrap();
            }
        }
    }
}

fn rates(table: &mut String) {
    let columns = ("", "marks", "MB/s", "us", "sent", "again", "marked", "told");
    let (control, marks, speed, time, sent, again, marked, told) = columns;
    writeln!(
        table,
        "{control:14} {marks:>5} {speed:>5} {time:>9} {sent:>6} {again:>6} {marked:>6} {told:>4}"
    )
    .unwrap();
    let controls = [
        ("fixed 250 MB/s", CongestionControl::Fixed(250_000_000)),
        ("DCQCN", CongestionControl::Dcqcn(DcqcnConfig::new(1_250_000_000))),
    ];
    for (name, control) in controls {
        for (marks, of_each) in [("0", 0.0), ("0.1%", 0.001), ("1%", 0.01), ("10%", 0.1), ("all", 1.0)] {
            let marked = probability(of_each);
            let found = Transfer { outstanding: 8, control, marks: marked, ..Transfer::default() }.run();
            writeln!(
                table,
                "{name:14} {marks:>5} {:>5} {:>9} {:>6} {:>6} {:>6} {:>4}",
                transfer::TOTAL as u64 * 1000 / found.nanoseconds,
                found.nanoseconds / 1000,
                found.sent,
                found.again,
                found.marked,
                found.notified,
            )
            .unwrap();
        }
    }
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
