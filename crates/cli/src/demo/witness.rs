//! Sees everything that happens, and draws it, counts it and records it.

use std::io::{self, Write};

use rdmalab_device::{Passage, Recorder};
use rdmalab_roce::{Event, RetryCause};
use rdmalab_sim::{End, PerEnd};
use rdmalab_trace::Direction;

use super::ladder::{Ladder, Mark};
use super::packet::{History, Role};
use super::pair::{PATH_MTU, timeout};
use crate::outcome::{Error, Result, unprinted};

/// What one adapter did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// RoCE packets put on the link.
    pub sent: u64,
    /// Those of them that the link lost.
    pub lost: u64,
    /// Requests sent again.
    pub requests_again: u64,
    /// Answers sent again.
    pub answers_again: u64,
    /// How often the requester went back: the peer reported a gap.
    pub sequence_errors: u64,
    /// A missing answer was noticed by a later one.
    pub implied_naks: u64,
    /// No answer came in time.
    pub timeouts: u64,
    /// The peer was not ready.
    pub rnr_naks: u64,
}

/// The witness.
pub struct Witness<W> {
    /// The ladder.
    pub ladder: Ladder<W>,
    recorder: Option<Recorder>,
    history: PerEnd<History>,
    /// Why each end last went back.
    cause: PerEnd<Option<RetryCause>>,
    tally: PerEnd<Tally>,
    /// The first thing that went wrong while a frame was seen; frames cannot be stopped in mid-air.
    failed: Option<Error>,
}

impl<W: Write> Witness<W> {
    /// A witness who has seen nothing.
    pub fn new(ladder: Ladder<W>, recorder: Option<Recorder>) -> Self {
        Self {
            ladder,
            recorder,
            history: PerEnd::default(),
            cause: PerEnd::default(),
            tally: PerEnd::default(),
            failed: None,
        }
    }

    /// A frame that is put on the link. What goes wrong is told by the next [`check`](Self::check).
    pub fn frame(&mut self, passage: &Passage<'_>) {
        let from = passage.report.from;
        let lost = passage.report.is_lost().then(|| passage.reason.to_string());
        let seen = self.history[from].look(passage.frame, PATH_MTU, self.ladder.draws(lost.is_some()));
        let tally = &mut self.tally[from];
        if let Some(role) = seen.roce {
            tally.sent += 1;
            tally.lost += u64::from(lost.is_some());
            match role {
                Role::Request => tally.requests_again += u64::from(seen.again),
                Role::Answer => tally.answers_again += u64::from(seen.again),
            }
        }
        let label = seen.label.as_deref().unwrap_or_default();
        let drawn = self.ladder.packet(passage.now, from, label, seen.again, lost.as_deref());
        self.note(drawn.map_err(unprinted));
        if let Some(recorder) = &mut self.recorder {
            let again = match (seen.again, seen.roce, self.cause[from]) {
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
            self.note(taken.map_err(Error::failed));
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

    /// Ends the capture, and hands back where the ladder is drawn.
    pub fn finish(self) -> Result<(Ladder<W>, PerEnd<Tally>)> {
        if let Some(recorder) = self.recorder {
            recorder.finish().map_err(Error::failed)?;
        }
        Ok((self.ladder, self.tally))
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
