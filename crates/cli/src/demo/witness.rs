//! Sees everything that happens, and draws it, counts it and records it.

use std::io::{self, Write};

use rdmalab_device::{Arrival, Passage, RecordError, Recorder};
use rdmalab_explain::Explanation;
use rdmalab_roce::{Counters, Event, RetryCause};
use rdmalab_sim::{End, PerEnd, Verdict};
use rdmalab_trace::Direction;

use super::ladder::{Ladder, Mark};
use super::packet::{History, Role};
use super::pair::{PATH_MTU, timeout};
use super::segment::{Cause, Conversation};
use super::teacher::Teacher;
use super::transport::Transport;
use crate::capture;
use crate::outcome::{Error, Result, unprinted};

/// What one adapter did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets of the transport put on the link.
    pub sent: u64,
    /// Those of them that the link lost.
    pub lost: u64,
    /// Requests sent again.
    pub requests_again: u64,
    /// Answers sent again.
    pub answers_again: u64,
    /// TCP segments sent again, or of which a part was.
    pub segments_again: u64,
    /// How often TCP went back because nothing was confirmed in time.
    pub tcp_timeouts: u64,
    /// How often it went back because the same was confirmed again and again.
    pub tcp_duplicates: u64,
    /// How often the requester went back: the peer reported a gap.
    pub sequence_errors: u64,
    /// A missing answer was noticed by a later one.
    pub implied_naks: u64,
    /// No answer came in time.
    pub timeouts: u64,
    /// The peer was not ready.
    pub rnr_naks: u64,
}

/// What the two ends have sent so far.
enum Histories {
    Roce(PerEnd<History>),
    Tcp(Box<Conversation>),
}

/// The capture.
pub struct Recording {
    /// Where it is written: an interface for each end that it is made at.
    pub recorder: Recorder,
    /// Where it is made: at one end, with what arrives there; otherwise at both, as frames are sent.
    pub place: Option<End>,
    /// Whether packets say what became of them.
    pub comments: bool,
}

/// The witness.
pub struct Witness<W> {
    /// The ladder.
    pub ladder: Ladder<W>,
    /// Explains what is drawn, if that is asked for.
    teacher: Option<Teacher>,
    recording: Option<Recording>,
    history: Histories,
    /// Why each end last went back.
    cause: PerEnd<Option<RetryCause>>,
    tally: PerEnd<Tally>,
    /// Why the capture has ended early.
    unrecorded: Option<RecordError>,
    /// The first thing that went wrong while a frame was seen; frames cannot be stopped in mid-air.
    failed: Option<Error>,
}

impl<W: Write> Witness<W> {
    /// A witness who has seen nothing.
    pub fn new(
        transport: Transport,
        ladder: Ladder<W>,
        teacher: Option<Teacher>,
        recording: Option<Recording>,
    ) -> Self {
        let history = match transport {
            Transport::Iwarp => Histories::Tcp(Box::default()),
            _ => Histories::Roce(PerEnd::default()),
        };
        Self {
            ladder,
            teacher,
            recording,
            history,
            cause: PerEnd::default(),
            tally: PerEnd::default(),
            unrecorded: None,
            failed: None,
        }
    }

