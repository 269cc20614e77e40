//! What a requester holds: the rule for its rate and the pacer that keeps to it, or neither.

use super::{CongestionControl, Dcqcn, FixedRate, Pacer, RateController};

/// Rate changes that are looked at one by one between two calls; the time behind them counts at the last rate. This
/// bounds the work, and sixteen rounds bring a flow from the deepest cut to all but one part in a thousand of its target.
const ROUNDS: usize = 16;

/// Asked before each packet; told of each packet sent and each notification that came.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Controller {
    None,
    Fixed(Paced<FixedRate>),
    Dcqcn(Paced<Dcqcn>),
}

impl Controller {
    pub(crate) fn new(control: CongestionControl) -> Self {
        match control {
            CongestionControl::None => Self::None,
            CongestionControl::Fixed(rate) => Self::Fixed(Paced::new(FixedRate::new(rate))),
            CongestionControl::Dcqcn(config) => Self::Dcqcn(Paced::new(Dcqcn::new(config))),
        }
    }

    /// Until when the next packet must wait; none if it may leave now.
    pub(crate) fn wait_until(&mut self, now: u64) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Fixed(paced) => paced.wait_until(now),
            Self::Dcqcn(paced) => paced.wait_until(now),
        }
    }

    /// The same as of the last call that got the time, for arming a timer. Who comes then may send, unless a notification
    /// came in between.
    #[cfg(test)]
    pub(crate) fn next_departure(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Fixed(paced) => paced.next_departure(),
            Self::Dcqcn(paced) => paced.next_departure(),
        }
    }

    /// A packet left; `bytes` is its length from the IP header on, as the rate counts it.
    pub(crate) fn handle_sent(&mut self, now: u64, bytes: usize) {
        match self {
            Self::None => {}
            Self::Fixed(paced) => paced.handle_sent(now, bytes),
            Self::Dcqcn(paced) => paced.handle_sent(now, bytes),
        }
    }

    /// A congestion notification packet came for this queue pair.
    pub(crate) fn handle_notification(&mut self, now: u64) {
        match self {
            Self::None => {}
            Self::Fixed(paced) => paced.handle_notification(now),
            Self::Dcqcn(paced) => paced.handle_notification(now),
        }
    }

    /// The present rate in bytes per second; none if there is no limit.
    pub(crate) fn rate(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Fixed(paced) => Some(paced.rule.rate()),
            Self::Dcqcn(paced) => Some(paced.rule.rate()),
        }
    }

    /// Forgets the flow, as a queue pair that goes to RESET does.
    pub(crate) fn reset(&mut self) {
        match self {
            Self::None => {}
            Self::Fixed(paced) => paced.reset(),
            Self::Dcqcn(paced) => paced.reset(),
        }
    }
}

/// A rule and its pacer. Invariant: the pacer has earned up to the time the rule knows, at the rates the rule had.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paced<R> {
    rule: R,
    pacer: Pacer,
}

impl<R: RateController> Paced<R> {
    fn new(rule: R) -> Self {
        Self { rule, pacer: Pacer::new() }
    }

    fn pass(&mut self, now: u64) {
        for _ in 0..ROUNDS {
            let Some(change) = self.rule.next_timeout().filter(|&change| change <= now) else { break };
            self.pacer.earn(change, self.rule.rate());
            self.rule.handle_timeout(change);
        }
        self.pacer.earn(now, self.rule.rate());
        self.rule.handle_timeout(now);
    }

    fn wait_until(&mut self, now: u64) -> Option<u64> {
        self.pass(now);
        self.next_departure()
    }

    /// Lets a copy live on, since the rate may rise before the debt is paid.
    fn next_departure(&self) -> Option<u64> {
        let mut departure = self.pacer.next_departure(self.rule.rate())?;
        let mut ahead = *self;
        for _ in 0..ROUNDS {
            let Some(change) = ahead.rule.next_timeout().filter(|&change| change < departure) else { break };
            ahead.pass(change);
            departure = ahead.pacer.next_departure(ahead.rule.rate()).unwrap_or(change);
        }
        Some(departure)
    }

    fn handle_sent(&mut self, now: u64, bytes: usize) {
        self.pass(now);
        self.pacer.spend(bytes);
        self.rule.handle_sent(now, bytes);
    }

    fn handle_notification(&mut self, now: u64) {
        self.pass(now);
        self.rule.handle_notification(now);
    }

