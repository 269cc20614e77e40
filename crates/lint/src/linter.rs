//! A capture judged, packet by packet. How a packet comes to its flow is in `converse`; what connections are agreed on, and which
//! flows that makes, in `connections`; what becomes of conversations when packets are cut, in `cut`.

mod connections;
mod converse;
mod copies;
mod cut;
mod fragments;

use rdmalab_trace::{Dissection, Icrc, Record, Roce, Streams, Unread};
use rdmalab_wire::Pause;

use crate::checks::cm::Connections;
use crate::checks::pause::Standstill;
use crate::checks::{checksums, congestion, headers, lengths};
use crate::finding::Findings;
use crate::flow::Out;
use crate::iwarp;
use crate::observer::Observer;
use crate::packet::{FlowKey, Seen};
use crate::reason::{Reason, Reasons};
use crate::report::{FlowReport, Report, Totals, Unjudged};
use crate::table::Table;
use copies::Copies;
use cut::Cuts;
use fragments::Fragments;

/// Judges the packets of one capture, in their order.
///
/// ```
/// use rdmalab_lint::Linter;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let file = { let mut w = rdmalab_trace::Writer::new(Vec::new())?; let i = w.interface("a")?;
/// #   w.write(rdmalab_trace::Entry::new(i, 0, &[0xff; 60]))?; w.finish()? };
/// let mut reader = rdmalab_trace::Reader::new(&file[..])?;
/// let mut linter = Linter::new();
/// while let Some(record) = reader.next()? {
///     linter.packet(&record, &mut ());
/// }
/// let report = linter.finish(&mut ());
/// assert!(report.is_clean());
/// # Ok(()) }
/// ```
pub struct Linter {
    streams: Streams,
    table: Table,
    iwarp: iwarp::Streams,
    connections: Connections,
    standstill: Standstill,
    findings: Findings,
    reasons: Reasons,
    totals: Totals,
    unjudged: Unjudged,
    cuts: Cuts,
    copies: Copies,
    fragments: Fragments,
    /// The time of the last packet, in nanoseconds.
    now: i64,
}

impl Default for Linter {
    fn default() -> Self {
        Linter::new()
    }
}

impl Linter {
    /// Nothing seen yet.
    pub fn new() -> Linter {
        Linter {
            streams: Streams::new(),
            table: Table::new(),
            iwarp: iwarp::Streams::default(),
            connections: Connections::default(),
            standstill: Standstill::default(),
            findings: Findings::new(),
            reasons: Reasons::default(),
            totals: Totals::default(),
            unjudged: Unjudged::default(),
            cuts: Cuts::default(),
            copies: Copies::default(),
            fragments: Fragments::default(),
            now: 0,
        }
    }

    /// Judges the next packet.
    pub fn packet(&mut self, record: &Record<'_>, observer: &mut dyn Observer) {
        let dissection = self.streams.dissect(record);
        self.dissected(record, &dissection, observer);
    }

    /// Judges the next packet, which [`Streams::dissect`] has taken apart elsewhere.
    pub fn dissected(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        observer: &mut dyn Observer,
    ) {
        self.totals.packets += 1;
        self.now = record.time.and_then(|time| i64::try_from(time).ok()).unwrap_or(self.now);
        let before = self.findings.kept.len();
        match dissection.unread(record) {
            Some(unread) => {
                let is_other = unread == Unread::Fragment && self.fragments.are_of_others(dissection);
                if !is_other {
                    self.unjudged.add(unread, record);
                }
                match unread {
                    Unread::Headers => self.cut(record, dissection, Reason::HeadersCut, observer),
                    Unread::Fragment if !is_other => {
                        self.cut(record, dissection, Reason::Fragments, observer)
                    }
                    Unread::Merged => self.cut(record, dissection, Reason::Merged, observer),
                    _ => {}
                }
            }
            None if dissection.fragment().is_some() => self.fragments.of_others(dissection),
            None => lengths::malformed(record, dissection, &mut self.findings),
        }
        self.totals.fpdus += dissection.iwarp.len() as u64;
        congestion::pause(record, dissection, &mut self.findings);
        self.standstill.packet(record, dissection, &mut self.findings, &mut self.reasons);
        match dissection.pause() {
            Some(Pause::Link { .. }) => self.totals.pauses += 1,
            Some(Pause::Priorities(_)) => self.totals.priority_pauses += 1,
            None => {}
        }
        let Some(roce) = dissection.roce() else {
            self.tell(before, observer);
            let table = &mut self.table;
            let mut number = || table.number();
            self.iwarp.packet(record, dissection, &mut number, &mut self.findings, observer);
            return;
        };
        self.totals.roce += 1;
        checksums::of_roce(record, dissection, roce, &mut self.findings, &mut self.reasons);
        if !matches!(roce.icrc, Icrc::Wrong { .. }) && !roce.is_several() {
            lengths::pad(record, roce, &mut self.findings);
            headers::of_roce(record, roce, &mut self.findings);
            congestion::form(record, roce, &mut self.findings);
        }
        self.tell(before, observer);
        match Seen::of(record, roce) {
            Some(seen) if self.copies.is_one(dissection, roce, &seen) => self.copy(&seen, observer),
            Some(seen) => self.converse(&seen, roce, observer),
            None => self.broken(roce),
        }
    }

