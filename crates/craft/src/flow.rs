//! Two queue pairs that talk to each other: what their packets have in common, and the numbers that go on.
//!
//! A [`Flow`] knows no time and keeps no packet. Each direction owns its next packet sequence number, the number
//! of its latest request, how many messages it has completed, and where its response to a READ stands. A packet
//! is [made](Flow::packet) with what follows from these, changed as one likes, and then [counted](Flow::sent).

use core::net::{IpAddr, Ipv4Addr};

use rdmalab_wire::header_set::Header;
use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Carrier, Deth, EthernetAddress, Feth, Gid, Grh, Headers, Ieth, ImmDt,
    Msn, Opcode, PKey, Psn, QKey, Qpn, RKey, Rdeth, Reth, Syndrome, TransportKind, Xrceth,
};

use crate::packet::{Ethernet, Exceptions, Packet};
use crate::payload::Payload;

/// A port of a host, with all addresses that a carrier may want.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its Ethernet address.
    pub mac: EthernetAddress,
    /// Its IP address, for RoCE v2.
    pub ip: IpAddr,
    /// Its global identifier, for RoCE v1 and native links with a global route header.
    pub gid: Gid,
    /// Its local identifier, for native links.
    pub lid: u16,
}

impl Host {
    /// A host by its IP address; the global identifier is the one RoCE v2 makes of it.
    pub fn new(mac: EthernetAddress, ip: IpAddr) -> Self {
        Host { mac, ip, gid: ip.into(), lid: 0 }
    }
}

/// The host number `n`, beginning with 1: `02:00:00:00:00:01`, `10.0.0.1`, LID 1.
pub(crate) fn host_number(n: u16) -> Host {
    let [high, low] = n.to_be_bytes();
    let mac = EthernetAddress([2, 0, 0, 0, high, low]);
    Host { lid: n, ..Host::new(mac, Ipv4Addr::new(10, 0, high, low).into()) }
}

/// How the packets of a flow are carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CarriedBy {
    /// RoCE v2 over the hosts' IP addresses.
    #[default]
    RoceV2,
    /// RoCE v1.
    RoceV1,
    /// A native link.
    Native,
    /// A native link, with a global route header.
    NativeGlobal,
}

/// Which way a packet of a flow goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// From the first host to the second.
    #[default]
    Forth,
    /// From the second host to the first.
    Back,
}

impl Way {
    /// The other way.
    pub const fn turned(self) -> Way {
        match self {
            Way::Forth => Way::Back,
            Way::Back => Way::Forth,
        }
    }
}

/// What goes one way.
#[derive(Clone, Debug)]
pub struct Side {
    /// Ethernet header, `None` if there is none.
    pub ethernet: Option<Ethernet>,
    /// Network or link headers.
    pub carrier: Carrier,
    /// The queue pair that sends this way.
    pub qpn: Qpn,
    /// Number of the next request.
    pub next_psn: Psn,
    last_request: Psn,
    next_response: Psn,
    completed: Msn,
    /// Number of the next datagram of the general services interface.
    next_gsi: Psn,
}

/// Two queue pairs and where they stand.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The transport service of conversations.
    pub transport: TransportKind,
    /// Largest payload of a packet, in bytes; at least 1.
    pub mtu: u32,
    /// Partition key of all packets.
    pub partition_key: PKey,
    /// Queue key of datagrams.
    pub queue_key: QKey,
    /// Shared receive queue that XRC requests name, 24 bits.
    pub shared_receive_queue: u32,
    /// End-to-end context of reliable datagrams, 24 bits.
    pub ee_context: u32,
    /// The migration state bit of all packets.
    pub migrated: bool,
    forth: Side,
    back: Side,
}

impl Flow {
    /// Queue pair 0x11 of one host and 0x12 of the other, reliably connected, path MTU 1024, both counting from 0.
    /// `None` if RoCE v2 is to go between IP addresses of two families.
    pub fn new(one: &Host, other: &Host, carried_by: CarriedBy) -> Option<Self> {
        let side = |from: &Host, to: &Host, qpn| {
            let ethernet = Ethernet { source: from.mac, destination: to.mac, ..Ethernet::default() };
            let grh = Grh::new(from.gid, to.gid);
            let (ethernet, carrier) = match carried_by {
                CarriedBy::RoceV2 => (Some(ethernet), Carrier::roce_v2(from.ip, to.ip, 0xc000)?),
                CarriedBy::RoceV1 => (Some(ethernet), Carrier::RoceV1(grh)),
                CarriedBy::Native => (None, Carrier::native(from.lid, to.lid)),
                CarriedBy::NativeGlobal => (None, Carrier::native(from.lid, to.lid).with_grh(grh)),
            };
            Some(Side {
                ethernet,
                carrier,
                qpn: Qpn::new(qpn),
                next_psn: Psn::new(0),
                last_request: Psn::new(0),
                next_response: Psn::new(0),
                completed: Msn::new(0),
                next_gsi: Psn::new(0),
            })
        };
        Some(Flow {
            transport: TransportKind::Rc,
            mtu: 1024,
            partition_key: PKey::DEFAULT,
            queue_key: QKey::new(0x1111_1111),
            shared_receive_queue: 0,
            ee_context: 0,
            migrated: false,
            forth: side(one, other, 0x11)?,
            back: side(other, one, 0x12)?,
        })
    }

