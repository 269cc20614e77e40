//! The two tables at the end: what was done, and what it took.

use comfy_table::{CellAlignment, Table, TableStyle};
use rdmalab_roce::Counters;
use rdmalab_sim::{End, PerEnd};

use super::exchange::Course;
use super::plan::{Kind, Plan};
use super::witness::Tally;

/// A line under the head, and nothing else.
const TABLE: TableStyle = TableStyle::new().header_separator(comfy_table::LineStyle::new('─', '─', '─', '─'));

/// What the memory of both sides says.
pub struct Verdict {
    /// Messages whose bytes are where they belong, by operation in the order of [`Kind::ALL`].
    pub right: [u32; Kind::ALL.len()],
    /// Every byte of both regions is as it must be, if everything was done.
    pub whole: bool,
}

impl Verdict {
    /// Compares the memory of both sides with the plan.
    pub fn new(plan: &Plan, a: &[u8], b: &[u8]) -> Self {
        let right = Kind::ALL
            .map(|kind| (0..plan.messages).filter(|&index| plan.is_right(kind, index, a, b)).count() as u32);
        let (expected_a, expected_b) = plan.expected();
        Self { right, whole: a == expected_a && b == expected_b }
    }

    /// Whether all that completed is right.
    pub fn bears_out(&self, course: &Course) -> bool {
        self.right.iter().zip(course.completed).all(|(right, completed)| *right >= completed)
    }
}

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
    let mut table = table(&["operation", "messages", "bytes", "completed", "memory right", ""]);
    let rows = Kind::ALL.into_iter().zip(course.completed).zip(verdict.right);
    for ((kind, completed), right) in rows {
        let ok = completed == plan.messages && right == plan.messages;
        table.add_row([
            kind.name().to_owned(),
            plan.messages.to_string(),
            (u64::from(plan.messages) * u64::from(plan.bytes(kind))).to_string(),
            completed.to_string(),
            right.to_string(),
            if ok { "ok" } else { "NOT OK" }.to_owned(),
        ]);
    }
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
    table
}
