//! The ladder for a terminal: time downwards, a line for each packet, one ladder for each two ends that talk with each other.
//!
//! Beside the lines of the ends stand operations, from their first packet to what completed them; below a packet what was found
//! about it, and of an operation that never completed that this was the last of it.

mod bands;
mod ladders;

use std::io::{self, Write};

use owo_colors::{OwoColorize, Style};
use rdmalab_lint::Severity;

use crate::kind::{Kind, Marks, remarks};
use crate::model::{Capture, Packet};
use crate::words::{labelled, seconds, wrapped};

use bands::{BESIDE, Bands};

/// Columns for the frame number and the time.
const FRAME: usize = 7;
const TIME: usize = 13;
/// Columns beside the middle.
const AROUND: usize = FRAME + 1 + TIME + 2 * (1 + BESIDE) + 2;
/// The middle is not narrower than this.
const NARROWEST: usize = 40;
/// Nor wider, where nobody says how wide.
const USUAL: usize = 92;

impl Capture {
    /// Prints the ladder, with colours, for a terminal of so many columns.
    ///
    /// # Errors
    /// If writing fails.
    pub fn ladder(&self, out: &mut impl Write, columns: Option<u16>) -> io::Result<()> {
        let middle = columns.map_or(USUAL, |all| usize::from(all).saturating_sub(AROUND).max(NARROWEST));
        let found = self.found();
        let never_completed = self.never_completed();
        let ladders = self.ladders();
        let bands = Bands::of(self, &ladders);
        for (number, (((left, right), packets), bands)) in ladders.iter().zip(bands).enumerate() {
            if number > 0 {
                writeln!(out)?;
            }
            let mut drawing =
                Drawing { capture: self, out: &mut *out, middle, left: *left, right: *right, bands };
            drawing.head()?;
            for place in packets {
                drawing.packet(*place)?;
                for finding in found.get(place).into_iter().flatten() {
                    drawing.finding(*finding)?;
                }
                for band in never_completed.get(place).into_iter().flatten() {
                    drawing.note(&format!(" ┊ {}", band.words()), Style::new().yellow())?;
                }
            }
            drawing.tail()?;
        }
        Ok(())
    }
}

struct Drawing<'c, W> {
    capture: &'c Capture,
    out: W,
    middle: usize,
    left: u32,
    right: u32,
    bands: Bands<'c>,
}

impl<W: Write> Drawing<'_, W> {
    fn head(&mut self) -> io::Result<()> {
        let name = |end: u32| self.capture.names.get(end as usize).map_or("", String::as_str);
        let (left, right) = (name(self.left), name(self.right));
        let right = if self.left == self.right { "" } else { right };
        let gap = (self.middle + 2).saturating_sub(left.chars().count() + right.chars().count());
        writeln!(
            self.out,
            "{} {} {:BESIDE$} {}{:gap$}{}",
            format_args!("{:>FRAME$}", "frame").dimmed(),
            format_args!("{:>TIME$}", "seconds").dimmed(),
            "",
            left.bold(),
            "",
            right.bold()
        )
    }

    fn tail(&mut self) -> io::Result<()> {
        match self.bands.undrawn {
            0 => Ok(()),
            1 => writeln!(self.out, "… 1 operation more was under way than the {BESIDE} drawn beside a line"),
            count => {
                writeln!(
                    self.out,
                    "… {count} operations more were under way than the {BESIDE} drawn beside a line"
                )
            }
        }
    }

    fn packet(&mut self, place: u32) -> io::Result<()> {
        let Some(packet) = self.capture.packets.get(place as usize) else { return Ok(()) };
        let goes_right = self.goes_right(packet);
        let is_lost = packet.marks.has(Marks::LOST);
        let remarks = remarks(packet);
        let end = if is_lost { "✗ lost" } else { "►" };
        let room = self.middle.saturating_sub(6 + end.chars().count());
        let label = labelled(&self.capture.label(place as usize), &remarks, room);
        let drawn = label.chars().count() + 6 + end.chars().count();
        let fill = self.middle.saturating_sub(drawn);
        let (line, blank) = if is_lost { (0, fill) } else { (fill, 0) };
        let text = if goes_right {
            format!("── {label} ──{}{end}{}", "─".repeat(line), " ".repeat(blank))
        } else {
            let end = if is_lost { "lost ✗" } else { "◄" };
            format!("{}{end}{}── {label} ──", " ".repeat(blank), "─".repeat(line))
        };
        let [left, right] = self.bands.at(place, packet.band);
        let style = style(packet);
        let frame = format!("{:>FRAME$}", packet.frame);
        let time = format!("{:>TIME$}", seconds(packet));
        writeln!(
            self.out,
            "{} {} {left} {}{}{} {right}",
            frame.dimmed(),
            time.dimmed(),
            "│".dimmed(),
            text.style(style),
            "│".dimmed()
        )
    }

    fn finding(&mut self, number: usize) -> io::Result<()> {
        let Some(finding) = self.capture.findings.get(number) else { return Ok(()) };
        let rule = finding.rule.rule();
        let (sign, style) = match rule.severity {
            Severity::Violation => ("▲", Style::new().red().bold()),
            Severity::Suspicious => ("◆", Style::new().yellow().bold()),
            Severity::Note => ("●", Style::new().blue()),
        };
        self.note(&format!(" {sign} {}: {}: {}", rule.severity, rule.name, finding.what), style)
    }

    /// Words below a packet.
    fn note(&mut self, text: &str, style: Style) -> io::Result<()> {
        let [left, right] = [0, 1].map(|side| self.bands.between(side));
        let mut lines = wrapped(text, self.middle).into_iter();
        lines.try_for_each(|line| {
            let gap = self.middle.saturating_sub(line.chars().count());
            writeln!(
                self.out,
                "{:FRAME$} {:TIME$} {left} {}{}{:gap$}{} {right}",
                "",
                "",
                "│".dimmed(),
                line.style(style),
                "",
                "│".dimmed()
            )
        })
    }

    fn goes_right(&self, packet: &Packet) -> bool {
        match self.capture.ends_of(packet) {
            (Some(source), _) => source == self.left,
            (None, destination) => destination != Some(self.left),
        }
    }
}

fn style(packet: &Packet) -> Style {
    let style = match packet.kind {
        _ if packet.marks.has(Marks::LOST) || packet.marks.has(Marks::BROKEN) => Style::new().red(),
        Kind::Nak | Kind::NotReady | Kind::Terminate => Style::new().red().bold(),
        Kind::ReadResponse | Kind::AtomicResponse => Style::new().green(),
        Kind::Acknowledge | Kind::Segment | Kind::Other => Style::new(),
        Kind::Management | Kind::Congestion => Style::new().yellow(),
        Kind::ReadRequest | Kind::Atomic => Style::new().magenta(),
        Kind::Send | Kind::Write | Kind::Datagram => Style::new().cyan(),
    };
    if matches!(packet.role, Some(rdmalab_lint::Role::Repetition { .. })) { style.bold() } else { style }
}
