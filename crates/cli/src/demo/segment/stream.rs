//! What the bytes of one direction are: a start-up frame, and FPDUs behind it.

use rdmalab_explain::{Explanation, iwarp};
use rdmalab_wire::iwarp::{
    CrcVerdict, Event, Framer, Framing, MpaFrame, MpaKind, Opcode, RawBody, RawSegment,
};

/// The new bytes of one end.
pub enum Stream {
    /// The start-up frame, as much as is there.
    StartUp(Vec<u8>),
    /// The FPDUs behind it.
    Fpdus(Box<Fpdus>),
}

/// What the start-up frame of an end asks for.
#[derive(Clone, Copy, Default)]
pub struct Wishes {
    /// This end wants to receive markers.
    markers: bool,
    /// The initiator's first FPDU says that it is ready, and moves nothing.
    ready_first: bool,
}

/// FPDUs of one end.
pub struct Fpdus {
    framer: Framer,
    /// The ULPDU under way.
    ulpdu: Vec<u8>,
    wishes: Wishes,
    /// One has ended.
    is_begun: bool,
    /// A marker stood in or in front of the one under way.
    has_marker: bool,
}

impl Default for Stream {
    fn default() -> Self {
        Self::StartUp(Vec::new())
    }
}

impl Stream {
    /// Takes new bytes; tells of each frame and FPDU that they end, in words, and what it is.
    pub fn read(
        &mut self,
        mut bytes: &[u8],
        theirs: Wishes,
        mut tell: impl FnMut(String, Vec<&'static Explanation>),
    ) {
        if let Stream::StartUp(begun) = self {
            let before = begun.len();
            begun.extend_from_slice(bytes);
            let Ok(Some((frame, length))) = MpaFrame::parse(begun) else { return };
            let ready_first = frame.enhanced.is_some_and(|enhanced| enhanced.peer_to_peer);
            let wishes = Wishes { markers: frame.markers, ready_first };
            let topic = match frame.kind {
                MpaKind::Request => &iwarp::MPA_REQUEST,
                MpaKind::Reply if frame.reject => &iwarp::MPA_REJECT,
                MpaKind::Reply => &iwarp::MPA_REPLY,
            };
            tell(frame.to_string(), vec![topic]);
            bytes = bytes.get(length.saturating_sub(before)..).unwrap_or_default();
            // Replaced by the next bytes, when both sides have said what they want.
            *self = Stream::Fpdus(Box::new(Fpdus {
                framer: Framer::new(Framing::default()),
                ulpdu: Vec::new(),
                wishes,
                is_begun: false,
                has_marker: false,
            }));
        }
        let Stream::Fpdus(fpdus) = self else { return };
        let Fpdus { framer, ulpdu, is_begun, has_marker, wishes } = &mut **fpdus;
        let ready_first = wishes.ready_first && theirs.ready_first;
        if framer.position() == 0 && framer.is_between_fpdus() && !bytes.is_empty() {
            // Computed even where CRCs are not used, so that it is told whether they are.
            *framer = Framer::new(Framing { markers: theirs.markers, crc: true });
        }
        while let Some(event) = framer.next_event(&mut bytes) {
            match event {
                Event::Marker(_) => *has_marker = true,
                Event::Head(head) => {
                    ulpdu.clear();
                    ulpdu.extend_from_slice(head.header_bytes());
                }
                Event::Payload(part) => ulpdu.extend_from_slice(part),
                Event::End(end) => {
                    let crc = match end.crc.verdict() {
                        CrcVerdict::Right => "",
                        CrcVerdict::Absent => ", no CRC",
                        _ => ", wrong CRC",
                    };
                    let segment = RawSegment::parse(ulpdu);
                    let mut topics = Vec::new();
                    let is_first = !std::mem::replace(is_begun, true);
                    if is_first {
                        topics.extend([&iwarp::FPDU, &iwarp::CRC]);
                    }
                    topics.push(if is_first && ready_first && moves_nothing(&segment) {
                        &iwarp::READY_TO_RECEIVE
                    } else {
                        rdmalab_explain::segment(&segment)
                    });
                    if std::mem::take(has_marker) {
                        topics.push(&iwarp::MARKER);
                    }
                    tell(format!("{segment}{crc}"), topics);
                }
            }
        }
    }

    /// What its start-up frame asks for, once that is there.
    pub fn wishes(&self) -> Wishes {
        match self {
            Stream::Fpdus(fpdus) => fpdus.wishes,
            Stream::StartUp(_) => Wishes::default(),
        }
    }
}

/// Whether it is a message that moves no bytes.
fn moves_nothing(segment: &RawSegment<'_>) -> bool {
    match (segment.header.map(|header| header.opcode), &segment.body) {
        (None, _) => segment.payload.is_empty(),
        (Some(Opcode::WRITE), _) => segment.payload.is_empty(),
        (Some(Opcode::READ_REQUEST), Some(RawBody::ReadRequest(request))) => request.length == 0,
        _ => false,
    }
}
