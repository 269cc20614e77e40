//! Clients of programs that come by TCP: ibv_rc_pingpong, its sisters, and the tests of perftest. Each has a thread.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

use rdmalab_device::{Device, Listener, Meter, Stream};

use super::places::Places;
use super::{Happening, Ledger, Program, Services, Tell};
use crate::connect_error::ConnectError;
use crate::perf::{self, PerfError, Step};
use crate::pingpong::{self, PingpongError};

/// Bytes of a client's thread: far more than a game needs, and little enough for thousands.
const STACK: usize = 256 << 10;
/// How soon a thread that waits notices that it is to stop.
const NOTICE: Duration = Duration::from_millis(100);

/// Programs that come by TCP, each with its port.
pub(super) struct Games<'d> {
    device: &'d Device,
    pingpong: Vec<(Listener, pingpong::Options)>,
    perf: Vec<(Listener, perf::Options)>,
    /// Who plays now, and who else may.
    places: Mutex<Places>,
}

/// What all games need.
#[derive(Clone, Copy)]
pub(super) struct Hall<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) stop: &'a AtomicBool,
    pub(super) tell: &'a Tell<'a>,
}

impl<'d> Games<'d> {
    pub(super) fn open(device: &'d Device, services: &Services) -> Result<Self, ConnectError> {
        let listen = |port| device.listen(port).map_err(|error| ConnectError::Port { port, error });
        let pingpong = services.pingpong.iter().map(|options| Ok((listen(options.port)?, options.clone())));
        let pingpong = pingpong.collect::<Result<_, ConnectError>>()?;
        let perf = services.perf.iter().map(|options| Ok((listen(options.port)?, options.clone())));
        let perf = perf.collect::<Result<_, ConnectError>>()?;
        Ok(Self { device, pingpong, perf, places: Mutex::new(Places::new(services.most_clients)) })
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for players, in threads that end soon after `stop`; games that are being played are played to their end, to
    /// that of their patience, or to the device's.
    pub(super) fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, hall: Hall<'scope>) {
        for (listener, options) in &self.pingpong {
            scope.spawn(move || {
                self.wait(
                    scope,
                    listener,
                    hall,
                    Program::Pingpong(options.kind),
                    move |device, stream, _| {
                        let report = pingpong::answer(device, stream, options, |_| ())?;
                        let messages = u64::from(report.rounds);
                        Ok::<_, PingpongError>((messages, messages * u64::from(report.size) * 2))
                    },
                );
            });
        }
        for (listener, options) in &self.perf {
            scope.spawn(move || {
                self.wait(scope, listener, hall, Program::Perf, move |device, stream, ip| {
                    let mut watch = None;
                    perf::answer(device, "", options, stream, &mut |step| match step {
                        // Of most messages nothing completes here; the queue pairs know of them.
                        Step::Connected(meters) => {
                            let meters = meters.to_vec();
                            let read = move || meters.iter().map(Meter::read).sum();
                            watch = Some(hall.ledger.watch(Program::Perf, ip, read));
                        }
                        Step::Served(served) => drop(watch.take().map(|watch| watch.end(served))),
                        _ => {}
                    })?;
                    Ok::<_, PerfError>((0, 0))
                });
            });
        }
    }

    fn wait<'scope, E>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        listener: &Listener,
        hall: Hall<'scope>,
        program: Program,
        play: impl Fn(&Device, Stream, Option<IpAddr>) -> Result<(u64, u64), E> + Copy + Send + 'scope,
    ) where
        E: std::error::Error + 'static,
    {
        while !hall.stop.load(Ordering::Relaxed) {
            let stream = match listener.accept(Some(NOTICE)) {
                Ok(Some(stream)) => stream,
                Ok(None) => continue,
                // The device has failed, which others tell, or one caller has gone again.
                Err(_) if hall.stop.load(Ordering::Relaxed) => return,
                Err(_) => {
                    std::thread::sleep(NOTICE);
                    continue;
                }
            };
            let peer = stream.ends().map(|(_, peer)| peer);
            let ip = peer.map(|peer| peer.ip());
            // It finds its connection closed.
            let refuse = |why: &str| {
                hall.ledger.refused(program, ip);
                (hall.tell)(&Happening::Refused(program, peer, why));
            };
            if let Err(full) = self.places().take(ip) {
                refuse(full.why());
                continue;
            }
            let player = Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                hall.ledger.came(program, ip);
                (hall.tell)(&Happening::Came(program, peer));
                let outcome = play(self.device, stream, ip);
                self.places().give_back(ip);
                tell_end(hall, program, peer, ip, outcome);
            });
            if let Err(error) = player {
                self.places().give_back(ip);
                refuse(&format!("there is no thread for it: {error}"));
            }
        }
    }
}

fn tell_end<E: std::error::Error + 'static>(
    hall: Hall<'_>,
    program: Program,
    peer: Option<SocketAddr>,
    ip: Option<IpAddr>,
    outcome: Result<(u64, u64), E>,
) {
    let failure = match outcome {
        Ok((messages, bytes)) => {
            hall.ledger.did(program, ip, messages, bytes);
            None
        }
        // Whoever is still there when the host is to end has done nothing wrong.
        Err(_) if hall.stop.load(Ordering::Relaxed) => None,
        Err(error) => Some(error),
    };
    hall.ledger.gone(program, ip, failure.is_some());
    let failure = failure.as_ref().map(|failure| failure as &(dyn std::error::Error + 'static));
    (hall.tell)(&Happening::Gone(program, peer, failure));
}
