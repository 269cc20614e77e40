//! What a port wants to know of the link that it is on: whether its peers' neighbours can be reached.
//!
//! The port puts questions here, since it knows no link; the adapter around it has its host look, and tells identifiers of
//! connections what came of it. A port without an adapter asks nobody: over UDP sockets the kernel looks for neighbours.
//!
//! Bounds: [`AHEAD_MAX`] destinations to be looked for ahead, of which those beyond are looked for when packets go there;
//! as many identifiers that wait as there may be at all.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use rdmalab_host::Reach;

use crate::connections::CmId;

/// Destinations that wait to be looked for.
const AHEAD_MAX: usize = 1024;

#[derive(Default)]
pub(crate) struct Inquiries {
    /// Whether somebody answers.
    is_answered: bool,
    ahead: VecDeque<IpAddr>,
    /// Identifiers that wait, each for its peer.
    waiting: BTreeMap<CmId, IpAddr>,
}

impl Inquiries {
    /// From now on, somebody answers.
    pub(crate) fn are_answered(&mut self) {
        self.is_answered = true;
    }

    /// Packets will go there soon.
    pub(crate) fn look_ahead(&mut self, destination: IpAddr) {
        let is_asked = self.ahead.back() == Some(&destination);
        if self.is_answered && !is_asked && self.ahead.len() < AHEAD_MAX {
            self.ahead.push_back(destination);
        }
    }

    /// An identifier wants to know whether its peer can be reached; `false` if nobody can tell.
    pub(crate) fn ask(&mut self, id: CmId, peer: IpAddr) -> bool {
        if self.is_answered {
            self.waiting.insert(id, peer);
            // Asked for even where many are looked for ahead.
            if self.ahead.front() != Some(&peer) {
                self.ahead.push_front(peer);
            }
        }
        self.is_answered
    }

    /// An identifier that waits is gone.
    pub(crate) fn forget(&mut self, id: CmId) {
        self.waiting.remove(&id);
    }

    /// Whether there is something to look for.
    pub(crate) fn is_asking(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// The next destination to look for.
    pub(crate) fn next(&mut self) -> Option<IpAddr> {
        self.ahead.pop_front()
    }

    /// Takes those out that need not wait any more, with what came of it.
    pub(crate) fn answered(&mut self, reach: impl Fn(IpAddr) -> Reach) -> Vec<(CmId, Reach)> {
        let mut answered = Vec::new();
        self.waiting.retain(|id, peer| {
            let came = reach(*peer);
            if came != Reach::Asking {
                answered.push((*id, came));
            }
            came == Reach::Asking
        });
        answered
    }
}
