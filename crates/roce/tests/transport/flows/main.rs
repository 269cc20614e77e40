//! Every operation over a link that mistreats one packet at a time.
//!
//! Rule: rc-exactly-once: whichever packet of a reliable connection is lost, repeated, damaged or late, requests and
//! receives complete once and in order, and memory ends up as if nothing had happened.
//! Rule: xrc-exactly-once: the same holds for extended reliable connections, whose receives are shared.
//! Rule: rc-psn-wraps: packet sequence numbers count modulo 2^24.
//! Rule: credit-never-stalls: a requester that waits for credits goes on when the receiver has told of new receives, even
//! if a packet that told so was lost.

#[path = "../../pair/pair.rs"]
mod pair;

mod mistreat;
mod mixtures;
mod singles;
mod unreliable;