    /// A packet that makes no sense, though its base header does: it is not missing in its conversation.
    fn broken(&mut self, roce: &Roce<'_>) {
        let (source, destination) = (roce.carrier.source(), roce.carrier.destination());
        let Some(bth) = roce.packet.bth.filter(|_| roce.packet.error.is_some()) else { return };
        let is_request = roce.packet.opcode.and_then(|opcode| opcode.row()).is_none_or(|row| row.is_request);
        let place = self.table.find(&FlowKey { source, destination, queue_pair: bth.destination });
        if let Some(flow) = place.filter(|_| is_request).and_then(|place| self.table.get_mut(place)) {
            flow.broken = Some(bth.psn);
        }
    }

    /// Tells of findings that are about no flow.
    fn tell(&self, from: usize, observer: &mut dyn Observer) {
        for finding in self.findings.kept.get(from..).unwrap_or_default() {
            observer.finding(finding);
        }
    }

    /// Flows being followed now.
    pub fn flows(&self) -> usize {
        self.table.len()
    }

    /// Requests being kept now, of all flows together.
    pub fn requests_kept(&self) -> usize {
        self.table.requests
    }

    /// TCP connections being followed now, and those of them that are iWARP's.
    pub fn streams(&self) -> (usize, usize) {
        self.iwarp.len()
    }

    /// Requests of iWARP being kept now until they are answered, of all streams together.
    pub fn pending_kept(&self) -> usize {
        self.iwarp.pending
    }

    /// Judges what is still open, and reports.
    pub fn finish(mut self, observer: &mut dyn Observer) -> Report {
        let mut flows = Vec::new();
        let mut all = self.table.take_all();
        let paired: Vec<Option<u64>> = Self::peers(&all);
        for (flow, peer) in all.iter_mut().zip(paired) {
            let mut out = Out { flow: flow.number, findings: &mut self.findings, observer, now: self.now };
            self.cuts.finish(flow, &mut out);
            let is_alive = flow.stats.requests > 0 || flow.stats.responses > 0;
            if is_alive || flow.stats.notifications > 0 || flow.stats.marked > 0 {
                flows.push(FlowReport::of(flow, peer));
            }
        }
        self.standstill.finish(&mut self.reasons);
        self.totals.flows_forgotten = self.table.forgotten;
        self.totals.streams_forgotten = self.streams.forgotten().max(self.iwarp.forgotten);
        self.totals.cm_messages = self.connections.messages;
        self.totals.connections_forgotten = self.connections.forgotten;
        self.unjudged.tcp_connections = self.iwarp.others();
        self.unjudged.nothing_found = self.totals.has_no_rdma();
        let Findings { mut kept, counts } = self.findings;
        kept.sort_by_key(|finding| finding.frames.first().copied());
        Report {
            totals: self.totals,
            flows,
            streams: self.iwarp.finish(),
            findings: kept,
            counts,
            reasons: self.reasons,
            unjudged: self.unjudged,
        }
    }
}
