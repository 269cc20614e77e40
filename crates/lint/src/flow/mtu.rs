//! Which path MTU explains all packets: the five sizes there are, struck out one by one.

use rdmalab_wire::PathMtu;

/// The sizes that are still possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes(u8);

impl Default for Sizes {
    fn default() -> Self {
        Sizes(0b1_1111)
    }
}

impl Sizes {
    /// Keeps the sizes that fit. `false`, and nothing is struck out, if none does.
    pub fn keep(&mut self, mut fits: impl FnMut(u32) -> bool) -> bool {
        let kept = self.iter().filter(|size| fits(*size)).fold(0, |bits, size| bits | bit(size));
        if kept != 0 {
            self.0 = kept;
        }
        kept != 0
    }

    /// The sizes, in bytes.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        PathMtu::ALL.into_iter().map(|size| size.bytes() as u32).filter(move |size| self.0 & bit(*size) != 0)
    }

    /// The fewest and the most PSNs that a READ of so many bytes can take.
    pub fn spans(self, length: u32) -> (u32, u32) {
        let spans = self.iter().map(|size| packets(length, size));
        spans.fold((u32::MAX, 1), |(least, most), span| (least.min(span), most.max(span)))
    }

    /// The size, if only one is left.
    pub fn known(self) -> Option<u32> {
        if self.0.is_power_of_two() { self.iter().next() } else { None }
    }
}

/// 256 is bit 0, 4096 bit 4.
fn bit(size: u32) -> u8 {
    1_u8.checked_shl(size.trailing_zeros().saturating_sub(8)).unwrap_or(0)
}

/// PSNs that a READ takes.
pub(crate) fn packets(length: u32, mtu: u32) -> u32 {
    length.div_ceil(mtu.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_size_is_left_when_packets_tell_which() {
        let mut sizes = Sizes::default();
        assert_eq!(sizes.known(), None);
        assert!(sizes.keep(|size| size >= 544));
        assert_eq!(sizes.iter().collect::<Vec<_>>(), [1024, 2048, 4096]);
        assert!(sizes.keep(|size| packets(20_000, size) == 20));
        assert_eq!(sizes.known(), Some(1024));
        assert!(!sizes.keep(|size| size == 4096));
        assert_eq!(sizes.known(), Some(1024));
    }
}
