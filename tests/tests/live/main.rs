//! The live tests: a real Linux RoCE stack, or its iWARP stack, in a guest, and us. All of them share one guest
//! ([`Venue`]), so they run one behind the other, in this order. They take a quarter of an hour and root, and run if
//! one asks for them:
//!
//! `cargo test --workspace --test live -- --ignored [NAME]`

mod connections;
mod harness;
mod hostile;
mod matrix;
mod siw;
mod vanishing;
mod verbs;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Trial};
use rdmalab_tests::{Place, Venue};

type Test = fn(&mut Place);

/// What there is, by name.
const TESTS: &[(&str, Test)] = &[
    ("harness::two_ends_of_the_peer_script_are_content_with_each_other", harness::two_ends_are_content),
    ("matrix::linux_calls_with_every_program", matrix::linux_as_client),
    ("matrix::linux_is_called_by_every_program", matrix::linux_as_server),
    ("matrix::linux_calls_under_faults", matrix::linux_as_client_under_faults),
    ("matrix::linux_is_called_under_faults", matrix::linux_as_server_under_faults),
    ("matrix::two_of_ours_play_with_each_other_at_taps", matrix::ours_at_taps),
    ("matrix::two_of_ours_play_with_each_other_at_a_veth_pair", matrix::ours_at_a_veth_pair),
    ("matrix::linux_and_we_play_over_iwarp", matrix::siw),
    ("connections::linux_calls_rping_ucmatose_udaddy_and_cmtime", connections::linux_calls),
    ("verbs::linux_carries_out_operations_on_our_memory", verbs::linux_is_active),
    ("verbs::we_carry_out_operations_on_linux_memory", verbs::we_are_active),
    ("verbs::linux_uses_our_keys_as_long_as_they_last", verbs::linux_has_our_keys),
    ("verbs::we_use_linux_keys_as_long_as_they_last", verbs::we_have_linux_keys),
    ("verbs::linux_and_we_do_not_hear_each_others_flush", verbs::flush_is_unheard),
    ("siw::calls_are_refused_and_requests_go_wrong", siw::somebody_goes_wrong),
    ("hostile::everything_is_thrown_at_a_host", hostile::everything_is_thrown_at_a_host),
    ("vanishing::a_guest_that_is_gone_for_a_while", vanishing::guest_is_gone_for_a_while),
    ("vanishing::a_tap_that_goes_under_our_device", vanishing::our_tap_goes),
    ("harness::a_test_whose_guest_falls_is_played_again", harness::guest_falls),
    ("harness::a_guest_does_many_things_at_once_and_says_how_it_is_to_its_end", harness::to_its_end),
    ("vanishing::a_guest_that_is_killed", vanishing::guest_is_killed),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    // Whoever only lists them needs no guest.
    let is_asked = (arguments.ignored || arguments.include_ignored) && !arguments.list;
    let venue = if is_asked { Venue::open("live") } else { None };
    if is_asked && venue.is_none() {
        // They are told as ignored, not as passed.
        (arguments.ignored, arguments.include_ignored) = (false, false);
    }
    let venue = Arc::new(Mutex::new(venue));
    let trial = |&(name, test): &(&'static str, Test)| {
        let venue = Arc::clone(&venue);
        let run = move || {
            if let Some(venue) = &mut *venue.lock().unwrap_or_else(PoisonError::into_inner) {
                venue.host_again_if_the_guest_falls(name, test);
            }
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(true)
    };
    let conclusion = libtest_mimic::run(&arguments, TESTS.iter().map(trial).collect());
    // Before the process ends: the guest, its network and its files go with their owner.
    *venue.lock().unwrap_or_else(PoisonError::into_inner) = None;
    conclusion.exit_code()
}
