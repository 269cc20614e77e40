//! What lines mean, below a picture.

use std::io::{self, Write};

use crate::kind::Kind;

use super::bands::{Bands, open_band, write_beyond};
use super::colours::{TROUBLE, colour};
use super::drawing::{HEAD, Picture, WIDTH};

/// Height of one of its lines, and what is above and below all of them.
const LINE: usize = 24;
const AROUND: usize = 32;
/// What stands on its left and right.
const SIDE: usize = 24;

/// How high it is: lines of what packets look like, and one for each thing about operations that needs to be told.
pub(super) fn height(bands: &Bands<'_>) -> usize {
    let lines = 2 + usize::from(bands.has_open()) + usize::from(bands.has_beyond());
    AROUND + lines * LINE
}

impl<W: Write> Picture<'_, W> {
    pub fn foot(&mut self) -> io::Result<()> {
        let mut y = self.heights.last().copied().unwrap_or(HEAD) + AROUND;
        let mut x = SIDE;
        let legend = [
            ("request", colour(Kind::Write), "a"),
            ("READ, atomic", colour(Kind::ReadRequest), "a"),
            ("response", colour(Kind::ReadResponse), "a"),
            ("acknowledgement, TCP", colour(Kind::Acknowledge), "a"),
            ("NAK", colour(Kind::Nak), "a nak"),
            ("RNR NAK", colour(Kind::NotReady), "a rnr"),
            ("again", colour(Kind::Write), "a again"),
            ("twice", colour(Kind::Write), "a twice"),
            ("broken", TROUBLE, "a"),
            ("congestion notification", colour(Kind::Congestion), "a cnp"),
            ("connection management, start-up", colour(Kind::Management), "a"),
            ("lost", TROUBLE, ""),
        ];
        for (name, colour, class) in legend {
            let wide = 56 + name.len() * 7;
            if x + wide > WIDTH - SIDE {
                (x, y) = (SIDE, y + LINE);
            }
            if class.is_empty() {
                let (left, top) = (x + 8, y - 5);
                writeln!(
                    self.out,
                    "<path stroke=\"{colour}\" stroke-width=\"2.4\" d=\"M{left} {top}l10 10m0 -10l-10 10\"/>"
                )?;
            } else {
                writeln!(self.out, "<path class=\"{class}\" stroke=\"{colour}\" d=\"M{x} {y}h26\"/>")?;
            }
            if class == "a again" {
                writeln!(self.out, "<path class=\"again2\" d=\"M{x} {y}h26\"/>")?;
            }
            writeln!(self.out, "<text class=\"s\" x=\"{}\" y=\"{}\">{name}</text>", x + 32, y + 4)?;
            x += wide;
        }
        let words = SIDE + 32;
        if self.bands.has_open() {
            y += LINE;
            writeln!(
                self.out,
                "<path class=\"open\" stroke=\"{}\" d=\"{}\"/><text class=\"s\" x=\"{words}\" y=\"{}\">an operation that nothing completed: open after the last sign of it</text>",
                colour(Kind::Write),
                open_band(SIDE + 10, y - 9, 6, 5),
                y + 4
            )?;
        }
        if self.bands.has_beyond() {
            y += LINE;
            write_beyond(&mut self.out, SIDE, y - 7, 15, 2)?;
            writeln!(
                self.out,
                "<text class=\"s\" x=\"{words}\" y=\"{}\">so many more operations are under way than there is room for beside each other</text>",
                y + 4
            )?;
        }
        writeln!(self.out, "</svg>")
    }
}
