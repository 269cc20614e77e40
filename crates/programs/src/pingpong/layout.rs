//! Where the messages of a game lie in the one region that it has.

use super::kind::Kind;

/// Bytes in front of a received datagram, for its network header.
const NETWORK_HEADER: u32 = 40;

/// Where messages lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// As in the real programs, all are received into one buffer and sent from it: there is only one message on its way.
    One {
        /// Bytes in front of a received message.
        header: u32,
    },
    /// With several queue pairs each receive has a place of its own, and behind those each queue pair one to send from.
    Many {
        /// Receives.
        receives: u32,
    },
}

impl Layout {
    /// That of a kind with so many receives.
    pub(super) fn of(kind: Kind, receives: u32) -> Self {
        match kind {
            Kind::Srq => Self::Many { receives },
            Kind::Ud => Self::One { header: NETWORK_HEADER },
            Kind::Rc | Kind::Uc => Self::One { header: 0 },
        }
    }

    /// Bytes of all places.
    pub(super) fn length(self, size: u32, queue_pairs: u32) -> u64 {
        match self {
            Self::One { header } => u64::from(header) + u64::from(size),
            Self::Many { receives } => (u64::from(receives) + u64::from(queue_pairs)) * u64::from(size),
        }
    }

    /// Where a receive begins, with the network header.
    pub(super) fn receive(self, size: u32, number: u32) -> u64 {
        match self {
            Self::One { .. } => 0,
            Self::Many { .. } => u64::from(number) * u64::from(size),
        }
    }

    /// Bytes of the network header in front of a received message.
    pub(super) fn header(self) -> u32 {
        match self {
            Self::One { header } => header,
            Self::Many { .. } => 0,
        }
    }

    /// Whether what is received lies where it is sent from.
    pub(super) fn is_one(self) -> bool {
        matches!(self, Self::One { .. })
    }

    /// Where a queue pair's message is sent from.
    pub(super) fn send(self, size: u32, queue_pair: usize) -> u64 {
        match self {
            Self::One { header } => u64::from(header),
            Self::Many { receives } => (u64::from(receives) + queue_pair as u64) * u64::from(size),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_many_queue_pairs_do_not_overlap() {
        let layout = Layout::of(Kind::Srq, 5);
        let receives = (0..5).map(|number| layout.receive(100, number));
        let places: Vec<u64> = receives.chain((0..3).map(|place| layout.send(100, place))).collect();
        assert_eq!(places, [0, 100, 200, 300, 400, 500, 600, 700]);
        assert_eq!(layout.length(100, 3), 800);
    }

    #[test]
    fn a_datagram_is_sent_from_behind_its_network_header() {
        let layout = Layout::of(Kind::Ud, 9);
        assert_eq!((layout.receive(2048, 7), layout.send(2048, 0)), (0, 40));
        assert_eq!(layout.length(2048, 1), 2088);
    }
}
