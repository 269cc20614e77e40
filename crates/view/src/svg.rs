//! One connection as a picture, for slides and papers.

mod bands;
mod colours;
mod drawing;
mod error;
mod legend;

use std::collections::BTreeSet;
use std::io::Write;

use crate::model::{Capture, Packet};

use bands::Bands;
use drawing::{HEAD, NOTE, Picture, ROW, lines};

pub use error::{MOST_DRAWN, PictureError};

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
        let never_completed = self.never_completed();
        let mut heights = Vec::with_capacity(places.len() + 1);
        let mut y = HEAD;
        for place in &places {
            heights.push(y);
            let place = *place as u32;
            let notes =
                found.get(&place).map_or(0, Vec::len) + never_completed.get(&place).map_or(0, Vec::len);
            y += ROW + NOTE * notes;
        }
        heights.push(y);
        let bands = Bands::of(self, connection, ends, &places);
        let mut picture =
            Picture { capture: self, out, ends, lines: lines(&bands), heights: &heights, bands };
        picture.head()?;
        picture.bands()?;
        for (row, place) in places.iter().enumerate() {
            picture.packet(row, *place)?;
            let place = *place as u32;
            let findings = found.get(&place).into_iter().flatten();
            for (line, finding) in findings.clone().enumerate() {
                picture.finding(row, line, *finding)?;
            }
            for (line, band) in (findings.count()..).zip(never_completed.get(&place).into_iter().flatten()) {
                picture.never_completed(row, line, band)?;
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
                // What carries RDMA has a number: a program's TCP beside it is drawn only where there is nothing else.
                let has_numbers = self.flows.iter().any(|flow| flow.number.is_some());
                let drawn = self.flows.iter().filter(|flow| flow.number.is_some() || !has_numbers);
                let connections: BTreeSet<u32> = drawn.map(|flow| flow.connection).collect();
                let mut packets = vec![0_u64; self.flows.len()];
                for flow in &self.flows {
                    packets
                        .get_mut(flow.connection as usize)
                        .into_iter()
                        .for_each(|all| *all += flow.packets);
                }
                let count = |connection: u32| packets.get(connection as usize).copied().unwrap_or_default();
                // The earlier of equals is taken.
                connections.into_iter().rev().max_by_key(|connection| count(*connection))
            }
        };
        found.ok_or_else(|| PictureError::NoFlow {
            there: self.flows.iter().filter_map(|flow| flow.number).take(20).collect(),
        })
    }
}
