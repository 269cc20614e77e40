//! One pass over a capture.

mod evidence;
mod limits;
mod told;

use std::io::Read;

use rdmalab_lint::{Finding, Linter, Placed, ResentCause, Role, SegmentRole};
use rdmalab_trace::{
    Dissection, Filter, FilterError, IwarpUnit, Line, Packing, ReadError, ReadFault, Reader, Record, Streams,
    Unpacked,
};

use crate::ends::Ends;
use crate::error::ViewError;
use crate::flows::{Flows, notify};
use crate::frames::Frames;
use crate::kind::{Kind, Marks, says_lost};
use crate::layout::Layouts;
use crate::model::{Capture, Packet};
use crate::operations::{Band, Open, OpenStreams, Part, StreamPart, place_beside};
use crate::segments::Segments;
use crate::texts::{Distinct, Lines};

use evidence::{unpaired, whole_streams, would_tell};
use limits::Limits;
use told::{Told, role_of};

pub use limits::{MOST_BYTES, MOST_PACKETS, fits};

/// Seconds between packets beyond which a time is none to draw by.
const FURTHEST: i128 = 1 << 52;

/// What is read of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'f> {
    /// Draw only the packets that fulfil this. All are judged.
    pub filter: Option<&'f Filter>,
    /// Keep the frames, for a page.
    pub keeps_frames: bool,
}

/// Reads a capture, which may be packed with gzip or zstd, and judges it.
///
/// # Errors
/// If it is damaged or cut, or cannot be read: with what came before. If it is too large, see [`MOST_PACKETS`] and [`MOST_BYTES`].
/// If the filter compares a field with a value of another kind.
pub fn read(input: impl Read, options: Options<'_>) -> Result<Capture, ViewError> {
    read_within(input, options, Limits::default())
}

fn read_within(input: impl Read, options: Options<'_>, limits: Limits) -> Result<Capture, ViewError> {
    let mut pass = Pass::default();
    match pass.run(input, options, limits) {
        Ok(()) => Ok(pass.finish()),
        Err(Stop::Read(error, packing)) => {
            Err(ViewError::Read { error, packing, capture: Box::new(pass.finish()) })
        }
        Err(Stop::Limit(error)) => Err(error),
        Err(Stop::Filter(error)) => Err(ViewError::Filter(error)),
    }
}

enum Stop {
    Read(ReadError, Option<Packing>),
    Filter(FilterError),
    /// It does not fit.
    Limit(ViewError),
}

#[derive(Default)]
struct Pass {
    linter: Linter,
    streams: Streams,
    told: Told,
    packets: Vec<Packet>,
    ends: Ends,
    lines: Lines,
    flows: Flows,
    segments: Segments,
    layouts: Layouts,
    explained: Distinct<Vec<&'static str>>,
    frames: Frames,
    open: Open,
    open_streams: OpenStreams,
    bands: Vec<Band>,
    findings: Vec<Finding>,
    first_time: Option<i128>,
    passed_over: u64,
    line: String,
}

impl Pass {
    fn run(&mut self, input: impl Read, options: Options<'_>, limits: Limits) -> Result<(), Stop> {
        let input = Unpacked::new(input).map_err(|error| {
            Stop::Read(ReadError { offset: 0, packets_before: 0, fault: ReadFault::Io(error) }, None)
        })?;
        let packing = input.packing();
        let unread = |error| Stop::Read(error, packing);
        let mut reader = Reader::new(input).map_err(unread)?;
        while let Some(record) = reader.next().map_err(unread)? {
            self.first_time = self.first_time.or(record.time);
            let dissection = self.streams.dissect(&record);
            self.linter.dissected(&record, &dissection, &mut self.told);
            let is_drawn = match options.filter {
                Some(filter) => {
                    filter.matches(&record, &dissection, self.first_time).map_err(Stop::Filter)?
                }
                None => true,
            };
            let placed = self.told.placed.take();
            if is_drawn {
                let bytes = self.frames.bytes + record.data.len() as u64;
                limits
                    .hold(self.packets.len(), bytes, self.packets.last().map(|packet| packet.frame))
                    .map_err(Stop::Limit)?;
                self.packet(&record, &dissection, placed, options.keeps_frames);
            } else {
                self.passed_over += 1;
            }
            self.take_told(&dissection.iwarp);
        }
        Ok(())
    }

