//! The notification point: when a responder that gets a marked packet tells the sender.

/// One rule for all flows of a port: the first marked packet is told of at once, then at most one in each interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NotificationPacer {
    interval: u64,
}

/// What a flow remembers: no notification before this time. The default is a flow that sent none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NotificationState(u64);

impl NotificationPacer {
    /// 50 µs, as in the paper cited at [`Dcqcn`](super::Dcqcn).
    pub(crate) const DEFAULT_INTERVAL: u64 = 50_000;

    /// The interval in nanoseconds; 0 notifies of every marked packet.
    pub(crate) fn new(interval: u64) -> Self {
        Self { interval }
    }

    /// Whether the marked packet that came now is told of. If so, the caller sends the notification.
    pub(crate) fn is_due(&self, state: &mut NotificationState, now: u64) -> bool {
        if now < state.0 {
            return false;
        }
        state.0 = now.saturating_add(self.interval);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn the_first_mark_is_told_at_once_and_the_next_after_the_interval() {
        let pacer = NotificationPacer::new(NotificationPacer::DEFAULT_INTERVAL);
        let mut state = NotificationState::default();
        let told: Vec<u64> =
            (0..=150_000).step_by(10_000).filter(|&now| pacer.is_due(&mut state, now)).collect();
        assert_eq!(told, [0, 50_000, 100_000, 150_000]);
    }

    #[test]
    fn without_an_interval_every_mark_is_told() {
        let pacer = NotificationPacer::new(0);
        let mut state = NotificationState::default();
        assert!([7, 7, 8, 9].into_iter().all(|now| pacer.is_due(&mut state, now)));
    }

    #[test]
    fn flows_do_not_silence_each_other() {
        let pacer = NotificationPacer::new(50_000);
        let (mut one, mut other) = (NotificationState::default(), NotificationState::default());
        assert!(pacer.is_due(&mut one, 5));
        assert!(pacer.is_due(&mut other, 6));
        assert!(!pacer.is_due(&mut one, 7));
    }

    #[test]
    fn a_flow_remembers_one_word() {
        assert_eq!(size_of::<NotificationState>(), 8);
    }

    proptest! {
        #[test]
        fn notifications_are_an_interval_apart_and_none_is_late(
            interval in 0u64..1000, gaps in prop::collection::vec(0u64..400, 1..200)
        ) {
            let pacer = NotificationPacer::new(interval);
            let mut state = NotificationState::default();
            let (mut now, mut last) = (0, None);
            for gap in gaps {
                now += gap;
                let allowed = last.is_none_or(|last| now >= last + interval);
                prop_assert_eq!(pacer.is_due(&mut state, now), allowed);
                if allowed {
                    last = Some(now);
                }
            }
        }
    }
}
