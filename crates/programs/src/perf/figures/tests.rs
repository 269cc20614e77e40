use super::*;

/// What [`fastest`] is meant to be, pair by pair.
fn slow_fastest(posts: &[u64], dones: &[(u64, u64)]) -> f64 {
    let mut best = f64::INFINITY;
    for &(count, time) in dones {
        for (place, &post) in posts.iter().enumerate().take_while(|(place, _)| (*place as u64) < count) {
            best = best.min(time.saturating_sub(post).max(1) as f64 / (count - place as u64) as f64);
        }
    }
    best
}

#[test]
fn the_peak_is_that_of_the_best_run_of_messages() {
    let mut state = 7u64;
    let mut random = |limit: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % limit
    };
    for case in 0..300 {
        let count = 1 + random(60);
        let mut now = 0;
        let posts: Vec<u64> = (0..count)
            .map(|_| {
                now += random(1000);
                now
            })
            .collect();
        let (mut dones, mut done) = (Vec::new(), 0);
        let mut time = 0;
        while done < count {
            done = (done + 1 + random(5)).min(count);
            time = (time + random(3000)).max(posts[done as usize - 1] + 1);
            dones.push((done, time));
        }
        let (fast, slow) = (fastest(&posts, &dones).unwrap(), slow_fastest(&posts, &dones));
        assert!((fast - slow).abs() < 1e-6 * slow, "case {case}: {fast} {slow}\n{posts:?}\n{dones:?}");
    }
}

#[test]
fn a_bandwidth_counts_mebibytes_from_the_first_post_to_the_last_completion() {
    let mut tally = Tally::new(true, None);
    tally.post(1_000_000_000);
    tally.post(1_000_000_000);
    tally.done(1, 1_500_000_000);
    tally.done(1, 3_000_000_000);
    let figures = tally.figures(1 << 20, false, None);
    assert_eq!((figures.iterations, figures.average, figures.rate), (2, 1.0, 1e-6));
    assert!((figures.peak - 2.0).abs() < 1e-9, "{figures:?}");
    assert_eq!(tally.figures(125_000_000, true, None).average, 1.0, "in Gbit/s");
}

#[test]
fn regression_a_peak_is_never_below_the_average_by_rounding() {
    for time in 1_297_000..1_297_400 {
        let mut tally = Tally::new(true, None);
        // All of them posted at once and done at once: the only run is the whole.
        (0..300).for_each(|_| tally.post(7));
        tally.done(300, 7 + time);
        let figures = tally.figures(1000, false, None);
        assert!(figures.peak >= figures.average, "{time}: {figures:?}");
    }
}

#[test]
fn messages_outside_the_window_do_not_count() {
    let mut tally = Tally::new(false, Some((1_000_000_000, 3_000_000_000)));
    tally.post(0);
    for time in [500_000_000, 1_000_000_000, 2_000_000_000, 3_000_000_001] {
        tally.done(10, time);
    }
    let figures = tally.figures(1 << 20, false, None);
    assert_eq!((figures.iterations, figures.average, figures.peak), (20, 10.0, 0.0));
    assert_eq!(tally.all_done(), 40);
    // One that was ended before its time has no margins.
    let figures = tally.figures(1 << 20, false, Some(3_200_000_000));
    assert_eq!((figures.iterations, figures.average), (40, 12.5));
}

#[test]
fn a_test_that_did_nothing_has_no_bandwidth() {
    assert_eq!(Tally::new(true, None).figures(100, false, None).average, 0.0);
    let mut tally = Tally::new(true, None);
    tally.post(5);
    assert_eq!(tally.figures(100, false, None), Figures { size: 100, ..Figures::default() });
}

/// Recorded of `ib_read_lat -n 20 -U`, in microseconds, and the line that it printed.
const SEEN: [f64; 19] = [
    4036.73, 2556.65, 1112.21, 2813.92, 925.39, 728.647, 2420.17, 991.99, 997.318, 3238.32, 6994.69, 1422.33,
    961.805, 13929.8, 13804.0, 15852.3, 6285.81, 12348.8, 15923.1,
];

#[test]
fn latencies_are_summed_up_as_by_the_real_program() {
    let mut now = 0;
    let mut stamps = vec![0];
    for latency in SEEN {
        now += (latency * 1000.0) as u64;
        stamps.push(now);
    }
    let latencies = Latencies::new(&stamps, 1);
    let found = latencies.summary.unwrap();
    let printed = [
        (found.least, 728.65),
        (found.most, 15852.29),
        (found.typical, 2556.65),
        (found.average, 4445.21),
        (found.percentile_99, 15852.29),
        (found.percentile_99_9, 15852.29),
    ];
    for (found, printed) in printed {
        assert!((found / 1000.0 - printed).abs() < 0.02, "{} instead of {printed}", found / 1000.0);
    }
    // Here the real program rounds as it goes.
    assert!((found.deviation / 1000.0 - 4499.51).abs() < 0.5, "{}", found.deviation);
    // A message to and fro: each has half of it.
    assert_eq!(Latencies::new(&[0, 1000, 3000], 2).each, [500.0, 1000.0]);
}

#[test]
fn two_latencies_or_fewer_are_not_summed_up() {
    assert!(Latencies::new(&[0, 1, 2], 1).summary.is_none());
    assert!(Latencies::new(&[], 1).summary.is_none());
    assert!(Latencies::new(&[0, 1, 2, 3], 1).summary.is_some());
}

#[test]
fn a_pace_of_nothing_is_zero() {
    assert_eq!(Pace::default().latency(), 0.0);
    let pace = Pace { rounds: 100, time: Duration::from_secs(1), messages: 2 };
    assert_eq!((pace.latency(), pace.rounds_a_second()), (5_000_000.0, 100.0));
}