    /// What goes this way.
    pub fn side(&self, way: Way) -> &Side {
        match way {
            Way::Forth => &self.forth,
            Way::Back => &self.back,
        }
    }

    /// What goes this way, to be changed.
    pub fn side_mut(&mut self, way: Way) -> &mut Side {
        match way {
            Way::Forth => &mut self.forth,
            Way::Back => &mut self.back,
        }
    }

    /// Counts a datagram of the general services interface and says its number.
    pub(crate) fn next_gsi_psn(&mut self, way: Way) -> Psn {
        let side = self.side_mut(way);
        let psn = side.next_gsi;
        side.next_gsi = psn.next();
        psn
    }

    /// A packet with what follows from the flow: addresses, queue pairs, numbers, the headers of the opcode with
    /// all else zero. A responder's packet answers the other side's latest request.
    pub fn packet(&self, way: Way, opcode: Opcode) -> Packet {
        let side = self.side(way);
        let peer = self.side(way.turned());
        let row = opcode.row();
        let kind = row.map(|row| row.transport);
        let is_response = row.is_some_and(|row| !row.is_request);
        let psn = match (kind, opcode.operation()) {
            (Some(TransportKind::Cnp), _) => Psn::new(0),
            (_, 0x0e | 0x0f) if is_response => side.next_response,
            _ if is_response => peer.last_request,
            _ => side.next_psn,
        };
        let asks = row.is_some_and(|row| row.is_request && row.ends_message)
            && matches!(kind, Some(TransportKind::Rc | TransportKind::Rd | TransportKind::Xrc))
            && !matches!(opcode.operation(), 0x0c | 0x13 | 0x14);
        let bth = Bth {
            partition_key: self.partition_key,
            migrated: self.migrated,
            ack_request: asks,
            becn: kind == Some(TransportKind::Cnp),
            ..Bth::new(peer.qpn, psn)
        };
        let mut packet = Packet {
            ethernet: side.ethernet.clone(),
            carrier: side.carrier,
            opcode,
            bth,
            headers: Headers::default(),
            payload: match (kind, opcode.operation()) {
                (Some(TransportKind::Cnp), _) => Payload::Fill { length: 16, byte: 0 },
                (Some(TransportKind::Rc), 0x1d) => Payload::Fill { length: 8, byte: 0 },
                _ => Payload::EMPTY,
            },
            exceptions: Exceptions::default(),
        };
        for header in row.into_iter().flat_map(|row| row.headers.iter()) {
            self.add(header, way, &mut packet.headers);
        }
        packet
    }

    /// Adds a header with what follows from the flow.
    pub fn add(&self, header: Header, way: Way, headers: &mut Headers) {
        let key = RKey::new(0);
        match header {
            Header::Rdeth => headers.rdeth = Some(Rdeth { reserved: 0, ee_context: self.ee_context }),
            Header::Xrceth => {
                let shared_receive_queue = self.shared_receive_queue;
                headers.xrceth = Some(Xrceth { reserved: 0, shared_receive_queue });
            }
            Header::Deth => {
                let source = self.side(way).qpn;
                headers.deth = Some(Deth { queue_key: self.queue_key, reserved: 0, source });
            }
            Header::Feth => {
                headers.feth =
                    Some(Feth { reserved: 0, selectivity: Feth::RANGE, placement: Feth::GLOBAL_VISIBILITY });
            }
            Header::Reth => headers.reth = Some(Reth { virtual_address: 0, key, length: 0 }),
            Header::AtomicEth => {
                headers.atomic_eth = Some(AtomicEth { virtual_address: 0, key, swap_or_add: 0, compare: 0 });
            }
            Header::Aeth => {
                let msn = self.side(way.turned()).completed;
                headers.aeth = Some(Aeth { syndrome: Syndrome::ACK, msn });
            }
            Header::AtomicAckEth => headers.atomic_ack_eth = Some(AtomicAckEth { original: 0 }),
            Header::ImmDt => headers.imm_dt = Some(ImmDt([0; 4])),
            Header::Ieth => headers.ieth = Some(Ieth { key }),
        }
    }

    /// Counts a packet that goes this way: numbers go on from the one it has.
    pub fn sent(&mut self, way: Way, packet: &Packet) {
        let mtu = self.mtu.max(1);
        let row = packet.opcode.row();
        let psn = packet.bth.psn;
        let side = self.side_mut(way);
        match row {
            Some(row) if row.transport == TransportKind::Cnp => {}
            Some(row) if !row.is_request => {
                if (0x0d..=0x10).contains(&packet.opcode.operation()) {
                    side.next_response = psn.next();
                }
            }
            _ => {
                let responses = match packet.headers.reth {
                    Some(reth) if packet.opcode.operation() == 0x0c => reth.length.div_ceil(mtu).max(1),
                    _ => 1,
                };
                side.last_request = psn;
                side.next_psn = psn.add(responses);
                if row.is_some_and(|row| row.ends_message) {
                    side.completed = side.completed.next();
                }
            }
        }
    }
}
