//! iWARP: TCP connections with MPA, DDP and RDMAP in them, each as two sides that ask and answer.
//!
//! `rdmalab-trace` puts segments in order and finds FPDUs; here is what they say. A [`Stream`] has two [`Side`]s, each a row of
//! the report. The rules stand in `checks/iwarp`.
//!
//! **What a side can have known** follows from TCP's acknowledgements, not from the order of packets in the capture: what it has
//! acknowledged, it has received. A capture that swapped two packets shows nothing wrong by that. And where a side has
//! acknowledged more than the capture has of the other one, something is missing, and nothing is concluded from its absence.
//!
//! **What is missing** ends all counting: behind a gap, numbers and messages under way are learnt anew. Which request an answer belongs
//! to follows from counting answers, since requests are numbered: lost requests leave that as it is. Behind lost answers it is known
//! again once one has come that fits a single request, all of those that may wait being known.
//!
//! Bounds: [`MOST_CONNECTIONS`] connections, [`MOST_STREAMS`] of which may be iWARP's, those silent for long making room; each side
//! keeps at most 4096 requests and 32 headers, all together [`MOST_PENDING_REQUESTS`] requests.

mod rows;
pub(crate) mod side;
pub(crate) mod tcp;

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use rdmalab_trace::{Dissection, Network, Record, TcpSegment};

use crate::finding::Findings;
use crate::observer::{Observer, PlacedSegment};
use crate::rules::RuleId;
use side::Side;
use tcp::Half;
pub use tcp::{ResentCause, SegmentRole};

/// TCP connections that are followed at once, whatever is in them.
pub const MOST_CONNECTIONS: usize = 16_384;
/// Those of them that are iWARP's.
pub const MOST_STREAMS: usize = 8_192;
/// Requests that wait, of all streams together.
pub const MOST_PENDING_REQUESTS: usize = 1 << 18;

/// Address and port.
type End = (IpAddr, u16);

/// A packet of a stream, and where findings about it go.
pub(crate) struct At<'o> {
    pub frame: u64,
    /// Nanoseconds; 0 where the file has no time.
    pub time: i64,
    pub findings: &'o mut Findings,
    pub observer: &'o mut dyn Observer,
}

impl At<'_> {
    pub fn find(&mut self, rule: RuleId, flow: u64, frames: &[u64], what: impl FnOnce() -> String) {
        if self.findings.add(rule, Some(flow), frames, what)
            && let Some(finding) = self.findings.kept.last()
        {
            self.observer.finding(finding);
        }
    }
}

/// A TCP connection.
struct Connection {
    heard: u64,
    halves: [Half; 2],
    /// The capture kept less of its data than there was.
    is_cut: bool,
    stream: Option<Box<Stream>>,
}

/// Two sides, the one with the lower address and port first.
pub(crate) struct Stream {
    pub ends: [End; 2],
    pub sides: [Side; 2],
}

/// All connections.
#[derive(Default)]
pub(crate) struct Streams {
    connections: HashMap<(End, End), Connection>,
    /// Who was last heard when; each connection stands here once.
    heard: BTreeMap<u64, (End, End)>,
    clock: u64,
    streams: usize,
    /// Requests that wait.
    pub pending: usize,
    pub forgotten: u64,
}

impl Streams {
    /// A packet that may be of one. `number` gives out numbers of flows.
    pub fn packet(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        number: &mut dyn FnMut() -> u64,
        findings: &mut Findings,
        observer: &mut dyn Observer,
    ) {
        let Some(segment) = dissection.tcp() else { return };
        let is_turned = segment.source > segment.destination;
        let key = if is_turned {
            (segment.destination, segment.source)
        } else {
            (segment.source, segment.destination)
        };
        if segment.length == 0 && !segment.syn && !self.connections.contains_key(&key) {
            return;
        }
        self.clock += 1;
        let clock = self.clock;
        let connection = self.connections.entry(key).or_insert_with(|| Connection {
            heard: clock,
            halves: Default::default(),
            is_cut: false,
            stream: None,
        });
        connection.is_cut |= segment.length > 0 && record.is_cut();
        self.heard.remove(&connection.heard);
        connection.heard = clock;
        self.heard.insert(clock, key);
        let time = record.time.and_then(|time| i64::try_from(time).ok());
        let mut at = At { frame: record.frame, time: time.unwrap_or_default(), findings, observer };
        let (had, before) = (connection.stream.is_some(), connection.pending());
        let side = usize::from(is_turned);
        let role = connection.tcp(side, &segment, ip_id(dissection), time);
        if !dissection.iwarp.is_empty() && connection.stream.is_none() {
            let sides = [Side::new(number()), Side::new(number())];
            connection.stream = Some(Box::new(Stream { ends: [key.0, key.1], sides }));
        }
        if let (Some(stream), halves) = (&mut connection.stream, &connection.halves) {
            if let Some(role) = role {
                stream.segment(side, role, &mut at);
            }
            for (index, unit) in dissection.iwarp.iter().enumerate() {
                stream.unit(side, unit, index, halves, &mut at);
            }
        }
        self.pending = (self.pending + connection.pending()).saturating_sub(before);
        self.streams += usize::from(connection.stream.is_some() && !had);
        self.make_room();
    }

