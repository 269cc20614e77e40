//! Which paragraph goes with what was seen.

use rdmalab_lint::{Cause, Role, RuleId};
use rdmalab_trace::{Dissection, Icrc, IwarpUnit, Roce};
use rdmalab_verbs::State;
use rdmalab_wire::iwarp::{MpaKind, Opcode as IwarpOpcode, RawSegment};
use rdmalab_wire::mad::CmMessage;
use rdmalab_wire::{Ecn, NakCode, Opcode, Pause, Syndrome, TransportKind};

use crate::{Explanation, all, cm, congestion, iwarp, recovery, requests, responses, states};

/// A rule that was broken: why it is a rule.
pub fn finding(rule: RuleId) -> Explanation {
    let rule = rule.rule();
    Explanation { name: rule.name, title: rule.sentence, text: rule.explanation, source: rule.source }
}

/// The explanation of a name, if there is one.
pub fn named(name: &str) -> Option<&'static Explanation> {
    all().find(|explanation| explanation.name == name)
}

/// What a queue pair does in a state.
pub fn state(state: State) -> &'static Explanation {
    match state {
        State::Reset => &states::RESET,
        State::Init => &states::INIT,
        State::Rtr => &states::RTR,
        State::Rts => &states::RTS,
        State::Sqd => &states::SQD,
        State::Sqe => &states::SQE,
        State::Err => &states::ERR,
    }
}

/// Why a requester sent again.
pub fn cause(cause: Cause) -> &'static Explanation {
    match cause {
        Cause::Nak => &recovery::GO_BACK_NAK,
        Cause::ImpliedNak => &recovery::GO_BACK_IMPLIED,
        Cause::Timeout => &recovery::GO_BACK_TIMEOUT,
        Cause::Rnr => &recovery::GO_BACK_RNR,
        Cause::Unknown => &recovery::REPETITION,
    }
}

/// What a packet's place in its conversation means; nothing is to be said where it is as it should be.
pub fn role(role: Role) -> Option<&'static Explanation> {
    Some(match role {
        Role::Request | Role::Response | Role::Alone => return None,
        Role::Repetition { is_first_seen: true, .. } => &recovery::REPETITION_FIRST_SEEN,
        Role::Repetition { cause: because, .. } => cause(because),
        Role::Duplicate => &recovery::DUPLICATE,
        Role::Late => &recovery::LATE,
        Role::Unpaired => &responses::GHOST,
    })
}

/// What an acknowledgement says.
pub fn syndrome(syndrome: Syndrome) -> &'static Explanation {
    match syndrome {
        Syndrome::Ack { .. } => &responses::ACKNOWLEDGE,
        Syndrome::RnrNak { .. } => &responses::RNR_NAK,
        Syndrome::Nak(code) => match code {
            NakCode::PsnSequenceError => &responses::NAK_SEQUENCE,
            NakCode::InvalidRequest => &responses::NAK_INVALID,
            NakCode::RemoteAccessError => &responses::NAK_ACCESS,
            NakCode::RemoteOperationalError => &responses::NAK_OPERATIONAL,
            NakCode::InvalidRdRequest => &responses::NAK_RD,
            NakCode::Unknown(_) => &responses::RESERVED_SYNDROME,
        },
        Syndrome::Reserved(_) => &responses::RESERVED_SYNDROME,
    }
}

/// What an opcode is; `None` for one that does not exist. What an acknowledgement says is its [`syndrome`].
pub fn opcode(opcode: Opcode) -> Option<&'static Explanation> {
    let row = opcode.row()?;
    Some(match (row.transport, opcode.operation()) {
        (TransportKind::Cnp, _) => &congestion::NOTIFICATION,
        (TransportKind::Ud, _) => &requests::DATAGRAM,
        (_, 0x03 | 0x05) => &requests::SEND_IMMEDIATE,
        (_, 0x00..=0x05) => &requests::SEND,
        (_, 0x16 | 0x17) => &requests::SEND_INVALIDATE,
        (_, 0x09 | 0x0b) => &requests::WRITE_IMMEDIATE,
        (_, 0x06..=0x0b) => &requests::WRITE,
        (_, 0x0c) => &requests::READ_REQUEST,
        (_, 0x0d..=0x10) => &responses::READ_RESPONSE,
        (_, 0x11) => &responses::ACKNOWLEDGE,
        (_, 0x12) => &responses::ATOMIC_ACK,
        (_, 0x13) => &requests::COMPARE_SWAP,
        (_, 0x14) => &requests::FETCH_ADD,
        (_, 0x1c) => &requests::FLUSH,
        (_, 0x1d) => &requests::ATOMIC_WRITE,
        _ => return None,
    })
}

