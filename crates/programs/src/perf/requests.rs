//! What both kinds of test post, and what they ask of each completion.
//!
//! What can be checked is checked: a received message and a READ have the right length, and an atomic finds what those
//! before it left.

use rdmalab_device::{
    Completion, CompletionStatus, Operation as Work, QueuePair, QueuePairType, ReceiveRequest, RemoteAddress,
    Sge,
};

use super::error::PerfError;
use super::options::{Operation, Options};
use super::session::{HEADER_AREA, Session};

/// A receive's number has this bit, a send request's has not.
const RECEIVE: u64 = 1 << 63;
/// That of a request that grants credits has this bit.
const CREDIT: u64 = 1 << 62;
/// Below the bits of the queue pair: how many requests of it have been posted with this one.
const COUNT_BITS: u32 = 48;

/// The number of a send request: its queue pair, and how many of it were posted with this one.
pub(super) fn id(queue_pair: usize, count: u64) -> u64 {
    (queue_pair as u64) << COUNT_BITS | count
}

/// Whether a completion is that of a receive.
pub(super) fn is_receive(completion: &Completion) -> bool {
    completion.id & RECEIVE != 0
}

/// The number of a request by which a queue pair grants credits.
pub(super) fn credit_id(queue_pair: usize) -> u64 {
    CREDIT | id(queue_pair, 0)
}

/// Whether a completion is that of a request that grants credits.
pub(super) fn is_credit(completion: &Completion) -> bool {
    completion.id & CREDIT != 0
}

/// The queue pair of a completion.
pub(super) fn queue_pair_of(completion: &Completion) -> usize {
    ((completion.id & !(RECEIVE | CREDIT)) >> COUNT_BITS) as usize
}

/// How many send requests of the queue pair were posted up to this one.
pub(super) fn count_of(completion: &Completion) -> u64 {
    completion.id & ((1 << COUNT_BITS) - 1)
}

/// Fills the receive queues, which the tests then keep full.
pub(super) fn post_receives(session: &Session, options: &Options) -> Result<(), PerfError> {
    if options.operation != Operation::Send {
        return Ok(());
    }
    for queue_pair in 0..session.queue_pairs.len() {
        for _ in 0..options.receive_depth() {
            post_receive(session, options, queue_pair)?;
        }
    }
    Ok(())
}

/// Posts a receive for a message of any size of the test.
pub(super) fn post_receive(session: &Session, options: &Options, queue_pair: usize) -> Result<(), PerfError> {
    let length = options.largest_size() + header(options);
    let element = session.memory.element(session.sink(queue_pair), length);
    post_receive_at(&session.queue_pairs[queue_pair], queue_pair, element)
}

/// Posts a receive for the queue pair in a place.
pub(super) fn post_receive_at(queue_pair: &QueuePair, place: usize, element: Sge) -> Result<(), PerfError> {
    let id = RECEIVE | id(place, 0);
    queue_pair.post_receive(&ReceiveRequest { id, elements: &[element] })?;
    Ok(())
}

/// Bytes in front of a received message.
fn header(options: &Options) -> u32 {
    if options.kind == QueuePairType::Ud { HEADER_AREA } else { 0 }
}

/// What one request does; `remote` says where in the peer's memory.
pub(super) fn work(operation: Operation, remote: impl FnOnce() -> RemoteAddress) -> Work {
    match operation {
        Operation::Send => Work::Send,
        Operation::Write => Work::RdmaWrite(remote()),
        Operation::Read => Work::RdmaRead(remote()),
        // It adds one; it compares with zero and would store zero. So does the real program's.
        Operation::FetchAndAdd => Work::FetchAndAdd { remote: remote(), add: 1 },
        Operation::CompareAndSwap => Work::CompareAndSwap { remote: remote(), compare: 0, swap: 0 },
    }
}

/// The error of a completion that is one.
pub(super) fn check(completion: &Completion, number: u64) -> Result<(), PerfError> {
    if completion.status == CompletionStatus::Success {
        return Ok(());
    }
    let request = if is_receive(completion) { "receive" } else { "request" };
    let queue_pair = queue_pair_of(completion);
    Err(PerfError::Failed { queue_pair, request, number, status: completion.status })
}

/// A received message, or a READ, has the length that was agreed on.
pub(super) fn check_length(completion: &Completion, size: u32, options: &Options) -> Result<(), PerfError> {
    let before = if is_receive(completion) { header(options) } else { 0 };
    let found = completion.length.saturating_sub(before);
    if found == size { Ok(()) } else { Err(PerfError::Length { found, expected: size }) }
}

/// What the places of a peer's memory hold, as far as atomics have told. Nobody but us changes them.
#[derive(Clone, Debug)]
pub(super) struct Values {
    known: Vec<Option<u64>>,
    adds: u64,
}

impl Values {
    /// Nothing is known of so many places.
    pub(super) fn new(operation: Operation, places: u64) -> Self {
        let places = if operation.is_atomic() { places as usize } else { 0 };
        Self { known: vec![None; places], adds: u64::from(operation == Operation::FetchAndAdd) }
    }

    /// The `number`-th atomic of a queue pair, from 0, found a value at a place.
    pub(super) fn found(
        &mut self,
        queue_pair: usize,
        number: u64,
        place: u64,
        found: u64,
    ) -> Result<(), PerfError> {
        let Some(known) = self.known.get_mut(place as usize) else { return Ok(()) };
        if let Some(expected) = known.filter(|&expected| expected != found) {
            return Err(PerfError::Value { queue_pair, number: number + 1, found, expected });
        }
        *known = Some(found.wrapping_add(self.adds));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_that_was_lost_or_done_twice_is_found() {
        let mut values = Values::new(Operation::FetchAndAdd, 2);
        for (number, place, value) in [(0, 0, u64::MAX), (1, 1, 7), (2, 0, 0), (3, 1, 8)] {
            values.found(0, number, place, value).unwrap();
        }
        for wrong in [0, 2] {
            let outcome = values.clone().found(3, 4, 0, wrong);
            let expected = matches!(
                outcome,
                Err(PerfError::Value { queue_pair: 3, number: 5, expected: 1, found }) if found == wrong
            );
            assert!(expected, "{outcome:?}");
        }
        values.found(3, 4, 0, 1).unwrap();
    }

    #[test]
    fn a_swap_changes_nothing() {
        let mut values = Values::new(Operation::CompareAndSwap, 1);
        values.found(0, 0, 0, 5).unwrap();
        values.found(0, 1, 0, 5).unwrap();
        assert!(values.found(0, 2, 0, 6).is_err());
    }
}
