//! How this end's queue pairs are made, and connected to the peer's.

use std::net::{IpAddr, Ipv6Addr};

use rdmalab_device::{
    Access, Attributes, Capabilities, CompletionQueue, Path, PathMtu, ProtectionDomain, Psn, QueuePair, State,
};

use super::super::lines::Introduction;
use super::{DEPTH, End, text};

/// What the other end may do to our region.
pub(super) const RIGHTS: Access =
    Access::REMOTE_READ.union(Access::REMOTE_WRITE).union(Access::REMOTE_ATOMIC).union(Access::FLUSH_GLOBAL);

/// A queue pair in INIT.
pub(super) fn queue_pair(
    domain: &ProtectionDomain,
    completions: &CompletionQueue,
    receives: u32,
) -> Result<QueuePair, String> {
    let capabilities = Capabilities {
        max_send_requests: DEPTH as u32,
        max_receive_requests: receives,
        max_send_elements: 1,
        max_receive_elements: 1,
        max_inline: 0,
    };
    let queue_pair = domain.queue_pair(completions, completions, capabilities).map_err(text)?;
    let attributes = Attributes {
        state: Some(State::Init),
        partition_index: Some(0),
        access: Some(RIGHTS),
        ..Attributes::default()
    };
    queue_pair.modify(&attributes).map_err(text)?;
    Ok(queue_pair)
}

impl End<'_> {
    /// Takes a queue pair to RTS, with the peer's for its other end.
    pub(super) fn connect(&self, queue_pair: &QueuePair, peer: &Introduction) -> Result<(), String> {
        let gid: Ipv6Addr = peer.gid.parse().map_err(|_| format!("the peer's GID is {:?}", peer.gid))?;
        let destination = gid.to_ipv4_mapped().map_or(IpAddr::V6(gid), IpAddr::V4);
        let mtu = PathMtu::from_bytes(usize::from(self.wish.mtu)).ok_or("no such path MTU")?;
        queue_pair
            .modify(&Attributes {
                state: Some(State::Rtr),
                path: Some(Path::new(self.local, destination)),
                path_mtu: Some(mtu),
                destination: Some(rdmalab_device::Qpn::new(peer.qpn)),
                receive_psn: Some(Psn::new(peer.psn)),
                max_destination_reads: Some(self.wish.rd_atomic),
                min_rnr_timer: Some(12),
                ..Attributes::default()
            })
            .map_err(text)?;
        queue_pair
            .modify(&Attributes {
                state: Some(State::Rts),
                timeout: Some(self.wish.timeout),
                retry_count: Some(self.wish.retry),
                rnr_retry: Some(self.wish.rnr_retry),
                send_psn: Some(Psn::new(self.wish.psn)),
                max_reads: Some(self.wish.rd_atomic),
                ..Attributes::default()
            })
            .map_err(text)
    }
}
