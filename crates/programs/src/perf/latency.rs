//! A latency test of one size: one message under way.
//!
//! Of READs and atomics the client measures how long they take. SENDs and WRITEs go to and fro, and each way has half of
//! a round. A SEND is noticed by its completion, and the client begins. A WRITE is noticed by its last byte alone: it counts
//! the rounds, from 1 for each size, and whoever waits looks at it again and again. There the *server* begins.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use rdmalab_device::{CompletionStatus, SendFlags, SendRequest};

use super::Role;
use super::error::PerfError;
use super::exchange::{Presence, Terms};
use super::figures::{Latencies, Pace};
use super::managed::greeting;
use super::options::{Length, Operation, Options};
use super::requests::{Values, check, check_length, is_receive, post_receive, work};
use super::session::{Ring, Session};
use crate::herald::Vigil;

/// How often one who waits for a byte looks before it lets others have the processor.
const LOOKS: u32 = 64;
/// How often one who waits looks at the clock and the completions.
const LOOK: Duration = Duration::from_millis(50);
/// When time is up, one whose peer says nothing for so long leaves: the peer's clock began earlier.
const QUIET: Duration = Duration::from_millis(300);

/// What is waited for.
const NEXT: &str = "the next message (were both sides told the same test, -c, -s and -n?)";

/// What was measured.
#[derive(Clone, Debug)]
pub(super) enum Measured {
    /// Each message.
    Each(Latencies),
    /// A number of rounds in a time.
    Pace(Pace),
}

/// Runs the test; and whether it was told to end before its end. `peer` says where the peer is; `tell` is told now
/// and then how many rounds are done.
pub(super) fn run(
    session: &Session,
    options: &Options,
    terms: &Terms,
    role: Role,
    size: u32,
    peer: &mut dyn FnMut() -> Presence,
    tell: &mut dyn FnMut(u64),
) -> Result<(Measured, bool), PerfError> {
    let messages = if options.operation.is_read_or_atomic() { 1 } else { 2 };
    let (rounds, end, window) = match options.length {
        Length::Messages(rounds) => (rounds, None, None),
        Length::Time { total, margin } => {
            let window = if margin * 2 < total { (margin, total - margin) } else { (Duration::ZERO, total) };
            (u64::MAX, Some(total), Some(window))
        }
    };
    let ring = Ring::new(size, terms);
    let mut game = Game {
        session,
        options,
        size,
        ring,
        values: Values::new(options.operation, ring.places()),
        start: Instant::now(),
        end,
        number: 0,
        sent: 0,
        received: 0,
        is_last: false,
        peer: RefCell::new(peer),
        was: Cell::new(Presence::There),
        vigil: Vigil::new(&options.herald),
    };
    let mut stamps = Vec::with_capacity(if end.is_some() { 0 } else { rounds as usize });
    let (mut all, mut counted, mut told, mut is_interrupted) = (0, 0, Instant::now(), false);
    for round in 0..rounds {
        let now = game.start.elapsed();
        if end.is_none() {
            stamps.push(now.as_nanos() as u64);
        }
        if end.is_some_and(|end| now >= end) {
            break;
        }
        game.is_last = round + 1 == rounds;
        match game.round(role) {
            Ok(true) => {}
            Ok(false) => break,
            Err(PerfError::Interrupted) => {
                is_interrupted = true;
                break;
            }
            Err(error) => return Err(error),
        }
        all += 1;
        if window.is_some_and(|(from, to)| (from..=to).contains(&game.start.elapsed())) {
            counted += 1;
        }
        if told.elapsed() >= super::PROGRESS {
            tell(round + 1);
            told = Instant::now();
        }
    }
    let measured = match window {
        // A margin is none where the end was not foreseen.
        Some(_) if is_interrupted => {
            Measured::Pace(Pace { rounds: all, time: game.start.elapsed(), messages })
        }
        Some((from, to)) => Measured::Pace(Pace { rounds: counted, time: to - from, messages }),
        None => Measured::Each(Latencies::new(&stamps, messages)),
    };
    Ok((measured, is_interrupted))
}

struct Game<'a> {
    session: &'a Session,
    options: &'a Options,
    size: u32,
    ring: Ring,
    start: Instant,
    end: Option<Duration>,
    /// Requests posted, completed, and messages received.
    number: u64,
    sent: u64,
    received: u64,
    values: Values,
    is_last: bool,
    peer: RefCell<&'a mut dyn FnMut() -> Presence>,
    /// Where the peer was when we last looked.
    was: Cell<Presence>,
    vigil: Vigil,
}

