//! Random headers and segments.

use proptest::prelude::*;
use rdmalab_wire::iwarp::{
    AtomicOperation, AtomicRequest, AtomicResponse, Body, Enhanced, Header, MpaFrame, MpaKind, Opcode, Place,
    ReadRequest, Segment, SendKind, Stag, Tagged, Terminate, TerminateError, TerminatedSegment,
};

pub(crate) fn stag() -> impl Strategy<Value = Stag> {
    any::<u32>().prop_map(Stag::new)
}

pub(crate) fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        (stag(), any::<u64>()).prop_map(|(stag, offset)| Place::Tagged { stag, offset }),
        (any::<u32>(), 0..5_u32, any::<u32>(), any::<u32>())
            .prop_map(|(upper, queue, msn, offset)| Place::Untagged { upper, queue, msn, offset }),
    ]
}

prop_compose! {
    /// Every field, legal or not.
    pub(crate) fn header()(
        last in any::<bool>(),
        ddp_reserved in 0..16_u8,
        ddp_version in 0..4_u8,
        rdmap_version in 0..4_u8,
        rdmap_reserved in 0..4_u8,
        opcode in (0..16_u8).prop_map(Opcode::new),
        place in place(),
    ) -> Header {
        Header { last, ddp_reserved, ddp_version, rdmap_version, rdmap_reserved, opcode, place }
    }
}

prop_compose! {
    pub(crate) fn read_request()(
        (sink_stag, source_stag) in (stag(), stag()),
        (sink_offset, source_offset) in any::<(u64, u64)>(),
        length in any::<u32>(),
    ) -> ReadRequest {
        ReadRequest { sink_stag, sink_offset, length, source_stag, source_offset }
    }
}

prop_compose! {
    pub(crate) fn atomic_request()(
        operation in (0..16_u8).prop_map(AtomicOperation::from_code),
        reserved in 0..1_u32 << 28,
        (request_id, stag) in (any::<u32>(), stag()),
        (offset, add_or_swap, add_or_swap_mask, compare, compare_mask) in any::<(u64, u64, u64, u64, u64)>(),
    ) -> AtomicRequest {
        AtomicRequest {
            reserved, operation, request_id, stag, offset, add_or_swap, add_or_swap_mask, compare, compare_mask,
        }
    }
}

pub(crate) fn atomic_response() -> impl Strategy<Value = AtomicResponse> {
    any::<(u32, u64)>().prop_map(|(request_id, original)| AtomicResponse { request_id, original })
}

prop_compose! {
    pub(crate) fn enhanced()(
        (peer_to_peer, rtr_empty, rtr_write, rtr_read) in any::<(bool, bool, bool, bool)>(),
        (ird, ord) in (0..0x4000_u16, 0..0x4000_u16),
    ) -> Enhanced {
        Enhanced { peer_to_peer, rtr_empty, rtr_write, rtr_read, ird, ord }
    }
}

/// A frame around private data; enhanced data from revision 2 on only, where it exists.
pub(crate) fn mpa_frame(private_data: &[u8]) -> impl Strategy<Value = MpaFrame<'_>> {
    (
        any::<(bool, bool, bool, bool)>(),
        prop_oneof![0..4_u8, any::<u8>()],
        any::<u8>(),
        prop::option::of(enhanced()),
    )
        .prop_map(move |((reply, markers, crc, reject), revision, reserved, enhanced)| MpaFrame {
            kind: if reply { MpaKind::Reply } else { MpaKind::Request },
            markers,
            crc,
            reject,
            reserved: reserved & if revision >= 2 { 0x0f } else { 0x1f },
            revision,
            enhanced: enhanced.filter(|_| revision >= 2),
            private_data,
        })
}

pub(crate) fn terminate(rdmap_header: &[u8]) -> impl Strategy<Value = Terminate<'_>> {
    let error = (0..16_u8, 0..16_u8, any::<u8>()).prop_map(|(layer, error_type, code)| TerminateError {
        layer,
        error_type,
        code,
    });
    let segment = (any::<u16>(), header()).prop_map(|(length, header)| TerminatedSegment { length, header });
    (error, 0..0x2000_u16, any::<bool>(), prop::option::of(segment), any::<bool>()).prop_map(
        move |(error, reserved, length_valid, segment, included)| Terminate {
            error,
            reserved,
            length_valid,
            segment,
            rdmap_header: included.then_some(rdmap_header),
            rest: if included { &[] } else { rdmap_header },
        },
    )
}

pub(crate) fn body() -> impl Strategy<Value = Body<'static>> {
    let tagged = || (stag(), any::<u64>()).prop_map(|(stag, offset)| Tagged { stag, offset });
    let kind = prop_oneof![
        Just(SendKind::Plain),
        stag().prop_map(SendKind::Invalidate),
        Just(SendKind::Solicited),
        stag().prop_map(SendKind::SolicitedInvalidate),
    ];
    let legal = |request: AtomicRequest| {
        let swap = request.operation != AtomicOperation::FetchAdd;
        let operation = if swap { AtomicOperation::CompareSwap } else { AtomicOperation::FetchAdd };
        AtomicRequest { operation, reserved: 0, ..request }
    };
    prop_oneof![
        tagged().prop_map(Body::Write),
        tagged().prop_map(Body::ReadResponse),
        (kind, any::<u32>(), any::<u32>()).prop_map(|(kind, msn, offset)| Body::Send { kind, msn, offset }),
        (any::<u32>(), read_request()).prop_map(|(msn, request)| Body::ReadRequest { msn, request }),
        (any::<u32>(), terminate(b"a Read Request has 28 bytes."))
            .prop_map(|(msn, terminate)| Body::Terminate { msn, terminate }),
        any::<(bool, u32, [u8; 8])>().prop_map(|(solicited, msn, data)| Body::Immediate {
            solicited,
            msn,
            data
        }),
        (any::<u32>(), atomic_request())
            .prop_map(move |(msn, request)| Body::AtomicRequest { msn, request: legal(request) }),
        (any::<u32>(), atomic_response()).prop_map(|(msn, response)| Body::AtomicResponse { msn, response }),
    ]
}

/// Whether payload may stand behind the body, and more segments.
pub(crate) fn takes_payload(body: &Body<'_>) -> bool {
    matches!(body, Body::Write(_) | Body::ReadResponse(_) | Body::Send { .. })
}

/// The bytes of a legal segment with up to so much payload.
pub(crate) fn segment(payload: usize) -> impl Strategy<Value = Vec<u8>> {
    (body(), prop::collection::vec(any::<u8>(), 0..payload), any::<bool>()).prop_map(
        |(body, payload, last)| {
            let several = takes_payload(&body);
            let payload = if several { &payload[..] } else { &[] };
            let segment = Segment { body, payload, last: last || !several };
            let mut bytes = vec![0; segment.encoded_length()];
            segment.encode(&mut bytes).unwrap();
            bytes
        },
    )
}
