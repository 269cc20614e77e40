//! A cable between two ends: frames go in, and come out later, at the other end, or not at all.
//!
//! What happens to a frame, in this order: the rules judge it; what they lose is gone. Each copy then joins
//! its direction's queue, if there is room, and is sent bit by bit at the link's bandwidth, one behind the
//! other; it arrives after the latency, and after what a rule added.
//!
//! Invariants. Each direction delivers in the order of sending but where a rule delayed or held back a
//! frame. Frames that arrive at the same moment come out in the order in which they were sent. Nothing is
//! lost but by a rule or for want of room ([`LinkConfig`]), nothing arrives but what was sent, and
//! [`LinkCounts`] adds up. What is on the link is limited, whoever sends and whoever does not receive.
//! Buffers are reused: in steady state a frame costs a copy and no allocation.
//!
//! Both answers of a link are for a capture as well: [`Report`] says what becomes of a frame when it is
//! sent, [`Delivery`] what became of it when it arrives. A link moves no clock: it is handed the time, and
//! takes a time before its last one for its last one.

mod flight;
mod sender;

use std::num::NonZeroU64;

use flight::{Flight, Passage};
use sender::Sender;

use crate::rule::Verdict;
use crate::{End, Judgement, PerEnd, RuleSet};

/// What a link is like, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkConfig {
    /// Nanoseconds from the last bit's departure to its arrival.
    pub latency: u64,
    /// Bits per second at which frames leave, counting the bytes of the frame alone (no preamble, gap or
    /// FCS). `None`: at once.
    pub bandwidth: Option<NonZeroU64>,
    /// Bytes that may wait to be sent, with the frame that is being sent; a frame that finds less room is
    /// dropped (tail drop). An idle link takes any frame. Nothing waits on a link without bandwidth.
    pub queue_limit: usize,
    /// Bytes of one direction that may be on the link altogether, waiting, on the way, or held back by a
    /// rule; a frame above that is dropped too. It bounds the link's memory, so it holds without exception;
    /// frames shorter than 64 bytes count as 64.
    pub in_flight_limit: usize,
}

impl Default for LinkConfig {
    /// 1 microsecond, as fast as one likes, 1 MiB of queue, 64 MiB altogether.
    fn default() -> Self {
        Self { latency: 1_000, bandwidth: None, queue_limit: 1 << 20, in_flight_limit: 64 << 20 }
    }
}

/// What becomes of a frame that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Who sent it.
    pub from: End,
    /// How many frames that end sent before it.
    pub index: u64,
    /// What the rules decided.
    pub judgement: Judgement,
    /// Copies that are on the way now: 2 of a duplicated frame, 0 of a lost one.
    pub copies: u8,
    /// Copies for which there was no room.
    pub tail_dropped: u8,
}

impl Report {
    /// Whether nothing of the frame arrives.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.copies == 0
    }
}

/// A frame that arrived.
#[derive(Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// Where it comes out.
    pub to: End,
    /// Who sent it.
    pub from: End,
    /// How many frames that end sent before it.
    pub index: u64,
    /// Whether it is the second copy of a duplicated frame.
    pub is_copy: bool,
    /// What the rules decided; of what changes bytes, `frame` has the changes.
    pub judgement: Judgement,
    /// When it was sent, in nanoseconds.
    pub sent_at: u64,
    /// When it arrived: at or before the time of the call.
    pub arrived_at: u64,
    /// The frame as it arrived.
    pub frame: &'a [u8],
}

/// What one direction has carried. `sent + duplicates = dropped + tail_dropped + delivered + in_flight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkCounts {
    /// Frames handed in.
    pub sent: u64,
    /// Copies that rules added.
    pub duplicates: u64,
    /// Frames that rules lost.
    pub dropped: u64,
    /// Frames and copies for which there was no room.
    pub tail_dropped: u64,
    /// Frames and copies that came out.
    pub delivered: u64,
    /// Frames and copies on the way.
    pub in_flight: u64,
}

/// A link with its rules and the frames on it.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    rules: RuleSet,
    now: u64,
    senders: PerEnd<Sender>,
    flight: Flight,
    counts: PerEnd<LinkCounts>,
}