    fn reset(&mut self) {
        self.rule.reset();
        self.pacer = Pacer::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::DcqcnConfig;
    use proptest::prelude::*;

    const LINE: u64 = 5_000_000_000;
    const PACKET: usize = 4096;

    fn dcqcn() -> Controller {
        Controller::new(CongestionControl::Dcqcn(DcqcnConfig::new(LINE)))
    }

    /// Sends what it may; returns how many bytes.
    fn turn(controller: &mut Controller, now: u64) -> u64 {
        let mut sent = 0;
        while controller.wait_until(now).is_none() {
            controller.handle_sent(now, PACKET);
            sent += PACKET as u64;
        }
        sent
    }

    #[test]
    fn a_hundred_thousand_queue_pairs_can_have_one_each() {
        assert!(size_of::<Controller>() <= 160, "{}", size_of::<Controller>());
    }

    #[test]
    fn no_control_never_waits() {
        let mut controller = Controller::new(CongestionControl::default());
        for now in 0..1000 {
            controller.handle_notification(now);
            assert_eq!(controller.wait_until(now), None);
            controller.handle_sent(now, PACKET);
        }
        assert_eq!((controller.next_departure(), controller.rate()), (None, None));
    }

    #[test]
    fn a_fixed_rate_of_nothing_is_one_byte_per_second() {
        let mut controller = Controller::new(CongestionControl::Fixed(0));
        turn(&mut controller, 1);
        assert_eq!(controller.rate(), Some(1));
        assert_eq!(controller.wait_until(1), Some(1 + PACKET as u64 * 1_000_000_000));
    }

    #[test]
    fn a_notification_spaces_the_packets_out() {
        let mut controller = dcqcn();
        turn(&mut controller, 1);
        controller.handle_notification(1);
        assert_eq!(controller.rate(), Some(LINE / 2));
        let first = controller.wait_until(1).unwrap();
        controller.handle_sent(first, PACKET);
        let second = controller.wait_until(first).unwrap();
        assert!(second.abs_diff(first + 2 * PACKET as u64 * 1_000_000_000 / LINE) <= 1);
    }

    #[test]
    fn time_before_a_notification_counts_at_the_rate_before_it() {
        let mut controller = dcqcn();
        turn(&mut controller, 1);
        controller.handle_notification(1 + 10_000); // 50,000 bytes at line rate, less the packet in debt.
        let sent = turn(&mut controller, 1 + 10_000);
        assert!(sent.abs_diff(50_000) <= PACKET as u64, "{sent} bytes");
    }

    #[test]
    fn a_packet_that_waits_leaves_sooner_as_the_rate_recovers() {
        let slow = DcqcnConfig { cut_interval: 0, ..DcqcnConfig::new(LINE) };
        let mut controller = Controller::new(CongestionControl::Dcqcn(slow));
        turn(&mut controller, 1);
        for _ in 0..10 {
            controller.handle_notification(1);
        }
        // The debt, up to one packet, would take hundreds of microseconds at the rate after the cuts.
        let rate = controller.rate().unwrap();
        controller.handle_sent(1, PACKET);
        let departure = controller.next_departure().unwrap();
        assert!(departure < 1 + PACKET as u64 * 1_000_000_000 / rate);
        assert!(departure > 55_000);
    }

    #[test]
    fn reset_forgets_the_cuts_and_the_debt() {
        let mut controller = dcqcn();
        turn(&mut controller, 1);
        controller.handle_notification(1);
        controller.reset();
        assert_eq!((controller.rate(), controller.wait_until(1)), (Some(LINE), None));
    }

    #[test]
    fn a_flow_notified_again_and_again_still_sends() {
        let mut controller = dcqcn();
        let (mut now, mut sent) = (1, 0);
        while now < 1_000_000_000 {
            controller.handle_notification(now);
            sent += turn(&mut controller, now);
            now += 10_000;
        }
        let least = DcqcnConfig::default().min_rate;
        assert!(sent >= least, "{sent} bytes in a second");
        assert!(sent < LINE / 100);
    }

    proptest! {
        /// What a timer is armed with is when the packet may leave: not after, and, as far as it looks ahead, not before.
        #[test]
        fn a_packet_leaves_when_it_was_told_it_may(
            notifications in prop::collection::vec(1u64..400_000, 0..12),
            turns in 1usize..60,
        ) {
            let mut controller = dcqcn();
            let mut now = 1;
            for gap in notifications {
                turn(&mut controller, now);
                controller.handle_notification(now);
                now += gap;
            }
            for _ in 0..turns {
                turn(&mut controller, now);
                let departure = controller.next_departure().unwrap();
                prop_assert!(departure > now);
                let mut early = controller;
                prop_assert!(early.wait_until(departure - 1).is_some());
                prop_assert_eq!(early.wait_until(departure), None);
                prop_assert_eq!(controller.wait_until(departure), None);
                now = departure;
            }
        }

        /// Time that jumps about and sizes without sense neither panic nor stop the flow.
        #[test]
        fn a_flow_survives_any_times(
            calls in prop::collection::vec((any::<u64>(), any::<usize>(), 0..3), 1..40)
        ) {
            let mut controller = dcqcn();
            for (now, bytes, call) in calls {
                match call {
                    0 => controller.handle_notification(now),
                    1 => controller.handle_sent(now, bytes),
                    _ => {
                        controller.wait_until(now);
                    }
                }
                prop_assert!((1..=LINE).contains(&controller.rate().unwrap()));
            }
        }
    }
}
