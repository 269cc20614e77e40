//! The start-up of MPA, each side by itself and both together.
//!
//! Rule: mpa-request-first: The responder says nothing before it has the whole request (RFC 5044 §7.1.2).
//! Rule: mpa-wait-for-reply: Bytes behind the request and before the reply are an error (RFC 5044 §7.1.2).
//! Rule: mpa-crc-either: CRCs are used if either side asks for them (RFC 5044 §7.1.1).
//! Rule: mpa-markers-by-receiver: Markers are sent to who asks to receive them, whatever we receive ourselves (RFC 5044 §7.1.1).
//! Rule: mpa-private-data-limit: A frame with more than 512 bytes of private data is no frame (RFC 5044 §7.1.1).
//! Rule: mpa-reject: A reply with the reject bit ends the start-up and hands over its private data (RFC 5044 §7.1.1).
//! Rule: mpa-revision: A revision that we do not speak ends the start-up (RFC 5044 §7.1.1).
//! Rule: mpa-wrong-kind: Two initiators, or two responders, do not make a stream (RFC 5044 §7.1.1).
//! Rule: mpa-end-in-start-up: A stream that ends within a start-up frame is a fault (RFC 5044 §7.1.2).
//! Rule: mpa-enhanced-answer: A request with enhanced data gets a reply with enhanced data, one without gets none (RFC 6581 §9).
//! Rule: mpa-ird-ord: The one side's outbound READs are at most the other's inbound ones (RFC 6581 §9.1).
//! Rule: mpa-insufficient-ird: An initiator that takes fewer READs than the responder wants ends the stream by that error (RFC 6581 §9.1).
//! Rule: mpa-not-negotiated: An IRD or ORD of 0x3fff leaves the other side's number as it is (RFC 6581 §9.1).
//! Rule: mpa-peer-to-peer-answer: The reply to a peer-to-peer request is peer-to-peer (RFC 6581 §9.2).
//! Rule: mpa-rtr-one: The responder picks exactly one ready-to-receive message of those offered (RFC 6581 §9.2).
//! Rule: mpa-rtr-none-matches: A responder that knows none of those offered rejects; an initiator that is answered with none, two or another ends the stream by that error (RFC 6581 §9.2).

use rdmalab_iwarp::{
    Asked, Initiator, Negotiated, PrivateDataTooLong, Profile, ReadySet, ReadyToReceive, Refusal, Reply,
    Responder, Role, StartUpFault, Terms,
};
use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind, TerminateError};

const SPEC: Profile = Profile::SPEC;

fn terms(profile: &Profile) -> Terms {
    Terms::of(profile, 16, 8)
}

/// The bytes of a frame.
fn bytes(frame: &MpaFrame<'_>) -> Vec<u8> {
    let mut bytes = vec![0; frame.encoded_length()];
    frame.encode(&mut bytes).unwrap();
    bytes
}

fn request() -> MpaFrame<'static> {
    MpaFrame { crc: false, ..MpaFrame::new(MpaKind::Request) }
}

fn reply() -> MpaFrame<'static> {
    MpaFrame { crc: false, ..MpaFrame::new(MpaKind::Reply) }
}

/// What a responder that accepts makes of a request, and its reply.
#[track_caller]
fn answered(profile: &Profile, terms: &Terms, frame: &MpaFrame<'_>) -> (Negotiated, Vec<u8>) {
    let mut responder = Responder::new(profile);
    assert_eq!(responder.handle_bytes(&bytes(frame)), Ok(Some(Asked::Requested)));
    let negotiated = responder.accept(terms, b"welcome").unwrap().unwrap();
    (negotiated, responder.reply().to_vec())
}

/// What an initiator makes of a reply.
fn judged(profile: &Profile, terms: &Terms, frame: &MpaFrame<'_>) -> Result<Option<Reply>, StartUpFault> {
    let mut initiator = Initiator::new(profile, terms, b"").unwrap();
    initiator.handle_bytes(&mut &bytes(frame)[..])
}

