//! Partition keys: the port's table of them, and whose packets are taken.
//!
//! Rule: qp-partition-match: a packet is taken if it names the queue pair's partition and at least one of both is a
//! full member of it; any other is dropped in silence.
//! Rule: qp-partition-index: a queue pair sends with the key at its index into the port's table.

use rdmalab_roce::{Discard, EndpointConfig};
use rdmalab_verbs::{Attributes, ModifyError, QueuePairType, State};
use rdmalab_wire::{Datagram, PKey, Packet, PathMtu};

use crate::script::*;

const FULL: u16 = 0x8001;
const LIMITED: u16 = 0x0002;

/// In RTS on a port with three keys, using that at an index.
fn at_index(kind: QueuePairType, index: u16) -> Script {
    let setup = Setup { kind, ..Setup::default() };
    let mut t = Script::in_state(State::Reset, setup);
    t.side.move_to(EndpointConfig {
        partition_keys: vec![PKey::DEFAULT, PKey::new(FULL), PKey::new(LIMITED)],
        ..EndpointConfig::new(vec![t.side.address], PathMtu::M4096)
    });
    let [init, rtr, rts] = t.side.steps(&setup, peer(), PEER_QUEUE_PAIR);
    t.modify(Attributes { partition_index: Some(index), ..init });
    t.modify(rtr);
    t.modify(rts);
    t
}

const RECEIVING: [QueuePairType; 4] =
    [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::XrcTarget];

#[test]
fn a_full_member_takes_packets_of_full_and_limited_members_of_its_partition() {
    for kind in RECEIVING {
        let mut t = at_index(kind, 1);
        for (psn, key) in [(0, 0x8001), (1, 0x0001)] {
            let id = t.receive(48);
            t.deliver(send_only(psn, 8).partition(key));
            let received = t.expect_done(id);
            assert_eq!(received.partition_index, 1, "{kind}");
        }
        for key in [0xffff, 0x8002, 0x0002, 0x0000] {
            t.deliver(send_only(2, 8).partition(key));
            t.expect_discard(Discard::PartitionKey);
        }
        t.take_lines();
    }
}

#[test]
fn a_limited_member_takes_packets_of_full_members_only() {
    for kind in RECEIVING {
        let mut t = at_index(kind, 2);
        t.receive(48);
        t.deliver(send_only(0, 8).partition(0x0002));
        t.expect_discard(Discard::PartitionKey);
        t.deliver(send_only(0, 8).partition(0x8002));
        t.expect_done(100);
        t.take_lines();
    }
}

#[test]
fn packets_carry_the_key_at_the_index() {
    for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::XrcInitiator] {
        for (index, key) in [(0, 0xffff), (1, FULL), (2, LIMITED)] {
            let mut t = at_index(kind, index);
            t.post(send(1).unsignaled());
            let packets = t.take_packets();
            let packet = Packet::parse(Datagram::parse(&packets[0]).unwrap().ib).unwrap();
            assert_eq!(packet.bth.partition_key, PKey::new(key), "{kind}");
        }
    }
}

#[test]
fn an_index_beyond_the_table_is_refused() {
    for kind in QueuePairType::ALL {
        let setup = Setup { kind, ..Setup::default() };
        let mut t = Script::in_state(State::Reset, setup);
        let [init, ..] = t.side.steps(&setup, peer(), PEER_QUEUE_PAIR);
        for index in [1, u16::MAX] {
            let refused = t.try_modify(Attributes { partition_index: Some(index), ..init });
            assert!(
                matches!(refused, Err(ModifyError::BadValue { attribute: "IBV_QP_PKEY_INDEX", .. })),
                "{refused:?}"
            );
            t.expect_state(State::Reset);
        }
        t.modify(init);
    }
}

#[test]
fn the_index_may_be_changed_before_the_peer_is_known() {
    let mut t = at_index(QueuePairType::Rc, 1);
    t.modify_state(State::Reset);
    let [init, rtr, rts] = t.side.steps(&Setup::default(), peer(), PEER_QUEUE_PAIR);
    t.modify(Attributes { partition_index: Some(1), ..init });
    t.modify(Attributes { partition_index: Some(2), ..Attributes::default() });
    t.modify(rtr);
    t.modify(rts);
    t.deliver(write_only(0, 0, 8).partition(FULL));
    t.expect_discard(Discard::PartitionKey);
    t.deliver(write_only(0, 0, 8).partition(0x8002));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}
