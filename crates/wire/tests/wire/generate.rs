//! Random headers and packets.

use proptest::prelude::*;
use rdmalab_wire::ipv4::PROTOCOL_UDP;
use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Body, Bth, Carrier, Deth, Feth, Gid, Grh, Ieth, ImmDt, Ipv4Header,
    Ipv6Header, LinkNextHeader, Lrh, Msn, PKey, PayloadRule, Psn, QKey, Qpn, RKey, ROCE_V2_PORT, Rdeth, Reth,
    Syndrome, Transport, TransportKind, UdpHeader, Xrceth, row,
};

prop_compose! {
    /// Every field, the reserved ones too; the pad count and the version as a legal packet has them.
    pub(crate) fn bth()(
        (solicited, migrated, fecn, becn, ack_request) in any::<(bool, bool, bool, bool, bool)>(),
        partition_key in any::<u16>(),
        reserved_6 in 0..64u8,
        reserved_7 in 0..128u8,
        destination in any::<u32>(),
        psn in any::<u32>(),
    ) -> Bth {
        Bth {
            solicited,
            migrated,
            pad_count: 0,
            header_version: 0,
            partition_key: PKey::new(partition_key),
            fecn,
            becn,
            reserved_6,
            destination: Qpn::new(destination),
            ack_request,
            reserved_7,
            psn: Psn::new(psn),
        }
    }
}

pub(crate) fn deth() -> impl Strategy<Value = Deth> {
    any::<(u32, u8, u32)>().prop_map(|(key, reserved, source)| Deth {
        queue_key: QKey::new(key),
        reserved,
        source: Qpn::new(source),
    })
}

pub(crate) fn reth() -> impl Strategy<Value = Reth> {
    any::<(u64, u32, u32)>().prop_map(|(virtual_address, key, length)| Reth {
        virtual_address,
        key: RKey::new(key),
        length,
    })
}

pub(crate) fn atomic_eth() -> impl Strategy<Value = AtomicEth> {
    any::<(u64, u32, u64, u64)>().prop_map(|(virtual_address, key, swap_or_add, compare)| AtomicEth {
        virtual_address,
        key: RKey::new(key),
        swap_or_add,
        compare,
    })
}

pub(crate) fn aeth() -> impl Strategy<Value = Aeth> {
    any::<(u8, u32)>()
        .prop_map(|(syndrome, msn)| Aeth { syndrome: Syndrome::from_byte(syndrome), msn: Msn::new(msn) })
}

pub(crate) fn imm_dt() -> impl Strategy<Value = ImmDt> {
    any::<[u8; 4]>().prop_map(ImmDt)
}

pub(crate) fn ieth() -> impl Strategy<Value = Ieth> {
    any::<u32>().prop_map(|key| Ieth { key: RKey::new(key) })
}

pub(crate) fn feth() -> impl Strategy<Value = Feth> {
    any::<[u8; 4]>().prop_map(|bytes| Feth::decode(&bytes))
}

pub(crate) fn rdeth() -> impl Strategy<Value = Rdeth> {
    any::<[u8; 4]>().prop_map(|bytes| Rdeth::decode(&bytes))
}

pub(crate) fn xrceth() -> impl Strategy<Value = Xrceth> {
    any::<[u8; 4]>().prop_map(|bytes| Xrceth::decode(&bytes))
}

/// The body of an operation, every variant of [`Body`].
fn body(kind: TransportKind, operation: u8) -> BoxedStrategy<Body> {
    if kind == TransportKind::Cnp {
        return Just(Body::CongestionNotification).boxed();
    }
    match operation {
        0x00 => Just(Body::SendFirst).boxed(),
        0x01 => Just(Body::SendMiddle).boxed(),
        0x02 => Just(Body::SendLast).boxed(),
        0x03 => imm_dt().prop_map(Body::SendLastImm).boxed(),
        0x04 => Just(Body::SendOnly).boxed(),
        0x05 => imm_dt().prop_map(Body::SendOnlyImm).boxed(),
        0x06 => reth().prop_map(Body::WriteFirst).boxed(),
        0x07 => Just(Body::WriteMiddle).boxed(),
        0x08 => Just(Body::WriteLast).boxed(),
        0x09 => imm_dt().prop_map(Body::WriteLastImm).boxed(),
        0x0a => reth().prop_map(Body::WriteOnly).boxed(),
        0x0b => (reth(), imm_dt()).prop_map(|(reth, imm_dt)| Body::WriteOnlyImm(reth, imm_dt)).boxed(),
        0x0c => reth().prop_map(Body::ReadRequest).boxed(),
        0x0d => aeth().prop_map(Body::ReadResponseFirst).boxed(),
        0x0e => Just(Body::ReadResponseMiddle).boxed(),
        0x0f => aeth().prop_map(Body::ReadResponseLast).boxed(),
        0x10 => aeth().prop_map(Body::ReadResponseOnly).boxed(),
        0x11 => aeth().prop_map(Body::Acknowledge).boxed(),
        0x12 => (aeth(), any::<u64>())
            .prop_map(|(aeth, original)| Body::AtomicAcknowledge(aeth, AtomicAckEth { original }))
            .boxed(),
        0x13 => atomic_eth().prop_map(Body::CompareSwap).boxed(),
        0x14 => atomic_eth().prop_map(Body::FetchAdd).boxed(),
        0x15 => Just(Body::Resync).boxed(),
        0x16 => ieth().prop_map(Body::SendLastInv).boxed(),
        0x17 => ieth().prop_map(Body::SendOnlyInv).boxed(),
        0x1c => (feth(), reth()).prop_map(|(feth, reth)| Body::Flush(feth, reth)).boxed(),
        0x1d => reth().prop_map(Body::AtomicWrite).boxed(),
        _ => panic!("no operation {operation:#x}"),
    }
}