    fn packet(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        placed: Option<Placed>,
        keeps_frames: bool,
    ) {
        let time = record.time.zip(self.first_time).and_then(|(time, first)| time.checked_sub(first));
        let time = time.filter(|time| (-FURTHEST..FURTHEST).contains(&(time / 1_000_000_000)));
        let line = Line::new(record, dissection, self.first_time);
        let mut kind = Kind::of(dissection);
        let pair = self.ends.pair(&line, dissection, kind != Kind::Other);
        let addresses = self.ends.pairs.all.get(pair as usize).copied().unwrap_or_default();
        let fields = self.layouts.packet(record, dissection, self.first_time, time.is_some());
        let mut marks = Marks::of(dissection);
        if { record.comments }.any(|comment| says_lost(&comment)) {
            marks.add(Marks::LOST);
        }
        let mut is_resent = false;
        let (mut flow, mut role, mut sequence) = (None, placed.map(|placed| placed.role), fields.psn);
        let place = self.packets.len() as u32;
        if let Some(tcp) = &fields.tcp {
            let number = self.flows.of_segment(addresses, tcp.ports);
            let (its_role, its_marks) = self.segments.segment(number, tcp);
            marks.add(its_marks);
            (flow, role, sequence) = (Some(number), Some(its_role), Some(tcp.sequence));
            if let Some(segment) = self.told.segment.take() {
                self.flows.is_numbered(number, segment.flow);
                role = Some(role_of(segment.role));
                is_resent = matches!(
                    segment.role,
                    SegmentRole::Resent { cause: ResentCause::DuplicateAcknowledgements, .. }
                );
            }
            if kind == Kind::Other {
                kind = Kind::Segment;
            }
        } else if let Some(placed) = placed {
            let goes_back = placed.role == Role::Response || kind == Kind::Congestion;
            let number = self.flows.placed(placed.flow, goes_back, addresses, fields.queue_pair);
            flow = Some(number);
            if !matches!(placed.role, Role::Alone | Role::Unpaired) {
                let part = dissection.roce().and_then(|roce| Part::of(roce, placed.role));
                self.open.add(number, placed.psn.value(), place, kind, part);
            }
        }
        self.ends.packet(place, pair, dissection, kind, (flow, role));
        let told = rdmalab_explain::packet(dissection, placed.map(|placed| placed.role));
        let mut explained: Vec<&'static str> = told.iter().map(|explanation| explanation.name).collect();
        if marks.has(Marks::LOST) {
            explained.push(rdmalab_explain::recovery::LOST.name);
        }
        self.line.clear();
        // A string takes everything.
        let _ = std::fmt::write(&mut self.line, format_args!("{}", line.what()));
        self.lines.push(&self.line);
        if keeps_frames {
            self.frames.push(record.data);
        } else {
            self.frames.bytes += record.data.len() as u64;
        }
        if kind == Kind::Congestion {
            // Its PSN is of no flow.
            sequence = None;
        }
        self.packets.push(Packet {
            frame: record.frame,
            time,
            finer_than_microseconds: record.finer_than_microseconds,
            pair,
            kind,
            role,
            is_resent_by_acks: is_resent,
            marks,
            flow,
            queue_pair: fields.queue_pair,
            sequence,
            band: None,
            layout: fields.layout,
            extras: fields.extras,
            explained: self.explained.number(&explained),
            // A record has at most a megabyte.
            captured: record.data.len() as u32,
            length: record.original_length,
        });
    }