/// What a packet means: what it is, then what is unusual about it. `placed` is its place in the conversation as
/// `rdmalab-lint` tells it, if that is known.
pub fn packet(dissection: &Dissection<'_>, placed: Option<Role>) -> Vec<&'static Explanation> {
    let mut told = Vec::new();
    if let Some(pause) = dissection.pause() {
        told.push(match pause {
            Pause::Link { .. } => &congestion::PAUSE,
            Pause::Priorities(_) => &congestion::PRIORITY_PAUSE,
        });
    }
    if let Some(packet) = dissection.roce() {
        of_roce(packet, &mut told);
    }
    for unit in &dissection.iwarp {
        of_unit(unit, &mut told);
    }
    told.extend(placed.and_then(role));
    let mut kept: Vec<&'static Explanation> = Vec::with_capacity(told.len());
    for explanation in told {
        if !kept.iter().any(|other| other.name == explanation.name) {
            kept.push(explanation);
        }
    }
    kept
}

fn of_roce(packet: &Roce<'_>, told: &mut Vec<&'static Explanation>) {
    if let Some(mad) = packet.mad() {
        told.push(mad.message().as_ref().map_or(&cm::MANAGEMENT, message));
    } else if let Some(code) = packet.packet.opcode {
        let is_acknowledgement = code.row().is_some_and(|row| row.name == "ACKNOWLEDGE");
        match packet.packet.headers.aeth {
            Some(aeth) if is_acknowledgement => told.push(syndrome(aeth.syndrome)),
            _ => told.extend(opcode(code)),
        }
        match code.row().map(|row| (row.transport, row.is_request)) {
            Some((TransportKind::Uc, _)) => told.push(&requests::UNRELIABLE),
            Some((TransportKind::Xrc, true)) => told.push(&requests::XRC),
            _ => {}
        }
    }
    let bth = packet.packet.bth;
    if bth.is_some_and(|bth| bth.solicited) {
        told.push(&requests::SOLICITED);
    }
    if packet.carrier.dscp_and_ecn().is_some_and(|(_, ecn)| ecn == Ecn::Ce) {
        told.push(&congestion::MARK);
    }
    if matches!(packet.icrc, Icrc::Wrong { .. }) {
        told.push(&recovery::CORRUPTED);
    }
}

/// What a message of connection management is.
fn message(message: &CmMessage) -> &'static Explanation {
    match message {
        CmMessage::Req(_) => &cm::REQ,
        CmMessage::Mra(_) => &cm::MRA,
        CmMessage::Rej(_) => &cm::REJ,
        CmMessage::Rep(_) => &cm::REP,
        CmMessage::Rtu(_) => &cm::RTU,
        CmMessage::Dreq(_) => &cm::DREQ,
        CmMessage::Drep(_) => &cm::DREP,
        CmMessage::SidrReq(_) => &cm::SIDR_REQ,
        CmMessage::SidrRep(_) => &cm::SIDR_REP,
        CmMessage::Lap(_) => &cm::LAP,
        CmMessage::Apr(_) => &cm::APR,
    }
}

fn of_unit(unit: &IwarpUnit, told: &mut Vec<&'static Explanation>) {
    match unit {
        IwarpUnit::StartUp(start_up) => {
            let Ok(frame) = start_up.frame() else {
                told.push(&iwarp::MPA_BROKEN);
                return;
            };
            told.push(match frame.kind {
                MpaKind::Request => &iwarp::MPA_REQUEST,
                MpaKind::Reply if frame.reject => &iwarp::MPA_REJECT,
                MpaKind::Reply => &iwarp::MPA_REPLY,
            });
        }
        IwarpUnit::Fpdu(fpdu) => {
            told.push(segment(&fpdu.segment()));
            if !fpdu.markers.is_empty() {
                told.push(&iwarp::MARKER);
            }
        }
        IwarpUnit::Gap { .. } => told.push(&iwarp::GAP),
    }
}

/// What a segment of DDP is. Without a ULPDU it is the shortest ready-to-receive message; whether a WRITE or READ of no
/// bytes is one depends on its place in the stream.
pub fn segment(segment: &RawSegment<'_>) -> &'static Explanation {
    let Some(header) = segment.header else {
        return if segment.payload.is_empty() { &iwarp::READY_TO_RECEIVE } else { &iwarp::UNKNOWN };
    };
    match header.opcode {
        IwarpOpcode::WRITE => &iwarp::WRITE,
        IwarpOpcode::READ_REQUEST => &iwarp::READ_REQUEST,
        IwarpOpcode::READ_RESPONSE => &iwarp::READ_RESPONSE,
        IwarpOpcode::SEND | IwarpOpcode::SEND_SE => &iwarp::SEND,
        IwarpOpcode::SEND_INV | IwarpOpcode::SEND_SE_INV => &iwarp::SEND_INVALIDATE,
        IwarpOpcode::TERMINATE => &iwarp::TERMINATE,
        IwarpOpcode::IMMEDIATE | IwarpOpcode::IMMEDIATE_SE => &iwarp::IMMEDIATE,
        IwarpOpcode::ATOMIC_REQUEST => &iwarp::ATOMIC_REQUEST,
        IwarpOpcode::ATOMIC_RESPONSE => &iwarp::ATOMIC_RESPONSE,
        _ => &iwarp::UNKNOWN,
    }
}
