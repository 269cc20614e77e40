//! What the programs share whose two sides meet by TCP: which of our addresses their queue pairs have, and when to leave.

use std::net::IpAddr;
use std::time::Duration;

use rdmalab_device::{CompletionStatus, Device};

/// The GID table has no such entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the GID table has {entries} entries, there is none with index {index}")]
pub struct NoSuchGid {
    /// The index asked for.
    pub index: usize,
    /// How many there are.
    pub entries: usize,
}

/// The entry of the GID table that was asked for, or the first of the peer's family that is not link-local; without one,
/// the first. With its index.
pub(crate) fn own_gid(
    device: &Device,
    index: Option<usize>,
    peer: Option<IpAddr>,
) -> Result<(usize, IpAddr), NoSuchGid> {
    let gids = device.gids();
    let fits = |gid: &IpAddr| {
        let link_local = matches!(gid, IpAddr::V6(gid) if gid.is_unicast_link_local());
        !link_local && peer.is_none_or(|peer| peer.is_ipv4() == gid.is_ipv4())
    };
    let index = index.unwrap_or_else(|| gids.iter().position(fits).unwrap_or(0));
    gids.get(index).map(|&gid| (index, gid)).ok_or(NoSuchGid { index, entries: gids.len() })
}

/// Stays, with the queue pairs, until nothing has come for a while: the peer may not know yet that all has arrived.
pub(crate) fn stay(device: &Device, quiet: Duration) {
    /// In the end the peer has to see for itself.
    const MOST: u32 = 10;
    let mut seen = device.counters().rcvd_pkts;
    for _ in 0..MOST {
        std::thread::sleep(quiet);
        let now = device.counters().rcvd_pkts;
        if now == seen {
            return;
        }
        seen = now;
    }
}

/// What a request that failed may mean, since nothing in the exchanges says what the peer was started for.
pub(crate) fn hint(status: CompletionStatus) -> &'static str {
    match status {
        CompletionStatus::RemoteAccessError => {
            "the peer's memory is smaller, or not open for this: was it started for another test or size (-s)?"
        }
        CompletionStatus::RemoteInvalidRequest | CompletionStatus::LocalLengthError => {
            "was the peer started for another size (-s) or path MTU (-m), or another test?"
        }
        CompletionStatus::RetryExceeded => {
            "the peer does not answer; it has gone, or was started for fewer messages (-n)"
        }
        CompletionStatus::RnrRetryExceeded => {
            "the peer takes no more messages; was it started for fewer (-n), or another test?"
        }
        other => other.meaning(),
    }
}
