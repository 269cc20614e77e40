//! Two adapters and a simulated link between them, in virtual time.

use rdmalab_host::ConfigError;
use rdmalab_sim::{Clock, End, Explanation, Link, LinkConfig, PerEnd, Report, RuleSet};

use crate::adapter::{Adapter, AdapterConfig, Progress};

/// Bytes that may wait in front of the link before an adapter holds its frames back, as a full transmit ring does.
const RING: usize = 256 * 1024;

/// What a [`Network`] is made of.
pub struct NetworkConfig {
    /// The adapters at the two ends.
    pub adapters: PerEnd<AdapterConfig>,
    /// Delay, rate and queues of the link.
    pub link: LinkConfig,
    /// What the link does to frames.
    pub rules: RuleSet,
}

/// A frame that an adapter put on the link.
pub struct Passage<'a> {
    /// When, in nanoseconds.
    pub now: u64,
    /// What becomes of it.
    pub report: Report,
    /// Why, in words.
    pub reason: Explanation<'a>,
    /// The frame, from its Ethernet header on, as it was sent.
    pub frame: &'a [u8],
}

/// A frame that the link brought to an adapter.
pub struct Arrival<'a> {
    /// When, in nanoseconds.
    pub now: u64,
    /// Whose adapter.
    pub to: End,
    /// The frame, as it arrived: marked or damaged if the rules had it so.
    pub frame: &'a [u8],
}

/// Two adapters on one link.
///
/// Time passes only in [`step`](Self::step), from one event to the next. Everything that happens follows from the seeds
/// of the rules and of the hosts, so two runs are the same to the byte.
pub struct Network {
    adapters: PerEnd<Adapter>,
    link: Link,
    clock: Clock,
}

impl Network {
    /// A network at time 0 in which nothing has been sent.
    pub fn new(config: NetworkConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            adapters: PerEnd { a: Adapter::new(&config.adapters.a)?, b: Adapter::new(&config.adapters.b)? },
            link: Link::new(config.link, config.rules),
            clock: Clock::new(),
        })
    }

    /// The time, in nanoseconds since the start.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The adapter at one end.
    pub fn adapter(&mut self, end: End) -> &mut Adapter {
        match end {
            End::A => &mut self.adapters.a,
            End::B => &mut self.adapters.b,
        }
    }

    /// The link, for its counts and rules.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Sends all that can be sent now, then goes on to the next event, unless that lies behind `until`; `false` if
    /// there is none before. `watch` sees each frame as it is sent.
    pub fn step(&mut self, until: u64, watch: impl FnMut(&Passage<'_>)) -> bool {
        self.step_watched(until, watch, |_| {})
    }

    /// As [`step`](Self::step); `arrive` sees each frame as it arrives, before the adapter does.
    pub fn step_watched(
        &mut self,
        until: u64,
        mut watch: impl FnMut(&Passage<'_>),
        mut arrive: impl FnMut(&Arrival<'_>),
    ) -> bool {
        let wakes = [End::A, End::B].map(|end| self.send(end, &mut watch));
        let next = wakes.into_iter().flatten().chain(self.link.next_arrival()).min();
        let Some(next) = next.filter(|&next| next <= until) else { return false };
        self.clock.advance_to(next);
        let now = self.clock.now();
        while let Some(delivery) = self.link.receive(now) {
            arrive(&Arrival { now, to: delivery.to, frame: delivery.frame });
            match delivery.to {
                End::A => self.adapters.a.handle_frame(now, delivery.frame),
                End::B => self.adapters.b.handle_frame(now, delivery.frame),
            }
        }
        self.adapters.a.handle_timeout(now);
        self.adapters.b.handle_timeout(now);
        true
    }

    /// Lets time pass up to `until`, so that the application can do something then that nothing else brings about. What is
    /// due before comes first: call it when [`step`](Self::step) has found nothing before `until`.
    pub fn wait(&mut self, until: u64) {
        self.clock.advance_to(until);
    }

    /// Sends what one end has to send; returns when it wants to be called again.
    fn send(&mut self, end: End, watch: &mut impl FnMut(&Passage<'_>)) -> Option<u64> {
        let now = self.clock.now();
        let Self { adapters, link, .. } = self;
        let adapter = match end {
            End::A => &mut adapters.a,
            End::B => &mut adapters.b,
        };
        let Ok(progress) = adapter.transmit(now, |frame| {
            if link.busy_until(now, end, RING).is_some() {
                return Ok(false);
            }
            let report = link.send(now, end, frame);
            let reason = link.rules().explain(&report.judgement);
            watch(&Passage { now, report, reason, frame });
            Ok::<_, core::convert::Infallible>(true)
        });
        match progress {
            // Timers that run out while the link is busy can wait for it: they, too, only make frames.
            Progress::Blocked => link.busy_until(now, end, RING),
            Progress::Done | Progress::More => adapter.next_timeout(now),
        }
    }
}
