use super::*;
use proptest::prelude::*;

const MEGABIT: u64 = 125_000;
const LINE: u64 = 40_000 * MEGABIT;
const T: u64 = 55_000;

/// Byte counter so large that only the timer makes rounds.
fn timer_only() -> DcqcnConfig {
    DcqcnConfig { byte_counter: u32::MAX, ..DcqcnConfig::default() }
}

fn alpha(flow: &Dcqcn) -> f64 {
    f64::from(flow.alpha) / f64::from(ONE)
}

#[test]
fn a_flow_starts_at_line_rate_and_time_alone_changes_nothing() {
    let mut flow = Dcqcn::new(DcqcnConfig::default());
    flow.handle_sent(5, 1 << 30);
    flow.handle_timeout(u64::MAX);
    assert_eq!((flow.rate(), flow.next_timeout()), (LINE, None));
    assert_eq!(alpha(&flow), 1.0);
}

#[test]
fn the_first_notification_halves_the_rate() {
    let mut flow = Dcqcn::new(DcqcnConfig::default());
    flow.handle_notification(1_000_000);
    assert_eq!((flow.rate, flow.target), (LINE / 2, LINE));
    assert_eq!(flow.next_timeout(), Some(1_000_000 + T));
}

#[test]
fn a_sequence_of_cuts_follows_the_papers_formulas() {
    // g = 1/2, α from 1/2: R_C (1 - α/2) and α ← (1 - g) α + g by hand, each cut before any timer runs.
    let config = DcqcnConfig { line_rate: 4096 * 1024, gain: 512, initial_alpha: 512, ..timer_only() };
    let mut flow = Dcqcn::new(config);
    let mut seen = alloc::vec::Vec::new();
    for now in [50_000, 100_000, 150_000] {
        flow.handle_notification(now);
        seen.push((flow.target, flow.rate, alpha(&flow)));
    }
    let expected = [
        (4096 * 1024, 3072 * 1024, 0.75),   // × (1 - 1/4)
        (3072 * 1024, 1920 * 1024, 0.875),  // × (1 - 3/8)
        (1920 * 1024, 1080 * 1024, 0.9375), // × (1 - 7/16)
    ];
    assert_eq!(seen, expected);
}

#[test]
fn alpha_rises_by_g_of_what_is_missing_and_falls_by_g_of_itself() {
    let mut flow = Dcqcn::new(DcqcnConfig { initial_alpha: 0, ..DcqcnConfig::default() });
    flow.handle_notification(0);
    assert_eq!(alpha(&flow), 1.0 / 256.0);
    // 100 periods of K without a notification; the one that is not over does not count.
    flow.handle_timeout(101 * 55_000 - 1);
    let expected = (1.0f64 / 256.0) * (255.0f64 / 256.0).powi(100);
    assert!((alpha(&flow) - expected).abs() < 1e-5, "{} is not {expected}", alpha(&flow));
    // Congestion that lasts takes it to 1.
    for k in 0..6000 {
        flow.handle_notification(10_000_000 + k * 50_000);
    }
    assert!(alpha(&flow) > 0.9999);
    // Quiet that lasts takes it to rest.
    flow.handle_timeout(10_000_000_000);
    assert_eq!(flow.alpha, 0);
}

#[test]
fn a_notification_restarts_the_alpha_period() {
    let mut flow = Dcqcn::new(DcqcnConfig::default());
    flow.handle_notification(0);
    flow.handle_notification(50_000);
    let before = flow.alpha;
    flow.handle_timeout(50_000 + 54_999);
    assert_eq!(flow.alpha, before);
    flow.handle_timeout(50_000 + 55_000);
    assert!(flow.alpha < before);
}

#[test]
fn notifications_within_the_cut_interval_cut_once() {
    let mut flow = Dcqcn::new(DcqcnConfig::default());
    flow.handle_notification(0);
    flow.handle_notification(3_999);
    assert_eq!(flow.rate, LINE / 2);
    flow.handle_notification(4_000);
    assert_eq!(flow.rate, LINE / 4);
}

#[test]
fn five_timer_rounds_recover_half_way_each_and_the_sixth_raises_the_target() {
    let mut flow = Dcqcn::new(timer_only());
    flow.handle_notification(0);
    flow.handle_notification(50_000); // R_T = line / 2, so that there is room above it.
    let (target, mut rate) = (flow.target, flow.rate);
    for round in 1..=5 {
        flow.handle_timeout(50_000 + round * T);
        rate += (target - rate).div_ceil(2);
        assert_eq!((flow.target, flow.rate), (target, rate), "round {round}");
    }
    flow.handle_timeout(50_000 + 6 * T);
    assert_eq!(flow.target, target + 40 * MEGABIT);
    assert_eq!(flow.rate, rate + (flow.target - rate).div_ceil(2));
}

