//! Runs the plan: posts what is to be done, lets time pass, and judges every completion.
//!
//! One act for each operation. Within an act some messages are under way at once; the next act begins when all of them
//! are done.

use std::io::Write;

use rdmalab_sim::End;
use rdmalab_verbs::{Completion, CompletionKind, CompletionStatus, Operation};

use super::ladder::{Mark, count};
use super::pair::Pair;
use super::plan::{ADD, Kind, Plan};
use super::witness::Witness;
use crate::outcome::Result;

/// Messages under way at once.
const DEPTH: u32 = 8;
/// No demonstration goes on for longer than this, in nanoseconds of virtual time: an hour.
const LAST_MOMENT: u64 = 3_600_000_000_000;
/// Complaints that are kept.
const COMPLAINTS: usize = 10;

/// What became of the plan.
#[derive(Default)]
pub struct Course {
    /// Messages that completed, by operation in the order of [`Kind::ALL`].
    pub completed: [u32; Kind::ALL.len()],
    /// The request that failed, if one did; everything behind it was given up.
    pub failure: Option<Failure>,
    /// Completions that are not as they must be, in words. The first few.
    pub complaints: Vec<String>,
}

/// How the exchange broke off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A request ended with an error.
    Request { kind: Kind, index: u32, status: CompletionStatus },
    /// Nothing happened any more, or it went on for too long.
    Stuck { kind: Kind },
}

impl Course {
    fn complain(&mut self, complaint: String) {
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(complaint);
        }
    }
}

/// Runs all acts.
pub fn run<W: Write>(pair: &mut Pair, plan: &Plan, witness: &mut Witness<W>) -> Result<Course> {
    let mut course = Course::default();
    if plan.messages > 0 {
        for kind in Kind::ALL {
            witness.ladder.act(kind.name(), kind.story()).map_err(crate::outcome::unprinted)?;
            let act = Act { kind, posted: 0, sent: 0, received: 0 };
            act.run(pair, plan, witness, &mut course)?;
            if course.failure.is_some() {
                break;
            }
        }
    }
    Ok(course)
}

/// One operation.
struct Act {
    kind: Kind,
    posted: u32,
    /// Completed at A.
    sent: u32,
    /// Received by B; SENDs only.
    received: u32,
}

impl Act {
    fn run<W: Write>(
        mut self,
        pair: &mut Pair,
        plan: &Plan,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<()> {
        while self.sent < plan.messages && course.failure.is_none() {
            while self.posted < plan.messages && self.posted - self.sent < DEPTH {
                self.post(pair, plan, witness)?;
            }
            if !self.step(pair, plan, witness, course)? {
                course.failure.get_or_insert(Failure::Stuck { kind: self.kind });
            }
        }
        // What is still on its way arrives, so that nothing of this act is left for the next.
        while pair.is_carrying() && self.step(pair, plan, witness, course)? {}
        if self.kind == Kind::Send && course.failure.is_none() && self.received != plan.messages {
            course.complain(format!("B received {} of {} SENDs", self.received, plan.messages));
        }
        witness.ladder.end_act().map_err(crate::outcome::unprinted)
    }

    fn post<W: Write>(&mut self, pair: &mut Pair, plan: &Plan, witness: &mut Witness<W>) -> Result<()> {
        let (kind, index, bytes) = (self.kind, self.posted, plan.bytes(self.kind));
        let remote = pair.side(End::B).remote(plan.at_b(kind, index));
        let now = pair.now();
        if kind == Kind::Send {
            pair.post_receive(u64::from(index), plan.at_b(kind, index), bytes)?;
            let text = format!("B posts a receive of {}", count(bytes, "byte"));
            witness.mark(now, End::B, Mark::Posted, &text)?;
        }
        let found = Plan::found(kind, index);
        let (operation, what) = match kind {
            Kind::Send => (Operation::Send, count(bytes, "byte")),
            Kind::Write => (Operation::RdmaWrite(remote), count(bytes, "byte")),
            Kind::Read => (Operation::RdmaRead(remote), count(bytes, "byte")),
            Kind::FetchAdd => (Operation::FetchAndAdd { remote, add: ADD }, format!("add {ADD:#x}")),
            Kind::CompareSwap => {
                let swap = Plan::swapped(index + 1);
                let text = format!("if it is {found:#x}, make it {swap:#x}");
                (Operation::CompareAndSwap { remote, compare: found, swap }, text)
            }
        };
        pair.post_send(u64::from(index), operation, plan.at_a(kind, index), bytes)?;
        witness.mark(
            now,
            End::A,
            Mark::Posted,
            &format!("A posts {} #{}: {what}", kind.name(), index + 1),
        )?;
        self.posted += 1;
        Ok(())
    }

    /// Goes on to the next event and sees what it changed.
    fn step<W: Write>(
        &mut self,
        pair: &mut Pair,
        plan: &Plan,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<bool> {
        let goes_on = pair.step(LAST_MOMENT, |passage| witness.frame(passage));
        witness.check()?;
        let now = pair.now();
        while let Some(completion) = pair.poll_receive() {
            self.received(now, plan, completion, witness, course)?;
        }
        while let Some(completion) = pair.poll_send() {
            self.sent(now, plan, completion, witness, course)?;
        }
        for end in [End::A, End::B] {
            while let Some(event) = pair.poll_event(end) {
                witness.event(now, end, event)?;
            }
        }
        Ok(goes_on)
    }

    /// A receive of B completed.
    fn received<W: Write>(
        &mut self,
        now: u64,
        plan: &Plan,
        completion: Completion,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<()> {
        let number = self.received + 1;
        self.received += 1;
        let fits = self.kind == Kind::Send
            && completion.id == u64::from(number - 1)
            && completion.status == CompletionStatus::Success
            && completion.kind == CompletionKind::Receive
            && completion.length == plan.size;
        if !fits {
            course.complain(format!("completion {number} of B's receives: {completion:?}"));
        }
        let text = format!("B receives message #{number}: {}", count(completion.length, "byte"));
        witness.mark(now, End::B, Mark::Done, &text)
    }

    /// A request of A completed.
    fn sent<W: Write>(
        &mut self,
        now: u64,
        plan: &Plan,
        completion: Completion,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<()> {
        let (kind, index) = (self.kind, self.sent);
        let name = kind.name();
        self.sent += 1;
        if completion.id != u64::from(index) {
            course
                .complain(format!("completion {} of the {name}s is out of order: {completion:?}", index + 1));
        }
        if completion.status != CompletionStatus::Success {
            if course.failure.is_some() {
                // Flushed behind the one that failed.
                return Ok(());
            }
            let status = completion.status;
            course.failure = Some(Failure::Request { kind, index, status });
            let text = format!("{name} #{} fails: {status}", index + 1);
            return witness.mark(now, End::A, Mark::Failed, &text);
        }
        let length = if matches!(kind, Kind::Send | Kind::Write) { 0 } else { plan.bytes(kind) };
        if completion.kind != kind.completion() || completion.length != length {
            course.complain(format!("completion {} of the {name}s: {completion:?}", index + 1));
        }
        if let Some(place) = Kind::ALL.iter().position(|other| *other == kind) {
            course.completed[place] += 1;
        }
        let text = if kind.is_atomic() {
            format!("{name} #{} is done: it was {:#x}", index + 1, Plan::found(kind, index))
        } else {
            format!("{name} #{} is done", index + 1)
        };
        witness.mark(now, End::A, Mark::Done, &text)
    }
}