impl Game<'_> {
    /// One round. `false` if the time is up and the peer has left.
    fn round(&mut self, role: Role) -> Result<bool, PerfError> {
        self.options.go_on()?;
        let begins = match self.options.operation {
            Operation::Send => role.is_client(),
            Operation::Write => !role.is_client(),
            _ => {
                self.post()?;
                return self.until(|game| game.sent == game.number);
            }
        };
        if begins {
            self.post()?;
        }
        let number = self.number + u64::from(!begins);
        let there = match self.options.operation {
            Operation::Send => self.until(|game| game.received >= number)?,
            _ => self.until_written(number as u8)?,
        };
        if !there {
            return Ok(false);
        }
        if !begins {
            self.post()?;
        }
        self.until(|game| game.sent == game.number)
    }

    fn post(&mut self) -> Result<(), PerfError> {
        let operation = self.options.operation;
        let goes_round = operation.is_atomic();
        let offset = if goes_round { self.ring.place(self.number).1 } else { 0 };
        self.number += 1;
        let source = self.session.source(0) as usize;
        if operation == Operation::Write {
            // Inside the region; a WRITE has at least one byte.
            let _ = self.session.memory.write(source + self.size as usize - 1, &[self.number as u8]);
        }
        let mut bytes = Vec::new();
        let is_inline = self.options.is_inline(self.size);
        if is_inline {
            bytes.resize(self.size as usize, 0);
            let _ = self.session.memory.read(source, &mut bytes);
        }
        let elements = [self.session.element(0, 0, self.size)];
        self.session.queue_pairs[0].post_send(&SendRequest {
            id: self.number,
            operation: work(operation, || self.session.remote(0, offset)),
            target: self.session.target(0),
            elements: if is_inline { &[] } else { &elements },
            inline: is_inline.then_some(&bytes),
            flags: SendFlags::SIGNALED,
        })?;
        Ok(())
    }

    /// Takes completions until something is so. `false` if the time is up and nothing comes any more.
    fn until(&mut self, is_so: impl Fn(&Self) -> bool) -> Result<bool, PerfError> {
        let since = Instant::now();
        while !is_so(self) {
            if !self.take(Some(LOOK))? && !self.goes_on(since)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until the last byte of our sink has a value. `false` if the time is up and nothing comes any more.
    fn until_written(&mut self, value: u8) -> Result<bool, PerfError> {
        let at = self.session.sink(0) as usize + self.size as usize - 1;
        let (since, mut looked) = (Instant::now(), Instant::now());
        loop {
            for _ in 0..LOOKS {
                let mut byte = [0];
                // Inside the region.
                let _ = self.session.memory.read(at, &mut byte);
                if byte == [value] {
                    return Ok(true);
                }
                std::hint::spin_loop();
            }
            std::thread::yield_now();
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                // A request of ours that failed says why nothing comes.
                while self.take(None)? {}
                if !self.goes_on(since)? {
                    return Ok(false);
                }
            }
        }
    }

    /// Whether to wait on, who has waited since then.
    fn goes_on(&self, since: Instant) -> Result<bool, PerfError> {
        self.options.go_on()?;
        let waited = since.elapsed();
        if self.end.is_some_and(|end| self.start.elapsed() >= end) && waited >= QUIET {
            return Ok(false);
        }
        self.vigil.lasts(waited, NEXT);
        // What it said or sent before has come by the next look.
        let presence = (self.peer.borrow_mut())();
        match self.was.replace(presence) {
            Presence::Gone if self.end.is_none_or(|end| self.start.elapsed() < end) => {
                return Err(PerfError::Gone);
            }
            Presence::Done if waited >= QUIET && self.options.operation == Operation::Send => {
                if let Length::Messages(expected) = self.options.length {
                    return Err(PerfError::Fewer { received: self.received, expected });
                }
            }
            _ => {}
        }
        match self.options.patience {
            Some(patience) if waited >= patience => Err(PerfError::Silence { what: NEXT, patience }),
            _ => Ok(true),
        }
    }

    /// Takes a completion, if one is there or comes in time.
    fn take(&mut self, wait: Option<Duration>) -> Result<bool, PerfError> {
        let completion = match wait {
            Some(_) => self.session.completions.wait(wait)?,
            None => self.session.completions.poll(),
        };
        let Some(completion) = completion else { return Ok(false) };
        if is_receive(&completion) {
            check(&completion, self.received + 1)?;
            if greeting::is_one(&completion) {
                return Ok(true);
            }
            check_length(&completion, self.size, self.options)?;
            self.received += 1;
            post_receive(self.session, self.options, 0)?;
            return Ok(true);
        }
        let operation = self.options.operation;
        // Whoever got the last message of all may leave before we know.
        let leaves = operation == Operation::Write && (self.is_last || self.end.is_some());
        if !(leaves && completion.status == CompletionStatus::RetryExceeded) {
            check(&completion, completion.id)?;
        }
        self.sent = completion.id;
        if operation == Operation::Read {
            check_length(&completion, self.size, self.options)?;
        }
        if operation.is_atomic() {
            let (number, found) = (self.sent - 1, self.session.result(0, 0));
            self.values.found(0, number, self.ring.place(number).0, found)?;
        }
        Ok(true)
    }
}
