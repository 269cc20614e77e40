//! Operations beside the two ends: a lane for each that is under way at the same time, as far as there is room, and beyond that
//! how many more there are.

use std::io::{self, Write};
use std::iter;

use crate::model::Capture;
use crate::operations::{Band, Ending};

use super::colours::{colour, escaped, of_operation};
use super::drawing::{FALL, HEAD, Picture};

/// Lanes on a side.
const MOST_LANES: usize = 12;
/// More lanes than these are narrow.
const MOST_WIDE_LANES: usize = 6;
/// Room for what stands beyond the lanes, with what is between.
const BEYOND: usize = 29;
/// What is between an end and its first lane, to the left and to the right.
const GAP: usize = 6;

/// The operations of a connection.
#[derive(Debug)]
pub(super) struct Bands<'c> {
    /// Beside the left end, and beside the right one.
    sides: [Side<'c>; 2],
}

/// Those that one end asked for.
#[derive(Debug, Default)]
struct Side<'c> {
    /// With their rows and lanes.
    bands: Vec<(&'c Band, (usize, usize), usize)>,
    lanes: usize,
    /// Where the number of those without a lane changes: the row, and how many are under way from there on.
    beyond: Vec<(usize, usize)>,
}

impl<'c> Bands<'c> {
    /// Those of a connection between two addresses, as far as they are among its packets.
    pub(super) fn of(capture: &'c Capture, connection: u32, ends: [u32; 2], places: &[usize]) -> Bands<'c> {
        let mut spans: [Vec<(&Band, (usize, usize))>; 2] = Default::default();
        for band in &capture.bands {
            let flow = capture.flows.get(band.flow as usize).filter(|flow| flow.connection == connection);
            let Some(flow) = flow else { continue };
            let from = places.partition_point(|place| *place < band.packets.0 as usize);
            let behind = places.partition_point(|place| *place <= band.packets.1 as usize);
            let [left, right] = &mut spans;
            let side = if flow.addresses.0 == ends[0] { left } else { right };
            if from < behind {
                side.push((band, (from, behind - 1)));
            }
        }
        Bands { sides: spans.map(|spans| Side::of(spans, places.len())) }
    }

    /// Whether one has no end.
    pub(super) fn has_open(&self) -> bool {
        self.sides.iter().flat_map(|side| &side.bands).any(|(band, ..)| band.ending != Ending::Complete)
    }

    /// Whether some have no lane.
    pub(super) fn has_beyond(&self) -> bool {
        self.sides.iter().any(|side| !side.beyond.is_empty())
    }

    /// How wide each side is.
    pub(super) fn widths(&self) -> [usize; 2] {
        self.sides.each_ref().map(|side| {
            let beyond = if side.beyond.is_empty() { 0 } else { BEYOND };
            GAP + side.lanes * side.pitch() + beyond
        })
    }
}

impl<'c> Side<'c> {
    fn of(mut spans: Vec<(&'c Band, (usize, usize))>, rows: usize) -> Side<'c> {
        spans.sort_by_key(|(_, span)| *span);
        let mut side = Side::default();
        // The last row of each lane.
        let mut until: Vec<usize> = Vec::with_capacity(MOST_LANES);
        // Of those without a lane, how many begin at each row, less those that ended in the one before.
        let mut steps = vec![0_isize; rows + 1];
        for (band, (from, to)) in spans {
            let free = until.iter().position(|end| *end < from);
            let lane = free.or_else(|| {
                (until.len() < MOST_LANES).then(|| {
                    until.push(0);
                    until.len() - 1
                })
            });
            match lane.and_then(|lane| Some((lane, until.get_mut(lane)?))) {
                Some((lane, end)) => {
                    *end = to;
                    side.bands.push((band, (from, to), lane));
                }
                None => {
                    for (row, step) in [(from, 1), (to + 1, -1)] {
                        steps.get_mut(row).into_iter().for_each(|at| *at += step);
                    }
                }
            }
        }
        side.lanes = until.len();
        let mut count = 0_isize;
        for (row, step) in steps.into_iter().enumerate().filter(|(_, step)| *step != 0) {
            count += step;
            side.beyond.push((row, count.unsigned_abs()));
        }
        side
    }

    /// From lane to lane.
    fn pitch(&self) -> usize {
        if self.lanes <= MOST_WIDE_LANES { 9 } else { 7 }
    }

    fn band_width(&self) -> usize {
        self.pitch() - if self.lanes <= MOST_WIDE_LANES { 3 } else { 2 }
    }
}

impl<W: Write> Picture<'_, W> {
    pub(super) fn bands(&mut self) -> io::Result<()> {
        let [left, right] = self.lines;
        let height = |heights: &[usize], row: usize| heights.get(row).copied().unwrap_or(HEAD);
        for (side, is_left) in self.bands.sides.iter().zip([true, false]) {
            let (pitch, width) = (side.pitch(), side.band_width());
            for (band, (from, to), lane) in &side.bands {
                let x = if is_left { left - GAP - width - lane * pitch } else { right + GAP + lane * pitch };
                let y = height(self.heights, *from) + 10;
                let end = height(self.heights, *to) + 10 + FALL;
                let colour = colour(of_operation(band.kind));
                let height = end.saturating_sub(y).max(6);
                let what = escaped(&band.words());
                match band.ending {
                    Ending::Complete => writeln!(
                        self.out,
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{}\" fill=\"{colour}\" fill-opacity=\"0.55\"><title>{what}</title></rect>",
                        width / 2
                    )?,
                    Ending::Never | Ending::Unknown => writeln!(
                        self.out,
                        "<path class=\"open\" stroke=\"{colour}\" d=\"{}\"><title>{what}</title></path>",
                        open_band(x, y, width, height)
                    )?,
                }
            }
            let all = GAP + side.lanes * pitch;
            let x = if is_left { left - all - BEYOND + 3 } else { right + all };
            // Each lasts until the number changes again, the last one to no row at all.
            let next = side.beyond.iter().skip(1).map(|(row, _)| *row).chain(iter::repeat(usize::MAX));
            for ((row, count), behind) in side.beyond.iter().zip(next).filter(|((_, count), _)| *count > 0) {
                let y = height(self.heights, *row) + 7;
                let end = height(self.heights, behind.saturating_sub(1)).max(y) + 22;
                write_beyond(&mut self.out, x, y, end.saturating_sub(y), *count)?;
            }
        }
        Ok(())
    }
}

/// How many are under way that have no lane, and how long.
pub(super) fn write_beyond(
    out: &mut impl Write,
    x: usize,
    y: usize,
    height: usize,
    count: usize,
) -> io::Result<()> {
    let are = if count == 1 { "operation is" } else { "operations are" };
    writeln!(
        out,
        "<g><title>{count} more {are} under way</title><rect class=\"more\" x=\"{x}\" y=\"{y}\" width=\"26\" height=\"{height}\"/>\
         <text class=\"n\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">+{count}</text></g>",
        x + 13,
        y + 11
    )
}

/// The outline of a band that nothing ends: both sides and the top, and points below.
pub(super) fn open_band(x: usize, y: usize, width: usize, height: usize) -> String {
    let (bottom, middle) = (y + height, x + width / 2);
    let points: String = [4, 8, 12].iter().map(|by| format!("M{middle} {}v1.5", bottom + by)).collect();
    format!("M{x} {bottom}V{}h{width}V{bottom}{points}", y + 1)
}

#[cfg(test)]
mod tests {
    use rdmalab_lint::OperationKind;

