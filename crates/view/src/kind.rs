//! What a packet is, as far as drawing tells packets apart.

use rdmalab_lint::{Cause, Role};
use rdmalab_trace::{Dissection, Icrc, IwarpUnit, Roce, Vcrc};
use rdmalab_wire::iwarp::{CrcVerdict, Opcode};
use rdmalab_wire::{Ecn, Syndrome, TransportKind};

use crate::model::Packet;

/// Kinds of packets, of RoCE and of iWARP alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Nothing of RDMA.
    Other,
    Send,
    Write,
    ReadRequest,
    ReadResponse,
    /// Atomic operations, ATOMIC WRITE, FLUSH: requests that are answered one by one.
    Atomic,
    AtomicResponse,
    Acknowledge,
    Nak,
    NotReady,
    /// Congestion notification, PAUSE, PFC.
    Congestion,
    Datagram,
    /// Connection management, the start-up of MPA.
    Management,
    Terminate,
    /// A TCP segment that completes nothing of iWARP.
    Segment,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Kind; 15] = [
        Kind::Other,
        Kind::Send,
        Kind::Write,
        Kind::ReadRequest,
        Kind::ReadResponse,
        Kind::Atomic,
        Kind::AtomicResponse,
        Kind::Acknowledge,
        Kind::Nak,
        Kind::NotReady,
        Kind::Congestion,
        Kind::Datagram,
        Kind::Management,
        Kind::Terminate,
        Kind::Segment,
    ];

    /// What legends and filters call it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Other => "not RDMA",
            Kind::Send => "SEND",
            Kind::Write => "WRITE",
            Kind::ReadRequest => "READ request",
            Kind::ReadResponse => "READ response",
            Kind::Atomic => "atomic, FLUSH",
            Kind::AtomicResponse => "atomic response",
            Kind::Acknowledge => "acknowledge",
            Kind::Nak => "NAK",
            Kind::NotReady => "RNR NAK",
            Kind::Congestion => "congestion",
            Kind::Datagram => "datagram",
            Kind::Management => "connection management",
            Kind::Terminate => "TERMINATE",
            Kind::Segment => "TCP only",
        }
    }

    /// Whether it goes to who asked, of RoCE.
    pub const fn is_answer(self) -> bool {
        matches!(
            self,
            Kind::Acknowledge
                | Kind::Nak
                | Kind::NotReady
                | Kind::ReadResponse
                | Kind::AtomicResponse
                | Kind::Congestion
        )
    }

    pub fn of(dissection: &Dissection<'_>) -> Kind {
        match dissection.roce() {
            Some(roce) => Kind::of_roce(roce),
            None if dissection.pause().is_some() => Kind::Congestion,
            None => Kind::of_units(&dissection.iwarp),
        }
    }

    pub(crate) fn of_roce(roce: &Roce<'_>) -> Kind {
        let Some(row) = roce.packet.opcode.and_then(|opcode| opcode.row()) else { return Kind::Other };
        match (row.transport, row.opcode & 0x1f) {
            (TransportKind::Cnp, _) => Kind::Congestion,
            (TransportKind::Ud, _) if roce.mad().is_some() => Kind::Management,
            (TransportKind::Ud, _) => Kind::Datagram,
            (_, 0x00..=0x05 | 0x16 | 0x17) => Kind::Send,
            (_, 0x06..=0x0b) => Kind::Write,
            (_, 0x0c) => Kind::ReadRequest,
            (_, 0x0d..=0x10) => Kind::ReadResponse,
            (_, 0x11) => match roce.packet.headers.aeth.map(|aeth| aeth.syndrome) {
                Some(Syndrome::RnrNak { .. }) => Kind::NotReady,
                Some(Syndrome::Nak(_) | Syndrome::Reserved(_)) => Kind::Nak,
                Some(Syndrome::Ack { .. }) | None => Kind::Acknowledge,
            },
            (_, 0x12) => Kind::AtomicResponse,
            (_, 0x13 | 0x14 | 0x1c | 0x1d) => Kind::Atomic,
            _ => Kind::Other,
        }
    }

    /// What matters most of what a segment completes: the end of the stream, then its beginning, then the first.
    fn of_units(units: &[IwarpUnit]) -> Kind {
        let kinds = || units.iter().filter_map(Kind::of_unit);
        let one_of = |wanted: Kind| kinds().find(|kind| *kind == wanted);
        one_of(Kind::Terminate)
            .or_else(|| one_of(Kind::Management))
            .or_else(|| kinds().next())
            .unwrap_or(Kind::Other)
    }

    pub(crate) fn of_unit(unit: &IwarpUnit) -> Option<Kind> {
        let fpdu = match unit {
            IwarpUnit::StartUp(_) => return Some(Kind::Management),
            IwarpUnit::Fpdu(fpdu) => fpdu,
            IwarpUnit::Gap { .. } => return None,
        };
        Some(match fpdu.segment().header.map(|header| header.opcode) {
            None => Kind::Management,
            Some(Opcode::WRITE) => Kind::Write,
            Some(Opcode::READ_REQUEST) => Kind::ReadRequest,
            Some(Opcode::READ_RESPONSE) => Kind::ReadResponse,
            Some(Opcode::TERMINATE) => Kind::Terminate,
            Some(Opcode::ATOMIC_REQUEST) => Kind::Atomic,
            Some(Opcode::ATOMIC_RESPONSE) => Kind::AtomicResponse,
            Some(_) => Kind::Send,
        })
    }
}

