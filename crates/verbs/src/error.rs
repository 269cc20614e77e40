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

/// Why memory was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// There is no such protection domain.
    NoSuchProtectionDomain,
    /// There are too many regions.
    LimitReached(LimitReached),
}

impl core::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchProtectionDomain => f.write_str("there is no such protection domain"),
            Self::LimitReached(limit) => limit.fmt(f),
        }
    }
}

impl core::error::Error for RegisterError {}
