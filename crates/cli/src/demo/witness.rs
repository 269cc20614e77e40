//! Sees everything that happens, and draws it, counts it and records it.

use std::io::{self, Write};

use rdmalab_device::{Passage, RecordError, Recorder};
use rdmalab_roce::{Event, RetryCause};
use rdmalab_sim::{End, PerEnd};
use rdmalab_trace::Direction;

use super::ladder::{Ladder, Mark};
use super::packet::{History, Role};
use super::pair::{PATH_MTU, timeout};
use super::segment::{Cause, Conversation};
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

/// The witness.
pub struct Witness<W> {
    /// The ladder.
    pub ladder: Ladder<W>,
    recorder: Option<Recorder>,
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
    pub fn new(transport: Transport, ladder: Ladder<W>, recorder: Option<Recorder>) -> Self {
        let history = match transport {
            Transport::Iwarp => Histories::Tcp(Box::default()),
            _ => Histories::Roce(PerEnd::default()),
        };
        Self {
            ladder,
            recorder,
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
        let lost = passage.report.is_lost().then(|| passage.reason.to_string());
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
        let drawn = self.ladder.packet(passage.now, from, label, seen.again, lost.as_deref());
        self.note(drawn.map_err(unprinted));
        if let Some(recorder) = &mut self.recorder {
            let again = match (seen.again, seen.role, self.cause[from]) {
                (false, ..) => None,
                (true, Some(Role::Request), Some(cause)) => Some(format!("sent again after {cause}")),
                (true, ..) => Some("sent again".to_owned()),
            };
            let comment = [again, lost].into_iter().flatten().collect::<Vec<_>>().join("; ");
            let interface = match from {
                End::A => 0,
                End::B => 1,
            };
            // An empty comment is none.
            let taken =
                recorder.record(interface, passage.now, Direction::Out, passage.frame, Some(&comment));
            if let Err(fault) = taken {
                capture::ended(&fault);
                (self.recorder, self.unrecorded) = (None, Some(fault));
            }
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
        self.mark(now, end, Mark::Back, &format!("{end} goes back to psn {psn}: {cause} ({why})"))
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
        let finished = self.recorder.map(Recorder::finish).transpose();
        (self.ladder, self.tally, self.unrecorded.or(finished.err()))
    }

    fn note(&mut self, outcome: Result<()>) {
        if let Err(error) = outcome {
            self.failed.get_or_insert(error);
        }
    }
}

/// Draws a line for people that is not of the ladder.
pub fn say<W: Write>(ladder: &mut Ladder<W>, line: impl std::fmt::Display) -> Result<()> {
    let written: io::Result<()> = writeln!(ladder.out(), "{line}");
    written.map_err(unprinted)
}
