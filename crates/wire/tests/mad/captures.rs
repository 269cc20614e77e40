//! Every MAD of every capture of real peers: decoded and encoded again to the very same bytes.

use std::net::{IpAddr, Ipv4Addr};

use rdmalab_wire::mad::{CmMessage, PortSpace, SidrStatus, TransportService};
use rdmalab_wire::{CmMad, Gid, Mad, PKey, PathMtu, Psn, QKey, Qpn, RawMad, ServiceId};

use crate::mads;

/// Captures with connections, and the messages in each.
const CAPTURES: [(&str, &[&str]); 5] = [
    ("rping", &["REQ", "REP", "RTU", "DREQ", "DREP"]),
    ("rping_v6", &["REQ", "REP", "RTU", "DREQ", "DREP"]),
    ("rstream", &["REQ", "REP", "RTU", "DREQ", "DREP"]),
    ("udaddy", &["SIDR_REQ", "SIDR_REP"]),
    ("write_bw_cm", &["REQ", "REP", "RTU", "REQ", "REP", "RTU", "DREQ", "DREP", "DREQ", "DREP"]),
];

fn cm(bytes: &[u8]) -> CmMad {
    match Mad::parse(bytes).unwrap() {
        Mad::Cm(cm) => cm,
        other => panic!("{other}"),
    }
}

#[test]
fn every_message_of_every_capture_encodes_to_the_same_bytes() {
    let mut count = 0;
    for (name, expected) in CAPTURES {
        let mut names = Vec::new();
        for (frame, bytes) in mads(name) {
            let cm = cm(&bytes);
            assert_eq!(cm.encode(), bytes[..], "{name} {frame}");
            assert_eq!(CmMad::new(cm.transaction_id, cm.message), cm, "{name} {frame}: all else is zero");
            let mut out = [0; Mad::LENGTH];
            let raw = RawMad::parse(&bytes);
            assert_eq!((raw.encode(&mut out), raw.error), (Ok(256), None));
            assert_eq!(out, bytes[..], "{name} {frame}");
            assert_eq!(raw.to_string(), cm.to_string());
            names.push(cm.message.name());
            count += 1;
        }
        assert_eq!(names, expected, "{name}");
    }
    assert_eq!(count, 27);
}

/// Linux sends zero in every field that is reserved or that its transport has no use for.
#[test]
fn reserved_fields_are_zero_in_every_capture() {
    for (name, _) in CAPTURES {
        for (frame, bytes) in mads(name) {
            let message = cm(&bytes).message;
            for field in message.fields().iter().filter(|field| field.name.contains("reserved")) {
                assert_eq!(field.value(&bytes[24..]), Some(0), "{name} {frame} {}", field.name);
            }
        }
    }
}

#[test]
fn request_of_rping_says_who_calls_whom() {
    let CmMessage::Req(req) = cm(&mads("rping")[0].1).message else { panic!() };
    assert_eq!(req.local_communication_id, 0x3007_b9de);
    assert_eq!(req.service_id, ServiceId::rdma_ip(PortSpace::Tcp, 7174));
    assert_eq!((req.local_qpn, req.starting_psn), (Qpn::new(0x12), Psn::new(0x37_a778)));
    assert_eq!((req.transport_service, req.partition_key), (TransportService::Rc, PKey::DEFAULT));
    assert_eq!((req.path_mtu(), req.retry_count, req.rnr_retry_count), (Some(PathMtu::M4096), 7, 7));
    assert_eq!((req.remote_response_timeout, req.local_response_timeout), (20, 20));
    assert_eq!((req.max_cm_retries, req.shared_receive_queue), (15, false));
    let (client, server) = (Ipv4Addr::new(10, 9, 0, 2), Ipv4Addr::new(10, 9, 0, 1));
    assert_eq!((req.primary.local_gid, req.primary.remote_gid), (Gid::from(client), Gid::from(server)));
    assert_eq!((req.primary.local_lid, req.primary.subnet_local), (0xffff, false));
    assert_eq!((req.primary.flow_label, req.primary.packet_rate), (0x4_1ae6, 0));
    assert_eq!((req.primary.hop_limit, req.primary.local_ack_timeout), (64, 17));
    let (header, consumer) = req.ip_cm().unwrap();
    assert_eq!(header.source(), Some(IpAddr::V4(client)));
    assert_eq!(header.destination(), Some(IpAddr::V4(server)));
    assert_eq!((header.source_port, consumer), (0xa520, &[0; 56][..]));
}

