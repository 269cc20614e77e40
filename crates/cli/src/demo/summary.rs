//! The two tables at the end: what was done, and what it took.

use comfy_table::{CellAlignment, Table, TableStyle};
use rdmalab_device::IwarpCounters;
use rdmalab_roce::{Counters, Discard};
use rdmalab_sim::{End, PerEnd};

use super::exchange::Course;
use super::kind::Kind;
use super::plan::Plan;
use super::verdict::Verdict;
use super::witness::Tally;
use crate::discards;

/// A line under the head, and nothing else.
const TABLE: TableStyle = TableStyle::new().header_separator(comfy_table::LineStyle::new('─', '─', '─', '─'));

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(TABLE).set_header(head.to_vec());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A line for each operation.
pub fn operations(plan: &Plan, course: &Course, verdict: &Verdict) -> Table {
    let is_reliable = plan.transport.is_reliable();
    let mut table = if is_reliable {
        table(&["operation", "messages", "bytes", "completed", "memory right", ""])
    } else {
        table(&["operation", "messages", "bytes", "sent", "arrived whole", "lost", ""])
    };
    let rows = plan.kinds.iter().zip(&course.completed).zip(&verdict.right);
    for ((&kind, &completed), &right) in rows {
        let messages = plan.count(kind);
        let lost = messages.saturating_sub(right);
        let ok = completed == messages
            && match kind {
                Kind::WrongKey => right == 0,
                _ => lost == 0 || !is_reliable,
            };
        let mut row = vec![
            kind.name().to_owned(),
            messages.to_string(),
            (u64::from(messages) * u64::from(plan.bytes(kind))).to_string(),
            completed.to_string(),
            right.to_string(),
        ];
        if !is_reliable {
            row.push(lost.to_string());
        }
        row.push(if ok { "ok" } else { "NOT OK" }.to_owned());
        table.add_row(row);
    }
    table
}

/// A column for each adapter that speaks iWARP.
pub fn iwarp_adapters(tally: &PerEnd<Tally>, counters: &PerEnd<IwarpCounters>) -> Table {
    let mut table = table(&["TCP segments and what it took", "A asks", "B answers"]);
    let mut rows = 0;
    let mut row = |what: &str, value: &dyn Fn(&Tally, &IwarpCounters) -> u64| {
        let [a, b] = [End::A, End::B].map(|end| value(&tally[end], &counters[end]));
        rows += 1;
        if rows <= 4 || a + b > 0 {
            table.add_row([what.to_owned(), a.to_string(), b.to_string()]);
        }
    };
    row("segments sent", &|tally, _| tally.sent);
    row("  of them lost on the link", &|tally, _| tally.lost);
    row("FPDUs sent", &|_, counters| counters.sent_fpdus);
    row("bytes of the stream sent", &|_, counters| counters.sent_bytes);
    row("segments sent again", &|tally, _| tally.segments_again);
    row("went back: TCP's timeout", &|tally, _| tally.tcp_timeouts);
    row("went back: duplicate acknowledgements", &|tally, _| tally.tcp_duplicates);
    row("connections ended by a Terminate message", &|_, counters| counters.sent_terminates);
    table
}

/// A column for each adapter.
pub fn adapters(tally: &PerEnd<Tally>, counters: &PerEnd<Counters>) -> Table {
    let mut table = table(&["RoCE packets and what it took", "A asks", "B answers"]);
    // What did not happen is left out, but for the first two lines.
    let mut rows = 0;
    let mut row = |what: &str, value: &dyn Fn(&Tally, &Counters) -> u64| {
        let [a, b] = [End::A, End::B].map(|end| value(&tally[end], &counters[end]));
        rows += 1;
        if rows <= 2 || a + b > 0 {
            table.add_row([what.to_owned(), a.to_string(), b.to_string()]);
        }
    };
    row("packets sent", &|tally, _| tally.sent);
    row("  of them lost on the link", &|tally, _| tally.lost);
    row("  of them requests sent again", &|tally, _| tally.requests_again);
    row("  of them answers sent again", &|tally, _| tally.answers_again);
    row("went back: PSN sequence error NAK", &|tally, _| tally.sequence_errors);
    row("went back: implied NAK", &|tally, _| tally.implied_naks);
    row("went back: local ACK timeout", &|tally, _| tally.timeouts);
    row("went back: RNR NAK", &|tally, _| tally.rnr_naks);
    row("duplicate requests recognised", &|_, counters| counters.duplicate_request);
    row("packets behind a gap discarded", &|_, counters| counters.out_of_seq_request);
    row("packets with a congestion mark", &|_, counters| counters.np_ecn_marked_roce_packets);
    row("congestion notifications sent", &|_, counters| counters.np_cnp_sent);
    row("congestion notifications heeded", &|_, counters| counters.rp_cnp_handled);
    for reason in Discard::ALL {
        // Those behind a gap are told above.
        if reason != Discard::OutOfSequence {
            let what = format!("discarded: {}", discards::words(reason));
            row(&what, &|_, counters| counters.discarded(reason));
        }
    }
    table
}
