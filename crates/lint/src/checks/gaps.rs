//! Requests that are not in the capture though later ones are: told when it is certain that they are not merely late.

use crate::flow::gaps::Missing;
use crate::flow::{Flow, Out};
use crate::reason::Reason;
use crate::rules::RuleId;

impl Flow {
    /// What is missing and would have come by now was lost.
    pub(super) fn settle_gaps(&mut self, out: &mut Out<'_>) {
        while let Some(missing) =
            self.requests.as_mut().and_then(|requests| requests.gaps.take_settled(requests.next))
        {
            self.is_lost(missing, out);
        }
    }

    /// What is missing was lost.
    pub(super) fn gaps_are_lost(&mut self, out: &mut Out<'_>) {
        while let Some(missing) = self.requests.as_mut().and_then(|requests| requests.gaps.take()) {
            self.is_lost(missing, out);
        }
    }

    fn is_lost(&mut self, Missing { from, to, frame }: Missing, out: &mut Out<'_>) {
        if self.broken == Some(from) && to.distance(from) == 1 {
            return;
        }
        self.doubt(Reason::LostAhead);
        out.find(RuleId::MissingRequests, &[frame], || match to.distance(from) {
            1 => format!("psn {from} is not in the capture"),
            _ => format!("psn {from} to {} are not in the capture", to.sub(1)),
        });
    }
}
