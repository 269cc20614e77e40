//! Clients of programs that come by TCP: ibv_rc_pingpong, and the tests of perftest. Each has a thread.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Scope;
use std::time::Duration;

use rdmalab_device::{Device, Listener, Stream};

use super::{Happening, Ledger, Program, Services, Tell};
use crate::connect_error::ConnectError;
use crate::perf::{self, PerfError};
use crate::pingpong::{self, PingpongError};

/// Clients of a program at once: each has a thread.
const MOST: usize = 16;
/// How soon a thread that waits notices that it is to stop.
const NOTICE: Duration = Duration::from_millis(100);

/// Programs that come by TCP, each with its port.
pub(super) struct Games<'d> {
    device: &'d Device,
    pingpong: Option<(Listener, pingpong::Options)>,
    perf: Vec<(Listener, perf::Options)>,
    /// Who plays now.
    players: AtomicUsize,
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
        let pingpong = match &services.pingpong {
            Some(options) => Some((device.listen(options.port)?, options.clone())),
            None => None,
        };
        let perf = services.perf.iter().map(|options| Ok((device.listen(options.port)?, options.clone())));
        let perf = perf.collect::<Result<_, ConnectError>>()?;
        Ok(Self { device, pingpong, perf, players: AtomicUsize::new(0) })
    }

    /// Waits for players, in threads that end soon after `stop`; games that are being played are played to their end, or
    /// to the end of their patience.
    pub(super) fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, hall: Hall<'scope>) {
        if let Some((listener, options)) = &self.pingpong {
            scope.spawn(move || {
                self.wait(scope, listener, hall, Program::Pingpong, move |device, stream| {
                    let report = pingpong::answer(device, stream, options, |_| ())?;
                    let messages = u64::from(report.rounds);
                    Ok::<_, PingpongError>((messages, messages * u64::from(report.size) * 2))
                });
            });
        }
        for (listener, options) in &self.perf {
            scope.spawn(move || {
                self.wait(scope, listener, hall, Program::Perf, move |device, stream| {
                    perf::answer(device, "", options, stream, &mut |_| ())?;
                    // How many messages there were, only the client knows.
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
        play: impl Fn(&Device, Stream) -> Result<(u64, u64), E> + Copy + Send + 'scope,
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
            if self.players.fetch_add(1, Ordering::Relaxed) >= MOST {
                self.players.fetch_sub(1, Ordering::Relaxed);
                hall.ledger.refused(program, ip);
                (hall.tell)(&Happening::Refused(program, peer, "there are as many clients as are let in"));
                continue;
            }
            hall.ledger.came(program, ip);
            (hall.tell)(&Happening::Came(program, peer));
            scope.spawn(move || {
                let outcome = play(self.device, stream);
                self.players.fetch_sub(1, Ordering::Relaxed);
                tell_end(hall, program, peer, ip, outcome);
            });
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
        Err(error) => Some(error),
    };
    hall.ledger.gone(program, ip, failure.is_some());
    let failure = failure.as_ref().map(|failure| failure as &(dyn std::error::Error + 'static));
    (hall.tell)(&Happening::Gone(program, peer, failure));
}
