//! Why there is no picture.

use core::fmt;
use std::io;

/// Most packets in a picture.
pub const MOST_DRAWN: usize = 2_000;

/// Why there is no picture.
#[derive(Debug)]
pub enum PictureError {
    /// No packet belongs to a flow, or not to the one asked for.
    NoFlow {
        /// The flows that there are, at most some.
        there: Vec<u64>,
    },
    /// It has more than [`MOST_DRAWN`] packets.
    TooMany {
        /// How many.
        packets: usize,
    },
    /// Writing failed.
    Write(io::Error),
}

impl fmt::Display for PictureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PictureError::NoFlow { there } if there.is_empty() => f.write_str("no packet belongs to a flow"),
            PictureError::NoFlow { there } => {
                f.write_str("there is no such flow; there are")?;
                there.iter().try_for_each(|number| write!(f, " {number}"))
            }
            PictureError::TooMany { packets } => {
                write!(f, "{packets} packets are too many for a picture, which has at most {MOST_DRAWN}")
            }
            PictureError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PictureError {}

impl From<io::Error> for PictureError {
    fn from(error: io::Error) -> Self {
        PictureError::Write(error)
    }
}
