//! Why a [`Context`](crate::Context) refused something. Always the caller's doing; nothing changed.

/// There are as many of these already as the [`Limits`](crate::Limits) allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// What there are too many of.
    pub what: &'static str,
    /// How many may be.
    pub limit: usize,
}

impl core::fmt::Display for LimitReached {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "no more than {} {} are allowed", self.limit, self.what)
    }
}

impl core::error::Error for LimitReached {}

/// What was named is not there (any more).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchObject;

impl core::fmt::Display for NoSuchObject {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("there is no such object (any more)")
    }
}

impl core::error::Error for NoSuchObject {}

/// Why an object cannot go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveError {
    /// It is not there (any more).
    NoSuchObject,
    /// Others still need it.
    InUse {
        /// How many.
        users: u32,
    },
}

impl core::fmt::Display for RemoveError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchObject => NoSuchObject.fmt(f),
            Self::InUse { users } => {
                write!(f, "it is still in use by {users} other objects; remove them first")
            }
        }
    }
}

impl core::error::Error for RemoveError {}

/// Why memory was not registered, or a window not allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// There is no such protection domain.
    NoSuchProtectionDomain,
    /// Peers cannot be allowed to write, or to run atomic operations, where the device is not.
    NeedsLocalWrite,
    /// There are too many regions or windows.
    LimitReached(LimitReached),
}

impl core::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchProtectionDomain => f.write_str("there is no such protection domain"),
            Self::NeedsLocalWrite => f.write_str("REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE, too"),
            Self::LimitReached(limit) => limit.fmt(f),
        }
    }
}

impl core::error::Error for RegisterError {}

/// Why a shared receive queue or an address handle was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateError {
    /// There is no such protection domain.
    NoSuchProtectionDomain,
    /// There is no such XRC domain.
    NoSuchXrcDomain,
    /// There is no such completion queue.
    NoSuchCompletionQueue,
    /// There are too many, or it is to be too large.
    LimitReached(LimitReached),
    /// The limit to be armed is more than the queue can hold.
    LimitBeyondCapacity {
        /// How many receives it can hold.
        capacity: u32,
    },
    /// The path leads nowhere.
    BadPath {
        /// What a path must be.
        allowed: &'static str,
    },
}

impl core::fmt::Display for CreateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchProtectionDomain => f.write_str("there is no such protection domain"),
            Self::NoSuchXrcDomain => f.write_str("there is no such XRC domain"),
            Self::NoSuchCompletionQueue => f.write_str("there is no such completion queue"),
            Self::LimitReached(limit) => limit.fmt(f),
            Self::LimitBeyondCapacity { capacity } => ArmError::BeyondCapacity { capacity: *capacity }.fmt(f),
            Self::BadPath { allowed } => write!(f, "the path must be {allowed}"),
        }
    }
}

impl core::error::Error for CreateError {}

/// Why the limit of a shared receive queue was not armed. It is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmError {
    /// There is no such shared receive queue.
    NoSuchQueue,
    /// The limit is more than the queue can hold, so that it would be undercut at once and always.
    BeyondCapacity {
        /// How many receives it can hold.
        capacity: u32,
    },
}

impl core::fmt::Display for ArmError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchQueue => f.write_str("there is no such shared receive queue"),
            Self::BeyondCapacity { capacity } => {
                write!(f, "the limit must be at most {capacity}, the number of receives that fit")
            }
        }
    }
}

impl core::error::Error for ArmError {}
