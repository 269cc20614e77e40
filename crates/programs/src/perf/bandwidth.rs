//! A bandwidth test of one size: as many requests under way as the queues hold, completions taken out in batches.
//!
//! One loop serves senders, receivers and those who are both. It never waits without an end: when nothing completes for
//! the time of patience, it says so.

use std::time::{Duration, Instant};

use rdmalab_device::{Completion, CompletionStatus, SendFlags, SendRequest};

use super::credit::Account;
use super::error::PerfError;
use super::exchange::{Figures, Presence, Terms};
use super::figures::Tally;
use super::managed::greeting;
use super::options::{Length, Operation, Options};
use super::requests::{
    Values, check, check_length, count_of, id, is_credit, is_receive, post_receive, queue_pair_of, work,
};
use super::session::{Ring, Session};
use crate::herald::Vigil;

/// How often one who has nothing to do looks at the clock.
const LOOK: Duration = Duration::from_millis(100);
/// How often one who has no credit looks for some.
const CREDIT_LOOK: Duration = Duration::from_micros(100);
/// When time is up, a receiver stays until so long nothing came: the sender's clock began later.
const QUIET: Duration = Duration::from_millis(300);
/// When time is up, a sender waits at most so long for what is under way.
const PARTING: Duration = Duration::from_millis(300);

/// What one side does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Bytes of a message.
    pub(super) size: u32,
    /// It sends, writes, reads.
    pub(super) sends: bool,
    /// It receives.
    pub(super) receives: bool,
}

/// What a side measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Of what it sent.
    pub(super) sent: Figures,
    /// Of what it received.
    pub(super) received: Figures,
    /// It was told to end before it had everything.
    pub(super) is_interrupted: bool,
}

/// Runs the test. `peer` says where the peer is; `tell` is told now and then how many messages are done.
pub(super) fn run(
    session: &Session,
    options: &Options,
    terms: &Terms,
    load: Load,
    peer: &mut dyn FnMut() -> Presence,
    tell: &mut dyn FnMut(u64),
) -> Result<Measured, PerfError> {
    let mut flow = Flow::new(session, options, terms, load, peer);
    let is_interrupted = match flow.run(tell) {
        Err(PerfError::Interrupted) => true,
        outcome => {
            outcome?;
            false
        }
    };
    let ended = is_interrupted.then(|| flow.now());
    Ok(Measured {
        sent: flow.sent.figures(load.size, options.gigabits, ended),
        received: flow.received.figures(load.size, options.gigabits, ended),
        is_interrupted,
    })
}

/// The counts of one queue pair.
#[derive(Clone)]
struct Lane {
    posted: u64,
    completed: u64,
    received: u64,
    values: Values,
    account: Account,
}

struct Flow<'a> {
    session: &'a Session,
    options: &'a Options,
    load: Load,
    ring: Ring,
    lanes: Vec<Lane>,
    depth: u64,
    moderation: u64,
    /// Messages of a queue pair; if not given, until the time is up.
    messages: Option<u64>,
    start: Instant,
    /// In nanoseconds from the start.
    end: u64,
    sent: Tally,
    received: Tally,
    /// When something completed last, in nanoseconds from the start.
    last: u64,
    /// What is sent inline.
    inline: Option<Vec<u8>>,
    peer: &'a mut dyn FnMut() -> Presence,
    /// Where the peer was when we last looked.
    was: Presence,
    vigil: Vigil,
    /// Whether a queue pair would send if its peer had granted more.
    is_out_of_credit: bool,
}

