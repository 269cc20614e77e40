//! What a TCP segment is, in words, and whether its bytes were sent before.
//!
//! Follows the one connection of the demonstration from its SYN on, as somebody who sees each segment as it is sent: both
//! ends are ours, so there is no gap and nothing is broken. The FPDUs of a stream are found when their last byte is first
//! sent; their words are kept until the peer has confirmed them, so that a segment that is sent again can say them again.

use std::collections::VecDeque;

use etherparse::{SlicedPacket, TcpSlice, TransportSlice};
use rdmalab_explain::{Explanation, frames, iwarp};
use rdmalab_sim::{End, PerEnd};
use rdmalab_wire::iwarp::{
    CrcVerdict, Event, Framer, Framing, MpaFrame, MpaKind, Opcode, RawBody, RawSegment,
};

use super::packet::{Role, Seen, other};

/// Both directions.
#[derive(Default)]
pub struct Conversation {
    ends: PerEnd<Direction>,
}

/// Why TCP sends again, as far as it shows in what it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The peer has confirmed nothing for so many nanoseconds.
    Timeout(u64),
    /// The peer has confirmed the same again and again, having got something behind a gap.
    Duplicates,
}

/// What one end has sent.
#[derive(Default)]
struct Direction {
    /// Its first sequence number, that of its SYN.
    first: Option<u32>,
    /// One behind the last sequence number that was sent, counted from the first.
    next: u32,
    /// What the peer has confirmed, counted likewise, by segments that were not lost.
    confirmed: u32,
    /// Where the last segment began that was sent again, if the last one was.
    again: Option<u32>,
    /// When the last segment with bytes was sent.
    sent: u64,
    stream: Stream,
    /// Frames and FPDUs in words, what they are, and where the segment began that ended them.
    words: VecDeque<Said>,
}

/// A frame or an FPDU.
struct Said {
    /// Where the segment began that ended it.
    at: u32,
    words: String,
    topics: Vec<&'static Explanation>,
}

/// The bytes, as far as they are new.
enum Stream {
    /// The start-up frame, as much as is there.
    StartUp(Vec<u8>),
    /// The FPDUs behind it.
    Fpdus(Box<Fpdus>),
}

/// What the start-up frame of an end asks for.
#[derive(Clone, Copy, Default)]
struct Wishes {
    /// This end wants to receive markers.
    markers: bool,
    /// The initiator's first FPDU says that it is ready, and moves nothing.
    ready_first: bool,
}

/// FPDUs of one end.
struct Fpdus {
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

/// Silence after which a repetition follows from a timer and not from what the peer said: far more than the link takes, far
/// less than any timer of TCP's (RFC 6298 §2.4: a second).
const SILENCE: u64 = 100_000_000;

impl Conversation {
    /// Looks at the next frame of an end. Only where words are asked for there is a label.
    pub fn look(&mut self, now: u64, from: End, frame: &[u8], is_lost: bool, in_words: bool) -> Seen {
        let sliced = SlicedPacket::from_ethernet(frame).ok();
        let Some(TransportSlice::Tcp(tcp)) = sliced.and_then(|sliced| sliced.transport) else {
            return Seen { label: in_words.then(|| other(frame)), ..Seen::default() };
        };
        let peer = from.opposite();
        if !is_lost && tcp.ack() {
            let theirs = &mut self.ends[peer];
            theirs.confirm(tcp.acknowledgment_number());
        }
        let acknowledged =
            tcp.ack().then(|| tcp.acknowledgment_number().wrapping_sub(self.ends[peer].first.unwrap_or(0)));
        let theirs = self.ends[peer].wishes();
        let ours = &mut self.ends[from];
        if tcp.syn() {
            ours.first.get_or_insert(tcp.sequence_number());
        }
        let at = tcp.sequence_number().wrapping_sub(ours.first.unwrap_or(0));
        let Passed { again, is_alive, cause } = ours.pass(now, at, &tcp, theirs);
        let label = in_words.then(|| {
            let length = tcp.payload().len() as u32;
            let has_bytes = length > 0 && !is_alive;
            let sign = match flags(&tcp) {
                _ if is_alive => "keep-alive ".to_owned(),
                // With bytes there is always an acknowledgement.
                flags if has_bytes && flags == "ACK" => String::new(),
                flags => flags + " ",
            };
            let mut label = format!("TCP {sign}seq={at}");
            if let Some(acknowledged) = acknowledged {
                label += &format!(" ack={acknowledged}");
            }
            if has_bytes {
                label += &format!(" len={length}");
                for words in ours.words_in(at, length) {
                    label += &format!(" | {words}");
                }
            }
            label
        });
        let topics = match (in_words, again) {
            (true, false) => ours.topics(at, &tcp, is_alive),
            _ => Vec::new(),
        };
        let has_bytes = !tcp.payload().is_empty();
        Seen { label, role: Some(Role::Segment), again, cause, has_bytes, topics }
    }

