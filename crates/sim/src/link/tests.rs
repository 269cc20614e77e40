use super::*;
use crate::{Probability, Seed, rule};

fn link(config: LinkConfig, rules: impl FnOnce(RuleSet) -> RuleSet) -> Link {
    Link::new(config, rules(RuleSet::new(Seed::new(7))))
}

fn plain(latency: u64) -> LinkConfig {
    LinkConfig { latency, ..LinkConfig::default() }
}

/// A link on which a byte takes `nanoseconds`.
fn slow(nanoseconds: u64) -> LinkConfig {
    LinkConfig { latency: 100, bandwidth: NonZeroU64::new(8_000_000_000 / nanoseconds), ..plain(0) }
}

/// Everything that arrives by `now`, as "time:bytes".
fn arrivals(link: &mut Link, now: u64) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(delivery) = link.receive(now) {
        seen.push(format!("{}:{}", delivery.arrived_at, String::from_utf8_lossy(delivery.frame)));
    }
    seen
}

#[test]
fn a_frame_arrives_at_the_other_end_after_the_latency_and_not_before() {
    let mut link = link(plain(500), |rules| rules);
    link.send(100, End::B, b"hello");
    assert_eq!(link.next_arrival(), Some(600));
    assert_eq!(link.receive(599), None);
    let delivery = link.receive(700).unwrap();
    assert_eq!((delivery.from, delivery.to, delivery.index), (End::B, End::A, 0));
    assert_eq!((delivery.sent_at, delivery.arrived_at, delivery.frame), (100, 600, &b"hello"[..]));
    assert_eq!(link.next_arrival(), None);
    assert_eq!(link.receive(u64::MAX), None);
}

#[test]
fn frames_of_the_same_moment_arrive_in_the_order_of_sending() {
    let mut link = link(plain(10), |rules| rules);
    for (from, frame) in [(End::A, b"1"), (End::B, b"2"), (End::A, b"3"), (End::B, b"4")] {
        link.send(0, from, frame);
    }
    assert_eq!(arrivals(&mut link, 10), ["10:1", "10:2", "10:3", "10:4"]);
}

#[test]
fn time_that_goes_back_is_taken_for_the_last_one() {
    let mut link = link(plain(10), |rules| rules);
    link.send(50, End::A, b"1");
    link.send(20, End::A, b"2");
    assert_eq!(arrivals(&mut link, 100), ["60:1", "60:2"]);
}

#[test]
fn bandwidth_sends_one_frame_behind_the_other_in_each_direction() {
    let mut link = link(slow(2), |rules| rules);
    link.send(0, End::A, b"12345");
    link.send(0, End::A, b"123");
    link.send(0, End::B, b"1");
    link.send(1000, End::A, b"late");
    assert_eq!(arrivals(&mut link, 2000), ["102:1", "110:12345", "116:123", "1108:late"]);
}

#[test]
fn rounding_to_nanoseconds_does_not_add_up() {
    let config = LinkConfig { bandwidth: NonZeroU64::new(400_000_000_000), ..plain(0) };
    let mut link = link(LinkConfig { queue_limit: usize::MAX, ..config }, |rules| rules);
    // 64 bytes take 1.28 ns.
    for _ in 0..1000 {
        link.send(0, End::A, &[0; 64]);
    }
    let mut last = 0;
    while let Some(delivery) = link.receive(u64::MAX) {
        last = delivery.arrived_at;
    }
    assert_eq!(last, 1280);
}