/// The role of a packet as a number for the page: 0 is none.
pub(crate) fn role_number(role: Option<Role>, by_acks: bool) -> u8 {
    let number = |cause: Cause| if by_acks { Cause::ALL.len() as u8 } else { cause as u8 };
    match role {
        None => 0,
        Some(Role::Request) => 1,
        Some(Role::Response) => 2,
        Some(Role::Alone) => 3,
        Some(Role::Unpaired) => 4,
        Some(Role::Late) => 5,
        Some(Role::Duplicate) => 6,
        Some(Role::Repetition { cause, is_first_seen: false }) => 7 + number(cause),
        Some(Role::Repetition { cause, is_first_seen: true }) => 13 + number(cause),
    }
}

/// In a few words, behind what the packet is; nothing of what needs none.
fn role_words(packet: &Packet) -> Option<String> {
    let (role, by_acks) = (packet.role, packet.is_resent_by_acks);
    Some(match role? {
        Role::Request | Role::Response | Role::Alone => return None,
        Role::Unpaired => "answers nothing known".to_owned(),
        Role::Late => "late".to_owned(),
        Role::Duplicate => "the same packet twice".to_owned(),
        Role::Repetition { is_first_seen, .. } if by_acks => {
            let first = if is_first_seen { "; first time not captured" } else { "" };
            format!("again: duplicate acknowledgements{first}")
        }
        Role::Repetition { cause: Cause::Unknown, .. } => "again".to_owned(),
        Role::Repetition { cause, is_first_seen: false } => format!("again: {}", cause.name()),
        Role::Repetition { cause, is_first_seen: true } => {
            format!("again: {}; first time not captured", cause.name())
        }
    })
}

/// What is to be said of a packet behind what it is, but that it is lost.
pub(crate) fn remarks(packet: &Packet) -> String {
    let marks = [
        (Marks::CONGESTED, "congestion mark"),
        (Marks::BROKEN, "broken"),
        (Marks::GAP_BEFORE, "bytes missing before"),
    ];
    let marked = marks.into_iter().filter(|(mark, _)| packet.marks.has(*mark));
    let words = role_words(packet).into_iter().chain(marked.map(|(_, words)| words.to_owned()));
    words.map(|words| format!(" ({words})")).collect()
}

/// What is remarkable about a packet, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(pub u8);

impl Marks {
    /// The capture has it, and its receiver has not: the responder says so, or a comment of who lost it.
    pub const LOST: Marks = Marks(1);
    /// It carries a congestion mark.
    pub const CONGESTED: Marks = Marks(2);
    /// A checksum is wrong, or it cannot be taken apart.
    pub const BROKEN: Marks = Marks(4);
    /// TCP: bytes in front of it are missing.
    pub const GAP_BEFORE: Marks = Marks(8);

    pub fn add(&mut self, other: Marks) {
        self.0 |= other.0;
    }

    pub fn has(self, other: Marks) -> bool {
        self.0 & other.0 != 0
    }

    pub fn of(dissection: &Dissection<'_>) -> Marks {
        let mut marks = Marks::default();
        let roce = dissection.roce();
        let ecn = match &dissection.network {
            Some(rdmalab_trace::Network::V4 { header, .. }) => Some(header.ecn),
            Some(rdmalab_trace::Network::V6(header)) => Some(header.ecn),
            None => roce.and_then(|roce| roce.carrier.dscp_and_ecn()).map(|(_, ecn)| ecn),
        };
        if ecn == Some(Ecn::Ce) {
            marks.add(Marks::CONGESTED);
        }
        let crc_is_wrong = |unit: &IwarpUnit| matches!(unit, IwarpUnit::Fpdu(fpdu) if fpdu.crc_verdict() == CrcVerdict::Wrong);
        let is_broken = dissection.malformed.is_some()
            || roce.is_some_and(|roce| {
                matches!(roce.icrc, Icrc::Wrong { .. }) || matches!(roce.vcrc, Some(Vcrc::Wrong { .. }))
            })
            || dissection.iwarp.iter().any(crc_is_wrong);
        if is_broken {
            marks.add(Marks::BROKEN);
        }
        marks
    }
}

/// Whether a comment says that the packet was lost, as those do who lose packets on purpose.
pub(crate) fn says_lost(comment: &str) -> bool {
    comment.split("; ").any(|part| part == "lost" || part.starts_with("lost ("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_numbers_of_their_places() {
        for (number, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, number);
        }
    }

    #[test]
    fn comments_of_lost_packets_are_known() {
        assert!(says_lost("lost (random loss of 5 %)"));
        assert!(says_lost("sent again after a timeout; lost (rule 1)"));
        assert!(!says_lost("the one that is lost later"));
    }
}
