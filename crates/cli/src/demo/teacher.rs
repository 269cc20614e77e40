//! Explains what is seen, for `--explain`: each kind of thing in full when it happens first, later in a few words where
//! there is something to be said of it. What is ordinary is explained once.
//!
//! Knows packets as they are sent, why requesters go back, and what adapters count when packets arrive. What it says is
//! queued; whoever draws asks for it behind each thing that is drawn. What was not drawn is not explained, and counts as
//! not told.

use std::collections::{BTreeSet, VecDeque};

use rdmalab_explain::{Explanation, cm, congestion, frames, recovery, requests, responses, states};
use rdmalab_roce::{Counters, Discard, RetryCause};
use rdmalab_sim::{End, PerEnd, Verdict};
use rdmalab_wire::mad::{CmMessage, RawMad};
use rdmalab_wire::{
    Body, Datagram, Opcode, Packet, Psn, Qpn, Syndrome, Transport, rnr_timer_nanoseconds, roce_v2,
};

use super::ladder::count;
use super::packet::{Role, Seen};
use super::segment::Cause;

/// Requests that are remembered of each end, for what later packets have to do with them.
const REMEMBERED: usize = 4096;

/// Explains.
#[derive(Default)]
pub struct Teacher {
    told: BTreeSet<&'static str>,
    queue: Vec<(&'static Explanation, String)>,
    requests: PerEnd<Requests>,
    counted: PerEnd<Counters>,
}

/// What one end has asked.
#[derive(Default)]
struct Requests {
    /// The last packets of messages that no acknowledgement has been sent for.
    ends: VecDeque<Psn>,
    /// The PSNs of READs that were asked for the first time.
    reads: VecDeque<Psn>,
    last: Option<Psn>,
}

/// Something to be said.
pub struct Remark {
    /// What it is about, with what is so this time.
    pub heading: String,
    explanation: Option<&'static Explanation>,
}

impl Remark {
    /// The paragraph, if it was not told before, and its source.
    pub fn paragraph(&self) -> Option<(&'static str, &'static str)> {
        self.explanation.map(|explanation| (explanation.text, explanation.source))
    }
}

impl Teacher {
    /// What there is to say on what happened last; nothing if that was not drawn.
    pub fn remarks(&mut self, is_drawn: bool) -> Vec<Remark> {
        let queue = std::mem::take(&mut self.queue);
        if !is_drawn {
            return Vec::new();
        }
        let remarks = queue.into_iter().filter_map(|(explanation, facts)| {
            let is_new = self.told.insert(explanation.name);
            let heading = match (is_new, facts.is_empty()) {
                (false, true) => return None,
                (true, true) => explanation.title.to_owned(),
                (_, false) => format!("{} ({facts})", explanation.title),
            };
            Some(Remark { heading, explanation: is_new.then_some(explanation) })
        });
        remarks.collect()
    }

    /// Something is to be explained; `facts` is what is so this time. Without them it is told once.
    pub fn say(&mut self, explanation: &'static Explanation, facts: &str) {
        self.queue.push((explanation, facts.to_owned()));
    }

    /// A packet, as it is sent.
    pub fn packet(&mut self, frame: &[u8], from: End, seen: &Seen, is_lost: bool, verdict: Verdict) {
        if seen.role == Some(Role::Segment) {
            for topic in &seen.topics {
                self.say(topic, "");
            }
            if is_lost {
                let explanation = if seen.has_bytes { &frames::TCP_LOST } else { &frames::TCP_LOST_EMPTY };
                self.say(explanation, &format!("{from}'s"));
            }
            return;
        }
        let packet = roce_v2(frame)
            .and_then(|network| Datagram::parse(network).ok())
            .and_then(|datagram| Packet::parse(datagram.ib).ok());
        let Some(packet) = packet else {
            // Of the demonstration's frames that is ARP.
            return self.say(&frames::NEIGHBOUR, "");
        };
        match seen.role {
            _ if packet.bth.destination == Qpn::GSI => self.message(&packet, seen.again, is_lost),
            Some(Role::Answer) => self.answer(&packet, from, seen.again, is_lost),
            _ => self.request(&packet, from, seen.again, is_lost),
        }
        if verdict == Verdict::Mark {
            self.say(&congestion::MARK, &format!("psn {}", packet.bth.psn));
        }
    }

