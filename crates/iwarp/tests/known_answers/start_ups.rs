//! Start-ups that nobody asks for: our responder with siw's profile hears the requests that siw was asked, its application accepts with
//! four READs each way as siw's did, and its reply must be siw's, or the difference stands here with its reason.

use rdmalab_iwarp::{Asked, Profile, Responder, Role, Terms};
use rdmalab_wire::iwarp::MpaFrame;

use crate::capture::{Conversation, What, conversations};

/// The start-up frame of a side, if it sent one that is one.
fn frame(conversation: &Conversation, role: Role) -> Option<&[u8]> {
    conversation.said.iter().find_map(|said| match &said.what {
        What::StartUp(bytes) if said.by == role => Some(&bytes[..]),
        _ => None,
    })
}

/// A reply in words, reserved bits among them.
fn line(reply: &[u8]) -> String {
    match MpaFrame::parse(reply) {
        Ok(Some((frame, _))) if frame.reserved != 0 => format!("{frame} reserved={:#x}", frame.reserved),
        Ok(Some((frame, _))) => frame.to_string(),
        _ => "no frame".to_owned(),
    }
}

/// Our reply to a request; "nothing" where we break off.
fn ours(request: &[u8]) -> String {
    let mut ours = Responder::new(&Profile::SIW);
    match ours.handle_bytes(request) {
        Ok(Some(Asked::Requested)) => {
            ours.accept(&Terms::of(&Profile::SIW, 4, 4), &[]).unwrap();
        }
        Ok(Some(Asked::Refused(_))) => {}
        Ok(None) | Err(_) => return "nothing".to_owned(),
    }
    line(ours.reply())
}

/// Compares the replies to the first `count` requests of a capture. `differences` are those that are not the same, by what was
/// asked, with siw's and ours.
#[track_caller]
fn expect_the_same(name: &str, count: usize, differences: &[[&str; 3]]) {
    let all = conversations(&format!("siw/{name}"));
    let mut found = Vec::new();
    let mut compared = 0;
    for conversation in &all {
        let Some(request) = frame(conversation, Role::Initiator).filter(|_| compared < count) else {
            continue;
        };
        compared += 1;
        let siws = frame(conversation, Role::Responder).map_or("nothing".to_owned(), line);
        let ours = ours(request);
        if siws != ours {
            found.push([line(request), siws, ours]);
        }
    }
    assert_eq!(compared, count, "{name}");
    let found: Vec<_> = found.iter().map(|row| row.each_ref().map(String::as_str)).collect();
    assert_eq!(found, differences, "{name}: what was asked, siw's reply, and ours");
}

#[test]
fn revisions_are_answered_as_by_siw() {
    // Bits without meaning are not sent back.
    let bit = [
        "MPA REQUEST rev=1 len=0 reserved=0x10",
        "MPA REPLY rev=1 len=0 reserved=0x10",
        "MPA REPLY rev=1 len=0",
    ];
    expect_the_same("revisions", 9, &[bit]);
}

#[test]
fn flags_are_answered_as_by_siw_but_not_sent_back() {
    let differences = [
        ["MPA REQUEST rev=1 reject len=0", "MPA REPLY rev=1 reject len=0", "MPA REPLY rev=1 len=0"],
        [
            "MPA REQUEST rev=1 len=0 reserved=0xf",
            "MPA REPLY rev=1 len=0 reserved=0xf",
            "MPA REPLY rev=1 len=0",
        ],
        [
            "MPA REQUEST rev=2 ird=4 ord=4 reject len=0",
            "MPA REPLY rev=2 ird=4 ord=4 reject len=0",
            "MPA REPLY rev=2 ird=4 ord=4 len=0",
        ],
        [
            "MPA REQUEST rev=2 ird=4 ord=4 len=0 reserved=0xf",
            "MPA REPLY rev=2 ird=4 ord=4 len=0 reserved=0xf",
            "MPA REPLY rev=2 ird=4 ord=4 len=0",
        ],
    ];
    expect_the_same("flags", 10, &differences);
}

#[test]
fn private_data_is_taken_as_by_siw() {
    // Enhanced data announced where there is none: siw announces it, too, and we reset the stream.
    expect_the_same("private_data", 14, &[["no frame", "no frame", "nothing"]]);
}

#[test]
fn the_ready_to_receive_message_is_the_one_that_siw_picks_if_it_was_offered() {
    // Where it was not, we reject (RFC 6581 §9.2).
    let differences = [
        [
            "MPA REQUEST rev=2 ird=4 ord=4 p2p len=0",
            "MPA REPLY rev=2 ird=4 ord=4 p2p rtr=write len=0",
            "MPA REPLY rev=2 ird=0 ord=0 p2p reject len=0",
        ],
        [
            "MPA REQUEST rev=2 ird=4 ord=4 p2p rtr=empty len=0",
            "MPA REPLY rev=2 ird=4 ord=4 p2p rtr=write len=0",
            "MPA REPLY rev=2 ird=0 ord=0 p2p reject len=0",
        ],
    ];
    expect_the_same("peer_to_peer", 9, &differences);
}

#[test]
fn numbers_of_reads_are_the_applications() {
    // siw raises what it takes to what the peer would like to send.
    let rows = [
        ["MPA REQUEST rev=2 ird=16 ord=16 len=0", "MPA REPLY rev=2 ird=16 ord=4 len=0"],
        ["MPA REQUEST rev=2 ird=1 ord=16 len=0", "MPA REPLY rev=2 ird=16 ord=1 len=0"],
        ["MPA REQUEST rev=2 ird=200 ord=200 len=0", "MPA REPLY rev=2 ird=128 ord=4 len=0"],
        ["MPA REQUEST rev=2 ird=16383 ord=16383 len=0", "MPA REPLY rev=2 ird=128 ord=4 len=0"],
    ];
    let four = "MPA REPLY rev=2 ird=4 ord=4 len=0";
    let ours = [four, "MPA REPLY rev=2 ird=4 ord=1 len=0", four, four];
    let differences: Vec<_> =
        rows.iter().zip(ours).map(|([asked, siws], ours)| [*asked, *siws, ours]).collect();
    expect_the_same("depths", 7, &differences);
}