#[test]
fn a_full_queue_drops_from_its_tail_and_counts() {
    let mut link = link(LinkConfig { queue_limit: 250, ..slow(1) }, |rules| rules);
    let copies: Vec<u8> = (0..4).map(|_| link.send(0, End::A, &[0; 100]).copies).collect();
    assert_eq!(copies, [1, 1, 0, 0]);
    assert_eq!(link.send(0, End::A, &[0; 50]).copies, 1, "what fits is taken");
    assert_eq!(link.send(0, End::B, &[0; 300]).copies, 1, "an idle direction takes any frame");
    assert_eq!(link.send(99, End::A, &[0; 100]).tail_dropped, 1, "one nanosecond too early");
    assert_eq!(link.send(100, End::A, &[0; 100]).copies, 1, "100 bytes have left by then");
    let counts = link.counts(End::A);
    assert_eq!((counts.sent, counts.tail_dropped, counts.in_flight), (7, 3, 4));
}

#[test]
fn what_is_on_the_link_is_limited_even_if_nobody_receives() {
    let mut link = link(LinkConfig { in_flight_limit: 640, ..plain(u64::MAX) }, |rules| rules);
    for _ in 0..1000 {
        link.send(0, End::A, b"");
    }
    assert_eq!(link.counts(End::A).in_flight, 10);
    assert_eq!(link.send(0, End::B, &[0; 641]).tail_dropped, 1);
    assert_eq!(link.send(0, End::B, &[0; 640]).copies, 1);
}

#[test]
fn a_duplicate_comes_right_behind_its_original_and_is_told() {
    let mut link = link(slow(1), |rules| rules.with(rule::nth(End::A, 0, Verdict::Duplicate)));
    let report = link.send(0, End::A, b"twin");
    assert_eq!((report.copies, report.is_lost()), (2, false));
    assert_eq!(link.send(0, End::A, b"next").copies, 1);
    let copies: Vec<bool> = std::iter::from_fn(|| link.receive(104).map(|seen| seen.is_copy)).collect();
    assert_eq!(copies, [false]);
    assert!(link.receive(108).unwrap().is_copy);
    assert_eq!(arrivals(&mut link, 200), ["112:next"]);
}

#[test]
fn a_delayed_frame_is_overtaken() {
    let mut link = link(plain(10), |rules| rules.with(rule::nth(End::A, 0, Verdict::Delay(5))));
    link.send(0, End::A, b"late");
    link.send(1, End::A, b"next");
    link.send(9, End::A, b"last");
    assert_eq!(arrivals(&mut link, 100), ["11:next", "15:late", "19:last"]);
}

#[test]
fn a_frame_held_back_comes_right_behind_the_next_of_its_direction() {
    let held = Verdict::BehindNext { at_most: 1000 };
    let mut link = link(plain(10), |rules| rules.with(rule::nth(End::A, 0, held)));
    link.send(0, End::A, b"held");
    link.send(1, End::B, b"other way");
    assert_eq!(link.next_arrival(), Some(11));
    link.send(5, End::A, b"next");
    link.send(5, End::A, b"after");
    assert_eq!(arrivals(&mut link, 100), ["11:other way", "15:next", "15:held", "15:after"]);
}

#[test]
fn a_frame_held_back_in_vain_comes_when_its_time_is_up() {
    let held = Verdict::BehindNext { at_most: 50 };
    let mut link = link(plain(10), |rules| rules.with(rule::range(End::A, 0..2, held)));
    link.send(0, End::A, b"held");
    assert_eq!(link.next_arrival(), Some(60));
    assert_eq!(arrivals(&mut link, 60), ["60:held"]);
    link.send(100, End::A, b"again");
    // The next frame would arrive later than the time is up.
    link.send(155, End::A, b"next");
    assert_eq!(arrivals(&mut link, 200), ["160:again", "165:next"]);
}

#[test]
fn frames_held_back_together_keep_their_order_and_lost_ones_release_nobody() {
    let held = Verdict::BehindNext { at_most: 1000 };
    let mut link = link(plain(10), |rules| {
        rules.with(rule::range(End::A, 0..2, held)).with(rule::nth(End::A, 2, Verdict::Drop))
    });
    for frame in [b"1", b"2", b"3", b"4"] {
        link.send(0, End::A, frame);
    }
    assert_eq!(arrivals(&mut link, 10), ["10:4", "10:1", "10:2"]);
    assert_eq!(link.counts(End::A).dropped, 1);
}

