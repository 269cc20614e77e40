//! What a picture is made of: the lines of the two ends, operations beside them, packets, findings.

use std::io::{self, Write};

use rdmalab_lint::{Role, Severity};

use crate::kind::{Kind, Marks, remarks};
use crate::model::Capture;
use crate::operations::Band;
use crate::words::{elided, labelled, seconds};

use super::bands::Bands;
use super::colours::{NOTED, STYLE, TROUBLE, WAIT, colour, escaped};
use super::legend;

/// Width of the picture.
pub(super) const WIDTH: usize = 960;
/// Where frame and time on its left end, with room behind.
const TIMES: usize = 174;
/// Between the sides of the picture and its ends there is at least so much.
const LEFT: usize = 236;
const RIGHT: usize = 92;
/// Between the operations beside the right end and the side of the picture.
const MARGIN: usize = 8;
/// Height of the head, of a packet, and of a note below one.
pub(super) const HEAD: usize = 64;
pub(super) const ROW: usize = 26;
pub(super) const NOTE: usize = 20;
/// How much an arrow falls.
pub(super) const FALL: usize = 7;
/// Width of a character of the labels, and of the names of ends at most.
const CHARACTER: f64 = 6.65;
const CHARACTER_OF_NAMES: usize = 9;

/// A picture while it is drawn.
pub(super) struct Picture<'c, W> {
    pub capture: &'c Capture,
    pub out: W,
    /// Addresses of the two ends.
    pub ends: [u32; 2],
    /// Where the lines of the ends stand.
    pub lines: [usize; 2],
    /// Where each row begins, and where the last one ends.
    pub heights: &'c [usize],
    pub bands: Bands<'c>,
}

/// Where the lines of the two ends stand, with their operations beside them.
pub(super) fn lines(bands: &Bands<'_>) -> [usize; 2] {
    let [left, right] = bands.widths();
    [LEFT.max(TIMES + left), WIDTH - RIGHT.max(right + MARGIN)]
}

impl<W: Write> Picture<'_, W> {
    pub fn head(&mut self) -> io::Result<()> {
        let bottom = self.heights.last().copied().unwrap_or(HEAD);
        let height = bottom + legend::height(&self.bands);
        write!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <style>{STYLE}</style>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
        )?;
        for (x, end) in self.lines.into_iter().zip(self.ends) {
            let name = elided(self.capture.name(end), 34);
            // Long names stand beside the middle, so that they are whole.
            let half = name.chars().count() * CHARACTER_OF_NAMES / 2;
            let middle = x.min(WIDTH - MARGIN - half).max(TIMES + half);
            let name = escaped(&name);
            writeln!(
                self.out,
                "<text class=\"s h\" x=\"{middle}\" y=\"34\" text-anchor=\"middle\">{name}</text>"
            )?;
            writeln!(self.out, "<path class=\"l\" d=\"M{x} 46V{bottom}\"/>")?;
        }
        writeln!(self.out, "<text class=\"s d\" x=\"64\" y=\"34\" text-anchor=\"end\">frame</text>")?;
        writeln!(self.out, "<text class=\"s d\" x=\"166\" y=\"34\" text-anchor=\"end\">seconds</text>")
    }

    pub fn packet(&mut self, row: usize, place: usize) -> io::Result<()> {
        let Some(packet) = self.capture.packets.get(place) else { return Ok(()) };
        let [left, right] = self.lines;
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
        let is_trouble = is_lost || packet.marks.has(Marks::BROKEN);
        let colour = if is_trouble { TROUBLE } else { colour(packet.kind) };
        let mut class = "a".to_owned();
        match (packet.kind, packet.role) {
            (Kind::Nak | Kind::Terminate, _) => class += " nak",
            (Kind::NotReady, _) => class += " rnr",
            (Kind::Congestion, _) => class += " cnp",
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
        let mut remarks = remarks(packet);
        if is_lost {
            remarks += " (lost)";
        }
        // In front of the cross.
        let free = if is_lost { length * 56 / 100 } else { length - 60 };
        let room = (free as f64 / CHARACTER) as usize;
        let label = labelled(&self.capture.label(place), &remarks, room);
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

    pub fn finding(&mut self, row: usize, line: usize, number: usize) -> io::Result<()> {
        let Some(finding) = self.capture.findings.get(number) else { return Ok(()) };
        let rule = finding.rule.rule();
        let (sign, colour) = match rule.severity {
            Severity::Violation => ("▲", TROUBLE),
            Severity::Suspicious => ("◆", WAIT),
            Severity::Note => ("●", NOTED),
        };
        self.note(row, line, &format!("{sign} {}: {}", rule.name, finding.what), rule.sentence, colour)
    }

    pub fn never_completed(&mut self, row: usize, line: usize, band: &Band) -> io::Result<()> {
        let words = band.words();
        self.note(row, line, &format!("┊ {words}"), &words, WAIT)
    }

    /// A line of words below a packet.
    fn note(&mut self, row: usize, line: usize, text: &str, title: &str, colour: &str) -> io::Result<()> {
        let [left, right] = self.lines;
        let y = self.heights.get(row).copied().unwrap_or(HEAD) + ROW + NOTE * line + 10;
        let room = ((right - left - 40) as f64 / CHARACTER) as usize;
        writeln!(
            self.out,
            "<text class=\"m\" style=\"fill:{colour}\" x=\"{}\" y=\"{y}\"><title>{}</title>{}</text>",
            left + 14,
            escaped(title),
            escaped(&elided(text, room))
        )
    }
}
