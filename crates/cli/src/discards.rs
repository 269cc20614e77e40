//! Why packets were dropped, in words.

use rdmalab_roce::{Counters, Discard};

/// What a reason means, for somebody who reads a summary.
pub fn words(reason: Discard) -> &'static str {
    match reason {
        Discard::Malformed => "malformed",
        Discard::Opcode => "opcode of no use there",
        Discard::UnknownQueuePair => "no such queue pair",
        Discard::State => "queue pair not ready",
        Discard::Address => "from or for another address",
        Discard::PartitionKey => "wrong partition key",
        Discard::Icrc => "wrong ICRC",
        Discard::UnexpectedResponse => "answer to nothing that is open",
        Discard::OutOfSequence => "behind a gap",
        Discard::NotReplayed => "repeated request not remembered",
        Discard::QueueKey => "wrong queue key",
        Discard::NoMember => "nobody in the multicast group",
        Discard::NoReceive => "no receive posted",
        Discard::ReceiveTooSmall => "receive too small",
        Discard::Refused => "request not allowed",
    }
}

/// The reasons for which packets were dropped, and how many.
pub fn seen(counters: &Counters) -> impl Iterator<Item = (Discard, u64)> {
    let counters = *counters;
    Discard::ALL
        .into_iter()
        .map(move |reason| (reason, counters.discarded(reason)))
        .filter(|(_, count)| *count > 0)
}
