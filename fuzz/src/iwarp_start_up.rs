//! The start-up of MPA against a peer that may say anything, in both roles.
//!
//! The first three bytes say who we are and what we want, the fourth how long the pieces are in which the rest comes: the peer's
//! frame, and what follows it.

use rdmalab_iwarp::{
    Asked, Initiator, Negotiated, Profile, ReadySet, ReadyToReceive, Reply, Responder, Role, StartUpFault,
    Terms,
};
use rdmalab_wire::iwarp::{Enhanced, MpaFrame, MpaKind};

const PRIVATE: [u8; 512] = [0x5a; 512];

/// Plays the start-up that the bytes stand for.
pub fn run(bytes: &[u8]) {
    let Some((&[who, wants, reads, piece], stream)) = bytes.split_first_chunk() else { return };
    let profile = &Profile::ALL[usize::from(who >> 1) % Profile::ALL.len()];
    let own = Terms::of(profile, u16::from(reads & 0x0f), u16::from(reads >> 4));
    let ready = ReadySet::from_bits_truncate(wants >> 2);
    let terms = Terms {
        revision: (wants >> 5 & 1) + 1,
        crc: own.crc ^ (wants & 1 != 0),
        markers: wants & 2 != 0,
        ready_to_receive: ready,
        ..own
    };
    let private = &PRIVATE[..usize::from(who >> 3) * 16];
    let piece = usize::from(piece) + 1;
    if who & 1 == 0 {
        initiator(profile, &terms, private, stream, piece);
    } else {
        responder(profile, &terms, private, stream, piece);
    }
}

/// We ask. What the reply comes in does not matter, and nothing behind it is taken.
fn initiator(profile: &Profile, terms: &Terms, private: &[u8], stream: &[u8], piece: usize) {
    let Ok(whole) = Initiator::new(profile, terms, private) else {
        assert!(private.len() + Enhanced::LENGTH > profile.max_sent_private_data, "{} bytes", private.len());
        return;
    };
    expect_frame(whole.request(), MpaKind::Request);
    let ask = |piece: usize| {
        let mut ours = Initiator::new(profile, terms, private).expect("it was made before");
        let mut taken = 0;
        for piece in stream.chunks(piece) {
            let mut rest = piece;
            let said = ours.handle_bytes(&mut rest);
            taken += piece.len() - rest.len();
            match said {
                Ok(None) => assert!(rest.is_empty(), "a frame that is not whole takes all"),
                Ok(Some(reply)) => return (Ok(Some(reply)), taken, ours.private_data().to_vec()),
                Err(fault) => return (Err(fault), 0, Vec::new()),
            }
        }
        assert!(stream.is_empty() || ours.handle_end().is_err());
        (Ok(None), taken, Vec::new())
    };
    let found = ask(usize::MAX);
    assert_eq!(ask(piece), found, "pieces of {piece} bytes");
    let (said, taken, _) = found;
    assert!(taken <= MpaFrame::MAX_LENGTH);
    match said {
        Ok(Some(Reply::Accepted(negotiated))) => expect_terms(&negotiated, Role::Initiator, terms),
        Ok(Some(Reply::Unacceptable(negotiated, error))) => {
            assert_eq!(negotiated.role, Role::Initiator);
            assert!(error.name().is_some());
        }
        Ok(_) => {}
        Err(fault) => assert!(!fault.to_string().is_empty()),
    }
}

/// We are asked. Whole or in pieces, the same comes of it, but that more faults than one are told in another order.
fn responder(profile: &Profile, terms: &Terms, private: &[u8], stream: &[u8], piece: usize) {
    let hear = |piece: usize| {
        let mut ours = Responder::new(profile);
        let mut asked = Ok(None);
        for piece in stream.chunks(piece) {
            match ours.handle_bytes(piece) {
                Ok(None) => {}
                Ok(said) => asked = Ok(said),
                Err(fault) => return (Err(fault), ours),
            }
        }
        (asked, ours)
    };
    let ((whole, ours), (pieces, _)) = (hear(usize::MAX), hear(piece));
    match (whole, pieces) {
        (Err(StartUpFault::DataBeforeReply), Err(_)) => {}
        (whole, pieces) => assert_eq!(whole, pieces, "pieces of {piece} bytes"),
    }
    match whole {
        Ok(Some(Asked::Requested)) => decide(profile, terms, private, ours),
        Ok(Some(Asked::Refused(_))) => {
            let reply = expect_frame(ours.reply(), MpaKind::Reply);
            assert!(reply.reject);
        }
        Ok(None) => {
            assert!(ours.reply().is_empty() && ours.request().is_none());
            assert!(stream.is_empty() || ours.handle_end().is_err());
        }
        Err(fault) => assert!(!fault.to_string().is_empty()),
    }
}

/// The application accepts, and changes its mind.
fn decide(profile: &Profile, terms: &Terms, private: &[u8], mut ours: Responder) {
    let asked = ours.request().expect("it is whole");
    assert!(
        profile.revisions.contains(&asked.revision) && asked.private_data.len() <= profile.max_private_data
    );
    let (revision, crc, peer_to_peer, markers) =
        (asked.revision, asked.crc, asked.peer_to_peer, asked.markers);
    match ours.accept(terms, private) {
        Ok(negotiated) => {
            let negotiated = negotiated.expect("there is a request");
            expect_terms(&negotiated, Role::Responder, terms);
            assert_eq!(negotiated.crc, terms.crc || crc);
            assert_eq!((negotiated.revision, negotiated.send_markers), (revision, markers));
            assert_eq!(negotiated.ready_to_receive.is_some(), peer_to_peer);
            let reply = expect_frame(ours.reply(), MpaKind::Reply);
            assert!(!reply.reject && reply.private_data == private && reply.revision == revision);
        }
        Err(_) => assert!(private.len() + Enhanced::LENGTH > profile.max_sent_private_data),
    }
    if ours.reject(private).is_ok() {
        assert!(expect_frame(ours.reply(), MpaKind::Reply).reject);
    }
}

/// What goes out is a frame and nothing but a frame.
fn expect_frame(bytes: &[u8], kind: MpaKind) -> MpaFrame<'_> {
    let (frame, length) = MpaFrame::parse(bytes).expect("what goes out is sound").expect("and whole");
    assert_eq!((frame.kind, length, frame.reserved), (kind, bytes.len(), 0));
    frame
}

fn expect_terms(negotiated: &Negotiated, role: Role, terms: &Terms) {
    assert_eq!((negotiated.role, negotiated.ird), (role, terms.ird));
    assert!(negotiated.ord <= terms.ord && (negotiated.crc || !terms.crc));
    assert_eq!(negotiated.receive_markers, terms.markers);
    if role == Role::Initiator
        && let Some(kind) = negotiated.ready_to_receive
    {
        let bit = match kind {
            ReadyToReceive::Empty => ReadySet::EMPTY,
            ReadyToReceive::Write => ReadySet::WRITE,
            ReadyToReceive::Read => ReadySet::READ,
        };
        assert!(terms.ready_to_receive.contains(bit), "{kind:?} was not offered");
    }
}