    /// An earlier packet has another place in its conversation than was told.
    fn correct(&mut self, placed: &Placed) {
        let Ok(place) = self.packets.binary_search_by_key(&placed.frame, |packet| packet.frame) else {
            return;
        };
        let Some(packet) = self.packets.get_mut(place) else { return };
        let before = packet.role.replace(placed.role);
        let mut explained = self.explained.all.get(packet.explained as usize).cloned().unwrap_or_default();
        let name = |role: Role| rdmalab_explain::role(role).map(|explanation| explanation.name);
        let untrue = before.and_then(name);
        explained.retain(|name| Some(*name) != untrue);
        explained.extend(name(placed.role));
        packet.explained = self.explained.number(&explained);
        if let Some(flow) = packet.flow {
            self.open.correct((flow, placed.psn.value(), place as u32), placed.role);
        }
    }

    /// What the linter told of earlier packets, and of the FPDUs that this one completed.
    fn take_told(&mut self, units: &[IwarpUnit]) {
        for placed in std::mem::take(&mut self.told.corrected) {
            self.correct(&placed);
        }
        for frame in std::mem::take(&mut self.told.lost) {
            let place = self.packets.binary_search_by_key(&frame, |packet| packet.frame);
            if let Some(packet) = place.ok().and_then(|place| self.packets.get_mut(place)) {
                packet.marks.add(Marks::LOST);
                let mut explained =
                    self.explained.all.get(packet.explained as usize).cloned().unwrap_or_default();
                explained.push(rdmalab_explain::recovery::LOST_BEHIND.name);
                packet.explained = self.explained.number(&explained);
            }
        }
        for operation in std::mem::take(&mut self.told.operations) {
            let Some(flow) = self.flows.numbered(operation.flow) else { continue };
            self.open.complete(&mut self.packets, &mut self.bands, flow, &operation);
        }
        for unit in std::mem::take(&mut self.told.units) {
            let place = self.packets.binary_search_by_key(&unit.frame, |packet| packet.frame);
            if let (Some(flow), Ok(place)) = (self.flows.numbered(unit.flow), place) {
                let part = units.get(unit.index).and_then(StreamPart::of);
                self.open_streams.add(flow, unit.role, place as u32, part);
            }
        }
        for operation in std::mem::take(&mut self.told.stream_operations) {
            let Some(flow) = self.flows.numbered(operation.flow) else { continue };
            self.open_streams.complete(&mut self.packets, &mut self.bands, flow, &operation);
        }
        self.told.segment = None;
        self.findings.append(&mut self.told.findings);
    }

    fn finish(mut self) -> Capture {
        let linter = std::mem::take(&mut self.linter);
        let report = linter.finish(&mut self.told);
        self.take_told(&[]);
        self.frames.close();
        let mut flows = self.flows.finish(&report);
        self.ends.part(&mut self.packets, &mut flows);
        notify(&mut self.packets, &self.ends.pairs.all, &mut flows);
        let unpaired = unpaired(&self.packets);
        self.open.finish(
            &mut self.packets,
            &mut self.bands,
            |flow| report.flows.get(flows.get(flow as usize)?.row?)?.path_mtu,
            |flow| {
                flows.get(flow as usize).is_some_and(|flow| would_tell(flow, &report, &self.ends, &unpaired))
            },
        );
        let whole = whole_streams(&flows, &report);
        self.open_streams.finish(&mut self.packets, &mut self.bands, |flow| {
            flows.get(flow as usize).is_some_and(|flow| whole.contains(&flow.connection))
        });
        let (places, names) = self.ends.lines();
        let end_of = |flow: u32| {
            let source = flows.get(flow as usize)?.addresses.0;
            places.get(source as usize).copied().flatten()
        };
        place_beside(&mut self.bands, end_of);
        Capture {
            packets: self.packets,
            ends: self.ends,
            lines: self.lines,
            places,
            names,
            flows,
            bands: self.bands,
            findings: self.findings,
            layouts: self.layouts,
            explained: self.explained,
            frames: self.frames,
            report,
            first_time: self.first_time,
            passed_over: self.passed_over,
        }
    }
}
