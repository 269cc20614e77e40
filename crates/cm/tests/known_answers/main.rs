//! Known answers: a communication manager of ours takes the place of each host of a capture of two Linux hosts in turn. It is
//! fed what the other host sent, is ordered what the host's application has ordered, and must send the host's messages, in
//! the same order, all 256 bytes equal.
//!
//! Free are only: our communication and request IDs, and the transaction IDs of exchanges that we begin (REQ, DREQ,
//! SIDR_REQ). They are put in for the host's in both directions. From the capture we take what an application or a queue pair
//! gives: queue pair numbers, PSNs, READ depths, flow control, path MTU, flow label, ports, private data, queue key, GUID.

mod capture;
mod stand_in;

use std::net::IpAddr;

use rdmalab_cm::{DisconnectCause, Event, ListenKind, udp_source_port};
use rdmalab_wire::mad::{CmMessage, PortSpace, ServiceId};

use capture::{messages, source_ports};
use stand_in::StandIn;

const SERVER_GUID: u64 = 0x0000_00ff_fe00_0001;
const CLIENT_GUID: u64 = 0x0000_00ff_fe00_0002;

/// Plays both hosts, and requires so many messages of the client's and of the server's.
fn expect_same(name: &str, space: PortSpace, port: u16, client: usize, server: usize) -> [Vec<Event>; 2] {
    let messages = messages(name);
    let (client_host, server_host) = (messages[0].source, messages[0].destination);
    let mut ours = StandIn::new(client_host, CLIENT_GUID);
    ours.play(&messages);
    assert_eq!(ours.compared, client, "{name}: the client's messages");
    let mut theirs = StandIn::new(server_host, SERVER_GUID);
    let kind = match space {
        PortSpace::Udp => ListenKind::Datagrams,
        _ => ListenKind::Connections,
    };
    theirs.listen(ServiceId::rdma_ip(space, port), kind);
    theirs.play(&messages);
    assert_eq!(theirs.compared, server, "{name}: the server's messages");
    assert_eq!(client + server, messages.len());
    [ours.told, theirs.told]
}

#[test]
fn rping_over_ipv4() {
    let [client, server] = expect_same("rping", PortSpace::Tcp, 7174, 3, 2);
    assert!(matches!(
        client.as_slice(),
        [Event::ConnectResponse { .. }, Event::Disconnected { cause: DisconnectCause::Ours, .. }]
    ));
    assert!(matches!(
        server.as_slice(),
        [
            Event::ConnectRequest { .. },
            Event::Established { .. },
            Event::Disconnected { cause: DisconnectCause::Peer, .. }
        ]
    ));
}

#[test]
fn rping_over_ipv6() {
    expect_same("rping_v6", PortSpace::Tcp, 7174, 3, 2);
}

#[test]
fn perftest_connects_twice_and_each_side_ends_one_connection() {
    expect_same("write_bw_cm", PortSpace::Tcp, 18_515, 6, 4);
}

#[test]
fn rstream_ends_on_the_server() {
    let [client, _] = expect_same("rstream", PortSpace::Tcp, 7471, 3, 2);
    assert!(matches!(client[1], Event::Disconnected { cause: DisconnectCause::Peer, .. }));
}

#[test]
fn udaddy_asks_for_a_datagram_service() {
    let [client, server] = expect_same("udaddy", PortSpace::Udp, 7174, 1, 1);
    assert!(matches!(client.as_slice(), [Event::ServiceResolved { .. }]));
    assert!(matches!(server.as_slice(), [Event::ServiceRequest { .. }]));
}

#[test]
fn flow_label_of_the_request_gives_both_sides_source_port() {
    for name in ["rping", "rping_v6", "rstream"] {
        let request = messages(name).into_iter().find_map(|heard| match heard.mad.message {
            CmMessage::Req(req) => Some((heard.source, heard.destination, req.primary.flow_label)),
            _ => None,
        });
        let (client, server, flow_label): (IpAddr, IpAddr, u32) = request.unwrap();
        let port = udp_source_port(flow_label);
        assert_eq!(source_ports(name, client), [port], "{name}, client");
        assert_eq!(source_ports(name, server), [port], "{name}, server");
    }
}