    /// Whether each end has confirmed all that the other has sent.
    pub fn is_settled(&self) -> bool {
        [&self.ends.a, &self.ends.b].iter().all(|end| end.next == end.confirmed)
    }
}

/// What a segment is for its direction.
struct Passed {
    again: bool,
    is_alive: bool,
    cause: Option<Cause>,
}

impl Direction {
    /// The peer has confirmed everything before a sequence number.
    fn confirm(&mut self, number: u32) {
        let Some(first) = self.first else { return };
        let confirmed = number.wrapping_sub(first);
        if confirmed <= self.next {
            self.confirmed = self.confirmed.max(confirmed);
        }
        let confirmed = self.confirmed;
        while self.words.front().is_some_and(|said| said.at < confirmed) {
            self.words.pop_front();
        }
    }

    /// A segment is sent that begins here.
    fn pass(&mut self, now: u64, at: u32, tcp: &TcpSlice<'_>, theirs: Wishes) -> Passed {
        let payload = tcp.payload();
        let length = payload.len() as u32 + u32::from(tcp.syn()) + u32::from(tcp.fin());
        let nothing = Passed { again: false, is_alive: false, cause: None };
        if length == 0 {
            return nothing;
        }
        // Of an idle connection the peer is asked by an old byte whether it is still there (RFC 9293 §3.8.4).
        if payload.len() <= 1 && at.wrapping_add(1) == self.next && self.confirmed == self.next {
            return Passed { is_alive: true, ..nothing };
        }
        let again = at < self.next;
        let mut cause = None;
        if again {
            // A row of repetitions has one reason.
            if self.again.is_none_or(|last| at <= last) {
                let silence = now.saturating_sub(self.sent);
                cause = Some(if silence >= SILENCE { Cause::Timeout(silence) } else { Cause::Duplicates });
            }
            self.again = Some(at);
        } else {
            self.again = None;
        }
        self.sent = now;
        let known = self.next.saturating_sub(at.wrapping_add(u32::from(tcp.syn())));
        let new = payload.get(known as usize..).unwrap_or_default();
        self.next = self.next.max(at.wrapping_add(length));
        self.read(at, new, theirs);
        Passed { again, is_alive: false, cause }
    }