#[test]
fn the_byte_counter_makes_rounds_as_the_timer_does() {
    let config = DcqcnConfig { byte_counter: 10_000, timer: u32::MAX, ..DcqcnConfig::default() };
    let mut flow = Dcqcn::new(config);
    flow.handle_notification(0);
    flow.handle_sent(1, 9_999);
    assert_eq!(flow.rate, LINE / 2);
    flow.handle_sent(2, 1);
    assert_eq!(flow.rate, LINE / 4 * 3);
    flow.handle_sent(3, 25_000); // Two rounds and 5,000 bytes towards the next.
    assert_eq!(flow.rate, LINE / 16 * 15);
    flow.handle_sent(4, 5_000);
    assert_eq!(flow.rate, LINE / 32 * 31);
}

#[test]
fn hyper_increase_begins_when_both_counters_are_past_f_and_grows() {
    let config = DcqcnConfig { byte_counter: 10_000, ..DcqcnConfig::default() };
    let mut flow = Dcqcn::new(config);
    for now in [0, 50_000, 100_000, 150_000] {
        flow.handle_notification(now);
    }
    let now = 150_000;
    flow.handle_timeout(now + 6 * T);
    let additive = flow.target;
    assert_eq!(additive, LINE / 8 + 40 * MEGABIT);
    flow.handle_sent(now + 6 * T, 5 * 10_000); // Five byte rounds: additive, the timer being past F.
    assert_eq!(flow.target, additive + 5 * 40 * MEGABIT);
    let target = flow.target;
    flow.handle_sent(now + 6 * T, 10_000); // min(6, 6) - F = 1
    assert_eq!(flow.target, target + 400 * MEGABIT);
    flow.handle_timeout(now + 7 * T); // min(7, 6) - F = 1
    assert_eq!(flow.target, target + 800 * MEGABIT);
    flow.handle_sent(now + 7 * T, 10_000); // min(7, 7) - F = 2
    assert_eq!(flow.target, target + 1600 * MEGABIT);
}

#[test]
fn a_cut_begins_all_counting_anew() {
    let config = DcqcnConfig { byte_counter: 10_000, ..DcqcnConfig::default() };
    let mut flow = Dcqcn::new(config);
    flow.handle_notification(0);
    flow.handle_timeout(4 * T);
    flow.handle_sent(4 * T, 9_000);
    flow.handle_notification(4 * T + 30_000);
    let cut = flow.rate;
    flow.handle_sent(4 * T + 30_001, 9_000);
    flow.handle_timeout(5 * T + 29_999);
    assert_eq!(flow.rate, cut);
    flow.handle_timeout(5 * T + 30_000);
    assert!(flow.rate > cut);
    assert_eq!((flow.timer_rounds, flow.byte_rounds), (1, 0));
}

#[test]
fn recovery_ends_at_line_rate_and_then_needs_no_timer() {
    let mut flow = Dcqcn::new(timer_only());
    for k in 0..20 {
        flow.handle_notification(k * 50_000);
    }
    assert!(flow.rate < LINE / 1000);
    let mut rounds = 0;
    while let Some(next) = flow.next_timeout() {
        flow.handle_timeout(next);
        rounds += 1;
        assert!(rounds < 2000);
    }
    assert_eq!(flow.rate, LINE);
}

#[test]
fn a_reset_flow_is_a_new_one() {
    let mut flow = Dcqcn::new(DcqcnConfig::default());
    flow.handle_notification(0);
    flow.handle_timeout(20 * T);
    flow.reset();
    assert_eq!(alloc::format!("{flow:?}"), alloc::format!("{:?}", Dcqcn::new(DcqcnConfig::default())));
}

#[test]
fn a_configuration_out_of_range_is_taken_as_the_nearest_in_range() {
    let zero = DcqcnConfig {
        line_rate: 0,
        min_rate: 0,
        additive_increase: 0,
        hyper_increase: 0,
        timer: 0,
        byte_counter: 0,
        recovery_rounds: 0,
        gain: u16::MAX,
        initial_alpha: u16::MAX,
        alpha_period: 0,
        cut_interval: 0,
    };
    let mut flow = Dcqcn::new(zero);
    flow.handle_notification(0);
    flow.handle_sent(1, usize::MAX);
    flow.handle_timeout(u64::MAX);
    assert_eq!(flow.rate(), 1);
    let config = DcqcnConfig { min_rate: u64::MAX, ..DcqcnConfig::new(1000) };
    let mut flow = Dcqcn::new(config);
    flow.handle_notification(0);
    assert_eq!(flow.rate(), 1000);
}

