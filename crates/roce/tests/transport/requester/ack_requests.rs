//! A requester asks for acknowledgements often enough that neither side waits for the other.
//!
//! Rule: rc-ack-request: A requester asks for an acknowledgement on the last packet of each message, and
//! often enough that its window never closes unasked.

use rdmalab_wire::PathMtu;

use crate::script::*;

#[test]
fn the_last_packet_of_each_message_asks_for_an_acknowledgement() {
    let mut t = Script::new();
    for _ in 0..3 {
        t.post(send(1025));
    }
    let asking: Vec<_> = t.take_lines().iter().map(|line| line.ends_with(" ackreq")).collect();
    assert_eq!(asking, [false, true, false, true, false, true]);
}

#[test]
fn one_packet_in_64_of_a_long_message_asks_for_an_acknowledgement() {
    let mut t = Script::with_mtu(PathMtu::M256);
    t.post(write(256 * 100));
    let lines = t.take_lines();
    assert_eq!(lines.len(), 100);
    let asking: Vec<_> =
        lines.iter().enumerate().filter(|(_, line)| line.ends_with(" ackreq")).map(|(n, _)| n).collect();
    assert_eq!(asking, [63, 99]);
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