    /// New bytes of the stream, in a segment that begins here.
    fn read(&mut self, at: u32, mut bytes: &[u8], theirs: Wishes) {
        if let Stream::StartUp(begun) = &mut self.stream {
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
            self.words.push_back(Said { at, words: frame.to_string(), topics: vec![topic] });
            bytes = bytes.get(length.saturating_sub(before)..).unwrap_or_default();
            // Replaced by the next bytes, when both sides have said what they want.
            self.stream = Stream::Fpdus(Box::new(Fpdus {
                framer: Framer::new(Framing::default()),
                ulpdu: Vec::new(),
                wishes,
                is_begun: false,
                has_marker: false,
            }));
        }
        let Stream::Fpdus(fpdus) = &mut self.stream else { return };
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
                    self.words.push_back(Said { at, words: format!("{segment}{crc}"), topics });
                }
            }
        }
    }

    fn wishes(&self) -> Wishes {
        match &self.stream {
            Stream::Fpdus(fpdus) => fpdus.wishes,
            Stream::StartUp(_) => Wishes::default(),
        }
    }

    /// What was ended by segments that began in these bytes.
    fn words_in(&self, at: u32, length: u32) -> impl Iterator<Item = &str> {
        self.said_in(at, length).map(|said| said.words.as_str())
    }

    fn said_in(&self, at: u32, length: u32) -> impl Iterator<Item = &Said> {
        let range = at..at.saturating_add(length);
        self.words.iter().filter(move |said| range.contains(&said.at))
    }

    /// What a segment is, that is sent for the first time.
    fn topics(&self, at: u32, tcp: &TcpSlice<'_>, is_alive: bool) -> Vec<&'static Explanation> {
        let mut topics = Vec::new();
        let length = tcp.payload().len() as u32;
        if is_alive {
            topics.push(&frames::TCP_KEEP_ALIVE);
        } else if tcp.rst() {
            topics.push(&frames::TCP_RESET);
        } else if tcp.syn() {
            topics.push(&frames::TCP_HANDSHAKE);
        } else if length == 0 && !tcp.fin() {
            topics.push(&frames::TCP_ACK);
        }
        topics.extend(self.said_in(at, length).flat_map(|said| &said.topics));
        if tcp.fin() {
            topics.push(&frames::TCP_END);
        }
        topics
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

fn flags(tcp: &TcpSlice<'_>) -> String {
    let flags = [(tcp.syn(), "SYN"), (tcp.fin(), "FIN"), (tcp.rst(), "RST"), (tcp.ack(), "ACK")];
    let set: Vec<&str> = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect();
    set.join(",")
}

#[cfg(test)]
mod tests {
    use rdmalab_wire::iwarp::{Enhanced, FpduEncoder, MpaKind};

    use super::*;

    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    /// The first sequence number of A and of B: both come to their end in a moment.
    const FIRST: PerEnd<u32> = PerEnd { a: u32::MAX - 10, b: u32::MAX - 30 };

    /// A segment in an Ethernet frame, with numbers counted from the first.
    fn frame(from: End, (sequence, acknowledgment): (u32, u32), flags: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        frame.extend([0x08, 0x00, 0x45, 0]);
        frame.extend((40 + payload.len() as u16).to_be_bytes());
        frame.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2]);
        frame.extend(FIRST[from].wrapping_add(sequence).to_be_bytes());
        frame.extend(FIRST[from.opposite()].wrapping_add(acknowledgment).to_be_bytes());
        frame.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
        frame.extend(payload);
        frame
    }

    /// A SEND of no bytes with this number.
    fn send(message: u8) -> Vec<u8> {
        let ulpdu = [0x41, 0x43, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, message, 0, 0, 0, 0];
        let mut fpdu = [0; 64];
        let framing = Framing { markers: false, crc: true };
        let length = FpduEncoder::new(framing).encode(&[&ulpdu], &mut fpdu).unwrap();
        fpdu[..length].to_vec()
    }

    struct Scene(Conversation);

    impl Scene {
        /// Behind the start-up: each end has sent its SYN and a frame of 20 bytes.
        fn new() -> Self {
            let mut scene = Self(Conversation::default());
            scene.sees(End::A, (0, 0), SYN, &[]);
            scene.sees(End::B, (0, 1), SYN | ACK, &[]);
            for (end, kind, confirmed) in [(End::A, MpaKind::Request, 1), (End::B, MpaKind::Reply, 21)] {
                let start_up = MpaFrame {
                    kind,
                    markers: false,
                    crc: true,
                    reject: false,
                    reserved: 0,
                    revision: 1,
                    enhanced: None::<Enhanced>,
                    private_data: &[],
                };
                let mut bytes = [0; 20];
                assert_eq!(start_up.encode(&mut bytes).unwrap(), 20);
                scene.sees(end, (1, confirmed), ACK, &bytes);
            }
            scene.sees(End::A, (21, 21), ACK, &[]);
            assert!(scene.0.is_settled());
            scene
        }

        fn sees(&mut self, from: End, numbers: (u32, u32), flags: u8, payload: &[u8]) -> Seen {
            self.0.look(0, from, &frame(from, numbers, flags, payload), false, true)
        }

        #[track_caller]
        fn says(&mut self, numbers: (u32, u32), payload: &[u8], again: bool, expected: &str) {
            let seen = self.sees(End::A, numbers, ACK, payload);
            assert_eq!(seen.label.as_deref(), Some(expected));
            assert_eq!(seen.again, again, "{expected}");
        }
    }

    #[test]
    fn what_is_sent_again_says_its_fpdus_however_it_is_cut() {
        let mut scene = Scene::new();
        let (one, two, three) = (send(1), send(2), send(3));
        let bytes = one.len() as u32;
        assert_eq!(bytes, 24);
        scene.says((21, 21), &one, false, "TCP seq=21 ack=21 len=24 | RDMAP SEND msn=1 mo=0 len=0 last");
        scene.says((45, 21), &two, false, "TCP seq=45 ack=21 len=24 | RDMAP SEND msn=2 mo=0 len=0 last");
        assert!(!scene.0.is_settled());
        let both = [one.clone(), two.clone()].concat();
        let words = "RDMAP SEND msn=1 mo=0 len=0 last | RDMAP SEND msn=2 mo=0 len=0 last";
        scene.says((21, 21), &both, true, &format!("TCP seq=21 ack=21 len=48 | {words}"));
        scene.says(
            (21, 21),
            &both[..10],
            true,
            "TCP seq=21 ack=21 len=10 | RDMAP SEND msn=1 mo=0 len=0 last",
        );
        scene.says((31, 21), &both[10..20], true, "TCP seq=31 ack=21 len=10");
        // The second again, and a third with it.
        let more = [two, three].concat();
        let words = "RDMAP SEND msn=2 mo=0 len=0 last | RDMAP SEND msn=3 mo=0 len=0 last";
        scene.says((45, 21), &more, true, &format!("TCP seq=45 ack=21 len=48 | {words}"));
        // What is confirmed needs no words any more.
        scene.sees(End::B, (21, 93), ACK, &[]);
        assert!(scene.0.is_settled());
        scene.says((45, 21), &more, true, "TCP seq=45 ack=21 len=48");
    }

    #[test]
    fn an_fpdu_in_two_segments_is_said_with_its_end() {
        let mut scene = Scene::new();
        let one = send(1);
        scene.says((21, 21), &one[..7], false, "TCP seq=21 ack=21 len=7");
        scene.says((28, 21), &one[7..], false, "TCP seq=28 ack=21 len=17 | RDMAP SEND msn=1 mo=0 len=0 last");
    }

    #[test]
    fn a_row_of_repetitions_has_one_cause_and_a_lost_confirmation_confirms_nothing() {
        let mut scene = Scene::new();
        let look = |scene: &mut Scene, now, at, bytes: &[u8]| {
            scene.0.look(now, End::A, &frame(End::A, (at, 21), ACK, bytes), false, false).cause
        };
        assert_eq!(look(&mut scene, 1, 21, &send(1)), None);
        assert_eq!(look(&mut scene, 2, 45, &send(2)), None);
        let confirmed = frame(End::B, (21, 69), ACK, &[]);
        scene.0.look(3, End::B, &confirmed, true, false);
        assert!(!scene.0.is_settled());
        assert_eq!(look(&mut scene, 1_000_000_002, 21, &send(1)), Some(Cause::Timeout(1_000_000_000)));
        assert_eq!(look(&mut scene, 1_000_000_002, 45, &send(2)), None);
        assert_eq!(look(&mut scene, 1_000_000_009, 21, &send(1)), Some(Cause::Duplicates));
        scene.0.look(1_000_000_010, End::B, &confirmed, false, false);
        assert!(scene.0.is_settled());
    }

    #[test]
    fn a_question_whether_the_peer_is_there_is_no_repetition() {
        let mut scene = Scene::new();
        scene.says((20, 21), &[0], false, "TCP keep-alive seq=20 ack=21");
        assert!(scene.0.is_settled());
    }
}
