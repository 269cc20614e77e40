//! What the completion of a received datagram tells.
//!
//! Rule: ud-completion-source: the completion of a datagram names the queue pair that sent it, and says that the
//! network header is there.
//! Rule: ud-length-with-area: the length of a received datagram counts the 40 bytes of the network header.
//! Rule: ud-ack-request-ignored: a datagram that asks for an acknowledgement gets none.
//! Rule: ud-psn-ignored: datagrams are received whatever their PSN.

use rdmalab_roce::Batch;
use rdmalab_verbs::{CompletionKind, State};
use rdmalab_wire::{PathMtu, Qpn};

use super::{AREA, setup, ud};
use crate::script::*;

#[test]
fn it_names_the_sender_and_the_length_with_the_header() {
    let mut t = ud();
    t.receive(100);
    t.deliver(send_only(0, 8).over(deth(QUEUE_KEY, Qpn::new(0xab_cdef))));
    let received = t.expect_received(100, AREA + 8);
    assert_eq!(received.kind, CompletionKind::Receive);
    assert_eq!((received.source, received.has_grh), (Some(Qpn::new(0xab_cdef)), true));
    assert_eq!((received.immediate, received.solicited, received.partition_index), (None, false, 0));
}

#[test]
fn immediate_data_and_the_solicited_event_are_told() {
    let mut t = ud();
    t.receive(100);
    t.receive(100);
    t.deliver(send_only_imm(0, 8, 0x0102_0304).solicited());
    let received = t.expect_received(100, AREA + 8);
    assert_eq!(received.immediate.map(|data| data.0), Some([1, 2, 3, 4]));
    assert!(received.solicited);
    t.deliver(send_only(0, 8));
    assert!(!t.expect_received(101, AREA + 8).solicited);
}

#[test]
fn an_empty_datagram_fills_the_header_area_alone() {
    let mut t = ud();
    t.receive(40);
    t.deliver(send_only(0, 0));
    t.expect_received(100, AREA);
}

#[test]
fn nothing_is_answered_even_where_it_is_asked_for() {
    let mut t = ud();
    t.receive(100);
    t.deliver(send_only(0, 8).ackreq());
    t.expect_received(100, AREA + 8);
    t.expect_nothing();
}

#[test]
fn psns_do_not_matter() {
    let mut t = ud();
    for psn in [7, 7, 0, 0xff_ffff, 0x80_0000] {
        let id = t.receive(100);
        t.deliver(send_only(psn, 8));
        t.expect_received(id, AREA + 8);
    }
}

#[test]
fn datagrams_to_oneself_arrive() {
    let mut t = ud();
    t.receive(100);
    let own = t.side.handle_to(t.side.address);
    let target =
        rdmalab_verbs::Target::Datagram { path: own, queue_pair: t.side.queue_pair, queue_key: QUEUE_KEY };
    t.post(send(0).inline(&[1, 2, 3]).to(target));
    let mut batch = Batch::new(4, PathMtu::M4096, 0);
    let Side { endpoint, context, .. } = &mut t.side;
    endpoint.poll(context, 0, &mut batch);
    let packets: Vec<_> = batch.packets().map(<[u8]>::to_vec).collect();
    assert_eq!(packets.len(), 1);
    t.deliver_bytes(&packets[0]);
    t.expect_done(0);
    let received = t.expect_received(100, AREA + 3);
    assert_eq!(received.source, Some(t.side.queue_pair));
    t.expect_bytes(40, &[1, 2, 3]);
}

#[test]
fn datagrams_are_received_from_rtr_on_and_no_event_tells_of_the_first() {
    for state in [State::Reset, State::Init, State::Err] {
        let mut t = Script::in_state(state, setup());
        t.deliver(send_only(0, 8));
        t.expect_discard(rdmalab_roce::Discard::State);
    }
    let mut t = Script::in_state(State::Rtr, setup());
    t.receive(100);
    t.deliver(send_only(0, 8));
    t.expect_received(100, AREA + 8);
    t.expect_no_event();
}
