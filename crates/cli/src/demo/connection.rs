//! The connection of iWARP: B listens, A calls, both are told; at the end A hangs up. In the ladder these are acts of their
//! own: TCP's handshake, the start-up of MPA, and TCP's end.
//!
//! Over RoCE the demonstration's queue pairs are connected beforehand, and nothing of that is shown.

use std::io::Write;
use std::net::SocketAddr;

use rdmalab_device::{
    CmChannel, CmEvent, CmEventKind, CmId, ConnectionParameters, Connections, DisconnectCause, IwarpSettings,
    PortSpace, Transport,
};
use rdmalab_sim::{End, PerEnd, Seed};

use super::exchange::{Course, Failure, LAST_MOMENT};
use super::ladder::Mark;
use super::pair::{Pair, READS, unexpected};
use super::setup;
use super::witness::Witness;
use crate::outcome::{Error, Result, unprinted};

/// Where B listens.
pub const PORT: u16 = 7174;
/// Callers that may wait.
const BACKLOG: usize = 1;

/// What both sides have of the connection.
pub struct Line {
    channels: PerEnd<CmChannel>,
    /// Who calls, and who is called; B listens until then.
    identifiers: PerEnd<CmId>,
    stands: PerEnd<bool>,
    /// A has hung up, or asks what ends the connection.
    is_ending: bool,
    is_over: PerEnd<bool>,
}

impl Line {
    /// Identifiers on both sides; nothing has been sent.
    pub fn new(network: &mut rdmalab_device::Network, settings: &IwarpSettings, seed: Seed) -> Result<Self> {
        let mut open = |end: End| -> Result<(CmChannel, CmId)> {
            let port = &mut network.adapter(end).port;
            let branch = if end == End::A { 0 } else { 1 };
            port.manage_connections(seed.branch(branch).random().below(u64::MAX)).map_err(unexpected)?;
            port.set_transport(Transport::Iwarp, settings.clone());
            let mut connections = port.connections().map_err(unexpected)?;
            let channel = connections.create_channel().map_err(unexpected)?;
            Ok((channel, connections.create_id(channel, PortSpace::Tcp).map_err(unexpected)?))
        };
        let (a, b) = (open(End::A)?, open(End::B)?);
        Ok(Self {
            channels: PerEnd { a: a.0, b: b.0 },
            identifiers: PerEnd { a: a.1, b: b.1 },
            stands: PerEnd::default(),
            is_ending: false,
            is_over: PerEnd::default(),
        })
    }
}

/// The first act.
pub fn connect<W: Write>(pair: &mut Pair, witness: &mut Witness<W>, course: &mut Course) -> Result<()> {
    let story = "A calls B: TCP's handshake, and the start-up of MPA says what both want.";
    witness.ladder.act("CONNECT", story).map_err(unprinted)?;
    let Some(line) = &pair.line else { return Ok(()) };
    let (caller, listener) = (line.identifiers.a, line.identifiers.b);
    let at = SocketAddr::new(pair.side(End::B).address, PORT);
    connections(pair, End::B)?.listen(listener, at, BACKLOG).map_err(unexpected)?;
    witness.mark(0, End::B, Mark::Posted, &format!("B listens at TCP port {PORT}"))?;
    connections(pair, End::A)?.resolve_address(caller, None, at).map_err(unexpected)?;
    connections(pair, End::A)?.resolve_route(caller).map_err(unexpected)?;
    create_queue_pair(pair, End::A)?;
    connections(pair, End::A)?.connect(0, caller, &parameters()).map_err(unexpected)?;
    witness.mark(0, End::A, Mark::Posted, "A calls")?;
    run(pair, witness, course, |pair, _| {
        pair.line.as_ref().is_some_and(|line| line.stands.a && line.stands.b)
    })?;
    witness.ladder.end_act().map_err(unprinted)
}

/// What comes next ends the connection.
pub fn expect_end(pair: &mut Pair) {
    if let Some(line) = &mut pair.line {
        line.is_ending = true;
    }
}

/// Whether both are told that the connection is over.
pub fn is_over(pair: &Pair) -> bool {
    pair.line.as_ref().is_some_and(|line| line.is_over.a && line.is_over.b)
}

