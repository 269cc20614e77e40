//! The order of data and words once the queue pairs are connected. It differs from test to test, as EXCHANGE.md tells.

use super::Step;
use super::bandwidth::{self, Load};
use super::error::PerfError;
use super::exchange::{Exchange, Figures, Side, Terms, Wait};
use super::latency::{self, Measured};
use super::options::{Measure, Operation, Options, Role};
use super::session::Session;
use super::table::{Columns, Row};

/// A test that is about to begin.
pub(super) struct Stages<'a, 't, S> {
    pub(super) session: &'a Session,
    pub(super) options: &'a Options,
    pub(super) terms: Terms,
    pub(super) role: Role,
    pub(super) exchange: Exchange<'a, S>,
    pub(super) ours: Vec<Side>,
    pub(super) theirs: Vec<Side>,
    pub(super) tell: &'t mut dyn FnMut(Step<'_>),
}

impl<'a, S: Wait> Stages<'a, '_, S> {
    /// Runs the test with all sizes to its end, and gives the exchange back.
    pub(super) fn run(mut self, sizes: &[u32]) -> Result<Exchange<'a, S>, PerfError> {
        match (self.options.measure, self.options.operation) {
            (Measure::Bandwidth, operation) => {
                let gigabits = self.options.gigabits;
                (self.tell)(Step::Columns(Columns::Bandwidth { gigabits }));
                if operation == Operation::Send || self.options.bidirectional {
                    self.bandwidth_of_both(sizes)?;
                } else {
                    self.bandwidth_of_the_client(sizes)?;
                }
            }
            (Measure::Latency, Operation::Write) => {
                self.latency_columns();
                self.meet()?;
                for &size in sizes {
                    self.latency(size)?;
                }
                // The program says nothing more.
                return Ok(self.exchange);
            }
            (Measure::Latency, Operation::Send) => {
                self.latency_columns();
                for &size in sizes {
                    self.meet()?;
                    self.latency(size)?;
                }
            }
            (Measure::Latency, _) => {
                self.meet()?;
                // The server measures nothing.
                if self.role.is_client() {
                    self.latency_columns();
                    for &size in sizes {
                        self.latency(size)?;
                    }
                }
            }
        }
        self.meet()?;
        self.exchange.done();
        Ok(self.exchange)
    }

    fn meet(&mut self) -> Result<(), PerfError> {
        self.exchange.meet(&self.ours, &self.theirs)
    }

    /// One-sided, one way: the server waits until the client has done all sizes, and hears what it measured of the last.
    fn bandwidth_of_the_client(&mut self, sizes: &[u32]) -> Result<(), PerfError> {
        let mut last = Figures::default();
        if self.role.is_client() {
            for &size in sizes {
                last = self.bandwidth(size, true, false)?.sent;
                self.row(last);
            }
        }
        self.meet()?;
        let theirs = self.exchange.figures(&last, !self.role.is_client())?;
        if !self.role.is_client() {
            self.row(theirs);
            let arrived = self.session.served().is_none_or(|served| served.messages > 0);
            if theirs.iterations > 0 && !arrived {
                // What the client has sent unreliably it takes for done, whoever gets it.
                self.exchange.leave();
                return Err(PerfError::NothingArrived { sent: theirs.iterations });
            }
        }
        Ok(())
    }

    /// Both sides have something to do and measure it; they meet ahead of each size and, where there are many, behind it.
    fn bandwidth_of_both(&mut self, sizes: &[u32]) -> Result<(), PerfError> {
        let options = self.options;
        let is_send = options.operation == Operation::Send;
        let sends = self.role.is_client() || options.bidirectional;
        let receives = is_send && (!self.role.is_client() || options.bidirectional);
        for &size in sizes {
            self.meet()?;
            let measured = self.bandwidth(size, sends, receives)?;
            if options.all_sizes && !is_send {
                self.meet()?;
            }
            let mut figures = if sends { measured.sent } else { measured.received };
            if options.bidirectional && !(is_send && options.length_is_time()) {
                let theirs = self.exchange.figures(&figures, true)?;
                figures.peak += theirs.peak;
                figures.average += theirs.average;
                figures.rate += theirs.rate;
            }
            self.row(figures);
            if options.all_sizes && is_send {
                self.meet()?;
            }
        }
        Ok(())
    }

    fn bandwidth(
        &mut self,
        size: u32,
        sends: bool,
        receives: bool,
    ) -> Result<bandwidth::Measured, PerfError> {
        let load = Load { size, sends, receives };
        let tell = &mut self.tell;
        let mut progress = |done| tell(Step::Progress { size, done });
        let mut peer = || self.exchange.presence();
        let measured =
            bandwidth::run(self.session, self.options, &self.terms, load, &mut peer, &mut progress)?;
        if measured.is_interrupted {
            self.row(if sends { measured.sent } else { measured.received });
            return Err(PerfError::Interrupted);
        }
        Ok(measured)
    }

    fn row(&mut self, figures: Figures) {
        (self.tell)(Step::Row(&Row::Bandwidth { figures, gigabits: self.options.gigabits }));
    }

    fn latency_columns(&mut self) {
        let columns = if self.options.length_is_time() { Columns::Pace } else { Columns::Latency };
        (self.tell)(Step::Columns(columns));
    }

    fn latency(&mut self, size: u32) -> Result<(), PerfError> {
        let tell = &mut self.tell;
        let mut progress = |done| tell(Step::Progress { size, done });
        let mut peer = || self.exchange.presence();
        let (measured, is_interrupted) =
            latency::run(self.session, self.options, &self.terms, self.role, size, &mut peer, &mut progress)?;
        match measured {
            Measured::Each(latencies) => {
                (self.tell)(Step::Each(&latencies));
                let iterations = latencies.each.len() as u64 + 1;
                (self.tell)(Step::Row(&Row::Latency { size, iterations, summary: latencies.summary }));
            }
            Measured::Pace(pace) => (self.tell)(Step::Row(&Row::Pace { size, pace })),
        }
        if is_interrupted { Err(PerfError::Interrupted) } else { Ok(()) }
    }
}
