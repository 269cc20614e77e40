//! One connection as a picture, for slides and papers.

use core::fmt;
use std::io::{self, Write};

use rdmalab_lint::{Role, Severity};

use crate::kind::{Kind, Marks, role_words};
use crate::model::{Capture, Packet};
use crate::text::{elided, seconds};

/// Most packets in a picture.
pub const MOST_DRAWN: usize = 2_000;

/// Width of the picture, and of what stands on its left: frame, time, operations.
const WIDTH: usize = 960;
const LEFT: usize = 236;
const RIGHT: usize = 92;
/// Height of the head, of a packet, and of what was found about one.
const HEAD: usize = 64;
const ROW: usize = 26;
const FINDING: usize = 20;
/// How much an arrow falls.
const FALL: usize = 7;
/// Width of a character of the labels, in tenths of what it is high.
const CHARACTER: f64 = 6.65;

/// Why there is no picture.
#[derive(Debug)]
pub enum PictureError {
    /// No packet belongs to a flow, or not to the one asked for.
    NoFlow {
        /// The flows that there are, at most some.
        there: Vec<u64>,
    },
    /// It has more than [`MOST_DRAWN`] packets.
    TooMany {
        /// How many.
        packets: usize,
    },
    /// Writing failed.
    Write(io::Error),
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PictureError::NoFlow { there } if there.is_empty() => f.write_str("no packet belongs to a flow"),
            PictureError::NoFlow { there } => {
                f.write_str("there is no such flow; there are")?;
                there.iter().try_for_each(|number| write!(f, " {number}"))
            }
            PictureError::TooMany { packets } => {
                write!(f, "{packets} packets are too many for a picture, which has at most {MOST_DRAWN}")
            }
            PictureError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PictureError {}

impl From<io::Error> for PictureError {
    fn from(error: io::Error) -> Self {
        PictureError::Write(error)
    }
}

impl Capture {
    /// Draws the connection of a flow, by the flow's number in reports; without one, that with the most packets.
    ///
    /// # Errors
    /// If there is no such flow, or it is too long; if writing fails.
    pub fn picture(&self, out: &mut impl Write, flow: Option<u64>) -> Result<(), PictureError> {
        let connection = self.connection(flow)?;
        let is_of = |packet: &Packet| {
            packet
                .flow
                .and_then(|flow| self.flows.get(flow as usize))
                .is_some_and(|flow| flow.connection == connection)
        };
        let places: Vec<usize> = self
            .packets
            .iter()
            .enumerate()
            .filter(|(_, packet)| is_of(packet))
            .map(|(place, _)| place)
            .collect();
        if places.len() > MOST_DRAWN {
            return Err(PictureError::TooMany { packets: places.len() });
        }
        let ends = self
            .flows
            .get(connection as usize)
            .map(|flow| [flow.addresses.0, flow.addresses.1])
            .unwrap_or_default();
        let found = self.found();
        let mut heights = Vec::with_capacity(places.len() + 1);
        let mut y = HEAD;
        for place in &places {
            heights.push(y);
            y += ROW + FINDING * found.get(&(*place as u32)).map_or(0, Vec::len);
        }
        heights.push(y);
        let mut picture = Picture { capture: self, out, ends, places: &places, heights: &heights };
        picture.head()?;
        picture.bands()?;
        for (row, place) in places.iter().enumerate() {
            picture.packet(row, *place)?;
            for (line, finding) in found.get(&(*place as u32)).into_iter().flatten().enumerate() {
                picture.finding(row, line, *finding)?;
            }
        }
        picture.foot()?;
        Ok(())
    }

    fn connection(&self, flow: Option<u64>) -> Result<u32, PictureError> {
        let found = match flow {
            Some(number) => {
                self.flows.iter().find(|flow| flow.number == Some(number)).map(|flow| flow.connection)
            }
            None => {
                let count = |connection: u32| {
                    self.flows
                        .iter()
                        .filter(|flow| flow.connection == connection)
                        .map(|flow| flow.packets)
                        .sum::<u64>()
                };
                // Both directions of a connection have the same; the earlier of equals is taken.
                let most = self.flows.iter().map(|flow| flow.packets).max().unwrap_or_default();
                let candidates = self.flows.iter().filter(|flow| flow.packets.saturating_mul(2) >= most);
                candidates
                    .map(|flow| flow.connection)
                    .max_by_key(|connection| (count(*connection), u32::MAX - *connection))
            }
        };
        found.ok_or_else(|| PictureError::NoFlow {
            there: self.flows.iter().filter_map(|flow| flow.number).take(20).collect(),
        })
    }
}

struct Picture<'c, W> {
    capture: &'c Capture,
    out: W,
    /// Addresses of the two ends.
    ends: [u32; 2],
    places: &'c [usize],
    /// Where each row begins, and where the last one ends.
    heights: &'c [usize],
}