/// The last act.
pub fn disconnect<W: Write>(pair: &mut Pair, witness: &mut Witness<W>, course: &mut Course) -> Result<()> {
    let now = pair.now();
    let Some(line) = &mut pair.line else { return Ok(()) };
    line.is_ending = true;
    let caller = line.identifiers.a;
    witness
        .ladder
        .act("DISCONNECT", "A hangs up: each side ends its stream behind its last FPDU.")
        .map_err(unprinted)?;
    connections(pair, End::A)?.disconnect(now, caller).map_err(unexpected)?;
    witness.mark(now, End::A, Mark::Posted, "A ends the connection")?;
    run(pair, witness, course, |pair, witness| is_over(pair) && witness.is_settled() && !pair.is_carrying())?;
    witness.ladder.end_act().map_err(unprinted)
}

/// Time passes until it is done, or has failed.
fn run<W: Write>(
    pair: &mut Pair,
    witness: &mut Witness<W>,
    course: &mut Course,
    is_done: impl Fn(&Pair, &Witness<W>) -> bool,
) -> Result<()> {
    let mut goes_on = true;
    while course.failure.is_none() && !is_done(pair, witness) {
        if !goes_on {
            // At the end one side may have given up on a last word of which the other needs no confirmation.
            course.failure = (!is_over(pair)).then_some(Failure::NotConnected("nothing happened any more"));
            break;
        }
        goes_on = pair.step(LAST_MOMENT, |passage| witness.frame(passage));
        witness.check()?;
        hear(pair, witness, course)?;
    }
    Ok(())
}

/// What both sides are told of the connection, and what B answers.
pub fn hear<W: Write>(pair: &mut Pair, witness: &mut Witness<W>, course: &mut Course) -> Result<()> {
    for end in [End::A, End::B] {
        while let Some(event) = next_event(pair, end)? {
            heed(pair, end, event, witness, course)?;
        }
    }
    Ok(())
}

fn next_event(pair: &mut Pair, end: End) -> Result<Option<CmEvent>> {
    let Some(line) = &pair.line else { return Ok(None) };
    let channel = line.channels[end];
    Ok(connections(pair, end)?.poll_event(channel))
}

fn heed<W: Write>(
    pair: &mut Pair,
    end: End,
    event: CmEvent,
    witness: &mut Witness<W>,
    course: &mut Course,
) -> Result<()> {
    let now = pair.now();
    let Some(line) = &mut pair.line else { return Ok(()) };
    let failure = match event.kind {
        CmEventKind::AddressResolved | CmEventKind::RouteResolved | CmEventKind::TimeWaitExit => {
            return Ok(());
        }
        CmEventKind::ConnectRequest { offer, .. } => {
            line.identifiers[End::B] = event.id;
            let text = format!(
                "B is called, by somebody who answers {} READs at once and asks {}; it accepts",
                offer.responder_resources, offer.initiator_depth
            );
            witness.mark(now, end, Mark::Posted, &text)?;
            create_queue_pair(pair, End::B)?;
            return connections(pair, End::B)?.accept(now, event.id, &parameters()).map_err(unexpected);
        }
        CmEventKind::Established { .. } => {
            line.stands[end] = true;
            return witness.mark(now, end, Mark::Done, &format!("{end} is connected"));
        }
        CmEventKind::Disconnected(cause) => {
            line.is_over[end] = true;
            let (mark, text) = match cause {
                DisconnectCause::Ours | DisconnectCause::Peer | DisconnectCause::Both => {
                    (Mark::Done, format!("{end} is told that the connection is over"))
                }
                _ => (Mark::Failed, format!("{end} is told that the connection is lost")),
            };
            witness.mark(now, end, mark, &text)?;
            if line.is_ending {
                return Ok(());
            }
            Failure::ConnectionLost
        }
        CmEventKind::Unreachable | CmEventKind::AddressError(_) => Failure::NotConnected("B did not answer"),
        CmEventKind::Rejected { .. } => Failure::NotConnected("B refused"),
        _ => Failure::NotConnected("the start-up came to nothing"),
    };
    course.failure.get_or_insert(failure);
    Ok(())
}

fn create_queue_pair(pair: &mut Pair, end: End) -> Result<()> {
    let Some(line) = &pair.line else { return Ok(()) };
    let id = line.identifiers[end];
    let config = setup::iwarp_config(pair.side(end));
    let number = connections(pair, end)?.create_queue_pair(id, &config).map_err(unexpected)?;
    pair.sides[end].queue_pair = number;
    Ok(())
}

fn parameters() -> ConnectionParameters<'static> {
    ConnectionParameters { responder_resources: READS, initiator_depth: READS, ..Default::default() }
}

fn connections(pair: &mut Pair, end: End) -> std::result::Result<Connections<'_>, Error> {
    pair.network.adapter(end).port.connections().map_err(unexpected)
}
