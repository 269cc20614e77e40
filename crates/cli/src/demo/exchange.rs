//! Runs the plan: posts what is to be done, lets time pass, and judges every completion.
//!
//! One act for each operation. Within an act some messages are under way at once; the next act begins when all of them
//! are done and nothing is on the link. What B is told is judged in [`arrivals`](super::arrivals).

use std::collections::{BTreeSet, VecDeque};
use std::io::Write;

use rdmalab_explain::states;
use rdmalab_roce::{Counters, Discard};
use rdmalab_sim::End;
use rdmalab_verbs::{Completion, CompletionStatus, Operation, Placement, RemoteAddress, Selectivity};
use rdmalab_wire::{ImmDt, RKey};

use super::arrivals::Arrival;
use super::connection;
use super::kind::Kind;
use super::ladder::{Mark, count};
use super::pair::Pair;
use super::plan::{ADD, Plan};
use super::witness::Witness;
use crate::discards;
use crate::outcome::{Result, unprinted};

/// No demonstration goes on for longer than this, in nanoseconds of virtual time: an hour.
pub const LAST_MOMENT: u64 = 3_600_000_000_000;
/// What makes another STag of one.
const WRONG: u32 = 0x5a5a_5a00;
/// Complaints that are kept.
const COMPLAINTS: usize = 10;

/// What became of the plan.
#[derive(Default)]
pub struct Course {
    /// Messages that completed at A, by operation in the order of the plan.
    pub completed: Vec<u32>,
    /// Receives of B that completed, oldest first.
    pub arrivals: Vec<Arrival>,
    /// Receives that B posted.
    pub receives: u32,
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
    /// A connection was not made.
    NotConnected(&'static str),
    /// A connection was lost in mid-exchange.
    ConnectionLost,
}

impl Course {
    /// Notes something that is not as it must be.
    pub fn complain(&mut self, complaint: String) {
        if self.complaints.len() < COMPLAINTS {
            self.complaints.push(complaint);
        }
    }

