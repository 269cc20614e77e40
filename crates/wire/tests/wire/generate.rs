//! Random headers and packets.

use proptest::prelude::*;
use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Body, Bth, Deth, Ieth, ImmDt, Msn, PKey, Psn, QKey, Qpn, RKey, Reth,
    Syndrome, Transport,
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

/// Every variant of [`Body`].
pub(crate) fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        Just(Body::SendFirst),
        Just(Body::SendMiddle),
        Just(Body::SendLast),
        imm_dt().prop_map(Body::SendLastImm),
        Just(Body::SendOnly),
        imm_dt().prop_map(Body::SendOnlyImm),
        ieth().prop_map(Body::SendLastInv),
        ieth().prop_map(Body::SendOnlyInv),
        reth().prop_map(Body::WriteFirst),
        Just(Body::WriteMiddle),
        Just(Body::WriteLast),
        imm_dt().prop_map(Body::WriteLastImm),
        reth().prop_map(Body::WriteOnly),
        (reth(), imm_dt()).prop_map(|(reth, imm_dt)| Body::WriteOnlyImm(reth, imm_dt)),
        reth().prop_map(Body::ReadRequest),
        aeth().prop_map(Body::ReadResponseFirst),
        Just(Body::ReadResponseMiddle),
        aeth().prop_map(Body::ReadResponseLast),
        aeth().prop_map(Body::ReadResponseOnly),
        aeth().prop_map(Body::Acknowledge),
        (aeth(), any::<u64>())
            .prop_map(|(aeth, original)| { Body::AtomicAcknowledge(aeth, AtomicAckEth { original }) }),
        atomic_eth().prop_map(Body::CompareSwap),
        atomic_eth().prop_map(Body::FetchAdd),
    ]
}

/// A transport and a body that go together.
pub(crate) fn operation() -> impl Strategy<Value = (Transport, Body)> {
    let transport = prop_oneof![
        4 => Just(Transport::Rc),
        2 => Just(Transport::Uc),
        1 => deth().prop_map(Transport::Ud),
    ];
    (transport, body()).prop_map(|(transport, body)| {
        let opcode = transport.kind().opcode(body.operation());
        // Nearly all bodies go over RC; that keeps them from being thrown away.
        if opcode.row().is_some() { (transport, body) } else { (Transport::Rc, body) }
    })
}
