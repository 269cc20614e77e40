//! Names of what a [`Cm`](crate::Cm) owns. None is given again while something has it; those of connections and questions
//! are also their numbers on the wire.

use core::fmt;

macro_rules! id {
    ($(#[$outer:meta])* $name:ident) => {
        $(#[$outer])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The number, for a table or a line of text.
            pub const fn value(self) -> u32 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#010x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

id! {
    /// A connection, from the call to the end of time-wait: our communication ID.
    ConnectionId
}
id! {
    /// A listener.
    ListenerId
}
id! {
    /// A question for a datagram service, ours or a peer's.
    ResolutionId
}
