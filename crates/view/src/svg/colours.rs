//! Colours of pictures and the styles of their lines, and text that is no markup.

use rdmalab_lint::OperationKind;

use crate::kind::Kind;

pub(super) const STYLE: &str = "\
.s{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1c2430}\
.m{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1c2430}\
.d{fill:#68727f}.h{font-weight:600;font-size:14px}\
.l{stroke:#b6bec8;stroke-width:2}\
.a{fill:none;stroke-width:1.6}.again{stroke-width:3.4}.again2{stroke:#fff;stroke-width:1.1;fill:none}\
.open{fill:none;stroke-width:1.5}.more{fill:#eef1f5}\
.n{font:10px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#4c5765}\
.cnp{stroke-dasharray:10 3 2 3}\
.twice{stroke-dasharray:2 3}.nak{stroke-dasharray:7 3;stroke-width:2.4}.rnr{stroke-dasharray:2 3;stroke-width:2.4}";

/// Colours of the page in the light theme, which people who see fewer of them tell apart too (`tests/colours.rs`).
pub(super) const TROUBLE: &str = "#a70430";
pub(super) const WAIT: &str = "#3d3406";
pub(super) const NOTED: &str = REQUEST;
const REQUEST: &str = "#056bc5";

pub(super) fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Send | Kind::Write | Kind::Datagram => REQUEST,
        Kind::ReadRequest | Kind::Atomic => "#762374",
        Kind::ReadResponse | Kind::AtomicResponse => "#0a674d",
        Kind::Nak | Kind::Terminate => TROUBLE,
        Kind::NotReady => WAIT,
        Kind::Management | Kind::Congestion => "#162a3a",
        Kind::Acknowledge | Kind::Segment | Kind::Other => "#646a78",
    }
}

/// The kind of packet whose colour an operation has.
pub(super) fn of_operation(kind: OperationKind) -> Kind {
    match kind {
        OperationKind::Send | OperationKind::Write => Kind::Write,
        OperationKind::Read => Kind::ReadRequest,
        OperationKind::Atomic | OperationKind::Flush | OperationKind::AtomicWrite => Kind::Atomic,
    }
}

/// Text that is no markup; what XML does not allow is replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_becomes_markup() {
        assert_eq!(escaped("<a b=\"c\">&\u{0}é"), "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}é");
    }
}