    use super::*;

    fn placed(spans: &[(usize, usize)]) -> (Vec<usize>, Vec<(usize, usize)>) {
        let band = Band {
            flow: 0,
            kind: OperationKind::Write,
            bytes: 1,
            psns: None,
            packets: (0, 0),
            repeated: 0,
            ending: Ending::Complete,
            beside: 0,
        };
        let side = Side::of(spans.iter().map(|span| (&band, *span)).collect(), 100);
        (side.bands.iter().map(|(_, _, lane)| *lane).collect(), side.beyond)
    }

    #[test]
    fn a_lane_has_one_operation_at_a_time() {
        assert_eq!(placed(&[(0, 5), (1, 2), (2, 3), (3, 9), (6, 7)]), (vec![0, 1, 2, 1, 0], vec![]));
    }

    #[test]
    fn those_without_a_lane_are_counted_as_long_as_they_last() {
        let mut spans = vec![(0, 50); MOST_LANES];
        spans.extend([(1, 10), (2, 3), (51, 52)]);
        let (lanes, beyond) = placed(&spans);
        assert_eq!(lanes, (0..MOST_LANES).chain([0]).collect::<Vec<_>>());
        assert_eq!(beyond, [(1, 1), (2, 2), (4, 1), (11, 0)]);
    }
}
