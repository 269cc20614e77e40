//! A packet that a switch marked is told to its sender, by a packet of its own.
//!
//! Rule: cc-notification: A packet that comes with a congestion mark is answered by a congestion notification to the sender's queue pair, with BECN set.
//! Rule: cc-notification-pace: A flow sends at most one notification in an interval, however many packets come marked.
//! Rule: cc-notification-not-acknowledged: A notification has no place in the sequence: it is neither acknowledged nor repeated, and moves no PSN.

use rdmalab_roce::{Discard, Profile};
use rdmalab_verbs::{QueuePairType, State};
use rdmalab_wire::{Body, Datagram, Ecn, Opcode, Packet, Transport};

use crate::script::*;

/// The two low bits of IPv4's type of service, which the ICRC does not cover: congestion experienced.
fn mark(mut packet: Vec<u8>) -> Vec<u8> {
    packet[1] |= 0b11;
    packet
}

/// The peer's packet arrives marked.
fn deliver_marked(t: &mut Script, packet: Incoming) {
    let bytes = mark(t.encode(&packet));
    t.deliver_bytes(&bytes);
}

fn notification() -> Incoming {
    let mut notification = packet(0, Body::CongestionNotification).over(Transport::Cnp).payload(&[0; 16]);
    notification.bth.becn = true;
    notification
}

/// Takes what was sent and returns the notifications among it.
fn notifications(t: &mut Script) -> Vec<Vec<u8>> {
    t.take_packets()
        .into_iter()
        .filter(|bytes| {
            Packet::parse(Datagram::parse(bytes).unwrap().ib).unwrap().transport == Transport::Cnp
        })
        .collect()
}

#[test]
fn a_marked_request_is_told_of_at_once_and_carried_out_as_any_other() {
    let mut t = Script::new();
    deliver_marked(&mut t, write_only(0, 0, 8));
    let packets = t.take_packets();
    assert_eq!(packets.len(), 2, "a notification and an acknowledgement");
    let datagram = Datagram::parse(&packets[0]).unwrap();
    datagram.verify_icrc().unwrap();
    assert_eq!((datagram.source, datagram.destination), (t.side.address, peer()));
    assert_eq!(datagram.dscp, 48);
    let found = Packet::parse(datagram.ib).unwrap();
    assert_eq!(found.opcode(), Opcode::CNP);
    assert_eq!((found.bth.destination, found.bth.psn.value()), (PEER_QUEUE_PAIR, 0));
    assert!(found.bth.becn && !found.bth.fecn && !found.bth.ack_request);
    assert_eq!(found.payload, [0; 16]);
    assert_eq!(line_of(&packets[1]), "ACKNOWLEDGE psn=0 ack msn=1");
    t.expect_bytes(0, &pattern(0, 8));
    assert_eq!((t.counters().np_ecn_marked_roce_packets, t.counters().np_cnp_sent), (1, 1));
}

#[test]
fn an_interval_has_one_notification_however_many_packets_come_marked() {
    let mut t = Script::new();
    for psn in 0..10 {
        deliver_marked(&mut t, write_only(psn, 0, 8));
    }
    assert_eq!(notifications(&mut t).len(), 1);
    t.advance(49 * MICROSECOND);
    deliver_marked(&mut t, write_only(10, 0, 8));
    assert_eq!(notifications(&mut t).len(), 0, "the interval is not over");
    t.advance(MICROSECOND);
    deliver_marked(&mut t, write_only(11, 0, 8));
    assert_eq!(notifications(&mut t).len(), 1);
    assert_eq!((t.counters().np_ecn_marked_roce_packets, t.counters().np_cnp_sent), (12, 2));
}

#[test]
fn an_answer_that_comes_marked_is_told_of_too() {
    let mut t = Script::new();
    t.post(read(8));
    t.expect("READ_REQUEST psn=0 va=0x200000 rkey=0x200 dmalen=8 ackreq");
    deliver_marked(&mut t, read_response_only(0, 8));
    assert_eq!(notifications(&mut t).len(), 1);
    t.expect_done(0);
}

#[test]
fn an_unreliable_connection_tells_of_marks_though_it_answers_nothing_else() {
    let mut t = Script::with(Setup { kind: QueuePairType::Uc, ..Setup::default() });
    deliver_marked(&mut t, write_only(0, 0, 8).ackreq().over(Transport::Uc));
    let packets = t.take_packets();
    assert_eq!(packets.len(), 1);
    assert_eq!(Packet::parse(Datagram::parse(&packets[0]).unwrap().ib).unwrap().transport, Transport::Cnp);
}

#[test]
fn packets_that_only_could_be_marked_are_not_told_of() {
    for bits in [0b00, 0b01, 0b10] {
        let mut t = Script::new();
        let mut bytes = t.encode(&write_only(0, 0, 8));
        bytes[1] |= bits;
        t.deliver_bytes(&bytes);
        t.expect("ACKNOWLEDGE psn=0 ack msn=1");
        assert_eq!(t.counters().np_ecn_marked_roce_packets, 0);
    }
}

#[test]
fn rxe_tells_of_nothing_and_connectx_from_port_0() {
    let mut t = Script::with(Setup { profile: Profile::RXE, ..Setup::default() });
    deliver_marked(&mut t, write_only(0, 0, 8));
    assert_eq!(notifications(&mut t).len(), 0);
    assert_eq!(t.counters().np_ecn_marked_roce_packets, 1);

    let mut t = Script::with(Setup { profile: Profile::CONNECTX, ..Setup::default() });
    deliver_marked(&mut t, write_only(0, 0, 8));
    let packets = notifications(&mut t);
    let datagram = Datagram::parse(&packets[0]).unwrap();
    assert_eq!((datagram.source_port, datagram.dscp, datagram.ecn), (0, 48, Ecn::Ect0));
    // The length of UDP that captures of these adapters show: header, base header, sixteen bytes, ICRC.
    assert_eq!(packets[0].len() - 20, 40);
}

#[test]
fn a_notification_is_taken_in_silence_and_moves_no_psn() {
    let mut t = Script::new();
    t.post(send(8));
    t.expect("SEND_ONLY psn=0 len=8 ackreq");
    for _ in 0..3 {
        t.deliver(notification());
    }
    t.expect_nothing();
    assert_eq!(t.counters().rp_cnp_handled, 3);
    t.deliver(write_only(0, 0, 8));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
}

#[test]
fn a_notification_that_is_not_from_the_peer_or_not_sound_is_dropped() {
    let mut t = Script::new();
    let bytes = t.encode_between(crate::side::address(9), t.side.address, &notification());
    t.deliver_bytes(&bytes);
    t.expect_discard(Discard::Address);
    let mut bytes = t.encode(&notification());
    *bytes.last_mut().unwrap() ^= 1;
    t.deliver_bytes(&bytes);
    t.expect_discard(Discard::Icrc);
    assert_eq!(t.counters().rp_cnp_handled, 0);
    t.expect_state(State::Rts);
}