fn parsed(bytes: &[u8]) -> MpaFrame<'_> {
    let (frame, length) = MpaFrame::parse(bytes).unwrap().unwrap();
    assert_eq!(length, bytes.len());
    frame
}

#[test]
fn both_sides_come_to_the_same_terms_however_the_bytes_are_cut() {
    for first in Profile::ALL {
        for second in Profile::ALL {
            let mut initiator = Initiator::new(&first, &terms(&first), b"hello").unwrap();
            let whole = initiator.request().to_vec();
            if !second.revisions.contains(&first.revision()) {
                assert!(Responder::new(&second).handle_bytes(&whole).is_err());
                continue;
            }
            for cut in 0..=whole.len() {
                let mut responder = Responder::new(&second);
                let (head, tail) = whole.split_at(cut);
                let expected = (!tail.is_empty()).then_some(Asked::Requested);
                if cut == whole.len() {
                    assert_eq!(responder.handle_bytes(head), Ok(Some(Asked::Requested)));
                } else {
                    assert_eq!(responder.handle_bytes(head), Ok(None));
                    assert!(responder.reply().is_empty() && responder.request().is_none());
                }
                assert_eq!(responder.handle_bytes(tail), Ok(expected));
                assert_eq!(responder.request().unwrap().private_data, b"hello");
            }
            let mut responder = Responder::new(&second);
            for (at, byte) in whole.iter().enumerate() {
                let asked = (at + 1 == whole.len()).then_some(Asked::Requested);
                assert_eq!(responder.handle_bytes(&[*byte]), Ok(asked));
            }
            let theirs = responder.accept(&terms(&second), b"welcome").unwrap().unwrap();
            let mut ours = None;
            let reply = [responder.reply(), b"behind"].concat();
            let mut rest = &reply[..];
            while ours.is_none() {
                let mut one = &rest[..1];
                ours = initiator.handle_bytes(&mut one).unwrap();
                rest = &rest[1..];
            }
            assert_eq!(rest, b"behind", "what follows the reply is left alone");
            assert_eq!(initiator.private_data(), b"welcome");
            let Some(Reply::Accepted(ours)) = ours else { panic!("{ours:?}") };
            assert_eq!((ours.role, theirs.role), (Role::Initiator, Role::Responder));
            let mirrored = Negotiated {
                role: Role::Initiator,
                send_markers: theirs.receive_markers,
                receive_markers: theirs.send_markers,
                // What one side may have under way the other takes.
                ird: ours.ird,
                ord: ours.ord,
                ..theirs
            };
            assert_eq!(ours, mirrored);
            assert!(ours.ord <= theirs.ird && theirs.ord <= ours.ird);
        }
    }
}

#[test]
fn crcs_are_used_if_either_side_asks_for_them() {
    for (asked, own) in [(false, false), (true, false), (false, true), (true, true)] {
        let terms = Terms { crc: own, ..terms(&SPEC) };
        let (negotiated, answer) = answered(&SPEC, &terms, &MpaFrame { crc: asked, ..request() });
        assert_eq!(negotiated.crc, asked || own);
        assert_eq!(parsed(&answer).crc, asked || own);
        let client_server = Terms { ready_to_receive: ReadySet::empty(), revision: 1, ..terms };
        let found = judged(&SPEC, &client_server, &MpaFrame { crc: asked, ..reply() });
        let Ok(Some(Reply::Accepted(negotiated))) = found else { panic!("{found:?}") };
        assert_eq!(negotiated.crc, asked || own);
    }
}

#[test]
fn markers_go_to_who_asks_for_them() {
    for (asked, own) in [(false, false), (true, false), (false, true), (true, true)] {
        let terms = Terms { markers: own, ..terms(&SPEC) };
        let (negotiated, answer) = answered(&SPEC, &terms, &MpaFrame { markers: asked, ..request() });
        assert_eq!((negotiated.send_markers, negotiated.receive_markers), (asked, own));
        assert_eq!(parsed(&answer).markers, own, "the reply says what its sender wants to receive");
    }
}

