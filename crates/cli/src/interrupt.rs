//! Ctrl-C, SIGTERM and a terminal that goes away: whoever is at work on a device finds it stopped, so that the program comes to its end with all it
//! has to say and a whole capture.
//!
//! A second signal ends the program at once.

use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdmalab_device::Device;
use signal_hook::consts::{SIGHUP, TERM_SIGNALS};
use signal_hook::flag;

use crate::outcome::{Error, Result, tell};

/// How often the flag is looked at: soon enough for somebody at a keyboard.
const LOOK: Duration = Duration::from_millis(50);
/// How long a capture may take to become whole.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a program whose device has stopped may take to notice; it may wait for something of the kernel's.
const NOTICE: Duration = Duration::from_secs(3);
/// What shells give a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// A flag that the first signal sets, from now on. The second one ends the program. To be made before a capture is begun: who
/// is not asked ends without a word.
pub fn asked() -> Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    let hangup = ends_with_its_terminal().then_some(SIGHUP);
    for signal in TERM_SIGNALS.iter().copied().chain(hangup) {
        // In this order: a signal finds the flag as the one before has left it.
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&asked))
            .and_then(|_| flag::register(signal, Arc::clone(&asked)))
            .map_err(|error| Error::failed(format_args!("cannot wait for signals: {error}")))?;
    }
    Ok(asked)
}

/// Whether the program does not outlive its terminal. Whoever starts it by `nohup` wants that: SIGHUP is ignored then, and is to
/// stay so. Where that is not to be known, it is left as it is.
fn ends_with_its_terminal() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return false };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) == 0)
}

/// Stops a device at the first signal, after a time in which a program that looks at the flag may come to its end by itself.
/// A program that is still there a moment later, since it waits for something that is
/// not the device's, is ended then: its capture is whole. The flag is that of [`asked`].
pub fn stops_after(device: &Device, asked: &Arc<AtomicBool>, grace: Duration) -> Result<()> {
    let (flag, stopper) = (Arc::clone(asked), device.stopper());
    let watch = move || {
        while !flag.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
        }
        std::thread::sleep(grace);
        if !stopper.stop(PATIENCE) {
            tell("rdmalab: the device does not stop: the capture may not be whole");
        }
        std::thread::sleep(NOTICE);
        exit(INTERRUPTED);
    };
    // It goes with the program.
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(watch)
        .map_err(|error| Error::failed(format_args!("cannot wait for signals: {error}")))?;
    Ok(())
}

/// Stops a device at the first signal, as [`stops_after`], at once.
pub fn stops(device: &Device, asked: &Arc<AtomicBool>) -> Result<()> {
    stops_after(device, asked, Duration::ZERO)
}
