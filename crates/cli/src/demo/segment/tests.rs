//! A conversation by hand.

use rdmalab_wire::iwarp::{Enhanced, FpduEncoder, Framing, MpaFrame, MpaKind};

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
    scene.says((21, 21), &both[..10], true, "TCP seq=21 ack=21 len=10 | RDMAP SEND msn=1 mo=0 len=0 last");
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
