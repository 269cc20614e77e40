//! What a picture is made of: the lines of the two ends, operations beside them, packets, findings.

use std::io::{self, Write};

use rdmalab_lint::{Role, Severity};

use crate::kind::{Kind, Marks, role_words};
use crate::model::Capture;
use crate::operations::{Band, Ending};
use crate::words::{elided, labelled, seconds};

use super::colours::{NOTED, STYLE, TROUBLE, WAIT, colour, escaped, of_operation};

/// Width of the picture, and of what stands on its left: frame, time, operations.
const WIDTH: usize = 960;
const LEFT: usize = 236;
const RIGHT: usize = 92;
/// Height of the head, of a packet, and of a note below one.
pub(super) const HEAD: usize = 64;
pub(super) const ROW: usize = 26;
pub(super) const NOTE: usize = 20;
/// How much an arrow falls.
const FALL: usize = 7;
/// Width of a character of the labels, in tenths of what it is high.
const CHARACTER: f64 = 6.65;

/// A picture while it is drawn.
pub(super) struct Picture<'c, W> {
    pub capture: &'c Capture,
    pub out: W,
    /// Addresses of the two ends.
    pub ends: [u32; 2],
    pub places: &'c [usize],
    /// Where each row begins, and where the last one ends.
    pub heights: &'c [usize],
}

impl<W: Write> Picture<'_, W> {
    pub fn head(&mut self) -> io::Result<()> {
        let bottom = self.heights.last().copied().unwrap_or(HEAD);
        let height = bottom + if self.has_open_bands() { 80 } else { 56 };
        write!(
            self.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <style>{STYLE}</style>\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
        )?;
        let (left, right) = lines();
        let [a, b] = self.ends.map(|end| self.capture.name(end));
        for (x, name) in [(left, a), (right, b)] {
            let name = escaped(&elided(name, 34));
            writeln!(
                self.out,
                "<text class=\"s h\" x=\"{x}\" y=\"34\" text-anchor=\"middle\">{name}</text>"
            )?;
            writeln!(self.out, "<path class=\"l\" d=\"M{x} 46V{bottom}\"/>")?;
        }
        writeln!(self.out, "<text class=\"s d\" x=\"64\" y=\"34\" text-anchor=\"end\">frame</text>")?;
        writeln!(self.out, "<text class=\"s d\" x=\"166\" y=\"34\" text-anchor=\"end\">seconds</text>")
    }

    /// Whether an operation of it has no end.
    pub fn has_open_bands(&self) -> bool {
        let is_here = |place: u32| self.places.binary_search(&(place as usize)).is_ok();
        let mut open = self.capture.bands.iter().filter(|band| band.ending != Ending::Complete);
        open.any(|band| is_here(band.packets.0) && is_here(band.packets.1))
    }

    pub fn bands(&mut self) -> io::Result<()> {
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
            let height = end.saturating_sub(y).max(6);
            let what = escaped(&band.words());
            match band.ending {
                Ending::Complete => writeln!(
                    self.out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"6\" height=\"{height}\" rx=\"3\" fill=\"{colour}\" fill-opacity=\"0.55\"><title>{what}</title></rect>"
                )?,
                // Open below.
                Ending::Never | Ending::Unknown => writeln!(
                    self.out,
                    "<path class=\"open\" stroke=\"{colour}\" d=\"{}\"><title>{what}</title></path>",
                    open_band(x, y, height)
                )?,
            }
        }
        Ok(())
    }

    pub fn packet(&mut self, row: usize, place: usize) -> io::Result<()> {
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
        let mut remarks = role_words(packet).map_or_else(String::new, |words| format!(" ({words})"));
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
        let (left, right) = lines();
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

/// Where the lines of the two ends stand.
const fn lines() -> (usize, usize) {
    (LEFT, WIDTH - RIGHT)
}

/// The outline of a band that nothing ends: both sides and the top, and points below.
pub(super) fn open_band(x: usize, y: usize, height: usize) -> String {
    let (bottom, middle) = (y + height, x + 3);
    let points: String = [4, 8, 12].iter().map(|by| format!("M{middle} {}v1.5", bottom + by)).collect();
    format!("M{x} {bottom}V{}h6V{bottom}{points}", y + 1)
}