#[test]
fn a_profile_without_markers_rejects_who_wants_them() {
    let mut responder = Responder::new(&Profile::SIW);
    let asked = responder.handle_bytes(&bytes(&MpaFrame { markers: true, ..request() }));
    assert_eq!(asked, Ok(Some(Asked::Refused(Refusal::Markers))));
    let wants = MpaFrame { markers: true, revision: 1, ..reply() };
    let own = Terms { revision: 1, ..terms(&Profile::SIW) };
    assert_eq!(judged(&Profile::SIW, &own, &wants), Err(StartUpFault::Markers));
    assert!(judged(&SPEC, &Terms { revision: 1, ..terms(&SPEC) }, &wants).is_ok());
    assert!(parsed(responder.reply()).reject);
}

#[test]
fn bytes_between_request_and_reply_are_a_fault() {
    let whole = bytes(&request());
    let mut responder = Responder::new(&SPEC);
    assert_eq!(responder.handle_bytes(&[&whole[..], b"!"].concat()), Err(StartUpFault::DataBeforeReply));
    let mut responder = Responder::new(&SPEC);
    assert_eq!(responder.handle_bytes(&whole), Ok(Some(Asked::Requested)));
    assert_eq!(responder.handle_bytes(b"!"), Err(StartUpFault::DataBeforeReply));
}

#[test]
fn a_rejection_hands_over_its_private_data() {
    let mut responder = Responder::new(&SPEC);
    let mut initiator = Initiator::new(&SPEC, &terms(&SPEC), b"may I?").unwrap();
    responder.handle_bytes(initiator.request()).unwrap();
    responder.reject(b"no").unwrap();
    assert_eq!(initiator.handle_bytes(&mut responder.reply()), Ok(Some(Reply::Rejected)));
    assert_eq!(initiator.private_data(), b"no");
}

#[test]
fn a_revision_that_is_not_spoken_is_a_fault() {
    let new = MpaFrame { revision: 3, ..request() };
    let fault = StartUpFault::Revision { found: 3, newest: 2 };
    assert_eq!(Responder::new(&SPEC).handle_bytes(&bytes(&new)), Err(fault));
    let old = MpaFrame { revision: 0, ..request() };
    assert!(Responder::new(&SPEC).handle_bytes(&bytes(&old)).is_err());
    assert_eq!(Responder::new(&Profile::SIW).handle_bytes(&bytes(&old)), Ok(Some(Asked::Requested)));
    let enhanced = MpaFrame { revision: 2, enhanced: Some(Enhanced::default()), ..request() };
    let fault = StartUpFault::Revision { found: 2, newest: 1 };
    assert_eq!(Responder::new(&Profile::CHELSIO_LIKE).handle_bytes(&bytes(&enhanced)), Err(fault));
    let newer = MpaFrame { revision: 2, ..reply() };
    assert_eq!(judged(&Profile::CHELSIO_LIKE, &terms(&Profile::CHELSIO_LIKE), &newer), Err(fault));
}

#[test]
fn a_reply_of_revision_1_does_for_the_client_server_model_only() {
    let terms = terms(&SPEC);
    assert_eq!(judged(&SPEC, &terms, &reply()), Err(StartUpFault::NotEnhanced));
    let client_server = Terms { ready_to_receive: ReadySet::empty(), ..terms };
    let found = judged(&SPEC, &client_server, &reply());
    let Ok(Some(Reply::Accepted(negotiated))) = found else { panic!("{found:?}") };
    assert_eq!((negotiated.revision, negotiated.ird, negotiated.ord), (1, 16, 8));
}

#[test]
fn a_request_of_an_old_revision_is_answered_in_kind() {
    let (negotiated, answer) = answered(&SPEC, &terms(&SPEC), &request());
    let answer = parsed(&answer);
    assert_eq!((answer.revision, answer.enhanced), (1, None));
    assert_eq!((negotiated.ird, negotiated.ord, negotiated.ready_to_receive), (16, 8, None));
}