impl<'a> Flow<'a> {
    fn new(
        session: &'a Session,
        options: &'a Options,
        terms: &Terms,
        load: Load,
        peer: &'a mut dyn FnMut() -> Presence,
    ) -> Self {
        let ring = Ring::new(load.size, terms);
        let (messages, end, window) = match options.length {
            Length::Messages(messages) => (Some(messages), u64::MAX, None),
            Length::Time { total, margin } => {
                let (total, margin) = (nanoseconds(total), nanoseconds(margin));
                let window = if margin * 2 < total { (margin, total - margin) } else { (0, total) };
                (None, total, Some(window))
            }
        };
        let values = Values::new(options.operation, ring.places());
        let account = Account::new(options.receive_depth());
        let lane = Lane { posted: 0, completed: 0, received: 0, values, account };
        // What the peer granted in the test before is not for this one.
        (0..session.queue_pairs.len()).for_each(|queue_pair| session.forget_credit(queue_pair));
        let inline = options.is_inline(load.size).then(|| vec![0x5a; load.size as usize]);
        Self {
            session,
            options,
            load,
            ring,
            lanes: vec![lane; session.queue_pairs.len()],
            depth: options.send_depth().into(),
            moderation: options.moderation().into(),
            messages,
            start: Instant::now(),
            end,
            sent: Tally::new(options.looks_for_peak(), window),
            received: Tally::new(false, window),
            last: 0,
            inline,
            peer,
            was: Presence::There,
            vigil: Vigil::new(&options.herald),
            is_out_of_credit: false,
        }
    }

    fn run(&mut self, tell: &mut dyn FnMut(u64)) -> Result<(), PerfError> {
        let mut told = Instant::now();
        loop {
            self.options.go_on()?;
            self.post()?;
            let any = self.drain()?;
            if self.is_over() {
                return Ok(());
            }
            if told.elapsed() >= super::PROGRESS {
                tell(self.sent.all_done() + self.received.all_done());
                told = Instant::now();
            }
            if !any {
                self.wait()?;
            }
        }
    }

    fn now(&self) -> u64 {
        nanoseconds(self.start.elapsed())
    }

    /// Fills the send queues.
    fn post(&mut self) -> Result<(), PerfError> {
        if !self.load.sends || self.messages.is_none() && self.now() >= self.end {
            return Ok(());
        }
        self.is_out_of_credit = false;
        for queue_pair in 0..self.lanes.len() {
            if let Some(granted) = self.session.credit(queue_pair) {
                let lane = &mut self.lanes[queue_pair];
                if lane.account.is_granted(granted, lane.posted) {
                    self.last = self.now();
                }
            }
            let lane = &self.lanes[queue_pair];
            let mut most = self.messages.unwrap_or(u64::MAX).min(lane.completed + self.depth);
            if self.session.credits.is_some() && most > lane.account.most() {
                most = lane.account.most();
                self.is_out_of_credit = true;
            }
            for number in lane.posted..most {
                self.post_one(queue_pair, number)?;
            }
            self.lanes[queue_pair].posted = most;
        }
        Ok(())
    }

    fn post_one(&mut self, queue_pair: usize, number: u64) -> Result<(), PerfError> {
        let operation = self.options.operation;
        let (_, offset) = self.ring.place(number);
        let element = if operation.is_atomic() {
            // A place for each result, until it is looked at.
            self.session.element(queue_pair, number % self.depth * 8, 8)
        } else {
            self.session.element(queue_pair, offset, self.load.size)
        };
        let count = number + 1;
        let is_last = Some(count) == self.messages;
        let flags = if is_last || count.is_multiple_of(self.moderation) {
            SendFlags::SIGNALED
        } else {
            SendFlags::empty()
        };
        let elements = [element];
        let now = self.now();
        self.session.queue_pairs[queue_pair].post_send(&SendRequest {
            id: id(queue_pair, count),
            operation: work(operation, || self.session.remote(queue_pair, offset)),
            target: self.session.target(queue_pair),
            elements: if self.inline.is_some() { &[] } else { &elements },
            inline: self.inline.as_deref(),
            flags,
        })?;
        self.sent.post(now);
        Ok(())
    }

    /// Takes out all completions that are there, and says whether there were any.
    fn drain(&mut self) -> Result<bool, PerfError> {
        let mut any = false;
        while let Some(completion) = self.session.completions.poll() {
            self.handle(&completion)?;
            any = true;
        }
        Ok(any)
    }

