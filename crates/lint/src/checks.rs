//! What judges the rules, a file for each family of them.
//!
//! `checksums`, `lengths` and `headers` look at a packet alone; `order`, `requester`, `gaps`, `repetitions`, `recurrence`, `responder`,
//! `responses`, `missing` and `progress` are parts of [`Flow`](crate::flow::Flow); `cm` and `congestion` tie flows together; `pause` looks at all that
//! goes over a link; `iwarp` is a part of [`Stream`](crate::iwarp::Stream).

pub(crate) mod checksums;
pub(crate) mod cm;
pub(crate) mod congestion;
mod gaps;
pub(crate) mod headers;
mod iwarp;
pub(crate) mod lengths;
mod missing;
mod order;
pub(crate) mod pause;
mod progress;
pub(crate) mod recurrence;
mod repetitions;
mod requester;
mod responder;
mod responses;

pub(crate) use repetitions::Detour;
