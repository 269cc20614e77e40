//! A flag that others can wait for: a descriptor that is readable while it is raised.
//!
//! Any thread raises it and any lowers it. Raising it again costs no system call.
//! Invariant: what the raising thread did before is visible to whoever lowers it, and no raise that comes behind a lowering
//! is lost.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;

use crate::NetError;

/// A flag with a descriptor (`poll(2)` tells it as readable while it is raised). Nobody else should read the descriptor.
#[derive(Debug)]
pub struct Signal {
    event: OwnedFd,
    /// The event descriptor is readable, or a thread is about to make it so, or one is taking it.
    raised: AtomicBool,
}

impl Signal {
    /// A flag that is not raised.
    ///
    /// # Errors
    /// [`NetError::System`] when the process has no descriptor left.
    pub fn new() -> Result<Self, NetError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| failed("make an event descriptor", error))?;
        Ok(Self { event, raised: AtomicBool::new(false) })
    }

    /// Raises it.
    pub fn raise(&self) {
        if self.raised.swap(true, Ordering::AcqRel) {
            return;
        }
        loop {
            match rustix::io::write(&self.event, &1u64.to_ne_bytes()) {
                Err(Errno::INTR) => {}
                // The one possible refusal is a full counter, and then the descriptor is readable already.
                _ => return,
            }
        }
    }

    /// Lowers it. Of raises that happen at the same time, the flag may stay raised.
    ///
    /// # Errors
    /// [`NetError::System`].
    pub fn lower(&self) -> Result<(), NetError> {
        // Whatever the flag says, since a raise may be between it and the descriptor. The descriptor is emptied before the flag falls: were it the other way round, a raise in between would be read
        // away here while the flag says that it is still to come.
        let mut count = [0; 8];
        loop {
            match rustix::io::read(&self.event, &mut count) {
                Ok(_) | Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed("read an event descriptor", error)),
            }
        }
        // A swap, not a store: it reads what the last raise wrote, and so sees what that thread did.
        self.raised.swap(false, Ordering::AcqRel);
        Ok(())
    }
}

impl AsFd for Signal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

fn failed(action: &'static str, error: Errno) -> NetError {
    NetError::System { device: "event descriptor".to_owned(), action, source: io::Error::from(error) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Interest, Poller};

    fn is_readable(signal: &Signal) -> bool {
        let mut poller = Poller::new().unwrap();
        poller.wait(signal, Interest::Read, Some(Duration::ZERO)).unwrap().readable
    }

    #[test]
    fn the_descriptor_is_readable_while_the_flag_is_raised() {
        let signal = Signal::new().unwrap();
        for _ in 0..3 {
            assert!(!is_readable(&signal));
            signal.raise();
            signal.raise();
            assert!(is_readable(&signal) && is_readable(&signal));
            signal.lower().unwrap();
            signal.lower().unwrap();
        }
        assert!(!is_readable(&signal));
    }
}
