//! Captures that cannot go on, since the disk is full, say. One rule for all programs: the file ends whole at a frame that is
//! named, once when it happens and once at the end; the program does its work all the same, and exits with 1.

use std::fmt::Display;
use std::io::ErrorKind;

use rdmalab_device::RecordError;

use crate::outcome::{Error, tell};

/// A capture that was not even begun: a file that cannot be, or a disk that is full already.
pub fn refused(fault: &RecordError) -> Error {
    const FULL: [ErrorKind; 3] = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::FileTooLarge];
    let kind = fault.io_error().map(std::io::Error::kind);
    if kind.is_some_and(|kind| FULL.contains(&kind)) {
        Error::failed(fault).advice("make room, or name a file elsewhere after --pcap")
    } else {
        Error::usage(fault).advice("name a file that can be written after --pcap")
    }
}

/// Tells, as soon as that is so, that nothing more is recorded.
pub fn ended(fault: impl Display) {
    tell(format_args!("rdmalab: {fault}; nothing more is recorded"));
}
