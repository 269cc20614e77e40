//! READs and atomics that a side asks for, and how many are under way.

use rdmalab_wire::iwarp::{AtomicRequest, Header, Place, ReadRequest};

use super::Heard;
use super::answers::hears_only_what_is_known;
use crate::iwarp::side::{Asked, Pending};
use crate::iwarp::tcp::is_before;
use crate::iwarp::{At, Stream};
use crate::reason::Reason;
use crate::rules::RuleId;

impl Stream {
    pub(super) fn read_request(
        &mut self,
        side: usize,
        header: &Header,
        request: &ReadRequest,
        is_ready: bool,
        heard: Heard,
        at: &mut At<'_>,
    ) {
        let asked = Asked::Read {
            stag: request.sink_stag.value(),
            offset: request.sink_offset,
            length: request.length,
        };
        self.ask(side, header, asked, is_ready, heard, at);
    }

    pub(super) fn atomic_request(
        &mut self,
        side: usize,
        header: &Header,
        request: &AtomicRequest,
        heard: Heard,
        at: &mut At<'_>,
    ) {
        self.ask(side, header, Asked::Atomic { id: request.request_id }, false, heard, at);
    }

    fn ask(
        &mut self,
        side: usize,
        header: &Header,
        asked: Asked,
        is_ready: bool,
        heard: Heard,
        at: &mut At<'_>,
    ) {
        let depth = self.depth(side);
        let [ours, theirs] = self.both_mut(side);
        // Those whose answers it has are under way no more.
        while let Some(answered) = ours.pending.front().map(|pending| pending.answered)
            && answered.is_some_and(|end| heard.to.is_some_and(|to| !is_before(to, end)))
        {
            ours.pending.pop_front();
        }
        let msn = match header.place {
            Place::Untagged { msn, .. } => msn,
            Place::Tagged { .. } => 0,
        };
        ours.asks(Pending { asked, msn, begun: (at.frame, at.time), received: 0, answered: None, is_ready });
        let Some(front) = ours.pending.front().filter(|_| ours.next_answer.is_some()) else { return };
        let Some(depth) = depth else { return ours.doubt(Reason::StartUpUnknown) };
        let (first, count) = (front.begun.0, ours.pending.len());
        // One too many is told of, and not those behind it.
        if count != usize::from(depth) + 1 {
            return;
        }
        // Had requests between been missed, or answers, those that seem to be under way might not be.
        let is_whole = msn.wrapping_sub(front.msn) as usize + 1 == count;
        if !is_whole || !hears_only_what_is_known(heard, theirs) {
            let is_gap = !is_whole || theirs.stats.missing_bytes > 0;
            return ours.doubt(if is_gap { Reason::LostAhead } else { Reason::NoFpdus });
        }
        at.find(RuleId::RdmapDepth, ours.number, &[at.frame, first], || {
            format!("{count} READs and atomics are under way, agreed were {depth}")
        });
    }
}
