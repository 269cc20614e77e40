//! A whole capture file judged.

use core::fmt;
use std::io::Read;

use rdmalab_trace::{Packing, ReadError, ReadFault, Reader, Unpacked};

use crate::linter::Linter;
use crate::observer::Observer;
use crate::report::Report;

/// Why a capture was not judged to its end.
#[derive(Debug)]
pub struct LintError {
    /// Why, and where.
    pub error: ReadError,
    /// How the file is packed; its offsets are then those of what comes out.
    pub packing: Option<Packing>,
    /// What the packets before that came to.
    pub report: Box<Report>,
}

/// Judges a capture, which may be packed with gzip or zstd.
///
/// # Errors
/// If the capture is damaged or cut, or cannot be read: with what was judged before that.
pub fn lint(input: impl Read, observer: &mut dyn Observer) -> Result<Report, LintError> {
    let mut linter = Linter::new();
    match read(input, &mut linter, observer) {
        Ok(()) => Ok(linter.finish(observer)),
        Err((error, packing)) => Err(LintError { error, packing, report: Box::new(linter.finish(observer)) }),
    }
}

fn read(
    input: impl Read,
    linter: &mut Linter,
    observer: &mut dyn Observer,
) -> Result<(), (ReadError, Option<Packing>)> {
    let input = Unpacked::new(input)
        .map_err(|error| (ReadError { offset: 0, packets_before: 0, fault: ReadFault::Io(error) }, None))?;
    let packing = input.packing();
    let unread = |error| (error, packing);
    let mut reader = Reader::new(input).map_err(unread)?;
    while let Some(record) = reader.next().map_err(unread)? {
        linter.packet(&record, observer);
    }
    Ok(())
}

impl fmt::Display for LintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packing {
            None => self.error.fmt(f),
            Some(packing) => {
                if self.error.packets_before > 0 {
                    write!(f, "after packet {}, ", self.error.packets_before)?;
                }
                write!(
                    f,
                    "at offset {} of what {packing} unpacks to: {}",
                    self.error.offset, self.error.fault
                )
            }
        }
    }
}

impl std::error::Error for LintError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
