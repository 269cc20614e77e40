//! IP fragments of datagrams that are not RoCE, as the first fragment of each says; later ones show no port.

use std::net::IpAddr;

use rdmalab_trace::{Dissection, Network};

/// So many datagrams of others are remembered; fragments of one follow each other closely.
const MOST: usize = 16;

/// What all fragments of a datagram have in common.
type Name = (IpAddr, IpAddr, u8, u32);

/// The last datagrams whose first fragment was seen to be of something else than RoCE.
#[derive(Default)]
pub(super) struct Fragments {
    others: [Option<Name>; MOST],
    next: usize,
}

impl Fragments {
    /// The first fragment of a datagram that is not RoCE.
    pub fn of_others(&mut self, dissection: &Dissection<'_>) {
        let Some(place) = self.others.get_mut(self.next) else { return };
        *place = name(dissection);
        self.next = (self.next + 1) % MOST;
    }

    /// Whether this is a later fragment of such a datagram.
    pub fn are_of_others(&self, dissection: &Dissection<'_>) -> bool {
        let is_later = dissection.fragment().is_some_and(|fragment| fragment.offset > 0);
        is_later && name(dissection).is_some_and(|name| self.others.contains(&Some(name)))
    }
}

fn name(dissection: &Dissection<'_>) -> Option<Name> {
    let fragment = dissection.fragment()?;
    let (source, destination) = match dissection.network.as_ref()? {
        Network::V4 { header, .. } => (header.source.into(), header.destination.into()),
        Network::V6(header) => (header.source.into(), header.destination.into()),
    };
    Some((source, destination, fragment.protocol, fragment.identification))
}
