//! Captures that cannot go on, since the disk is full, say. One rule for all programs: the file ends whole at a frame that is
//! named, once when it happens and once at the end; the program does its work all the same, and exits with 1.

use std::fmt::Display;
use std::io::ErrorKind;
use std::time::Duration;

use rdmalab_device::{Device, RecordError};

use crate::outcome::{Error, Result, tell};

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

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Tells, as soon as that is so, that nothing more is recorded.
pub fn ended(fault: impl Display) {
    tell(format_args!("rdmalab: {fault}; nothing more is recorded"));
}

/// Watches over the capture of a device, and tells when it ends before the device does.
pub fn watch(device: &Device) -> Result<()> {
    let device = device.stopper();
    let watch = move || {
        loop {
            std::thread::sleep(LOOK);
            let has_ended = device.has_ended();
            match device.capture_fault() {
                // The end of the program tells what comes about at the device's end.
                _ if has_ended => return,
                Some(fault) => return ended(fault),
                None => {}
            }
        }
    };
    let started = std::thread::Builder::new().name("capture".to_owned()).spawn(watch);
    started.map(drop).map_err(|error| Error::failed(format_args!("cannot watch over the capture: {error}")))
}