/// What happens to a flow.
#[derive(Clone, Copy, Debug)]
enum Step {
    Notification,
    Sent(usize),
    Asked,
}

/// Rates from those of a port down to a few bytes per second, where every rounding shows; steps from much to nothing.
fn config() -> impl Strategy<Value = DcqcnConfig> {
    let rates = (1u64..LINE * 3, 1u64..LINE, 0u64..LINE / 10, 0u64..LINE / 10);
    let rates = (rates, 0u32..32, 0u32..32).prop_map(|(rates, fewer, slower)| {
        (rates.0 >> fewer, rates.1 >> fewer, rates.2 >> slower, rates.3 >> slower)
    });
    let periods = (0u32..200_000, 0u32..1_000_000, 0u32..200_000, 0u32..20_000);
    (rates, periods, 0u8..12, 0u16..1100, 0u16..1100).prop_map(|(rates, periods, rounds, gain, alpha)| {
        DcqcnConfig {
            line_rate: rates.0,
            min_rate: rates.1,
            additive_increase: rates.2,
            hyper_increase: rates.3,
            timer: periods.0,
            byte_counter: periods.1,
            alpha_period: periods.2,
            cut_interval: periods.3,
            recovery_rounds: rounds,
            gain,
            initial_alpha: alpha,
        }
    })
}

fn steps() -> impl Strategy<Value = alloc::vec::Vec<(u64, Step)>> {
    let step = prop_oneof![
        1 => Just(Step::Notification),
        4 => (0usize..2_000_000).prop_map(Step::Sent),
        2 => Just(Step::Asked),
    ];
    let gap = prop_oneof![8 => 0u64..1_000_000, 1 => 0u64..1 << 50];
    prop::collection::vec((gap, step), 1..100)
}

proptest! {
    #[test]
    fn rates_stay_between_minimum_and_line_rate(config in config(), steps in steps()) {
        let mut flow = Dcqcn::new(config);
        let config = flow.config;
        let mut now = 0;
        for (gap, step) in steps {
            now += gap;
            let before = flow.rate;
            match step {
                Step::Notification => flow.handle_notification(now),
                Step::Sent(bytes) => flow.handle_sent(now, bytes),
                Step::Asked => flow.handle_timeout(now),
            }
            prop_assert!(config.min_rate <= flow.rate);
            prop_assert!(flow.rate <= flow.target);
            prop_assert!(flow.target <= config.line_rate);
            prop_assert!(flow.alpha <= ONE);
            if !matches!(step, Step::Notification) {
                prop_assert!(flow.rate >= before, "only a notification lowers the rate");
            }
            if let Some(next) = flow.next_timeout() {
                prop_assert!(next > now);
            }
        }
    }

    /// However seldom it is asked, and however many rounds come at once: the same as one round at a time.
    #[test]
    fn a_flow_asked_seldom_is_the_flow_that_took_every_round_alone(
        config in config(), steps in steps()
    ) {
        let (mut seldom, mut always) = (Dcqcn::new(config), Dcqcn::new(config));
        let mut now = 0;
        for (gap, step) in steps {
            now += gap % 10_000_000;
            while let Some(next) = always.next_timeout().filter(|&next| next <= now) {
                always.handle_timeout(next);
            }
            match step {
                Step::Notification => {
                    seldom.handle_notification(now);
                    always.handle_notification(now);
                }
                Step::Sent(bytes) => {
                    seldom.handle_sent(now, bytes);
                    let piece = always.config.byte_counter as usize;
                    for begin in (0..bytes).step_by(piece) {
                        always.handle_sent(now, piece.min(bytes - begin));
                    }
                }
                Step::Asked => {
                    seldom.handle_timeout(now);
                    always.handle_timeout(now);
                }
            }
            prop_assert_eq!((seldom.rate, seldom.target), (always.rate, always.target));
            prop_assert_eq!(seldom.alpha, always.alpha);
            prop_assert_eq!(seldom.next_timeout(), always.next_timeout());
            if seldom.rate < seldom.config.line_rate {
                let counters = |flow: &Dcqcn| (flow.timer_rounds, flow.byte_rounds, flow.sent);
                prop_assert_eq!(counters(&seldom), counters(&always));
            }
        }
    }
}