const STYLE: &str = "\
.s{font:12px system-ui,-apple-system,'Segoe UI',sans-serif;fill:#1c2430}\
.m{font:11px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#1c2430}\
.d{fill:#68727f}.h{font-weight:600;font-size:14px}\
.l{stroke:#b6bec8;stroke-width:2}\
.a{fill:none;stroke-width:1.6}.again{stroke-width:3.4}.again2{stroke:#fff;stroke-width:1.1;fill:none}\
.twice{stroke-dasharray:2 3}.nak{stroke-dasharray:7 3;stroke-width:2.4}.rnr{stroke-dasharray:2 3;stroke-width:2.4}";

impl<W: Write> Picture<'_, W> {
    fn head(&mut self) -> io::Result<()> {
        let bottom = self.heights.last().copied().unwrap_or(HEAD);
        let height = bottom + 56;
        write!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <style>{STYLE}</style>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
        )?;
        let (left, right) = lines();
        let [a, b] = self
            .ends
            .map(|end| self.capture.ends.addresses.all.get(end as usize).cloned().unwrap_or_default());
        for (x, name) in [(left, a), (right, b)] {
            let name = escaped(&elided(&name, 34));
            writeln!(
                self.out,
                "<text class=\"s h\" x=\"{x}\" y=\"34\" text-anchor=\"middle\">{name}</text>"
            )?;
            writeln!(self.out, "<path class=\"l\" d=\"M{x} 46V{bottom}\"/>")?;
        }
        writeln!(self.out, "<text class=\"s d\" x=\"64\" y=\"34\" text-anchor=\"end\">frame</text>")?;
        writeln!(self.out, "<text class=\"s d\" x=\"166\" y=\"34\" text-anchor=\"end\">seconds</text>")
    }

    fn bands(&mut self) -> io::Result<()> {
        let capture = self.capture;
        let (left, right) = lines();
        let row_of = |place: u32| self.places.binary_search(&(place as usize)).ok();
        for band in &capture.bands {
            let (Some(from), Some(to)) = (row_of(band.packets.0), row_of(band.packets.1)) else { continue };
            let source = capture.flows.get(band.flow as usize).map(|flow| flow.addresses.0);
            let at = usize::from(band.beside).min(4) * 9;
            let x = if source == Some(self.ends[0]) { left - 12 - at } else { right + 6 + at };
            let y = self.heights.get(from).copied().unwrap_or(HEAD) + 10;
            let end = self.heights.get(to).copied().unwrap_or(HEAD) + 10 + FALL;
            let colour = colour(of_operation(band.kind));
            let what = format!(
                "{} of {} bytes, PSN {} to {}",
                band.kind.name(),
                band.bytes,
                band.psns.0,
                band.psns.1
            );
            writeln!(
                self.out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"6\" height=\"{}\" rx=\"3\" fill=\"{colour}\" fill-opacity=\"0.55\"><title>{}</title></rect>",
                end.saturating_sub(y).max(6),
                escaped(&what)
            )?;
        }
        Ok(())
    }

    fn packet(&mut self, row: usize, place: usize) -> io::Result<()> {
        let Some(packet) = self.capture.packets.get(place) else { return Ok(()) };
        let (left, right) = lines();
        let y = self.heights.get(row).copied().unwrap_or(HEAD) + 12;
        let source = self.capture.ends.pairs.all.get(packet.pair as usize).map(|(source, _)| *source);
        let goes_right = source != Some(self.ends[1]);
        let (from, to) = if goes_right { (left, right) } else { (right, left) };
        let is_lost = packet.marks.has(Marks::LOST);
        let is_again = matches!(packet.role, Some(Role::Repetition { .. }));
        let part = |whole: usize| if goes_right { from + whole } else { from - whole };
        let length = right - left;
        let (x, end_y) =
            if is_lost { (part(length * 62 / 100), y + FALL * 62 / 100) } else { (to, y + FALL) };
        let colour = if is_lost { TROUBLE } else { colour(packet.kind) };
        let mut class = "a".to_owned();
        match (packet.kind, packet.role) {
            (Kind::Nak | Kind::Terminate, _) => class += " nak",
            (Kind::NotReady, _) => class += " rnr",
            (_, Some(Role::Duplicate)) => class += " twice",
            (_, Some(Role::Repetition { .. })) => class += " again",
            _ => {}
        }
        let path = format!("M{from} {y}L{x} {end_y}");
        writeln!(self.out, "<path class=\"{class}\" stroke=\"{colour}\" d=\"{path}\"/>")?;
        if is_again {
            writeln!(self.out, "<path class=\"again2\" d=\"{path}\"/>")?;
        }
        if is_lost {
            let (a, b) = (x - 5, x + 5);
            writeln!(
                self.out,
                "<path stroke=\"{TROUBLE}\" stroke-width=\"2.4\" d=\"M{a} {}L{b} {}M{a} {}L{b} {}\"/>",
                end_y - 5,
                end_y + 5,
                end_y + 5,
                end_y - 5
            )?;
        } else {
            let back = if goes_right { x - 8 } else { x + 8 };
            writeln!(
                self.out,
                "<path fill=\"{colour}\" d=\"M{x} {end_y}L{back} {}L{back} {}Z\"/>",
                end_y - 4,
                end_y + 4
            )?;
        }
        let mut label = self.capture.label(place);
        if let Some(words) = role_words(packet) {
            label = format!("{label} ({words})");
        }
        if is_lost {
            label += " (lost)";
        }
        let room = ((length - 60) as f64 / CHARACTER) as usize;
        let label = elided(&label, room);
        let wide = (label.chars().count() as f64 * CHARACTER) as usize + 8;
        let middle = if is_lost { part(length * 31 / 100) } else { left + length / 2 };
        let middle = middle.max(left + 8 + wide / 2).min(right - 8 - wide / 2);
        let text_y = y + FALL / 2;
        writeln!(
            self.out,
            "<rect x=\"{}\" y=\"{}\" width=\"{wide}\" height=\"14\" fill=\"#fff\" fill-opacity=\"0.92\"/>\
             <text class=\"m\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            middle - wide / 2,
            text_y - 7,
            text_y + 4,
            escaped(&label)
        )?;
        writeln!(
            self.out,
            "<text class=\"m d\" x=\"64\" y=\"{0}\" text-anchor=\"end\">{1}</text>\
             <text class=\"m d\" x=\"166\" y=\"{0}\" text-anchor=\"end\">{2}</text>",
            text_y + 4,
            packet.frame,
            seconds(packet)
        )
    }

    fn finding(&mut self, row: usize, line: usize, number: usize) -> io::Result<()> {
        let Some(finding) = self.capture.findings.get(number) else { return Ok(()) };
        let rule = finding.rule.rule();
        let (left, right) = lines();
        let y = self.heights.get(row).copied().unwrap_or(HEAD) + ROW + FINDING * line + 10;
        let (sign, colour) = match rule.severity {
            Severity::Violation => ("▲", TROUBLE),
            Severity::Suspicious => ("◆", "#9a6700"),
            Severity::Note => ("●", "#0072b2"),
        };
        let room = ((right - left - 40) as f64 / CHARACTER) as usize;
        let text = elided(&format!("{sign} {}: {}", rule.name, finding.what), room);
        writeln!(
            self.out,
            "<text class=\"m\" style=\"fill:{colour}\" x=\"{}\" y=\"{y}\"><title>{}</title>{}</text>",
            left + 14,
            escaped(rule.sentence),
            escaped(&text)
        )
    }

    fn foot(&mut self) -> io::Result<()> {
        let y = self.heights.last().copied().unwrap_or(HEAD) + 32;
        let mut x = 24;
        let legend = [
            ("request", colour(Kind::Write), "a"),
            ("READ, atomic", colour(Kind::ReadRequest), "a"),
            ("response", colour(Kind::ReadResponse), "a"),
            ("acknowledgement", colour(Kind::Acknowledge), "a"),
            ("NAK", colour(Kind::Nak), "a nak"),
            ("RNR NAK", colour(Kind::NotReady), "a rnr"),
            ("again", colour(Kind::Write), "a again"),
            ("twice", colour(Kind::Write), "a twice"),
        ];
        for (name, colour, class) in legend {
            writeln!(self.out, "<path class=\"{class}\" stroke=\"{colour}\" d=\"M{x} {y}h26\"/>")?;
            if class == "a again" {
                writeln!(self.out, "<path class=\"again2\" d=\"M{x} {y}h26\"/>")?;
            }
            writeln!(self.out, "<text class=\"s\" x=\"{}\" y=\"{}\">{name}</text>", x + 32, y + 4)?;
            x += 56 + name.len() * 7;
        }
        writeln!(
            self.out,
            "<path stroke=\"{TROUBLE}\" stroke-width=\"2.4\" d=\"M{0} {1}l10 10m0 -10l-10 10\"/><text class=\"s\" x=\"{2}\" y=\"{3}\">lost</text>",
            x,
            y - 5,
            x + 18,
            y + 4
        )?;
        writeln!(self.out, "</svg>")
    }
}

/// Where the lines of the two ends stand.
const fn lines() -> (usize, usize) {
    (LEFT, WIDTH - RIGHT)
}

/// Colours that people who see fewer tell apart too (after Okabe and Ito), dark enough for white paper.
const TROUBLE: &str = "#c2410c";

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Send | Kind::Write | Kind::Datagram => "#0072b2",
        Kind::ReadRequest | Kind::Atomic => "#a3457f",
        Kind::ReadResponse | Kind::AtomicResponse => "#00795a",
        Kind::Nak | Kind::Terminate => TROUBLE,
        Kind::NotReady => "#b86e00",
        Kind::Management | Kind::Congestion => "#8a6d00",
        Kind::Acknowledge | Kind::Segment | Kind::Other => "#68727f",
    }
}

fn of_operation(kind: rdmalab_lint::OperationKind) -> Kind {
    use rdmalab_lint::OperationKind;
    match kind {
        OperationKind::Send | OperationKind::Write => Kind::Write,
        OperationKind::Read => Kind::ReadRequest,
        OperationKind::Atomic | OperationKind::Flush | OperationKind::AtomicWrite => Kind::Atomic,
    }
}

/// Text that is no markup; what XML does not allow is replaced.
fn escaped(text: &str) -> String {
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