impl Link {
    /// An idle link.
    #[must_use]
    pub fn new(config: LinkConfig, rules: RuleSet) -> Self {
        Self {
            config,
            rules,
            now: 0,
            senders: PerEnd::default(),
            flight: Flight::new(config.in_flight_limit.saturating_mul(2)),
            counts: PerEnd::default(),
        }
    }

    /// Sends `frame` from the end `from`. The index of a frame is [`RuleSet::judged`] before the call.
    pub fn send(&mut self, now: u64, from: End, frame: &[u8]) -> Report {
        self.now = self.now.max(now);
        let queued = self.senders[from].queued(self.now, self.config.bandwidth);
        let index = self.rules.judged(from);
        let judgement = self.rules.judge(self.now, from, frame, queued);
        let mut report = Report { from, index, judgement, copies: 0, tail_dropped: 0 };
        self.counts[from].sent += 1;
        let wanted = match judgement.verdict {
            Verdict::Drop => {
                self.counts[from].dropped += 1;
                return report;
            }
            Verdict::Duplicate => {
                self.counts[from].duplicates += 1;
                2
            }
            _ => 1,
        };
        for copy in 0..wanted {
            let passage = Passage { from, index, is_copy: copy > 0, judgement, sent_at: self.now };
            if self.launch(passage, frame) {
                report.copies += 1;
            } else {
                report.tail_dropped += 1;
            }
        }
        let counts = &mut self.counts[from];
        counts.in_flight += u64::from(report.copies);
        counts.tail_dropped += u64::from(report.tail_dropped);
        report
    }

    /// Back pressure, for a sender that can wait: until when it should, if more than `waiting` bytes of its frames
    /// wait to leave, or its direction is half full. `None` if it may send now.
    #[must_use]
    pub fn busy_until(&self, now: u64, from: End, waiting: usize) -> Option<u64> {
        let sender = &self.senders[from];
        if let Some(bandwidth) = self.config.bandwidth
            && sender.queued(now, Some(bandwidth)) > waiting
        {
            return Some(sender.below(waiting, bandwidth).max(now.saturating_add(1)));
        }
        if sender.on_link() > self.config.in_flight_limit / 2 { self.next_arrival() } else { None }
    }

    /// When the next frame arrives, at whichever end; `None` while the link is empty.
    #[must_use]
    pub fn next_arrival(&self) -> Option<u64> {
        self.flight.next_arrival()
    }

    /// Takes out the next frame that has arrived by `now`.
    pub fn receive(&mut self, now: u64) -> Option<Delivery<'_>> {
        self.now = self.now.max(now);
        let landed = self.flight.land(self.now)?;
        let Passage { from, index, is_copy, judgement, sent_at } = landed.passage;
        self.senders[from].arrived(landed.bytes.len());
        self.counts[from].in_flight -= 1;
        self.counts[from].delivered += 1;
        let (arrived_at, frame) = (landed.arrived_at, landed.bytes);
        Some(Delivery { to: from.opposite(), from, index, is_copy, judgement, sent_at, arrived_at, frame })
    }

    /// The rules and what they did.
    #[must_use]
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// The rules, to add to them.
    pub fn rules_mut(&mut self) -> &mut RuleSet {
        &mut self.rules
    }

    /// What was carried of what `from` sent.
    #[must_use]
    pub fn counts(&self, from: End) -> LinkCounts {
        self.counts[from]
    }

    /// Puts one copy onto the link; whether there was room.
    fn launch(&mut self, passage: Passage, frame: &[u8]) -> bool {
        let sender = &mut self.senders[passage.from];
        let Some(departure) = sender.depart(self.now, frame.len(), &self.config) else { return false };
        let arrival = departure.saturating_add(self.config.latency);
        let late = match passage.judgement.verdict {
            Verdict::Delay(by) | Verdict::BehindNext { at_most: by } => by,
            _ => 0,
        };
        let verdict = passage.judgement.verdict;
        let ticket = self.flight.launch(arrival.saturating_add(late), passage, frame);
        if matches!(verdict, Verdict::BehindNext { .. }) {
            sender.hold(ticket, &self.flight);
        } else {
            for held in sender.release() {
                self.flight.hasten(held, arrival.saturating_add(late));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