fn transport(kind: TransportKind, is_request: bool) -> BoxedStrategy<Transport> {
    match (kind, is_request) {
        (TransportKind::Rc, _) => Just(Transport::Rc).boxed(),
        (TransportKind::Uc, _) => Just(Transport::Uc).boxed(),
        (TransportKind::Rd, true) => {
            (rdeth(), deth()).prop_map(|(rdeth, deth)| Transport::Rd(rdeth, Some(deth))).boxed()
        }
        (TransportKind::Rd, false) => rdeth().prop_map(|rdeth| Transport::Rd(rdeth, None)).boxed(),
        (TransportKind::Ud, _) => deth().prop_map(Transport::Ud).boxed(),
        (TransportKind::Cnp, _) => Just(Transport::Cnp).boxed(),
        (TransportKind::Xrc, true) => xrceth().prop_map(|xrceth| Transport::Xrc(Some(xrceth))).boxed(),
        (TransportKind::Xrc, false) => Just(Transport::Xrc(None)).boxed(),
    }
}

/// A transport and a body that go together, of every opcode there is.
pub(crate) fn operation() -> impl Strategy<Value = (Transport, Body)> {
    let rows: Vec<_> = (0..=255).filter_map(row).collect();
    prop::sample::select(rows).prop_flat_map(|row| {
        (transport(row.transport, row.is_request), body(row.transport, row.opcode & 0x1f))
    })
}

/// A payload made one that the rule allows on some path.
pub(crate) fn fitting(rule: PayloadRule, mut payload: Vec<u8>) -> Vec<u8> {
    match rule {
        PayloadRule::None => payload.clear(),
        PayloadRule::Exactly(bytes) => payload.resize(bytes, 0x5a),
        _ => {}
    }
    payload
}

fn grh() -> impl Strategy<Value = Grh> {
    let gids = any::<([u8; 16], [u8; 16])>();
    (gids, any::<(u8, u32, u8)>()).prop_map(|((source, destination), (traffic_class, label, hop_limit))| {
        Grh {
            traffic_class,
            flow_label: label & 0xf_ffff,
            hop_limit,
            ..Grh::new(Gid(source), Gid(destination))
        }
    })
}

fn lrh() -> impl Strategy<Value = Lrh> {
    any::<[u8; 8]>().prop_map(|bytes| Lrh { link_version: 0, ..Lrh::decode(&bytes) })
}

/// Every kind of carrier, its lengths not set yet, all else as it likes.
pub(crate) fn carrier() -> impl Strategy<Value = Carrier> {
    let udp = any::<(u16, u16)>().prop_map(|(source_port, checksum)| UdpHeader {
        source_port,
        destination_port: ROCE_V2_PORT,
        length: 0,
        checksum,
    });
    let ipv4 = any::<[u8; 20]>().prop_map(|bytes| Ipv4Header {
        more_fragments: false,
        fragment_offset: 0,
        protocol: PROTOCOL_UDP,
        ..Ipv4Header::decode(&bytes)
    });
    let ipv6 = prop::collection::vec(any::<u8>(), 40).prop_map(|bytes| Ipv6Header {
        next_header: PROTOCOL_UDP,
        ..Ipv6Header::decode(bytes.first_chunk().unwrap())
    });
    prop_oneof![
        (ipv4, udp.clone()).prop_map(|(ip, udp)| Carrier::RoceV2Ipv4(ip, udp)),
        (ipv6, udp).prop_map(|(ip, udp)| Carrier::RoceV2Ipv6(ip, udp)),
        grh().prop_map(Carrier::RoceV1),
        lrh().prop_map(|lrh| Carrier::Native(Lrh { next_header: LinkNextHeader::Local, ..lrh }, None)),
        (lrh(), grh()).prop_map(|(lrh, grh)| Carrier::Native(lrh, None).with_grh(grh)),
    ]
}
