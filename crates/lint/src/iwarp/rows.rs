//! What is left at the end: a row for each side of a stream, and connections that were not seen to be iWARP's.

use super::tcp::Half;
use super::{Connection, Stream, Streams};
use crate::reason::Reason;
use crate::report::StreamReport;

impl Streams {
    /// Connections with data that are not seen to be iWARP's, and how many of them the capture cut.
    pub fn others(&self) -> (u64, u64) {
        let others = self
            .connections
            .values()
            .filter(|connection| connection.stream.is_none() && connection.halves.iter().any(Half::has_data));
        others.fold((0, 0), |(all, cut), connection| (all + 1, cut + u64::from(connection.is_cut)))
    }

    /// The rows of all that are left, by number.
    pub fn finish(self) -> Vec<StreamReport> {
        let mut reports: Vec<StreamReport> =
            self.connections.into_values().flat_map(Connection::reports).collect();
        reports.sort_by_key(|report| report.number);
        reports
    }
}

impl Connection {
    /// The rows of a stream, if it is one.
    fn reports(self) -> Vec<StreamReport> {
        let Some(mut stream) = self.stream else { return Vec::new() };
        stream.end(&self.halves);
        stream.reports()
    }
}

impl Stream {
    /// The connection, or the capture, ends: what was said last may not have been understood.
    pub(super) fn end(&mut self, halves: &[Half; 2]) {
        let [lower, upper] = &mut self.sides;
        let [below, above] = halves;
        for (side, ours, theirs) in [(lower, below, above), (upper, above, below)] {
            let (unread, missing) = ours.behind(side.end, theirs);
            side.leaves(unread, missing);
        }
    }

    fn reports(mut self: Box<Self>) -> Vec<StreamReport> {
        let mut reports = Vec::with_capacity(2);
        for index in [0, 1] {
            let (starts, depth) = (self.starts(index), self.depth(index));
            let [lower, upper] = self.ends;
            let (source, destination) = if index == 0 { (lower, upper) } else { (upper, lower) };
            let [side, peer] = self.both_mut(index);
            if side.stats.fpdus > 0 && starts.is_none() {
                side.doubt(Reason::StartUpUnknown);
            }
            reports.push(StreamReport {
                number: side.number,
                peer: peer.number,
                source,
                destination,
                is_initiator: side.start.map(|start| start.kind == rdmalab_wire::iwarp::MpaKind::Request),
                revision: side.start.map(|start| start.revision),
                crc: starts.map(|starts| starts.iter().any(|start| start.crc)),
                markers: peer.start.map(|start| start.markers),
                depth,
                stats: std::mem::take(&mut side.stats),
                reasons: side.reasons,
            });
        }
        reports
    }
}
