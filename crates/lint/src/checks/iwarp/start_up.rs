//! The start-up of MPA: who says what first, and whether the reply fits the request.

use rdmalab_trace::{Fpdu, StartUp};
use rdmalab_wire::iwarp::{Enhanced, MpaKind, Opcode, Place};

use super::Heard;
use crate::iwarp::side::Start;
use crate::iwarp::tcp::is_before;
use crate::iwarp::{At, Stream};
use crate::observer::UnitRole;
use crate::reason::Reason;
use crate::rules::RuleId;

/// The places of rules that are told once.
const EARLY: usize = 0;
const REJECTED: usize = 1;
/// The revisions of MPA: RFC 5044's and RFC 6581's.
const REVISIONS: std::ops::RangeInclusive<u8> = 1..=2;

impl Stream {
    /// A start-up frame.
    pub(super) fn start_up(&mut self, side: usize, start_up: &StartUp, at: &mut At<'_>) -> UnitRole {
        if self.both(side)[0].start.is_some() {
            // The capture missed the end of another connection between these ports.
            self.begin_again();
        }
        let [ours, theirs] = self.both_mut(side);
        let flow = ours.number;
        let mpa = match start_up.frame() {
            Ok(mpa) => mpa,
            Err(error) => {
                at.find(RuleId::Malformed, flow, &[at.frame], || format!("{error}"));
                return UnitRole::Broken;
            }
        };
        let start = Start::of(&mpa, at.frame, start_up.end_sequence);
        let is_behind_fpdus = theirs.fpdus > 0 && theirs.start.is_none();
        ours.start(start);
        if is_behind_fpdus {
            theirs.doubt(Reason::BegunBefore);
        }
        let other = theirs.start;
        if let Some(other) = other.filter(|other| other.kind == start.kind) {
            at.find(RuleId::MpaStart, flow, &[at.frame, other.frame], || match start.kind {
                MpaKind::Request => "both sides send a request".to_owned(),
                MpaKind::Reply => "both sides send a reply".to_owned(),
            });
            return UnitRole::StartUp;
        }
        match (start.kind, other) {
            (MpaKind::Request, None) => request(&start, flow, at),
            (MpaKind::Reply, Some(request)) => reply(&start, &request, flow, at),
            // It is known by the reply alone, which came first in the capture.
            (MpaKind::Request, Some(answer)) => {
                request(&start, flow, at);
                let answering = self.both(side)[1].number;
                reply(&answer, &start, answering, at);
            }
            (MpaKind::Reply, None) => ours.doubt(Reason::StartUpUnknown),
        }
        UnitRole::StartUp
    }

    /// Whether the sender of an FPDU may send one yet.
    pub(super) fn is_too_early(&mut self, side: usize, fpdu: &Fpdu, heard: Heard, at: &mut At<'_>) {
        let [ours, theirs] = self.both_mut(side);
        let (Some(start), Some(to)) = (ours.start, heard.to) else { return };
        if !ours.is_whole {
            return;
        }
        let other = theirs.start.filter(|other| other.kind != start.kind);
        // What is to be heard first, and in which frame it stands.
        let (first, frame, what) = match (start.kind, other) {
            (MpaKind::Request, Some(reply)) => (Some(reply.end), reply.frame, "the reply"),
            // Nothing of the reply is in the capture: it is early if nothing at all was heard.
            (MpaKind::Request, None) => {
                (heard.from.map(|from| from.wrapping_add(1)), start.frame, "the reply")
            }
            (MpaKind::Reply, Some(request)) => {
                let end = theirs.first_end.unwrap_or(request.end.wrapping_add(1));
                (Some(end), request.frame, "the initiator's first FPDU")
            }
            (MpaKind::Reply, None) => (None, start.frame, ""),
        };
        let Some(first) = first else { return ours.doubt(Reason::StartUpUnknown) };
        if is_before(to, first) && !told(&mut ours.told, EARLY) {
            at.find(RuleId::MpaFirst, ours.number, &[at.frame, frame], || {
                format!("{} is sent before its sender has {what}", fpdu.segment())
            });
        }
        let reply = [Some(start), other].into_iter().flatten().find(|start| start.kind == MpaKind::Reply);
        if let Some(reply) = reply.filter(|reply| reply.reject)
            && (start.kind == MpaKind::Reply || !is_before(to, reply.end))
            && !told(&mut ours.told, REJECTED)
        {
            at.find(RuleId::MpaRejected, ours.number, &[at.frame, reply.frame], || {
                format!("{} is sent though the reply rejects", fpdu.segment())
            });
        }
    }

