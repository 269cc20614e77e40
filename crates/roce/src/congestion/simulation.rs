//! Flows that share a bottleneck: senders with a [`Controller`], a switch queue that marks, receivers that notify.
//!
//! Everything is virtual and integer, so a run is the same each time.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::{CongestionControl, Controller, DcqcnConfig, NotificationPacer, NotificationState};

const LINK: u64 = 5_000_000_000; // 40 Gbit/s, as in the paper
const PACKET: u64 = 1024 + 58;
const DELAY: u64 = 2_000;
/// The marking of the paper's switches.
const K_MIN: u64 = 5_000;
const K_MAX: u64 = 200_000;

/// Ordered by name, so that events of the same time have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Send,
    Mark,
    Notify,
}

struct Flow {
    controller: Controller,
    receiver: NotificationState,
    start: u64,
    stop: u64,
    /// Bytes sent within the stretch that is judged.
    sent: u64,
}

struct Bottleneck {
    flows: Vec<Flow>,
    receiver: NotificationPacer,
    events: BinaryHeap<Reverse<(u64, usize, Happening)>>,
    /// When the switch has sent all it holds.
    busy_until: u64,
    random: u64,
    /// Largest queue and bytes carried within the stretch that is judged.
    largest_queue: u64,
    carried: u64,
    notifications: u64,
}

impl Bottleneck {
    fn new(control: CongestionControl, times: &[(u64, u64)]) -> Self {
        let flows: Vec<Flow> = times
            .iter()
            .map(|&(start, stop)| Flow {
                controller: Controller::new(control),
                receiver: NotificationState::default(),
                start,
                stop,
                sent: 0,
            })
            .collect();
        let events = flows.iter().enumerate().map(|(i, flow)| Reverse((flow.start, i, Happening::Send)));
        Self {
            events: events.collect(),
            flows,
            receiver: NotificationPacer::new(NotificationPacer::DEFAULT_INTERVAL),
            busy_until: 0,
            random: 1,
            largest_queue: 0,
            carried: 0,
            notifications: 0,
        }
    }

    /// RED as the paper's switches do it: never below K_MIN, then up to one in a hundred at K_MAX, above it always.
    fn marks(&mut self, queue: u64) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let draw = self.random % 1_000_000;
        match queue {
            ..K_MIN => false,
            K_MIN..K_MAX => draw < 10_000 * (queue - K_MIN) / (K_MAX - K_MIN),
            _ => true,
        }
    }

    /// Runs until `end`, judging from `from` on.
    fn run(&mut self, from: u64, end: u64) {
        while let Some(Reverse((now, index, happening))) = self.events.pop() {
            if now >= end {
                return;
            }
            match happening {
                Happening::Send => self.send(now, index, now >= from),
                Happening::Mark => {
                    if self.receiver.is_due(&mut self.flows[index].receiver, now) {
                        self.events.push(Reverse((now + DELAY, index, Happening::Notify)));
                    }
                }
                Happening::Notify => {
                    self.notifications += 1;
                    self.flows[index].controller.handle_notification(now);
                }
            }
        }
    }

    fn send(&mut self, now: u64, index: usize, judged: bool) {
        let flow = &mut self.flows[index];
        if now >= flow.stop {
            return;
        }
        // A sender with nothing to hold it back still has only its own link.
        let next = match flow.controller.wait_until(now) {
            Some(next) => next,
            None => {
                flow.controller.handle_sent(now, PACKET as usize);
                flow.sent += if judged { PACKET } else { 0 };
                self.enqueue(now, index, judged);
                now + PACKET * 1_000_000_000 / LINK
            }
        };
        self.events.push(Reverse((next, index, Happening::Send)));
    }

    fn enqueue(&mut self, now: u64, index: usize, judged: bool) {
        let queue = self.busy_until.saturating_sub(now) * LINK / 1_000_000_000;
        self.busy_until = self.busy_until.max(now) + PACKET * 1_000_000_000 / LINK;
        if judged {
            self.largest_queue = self.largest_queue.max(queue);
            self.carried += PACKET;
        }
        if self.marks(queue) {
            self.events.push(Reverse((self.busy_until + DELAY, index, Happening::Mark)));
        }
    }

    /// Jain's index of fairness: 1 when all get the same, 1/n when one gets all.
    fn fairness(&self) -> f64 {
        let sum: f64 = self.flows.iter().map(|flow| flow.sent as f64).sum();
        let squares: f64 = self.flows.iter().map(|flow| (flow.sent as f64).powi(2)).sum();
        sum * sum / (self.flows.len() as f64 * squares)
    }

    fn utilization(&self, stretch: u64) -> f64 {
        self.carried as f64 * 1e9 / (stretch as f64 * LINK as f64)
    }
}

const MILLISECOND: u64 = 1_000_000;

#[test]
fn two_flows_come_to_a_fair_share_and_a_bounded_queue() {
    let control = CongestionControl::Dcqcn(DcqcnConfig::new(LINK));
    let mut bottleneck = Bottleneck::new(control, &[(0, u64::MAX), (5 * MILLISECOND, u64::MAX)]);
    bottleneck.run(30 * MILLISECOND, 60 * MILLISECOND);
    assert!(bottleneck.fairness() > 0.95, "{}", bottleneck.fairness());
    assert!(bottleneck.largest_queue < K_MAX, "{}", bottleneck.largest_queue);
    assert!(bottleneck.utilization(30 * MILLISECOND) > 0.9);
}

#[test]
fn eight_flows_that_start_at_once_come_to_a_fair_share_and_a_bounded_queue() {
    let control = CongestionControl::Dcqcn(DcqcnConfig::new(LINK));
    let mut bottleneck = Bottleneck::new(control, &[(0, u64::MAX); 8]);
    bottleneck.run(30 * MILLISECOND, 60 * MILLISECOND);
    assert!(bottleneck.fairness() > 0.95, "{}", bottleneck.fairness());
    assert!(bottleneck.largest_queue < 2 * K_MAX, "{}", bottleneck.largest_queue);
    assert!(bottleneck.utilization(30 * MILLISECOND) > 0.9);
}

/// What the tests above would see if the rates were not controlled.
#[test]
fn without_control_two_flows_fill_the_queue_without_end() {
    let mut bottleneck = Bottleneck::new(CongestionControl::None, &[(0, u64::MAX); 2]);
    bottleneck.run(0, 5 * MILLISECOND);
    assert!(bottleneck.largest_queue > 20 * K_MAX);
    assert!(bottleneck.notifications > 100);
}

#[test]
fn a_flow_left_alone_takes_the_whole_link() {
    let control = CongestionControl::Dcqcn(DcqcnConfig::new(LINK));
    let mut bottleneck = Bottleneck::new(control, &[(0, u64::MAX), (0, 10 * MILLISECOND)]);
    bottleneck.run(40 * MILLISECOND, 60 * MILLISECOND);
    assert!(bottleneck.utilization(20 * MILLISECOND) > 0.95, "{}", bottleneck.utilization(20 * MILLISECOND));
}

#[test]
fn a_fixed_rate_is_kept_whatever_is_notified() {
    let mut bottleneck = Bottleneck::new(CongestionControl::Fixed(LINK * 2 / 3), &[(0, u64::MAX); 2]);
    bottleneck.run(5 * MILLISECOND, 15 * MILLISECOND);
    assert!(bottleneck.notifications > 100);
    for flow in &bottleneck.flows {
        let expected = LINK * 2 / 3 * 10 / 1000;
        assert!(flow.sent.abs_diff(expected) <= 2 * PACKET, "{} is not {expected}", flow.sent);
    }
}