#[test]
fn a_corrupted_frame_differs_in_its_bit_and_the_senders_bytes_stay() {
    let mut link = link(plain(0), |rules| rules.with(rule::nth(End::A, 0, Verdict::Corrupt { bit: 9 })));
    let frame = [0; 4];
    link.send(0, End::A, &frame);
    let delivery = link.receive(0).unwrap();
    assert_eq!(delivery.frame, [0, 2, 0, 0]);
    assert_eq!(delivery.judgement.verdict, Verdict::Corrupt { bit: 9 });
}

#[test]
fn rules_see_how_much_is_queued() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let record = std::sync::Arc::clone(&seen);
    let mut link = link(slow(1), |rules| {
        rules.with(rule::custom("look", move |frame, _| {
            record.lock().unwrap().push(frame.queued);
            Verdict::Deliver
        }))
    });
    for now in [0, 0, 50, 500] {
        link.send(now, End::A, &[0; 100]);
    }
    assert_eq!(*seen.lock().unwrap(), [0, 100, 150, 0]);
}

#[test]
fn buffers_are_reused_and_given_back_when_they_grew_too_large() {
    let config = LinkConfig { in_flight_limit: 10_000, ..plain(0) };
    let mut link = link(config, |rules| rules.with(rule::reorder(Probability::ONE, 1)));
    for round in 0..2_000 {
        // The long frame goes into another buffer each time.
        for _ in 0..round % 100 {
            link.send(round, End::A, &[0; 64]);
        }
        assert_eq!(link.send(round, End::A, &[0; 3_000]).copies, 1);
        while link.receive(round + 1).is_some() {}
    }
    let (slots, capacity, _) = link.flight.memory();
    assert_eq!(slots, 100);
    assert!(capacity <= 2 * 10_000 + 3_000, "{capacity}");
    assert!(link.senders[End::A].room_for_held() <= 1024);
}

#[test]
fn frames_held_back_for_ever_and_released_leave_nothing_behind() {
    let held = rule::reorder(Probability::new(0.5).unwrap(), u64::MAX / 2);
    let mut link = link(plain(10), |rules| rules.with(held));
    for now in 0..10_000 {
        link.send(now, End::A, b"frame");
        while link.receive(now).is_some() {}
    }
    let (slots, _, entries) = link.flight.memory();
    assert!(slots < 50 && entries < 150, "{slots} slots, {entries} entries");
    assert!(link.rules().counts(End::A).reordered > 4_000);
}

#[test]
fn a_sender_is_told_to_wait_until_few_enough_bytes_wait() {
    let mut link = link(slow(2), |rules| rules);
    assert_eq!(link.busy_until(0, End::A, 10), None);
    link.send(0, End::A, &[0; 30]);
    let until = link.busy_until(0, End::A, 10).unwrap();
    // 30 bytes take 60 ns; 10 of them are left after 40.
    assert_eq!(until, 41);
    assert!(link.busy_until(until - 2, End::A, 10).is_some());
    assert_eq!(link.busy_until(until, End::A, 10), None);
    assert_eq!(link.busy_until(0, End::B, 10), None, "the other direction is free");
}

#[test]
fn a_sender_is_told_to_wait_for_an_arrival_when_the_link_is_half_full() {
    let mut link = link(LinkConfig { in_flight_limit: 400, ..plain(50) }, |rules| rules);
    link.send(0, End::A, &[0; 200]);
    assert_eq!(link.busy_until(0, End::A, 0), None);
    link.send(0, End::A, &[0; 64]);
    assert_eq!(link.busy_until(0, End::A, 0), Some(50));
    assert_eq!(arrivals(&mut link, 50).len(), 2);
    assert_eq!(link.busy_until(50, End::A, 0), None);
}
