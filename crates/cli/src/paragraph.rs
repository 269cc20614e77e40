//! An explanation as a paragraph of text.

use std::fmt::Write as _;

use rdmalab_explain::{Explanation, lines};

/// Columns of a paragraph.
const WIDTH: usize = 98;

/// Appends what an explanation is about, its text and its source.
pub fn paragraph(text: &mut String, explanation: &Explanation) {
    if !text.is_empty() {
        text.push('\n');
    }
    // A string takes everything.
    let _ = writeln!(text, "{} ({})", explanation.title, explanation.name);
    for line in lines(explanation.text, WIDTH) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  Source: {}.", explanation.source);
}
