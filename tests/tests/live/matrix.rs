//! The daily cells of the matrix: every program of the field with us, in both roles, with a choice of what there is of
//! sizes, MTUs, queue pairs, address families and faults, with Linux' RoCE and its iWARP; and two of our own with each other. All
//! of it: the example `matrix`.

use std::time::Instant;

use rdmalab_tests::Place;
use rdmalab_tests::matrix::{Cell, Fault, Group, Page, Peer, Played, Role};

/// Linux calls.
pub fn linux_as_client(place: &mut Place) {
    play(place, Page::Rxe, |cell| {
        cell.peer == Peer::Linux && cell.role == Role::Client && cell.fault == Fault::None
    });
}

/// Linux is called.
pub fn linux_as_server(place: &mut Place) {
    play(place, Page::Rxe, |cell| {
        cell.peer == Peer::Linux && cell.role == Role::Server && cell.fault == Fault::None
    });
}

/// Linux calls, and packets of both sides are lost, doubled, late or out of order.
pub fn linux_as_client_under_faults(place: &mut Place) {
    play(place, Page::Rxe, |cell| {
        cell.peer == Peer::Linux && cell.role == Role::Client && cell.fault != Fault::None
    });
}

/// Linux is called, under the same faults.
pub fn linux_as_server_under_faults(place: &mut Place) {
    play(place, Page::Rxe, |cell| {
        cell.peer == Peer::Linux && cell.role == Role::Server && cell.fault != Fault::None
    });
}

/// Two of our own, at TAPs of one bridge.
pub fn ours_at_taps(place: &mut Place) {
    play(place, Page::Rxe, |cell| cell.peer == Peer::OursAtTap);
}

/// Two of our own, at the ends of a veth pair.
pub fn ours_at_a_veth_pair(place: &mut Place) {
    play(place, Page::Rxe, |cell| cell.peer == Peer::OursAtVeth);
}

/// Linux' iWARP calls, is called, and meets with faults and mishaps.
pub fn siw(place: &mut Place) {
    play(place, Page::Siw, |_| true);
}

fn play(place: &mut Place, page: Page, which: impl Fn(&Cell) -> bool) {
    let chosen = page.cells().into_iter().filter(|cell| cell.daily && which(cell));
    let mut faults = Vec::new();
    for group in Group::of(chosen) {
        let (started, mut games) = (Instant::now(), 0.0);
        let tell = |played: Played| {
            println!("{}: {:.1} s", played.cell, played.seconds);
            games += played.seconds;
            faults.extend(played.failure.map(|failure| format!("{}\n{failure}", played.cell)));
        };
        if let Err(fault) = group.play(place, tell) {
            faults.push(fault);
        }
        let beside = started.elapsed().as_secs_f64() - games;
        println!("{}: {beside:.1} s beside the games", group.setting);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
