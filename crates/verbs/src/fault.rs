//! Why an access to memory, or work on a key, was refused.

/// Why an access by a local element failed; all of them complete as
/// [`LocalProtectionError`](crate::CompletionStatus::LocalProtectionError).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalFault {
    /// The key names no region.
    UnknownKey,
    /// The region belongs to another protection domain.
    ProtectionDomain,
    /// The region was registered without this right.
    Access,
    /// The bytes are not all inside the region.
    Bounds,
}

/// Why an access that a peer asked for failed; all of them are answered as a remote access error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    /// The key gives access to nothing: it names neither a region nor a window, or a free one.
    UnknownKey,
    /// The region or window belongs to another protection domain than the queue pair.
    ProtectionDomain,
    /// The window of type 2 is bound to another queue pair.
    QueuePair,
    /// The region or window lacks this right.
    Access,
    /// The bytes are not all inside the region or window.
    Bounds,
}

/// Why a window was not bound; completes as
/// [`MemoryWindowBindError`](crate::CompletionStatus::MemoryWindowBindError). The window is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindFault {
    /// The key names no window.
    UnknownWindow,
    /// The key names no region, or a fast-registration region that is free.
    UnknownRegion,
    /// Queue pair, window and region are not all of one protection domain.
    ProtectionDomain,
    /// The new key differs from the present one in more than the low 8 bits, or, for a window of type 1, not at all.
    Key,
    /// A window of type 2 is bound already; its key must be invalidated first.
    NotFree,
    /// A window of type 2 cannot be bound to no bytes.
    NoBytes,
    /// A window of type 1 cannot be zero-based.
    ZeroBased,
    /// A window gives remote rights, rights to FLUSH, and can be zero-based; nothing else.
    NotAWindowsRight,
    /// The region was registered without [`MW_BIND`](crate::Access::MW_BIND).
    RegionWithoutBind,
    /// Peers cannot be allowed to change a region without [`LOCAL_WRITE`](crate::Access::LOCAL_WRITE).
    NeedsLocalWrite,
    /// The bytes are not all inside the region.
    Bounds,
}

/// Why a key was not invalidated. It works as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidateFault {
    /// The key names neither a region nor a window.
    UnknownKey,
    /// The region or window belongs to another protection domain than the queue pair.
    ProtectionDomain,
    /// Ordinary regions and windows of type 1 cannot be invalidated.
    NotInvalidatable,
    /// The key is not valid at present: the window is not bound, or the region not registered.
    Free,
    /// The window of type 2 is bound to another queue pair.
    QueuePair,
    /// Windows are bound to the region.
    WindowsBound,
    /// A peer that has no right through the key cannot invalidate it either.
    NoRemoteRight,
}

/// Why a fast-registration region got no mapping. It is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastRegisterFault {
    /// The key names no region.
    UnknownKey,
    /// The region belongs to another protection domain than the queue pair.
    ProtectionDomain,
    /// The region was not made for fast registration.
    NotFast,
    /// The region has a mapping; its key must be invalidated first.
    NotFree,
    /// The new key differs from the present one in more than the low 8 bits, or, for a window of type 1, not at all.
    Key,
    /// Peers cannot be allowed to change a region without [`LOCAL_WRITE`](crate::Access::LOCAL_WRITE).
    NeedsLocalWrite,
    /// The bytes are not all inside the region's memory.
    Bounds,
}

/// Gives each fault a sentence and makes it an error.
macro_rules! sentences {
    ($($fault:ident { $($case:ident: $sentence:literal,)* })*) => {
        $(
            impl core::fmt::Display for $fault {
                fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    f.write_str(match self { $(Self::$case => $sentence,)* })
                }
            }

            impl core::error::Error for $fault {}
        )*
    };
}

sentences! {
    LocalFault {
        UnknownKey: "the local key names no region",
        ProtectionDomain: "the region is of another protection domain",
        Access: "the region was registered without the right",
        Bounds: "the bytes are not all inside the region",
    }
    RemoteFault {
        UnknownKey: "the remote key gives access to nothing",
        ProtectionDomain: "the key is of another protection domain than the queue pair",
        QueuePair: "the window is bound to another queue pair",
        Access: "the key does not give the right",
        Bounds: "the bytes are not all inside what the key gives access to",
    }
    BindFault {
        UnknownWindow: "the key names no window",
        UnknownRegion: "the key names no region that is valid",
        ProtectionDomain: "queue pair, window and region are not of one protection domain",
        Key: "the new key may differ from the present one in the low 8 bits only",
        NotFree: "the window of type 2 is bound; invalidate its key first",
        NoBytes: "a window of type 2 cannot be bound to no bytes; invalidate its key instead",
        ZeroBased: "a window of type 1 cannot be zero-based",
        NotAWindowsRight: "a window gives remote and flush rights only",
        RegionWithoutBind: "the region was registered without MW_BIND",
        NeedsLocalWrite: "remote write and atomic rights need LOCAL_WRITE of the region",
        Bounds: "the bytes are not all inside the region",
    }
    InvalidateFault {
        UnknownKey: "the key names nothing",
        ProtectionDomain: "the key is of another protection domain than the queue pair",
        NotInvalidatable: "neither an ordinary region nor a window of type 1 can be invalidated",
        Free: "the key is not valid at present",
        QueuePair: "the window is bound to another queue pair",
        WindowsBound: "windows are bound to the region; invalidate their keys first",
        NoRemoteRight: "the key gives a peer no right, not that of invalidation either",
    }
    FastRegisterFault {
        UnknownKey: "the key names no region",
        ProtectionDomain: "the region is of another protection domain than the queue pair",
        NotFast: "the region was not allocated for fast registration",
        NotFree: "the region has a mapping; invalidate its key first",
        Key: "the new key may differ from the present one in the low 8 bits only",
        NeedsLocalWrite: "remote write and atomic rights need LOCAL_WRITE",
        Bounds: "the bytes are not all inside the region's memory",
    }
}
