//! Long messages over a link whose queue holds less than a window: what is sent in one go is cut off, and its end, which would
//! ask for an answer, never arrives.
//!
//! Rule: rc-short-queue: a message longer than the queues on the way is delivered: after a timeout a requester asks at once
//! what has arrived, and sends little in one go until something is acknowledged.

use rdmalab_roce::Profile;
use rdmalab_wire::PathMtu;

use crate::transfer::{Kind, TOTAL, Transfer};

/// Linux' token bucket filter with `limit 20kb`, say.
const SHORT: usize = 20_000;

fn each(kind: Kind, queue: usize, check: impl Fn(&str, u64)) {
    for profile in [Profile::RXE, Profile::SPEC] {
        for mtu in [PathMtu::M1024, PathMtu::M4096] {
            let found = Transfer { kind, mtu, message: TOTAL, queue, profile, ..Transfer::default() }.run();
            check(&format!("{kind:?} as {} with packets of {}", profile.name, mtu.bytes()), found.timeouts);
        }
    }
}

#[test]
fn a_message_longer_than_the_queue_arrives() {
    for kind in [Kind::Write, Kind::Send, Kind::Read] {
        // The queue takes no less than half of what it holds at a time.
        let most = (2 * TOTAL / SHORT) as u64;
        each(kind, SHORT, |what, timeouts| assert!(timeouts <= most, "{what}: {timeouts} timeouts"));
    }
}

#[test]
fn it_arrives_where_the_queue_takes_hardly_a_packet() {
    for kind in [Kind::Write, Kind::Send] {
        each(kind, 1, |what, timeouts| assert!(timeouts > 0, "{what}: the queue was long enough"));
    }
}

#[test]
fn a_queue_that_holds_the_window_costs_no_timeout() {
    each(Kind::Write, 1 << 20, |what, timeouts| assert_eq!(timeouts, 0, "{what}"));
}
