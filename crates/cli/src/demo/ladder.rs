//! Draws the exchange: A on the left, B on the right, time downwards, one line per packet as it is sent.
//!
//! Knows nothing of packets but their text. Each act (one operation) may take so many lines, and some more for what is
//! lost and sent again; the rest is only counted, so that the ladder stays readable whatever is asked for.

use std::io::{self, Write};

use owo_colors::{OwoColorize, Style};
use rdmalab_sim::End;

/// Columns for the time.
const TIME: usize = 10;
/// Columns between the two ends: the longest request of the demonstration, sent again, just fits.
pub const WIDTH: usize = 86;
/// The same for iWARP: TCP segments with the longest Read Request in them.
pub const WIDE: usize = 134;
/// Columns beside the width: time, space and the two ends.
const BESIDE: usize = TIME + 3;
/// The ladder is not drawn narrower than this; longer packets stick out.
const NARROWEST: usize = 64;

/// How much is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    All,
    /// So many lines of each act, and a third as many for losses and retries behind them.
    Lines(u32),
    /// Nothing.
    Nothing,
}

/// What stands in front of each line of a remark.
const REMARK: &str = "      ";

/// Something at one end that is not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The application orders something.
    Posted,
    /// A request is done.
    Done,
    /// A request failed.
    Failed,
    /// A requester sends again.
    Back,
}

/// The ladder.
pub struct Ladder<W> {
    out: W,
    width: usize,
    detail: Detail,
    /// Lines drawn in this act.
    drawn: u32,
    /// What was not drawn since the last line.
    hidden: Hidden,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Hidden {
    packets: u64,
    lost: u64,
    back: u64,
    other: u64,
}

impl<W: Write> Ladder<W> {
    /// A ladder of a width that fits a terminal of so many columns, if it is drawn on one.
    pub fn new(out: W, detail: Detail, width: usize, columns: Option<u16>) -> Self {
        let width =
            columns.map_or(width, |all| usize::from(all).saturating_sub(BESIDE).clamp(NARROWEST, width));
        Self { out, width, detail, drawn: 0, hidden: Hidden::default() }
    }

    /// Where it is drawn.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// The names over the two ends.
    pub fn head(&mut self, a: &str, b: &str) -> io::Result<()> {
        if self.detail == Detail::Nothing {
            return Ok(());
        }
        let gap = (self.width + 2).saturating_sub(a.chars().count() + b.chars().count());
        writeln!(self.out, "{:>TIME$} {}{:gap$}{}", "time µs".dimmed(), a.bold(), "", b.bold())
    }

    /// Begins an act.
    pub fn act(&mut self, name: &str, story: &str) -> io::Result<()> {
        (self.drawn, self.hidden) = (0, Hidden::default());
        if self.detail == Detail::Nothing {
            return Ok(());
        }
        self.row("", Style::new(), "│", "", Style::new(), "│")?;
        self.row(name, Style::new().bold(), "│", &format!(" {story}"), Style::new().italic(), "│")
    }

    /// Whether the next line is drawn; if not, its text does not matter. `important` is what teaches something: losses,
    /// retries and failures.
    pub fn draws(&self, important: bool) -> bool {
        match self.detail {
            Detail::All => true,
            Detail::Nothing => false,
            Detail::Lines(most) if important => self.drawn < most.saturating_add(most / 3),
            Detail::Lines(most) => self.drawn < most,
        }
    }

    /// Whether what happened last was drawn, and so a word on it has its place.
    pub fn is_current(&self) -> bool {
        self.detail != Detail::Nothing && self.hidden == Hidden::default()
    }

    /// A word on what happened last: a heading, and a paragraph below it unless it was told before. Takes no room of the
    /// act's.
    pub fn remark(&mut self, heading: &str, paragraph: Option<(&str, &str)>) -> io::Result<()> {
        let width = self.width.saturating_sub(2 * REMARK.len());
        let mut lines = rdmalab_explain::lines(heading, width.saturating_sub(2));
        let first = lines.next().unwrap_or_default();
        self.row("", Style::new(), "│", &format!("{REMARK}▸ {first}"), Style::new().bold(), "│")?;
        for line in lines {
            self.row("", Style::new(), "│", &format!("{REMARK}  {line}"), Style::new().bold(), "│")?;
        }
        let Some((text, source)) = paragraph else { return Ok(()) };
        for line in rdmalab_explain::lines(text, width) {
            self.row("", Style::new(), "│", &format!("{REMARK}{line}"), Style::new(), "│")?;
        }
        for line in rdmalab_explain::lines(&format!("[{source}]"), width) {
            self.row("", Style::new(), "│", &format!("{REMARK}{line}"), Style::new().dimmed(), "│")?;
        }
        Ok(())
    }

