//! PAUSE and PFC frames: whether who gets one stands still.
//!
//! What a capture shows of that depends on its place. *Whom* a frame stops is known where the file says which way packets went: the
//! interface, or its neighbour; otherwise it is whoever sends to the station that asks for the pause. *How long* it holds is told in
//! quanta of 512 bits, and the file does not say how fast the link is. So it is taken to hold as long as it does on
//! the fastest link there is, or until its sender speaks again, as nobody ends a pause that is over. *How soon* it holds is a
//! matter of bits, too: what its receiver is sending, has handed to its transmitter, or sends before it has understood.
//!
//! Bounds: [`MOST_HOLDS`] pauses at once; the first one makes room.

use std::collections::BTreeMap;

use rdmalab_trace::{Direction, Dissection, Record};
use rdmalab_wire::Pause;

use crate::finding::Findings;
use crate::reason::{Reason, Reasons};
use crate::rules::RuleId;

/// Pauses that are followed.
const MOST_HOLDS: usize = 256;
/// On a link of 800 Gbit/s, so many quanta take so many nanoseconds.
const QUANTA: u64 = 25;
const NANOSECONDS: u64 = 16;
/// Bytes that may follow a pause at once: what 1024 quanta are, more than any speed of IEEE 802.3 grants for a reaction.
const UNDER_WAY: u64 = 1024 * 64;
/// The class of a PAUSE, which stops all of the link.
const LINK: u8 = 8;

/// Who is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stopped {
    /// What goes out of the interface, or comes in.
    Way(bool),
    /// What goes to the station that asked for it.
    To([u8; 6]),
}

/// A pause that holds.
#[derive(Clone, Copy, Debug)]
struct Hold {
    frame: u64,
    /// Until when it holds at least, in nanoseconds.
    until: i64,
    /// Bytes that it should have stopped.
    bytes: u64,
    /// The frame by which they were too many.
    beyond: Option<u64>,
    is_told: bool,
}

/// All pauses under way, by interface, who is stopped, and priority.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    holds: BTreeMap<(u32, Stopped, u8), Hold>,
}

impl Standstill {
    /// The next packet.
    pub fn packet(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        findings: &mut Findings,
        reasons: &mut Reasons,
    ) {
        if let Some(pause) = dissection.pause() {
            self.pause(record, dissection, *pause, findings, reasons);
        } else if !self.holds.is_empty() {
            self.data(record, dissection, findings, reasons);
        }
    }

    fn pause(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        pause: Pause,
        findings: &mut Findings,
        reasons: &mut Reasons,
    ) {
        let Some(ethernet) = &dissection.ethernet else { return };
        let stopped = match record.direction {
            // What comes in stops what goes out.
            Some(direction) => Stopped::Way(direction == Direction::In),
            None => Stopped::To(ethernet.source.0),
        };
        if record.time.is_none() {
            reasons.add(Reason::NoTimes);
        }
        let time = record.time.and_then(|time| i64::try_from(time).ok());
        let mut say = |class: u8, quanta: u16| {
            let key = (record.interface, stopped, class);
            if let Some(over) = self.holds.remove(&key) {
                if over.bytes == 0 && record.direction.is_none() {
                    reasons.add(Reason::PauseUnknown);
                }
                if let Some(beyond) = over.beyond.filter(|_| !over.is_told) {
                    findings.add(RuleId::PauseHeeded, None, &[beyond, over.frame, record.frame], || {
                        let bytes = over.bytes;
                        format!(
                            "{bytes} bytes follow a pause for {}, whose sender speaks again behind them",
                            name(class)
                        )
                    });
                }
            }
            if quanta == 0 {
                return;
            }
            let lasts = u64::from(quanta) * NANOSECONDS / QUANTA;
            let until = time.map_or(i64::MIN, |time| time.saturating_add(lasts.cast_signed()));
            self.holds
                .insert(key, Hold { frame: record.frame, until, bytes: 0, beyond: None, is_told: false });
        };
        match pause {
            Pause::Link { time } => say(LINK, time),
            Pause::Priorities(priorities) => {
                for (class, time) in (0..8_u8).zip(priorities.times) {
                    if priorities.enabled >> class & 1 != 0 {
                        say(class, time);
                    }
                }
            }
        }
        while self.holds.len() > MOST_HOLDS {
            self.holds.pop_first();
        }
    }

    /// The capture ends.
    pub fn finish(&self, reasons: &mut Reasons) {
        let is_open = |((_, stopped, _), hold): (&(u32, Stopped, u8), &Hold)| {
            matches!(stopped, Stopped::To(_)) && hold.bytes == 0
        };
        if self.holds.iter().any(is_open) {
            reasons.add(Reason::PauseUnknown);
        }
    }

    fn data(
        &mut self,
        record: &Record<'_>,
        dissection: &Dissection<'_>,
        findings: &mut Findings,
        reasons: &mut Reasons,
    ) {
        let Some(ethernet) = &dissection.ethernet else { return };
        let stopped = match record.direction {
            Some(direction) => Stopped::Way(direction == Direction::Out),
            None => Stopped::To(ethernet.destination.0),
        };
        let priority = dissection.vlan.iter().flatten().next().map(|tag| tag.priority);
        let of_priorities = (record.interface, stopped, 0)..(record.interface, stopped, LINK);
        if priority.is_none() && self.holds.range(of_priorities).next().is_some() {
            // Which priority a frame without a tag has is between the two ends.
            reasons.add(Reason::PauseUnknown);
        }
        for class in [Some(LINK), priority].into_iter().flatten() {
            let Some(hold) = self.holds.get_mut(&(record.interface, stopped, class)) else { continue };
            hold.bytes = hold.bytes.saturating_add(record.original_length.into());
            if hold.bytes <= UNDER_WAY {
                continue;
            }
            hold.beyond.get_or_insert(record.frame);
            let time = record.time.and_then(|time| i64::try_from(time).ok());
            if !hold.is_told && time.is_some_and(|time| time <= hold.until) {
                hold.is_told = true;
                findings.add(RuleId::PauseHeeded, None, &[record.frame, hold.frame], || {
                    let bytes = hold.bytes;
                    format!(
                        "{bytes} bytes follow a pause for {}, which holds on a link of any speed",
                        name(class)
                    )
                });
            }
        }
    }
}

/// What a pause stops.
fn name(class: u8) -> String {
    if class == LINK { "the link".to_owned() } else { format!("priority {class}") }
}
