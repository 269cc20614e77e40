//! Address handles: ways to peers, prepared for datagrams.

use crate::context::ProtectionDomainId;
use crate::path::Path;

/// Names an address handle of a [`Context`](crate::Context).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AddressHandleId(pub(crate) u32);

/// The way to a peer or to a multicast group (`ibv_ah`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressHandle {
    /// Where it lives; queue pairs of other domains may not use it.
    pub protection_domain: ProtectionDomainId,
    /// The way.
    pub path: Path,
}
