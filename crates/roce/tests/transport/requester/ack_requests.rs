//! A requester asks for acknowledgements often enough that neither side waits for the other.
//!
//! Rule: rc-ack-request: A requester asks for an acknowledgement on the last packet of each message, and
//! often enough that its window never closes unasked.
//! Rule: rc-ack-request-habits: How often it asks besides is the profile's: rxe's once in 64 packets, those without a
//! habit as often as their window needs.

use rdmalab_roce::Profile;
use rdmalab_wire::PathMtu;

use crate::script::*;
use crate::side::PLAIN;

#[test]
fn the_last_packet_of_each_message_asks_for_an_acknowledgement() {
    let mut t = Script::new();
    for _ in 0..3 {
        t.post(send(1025));
    }
    let asking: Vec<_> = t.take_lines().iter().map(|line| line.ends_with(" ackreq")).collect();
    assert_eq!(asking, [false, true, false, true, false, true]);
}

/// Which packets ask of a WRITE that is sent as far as the window lets it.
fn asking(profile: Profile, window: u32, packets: usize) -> Vec<usize> {
    let mut t = Script::with(Setup { mtu: PathMtu::M256, profile, window, ..Setup::default() });
    t.post(write(256 * packets));
    let lines = t.take_lines();
    assert_eq!(lines.len(), packets.min(window as usize));
    let asks = |(n, line): (usize, &String)| line.contains(" ackreq").then_some(n);
    lines.iter().enumerate().filter_map(asks).collect()
}

#[test]
fn rxe_asks_once_in_64_packets_of_a_long_message() {
    assert_eq!(asking(Profile::RXE, 128, 100), [63, 99]);
    assert_eq!(asking(Profile::RXE, 512, 200), [63, 127, 191, 199]);
}

#[test]
fn those_without_a_habit_ask_in_the_middle_of_their_window() {
    for profile in [Profile::SPEC, Profile::CONNECTX] {
        assert_eq!(asking(profile, 512, 200), [199], "{}", profile.name);
        assert_eq!(asking(profile, 512, 512), [255, 511], "{}", profile.name);
        assert_eq!(asking(profile, 128, 100), [63, 99], "{}", profile.name);
        assert_eq!(asking(profile, 1, 3), [0], "{}", profile.name);
    }
}

#[test]
fn a_habit_that_is_longer_than_the_window_ends_with_it() {
    let rare = Profile { ack_interval: Some(1000), ..PLAIN };
    assert_eq!(asking(rare, 32, 100), [31]);
    let always = Profile { ack_interval: Some(1), ..PLAIN };
    assert_eq!(asking(always, 32, 4), [0, 1, 2, 3]);
    let never = Profile { ack_interval: Some(0), ..PLAIN };
    assert_eq!(asking(never, 32, 4), [0, 1, 2, 3], "none is taken as one");
}

#[test]
fn the_packet_that_closes_the_window_asks_for_an_acknowledgement() {
    let mut t = Script::with_mtu(PathMtu::M256);
    t.post(write(256 * 40));
    t.post(write(256 * 200));
    let lines = t.take_lines();
    assert_eq!(lines.len(), 128, "the window");
    let asking: Vec<_> =
        lines.iter().enumerate().filter(|(_, line)| line.ends_with(" ackreq")).map(|(n, _)| n).collect();
    assert_eq!(asking, [39, 39 + 64, 127]);
}
