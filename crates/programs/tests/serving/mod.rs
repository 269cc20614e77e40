//! A host that serves for as long as a test visits it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdmalab_device::Device;
use rdmalab_programs::serve::{self, Happening, Ledger, Services};

/// How long anything may take.
pub const LIMIT: Duration = Duration::from_secs(20);

/// Serves while `visit` lasts, which may end it sooner; the ledger, and what was said of those who failed or were refused. Serving must
/// not fail, but where `visit` ended it: what becomes of a device that is stopped meanwhile is not looked at here.
pub fn serve_while(
    server: &Device,
    services: &Services,
    visit: impl FnOnce(&Ledger, &AtomicBool),
) -> (Ledger, Vec<String>) {
    let (ledger, stop, said) = (Ledger::new(), AtomicBool::new(false), Mutex::new(Vec::new()));
    let is_open = AtomicBool::new(false);
    let tell = |happening: &Happening<'_>| match happening {
        Happening::Listening => is_open.store(true, Ordering::Relaxed),
        Happening::Gone(_, _, Some(failure)) => said.lock().unwrap().push(failure.to_string()),
        Happening::Refused(_, _, why) => said.lock().unwrap().push((*why).to_owned()),
        _ => {}
    };
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| serve::run(server, services, &ledger, &stop, &tell));
        // After a panic, too, the host is to come to its end.
        let end = StopAtEnd(&stop);
        wait_until(|| is_open.load(Ordering::Relaxed));
        visit(&ledger, &stop);
        let was_stopped = stop.load(Ordering::Relaxed);
        drop(end);
        let served = serving.join().unwrap();
        assert!(was_stopped || served.is_ok(), "{served:?}");
    });
    (ledger, said.into_inner().unwrap())
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LIMIT, "it does not come about");
        std::thread::yield_now();
    }
}
