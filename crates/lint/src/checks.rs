//! What judges the rules, a file for each family of them.
//!
//! `checksums`, `lengths` and `headers` look at a packet alone; `order`, `requester`, `repetitions`, `responder`,
//! `responses` and `progress` are parts of [`Flow`](crate::flow::Flow); `cm` and `congestion` tie flows together; `iwarp` is a part of
//! [`Stream`](crate::iwarp::Stream).

pub(crate) mod checksums;
pub(crate) mod cm;
pub(crate) mod congestion;
pub(crate) mod headers;
mod iwarp;
pub(crate) mod lengths;
mod order;
mod progress;
mod repetitions;
mod requester;
mod responder;
mod responses;