    /// How many messages of a kind B was told of; one that came twice counts once.
    pub fn arrived(&self, kind: Kind) -> u32 {
        let of_kind = self.arrivals.iter().filter(|arrival| arrival.kind == kind);
        of_kind.map(|arrival| arrival.index).collect::<BTreeSet<u32>>().len() as u32
    }
}

/// Runs all acts.
pub fn run<W: Write>(pair: &mut Pair, plan: &Plan, witness: &mut Witness<W>) -> Result<Course> {
    let mut course = Course { completed: vec![0; plan.kinds.len()], ..Course::default() };
    let is_shown = pair.line.is_some();
    if is_shown {
        // B gives its keys away by work requests.
        let both = plan.kinds.contains(&Kind::SendInv);
        connection::connect(pair, witness, &mut course, both)?;
    }
    if !is_shown && plan.transport.is_reliable() {
        witness.explain(&states::RTS, "both queue pairs");
    }
    if !plan.transport.is_reliable() {
        // A host keeps few packets for a neighbour that it looks for, and nothing is sent again.
        pair.look_for_peer();
        while pair.is_busy() && pair.step(u64::MAX, witness) {}
    }
    if plan.messages > 0 && course.failure.is_none() {
        for &kind in &plan.kinds {
            witness.ladder.act(kind.name(), plan.transport.story(kind)).map_err(unprinted)?;
            let dropped = pair.counters(End::B);
            let act = Act {
                kind,
                posted: 0,
                sent: 0,
                settled: 0,
                next: 0,
                came: BTreeSet::new(),
                key: None,
                dropped,
                late: VecDeque::new(),
            };
            act.run(pair, plan, witness, &mut course)?;
            if course.failure.is_some() {
                break;
            }
        }
    }
    if is_shown && course.failure.is_none() && !connection::is_over(pair) {
        connection::disconnect(pair, witness, &mut course)?;
    }
    Ok(course)
}

/// One operation.
pub(super) struct Act {
    pub(super) kind: Kind,
    posted: u32,
    /// Completed at A.
    sent: u32,
    /// Those that B is through with, so that its receives suffice. Where messages may be lost A cannot know how far B is:
    /// there it is those before which no frame is on its way any more.
    settled: u32,
    /// The message that B expects next: behind the furthest that came.
    pub(super) next: u32,
    /// Those that came.
    pub(super) came: BTreeSet<u32>,
    /// The key that the message under way takes away.
    pub(super) key: Option<RKey>,
    /// What B's adapter had counted when it was last looked at.
    dropped: Counters,
    /// Receives that B will post later, soonest first.
    late: VecDeque<Late>,
}

/// A receive that B posts later than A its message.
struct Late {
    /// When, in nanoseconds.
    due: u64,
    number: u32,
    at: u64,
    bytes: u32,
}

/// Shows what adapters did with packets that arrived, where that is asked for.
pub fn observe<W: Write>(pair: &mut Pair, witness: &mut Witness<W>) {
    if witness.is_taught() {
        for end in [End::A, End::B] {
            witness.arrived(end, &pair.counters(end));
        }
    }
}

impl Act {
    fn run<W: Write>(
        mut self,
        pair: &mut Pair,
        plan: &Plan,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<()> {
        let is_reliable = plan.transport.is_reliable();
        let messages = plan.count(self.kind);
        if self.kind.ends_connection() {
            connection::expect_end(pair);
        }
        while self.sent < messages && course.failure.is_none() {
            if is_reliable && self.kind.takes_receive() {
                // Over iWARP a message is done at A as soon as TCP has it.
                self.settled = self.sent.min(self.next);
            } else if is_reliable {
                self.settled = self.sent;
            } else if self.sent == self.posted && !pair.is_busy() {
                self.settled = self.posted;
            }
            while self.posted < messages && self.posted - self.settled < self.kind.depth() {
                self.post(pair, plan, witness, course)?;
            }
            let before = (self.sent, self.next);
            let goes_on = self.step(pair, plan, witness, course)?;
            // Where nothing answers, nothing more happens once all is sent.
            let waits = (self.sent, self.next) == before && (is_reliable || self.sent < self.posted);
            if !goes_on && waits {
                course.failure.get_or_insert(Failure::Stuck { kind: self.kind });
            }
        }
        // What is still on its way arrives, so that nothing of this act is left for the next.
        while (pair.is_carrying()
            || !is_reliable && pair.is_busy()
            || self.kind.ends_connection() && !connection::is_over(pair) && course.failure.is_none()
            || !witness.is_settled() && course.failure.is_none())
            && self.step(pair, plan, witness, course)?
        {}
        let arrived = course.arrived(self.kind);
        if is_reliable && self.kind.takes_receive() && course.failure.is_none() && arrived != plan.messages {
            course.complain(format!("B received {arrived} of {} {}s", plan.messages, self.kind.name()));
        }
        witness.ladder.end_act().map_err(unprinted)
    }

    fn post<W: Write>(
        &mut self,
        pair: &mut Pair,
        plan: &Plan,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<()> {
        let (kind, index, bytes) = (self.kind, self.posted, plan.bytes(self.kind));
        let now = pair.now();
        if kind.takes_receive() {
            self.post_receive(pair, plan, witness, course)?;
        }
        if kind == Kind::SendInv {
            let key = pair.give_key()?;
            self.key = Some(key);
            let text = format!("B gives A the key {key}, by a request for which no packet goes out");
            witness.mark(now, End::B, Mark::Posted, &text)?;
        }
        let (operation, what) = self.operation(pair, plan);
        pair.post_send(u64::from(index), kind, operation, plan.at_a(kind, index), bytes)?;
        let text = format!("A posts {} #{}: {what}", kind.name(), index + 1);
        witness.mark(now, End::A, Mark::Posted, &text)?;
        self.posted += 1;
        Ok(())
    }

    /// Posts a receive for the message that is posted next, unless one that a lost message left will do.
    fn post_receive<W: Write>(
        &mut self,
        pair: &mut Pair,
        plan: &Plan,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<()> {
        let number = course.receives;
        let (at, bytes) = if !plan.transport.is_reliable() {
            let waiting = number - course.arrivals.len() as u32;
            if waiting > self.posted - self.settled {
                return Ok(());
            }
            (plan.receive(number), plan.receive_bytes())
        } else if self.kind.fills_receive() {
            (plan.at_b(self.kind, self.posted), plan.bytes(self.kind))
        } else {
            (plan.at_b(self.kind, self.posted), 0)
        };
        course.receives += 1;
        let due = pair.now().saturating_add(plan.receives_late);
        self.late.push_back(Late { due, number, at, bytes });
        if plan.receives_late == 0 { self.post_due(pair, witness) } else { Ok(()) }
    }

    /// B posts the receives whose time has come.
    fn post_due<W: Write>(&mut self, pair: &mut Pair, witness: &mut Witness<W>) -> Result<()> {
        let now = pair.now();
        while self.late.front().is_some_and(|late| late.due <= now)
            && let Some(Late { number, at, bytes, .. }) = self.late.pop_front()
        {
            pair.post_receive(u64::from(number), at, bytes)?;
            let text = format!("B posts a receive of {}", count(bytes, "byte"));
            witness.mark(now, End::B, Mark::Posted, &text)?;
        }
        Ok(())
    }

    /// If nothing happened before B posts its next receive, that is what happens next; whether something did.
    fn wait<W: Write>(&mut self, pair: &mut Pair, witness: &mut Witness<W>, goes_on: bool) -> Result<bool> {
        let Some(due) = self.late.front().map(|late| late.due) else { return Ok(goes_on) };
        if !goes_on {
            pair.wait(due);
        }
        self.post_due(pair, witness)?;
        Ok(true)
    }

    /// What A posts next, and that in words.
    fn operation(&self, pair: &Pair, plan: &Plan) -> (Operation, String) {
        let (kind, index, bytes) = (self.kind, self.posted, plan.bytes(self.kind));
        let remote = pair.side(End::B).remote(plan.at_b(kind, index));
        let found = Plan::found(kind, index);
        let length = count(bytes, "byte");
        let immediate = ImmDt(index.to_be_bytes());
        match kind {
            Kind::Send | Kind::WrongKey => (Operation::Send, length),
            Kind::SendImm => (Operation::SendWithImmediate(immediate), format!("{length} and {index:#x}")),
            Kind::SendInv => {
                let key = self.key.unwrap_or_default();
                (Operation::SendWithInvalidate(key), format!("{length}, and {key} ends"))
            }
            Kind::Write => (Operation::RdmaWrite(remote), length),
            Kind::WriteImm => {
                (Operation::RdmaWriteWithImmediate(remote, immediate), format!("{length} and {index:#x}"))
            }
            Kind::Read => (Operation::RdmaRead(remote), length),
            Kind::WrongStag => {
                let remote = RemoteAddress { key: RKey::new(remote.key.value() ^ WRONG), ..remote };
                (Operation::RdmaRead(remote), format!("{length}, by the STag {}", remote.key))
            }
            Kind::FetchAdd => (Operation::FetchAndAdd { remote, add: ADD }, format!("add {ADD:#x}")),
            Kind::CmpSwap => {
                let swap = Plan::swapped(index + 1);
                let text = format!("if it is {found:#x}, make it {swap:#x}");
                (Operation::CompareAndSwap { remote, compare: found, swap }, text)
            }
            Kind::Flush => {
                let (placement, selectivity) = (Placement::GLOBAL, Selectivity::Range);
                let operation = Operation::Flush { remote, length: bytes, placement, selectivity };
                (operation, format!("a WRITE of {length} first"))
            }
            Kind::AtomicWrite => {
                let value = plan.message(kind, index).try_into().unwrap_or_default();
                (Operation::AtomicWrite { remote, value }, format!("{:#x}", u64::from_ne_bytes(value)))
            }
        }
    }

    /// Goes on to the next event and sees what it changed.
    fn step<W: Write>(
        &mut self,
        pair: &mut Pair,
        plan: &Plan,
        witness: &mut Witness<W>,
        course: &mut Course,
    ) -> Result<bool> {
        let until = self.late.front().map_or(LAST_MOMENT, |late| late.due);
        let goes_on = pair.step(until, witness);
        witness.check()?;
        observe(pair, witness);
        let goes_on = self.wait(pair, witness, goes_on)?;
        let now = pair.now();
        connection::hear(pair, witness, course)?;
        while let Some(completion) = pair.poll_receive() {
            self.received(pair, plan, completion, witness, course)?;
        }
        if !plan.transport.is_reliable() {
            self.tell_dropped(pair, witness)?;
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

    /// Shows what B's adapter dropped: its program is not told of it.
    fn tell_dropped<W: Write>(&mut self, pair: &mut Pair, witness: &mut Witness<W>) -> Result<()> {
        let counters = pair.counters(End::B);
        let before = std::mem::replace(&mut self.dropped, counters);
        for reason in Discard::ALL {
            for _ in before.discarded(reason)..counters.discarded(reason) {
                let text = format!("B's adapter drops it: {}", discards::words(reason));
                witness.mark(pair.now(), End::B, Mark::Failed, &text)?;
            }
        }
        Ok(())
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
        if kind.ends_connection() && completion.status == CompletionStatus::RemoteAccessError {
            count_completed(plan, kind, course);
            let text = format!("{name} #{} is refused: {}", index + 1, completion.status);
            return witness.mark(now, End::A, Mark::Failed, &text);
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
        let length = if kind == Kind::Read || kind.is_atomic() { plan.bytes(kind) } else { 0 };
        if completion.kind != kind.completion() || completion.length != length || kind.ends_connection() {
            course.complain(format!("completion {} of the {name}s: {completion:?}", index + 1));
        }
        count_completed(plan, kind, course);
        let text = if kind.is_atomic() {
            format!("{name} #{} is done: it was {:#x}", index + 1, Plan::found(kind, index))
        } else if plan.transport.is_reliable() {
            format!("{name} #{} is done", index + 1)
        } else {
            format!("{name} #{} is done: it is sent, more A will not know", index + 1)
        };
        witness.mark(now, End::A, Mark::Done, &text)
    }
}

/// A message has come to the end that it had to come to.
fn count_completed(plan: &Plan, kind: Kind, course: &mut Course) {
    let place = plan.kinds.iter().position(|other| *other == kind);
    if let Some(completed) = place.and_then(|place| course.completed.get_mut(place)) {
        *completed += 1;
    }
}