    /// A message of connection management.
    fn message(&mut self, packet: &Packet<'_>, again: bool, is_lost: bool) {
        let Some(message) = RawMad::parse(packet.payload).message() else { return };
        let explanation = match message {
            CmMessage::Req(_) => &cm::REQ,
            CmMessage::Rep(_) => &cm::REP,
            CmMessage::Rtu(_) => &cm::RTU,
            CmMessage::Dreq(_) => &cm::DREQ,
            CmMessage::Drep(_) => &cm::DREP,
            _ => &cm::MANAGEMENT,
        };
        self.say(explanation, if again { "once more" } else { "" });
        if is_lost {
            self.say(&recovery::LOST, message.name());
        }
    }

    fn request(&mut self, packet: &Packet<'_>, from: End, again: bool, is_lost: bool) {
        let (psn, body) = (packet.bth.psn, &packet.body);
        if matches!(body, Body::CongestionNotification) {
            return self.say(&congestion::NOTIFICATION, &format!("{from} asks to be sent less"));
        }
        let is_read = matches!(body, Body::ReadRequest(_));
        let mine = &mut self.requests[from];
        let asks_for_rest = again && is_read && !mine.reads.contains(&psn);
        let wraps = !again && mine.last.is_some_and(|last| psn.value() < last.value());
        if !again {
            mine.last = Some(psn);
            if is_read {
                remember(&mut mine.reads, psn);
            } else if is_completed_by_acknowledgement(packet.opcode()) {
                remember(&mut mine.ends, psn);
            }
            if let Some(explanation) = rdmalab_explain::opcode(packet.opcode()) {
                self.say(explanation, "");
            }
        }
        match packet.transport {
            Transport::Xrc(_) => self.say(&requests::XRC, ""),
            Transport::Uc => self.say(&requests::UNRELIABLE, ""),
            _ => {}
        }
        if packet.bth.pad_count > 0 {
            self.say(&requests::PAD, &count(packet.bth.pad_count, "byte"));
        }
        if wraps {
            self.say(&recovery::PSN_WRAP, &format!("this is psn {psn}"));
        }
        if asks_for_rest {
            self.say(&recovery::READ_RETRY, &format!("from psn {psn} on"));
        }
        if is_lost {
            let is_acknowledged = matches!(packet.transport, Transport::Rc | Transport::Xrc(_));
            let explanation = if is_acknowledged { &recovery::LOST_REQUEST } else { &recovery::LOST };
            self.say(explanation, &format!("psn {psn}"));
        }
    }

    fn answer(&mut self, packet: &Packet<'_>, from: End, again: bool, is_lost: bool) {
        let psn = packet.bth.psn;
        let is_acknowledgement = matches!(packet.body, Body::Acknowledge(_));
        let syndrome = packet.body.aeth().map(|aeth| aeth.syndrome);
        match syndrome {
            Some(nak @ Syndrome::Nak(_)) => {
                self.say(rdmalab_explain::syndrome(nak), &format!("{from} waits for psn {psn}"));
            }
            Some(Syndrome::RnrNak { timer }) => {
                let wait = rnr_timer_nanoseconds(timer) / 1_000;
                self.say(&responses::RNR_NAK, &format!("psn {psn} is to come again after {wait} µs"));
            }
            _ if again && is_acknowledgement => {
                self.say(&responses::DUPLICATE_ACK, &format!("{from} has all up to psn {psn}"));
            }
            _ if again => self.say(&recovery::READ_AGAIN, &format!("psn {psn}")),
            _ => self.say(rdmalab_explain::opcode(packet.opcode()).unwrap_or(&responses::ACKNOWLEDGE), ""),
        }
        if is_lost {
            let explanation = match syndrome {
                Some(Syndrome::Nak(_) | Syndrome::RnrNak { .. }) => &recovery::LOST_NAK,
                _ if is_acknowledgement => &recovery::LOST_ACKNOWLEDGEMENT,
                _ => &recovery::LOST_RESPONSE,
            };
            return self.say(explanation, &format!("psn {psn}"));
        }
        let ends = &mut self.requests[from.opposite()].ends;
        let mut completed = 0;
        if matches!(syndrome, Some(Syndrome::Ack { .. })) {
            while ends.front().is_some_and(|end| psn.distance(*end) >= 0) {
                ends.pop_front();
                completed += 1;
            }
        }
        if completed > 1 {
            let facts = format!("{completed} messages, all up to psn {psn}");
            self.say(&responses::COALESCED, &facts);
        }
    }

