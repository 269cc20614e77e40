//! Captures of unreliable connections and of datagrams, with our ends in the place of those in the capture.
//!
//! Differences in behaviour are these, and no others:
//!
//! | rxe | here | why |
//! |---|---|---|
//! | management datagrams (to queue pair 1) ask for an acknowledgement | no datagram does | nobody answers it; a receiver ignores the bit |

use rdmalab_wire::{Packet, PathMtu, QKey, Transport};

use crate::capture::{Flow, Heard, flows};
use crate::unreliable_end::{End, messages};

/// What our receiver gets of a flow is what was sent, and nothing is answered.
#[track_caller]
fn expect_received(name: &str, flow: &Flow, mtu: PathMtu) -> usize {
    let expected = messages(flow);
    let mut end = End::new(flow, mtu);
    end.post_receives(expected.len());
    let headers: Vec<_> = flow.packets.iter().map(|heard| end.hear(heard)).collect();
    let received = end.received();
    assert_eq!(received.len(), expected.len(), "{name}: messages to {}", flow.receiver);
    for (place, (found, sent)) in received.iter().zip(&expected).enumerate() {
        assert!(found.bytes == sent.bytes, "{name}: the bytes of message {place}");
        assert_eq!((found.immediate, found.solicited), (sent.immediate, sent.solicited), "{name}");
        assert_eq!(found.source, sent.source, "{name}");
        if let Some(area) = &found.area {
            assert_eq!(area[..20], [0; 20], "{name}");
            assert_eq!(area[20..], headers[place], "{name}: one datagram, one header");
        }
    }
    assert!(!end.has_packets(), "{name}: nothing is answered");
    expected.len()
}

/// Given the work that the capture's sender must have had, ours sends the same packets.
#[track_caller]
fn expect_sent(name: &str, flow: &Flow, mtu: PathMtu) {
    let mut end = End::new(&reversed(flow), mtu);
    end.post_sends(flow, &messages(flow));
    let sent = end.sent();
    assert_eq!(sent.len(), flow.packets.len(), "{name}");
    for (ours, theirs) in sent.iter().zip(&flow.packets) {
        // The sender's own number is our endpoint's to give.
        let (ours, theirs) = (without_source(ours), without_source(theirs));
        assert_eq!(ours, theirs, "{name}\nours:   {ours}\ntheirs: {theirs}");
    }
}

/// The same flow, as its sender stands to it.
fn reversed(flow: &Flow) -> Flow {
    let packets = flow.packets.iter().map(|heard| Heard { frame: heard.frame, bytes: heard.bytes.clone() });
    Flow {
        sender: flow.receiver,
        receiver: flow.sender,
        queue_pair: flow.queue_pair,
        packets: packets.collect(),
    }
}

fn without_source(heard: &Heard) -> Packet<'_> {
    let mut packet = heard.packet();
    if let Transport::Ud(deth) = &mut packet.transport {
        deth.source = Default::default();
    }
    packet
}

#[test]
fn messages_of_an_unreliable_connection_are_sent_and_taken_as_by_rxe() {
    let flows = flows("uc_pingpong");
    assert_eq!(flows.len(), 2);
    for flow in &flows {
        assert_eq!(expect_received("uc_pingpong", flow, PathMtu::M1024), 3);
        expect_sent("uc_pingpong", flow, PathMtu::M1024);
    }
}

#[test]
fn datagrams_are_sent_and_taken_as_by_rxe() {
    let flows = flows("ud_pingpong");
    assert_eq!(flows.len(), 2);
    for flow in &flows {
        assert_eq!(expect_received("ud_pingpong", flow, PathMtu::M1024), 3);
        expect_sent("ud_pingpong", flow, PathMtu::M1024);
    }
}

#[test]
fn datagrams_with_immediate_data_are_sent_and_taken_as_by_rxe_and_management_datagrams_taken() {
    let mut management = 0;
    let flows = flows("udaddy");
    assert_eq!(flows.len(), 4);
    for flow in &flows {
        let packet = flow.packets[0].packet();
        let Transport::Ud(deth) = packet.transport else { panic!("{packet}") };
        if deth.queue_key == QKey::new(0x8001_0000) {
            assert!(packet.bth.ack_request);
            management += expect_received("udaddy", flow, PathMtu::M1024);
        } else {
            assert_eq!(expect_received("udaddy", flow, PathMtu::M1024), 3);
            expect_sent("udaddy", flow, PathMtu::M1024);
        }
    }
    assert_eq!(management, 2);
}

#[test]
fn an_unreliable_connection_takes_the_send_of_an_adapter_and_a_congestion_notification() {
    let mut flows = flows("hardware");
    flows.sort_by_key(|flow| flow.packets[0].frame);
    let [notification, send] = &flows[..] else { panic!("{} flows", flows.len()) };
    assert!(send.packets[0].packet().bth.migrated);
    assert_eq!(expect_received("hardware", send, PathMtu::M1024), 1);

    assert_eq!(notification.packets[0].packet().transport, Transport::Cnp);
    let mut end = End::new(notification, PathMtu::M1024);
    end.hear(&notification.packets[0]);
    assert_eq!(end.counters().rp_cnp_handled, 1);
    assert!(!end.has_packets());
}
