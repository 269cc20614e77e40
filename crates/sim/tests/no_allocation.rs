//! In steady state a frame crosses a link, whatever the rules do to it, without an allocation.

use rdmalab_sim::{End, Link, LinkConfig, Probability, RuleSet, Seed, rule};

#[test]
fn a_frame_in_steady_state_costs_no_allocation() {
    let tenth = Probability::new(0.1).unwrap();
    let rules = RuleSet::new(Seed::new(7))
        .with(rule::lose(tenth))
        .with(rule::duplicate(tenth))
        .with(rule::reorder(tenth, 5_000))
        .with(rule::delay(tenth, 10, 5_000))
        .with(rule::only("all", |_| true, rule::corrupt_behind(tenth, 14)));
    let mut link = Link::new(LinkConfig::default(), rules);
    let mut received = 0u64;
    let mut traffic = |rounds: std::ops::Range<u64>| {
        for now in rounds.map(|round| round * 100) {
            link.send(now, End::A, &[1; 4096]);
            link.send(now, End::B, &[2; 60]);
            while let Some(delivery) = link.receive(now) {
                received += delivery.frame.len() as u64;
            }
        }
    };
    // Buffers are shared by both directions, so it takes a while until each has once held a long frame.
    traffic(0..20_000);
    let counted = allocation_counter::measure(|| traffic(20_000..40_000));
    assert_eq!(counted.count_total, 0, "{counted:?}");
    assert!(received > 0);
}
