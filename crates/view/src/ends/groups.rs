//! Groups of things that are on one of two sides each: of any two of a group it is known whether they are on the same side.

/// All groups; at first each thing is one of its own.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// Of each the one above it, up to the first of its group, which is above itself, and whether the two are on opposite sides.
    above: Vec<(u32, bool)>,
}

impl Groups {
    /// One more.
    pub(super) fn add(&mut self) -> u32 {
        // At most some for each packet.
        let next = self.above.len() as u32;
        self.above.push((next, false));
        next
    }

    /// The first of a group, and whether one of it is on the side opposite to the first.
    pub(super) fn first(&mut self, one: u32) -> (u32, bool) {
        let above = |at: u32| self.above.get(at as usize).copied().filter(|(above, _)| *above != at);
        let (mut first, mut is_opposite) = (one, false);
        while let Some((next, turns)) = above(first) {
            first = next;
            is_opposite ^= turns;
        }
        // From now on the way is short.
        let (mut at, mut rest) = (one, is_opposite);
        while at != first {
            let Some(above) = self.above.get_mut(at as usize) else { break };
            let (next, turns) = std::mem::replace(above, (first, rest));
            at = next;
            rest ^= turns;
        }
        (first, is_opposite)
    }

    /// Two are on opposite sides, or on the same: makes one group of theirs. `false` if that contradicts what is known.
    pub(super) fn join(&mut self, one: u32, other: u32, are_opposite: bool) -> bool {
        let ((first, turns), (second, other_turns)) = (self.first(one), self.first(other));
        if first == second {
            return turns ^ other_turns == are_opposite;
        }
        if let Some(above) = self.above.get_mut(second as usize) {
            *above = (first, turns ^ other_turns ^ are_opposite);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_some_is_known_of_all_of_a_group() {
        let mut groups = Groups::default();
        let [a, b, c, d, e] = [(); 5].map(|()| groups.add());
        assert!(groups.join(a, b, true) && groups.join(c, d, true) && groups.join(b, c, false));
        assert!(groups.join(a, d, false), "opposite to what is opposite");
        assert!(!groups.join(a, c, false), "a contradiction");
        assert!(!groups.join(a, a, true));
        assert_ne!(groups.first(e).0, groups.first(a).0);
        // Long chains become short ones, and say the same.
        let many: Vec<u32> = (0..1_000).map(|_| groups.add()).collect();
        assert!(many.windows(2).all(|pair| groups.join(pair[1], pair[0], true)));
        let (_, zero) = groups.first(many[0]);
        assert!((0..1_000).all(|at| groups.first(many[at]).1 ^ zero == (at % 2 == 1)));
    }
}
