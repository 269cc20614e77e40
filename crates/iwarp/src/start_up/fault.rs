//! What goes wrong before there is a stream.

use rdmalab_wire::ParseError;
use rdmalab_wire::iwarp::MpaKind;

/// Why a start-up cannot go on. The TCP connection is to be reset: there is no stream that a Terminate message could be sent
/// on (RFC 5044 §7.1.2, §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartUpFault {
    /// The bytes are no frame of MPA, or the stream ended before its end.
    Malformed(ParseError),
    /// A request came where a reply was due, or the other way: both sides take themselves for the same one.
    WrongKind(MpaKind),
    /// A revision that we do not speak, or a reply of a higher one than our request.
    Revision {
        /// What came.
        found: u8,
        /// The highest that would have done.
        newest: u8,
    },
    /// The initiator did not wait for our reply.
    DataBeforeReply,
    /// The peer's private data is longer than the profile takes.
    PrivateData {
        /// How long.
        length: usize,
        /// The most there may be.
        limit: usize,
    },
    /// The reply leaves out the enhanced data, or the peer-to-peer model, that our request asked for (RFC 6581 §9).
    NotEnhanced,
    /// The reply wants markers, and the profile sends none.
    Markers,
}

impl core::fmt::Display for StartUpFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "not the start-up of MPA: {error}"),
            Self::WrongKind(MpaKind::Request) => f.write_str("the peer sent a request of MPA, where its reply was due"),
            Self::WrongKind(MpaKind::Reply) => f.write_str("the peer sent a reply of MPA, where its request was due"),
            Self::Revision { found, newest } => write!(
                f,
                "the peer speaks revision {found} of MPA, and {newest} is the newest that would do; try with that revision"
            ),
            Self::DataBeforeReply => f.write_str("the peer sent data before it had our reply of MPA"),
            Self::PrivateData { length, limit } => {
                write!(f, "the peer's private data has {length} bytes, where {limit} are the most")
            }
            Self::NotEnhanced => f.write_str(
                "the peer's reply has no enhanced data or not the peer-to-peer model that was asked for; try revision 1",
            ),
            Self::Markers => Refusal::Markers.fmt(f),
        }
    }
}

impl core::error::Error for StartUpFault {}

/// Why a responder rejects a request by itself, without asking the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The peer wants markers, and the profile sends none.
    Markers,
    /// The peer offers no ready-to-receive message that we know.
    NoMatchingRtr,
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Markers => "the peer wants to receive markers, which are not sent here",
            Self::NoMatchingRtr => "the peer offers no ready-to-receive message that is known here",
        })
    }
}

/// Our private data is too long for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateDataTooLong {
    /// It does not fit.
    ForFrame {
        /// How long it is, in bytes.
        length: usize,
        /// The most there may be.
        limit: usize,
    },
    /// It fits, but is longer than the [profile](crate::Profile::max_sent_private_data) sends: Linux' siw refuses a longer
    /// request, and a longer reply stops its kernel.
    ForSiw {
        /// How long it is, in bytes.
        length: usize,
        /// The most that this profile sends.
        limit: usize,
        /// The most that there is room for.
        room: usize,
    },
}

impl core::fmt::Display for PrivateDataTooLong {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::ForFrame { length, limit } => {
                write!(f, "private data of {length} bytes, where a frame of MPA takes {limit} at most")
            }
            Self::ForSiw { length, limit, room } => write!(
                f,
                "private data of {length} bytes, where Linux' siw takes {limit}: it refuses a longer request, and a longer \
                 reply stops its kernel; the profile spec sends up to {room}"
            ),
        }
    }
}

impl core::error::Error for PrivateDataTooLong {}