    /// A packet, as it is sent. `beside` is what is unusual about it, if anything; `lost` says that and why it is lost.
    pub fn packet(
        &mut self,
        now: u64,
        from: End,
        text: &str,
        beside: &str,
        lost: Option<&str>,
    ) -> io::Result<()> {
        if !self.take_room(lost.is_some())? {
            self.hidden.packets += 1;
            self.hidden.lost += u64::from(lost.is_some());
            return Ok(());
        }
        let beside = if beside.is_empty() { String::new() } else { format!(" ({beside})") };
        let label = format!("── {text}{beside} ──");
        let length = label.chars().count() + 1;
        let fill = "─".repeat(self.width.saturating_sub(length));
        let (arrow, style) = match (from, lost) {
            (End::A, None) => (format!("{label}{fill}►"), Style::new().cyan()),
            (End::B, None) => (format!("◄{fill}{label}"), Style::new().green()),
            (End::A, Some(_)) => (format!("{label}✗"), Style::new().red()),
            (End::B, Some(_)) => (format!("✗{label}"), Style::new().red()),
        };
        let style = if beside.is_empty() { style } else { style.bold() };
        let width = self.width;
        let right_aligned = |text: &str| format!("{text:>width$}");
        let time = micro(now);
        let draw = |ladder: &mut Self, time: &str, text: &str| {
            ladder.row(time, Style::new().dimmed(), "│", text, style, "│")
        };
        // The reason has a line of its own where it does not fit beside the packet.
        let Some(reason) = lost else { return draw(self, &time, &arrow) };
        let fits = length + 1 + reason.chars().count() <= width;
        match (from, fits) {
            (End::A, true) => draw(self, &time, &format!("{arrow} {reason}")),
            (End::B, true) => draw(self, &time, &right_aligned(&format!("{reason} {arrow}"))),
            (End::A, false) => {
                draw(self, &time, &arrow)?;
                draw(self, "", &right_aligned(reason))
            }
            (End::B, false) => {
                draw(self, &time, &right_aligned(&arrow))?;
                draw(self, "", reason)
            }
        }
    }

    /// Something that happens at one end.
    pub fn mark(&mut self, now: u64, end: End, mark: Mark, text: &str) -> io::Result<()> {
        if !self.take_room(matches!(mark, Mark::Back | Mark::Failed))? {
            match mark {
                Mark::Back => self.hidden.back += 1,
                _ => self.hidden.other += 1,
            }
            return Ok(());
        }
        let (sign, style) = match mark {
            Mark::Posted => ("●", Style::new()),
            Mark::Done => ("✓", Style::new().bold().green()),
            Mark::Failed => ("✗", Style::new().bold().red()),
            Mark::Back => ("↺", Style::new().bold().yellow()),
        };
        let time = micro(now);
        match end {
            End::A => self.row(&time, Style::new().dimmed(), sign, &format!(" {text}"), style, "│"),
            End::B => {
                let text = format!("{:>width$}", format!("{text} "), width = self.width);
                self.row(&time, Style::new().dimmed(), "│", &text, style, sign)
            }
        }
    }

    /// Ends an act: tells what was left out.
    pub fn end_act(&mut self) -> io::Result<()> {
        let Hidden { packets, lost, back, other } = std::mem::take(&mut self.hidden);
        if self.detail == Detail::Nothing || packets + back + other == 0 {
            return Ok(());
        }
        let mut text = count(packets, "more packet");
        if lost + back > 0 {
            text += &format!(" ({lost} lost, gone back {})", count(back, "time"));
        }
        self.gap(&format!("{text}; --all shows them"))
    }

    /// Takes the room for a line, if there is some; then tells what was left out before it.
    fn take_room(&mut self, important: bool) -> io::Result<bool> {
        let draws = self.draws(important);
        if draws {
            self.drawn = self.drawn.saturating_add(1);
            let hidden = std::mem::take(&mut self.hidden);
            if hidden != Hidden::default() {
                self.gap(&count(hidden.packets, "packet"))?;
            }
        }
        Ok(draws)
    }

    fn gap(&mut self, text: &str) -> io::Result<()> {
        self.row("", Style::new(), "│", &format!(" ⋮ {text}"), Style::new().dimmed(), "│")
    }