/// The IDs change places with the direction, and the exchange keeps its number.
#[test]
fn messages_of_rping_belong_together() {
    let messages: Vec<CmMad> = mads("rping").iter().map(|(_, bytes)| cm(bytes)).collect();
    let [req, rep, rtu, dreq, drep] = messages[..] else { panic!() };
    assert_eq!(rep.transaction_id, req.transaction_id);
    assert_eq!(rtu.transaction_id, req.transaction_id);
    assert_eq!(drep.transaction_id, dreq.transaction_id);
    let (client, server) = (0x3007_b9de, 0x33dc_b6c5);
    match (rep.message, rtu.message, dreq.message, drep.message) {
        (CmMessage::Rep(rep), CmMessage::Rtu(rtu), CmMessage::Dreq(dreq), CmMessage::Drep(drep)) => {
            assert_eq!((rep.local_communication_id, rep.remote_communication_id), (server, client));
            assert_eq!((rtu.local_communication_id, rtu.remote_communication_id), (client, server));
            assert_eq!((dreq.local_communication_id, dreq.remote_communication_id), (client, server));
            assert_eq!((drep.local_communication_id, drep.remote_communication_id), (server, client));
            assert_eq!((rep.local_qpn, dreq.remote_qpn), (Qpn::new(0x12), Qpn::new(0x12)));
            assert_eq!((rep.starting_psn, rep.target_ack_delay), (Psn::new(0xc9_27de), 15));
        }
        other => panic!("{other:?}"),
    }
}

/// A side that ends a connection it did not begin has a number of its own.
#[test]
fn release_by_the_server_of_rstream_has_its_own_number() {
    let [req, rep, rtu, dreq, drep] =
        mads("rstream").iter().map(|(_, bytes)| cm(bytes)).collect::<Vec<_>>()[..]
    else {
        panic!()
    };
    assert_eq!([rep.transaction_id, rtu.transaction_id], [req.transaction_id; 2]);
    assert_ne!(dreq.transaction_id, req.transaction_id);
    assert_eq!(drep.transaction_id, dreq.transaction_id);
    let (CmMessage::Rep(rep), CmMessage::Dreq(dreq)) = (rep.message, dreq.message) else { panic!() };
    assert_eq!(dreq.local_communication_id, rep.local_communication_id);
}

#[test]
fn datagram_service_of_udaddy_is_resolved() {
    let messages: Vec<CmMessage> = mads("udaddy").iter().map(|(_, bytes)| cm(bytes).message).collect();
    let [CmMessage::SidrReq(request), CmMessage::SidrRep(response)] = messages[..] else { panic!() };
    assert_eq!(request.request_id, 0x3307_b9de);
    assert_eq!(response.request_id, request.request_id);
    assert_eq!(request.service_id, ServiceId::rdma_ip(PortSpace::Udp, 7174));
    assert_eq!(response.service_id, request.service_id);
    assert_eq!(request.partition_key, PKey::DEFAULT);
    let (header, consumer) = request.ip_cm().unwrap();
    assert_eq!(header.source(), Some(IpAddr::V4(Ipv4Addr::new(10, 9, 0, 2))));
    assert_eq!(header.destination(), Some(IpAddr::V4(Ipv4Addr::new(10, 9, 0, 1))));
    assert_eq!(consumer.len(), 180);
    assert_eq!((response.status, response.qpn), (SidrStatus::VALID, Qpn::new(0x1e)));
    assert_eq!(response.queue_key, QKey::new(0x0123_4567));
}
