//! What may go wrong with a device while a program is at work on it, told as soon as that is so: its link takes nothing, its
//! capture cannot go on. The program goes on all the same.

use std::time::Duration;

use rdmalab_device::{Device, Stopper};

use crate::capture;
use crate::outcome::{Error, Result, tell};

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Watches over a device to its end.
pub fn over(device: &Device) -> Result<()> {
    let mut watch = Watch { device: device.stopper(), has_told_of_capture: false, link_fault: None };
    let look = move || {
        while !watch.device.has_ended() {
            watch.look();
            std::thread::sleep(LOOK);
        }
    };
    // The end of the program tells what comes about at the device's end.
    let started = std::thread::Builder::new().name("watch".to_owned()).spawn(look);
    started.map(drop).map_err(|error| Error::failed(format_args!("cannot watch over the device: {error}")))
}

struct Watch {
    device: Stopper,
    has_told_of_capture: bool,
    /// What was told of the link last.
    link_fault: Option<String>,
}

impl Watch {
    fn look(&mut self) {
        if !self.has_told_of_capture
            && let Some(fault) = self.device.capture_fault()
        {
            capture::ended(fault);
            self.has_told_of_capture = true;
        }
        let fault = self.device.link_fault().map(|fault| fault.to_string());
        if fault != self.link_fault {
            match &fault {
                Some(fault) => tell(format_args!("rdmalab: {fault}; what is sent meanwhile is lost")),
                None => tell("rdmalab: the link takes frames again"),
            }
            self.link_fault = fault;
        }
    }
}
