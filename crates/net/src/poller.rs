//! Waiting: for a device, for another thread, or for a moment, whichever comes first.
//!
//! One thread owns the [`Poller`]; any number of others hold [`Waker`]s. Invariant: after [`Waker::wake`]
//! returns, the owner's current or next wait ends, and everything the waking thread did before it is
//! visible to the owner then. Wakes that nobody has waited for yet fold into one, so that waking a busy
//! thread costs no system call.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::{MonotonicClock, NetError, Signal};

/// What to wait for on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// That it has a frame for us.
    Read,
    /// That it has a frame for us, or takes one again after a send would have blocked.
    ReadOrWrite,
    /// That it takes something again, whatever it has for us.
    Write,
}

/// Why a wait ended. Nothing set: the time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ready {
    /// The device has a frame, or an error to tell: read from it.
    pub readable: bool,
    /// The device takes a frame.
    pub writable: bool,
    /// A [`Waker`] was used.
    pub woken: bool,
}

/// Waits on behalf of one thread.
#[derive(Debug)]
pub struct Poller {
    signal: Arc<Signal>,
}

/// Ends the wait of the [`Poller`] it came from, from any thread.
#[derive(Debug, Clone)]
pub struct Waker {
    signal: Arc<Signal>,
}

impl Poller {
    /// A poller with its event descriptor.
    ///
    /// # Errors
    /// [`NetError::System`] when the process has no descriptor left.
    pub fn new() -> Result<Self, NetError> {
        Ok(Self { signal: Arc::new(Signal::new()?) })
    }

    /// A handle for another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        Waker { signal: Arc::clone(&self.signal) }
    }

    /// Waits until `device` is ready, a [`Waker`] is used, or `timeout` has passed (`None`: for ever;
    /// zero: look and return). The timeout has a resolution of one nanosecond, the kernel's timers are as
    /// late as the thread's timer slack allows (see [`use_precise_timers`]).
    ///
    /// # Errors
    /// [`NetError::System`].
    pub fn wait(
        &mut self,
        device: &impl AsFd,
        interest: Interest,
        timeout: Option<Duration>,
    ) -> Result<Ready, NetError> {
        self.wait_for(Some((device.as_fd(), interest)), None, timeout)
    }

    /// As [`wait`](Self::wait), and ends when `beside` is readable, too, of which [`Ready`] says nothing.
    ///
    /// # Errors
    /// [`NetError::System`].
    pub fn wait_beside(
        &mut self,
        device: &impl AsFd,
        interest: Interest,
        beside: &impl AsFd,
        timeout: Option<Duration>,
    ) -> Result<Ready, NetError> {
        self.wait_for(Some((device.as_fd(), interest)), Some(beside.as_fd()), timeout)
    }

    /// Waits until a [`Waker`] is used or `timeout` has passed.
    ///
    /// # Errors
    /// [`NetError::System`].
    pub fn wait_for_wake(&mut self, timeout: Option<Duration>) -> Result<Ready, NetError> {
        self.wait_for(None, None, timeout)
    }

    fn wait_for(
        &mut self,
        device: Option<(BorrowedFd<'_>, Interest)>,
        beside: Option<BorrowedFd<'_>>,
        timeout: Option<Duration>,
    ) -> Result<Ready, NetError> {
        // A moment beyond u64 nanoseconds is "for ever".
        let deadline = timeout
            .and_then(|timeout| u64::try_from(timeout.as_nanos()).ok())
            .and_then(|timeout| MonotonicClock::now().checked_add(timeout));
        let event = PollFd::new(&*self.signal, PollFlags::IN);
        let watch = |device, flags| PollFd::from_borrowed_fd(device, flags);
        let first = match device {
            Some((device, Interest::Read)) => watch(device, PollFlags::IN),
            Some((device, Interest::ReadOrWrite)) => watch(device, PollFlags::IN | PollFlags::OUT),
            Some((device, Interest::Write)) => watch(device, PollFlags::OUT),
            None => event.clone(),
        };
        let second = beside.map_or(event.clone(), |beside| watch(beside, PollFlags::IN));
        let mut descriptors = [event, first, second];
        let count = 1 + usize::from(device.is_some()) + usize::from(beside.is_some());
        let mut left = deadline.and(timeout);
        loop {
            let limit = left.map(timespec);
            match poll(&mut descriptors[..count], limit.as_ref()) {
                Ok(_) => break,
                // A signal handler ran: wait for the rest of the time.
                Err(Errno::INTR) => {
                    left = deadline.map(|at| Duration::from_nanos(at.saturating_sub(MonotonicClock::now())));
                }
                Err(error) => return Err(failed("wait for events", error)),
            }
        }
        let mut ready = Ready::default();
        if !descriptors[0].revents().is_empty() {
            self.signal.lower()?;
            ready.woken = true;
        }
        if device.is_some() {
            let events = descriptors[1].revents();
            let broken = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
            ready.readable = events.intersects(PollFlags::IN | broken);
            ready.writable = events.contains(PollFlags::OUT);
        }
        Ok(ready)
    }
}