    fn make_room(&mut self) {
        while self.connections.len() > MOST_CONNECTIONS
            || self.streams > MOST_STREAMS
            || self.pending > MOST_PENDING_REQUESTS
        {
            let Some((_, key)) = self.heard.pop_first() else { return };
            let Some(connection) = self.connections.remove(&key) else { continue };
            self.pending = self.pending.saturating_sub(connection.pending());
            if connection.stream.is_some() {
                self.streams = self.streams.saturating_sub(1);
                self.forgotten += 1;
            }
        }
    }

    /// Connections, and those of them that are iWARP's.
    pub fn len(&self) -> (usize, usize) {
        (self.connections.len(), self.streams)
    }
}

fn ip_id(dissection: &Dissection<'_>) -> u16 {
    match &dissection.network {
        Some(Network::V4 { header, .. }) => header.identification,
        _ => 0,
    }
}

impl Connection {
    fn pending(&self) -> usize {
        self.stream.as_ref().map_or(0, |stream| stream.sides.iter().map(|side| side.pending.len()).sum())
    }

    /// What TCP says. Gives the role of a segment with data.
    fn tcp(
        &mut self,
        side: usize,
        segment: &TcpSegment,
        ip_id: u16,
        time: Option<i64>,
    ) -> Option<SegmentRole> {
        let [lower, upper] = &self.halves;
        let (ours, theirs) = if side == 0 { (lower, upper) } else { (upper, lower) };
        let is_begun = ours.is_begun_by(segment);
        if is_begun && segment.acknowledgment.is_none() && !ours.is_late(segment, theirs) {
            // The ports are used again.
            if let Some(stream) = &mut self.stream {
                stream.end(&self.halves);
                stream.begin_again();
            }
            self.halves = Default::default();
        }
        let [lower, upper] = &mut self.halves;
        let (ours, theirs) = if side == 0 { (lower, upper) } else { (upper, lower) };
        if is_begun {
            *ours = Half::default();
        }
        ours.hear(segment, time.unwrap_or_default());
        (segment.length > 0).then(|| ours.data(segment, ip_id, time, theirs))
    }
}

impl Stream {
    pub fn begin_again(&mut self) {
        for side in &mut self.sides {
            // One that has said nothing yet was not another.
            if side.end.is_some() {
                side.stats.conversations += 1;
            }
            side.begin_again();
        }
    }

    fn segment(&mut self, side: usize, role: SegmentRole, at: &mut At<'_>) {
        let Some(side) = self.sides.get_mut(side) else { return };
        side.stats.saw(at.frame, at.time);
        side.stats.segments += 1;
        match role {
            SegmentRole::New => {}
            SegmentRole::Resent { cause, is_first_seen } => {
                side.stats.resent(cause);
                side.stats.lost_ahead += u64::from(is_first_seen);
            }
            SegmentRole::Duplicate => side.stats.duplicates += 1,
            SegmentRole::Late => side.stats.late += 1,
        }
        at.observer.segment(PlacedSegment { frame: at.frame, flow: side.number, role });
    }

    /// What both start-up frames say, the one of this side first.
    pub fn starts(&self, side: usize) -> Option<[side::Start; 2]> {
        let [ours, theirs] = self.both(side);
        Some([ours.start?, theirs.start?])
    }

    /// This side and the other one.
    pub fn both(&self, side: usize) -> [&Side; 2] {
        let [lower, upper] = &self.sides;
        if side == 0 { [lower, upper] } else { [upper, lower] }
    }

    /// This side and the other one.
    pub fn both_mut(&mut self, side: usize) -> [&mut Side; 2] {
        let [lower, upper] = &mut self.sides;
        if side == 0 { [lower, upper] } else { [upper, lower] }
    }

    /// READs and atomics that this side may have under way: what the other one answers at once.
    pub fn depth(&self, side: usize) -> Option<u16> {
        let [_, theirs] = self.both(side);
        theirs.start.and_then(|start| start.ird())
    }
}
