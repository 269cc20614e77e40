//! PSNs that no packet has brought, though later ones are here. They may yet come, late; so nothing is said of them until it is certain
//! that they were lost: the requester goes back, or the responder has answered for them, or too much has come since.

use rdmalab_wire::Psn;

/// Gaps that are kept; the oldest make room.
const MOST: usize = 16;
/// Behind a gap by so many PSNs nothing is late any more.
const FAR: i32 = 1024;

/// PSNs that are missing, and the frame that showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub from: Psn,
    /// Behind the last one.
    pub to: Psn,
    pub frame: u64,
}

/// Those of a flow, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps(Vec<Missing>);

impl Gaps {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn open(&mut self, missing: Missing) {
        self.0.push(missing);
    }

    /// The oldest gap, if there are too many, or if requests have gone on from it as far as this PSN.
    pub fn take_settled(&mut self, next: Psn) -> Option<Missing> {
        let is_far = |missing: &Missing| next.distance(missing.to) > FAR;
        (self.0.len() > MOST || self.0.first().is_some_and(is_far)).then(|| self.0.remove(0))
    }

    /// The oldest gap.
    pub fn take(&mut self) -> Option<Missing> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    /// What takes so many PSNs from this one on came, late.
    pub fn came(&mut self, psn: Psn, span: u32) {
        let holds = |missing: &Missing| psn.distance(missing.from) >= 0 && psn.distance(missing.to) < 0;
        let Some(at) = self.0.iter().position(holds) else { return };
        let missing = self.0.remove(at);
        let behind = Missing { from: psn.add(span), ..missing };
        let in_front = Missing { to: psn, ..missing };
        for part in [behind, in_front].into_iter().filter(|part| part.to.distance(part.from) > 0) {
            self.0.insert(at, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_is_missing_no_more() {
        let missing = |from, to| Missing { from: Psn::new(from), to: Psn::new(to), frame: 1 };
        let mut gaps = Gaps::default();
        gaps.open(missing(10, 13));
        gaps.came(Psn::new(11), 1);
        gaps.came(Psn::new(13), 1);
        assert_eq!(gaps.0, [missing(10, 11), missing(12, 13)]);
        gaps.came(Psn::new(10), 1);
        assert_eq!(gaps.take_settled(Psn::new(1000)), None);
        assert_eq!(gaps.take_settled(Psn::new(1038)), Some(missing(12, 13)));
        assert!(gaps.is_empty());
        // There are never many.
        for psn in (100..200).step_by(2) {
            gaps.open(missing(psn, psn + 1));
            gaps.take_settled(Psn::new(psn + 2));
        }
        assert_eq!(gaps.0.len(), MOST);
    }
}