#[test]
fn two_of_the_same_kind_make_no_stream() {
    let fault = Err(StartUpFault::WrongKind(MpaKind::Reply));
    assert_eq!(Responder::new(&SPEC).handle_bytes(&bytes(&reply())), fault);
    assert_eq!(judged(&SPEC, &terms(&SPEC), &request()), Err(StartUpFault::WrongKind(MpaKind::Request)));
}

#[test]
fn nonsense_is_a_fault_as_soon_as_it_shows() {
    let mut responder = Responder::new(&SPEC);
    assert_eq!(responder.handle_bytes(b"MPA "), Ok(None));
    assert!(matches!(responder.handle_bytes(b"GET /"), Err(StartUpFault::Malformed(_))));
    let mut long = bytes(&request());
    long[18..20].copy_from_slice(&513_u16.to_be_bytes());
    assert!(matches!(Responder::new(&SPEC).handle_bytes(&long), Err(StartUpFault::Malformed(_))));
}

#[test]
fn a_stream_that_ends_within_a_frame_is_a_fault() {
    let whole = bytes(&request());
    let mut responder = Responder::new(&SPEC);
    assert!(responder.handle_end().is_err());
    responder.handle_bytes(&whole[..19]).unwrap();
    assert!(responder.handle_end().is_err());
    responder.handle_bytes(&whole[19..]).unwrap();
    assert_eq!(responder.handle_end(), Ok(()));
    let initiator = Initiator::new(&SPEC, &terms(&SPEC), b"").unwrap();
    assert!(initiator.handle_end().is_err());
}

#[test]
fn private_data_fits_the_frame_and_the_profile() {
    let most = [7; 512];
    let client_server = Terms { revision: 1, ..terms(&SPEC) };
    assert!(Initiator::new(&SPEC, &client_server, &most).is_ok());
    // Enhanced data takes four of them.
    let fault = PrivateDataTooLong::ForFrame { length: 509, limit: 508 };
    assert_eq!(Initiator::new(&SPEC, &terms(&SPEC), &most[..509]).unwrap_err(), fault);
    assert!(Initiator::new(&SPEC, &terms(&SPEC), &most[..508]).is_ok());
    let long = MpaFrame { private_data: &most[..257], ..request() };
    let fault = StartUpFault::PrivateData { length: 257, limit: 256 };
    assert_eq!(Responder::new(&Profile::SIW).handle_bytes(&bytes(&long)), Err(fault));
    let mut responder = Responder::new(&SPEC);
    responder.handle_bytes(&bytes(&request())).unwrap();
    assert!(responder.accept(&terms(&SPEC), &[0; 513]).is_err());
    assert!(responder.reject(&[0; 513]).is_err());
}

/// siw refuses a longer request, and a longer reply stops its kernel (docs/SIW.md).
#[test]
fn only_the_profile_of_the_specification_sends_more_private_data_than_siw_bears() {
    let most = [7; 513];
    for profile in Profile::ALL {
        let is_spec = profile.name == SPEC.name;
        let revision = profile.revision();
        let asked = MpaFrame { revision, enhanced: (revision == 2).then(Enhanced::default), ..request() };
        let room = if revision == 2 { 508 } else { 512 };
        let limit = if is_spec { room } else { room - 256 };
        let fault = |length: usize| {
            if length > room {
                PrivateDataTooLong::ForFrame { length, limit: room }
            } else {
                PrivateDataTooLong::ForSiw { length, limit, room }
            }
        };
        for length in [limit, limit + 1, room, room + 1] {
            let data = &most[..length];
            let expected = if length > limit { Some(fault(length)) } else { None };
            let ours = Initiator::new(&profile, &terms(&profile), data);
            assert_eq!(ours.err(), expected, "{}: a request with {length}", profile.name);
            let mut responder = Responder::new(&profile);
            assert_eq!(responder.handle_bytes(&bytes(&asked)), Ok(Some(Asked::Requested)));
            assert_eq!(responder.accept(&terms(&profile), data).err(), expected, "{}: a reply", profile.name);
            assert_eq!(responder.reject(data).err(), expected, "{}: a rejection", profile.name);
        }
    }
    let text = PrivateDataTooLong::ForSiw { length: 253, limit: 252, room: 508 }.to_string();
    assert!(
        text.contains("253") && text.contains("252") && text.contains("siw") && text.contains("spec"),
        "{text}"
    );
}