    /// A frame that is put on the link. What goes wrong is told by the next [`check`](Self::check).
    pub fn frame(&mut self, passage: &Passage<'_>) {
        let from = passage.report.from;
        let verdict = passage.report.judgement.verdict;
        let fate =
            (verdict != Verdict::Deliver || passage.report.is_lost()).then(|| passage.reason.to_string());
        let lost = fate.clone().filter(|_| passage.report.is_lost());
        let in_words = self.ladder.draws(lost.is_some());
        let seen = match &mut self.history {
            Histories::Roce(history) => history[from].look(passage.frame, PATH_MTU, in_words),
            Histories::Tcp(history) => {
                history.look(passage.now, from, passage.frame, lost.is_some(), in_words)
            }
        };
        self.went_back(passage.now, from, seen.cause);
        let tally = &mut self.tally[from];
        if let Some(role) = seen.role {
            tally.sent += 1;
            tally.lost += u64::from(lost.is_some());
            match role {
                Role::Request => tally.requests_again += u64::from(seen.again),
                Role::Answer => tally.answers_again += u64::from(seen.again),
                Role::Segment => tally.segments_again += u64::from(seen.again),
            }
        }
        let label = seen.label.as_deref().unwrap_or_default();
        let beside = match (seen.again, verdict) {
            (false, Verdict::Deliver | Verdict::Drop) => String::new(),
            (true, Verdict::Deliver | Verdict::Drop) => "again".to_owned(),
            (again, verdict) => format!("{}{}", if again { "again; " } else { "" }, in_brief(verdict)),
        };
        let drawn = self.ladder.packet(passage.now, from, label, &beside, lost.as_deref());
        self.note(drawn.map_err(unprinted));
        if let Some(teacher) = &mut self.teacher {
            teacher.packet(passage.frame, from, &seen, lost.is_some(), verdict);
            self.remark();
        }
        let is_recorded = |recording: &&mut Recording| recording.place.is_none_or(|place| place == from);
        if let Some(recording) = self.recording.as_mut().filter(is_recorded) {
            let again = match (seen.again, seen.role, self.cause[from]) {
                (false, ..) => None,
                (true, Some(Role::Request), Some(cause)) => Some(format!("sent again after {cause}")),
                (true, ..) => Some("sent again".to_owned()),
            };
            let comment = [again, fate].into_iter().flatten().collect::<Vec<_>>().join("; ");
            let comment = if recording.comments { comment } else { String::new() };
            // An empty comment is none.
            let taken = recording.take(from, passage.now, Direction::Out, passage.frame, &comment);
            self.recorded(taken);
        }
    }

    /// A frame that arrives: only a capture at that end has it.
    pub fn arrival(&mut self, arrival: &Arrival<'_>) {
        let is_recorded = |recording: &&mut Recording| recording.place == Some(arrival.to);
        if let Some(recording) = self.recording.as_mut().filter(is_recorded) {
            let taken = recording.take(arrival.to, arrival.now, Direction::In, arrival.frame, "");
            self.recorded(taken);
        }
    }

    /// A capture that cannot go on ends, and the demonstration goes on without it.
    fn recorded(&mut self, taken: std::result::Result<(), RecordError>) {
        if let Err(fault) = taken {
            capture::ended(&fault);
            (self.recording, self.unrecorded) = (None, Some(fault));
        }
    }

    /// TCP begins to send again.
    fn went_back(&mut self, now: u64, end: End, cause: Option<Cause>) {
        let Some(cause) = cause else { return };
        let peer = end.opposite();
        let text = match cause {
            Cause::Timeout(silence) => {
                self.tally[end].tcp_timeouts += 1;
                format!("{end}'s TCP goes back: nothing confirmed for {} ms", (silence + 500_000) / 1_000_000)
            }
            Cause::Duplicates => {
                self.tally[end].tcp_duplicates += 1;
                format!("{end}'s TCP goes back: {peer} confirms the same again and again")
            }
        };
        let marked = self.mark(now, end, Mark::Back, &text);
        self.note(marked);
        if let Some(teacher) = &mut self.teacher {
            teacher.stream_back(end, cause);
            self.remark();
        }
    }

    /// Tells what the teacher has to say on what was drawn last.
    fn remark(&mut self) {
        let Some(teacher) = &mut self.teacher else { return };
        for remark in teacher.remarks(self.ladder.is_current()) {
            let told = self.ladder.remark(&remark.heading, remark.paragraph());
            if let Err(error) = told {
                self.failed.get_or_insert(unprinted(error));
            }
        }
    }

