//! Making and ending a connection: the messages of communication management between two queue pairs.

use core::net::IpAddr;

use rdmalab_wire::mad::{
    CmMad, CmMessage, Drep, Dreq, IpCmHeader, Path, PortSpace, Rep, Req, Rtu, ServiceId, private_data,
};
use rdmalab_wire::{Address, Gid, Opcode, PathMtu, QKey, Qpn};

use crate::flow::{Flow, Way};
use crate::packet::Packet;
use crate::payload::Payload;

/// UD SEND_ONLY.
const UD_SEND_ONLY: Opcode = Opcode(0x64);

/// Hands out REQ, REP and RTU, or DREQ and DREP; `way` is the way of the first.
pub(crate) fn run<E>(
    connect: bool,
    port: u16,
    flow: &mut Flow,
    way: Way,
    each: &mut dyn FnMut(Way, &Packet) -> Result<(), E>,
) -> Result<(), E> {
    let (ours, theirs) = (flow.side(way).qpn.value(), flow.side(way.turned()).qpn.value());
    // Communication IDs are any numbers; the queue pairs' make them differ between connections.
    let (our_id, their_id) = (ours, theirs);
    let transaction_id = u64::from(ours) << 32 | u64::from(theirs);
    let steps: &[(Way, CmMessage)] = if connect {
        &[
            (way, CmMessage::Req(request(flow, way, our_id, port))),
            (way.turned(), CmMessage::Rep(reply(flow, way.turned(), their_id, our_id))),
            (
                way,
                CmMessage::Rtu(Rtu {
                    local_communication_id: our_id,
                    remote_communication_id: their_id,
                    ..Rtu::default()
                }),
            ),
        ]
    } else {
        &[
            (
                way,
                CmMessage::Dreq(Dreq {
                    local_communication_id: our_id,
                    remote_communication_id: their_id,
                    remote_qpn: Qpn::new(theirs),
                    ..Dreq::default()
                }),
            ),
            (
                way.turned(),
                CmMessage::Drep(Drep {
                    local_communication_id: their_id,
                    remote_communication_id: our_id,
                    ..Drep::default()
                }),
            ),
        ]
    };
    for (way, message) in steps {
        let packet = datagram(flow, *way, &CmMad::new(transaction_id, *message));
        each(*way, &packet)?;
    }
    Ok(())
}

/// The packet of a message, between the general services interfaces.
fn datagram(flow: &mut Flow, way: Way, mad: &CmMad) -> Packet {
    let mut packet = flow.packet(way, UD_SEND_ONLY);
    packet.bth.destination = Qpn::GSI;
    packet.bth.psn = flow.next_gsi_psn(way);
    if let Some(deth) = &mut packet.headers.deth {
        deth.source = Qpn::GSI;
        deth.queue_key = QKey::GSI;
    }
    packet.payload = Payload::Bytes(mad.encode().to_vec());
    packet
}

fn request(flow: &Flow, way: Way, id: u32, port: u16) -> Req {
    let side = flow.side(way);
    let (source, destination) = (side.carrier.source(), side.carrier.destination());
    let ips = (ip(source), ip(destination));
    let header = IpCmHeader::new(ips.0, 0xc000, ips.1).unwrap_or_default();
    Req {
        local_communication_id: id,
        service_id: ServiceId::rdma_ip(PortSpace::Tcp, port),
        local_qpn: side.qpn,
        responder_resources: 1,
        initiator_depth: 1,
        remote_response_timeout: 20,
        local_response_timeout: 20,
        // With which PSN the other side is to begin.
        starting_psn: flow.side(way.turned()).next_psn,
        retry_count: 7,
        rnr_retry_count: 7,
        max_cm_retries: 15,
        partition_key: flow.partition_key,
        path_mtu_code: PathMtu::from_bytes(flow.mtu as usize).map_or(0, PathMtu::code),
        primary: Path {
            local_gid: gid(source),
            remote_gid: gid(destination),
            hop_limit: 64,
            ..Path::default()
        },
        private_data: private_data(&header.encode()).unwrap_or([0; 92]),
        ..Req::default()
    }
}

fn reply(flow: &Flow, way: Way, id: u32, remote: u32) -> Rep {
    let side = flow.side(way);
    Rep {
        local_communication_id: id,
        remote_communication_id: remote,
        local_qpn: side.qpn,
        // With which PSN the other side is to begin.
        starting_psn: flow.side(way.turned()).next_psn,
        responder_resources: 1,
        initiator_depth: 1,
        rnr_retry_count: 7,
        ..Rep::default()
    }
}

fn gid(address: Address) -> Gid {
    match address {
        Address::Ip(ip) => ip.into(),
        Address::Gid(gid) => gid,
        Address::Lid(_) => Gid::default(),
    }
}

fn ip(address: Address) -> IpAddr {
    gid(address).to_ip()
}
