//! Credits: who receives SENDs over iWARP tells their sender how many it has taken.
//!
//! Over RoCE a message that finds no receive is sent again later; over iWARP it ends the connection. So the real programs
//! agree there, for a bandwidth of SENDs, that a sender has fewer messages under way than the receiver has receives. The
//! receiver WRITEs a count of four bytes, the least significant first, to the address that the sender has told for its
//! queue pair: the number of messages that came over it in this test. Seen of `ib_send_bw` 4.5 with siw: after each third of its
//! receives, and once more at the end; its sender stops one short of its receives without a credit.

use rdmalab_device::{Operation as Work, RemoteAddress, SendFlags, SendRequest, Transport};

use super::error::PerfError;
use super::options::{Measure, Operation, Options};
use super::requests;
use super::session::Session;

/// Bytes for each queue pair: what is granted to us, and what we grant.
const BYTES: u64 = 8;
/// Bytes of a count.
const COUNT: u32 = 4;

/// Whether credits are due in a test.
pub(super) fn are_due(options: &Options, transport: Transport) -> bool {
    transport == Transport::Iwarp
        && options.operation == Operation::Send
        && matches!(options.measure, Measure::Bandwidth)
}

/// Where credits are in the region of a [`Session`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Credits {
    start: u64,
}

impl Credits {
    /// They begin behind all areas, on a multiple of four bytes.
    pub(super) fn new(areas: u64) -> Self {
        Self { start: areas.next_multiple_of(COUNT.into()) }
    }

    /// Bytes of all of them, behind areas of any length.
    pub(super) fn needed(queue_pairs: u32) -> u64 {
        u64::from(queue_pairs) * BYTES + u64::from(COUNT)
    }

    /// Where the peer writes what it grants.
    pub(super) fn granted(self, queue_pair: usize) -> u64 {
        self.start + queue_pair as u64 * BYTES
    }

    /// From where we write what we grant.
    fn ours(self, queue_pair: usize) -> u64 {
        self.granted(queue_pair) + u64::from(COUNT)
    }
}

impl Session {
    /// The count that a queue pair's peer has written, if there are credits.
    pub(super) fn credit(&self, queue_pair: usize) -> Option<u32> {
        let place = self.credits?.granted(queue_pair);
        let mut bytes = [0; COUNT as usize];
        // The region holds all credits.
        let _ = self.memory.read(place as usize, &mut bytes);
        Some(u32::from_le_bytes(bytes))
    }

    /// Begins a test without credit.
    pub(super) fn forget_credit(&self, queue_pair: usize) {
        if let Some(credits) = self.credits {
            let _ = self.memory.write(credits.granted(queue_pair) as usize, &[0; COUNT as usize]);
        }
    }

    /// Tells a queue pair's peer that so many of its messages have come.
    pub(super) fn grant(&self, queue_pair: usize, received: u64) -> Result<(), PerfError> {
        let Some(credits) = self.credits else { return Ok(()) };
        let place = credits.ours(queue_pair);
        // Counts begin again behind the largest.
        let _ = self.memory.write(place as usize, &(received as u32).to_le_bytes());
        let RemoteAddress { address, key } = self.remote(queue_pair, 0);
        self.queue_pairs[queue_pair].post_send(&SendRequest {
            id: requests::credit_id(queue_pair),
            operation: Work::RdmaWrite(RemoteAddress { address, key }),
            elements: &[self.memory.element(place, COUNT)],
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        })?;
        Ok(())
    }
}

/// The credits of one queue pair, both ways.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// How many receives each side has.
    depth: u64,
    granted: u64,
    told: u64,
    /// Whether a count of ours is under way; the memory that it is read from has to rest until then.
    pub(super) is_told: bool,
}

impl Account {
    pub(super) fn new(depth: u32) -> Self {
        Self { depth: depth.into(), granted: 0, told: 0, is_told: false }
    }

    /// The peer has written a count. Whether that grants us anything, who have posted so many messages; nobody can grant
    /// more.
    pub(super) fn is_granted(&mut self, count: u32, posted: u64) -> bool {
        let more = u64::from(count.wrapping_sub(self.granted as u32));
        let is_more = more > 0 && more <= posted - self.granted;
        if is_more {
            self.granted += more;
        }
        is_more
    }

    /// How many messages may have been posted.
    pub(super) fn most(&self) -> u64 {
        self.granted + (self.depth - 1).max(1)
    }

    /// Whether the peer has to be told of so many messages. If so, it counts as told.
    pub(super) fn is_due(&mut self, received: u64) -> bool {
        let is_due = !self.is_told && received >= self.told + (self.depth / 3).max(1);
        if is_due {
            (self.told, self.is_told) = (received, true);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_after_each_third_one_at_a_time() {
        let mut account = Account::new(20);
        assert!(!account.is_due(5) && account.is_due(6));
        // It is under way.
        assert!(!account.is_due(12));
        account.is_told = false;
        assert!(account.is_due(13) && account.told == 13);
    }

    #[test]
    fn nobody_grants_more_than_was_sent_and_counts_begin_again() {
        let mut account = Account::new(20);
        assert_eq!(account.most(), 19);
        assert!(!account.is_granted(20, 19) && !account.is_granted(0, 19));
        assert!(account.is_granted(6, 19) && account.most() == 25);
        assert!(!account.is_granted(5, 25));
        account.granted = u64::from(u32::MAX);
        assert!(account.is_granted(4, (1 << 32) + 10) && account.granted == (1 << 32) + 4);
    }

    #[test]
    fn credits_lie_behind_all_areas_side_by_side() {
        let credits = Credits::new(1001);
        assert_eq!((credits.granted(0), credits.granted(3), credits.ours(3)), (1004, 1028, 1032));
        assert!(credits.ours(3) + 4 <= 1001 + Credits::needed(4));
    }
}
