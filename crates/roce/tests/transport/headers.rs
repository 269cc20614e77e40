//! What stands around every packet of a flow: addresses, hop limit, traffic class, source port, partition key.
//!
//! Rule: qp-path-headers: Every packet of a queue pair, answers too, travels with the traffic class, hop
//! limit and addresses of its path.
//! Rule: qp-source-port: All packets of a flow have one UDP source port, from the dynamic range.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_roce::{Batch, Endpoint, EndpointConfig, QueuePairConfig};
use rdmalab_verbs::{Attributes, Path, QueuePairType, State};
use rdmalab_wire::{Datagram, Ecn, PKey, Packet, PathMtu};

use crate::script::*;
use crate::side::address;

#[test]
fn requests_and_answers_travel_with_the_traffic_class_and_hop_limit_of_the_path() {
    let mut t = Script::in_state(State::Init, Setup::default());
    let [_, rtr, rts] = t.side.steps(&Setup::default(), peer(), PEER_QUEUE_PAIR);
    let path = Path { traffic_class: 26 << 2 | 0b10, hop_limit: 3, ..Path::new(address(1), peer()) };
    t.modify(Attributes { path: Some(path), ..rtr });
    t.modify(rts);
    t.post(send(1));
    t.deliver(write_only(0, 0, 1));
    for packet in t.take_packets() {
        let datagram = Datagram::parse(&packet).unwrap();
        assert_eq!((datagram.dscp, datagram.ecn, datagram.ttl), (26, Ecn::Ect0, 3));
    }
}

#[test]
fn by_itself_a_path_has_no_traffic_class_and_a_hop_limit_of_64() {
    let mut t = Script::new();
    t.post(send(1));
    let packets = t.take_packets();
    let datagram = Datagram::parse(&packets[0]).unwrap();
    assert_eq!((datagram.dscp, datagram.ecn, datagram.ttl), (0, Ecn::NotEct, 64));
}

#[test]
fn all_packets_of_a_flow_have_one_source_port_from_the_dynamic_range() {
    let mut t = Script::new();
    for _ in 0..5 {
        t.post(send(3000));
    }
    t.deliver(read_request(0, 0, 3000));
    let packets = t.take_packets();
    let port = Datagram::parse(&packets[0]).unwrap().source_port;
    assert!(port >= 0xc000);
    for packet in packets {
        let datagram = Datagram::parse(&packet).unwrap();
        assert_eq!(datagram.source_port, port);
        assert_eq!(Packet::parse(datagram.ib).unwrap().bth.partition_key, PKey::DEFAULT);
    }
}

#[test]
fn identifications_differ_from_packet_to_packet_are_never_zero_and_fragments_are_forbidden() {
    let mut t = Script::with(Setup { mtu: PathMtu::M256, ..Setup::default() });
    let mut last = 0;
    for psn in 0..70_000_u32 {
        t.deliver(write_only(psn, 0, 0));
        let packets = t.take_packets();
        let header: &[u8; 20] = packets[0].first_chunk().unwrap();
        let identification = u16::from_be_bytes([header[4], header[5]]);
        assert!(identification != 0 && identification != last);
        assert_eq!(header[6] & 0xe0, 0x40);
        last = identification;
    }
}

#[test]
fn a_connection_may_run_over_ipv6() {
    let ours = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1));
    let theirs = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2));
    let mut t = Script::in_state(State::Reset, Setup::default());
    // The script's side lives on IPv4: give it a second port, with both.
    let v4 = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    t.side.endpoint = Endpoint::new(EndpointConfig::new(vec![v4, ours], PathMtu::M4096));
    let config =
        QueuePairConfig::new(QueuePairType::Rc, t.side.domain, t.side.completions, Default::default());
    t.side.queue_pair = t.side.endpoint.create_queue_pair(&mut t.side.context, &config).unwrap();
    let [init, rtr, rts] = t.side.steps(&Setup::default(), peer(), PEER_QUEUE_PAIR);
    t.modify(init);
    t.modify(Attributes { path: Some(Path::new(ours, theirs)), ..rtr });
    t.modify(rts);
    t.post(send(1));
    let bytes = t.encode_between(theirs, ours, &write_only(0, 0, 8));
    t.deliver_bytes(&bytes);
    let packets = t.take_packets();
    assert_eq!(packets.len(), 2);
    for packet in packets {
        let datagram = Datagram::parse(&packet).unwrap();
        datagram.verify_icrc().unwrap();
        assert_eq!((datagram.source, datagram.destination), (ours, theirs));
    }
    t.expect_bytes(0, &pattern(0, 8));
}

#[test]
fn requests_and_answers_take_turns() {
    let mut t = Script::with(Setup { mtu: PathMtu::M256, ..Setup::default() });
    t.post(write(256 * 50));
    t.deliver(read_request(0, 0, 256 * 50));
    let lines = t.take_lines();
    assert_eq!(lines.len(), 100);
    for pair in lines.chunks(2) {
        assert!(pair.iter().any(|line| line.starts_with("WRITE")), "{pair:?}");
        assert!(pair.iter().any(|line| line.starts_with("READ_RESPONSE")), "{pair:?}");
    }
}

#[test]
fn a_full_batch_stops_in_the_midst_of_a_message_and_goes_on_with_the_next() {
    let mut t = Script::with(Setup { mtu: PathMtu::M256, ..Setup::default() });
    t.post(write(256 * 10));
    let Side { endpoint, context, .. } = &mut t.side;
    let mut batch = Batch::new(3, PathMtu::M4096, 0);
    endpoint.poll(context, 0, &mut batch);
    assert!(batch.is_full());
    assert!(endpoint.has_packets());
    t.expect("WRITE_MIDDLE psn=3 len=256");
    assert_eq!(t.take_lines().len(), 6);
    assert!(!t.side.endpoint.has_packets());
}
