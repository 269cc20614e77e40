//! perftest: `ib_write_bw`, `ib_read_bw`, `ib_send_bw`, `ib_atomic_bw` and the `_lat` of each.
//!
//! The two sides tell each other their queue pairs over TCP (`exchange`; EXCHANGE.md has the whole of it), then the data
//! flows, and at the end they exchange results. Either side may be the real program. Nothing in the exchange says which test
//! it is or how long: both sides must be told alike.

mod bandwidth;
mod credit;
mod error;
mod exchange;
mod figures;
mod latency;
mod managed;
mod options;
mod requests;
mod session;
mod stages;
mod table;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rdmalab_device::{Device, Meter, Served, Stream};

pub use error::PerfError;
pub use exchange::{Figures, Side};
pub use figures::{Latencies, Pace, Summary};
pub use options::{DEFAULT_PORT, Length, Measure, Operation, Options, Role};
pub use table::{Columns, Each, Heading, RULE, Row, SideLine};

use crate::calling::patiently;
use crate::herald::Herald;
use crate::meeting::{own_gid, stay};
use exchange::{Exchange, FIRST_WORD, Wait};
use managed::{Manager, Talk};
use session::Session;

/// How long the peer must have been quiet before we leave.
const QUIET: Duration = Duration::from_millis(150);
/// How often progress is told.
const PROGRESS: Duration = Duration::from_secs(5);

/// What happens on the way, for those who print it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// The server listens on this address.
    Listening(SocketAddr),
    /// Both sides have agreed.
    Heading(&'a Heading<'a>),
    /// A queue pair of one of the sides.
    Side(&'a SideLine),
    /// The queue pairs are connected; what they serve from now on can be read.
    Connected(&'a [Meter]),
    /// The data has flown, or has ceased to, and this is what came of the peer's requests; not told over iWARP.
    Served(Served),
    /// Results are to come.
    Columns(Columns),
    /// Each latency that was measured of one size.
    Each(&'a Latencies),
    /// The results of one size.
    Row(&'a Row),
    /// So many messages or rounds of this size are done.
    Progress {
        /// Bytes of a message.
        size: u32,
        /// Messages or rounds.
        done: u64,
    },
}

/// Plays a role: waits for a client, or connects to a server, and tests. `device_name` is for the heading.
pub fn run(
    device: &Device,
    device_name: &str,
    role: Role,
    options: &Options,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<(), PerfError> {
    options.check()?;
    let test = Test { device, device_name, role, options };
    if options.managed {
        let heard = || device.counters().rcvd_pkts;
        let peer = match role {
            Role::Server => None,
            Role::Client(server) => Some(server),
        };
        let own = own_gid(device, options.gid_index, peer)?.1;
        let manager = Manager::new(device, role, options, own)?;
        if role == Role::Server {
            tell(Step::Listening(SocketAddr::new(own, options.port)));
        }
        let talk = Talk::open(device, &manager)?;
        let exchange = Exchange::new(talk, role, options.patience, &options.stop, &heard);
        let exchange = exchange.managed().heralded(&options.herald);
        return test.run(exchange, Some(own), Some(&manager), tell);
    }
    let stream = match role {
        Role::Server => {
            let listener = device.listen(options.port)?;
            tell(Step::Listening(SocketAddr::new(own_gid(device, options.gid_index, None)?.1, options.port)));
            let wait = |patience| listener.accept(Some(patience));
            patiently(options.patience, &options.stop, &Herald::default(), "a client", wait)?
        }
        Role::Client(server) => device.connect(SocketAddr::new(server, options.port), options.patience)?,
    };
    test.over_tcp(stream, tell)
}

/// Plays the server for a client that has connected to a listener of the caller's.
pub fn answer(
    device: &Device,
    device_name: &str,
    options: &Options,
    stream: Stream,
    tell: &mut dyn FnMut(Step<'_>),
) -> Result<(), PerfError> {
    options.check()?;
    Test { device, device_name, role: Role::Server, options }.over_tcp(stream, tell)
}

/// A test whose conversation is about to begin.
struct Test<'a> {
    device: &'a Device,
    device_name: &'a str,
    role: Role,
    options: &'a Options,
}

impl Test<'_> {
    fn over_tcp(&self, stream: Stream, tell: &mut dyn FnMut(Step<'_>)) -> Result<(), PerfError> {
        let peer = stream.ends().map(|(_, peer)| peer.ip());
        let heard = || self.device.counters().rcvd_pkts;
        let exchange = Exchange::new(stream, self.role, self.options.patience, &self.options.stop, &heard);
        let exchange = exchange.heralded(&self.options.herald);
        self.run(exchange, peer, None, tell)
    }

    fn run<S: Wait>(
        &self,
        mut exchange: Exchange<'_, S>,
        peer: Option<IpAddr>,
        manager: Option<&Manager>,
        tell: &mut dyn FnMut(Step<'_>),
    ) -> Result<(), PerfError> {
        let &Self { device, device_name, role, options } = self;
        let terms = exchange.agree(options.mtu).map_err(|error| match (role, error) {
            (
                Role::Client(_),
                cause @ (PerfError::Hangup { what: FIRST_WORD, .. }
                | PerfError::Silence { what: FIRST_WORD, .. }),
            ) => PerfError::TurnedAway { port: options.port, cause: Box::new(cause) },
            (_, error) => error,
        })?;
        let sizes = options.sizes(terms.mtu)?;
        let (gid_index, local) = own_gid(device, options.gid_index, peer)?;
        if manager.is_some() {
            exchange.pause()?;
        }
        let mut session = Session::open(device, options, &terms, local, manager)?;
        if manager.is_some() {
            exchange.pause()?;
        }
        tell(Step::Heading(&Heading { options, role, terms, device: device_name, gid_index }));

        let ours = session.sides(options);
        let theirs = exchange.sides(&ours)?;
        for (is_local, sides) in [(true, &ours), (false, &theirs)] {
            for &side in sides {
                tell(Step::Side(&SideLine { is_local, operation: options.operation, side }));
            }
        }
        session.connect(options, &terms, theirs)?;
        tell(Step::Connected(&session.meters()));
        requests::post_receives(&session, options)?;
        let theirs = session.remote.clone();
        if options.operation == Operation::Send {
            exchange.meet(&ours, &theirs)?;
            exchange.connected(&ours, &theirs)?;
        } else {
            exchange.connected(&ours, &theirs)?;
            exchange.meet(&ours, &theirs)?;
        }
        let stages = stages::Stages { session: &session, options, terms, role, exchange, ours, theirs, tell };
        let outcome = stages.run(&sizes);
        if let Some(served) = session.served() {
            tell(Step::Served(served));
        }
        // With the conversation, its connection would end.
        let _exchange = match (outcome, manager) {
            (Err(error), Some(manager)) => {
                manager.give_up(&session.identifiers);
                return Err(error);
            }
            (outcome, _) => outcome?,
        };
        if options.measure == Measure::Latency && options.operation == Operation::Write {
            // After the last WRITE nobody says that he has seen everything.
            stay(device, QUIET);
        }
        if let Some(manager) = manager {
            manager.part(&session.identifiers);
        }
        Ok(())
    }
}
