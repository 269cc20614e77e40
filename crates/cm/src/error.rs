//! What is wrong with a command.

use core::fmt;

/// Why a command was not carried out. Nothing has changed and nothing is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandError {
    /// No such connection, or it is over.
    UnknownConnection,
    /// No such listener.
    UnknownListener,
    /// No such question, or it was answered already, or too late.
    UnknownResolution,
    /// The connection is in a state in which the command makes no sense; its name.
    WrongState(&'static str),
    /// The message has no room for so much private data.
    PrivateDataTooLong {
        /// Bytes given.
        given: usize,
        /// Bytes that fit.
        limit: usize,
    },
    /// More additional information than the 72 bytes of a message.
    InformationTooLong {
        /// Bytes given.
        given: usize,
    },
    /// One address is IPv4, the other IPv6.
    MixedFamilies,
    /// Somebody listens for this already.
    ServiceInUse,
    /// The port is taken.
    PortInUse,
    /// No port is free.
    NoFreePort,
    /// The limit of connections, listeners or questions is reached.
    TooMany,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::UnknownConnection => f.write_str("there is no such connection"),
            CommandError::UnknownListener => f.write_str("there is no such listener"),
            CommandError::UnknownResolution => {
                f.write_str("there is no such question that waits for an answer")
            }
            CommandError::WrongState(state) => write!(f, "not possible while the connection is {state}"),
            CommandError::PrivateDataTooLong { given, limit } => {
                write!(f, "{given} bytes of private data, and {limit} fit")
            }
            CommandError::InformationTooLong { given } => {
                write!(f, "{given} bytes of additional information, and 72 fit")
            }
            CommandError::MixedFamilies => f.write_str("one address is IPv4, the other IPv6"),
            CommandError::ServiceInUse => f.write_str("somebody listens for this service already"),
            CommandError::PortInUse => f.write_str("the port is in use"),
            CommandError::NoFreePort => f.write_str("no port is free"),
            CommandError::TooMany => f.write_str("a limit is reached"),
        }
    }
}

impl core::error::Error for CommandError {}
