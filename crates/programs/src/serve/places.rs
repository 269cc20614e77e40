//! Who may come in: no more than there are places, and no address so many that others find none.
//!
//! Invariants: an address has a line here only while it has places; `taken` is the sum of all lines.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// There is no place left.
    All,
    /// The address has as many as it gets while others may come.
    OfOne,
}

impl Full {
    /// For those who are told.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::All => "there are as many clients as are let in (--most-clients)",
            Self::OfOne => "one address gets no more places than it leaves free for others (--most-clients)",
        }
    }
}

/// The places of a program.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    taken: usize,
    by_address: BTreeMap<Option<IpAddr>, usize>,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { most, taken: 0, by_address: BTreeMap::new() }
    }

    /// Takes a place. The first of an address may be the last that is free; of more it must leave as many free as it has.
    pub(super) fn take(&mut self, address: Option<IpAddr>) -> Result<(), Full> {
        let free = self.most.saturating_sub(self.taken);
        if free == 0 {
            return Err(Full::All);
        }
        let own = self.by_address.get(&address).copied().unwrap_or(0);
        if own > 0 && own + 1 > free - 1 {
            return Err(Full::OfOne);
        }
        self.taken += 1;
        self.by_address.insert(address, own + 1);
        Ok(())
    }

    /// Gives one back that was taken.
    pub(super) fn give_back(&mut self, address: Option<IpAddr>) {
        let Some(own) = self.by_address.get_mut(&address) else { return };
        *own -= 1;
        self.taken -= 1;
        if *own == 0 {
            self.by_address.remove(&address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([10, 0, 0, number]))
    }

    /// How many places an address gets that takes all it can.
    fn grab(places: &mut Places, number: u8) -> (usize, Full) {
        let mut count = 0;
        loop {
            match places.take(address(number)) {
                Ok(()) => count += 1,
                Err(full) => return (count, full),
            }
        }
    }

    #[test]
    fn whoever_takes_all_that_it_can_leaves_places_for_others() {
        let mut places = Places::new(512);
        let taken: Vec<usize> = (0..6).map(|number| grab(&mut places, number).0).collect();
        assert_eq!(taken, [256, 128, 64, 32, 16, 8]);
        assert_eq!(grab(&mut places, 0), (0, Full::OfOne));
        assert_eq!(places.taken, 504);
    }

    #[test]
    fn the_last_place_goes_to_somebody_new_and_then_all_are_taken() {
        let mut places = Places::new(2);
        assert_eq!(grab(&mut places, 1), (1, Full::OfOne));
        assert_eq!(grab(&mut places, 2), (1, Full::All));
        let mut one = Places::new(1);
        assert_eq!(grab(&mut one, 1), (1, Full::All));
    }

    #[test]
    fn places_that_are_given_back_can_be_taken_again_and_leave_nothing_behind() {
        let mut places = Places::new(8);
        for _ in 0..100 {
            assert_eq!(grab(&mut places, 1).0, 4);
            (0..4).for_each(|_| places.give_back(address(1)));
        }
        places.give_back(address(1));
        assert_eq!((places.taken, places.by_address.len()), (0, 0));
    }
}