fn enhanced(change: impl FnOnce(&mut Enhanced)) -> Option<Enhanced> {
    let mut enhanced = Enhanced { ird: 4, ord: 32, ..Enhanced::default() };
    change(&mut enhanced);
    Some(enhanced)
}

#[test]
fn neither_side_has_more_reads_under_way_than_the_other_takes() {
    let asked = MpaFrame { revision: 2, enhanced: enhanced(|_| {}), ..request() };
    let (negotiated, answer) = answered(&SPEC, &terms(&SPEC), &asked);
    assert_eq!((negotiated.ird, negotiated.ord), (16, 4));
    let answer = parsed(&answer).enhanced.unwrap();
    assert_eq!((answer.ird, answer.ord, answer.peer_to_peer), (16, 4, false));
    let client_server = Terms { ready_to_receive: ReadySet::empty(), ..terms(&SPEC) };
    let few = MpaFrame { revision: 2, enhanced: enhanced(|e| e.ord = 16), ..reply() };
    let found = judged(&SPEC, &client_server, &few);
    let Ok(Some(Reply::Accepted(negotiated))) = found else { panic!("{found:?}") };
    assert_eq!((negotiated.ird, negotiated.ord), (16, 4));
}

#[test]
fn a_responder_that_wants_more_reads_than_we_take_is_told_so() {
    let client_server = Terms { ready_to_receive: ReadySet::empty(), ..terms(&SPEC) };
    let many = MpaFrame { revision: 2, enhanced: enhanced(|e| e.ord = 17), ..reply() };
    let found = judged(&SPEC, &client_server, &many);
    let Ok(Some(Reply::Unacceptable(_, error))) = found else { panic!("{found:?}") };
    assert_eq!(error, TerminateError::MPA_INSUFFICIENT_IRD);
}

#[test]
fn numbers_that_are_not_negotiated_change_nothing() {
    let open = |e: &mut Enhanced| (e.ird, e.ord) = (Enhanced::NOT_NEGOTIATED, Enhanced::NOT_NEGOTIATED);
    let asked = MpaFrame { revision: 2, enhanced: enhanced(open), ..request() };
    let (negotiated, _) = answered(&SPEC, &terms(&SPEC), &asked);
    assert_eq!((negotiated.ird, negotiated.ord), (16, 8));
    let mut responder = Responder::new(&SPEC);
    responder.handle_bytes(&bytes(&asked)).unwrap();
    let request = responder.request().unwrap();
    assert_eq!((request.ird, request.ord), (None, None));
    let client_server = Terms { ready_to_receive: ReadySet::empty(), ..terms(&SPEC) };
    let answer = MpaFrame { revision: 2, enhanced: enhanced(open), ..reply() };
    let found = judged(&SPEC, &client_server, &answer);
    let Ok(Some(Reply::Accepted(negotiated))) = found else { panic!("{found:?}") };
    assert_eq!((negotiated.ird, negotiated.ord), (16, 8));
}