impl Waker {
    /// Ends the poller's current wait, or its next one if it is not waiting.
    pub fn wake(&self) {
        self.signal.raise();
    }
}

/// Lets the calling thread's timers fire on time instead of up to 50 microseconds late, which is what Linux
/// allows itself to save power (the timer slack of `prctl(2)`).
///
/// # Errors
/// [`NetError::System`].
pub fn use_precise_timers() -> Result<(), NetError> {
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))
        .map_err(|error| failed("set the timer slack", error))
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

fn failed(action: &'static str, error: Errno) -> NetError {
    NetError::System { device: "poller".to_owned(), action, source: io::Error::from(error) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    /// So long that a test which waits for it has failed.
    const FOR_EVER: Option<Duration> = Some(Duration::from_secs(60));

    #[test]
    fn wake_before_the_wait_ends_it_at_once_and_only_once() {
        let mut poller = Poller::new().unwrap();
        let waker = poller.waker();
        waker.wake();
        waker.wake();
        assert!(poller.wait_for_wake(FOR_EVER).unwrap().woken);
        assert_eq!(poller.wait_for_wake(Some(Duration::ZERO)).unwrap(), Ready::default());
        waker.wake();
        assert!(poller.wait_for_wake(FOR_EVER).unwrap().woken, "a wake after a wake is not lost");
    }

    #[test]
    fn timeout_ends_the_wait_no_sooner_than_asked() {
        let mut poller = Poller::new().unwrap();
        for nanoseconds in [1, 999, 20_000, 1_500_000] {
            let start = MonotonicClock::now();
            let ready = poller.wait_for_wake(Some(Duration::from_nanos(nanoseconds))).unwrap();
            assert_eq!(ready, Ready::default());
            assert!(MonotonicClock::now() - start >= nanoseconds);
        }
    }

    #[test]
    fn device_is_told_readable_and_writable_as_asked() {
        let mut poller = Poller::new().unwrap();
        let device = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let now = Some(Duration::ZERO);
        assert_eq!(poller.wait(&device, Interest::Read, now).unwrap(), Ready::default());
        let ready = poller.wait(&device, Interest::ReadOrWrite, FOR_EVER).unwrap();
        assert_eq!(ready, Ready { writable: true, ..Ready::default() });
        rustix::io::write(&device, &1u64.to_ne_bytes()).unwrap();
        poller.waker().wake();
        let ready = poller.wait(&device, Interest::Read, FOR_EVER).unwrap();
        assert_eq!(ready, Ready { readable: true, writable: false, woken: true });
    }

    #[test]
    fn a_second_device_ends_the_wait_and_is_not_taken_for_the_first() {
        let mut poller = Poller::new().unwrap();
        let new = || eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let (device, beside) = (new(), new());
        let mut wait = |limit| poller.wait_beside(&device, Interest::Read, &beside, limit).unwrap();
        assert_eq!(wait(Some(Duration::ZERO)), Ready::default());
        rustix::io::write(&beside, &1u64.to_ne_bytes()).unwrap();
        let begun = MonotonicClock::now();
        assert_eq!(wait(FOR_EVER), Ready::default());
        assert!(MonotonicClock::now() - begun < 30_000_000_000, "it waited for the first");
        rustix::io::write(&device, &1u64.to_ne_bytes()).unwrap();
        assert!(wait(FOR_EVER).readable);
    }

    #[test]
    fn a_descriptor_whose_other_end_is_closed_is_readable() {
        let mut poller = Poller::new().unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        drop(theirs);
        assert!(poller.wait(&ours, Interest::Read, FOR_EVER).unwrap().readable);
    }

    #[test]
    fn an_endless_timeout_does_not_overflow() {
        let mut poller = Poller::new().unwrap();
        poller.waker().wake();
        assert!(poller.wait_for_wake(Some(Duration::MAX)).unwrap().woken);
        poller.waker().wake();
        assert!(poller.wait_for_wake(None).unwrap().woken);
    }

    #[test]
    fn no_wake_of_many_threads_is_lost() {
        const THREADS: u64 = 4;
        const EACH: u64 = 20_000;
        let mut poller = Poller::new().unwrap();
        let posted = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                let waker = poller.waker();
                let posted = &posted;
                scope.spawn(move || {
                    for _ in 0..EACH {
                        posted.fetch_add(1, Ordering::Relaxed);
                        waker.wake();
                    }
                });
            }
            // Sleeps after every look: a lost wake at the end would leave this waiting.
            while posted.load(Ordering::Relaxed) < THREADS * EACH {
                assert!(poller.wait_for_wake(FOR_EVER).unwrap().woken, "a wake was lost");
            }
        });
    }

    #[test]
    fn precise_timers_can_be_had() {
        use_precise_timers().unwrap();
    }
}
