//! What lines mean, below a picture.

use std::io::{self, Write};

use crate::kind::Kind;

use super::colours::{TROUBLE, colour};
use super::drawing::{HEAD, Picture, open_band};

impl<W: Write> Picture<'_, W> {
    pub fn foot(&mut self) -> io::Result<()> {
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
        if self.has_open_bands() {
            let top = y + 12;
            writeln!(
                self.out,
                "<path class=\"open\" stroke=\"{}\" d=\"{}\"/><text class=\"s\" x=\"40\" y=\"{}\">an operation that nothing completed: open after the last sign of it</text>",
                colour(Kind::Write),
                open_band(26, top, 6),
                top + 15
            )?;
        }
        writeln!(self.out, "</svg>")
    }
}