#[test]
fn a_responder_picks_the_ready_to_receive_message_it_likes_best() {
    let cases = [
        (SPEC, ReadySet::all(), ReadyToReceive::Write),
        (SPEC, ReadySet::EMPTY | ReadySet::READ, ReadyToReceive::Read),
        (SPEC, ReadySet::EMPTY, ReadyToReceive::Empty),
        (Profile::SIW, ReadySet::all(), ReadyToReceive::Write),
        (Profile::SIW, ReadySet::EMPTY | ReadySet::READ, ReadyToReceive::Read),
    ];
    for (profile, offered, picked) in cases {
        let ours = Terms { ready_to_receive: offered, ..terms(&SPEC) };
        let mut initiator = Initiator::new(&SPEC, &ours, b"").unwrap();
        let mut responder = Responder::new(&profile);
        assert_eq!(responder.handle_bytes(initiator.request()), Ok(Some(Asked::Requested)));
        assert!(responder.request().unwrap().peer_to_peer);
        let theirs = responder.accept(&terms(&profile), b"").unwrap().unwrap();
        assert_eq!(theirs.ready_to_receive, Some(picked));
        let answer = parsed(responder.reply()).enhanced.unwrap();
        assert!(answer.peer_to_peer);
        let named = [answer.rtr_empty, answer.rtr_write, answer.rtr_read];
        assert_eq!(named.into_iter().filter(|named| *named).count(), 1);
        let found = initiator.handle_bytes(&mut responder.reply());
        let Ok(Some(Reply::Accepted(ours))) = found else { panic!("{found:?}") };
        assert_eq!(ours.ready_to_receive, Some(picked));
    }
}

#[test]
fn no_ready_to_receive_message_in_common_ends_it() {
    let ours = Terms { ready_to_receive: ReadySet::EMPTY, ..terms(&SPEC) };
    let mut initiator = Initiator::new(&SPEC, &ours, b"").unwrap();
    let mut responder = Responder::new(&Profile::SIW);
    let asked = responder.handle_bytes(initiator.request());
    assert_eq!(asked, Ok(Some(Asked::Refused(Refusal::NoMatchingRtr))));
    assert_eq!(initiator.handle_bytes(&mut responder.reply()), Ok(Some(Reply::Rejected)));
    // None, another, two.
    let answers: [fn(&mut Enhanced); 3] =
        [|_| {}, |e| e.rtr_read = true, |e| (e.rtr_empty, e.rtr_write) = (true, true)];
    for answer in answers {
        let frame = MpaFrame {
            revision: 2,
            enhanced: enhanced(|e| {
                e.peer_to_peer = true;
                answer(e);
            }),
            ..reply()
        };
        let found = judged(&SPEC, &ours, &frame);
        let Ok(Some(Reply::Unacceptable(_, error))) = found else { panic!("{found:?}") };
        assert_eq!(error, TerminateError::MPA_NO_MATCHING_RTR);
    }
}

#[test]
fn a_reply_of_the_other_model_than_asked_for_is_a_fault() {
    let client_server = MpaFrame { revision: 2, enhanced: enhanced(|_| {}), ..reply() };
    assert_eq!(judged(&SPEC, &terms(&SPEC), &client_server), Err(StartUpFault::NotEnhanced));
}

proptest::proptest! {
    /// A peer's bytes, legal in front or not, never do more than fail.
    #[test]
    fn no_bytes_do_harm(
        legal in 0..60_usize,
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..700),
        piece in 1..40_usize,
    ) {
        let whole = self::bytes(&MpaFrame { private_data: &[1; 40], ..request() });
        let stream = [&whole[..legal.min(whole.len())], &bytes[..]].concat();
        let mut responder = Responder::new(&SPEC);
        for piece in stream.chunks(piece) {
            if responder.handle_bytes(piece).is_err() {
                break;
            }
        }
        let whole = self::bytes(&MpaFrame { private_data: &[1; 40], ..reply() });
        let stream = [&whole[..legal.min(whole.len())], &bytes[..]].concat();
        let mut initiator = Initiator::new(&SPEC, &terms(&SPEC), b"").unwrap();
        for mut piece in stream.chunks(piece) {
            if !matches!(initiator.handle_bytes(&mut piece), Ok(None)) {
                break;
            }
        }
    }
}
