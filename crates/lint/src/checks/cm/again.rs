//! Messages that come again: the same as before, not too soon, and not too often.

use rdmalab_wire::mad::response_timeout_nanoseconds;

use super::{APR, Call, Connections, DREP, DREQ, LAP, MRA, REJ, REP, REQ, RTU};
use crate::finding::Findings;
use crate::packet::Seen;
use crate::rules::RuleId;

/// What comes again so soon, in nanoseconds, is the same packet seen twice.
const AT_ONCE: i64 = 20_000;

/// A message as it came.
pub(super) struct Message {
    pub attribute: u16,
    pub name: &'static str,
    /// Of its content.
    pub sum: u32,
    /// The code of the time that the other side has to answer, where the message says so itself.
    pub timeout: Option<u8>,
    /// Its transaction, which an answer repeats.
    pub transaction: u64,
}

/// A message, and how often it came.
#[derive(Clone, Copy)]
pub(super) struct Said {
    pub sum: u32,
    pub transaction: u64,
    pub frame: u64,
    pub count: u32,
    pub last_time: i64,
    pub last_ip_id: u16,
}

impl Connections {
    /// A message that has come before is the same, comes again no sooner than there may be an answer, and not too often.
    pub(super) fn again(
        &mut self,
        call: &Call,
        message: &Message,
        by_caller: bool,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        let Message { attribute, sum, .. } = *message;
        let Some(connection) = self.calls.get_mut(call) else { return };
        let req_time = connection.said.get(&(REQ, true)).map(|said| said.last_time);
        let Some(said) = connection.said.get_mut(&(attribute, by_caller)) else {
            connection.said.insert((attribute, by_caller), Said::of(message, seen));
            let answer = answer_to(attribute).and_then(|answer| connection.said.get(&(answer, !by_caller)));
            // Two packets that the capture has in each other's place are no proof.
            if let Some(answer) = answer.filter(|answer| answer.frame + 1 < seen.frame) {
                findings.add(RuleId::CmOrder, None, &[seen.frame, answer.frame], || {
                    format!("{} comes behind its answer", message.name)
                });
            }
            return;
        };
        if said.sum != sum {
            match attribute {
                // A wait may be asked for several times, an alternate path loaded anew.
                MRA | REJ | LAP | APR => *said = Said::of(message, seen),
                _ => {
                    let frame = said.frame;
                    findings.add(RuleId::CmRepeat, None, &[seen.frame, frame], || {
                        format!("{} comes again with another content", message.name)
                    });
                }
            }
            return;
        }
        let passed = seen.time.saturating_sub(said.last_time);
        let is_same = seen.ip_id == said.last_ip_id || passed < AT_ONCE;
        if is_same || !seen.has_time {
            return;
        }
        let is_answer_to_again =
            attribute == REP && req_time.is_some_and(|req_time| req_time > said.last_time);
        (said.last_time, said.last_ip_id) = (seen.time, seen.ip_id);
        if !matches!(attribute, REQ | REP | DREQ | LAP) || is_answer_to_again {
            return;
        }
        said.count = said.count.saturating_add(1);
        let (count, frame) = (said.count, said.frame);
        let (most, req) = (u32::from(connection.req.max_cm_retries), &connection.req);
        if count == most + 2 {
            findings.add(RuleId::CmRetries, None, &[seen.frame, frame], || {
                format!("{} comes for the {count}th time, the REQ allows {most} repetitions", message.name)
            });
        }
        let agreed = if by_caller { req.remote_response_timeout } else { req.local_response_timeout };
        let code = message.timeout.unwrap_or(agreed);
        let wait = response_timeout_nanoseconds(code).cast_signed();
        let until = connection.waits.get(usize::from(!by_caller)).copied().unwrap_or(i64::MIN);
        // Places of capture have clocks of their own making: one in a hundred is granted.
        if passed < wait - wait / 100 || seen.time < until.saturating_sub(wait / 100) {
            findings.add(RuleId::CmWait, None, &[seen.frame, frame], || {
                format!(
                    "{} comes again after {:.3} ms; the other side may take {:.3} ms, or what its MRA says",
                    message.name,
                    passed as f64 / 1e6,
                    wait as f64 / 1e6
                )
            });
        }
    }
}

/// The message that answers one.
const fn answer_to(attribute: u16) -> Option<u16> {
    match attribute {
        REP => Some(RTU),
        DREQ => Some(DREP),
        LAP => Some(APR),
        _ => None,
    }
}

impl Said {
    pub fn of(message: &Message, seen: &Seen<'_>) -> Said {
        let Message { sum, transaction, .. } = *message;
        Said { sum, transaction, frame: seen.frame, count: 1, last_time: seen.time, last_ip_id: seen.ip_id }
    }
}
