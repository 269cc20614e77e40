//! A connection made in view: B listens, A calls, both are told; at the end A hangs up. In the ladder these are acts of their
//! own: TCP's handshake, the start-up of MPA, and TCP's end; over RoCE the messages of connection management.
//!
//! Over RoCE that is shown only where it is asked for. Otherwise the demonstration's queue pairs are connected beforehand.

use std::io::Write;
use std::net::SocketAddr;

use rdmalab_device::{
    CmChannel, CmEvent, CmEventKind, CmId, ConnectionParameters, Connections, DisconnectCause, IwarpSettings,
    PortSpace, Transport,
};
use rdmalab_explain::states;
use rdmalab_sim::{End, PerEnd, Seed};

use super::exchange::{Course, Failure, LAST_MOMENT, observe};
use super::ladder::Mark;
use super::pair::{Pair, READS, unexpected};
use super::setup;
use super::transport::Transport as Shown;
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
    transport: Shown,
    /// A has hung up, or asks what ends the connection.
    is_ending: bool,
    is_over: PerEnd<bool>,
}

impl Line {
    /// Identifiers on both sides; nothing has been sent.
    pub fn new(
        network: &mut rdmalab_device::Network,
        transport: Shown,
        settings: &IwarpSettings,
        seed: Seed,
    ) -> Result<Self> {
        let mut open = |end: End| -> Result<(CmChannel, CmId)> {
            let port = &mut network.adapter(end).port;
            let branch = if end == End::A { 0 } else { 1 };
            port.manage_connections(seed.branch(branch).random().below(u64::MAX)).map_err(unexpected)?;
            let over = if transport == Shown::Iwarp { Transport::Iwarp } else { Transport::default() };
            port.set_transport(over, settings.clone());
            let mut connections = port.connections().map_err(unexpected)?;
            let channel = connections.create_channel().map_err(unexpected)?;
            Ok((channel, connections.create_id(channel, PortSpace::Tcp).map_err(unexpected)?))
        };
        let (a, b) = (open(End::A)?, open(End::B)?);
        Ok(Self {
            channels: PerEnd { a: a.0, b: b.0 },
            identifiers: PerEnd { a: a.1, b: b.1 },
            stands: PerEnd::default(),
            transport,
            is_ending: false,
            is_over: PerEnd::default(),
        })
    }
}

/// The first act; `both` if B is to send, too, for which it must have heard the RTU.
pub fn connect<W: Write>(
    pair: &mut Pair,
    witness: &mut Witness<W>,
    course: &mut Course,
    both: bool,
) -> Result<()> {
    let Some(line) = &pair.line else { return Ok(()) };
    let (story, place) = match line.transport {
        Shown::Iwarp => {
            ("A calls B: TCP's handshake, and the start-up of MPA says what both want.", "TCP port")
        }
        _ => ("A calls B: REQ, REP and RTU say what each must know of the other.", "port"),
    };
    witness.ladder.act("CONNECT", story).map_err(unprinted)?;
    let (caller, listener) = (line.identifiers.a, line.identifiers.b);
    let at = SocketAddr::new(pair.side(End::B).address, PORT);
    connections(pair, End::B)?.listen(listener, at, BACKLOG).map_err(unexpected)?;
    witness.mark(0, End::B, Mark::Posted, &format!("B listens at {place} {PORT}"))?;
    connections(pair, End::A)?.resolve_address(caller, None, at).map_err(unexpected)?;
    connections(pair, End::A)?.resolve_route(caller).map_err(unexpected)?;
    create_queue_pair(pair, End::A)?;
    connections(pair, End::A)?.connect(0, caller, &parameters()).map_err(unexpected)?;
    witness.mark(0, End::A, Mark::Posted, "A calls")?;
    run(pair, witness, course, |pair, _| {
        // Over RoCE the caller may send right behind its RTU.
        let waits_for_b = |line: &Line| both || line.transport == Shown::Iwarp;
        pair.line.as_ref().is_some_and(|line| line.stands.a && (line.stands.b || !waits_for_b(line)))
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
    let story = match line.transport {
        Shown::Iwarp => "A hangs up: each side ends its stream behind its last FPDU.",
        _ => "A hangs up: DREQ asks for the end of the connection, DREP agrees.",
    };
    witness.ladder.act("DISCONNECT", story).map_err(unprinted)?;
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
        goes_on = pair.step(LAST_MOMENT, witness);
        witness.check()?;
        observe(pair, witness);
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
            let is_stream = line.transport == Shown::Iwarp;
            witness.mark(now, end, Mark::Done, &format!("{end} is connected"))?;
            let (state, what) = if is_stream {
                (&states::STREAM_OPEN, format!("at {end}"))
            } else {
                (&states::RTS, format!("{end}'s queue pair"))
            };
            witness.explain(state, &what);
            return Ok(());
        }
        CmEventKind::Disconnected(cause) => {
            line.is_over[end] = true;
            let (mark, text) = match cause {
                DisconnectCause::Ours
                | DisconnectCause::Peer
                | DisconnectCause::Both
                | DisconnectCause::TerminatedByUs(_)
                | DisconnectCause::TerminatedByPeer(_) => {
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
    let config = setup::connected_config(pair.side(end));
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