    /// A requester goes back to a PSN.
    pub fn back(&mut self, psn: Psn, cause: RetryCause) {
        let explanation = match cause {
            RetryCause::SequenceError => &recovery::GO_BACK_NAK,
            RetryCause::ImpliedNak => &recovery::GO_BACK_IMPLIED,
            RetryCause::Timeout => &recovery::GO_BACK_TIMEOUT,
            RetryCause::RnrNak => &recovery::GO_BACK_RNR,
        };
        self.say(explanation, &format!("all from psn {psn} on comes again"));
    }

    /// TCP begins to send again.
    pub fn stream_back(&mut self, end: End, cause: Cause) {
        let facts = match cause {
            Cause::Timeout(silence) => format!("{end} waited {} ms", (silence + 500_000) / 1_000_000),
            Cause::Duplicates => format!("{end} did not wait"),
        };
        let explanation = match cause {
            Cause::Timeout(_) => &frames::TCP_BACK_TIMEOUT,
            Cause::Duplicates => &frames::TCP_BACK_DUPLICATES,
        };
        self.say(explanation, &facts);
    }

    /// What an adapter has counted by now.
    pub fn arrived(&mut self, end: End, counters: &Counters) {
        let before = std::mem::replace(&mut self.counted[end], *counters);
        let more = |count: fn(&Counters) -> u64| count(counters).saturating_sub(count(&before));
        let behind = more(|counters| counters.out_of_seq_request);
        if behind > 0 {
            let facts = format!("{end} drops {}", count(behind, "packet"));
            self.say(&recovery::OUT_OF_SEQUENCE, &facts);
        }
        let duplicates = more(|counters| counters.duplicate_request);
        if duplicates > 0 {
            let facts = format!("{end} has had {} before", count(duplicates, "packet"));
            self.say(&recovery::DUPLICATE, &facts);
        }
        if more(|counters| counters.discarded(Discard::UnexpectedResponse)) > 0 {
            self.say(&responses::GHOST, &format!("{end} drops it"));
        }
        if more(|counters| counters.discarded(Discard::Icrc)) > 0 {
            self.say(&recovery::CORRUPTED, &format!("{end} drops it"));
        }
        if more(|counters| counters.rp_cnp_handled) > 0 {
            self.say(&congestion::NOTIFICATION, &format!("{end} sends more slowly"));
        }
        if more(|counters| counters.retry_exceeded_err) > 0 {
            self.say(&states::ERR, &format!("{end} gives up"));
        }
    }
}

/// Whether a packet ends a message that an acknowledgement completes.
fn is_completed_by_acknowledgement(opcode: Opcode) -> bool {
    let is_send_or_write = matches!(opcode.operation(), 0x00..=0x0b | 0x16 | 0x17);
    is_send_or_write && opcode.row().is_some_and(|row| row.ends_message)
}

fn remember(psns: &mut VecDeque<Psn>, psn: Psn) {
    if psns.len() == REMEMBERED {
        psns.pop_front();
    }
    psns.push_back(psn);
}
