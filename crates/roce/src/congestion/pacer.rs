//! Spaces packets at a rate: credit that time earns and packets spend.

/// Credit that a flow may save up while it sends nothing: sixteen packets of the largest path MTU.
const BURST: u64 = 16 * 4096;
/// Nanoseconds of its rate that a flow may save up if that is more than [`BURST`]: how late a timer may be without
/// costing throughput.
const TURN: u64 = 500_000;
/// Credit is counted in bytes × nanoseconds / second, so that earning it never rounds.
const BYTE: u64 = 1_000_000_000;
const LARGEST: u64 = 1 << 62;

/// A packet may leave when the credit is not negative, and leaves its size as debt. The debt is thus never more than one
/// packet, if the caller asks before each, and the long-run rate is exact however irregularly it asks, as long as it
/// does at least every [`TURN`] while there is something to send.
///
/// The rate is not kept here: whoever owns both hands it in and lets time pass before changing it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    credit: i64,
    as_of: u64,
}

impl Pacer {
    /// One that has saved up all it may by the time it is used.
    pub(crate) fn new() -> Self {
        Self { credit: (BURST * BYTE) as i64, as_of: 0 }
    }

    /// Earns what `rate` bytes per second gave since the last call.
    pub(crate) fn earn(&mut self, now: u64, rate: u64) {
        let elapsed = now.saturating_sub(self.as_of);
        if elapsed == 0 {
            return;
        }
        let most = (BURST * BYTE).max(rate.saturating_mul(TURN)).min(LARGEST);
        let earned = rate.saturating_mul(elapsed).min(LARGEST);
        self.credit = self.credit.saturating_add(earned as i64).min(most as i64);
        self.as_of = now;
    }

    /// Spends for a packet that leaves.
    pub(crate) fn spend(&mut self, bytes: usize) {
        let cost = (bytes as u64).saturating_mul(BYTE).min(LARGEST);
        self.credit = self.credit.saturating_sub(cost as i64).max(-(LARGEST as i64));
    }

    /// When the next packet may leave at this rate; none if it may leave already.
    pub(crate) fn next_departure(&self, rate: u64) -> Option<u64> {
        let debt = self.credit.min(0).unsigned_abs();
        (debt > 0).then(|| self.as_of.saturating_add(debt.div_ceil(rate.max(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Sends as much as it may whenever it is asked; returns the bytes.
    fn turn(pacer: &mut Pacer, now: u64, rate: u64, packet: usize) -> u64 {
        let mut sent = 0;
        pacer.earn(now, rate);
        while pacer.next_departure(rate).is_none() {
            pacer.spend(packet);
            sent += packet as u64;
        }
        sent
    }

    #[test]
    fn the_next_packet_leaves_when_the_last_is_paid_for() {
        let mut pacer = Pacer { credit: 0, as_of: 1000 };
        assert_eq!(pacer.next_departure(1_000_000_000), None);
        pacer.spend(4096);
        assert_eq!(pacer.next_departure(1_000_000_000), Some(1000 + 4096));
        assert_eq!(pacer.next_departure(3_000_000_000), Some(1000 + 1366));
        pacer.earn(1000 + 4095, 1_000_000_000);
        assert_eq!(pacer.next_departure(1_000_000_000), Some(1000 + 4096));
        pacer.earn(1000 + 4096, 1_000_000_000);
        assert_eq!(pacer.next_departure(1_000_000_000), None);
    }

    #[test]
    fn a_flow_that_was_quiet_for_long_sends_one_burst() {
        let mut pacer = Pacer::new();
        let hour = 3_600_000_000_000;
        assert_eq!(turn(&mut pacer, hour, 1_000_000, 4096), BURST + 4096);
        assert_eq!(turn(&mut pacer, 2 * hour, 1_000_000, 4096), BURST + 4096);
    }

    #[test]
    fn extremes_neither_overflow_nor_stop_the_flow() {
        let mut pacer = Pacer::new();
        pacer.earn(u64::MAX, u64::MAX);
        pacer.spend(usize::MAX);
        pacer.spend(usize::MAX);
        assert!(pacer.next_departure(0).is_some());
        pacer.earn(0, 1);
        assert!(pacer.next_departure(1).is_some());
    }

    proptest! {
        #[test]
        fn the_long_run_rate_is_exact_however_it_is_polled(
            rate in 100_000u64..1_250_000_000,
            packet in 256usize..4200,
            late in prop::collection::vec(0u64..TURN - 100_000, 20),
        ) {
            let mut pacer = Pacer::new();
            let mut now = 1;
            turn(&mut pacer, now, rate, packet);
            let begin = now;
            let mut sent = 0;
            for _ in 0..5 {
                for late in &late {
                    now = pacer.next_departure(rate).unwrap() + late;
                    sent += turn(&mut pacer, now, rate, packet);
                }
            }
            let expected = (u128::from(rate) * u128::from(now - begin) / u128::from(BYTE)) as u64;
            // Exact but for the packet in debt at either end.
            prop_assert!(sent.abs_diff(expected) <= packet as u64 + 1, "sent {sent}, expected {expected}");
        }

        #[test]
        fn no_stretch_of_time_carries_more_than_its_rate_and_one_burst(
            rate in 1u64..12_500_000_000,
            gaps in prop::collection::vec(0u64..2_000_000, 1..30),
        ) {
            let mut pacer = Pacer::new();
            let most = BURST.max(rate * TURN / BYTE) + 4096;
            let (mut now, mut sent) = (0u64, alloc::vec::Vec::new());
            for gap in gaps {
                now += gap;
                sent.push((now, turn(&mut pacer, now, rate, 4096)));
            }
            for first in 0..sent.len() {
                let mut sum = 0;
                for &(now, bytes) in &sent[first..] {
                    sum += bytes;
                    let elapsed = now - sent[first].0;
                    let earned = (u128::from(rate) * u128::from(elapsed) / u128::from(BYTE)) as u64;
                    prop_assert!(sum <= earned + most + 1);
                }
            }
        }
    }
}
