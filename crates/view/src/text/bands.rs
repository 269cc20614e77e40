//! Operations beside the two lines of a ladder: a column for each that is under way, as far as there is room.

use crate::model::Capture;
use crate::operations::{Band, Ending};

use super::ladders::Ladder;

/// Columns on each side.
pub(super) const BESIDE: usize = 3;

/// Those of one ladder.
pub(super) struct Bands<'c> {
    capture: &'c Capture,
    /// Those that have not begun yet, the next one last: from which packet on, on which side, by number.
    waiting: Vec<(u32, usize, u32)>,
    /// Those under way on each side.
    open: [[Option<u32>; BESIDE]; 2],
    /// Those that found no column free.
    pub undrawn: u64,
}

impl<'c> Bands<'c> {
    /// Those of each ladder.
    pub(super) fn of(capture: &'c Capture, ladders: &[Ladder]) -> Vec<Bands<'c>> {
        let mut of_flow: Vec<Option<(usize, u32)>> = vec![None; capture.flows.len()];
        for (number, ((left, _), places)) in ladders.iter().enumerate() {
            let packets = places.iter().filter_map(|place| capture.packets.get(*place as usize));
            for flow in packets.filter_map(|packet| packet.flow) {
                of_flow.get_mut(flow as usize).into_iter().for_each(|place| *place = Some((number, *left)));
            }
        }
        let none = || Bands { capture, waiting: Vec::new(), open: [[None; BESIDE]; 2], undrawn: 0 };
        let mut all: Vec<Bands<'c>> = ladders.iter().map(|_| none()).collect();
        for (number, band) in (0..).zip(&capture.bands) {
            let Some((ladder, left)) = of_flow.get(band.flow as usize).copied().flatten() else { continue };
            let source = capture.flows.get(band.flow as usize).map(|flow| flow.addresses.0);
            let end = source.and_then(|address| capture.end_of(address));
            let begins = (band.packets.0, usize::from(end != Some(left)), number);
            all.get_mut(ladder).into_iter().for_each(|bands| bands.waiting.push(begins));
        }
        for bands in &mut all {
            bands.waiting.sort_unstable_by(|one, other| other.cmp(one));
        }
        all
    }

    fn band(&self, number: u32) -> Option<&'c Band> {
        self.capture.bands.get(number as usize)
    }

    /// What stands beside the two lines at a packet, which is of the operation `own`: those that begin, go on and end.
    pub(super) fn at(&mut self, place: u32, own: Option<u32>) -> [String; 2] {
        let mut begun = [[false; BESIDE]; 2];
        while let Some((_, side, number)) = self.waiting.pop_if(|(from, ..)| *from <= place) {
            if self.band(number).is_none_or(|band| band.packets.1 < place) {
                // It is over, and no packet drawn here was under way with it.
                continue;
            }
            let columns = self.open.get_mut(side).into_iter().flatten();
            let free =
                columns.zip(begun.get_mut(side).into_iter().flatten()).find(|(open, _)| open.is_none());
            match free {
                Some((open, begins)) => (*open, *begins) = (Some(number), true),
                None => self.undrawn += 1,
            }
        }
        let sign = |open: Option<u32>, begins: bool| {
            let (Some(number), Some(band)) = (open, open.and_then(|number| self.band(number))) else {
                return ' ';
            };
            let is_complete = band.ending == Ending::Complete;
            match (begins, band.packets.1 <= place) {
                (true, true) if is_complete => '╶',
                (true, _) => '┌',
                (false, true) if is_complete => '└',
                (false, true) => '┊',
                (false, false) if own == Some(number) => '├',
                (false, false) => through(Some(band)),
            }
        };
        let signs = [0, 1].map(|side: usize| {
            let columns = self.open.get(side).into_iter().flatten();
            columns
                .zip(begun.get(side).into_iter().flatten())
                .map(|(open, begins)| sign(*open, *begins))
                .collect()
        });
        let bands = &self.capture.bands;
        for open in self.open.iter_mut().flatten() {
            let band = open.and_then(|number| bands.get(number as usize));
            if band.is_none_or(|band| band.packets.1 <= place) {
                *open = None;
            }
        }
        signs
    }

    /// What stands beside a line between packets.
    pub(super) fn between(&self, side: usize) -> String {
        let open = self.open.get(side).into_iter().flatten();
        open.map(|open| through(open.and_then(|number| self.band(number)))).collect()
    }
}

fn through(band: Option<&Band>) -> char {
    match band.map(|band| band.ending) {
        Some(Ending::Complete) => '│',
        Some(Ending::Never | Ending::Unknown) => '┊',
        None => ' ',
    }
}