    fn row(
        &mut self,
        time: &str,
        time_style: Style,
        left: &str,
        middle: &str,
        style: Style,
        right: &str,
    ) -> io::Result<()> {
        let gap = self.width.saturating_sub(middle.chars().count());
        // The signs have the colour of what they belong to, the bare ends have none.
        let end = |sign: &str| if sign == "│" { Style::new().dimmed() } else { style };
        writeln!(
            self.out,
            "{} {}{}{:gap$}{}",
            format_args!("{time:>TIME$}").style(time_style),
            left.style(end(left)),
            middle.style(style),
            "",
            right.style(end(right)),
        )
    }
}

/// "1 byte", "2 bytes".
pub fn count(number: impl Into<u64>, what: &str) -> String {
    let number = number.into();
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A time as microseconds with one decimal.
fn micro(nanoseconds: u64) -> String {
    format!("{}.{}", nanoseconds / 1_000, nanoseconds % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(detail: Detail, draw: impl Fn(&mut Ladder<Vec<u8>>) -> io::Result<()>) -> Vec<String> {
        let mut ladder = Ladder::new(Vec::new(), detail, WIDTH, None);
        draw(&mut ladder).unwrap();
        let text = String::from_utf8(anstream::adapter::strip_bytes(&ladder.out).into_vec()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn all_lines_end_at_the_same_column() {
        let lines = drawn(Detail::All, |ladder| {
            ladder.head("A 10.0.0.1", "B 10.0.0.2")?;
            ladder.act("SEND", "A sends.")?;
            ladder.packet(1_234, End::A, "SEND_ONLY psn=1", "", None)?;
            ladder.packet(1_234, End::A, "SEND_ONLY psn=1", "again", Some("lost (for a reason)"))?;
            ladder.packet(1_234_567, End::B, "ACKNOWLEDGE psn=1", "", None)?;
            ladder.packet(1_234_567, End::B, "ACKNOWLEDGE psn=1", "", Some("lost (for a reason)"))?;
            ladder.mark(0, End::A, Mark::Back, "goes back")?;
            ladder.mark(0, End::B, Mark::Done, "received")?;
            ladder.remark("A long one, which goes on", Some((&"word ".repeat(99), "a source")))
        });
        assert!(lines.iter().all(|line| line.chars().count() == TIME + 3 + WIDTH), "{lines:#?}");
        assert!(lines[3].starts_with("       1.2 │── SEND_ONLY psn=1 ────"), "{}", lines[3]);
        assert!(lines[4].contains("│── SEND_ONLY psn=1 (again) ──✗ lost (for a reason) "), "{}", lines[4]);
        assert!(lines[5].ends_with("── ACKNOWLEDGE psn=1 ──│"), "{}", lines[5]);
        assert!(lines[6].ends_with(" lost (for a reason) ✗── ACKNOWLEDGE psn=1 ──│"), "{}", lines[6]);
        assert!(lines[8].ends_with(" received ✓"), "{}", lines[8]);
    }

    #[test]
    fn an_act_that_is_too_long_shows_what_is_lost_and_says_what_was_left_out() {
        let lines = drawn(Detail::Lines(3), |ladder| {
            for n in 0..9 {
                let lost = [5, 7, 8].contains(&n).then_some("lost");
                ladder.packet(1_000 * n, End::A, "SEND_ONLY", "", lost)?;
            }
            ladder.mark(9_000, End::A, Mark::Back, "goes back")?;
            ladder.end_act()?;
            ladder.act("NEXT", "Has room again.")?;
            ladder.packet(9_000, End::A, "SEND_ONLY", "", None)?;
            ladder.end_act()
        });
        let starts: Vec<&str> = lines.iter().map(|line| line.split_once("  ").unwrap().1.trim()).collect();
        assert!(starts[2].starts_with("2.0 │── SEND_ONLY"), "{starts:#?}");
        assert!(starts[3].starts_with("│ ⋮ 2 packets"), "{starts:#?}");
        assert!(starts[4].starts_with("5.0 │── SEND_ONLY ──✗ lost"), "{starts:#?}");
        assert!(starts[5].starts_with("│ ⋮ 3 more packets (2 lost, gone back 1 time); --all"), "{starts:#?}");
        assert_eq!(lines.len(), 6 + 2 + 1);
    }

    #[test]
    fn a_packet_longer_than_the_ladder_is_drawn_whole() {
        let long = "X".repeat(200);
        let lines = drawn(Detail::All, |ladder| ladder.packet(0, End::A, &long, "", Some("lost")));
        assert!(lines[0].contains(&long) && lines[0].ends_with("──✗│"), "{lines:?}");
        assert!(lines[1].ends_with(" lost│"), "{lines:?}");
    }
}