    /// What an adapter has counted since it was last looked at: what it did with packets that arrived.
    pub fn arrived(&mut self, end: End, counters: &Counters) {
        if let Some(teacher) = &mut self.teacher {
            teacher.arrived(end, counters);
            self.remark();
        }
    }

    /// Whether somebody wants to be told what adapters count.
    pub fn is_taught(&self) -> bool {
        self.teacher.is_some()
    }

    /// Explains something else that was drawn.
    pub fn explain(&mut self, explanation: &'static Explanation, facts: &str) {
        if let Some(teacher) = &mut self.teacher {
            teacher.say(explanation, facts);
            self.remark();
        }
    }

    /// Whether all is confirmed that TCP has sent. Of RoCE there is nothing to wait for.
    pub fn is_settled(&self) -> bool {
        match &self.history {
            Histories::Roce(_) => true,
            Histories::Tcp(history) => history.is_settled(),
        }
    }

    /// An event of an adapter.
    pub fn event(&mut self, now: u64, end: End, event: Event) -> Result<()> {
        let Event::Retry { psn, cause, .. } = event else { return Ok(()) };
        let peer = end.opposite();
        let tally = &mut self.tally[end];
        let why = match cause {
            RetryCause::SequenceError => {
                tally.sequence_errors += 1;
                format!("{peer} misses it")
            }
            RetryCause::ImpliedNak => {
                tally.implied_naks += 1;
                "a later answer came, its own did not".to_owned()
            }
            RetryCause::Timeout => {
                tally.timeouts += 1;
                format!("nothing new for {} µs", timeout() / 1_000)
            }
            RetryCause::RnrNak => {
                tally.rnr_naks += 1;
                format!("{peer} has no receive posted")
            }
        };
        self.cause[end] = Some(cause);
        self.mark(now, end, Mark::Back, &format!("{end} goes back to psn {psn}: {cause} ({why})"))?;
        if let Some(teacher) = &mut self.teacher {
            teacher.back(psn, cause);
            self.remark();
        }
        Ok(())
    }

    /// Something that happens at one end.
    pub fn mark(&mut self, now: u64, end: End, mark: Mark, text: &str) -> Result<()> {
        self.ladder.mark(now, end, mark, text).map_err(unprinted)
    }

    /// Tells what went wrong while frames were seen.
    pub fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Ends the capture, and hands back where the ladder is drawn, what was counted, and why the capture is not of all, if so.
    pub fn finish(self) -> (Ladder<W>, PerEnd<Tally>, Option<RecordError>) {
        let finished = self.recording.map(|recording| recording.recorder.finish()).transpose();
        (self.ladder, self.tally, self.unrecorded.or(finished.err()))
    }

    fn note(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.failed.get_or_insert(error);
        }
    }
}

impl Recording {
    fn take(
        &mut self,
        at: End,
        now: u64,
        direction: Direction,
        frame: &[u8],
        comment: &str,
    ) -> std::result::Result<(), RecordError> {
        let interface = match (self.place, at) {
            (Some(_), _) | (None, End::A) => 0,
            (None, End::B) => 1,
        };
        self.recorder.record(interface, now, direction, frame, Some(comment))
    }
}

/// What becomes of a packet that is not lost, in a few words.
fn in_brief(verdict: Verdict) -> String {
    match verdict {
        Verdict::Deliver => String::new(),
        Verdict::Drop => "lost".to_owned(),
        Verdict::Duplicate => "comes twice".to_owned(),
        Verdict::Delay(time) => format!("{} µs late", time / 1_000),
        Verdict::BehindNext { .. } => "behind the next".to_owned(),
        Verdict::Corrupt { .. } => "damaged".to_owned(),
        Verdict::Mark => "marked".to_owned(),
    }
}

/// Draws a line for people that is not of the ladder.
pub fn say<W: Write>(ladder: &mut Ladder<W>, line: impl std::fmt::Display) -> Result<()> {
    let written: io::Result<()> = writeln!(ladder.out(), "{line}");
    written.map_err(unprinted)
}
