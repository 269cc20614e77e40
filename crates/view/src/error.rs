//! Why a capture cannot be drawn.

use core::fmt;

use rdmalab_trace::{FilterError, Packing, ReadError};

use crate::model::Capture;
use crate::read::{MOST_BYTES, MOST_PACKETS};

/// Why a capture was not read to its end.
#[derive(Debug)]
pub enum ViewError {
    /// It is damaged or cut, or cannot be read.
    Read {
        /// Why, and where.
        error: ReadError,
        /// How the file is packed; its offsets are then those of what comes out.
        packing: Option<Packing>,
        /// What was in front of that.
        capture: Box<Capture>,
    },
    /// It has more than [`MOST_PACKETS`] packets, those that the filter passes over not counted.
    TooMany {
        /// The number in the file of the last packet that there is room for.
        fits: u64,
    },
    /// Its packets have more than [`MOST_BYTES`] bytes together, likewise.
    TooLarge {
        /// The number in the file of the last packet that there is room for.
        fits: u64,
    },
    /// The filter compares a field with a value of another kind.
    Filter(FilterError),
}

impl ViewError {
    /// Of a capture that is too large, the filter with which as much of it is drawn as there is room for, from its beginning on
    /// (or of what another filter leaves of it).
    pub fn fitting_filter(&self) -> Option<String> {
        match self {
            ViewError::TooMany { fits } | ViewError::TooLarge { fits } => {
                Some(format!("frame.number <= {fits}"))
            }
            ViewError::Read { .. } | ViewError::Filter(_) => None,
        }
    }
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ViewError::Read { error, packing: None, .. } => error.fmt(f),
            ViewError::Read { error, packing: Some(packing), .. } => {
                if error.packets_before > 0 {
                    write!(f, "after packet {}, ", error.packets_before)?;
                }
                write!(f, "at offset {} of what {packing} unpacks to: {}", error.offset, error.fault)
            }
            ViewError::TooMany { fits } => {
                write!(f, "more than {MOST_PACKETS} packets; those up to frame {fits} can be drawn")
            }
            ViewError::TooLarge { fits } => write!(
                f,
                "its packets have more than {} MiB together; those up to frame {fits} can be drawn",
                MOST_BYTES >> 20
            ),
            ViewError::Filter(error) => write!(f, "filter: {error}"),
        }
    }
}

impl std::error::Error for ViewError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ViewError::Read { error, .. } => Some(error),
            ViewError::Filter(error) => Some(error),
            ViewError::TooMany { .. } | ViewError::TooLarge { .. } => None,
        }
    }
}