    /// Whether an FPDU is the ready-to-receive message. Judges it if it should be.
    pub(super) fn ready(&mut self, side: usize, fpdu: &Fpdu, at: &mut At<'_>) -> bool {
        let starts = self.starts(side);
        let [ours, _] = self.both_mut(side);
        let agreed = starts.filter(|[ours, theirs]| {
            ours.kind == MpaKind::Request
                && theirs.kind == MpaKind::Reply
                && [ours, theirs].iter().all(|start| start.enhanced.is_some_and(|mpa| mpa.peer_to_peer))
        });
        let picked = agreed.and_then(|[_, reply]| reply.enhanced);
        let is_first = ours.is_whole && ours.fpdus == 1;
        let Some(picked) = picked.filter(|_| is_first) else {
            let is_known = starts.is_some() || ours.start.is_some_and(|start| start.kind == MpaKind::Reply);
            if fpdu.is_ready_to_receive() && ours.is_whole && is_known {
                let flow = ours.number;
                at.find(RuleId::MpaReady, flow, &[at.frame], || {
                    "an FPDU without a ULPDU, where none was agreed on".to_owned()
                });
            }
            return false;
        };
        let segment = fpdu.segment();
        let is_empty = segment.payload.is_empty();
        let opcode = segment.header.map(|header| header.opcode);
        let is_it = match (opcode, segment.header.map(|header| header.place)) {
            (None, _) => picked.rtr_empty && fpdu.is_ready_to_receive(),
            (Some(Opcode::WRITE), Some(Place::Tagged { .. })) => picked.rtr_write && is_empty,
            (Some(Opcode::READ_REQUEST), _) => {
                let asks_nothing = matches!(
                    segment.body,
                    Some(rdmalab_wire::iwarp::RawBody::ReadRequest(request)) if request.length == 0
                );
                picked.rtr_read && asks_nothing
            }
            _ => false,
        };
        if !is_it {
            let reply = starts.map_or(0, |[_, reply]| reply.frame);
            at.find(RuleId::MpaReady, ours.number, &[at.frame, reply], || {
                format!("the first FPDU is {segment}, the reply picks {}", kinds(&picked))
            });
        }
        is_it
    }
}

/// Whether it was told before; it is from now on.
pub(super) fn told(told: &mut [bool; 3], rule: usize) -> bool {
    told.get_mut(rule).is_none_or(|told| std::mem::replace(told, true))
}

/// What of the ready-to-receive messages a frame names.
fn kinds(enhanced: &Enhanced) -> String {
    let named = [(enhanced.rtr_empty, "empty"), (enhanced.rtr_write, "WRITE"), (enhanced.rtr_read, "READ")];
    let names: Vec<&str> = named.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(" and ") }
}

fn reserved(start: &Start, flow: u64, at: &mut At<'_>) {
    if start.reserved != 0 {
        at.find(RuleId::MpaFlags, flow, &[start.frame], || {
            format!("the reserved flags are {:#x}", start.reserved)
        });
    }
}

/// Whether there is such a revision.
fn revision(start: &Start, flow: u64, at: &mut At<'_>) {
    if !REVISIONS.contains(&start.revision) {
        at.find(RuleId::MpaRevision, flow, &[start.frame], || {
            format!("the revision is {}, and there are 1 and 2", start.revision)
        });
    }
}

fn request(start: &Start, flow: u64, at: &mut At<'_>) {
    reserved(start, flow, at);
    revision(start, flow, at);
    if start.reject {
        at.find(RuleId::MpaFlags, flow, &[start.frame], || "a request says that it rejects".to_owned());
    }
}

/// A reply to a request.
fn reply(reply: &Start, request: &Start, flow: u64, at: &mut At<'_>) {
    let frames = [reply.frame, request.frame];
    reserved(reply, flow, at);
    if reply.revision > request.revision {
        at.find(RuleId::MpaRevision, flow, &frames, || {
            format!("the reply has revision {}, the request {}", reply.revision, request.revision)
        });
    } else {
        revision(reply, flow, at);
    }
    if reply.enhanced.is_some() && request.enhanced.is_none() {
        at.find(RuleId::MpaFlags, flow, &frames, || {
            "the reply has enhanced data, and the request has none".to_owned()
        });
    }
    // Of a connection that will not be, numbers mean nothing.
    if reply.reject {
        return;
    }
    if let (Some(ord), Some(ird)) = (reply.ord(), request.ird())
        && ord > ird
    {
        at.find(RuleId::MpaDepth, flow, &frames, || {
            format!("the reply wants {ord} READs at once, the request's sender answers {ird}")
        });
    }
    let (Some(asked), Some(picked)) = (request.enhanced, reply.enhanced) else { return };
    if asked.peer_to_peer != picked.peer_to_peer {
        at.find(RuleId::MpaRtr, flow, &frames, || {
            format!(
                "the request {} for the peer-to-peer model, the reply {}",
                if asked.peer_to_peer { "asks" } else { "does not ask" },
                if picked.peer_to_peer { "does" } else { "does not" }
            )
        });
        return;
    }
    let offered = [asked.rtr_empty, asked.rtr_write, asked.rtr_read];
    let taken = [picked.rtr_empty, picked.rtr_write, picked.rtr_read];
    let is_one = taken.iter().filter(|taken| **taken).count() == 1;
    let is_offered = taken.iter().zip(offered).all(|(taken, offered)| offered || !taken);
    if asked.peer_to_peer && !(is_one && is_offered) {
        at.find(RuleId::MpaRtr, flow, &frames, || {
            format!("the reply picks {}, offered were {}", kinds(&picked), kinds(&asked))
        });
    }
}