    /// Waits for a completion, not too long.
    fn wait(&mut self) -> Result<(), PerfError> {
        let longest = self.options.patience.map_or(LOOK, |patience| patience.min(LOOK));
        // Credits come without a word.
        let look = if self.is_out_of_credit { CREDIT_LOOK.min(longest) } else { longest };
        if let Some(completion) = self.session.completions.wait(Some(look))? {
            return self.handle(&completion);
        }
        let silent = Duration::from_nanos(self.now() - self.last);
        if silent < longest {
            return Ok(());
        }
        let what = if self.load.sends {
            "a completion (were both sides told the same test, -c, -s and -n?)"
        } else {
            "the next message (were both sides told the same test, -c, -s and -n?)"
        };
        self.vigil.lasts(silent, what);
        // What it said or sent before has come by the next look.
        match std::mem::replace(&mut self.was, (self.peer)()) {
            Presence::Gone if self.now() < self.end => return Err(PerfError::Gone),
            Presence::Done if !self.load.sends => self.is_all_there(silent)?,
            _ => {}
        }
        match self.options.patience {
            Some(patience) if silent >= patience => Err(PerfError::Silence { what, patience }),
            _ => Ok(()),
        }
    }

    /// Fails where the client has no more to send, and we wait for more.
    fn is_all_there(&self, silent: Duration) -> Result<(), PerfError> {
        let Some(messages) = self.messages.filter(|_| silent >= QUIET) else { return Ok(()) };
        let expected = messages.saturating_mul(self.lanes.len() as u64);
        Err(PerfError::Fewer { received: self.received.all_done(), expected })
    }

    fn handle(&mut self, completion: &Completion) -> Result<(), PerfError> {
        let now = self.now();
        let queue_pair = queue_pair_of(completion);
        if now >= self.end && completion.status != CompletionStatus::Success {
            // The peer's time is up, too, and it has left.
            return Ok(());
        }
        self.last = now;
        if is_receive(completion) {
            check(completion, self.lanes[queue_pair].received + 1)?;
            if greeting::is_one(completion) {
                return Ok(());
            }
            check_length(completion, self.load.size, self.options)?;
            self.lanes[queue_pair].received += 1;
            self.received.done(1, now);
            post_receive(self.session, self.options, queue_pair)?;
            return self.grant(queue_pair);
        }
        if is_credit(completion) {
            check(completion, self.lanes[queue_pair].received)?;
            self.lanes[queue_pair].account.is_told = false;
            return self.grant(queue_pair);
        }
        let count = count_of(completion);
        check(completion, count)?;
        if self.options.operation == Operation::Read {
            check_length(completion, self.load.size, self.options)?;
        }
        self.check_values(queue_pair, count)?;
        let lane = &mut self.lanes[queue_pair];
        self.sent.done(count - lane.completed, now);
        lane.completed = count;
        Ok(())
    }

    /// Tells the peer how many of its messages have had their receives, where credits are due. Behind its last message it
    /// needs none.
    fn grant(&mut self, queue_pair: usize) -> Result<(), PerfError> {
        let lane = &mut self.lanes[queue_pair];
        let is_last = self.messages.is_some_and(|messages| lane.received >= messages);
        if self.session.credits.is_none() || is_last || !lane.account.is_due(lane.received) {
            return Ok(());
        }
        self.session.grant(queue_pair, lane.received)
    }

    /// Looks at what atomics up to this one found.
    fn check_values(&mut self, queue_pair: usize, count: u64) -> Result<(), PerfError> {
        if !self.options.operation.is_atomic() {
            return Ok(());
        }
        let lane = &mut self.lanes[queue_pair];
        for number in lane.completed..count {
            let found = self.session.result(queue_pair, number % self.depth);
            lane.values.found(queue_pair, number, self.ring.place(number).0, found)?;
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        let Some(messages) = self.messages else {
            let now = self.now();
            let quiet = Duration::from_nanos(now - self.last) >= QUIET;
            let under_way = self.lanes.iter().any(|lane| lane.posted - lane.completed >= self.moderation);
            let parted = !self.load.sends || !under_way || now >= self.end + nanoseconds(PARTING);
            return now >= self.end && parted && (!self.load.receives || quiet);
        };
        let sent = !self.load.sends || self.lanes.iter().all(|lane| lane.completed == messages);
        let all = messages.saturating_mul(self.lanes.len() as u64);
        sent && (!self.load.receives || self.received.all_done() >= all)
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
