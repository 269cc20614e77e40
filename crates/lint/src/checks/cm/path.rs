//! Alternate paths, to which a connection may migrate: one that a REQ offers and its REP takes, or a LAP and its APR. What comes of
//! it is known to the table of flows: over a path that was taken the same flow goes on, over one that was not there is to be none.

use rdmalab_wire::mad::{ApStatus, Apr, Lap};
use rdmalab_wire::{Address, Gid, Qpn};

use super::Connections;
use super::again::Message;
use crate::finding::Findings;
use crate::packet::{FlowKey, Seen};
use crate::rules::RuleId;

/// Two ends, who called first, and their queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub ends: [Address; 2],
    pub queue_pairs: [Qpn; 2],
}

impl Route {
    /// The flows of both directions, the requests of who called first.
    pub fn flows(&self) -> [FlowKey; 2] {
        let ([caller, called], [caller_pair, called_pair]) = (self.ends, self.queue_pairs);
        [
            FlowKey { source: caller, destination: called, queue_pair: called_pair },
            FlowKey { source: called, destination: caller, queue_pair: caller_pair },
        ]
    }
}

/// The ends of a path, as packets like those of an address name them. `None` if there is none.
pub(super) fn ends_like(address: Address, lids: [u16; 2], gids: [Gid; 2]) -> Option<[Address; 2]> {
    let has_gids = gids.iter().all(|gid| *gid != Gid::default());
    match address {
        Address::Ip(_) => has_gids.then(|| gids.map(|gid| Address::Ip(gid.to_ip()))),
        Address::Gid(_) => has_gids.then(|| gids.map(Address::Gid)),
        Address::Lid(_) => lids.iter().all(|lid| *lid != 0).then(|| lids.map(Address::Lid)),
    }
}

/// A path beside the one in use, and whether both sides take it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alternate {
    pub primary: Route,
    pub offered: Route,
    pub is_taken: bool,
    pub frames: [u64; 2],
}

/// A path that a LAP offers.
pub(super) struct Offer {
    /// `None` where it names none.
    ends: Option<[Address; 2]>,
    frame: u64,
}

impl Connections {
    /// A path is offered.
    pub(super) fn offer(&mut self, lap: &Lap, message: &Message, seen: &Seen<'_>, findings: &mut Findings) {
        let ids = (lap.local_communication_id, lap.remote_communication_id);
        let Some((call, by_caller)) = self.either_way(ids, message, seen, findings) else { return };
        let Some(connection) = self.calls.get_mut(&call) else { return };
        // The queue pair of the one who is asked.
        let pair = if by_caller { connection.called_pair } else { Some(connection.req.local_qpn) };
        let frame = connection.answered.map_or(connection.frame, |(_, frame)| frame);
        if let Some(pair) = pair.filter(|pair| *pair != lap.remote_qpn) {
            findings.add(RuleId::CmAlternate, None, &[seen.frame, frame], || {
                format!("the LAP is for the queue pair {}, that of the connection is {pair}", lap.remote_qpn)
            });
        }
        let lids = [lap.local_lid, lap.remote_lid];
        let mut ends = ends_like(seen.key.source, lids, [lap.local_gid, lap.remote_gid]);
        if let (Some(ends), false) = (&mut ends, by_caller) {
            ends.reverse();
        }
        let [by_calling, by_called] = &mut connection.offers;
        let place = if by_caller { by_calling } else { by_called };
        *place = Some(Offer { ends, frame: seen.frame });
    }

    /// A path is taken, or not.
    pub(super) fn judge(
        &mut self,
        apr: &Apr,
        message: &Message,
        seen: &Seen<'_>,
        findings: &mut Findings,
    ) -> Option<Alternate> {
        let ids = (apr.local_communication_id, apr.remote_communication_id);
        let (call, by_caller) = self.either_way(ids, message, seen, findings)?;
        let connection = self.calls.get_mut(&call)?;
        let [by_calling, by_called] = &mut connection.offers;
        let (asked, own) = if by_caller { (by_called, by_calling) } else { (by_calling, by_called) };
        let Some(offer) = asked.take() else {
            // A LAP that the capture missed may have been answered. But who has asked is the one who waits for an answer.
            if let Some(own) = own.as_ref().filter(|own| own.frame + 1 < seen.frame) {
                findings.add(RuleId::CmAlternate, None, &[seen.frame, own.frame], || {
                    "the APR comes from the side that sent the LAP".to_owned()
                });
            }
            return None;
        };
        let queue_pairs = [connection.req.local_qpn, connection.called_pair?];
        let (caller, called, _) = call;
        Some(Alternate {
            primary: Route { ends: [caller, called], queue_pairs },
            offered: Route { ends: offer.ends?, queue_pairs },
            is_taken: apr.status == ApStatus::SUCCESS,
            frames: [offer.frame, seen.frame],
        })
    }
}
