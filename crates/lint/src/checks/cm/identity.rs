//! Whose a message is: the communication IDs by which each side finds its connection, the transaction that an answer has of its
//! question, and the queue pair that a DREQ names.

use rdmalab_wire::mad::Dreq;

use super::again::Message;
use super::{Call, Connection, Connections, DREP, DREQ, MOST_SEARCHED, MRA, REJ, REP, RTU};
use crate::finding::Findings;
use crate::packet::Seen;
use crate::rules::RuleId;

impl Connections {
    /// An answer's ID of the other side, by a side that called.
    pub(super) fn names(&self, call: &Call, id: u32, name: &str, seen: &Seen<'_>, findings: &mut Findings) {
        let answered = self.calls.get(call).and_then(|connection| connection.answered);
        if let Some((told, frame)) = answered.filter(|(told, _)| *told != id) {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                format!("{name} names the communication ID {id:#010x}, the REP's is {told:#010x}")
            });
        }
    }

    /// A message that the side that called may send, or the other one, with its communication IDs, its sender's first. Gives the
    /// connection, and whether the caller sends it.
    pub(super) fn either_way(
        &mut self,
        (local, remote): (u32, u32),
        message: &Message,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) -> Option<(Call, bool)> {
        let (from, to) = (seen.key.source, seen.key.destination);
        let (called, caller) = ((to, from, remote), (from, to, local));
        if self.calls.contains_key(&caller) {
            self.names(&caller, remote, message.name, seen, findings);
            self.is_of_transaction(&caller, true, message, seen, findings);
            self.again(&caller, message, true, seen, findings);
            return Some((caller, true));
        }
        let Some(connection) = self.calls.get_mut(&called) else {
            self.is_astray((local, remote), message, seen, findings);
            return None;
        };
        // Before its REP, it need not have chosen an ID.
        let told = connection.answered.or(connection.named).filter(|_| local != 0);
        if let Some((told, frame)) = told.filter(|(told, _)| *told != local) {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                let name = message.name;
                format!("{name} has the communication ID {local:#010x}, its sender named {told:#010x} before")
            });
        }
        if local != 0 && connection.answered.is_none() {
            connection.named.get_or_insert((local, seen.frame));
        }
        self.is_of_transaction(&called, false, message, seen, findings);
        self.again(&called, message, false, seen, findings);
        Some((called, false))
    }

    /// A message whose IDs are those of no connection. It is of one whose transaction it has, and whose other ID or none yet: then one ID
    /// is wrong. Another connection, which the capture does not have, has another transaction.
    pub(super) fn is_astray(
        &self,
        (local, remote): (u32, u32),
        message: &Message,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        let (from, to) = (seen.key.source, seen.key.destination);
        let between = |caller, called| self.calls.range((caller, called, 0)..=(caller, called, u32::MAX));
        let is_open = |connection: &Connection| connection.rejected.is_none();
        let of_called = between(to, from).take(MOST_SEARCHED).find(|(_, connection)| {
            let is_its = match connection.answered {
                Some((told, _)) => told == local,
                None => matches!(message.attribute, REP | MRA | REJ),
            };
            is_its && is_open(connection) && connection.has_said(message.transaction)
        });
        if let Some((call, connection)) = of_called {
            let frame = connection.frame;
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                format!(
                    "{} names the communication ID {remote:#010x}, the other side's is {:#010x}",
                    message.name, call.2
                )
            });
            return;
        }
        let of_caller = between(from, to).take(MOST_SEARCHED).find(|(_, connection)| {
            connection.answered.is_some_and(|(told, _)| told == remote)
                && is_open(connection)
                && connection.has_said(message.transaction)
        });
        if let Some((call, connection)) = of_caller {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, connection.frame], || {
                format!(
                    "{} has the communication ID {local:#010x}, its sender named {:#010x} before",
                    message.name, call.2
                )
            });
        }
    }

    /// A message that only who called sends, or only who was called: wrong where the call is known from the other side alone.
    pub(super) fn is_of_the_caller(
        &self,
        right: &Call,
        wrong: &Call,
        name: &str,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        if self.calls.contains_key(right) {
            return;
        }
        if let Some(connection) = self.calls.get(wrong) {
            findings.add(RuleId::CmOrder, None, &[seen.frame, connection.frame], || {
                format!("{name} comes from the side whose answer it would be")
            });
        }
    }

    /// An answer is of the transaction of its question.
    pub(super) fn is_of_transaction(
        &self,
        call: &Call,
        by_caller: bool,
        message: &Message,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        let Some(connection) = self.calls.get(call) else { return };
        let ended =
            |caller| connection.said.get(&(DREP, caller)).is_some_and(|said| said.frame != seen.frame);
        if ended(true) || ended(false) {
            // It is over: this is of another one, whose REQ the capture missed.
            return;
        }
        let asked = match message.attribute {
            REP | RTU | REJ => Some((connection.transaction, connection.frame)),
            DREP => {
                let asked = connection.said.get(&(DREQ, !by_caller));
                asked.map(|said| (said.transaction, said.frame))
            }
            _ => None,
        };
        if let Some((transaction, frame)) = asked.filter(|(asked, _)| *asked != message.transaction) {
            findings.add(RuleId::CmAnswer, None, &[seen.frame, frame], || {
                format!(
                    "{} is of the transaction {:#x}, what it answers of {transaction:#x}",
                    message.name, message.transaction
                )
            });
        }
    }

    /// A DREQ names the queue pair of the one who is asked.
    pub(super) fn is_for_queue_pair(
        &self,
        call: &Call,
        by_caller: bool,
        dreq: &Dreq,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) {
        let Some(connection) = self.calls.get(call) else { return };
        let Some((answered, frame)) = connection.answered else { return };
        let (named, pair) = match by_caller {
            true => (dreq.remote_communication_id, connection.called_pair),
            false => (dreq.local_communication_id, Some(connection.req.local_qpn)),
        };
        let Some(pair) = pair.filter(|pair| named == answered && *pair != dreq.remote_qpn) else { return };
        findings.add(RuleId::CmQueuePair, None, &[seen.frame, connection.frame, frame], || {
            format!("the DREQ is for the queue pair {}, that of the connection is {pair}", dreq.remote_qpn)
        });
    }
}

impl Connection {
    /// Whether a message of this transaction was of the connection.
    fn has_said(&self, transaction: u64) -> bool {
        self.transaction == transaction || self.said.values().any(|said| said.transaction == transaction)
    }
}
