//! Ports of RDMA-CM: which are taken, and which comes next when somebody wants any.
//!
//! A port is taken for a listener or a caller by whoever owns that; nothing here knows which. Ports of the ephemeral range
//! that were given back longest ago are used again first.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use core::ops::RangeInclusive;

use rdmalab_wire::mad::PortSpace;

use crate::error::CommandError;

/// The ports of all port spaces of one host.
#[derive(Debug, Clone)]
pub struct Ports {
    ephemeral: RangeInclusive<u16>,
    spaces: BTreeMap<PortSpace, Space>,
}

#[derive(Debug, Clone, Default)]
struct Space {
    taken: BTreeSet<u16>,
    /// How many ports from the start of the range were never handed out.
    begun: u32,
    /// Ports of the range that came back, each once, the oldest first. Some may have been taken by number since.
    back: VecDeque<u16>,
    in_back: BTreeSet<u16>,
}

impl Ports {
    /// The range that Linux hands out ports of by default.
    pub const EPHEMERAL: RangeInclusive<u16> = 32_768..=60_999;

    /// All ports free.
    pub fn new(ephemeral: RangeInclusive<u16>) -> Self {
        Ports { ephemeral, spaces: BTreeMap::new() }
    }

    /// Takes this port, or any of the ephemeral range.
    ///
    /// # Errors
    ///
    /// [`PortInUse`](CommandError::PortInUse), [`NoFreePort`](CommandError::NoFreePort).
    pub fn take(&mut self, space: PortSpace, port: Option<u16>) -> Result<u16, CommandError> {
        let ephemeral = &self.ephemeral;
        let space = self.spaces.entry(space).or_default();
        match port {
            Some(port) if space.taken.insert(port) => Ok(port),
            Some(_) => Err(CommandError::PortInUse),
            None => space.any(ephemeral).ok_or(CommandError::NoFreePort),
        }
    }

    /// Gives a port back; one that is not taken is left alone.
    pub fn release(&mut self, space: PortSpace, port: u16) {
        let Some(space) = self.spaces.get_mut(&space) else { return };
        if space.taken.remove(&port)
            && self.ephemeral.contains(&port)
            && u32::from(port - self.ephemeral.start()) < space.begun
            && space.in_back.insert(port)
        {
            space.back.push_back(port);
        }
    }

    /// Whether somebody has taken the port.
    pub fn is_taken(&self, space: PortSpace, port: u16) -> bool {
        self.spaces.get(&space).is_some_and(|space| space.taken.contains(&port))
    }
}

/// With Linux' ephemeral range.
impl Default for Ports {
    fn default() -> Self {
        Ports::new(Self::EPHEMERAL)
    }
}

impl Space {
    /// Each round uses up one port that is new or came back, so that it costs nothing on average.
    fn any(&mut self, range: &RangeInclusive<u16>) -> Option<u16> {
        loop {
            let new = u32::from(*range.start()) + self.begun;
            let port = if new <= u32::from(*range.end()) {
                self.begun += 1;
                new as u16
            } else {
                let port = self.back.pop_front()?;
                self.in_back.remove(&port);
                port
            };
            if self.taken.insert(port) {
                return Some(port);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const TCP: PortSpace = PortSpace::Tcp;

    #[test]
    fn every_port_of_the_range_is_handed_out_before_one_comes_again() {
        let mut ports = Ports::new(10..=13);
        assert_eq!(ports.take(TCP, Some(11)), Ok(11));
        let given: Vec<_> = (0..3).map(|_| ports.take(TCP, None).unwrap()).collect();
        assert_eq!(given, [10, 12, 13]);
        assert_eq!(ports.take(TCP, None), Err(CommandError::NoFreePort));
        for port in [13, 11, 10] {
            ports.release(TCP, port);
        }
        assert_eq!(ports.take(TCP, Some(11)), Ok(11));
        assert_eq!(ports.take(TCP, None), Ok(13));
        assert_eq!(ports.take(TCP, None), Ok(10));
        assert_eq!(ports.take(TCP, None), Err(CommandError::NoFreePort));
    }

    #[test]
    fn port_is_taken_once_in_each_space() {
        let mut ports = Ports::default();
        assert_eq!(ports.take(TCP, Some(7174)), Ok(7174));
        assert_eq!(ports.take(TCP, Some(7174)), Err(CommandError::PortInUse));
        assert_eq!(ports.take(PortSpace::Udp, Some(7174)), Ok(7174));
        ports.release(TCP, 7174);
        assert!(!ports.is_taken(TCP, 7174));
        assert_eq!(ports.take(TCP, Some(7174)), Ok(7174));
    }

    #[test]
    fn giving_back_again_and_again_makes_nothing_grow() {
        let mut ports = Ports::new(10..=13);
        while ports.take(TCP, None).is_ok() {}
        for _ in 0..1_000 {
            ports.release(TCP, 12);
            ports.release(TCP, 12);
            assert_eq!(ports.take(TCP, Some(12)), Ok(12));
        }
        assert_eq!(ports.spaces[&TCP].back.len(), 1);
        assert_eq!(ports.take(TCP, None), Err(CommandError::NoFreePort));
    }
}
