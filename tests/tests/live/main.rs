//! The live tests: a real Linux RoCE stack, in a guest, and us. All of them share one guest ([`Venue`]), so they run one
//! behind the other, in this order.
//!
//! `cargo test --release -p rdmalab-tests --test live [NAME]`

mod connections;
mod harness;
mod perf;
mod pingpong;
mod pingpong_kinds;
mod verbs;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Trial};
use rdmalab_tests::{Place, Venue};

type Test = fn(&mut Place);

/// What there is, by name.
const TESTS: &[(&str, Test)] = &[
    ("harness::two_ends_of_the_peer_script_are_content_with_each_other", harness::two_ends_are_content),
    ("pingpong::linux_as_client_plays_ping_pong_with_us", pingpong::linux_as_client),
    ("pingpong::linux_as_server_plays_ping_pong_with_us", pingpong::linux_as_server),
    (
        "pingpong_kinds::linux_as_client_plays_uc_ud_and_srq_ping_pong_with_us",
        pingpong_kinds::linux_as_client,
    ),
    (
        "pingpong_kinds::linux_as_server_plays_uc_ud_and_srq_ping_pong_with_us",
        pingpong_kinds::linux_as_server,
    ),
    ("connections::linux_calls_rping_ucmatose_udaddy_and_cmtime", connections::linux_calls),
    ("connections::linux_is_called_by_rping_ucmatose_and_udaddy", connections::linux_is_called),
    ("perf::linux_as_client_measures_with_us", perf::linux_as_client),
    ("perf::linux_as_server_measures_with_us", perf::linux_as_server),
    ("verbs::linux_carries_out_operations_on_our_memory", verbs::linux_is_active),
    ("verbs::we_carry_out_operations_on_linux_memory", verbs::we_are_active),
    ("harness::a_guest_does_many_things_at_once_and_says_how_it_is_to_its_end", harness::to_its_end),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    // Whoever only lists them needs no guest.
    let venue = if arguments.list { None } else { Venue::open("live") };
    let is_skipped = venue.is_none();
    let venue = Arc::new(Mutex::new(venue));
    let trial = |&(name, test): &(&'static str, Test)| {
        let venue = Arc::clone(&venue);
        let run = move || {
            if let Some(venue) = &mut *venue.lock().unwrap_or_else(PoisonError::into_inner) {
                venue.host(test);
            }
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(is_skipped)
    };
    let conclusion = libtest_mimic::run(&arguments, TESTS.iter().map(trial).collect());
    // Before the process ends: the guest, its network and its files go with their owner.
    *venue.lock().unwrap_or_else(PoisonError::into_inner) = None;
    conclusion.exit_code()
}
