//! Packets as lines: what tests, logs and dumps compare and print.

use rdmalab_wire::{
    Aeth, AtomicAckEth, AtomicEth, Body, Bth, Deth, Feth, Ieth, ImmDt, Msn, NakCode, Opcode, Packet, Psn,
    QKey, Qpn, RKey, RawPacket, Rdeth, Reth, Syndrome, Transport, Xrceth,
};

#[track_caller]
fn expect(line: &str, psn: u32, body: Body, payload: usize) {
    expect_with(line, Bth::new(Qpn::new(0x11), Psn::new(psn)), Transport::Rc, body, payload);
}

/// The line of the packet, and of the raw packet in its bytes.
#[track_caller]
fn expect_with(line: &str, bth: Bth, transport: Transport, body: Body, payload: usize) {
    let payload = vec![0; payload];
    let packet = Packet { bth, transport, body, payload: &payload };
    assert_eq!(packet.to_string(), line);
    let mut bytes = vec![0; packet.encoded_length() + 4];
    packet.encode(&mut bytes).unwrap();
    assert_eq!(RawPacket::parse(&bytes).to_string(), line);
}

fn aeth(syndrome: Syndrome, msn: u32) -> Aeth {
    Aeth { syndrome, msn: Msn::new(msn) }
}

const RETH: Reth = Reth { virtual_address: 0x1000, key: RKey::new(0x200), length: 8 };

#[test]
fn requests() {
    let ack_request = Bth { ack_request: true, ..Bth::new(Qpn::new(0x11), Psn::new(7)) };
    expect("SEND_FIRST psn=0 len=1024", 0, Body::SendFirst, 1024);
    expect("SEND_ONLY psn=0 len=0", 0, Body::SendOnly, 0);
    let immediate = Body::SendOnlyImm(ImmDt([0, 0, 0, 1]));
    let line = "SEND_ONLY_IMM psn=7 len=4 imm=0x00000001 ackreq";
    expect_with(line, ack_request, Transport::Rc, immediate, 4);
    let invalidate = Body::SendOnlyInv(Ieth { key: RKey::new(0x200) });
    expect("SEND_ONLY_INV psn=7 len=1 inv=0x200", 7, invalidate, 1);
    let line = "WRITE_ONLY psn=7 va=0x1000 rkey=0x200 dmalen=8 len=8 ackreq";
    expect_with(line, ack_request, Transport::Rc, Body::WriteOnly(RETH), 8);
    let line = "WRITE_ONLY_IMM psn=7 va=0x1000 rkey=0x200 dmalen=8 len=8 imm=0x01020304";
    expect(line, 7, Body::WriteOnlyImm(RETH, ImmDt([1, 2, 3, 4])), 8);
    expect("READ_REQUEST psn=3 va=0x1000 rkey=0x200 dmalen=8", 3, Body::ReadRequest(RETH), 0);
}

#[test]
fn atomics() {
    let atomic = AtomicEth { virtual_address: 0x1000, key: RKey::new(0x200), swap_or_add: 10, compare: 0xff };
    let line = "COMPARE_SWAP psn=4 va=0x1000 rkey=0x200 swap=0xa compare=0xff";
    expect(line, 4, Body::CompareSwap(atomic), 0);
    expect("FETCH_ADD psn=4 va=0x1000 rkey=0x200 add=0xa", 4, Body::FetchAdd(atomic), 0);
    let acknowledge = Body::AtomicAcknowledge(aeth(Syndrome::ACK, 1), AtomicAckEth { original: 0x10 });
    expect("ATOMIC_ACKNOWLEDGE psn=4 ack msn=1 original=0x10", 4, acknowledge, 0);
}

#[test]
fn acknowledgements() {
    let cases = [
        ("ACKNOWLEDGE psn=5 ack msn=3", Syndrome::ACK),
        ("ACKNOWLEDGE psn=5 ack credits=5 msn=3", Syndrome::Ack { credits: 5 }),
        ("ACKNOWLEDGE psn=5 rnr=12 msn=3", Syndrome::RnrNak { timer: 12 }),
        ("ACKNOWLEDGE psn=5 nak=psn_sequence_error msn=3", Syndrome::Nak(NakCode::PsnSequenceError)),
        ("ACKNOWLEDGE psn=5 nak=invalid_request msn=3", Syndrome::Nak(NakCode::InvalidRequest)),
        ("ACKNOWLEDGE psn=5 nak=remote_access_error msn=3", Syndrome::Nak(NakCode::RemoteAccessError)),
        ("ACKNOWLEDGE psn=5 nak=0x1f msn=3", Syndrome::Nak(NakCode::Unknown(0x1f))),
        ("ACKNOWLEDGE psn=5 syndrome=0x41 msn=3", Syndrome::Reserved(0x41)),
    ];
    for (line, syndrome) in cases {
        expect(line, 5, Body::Acknowledge(aeth(syndrome, 3)), 0);
    }
    let response = Body::ReadResponseFirst(aeth(Syndrome::ACK, 1));
    expect("READ_RESPONSE_FIRST psn=4 ack msn=1 len=1024", 4, response, 1024);
    expect("READ_RESPONSE_MIDDLE psn=5 len=1024", 5, Body::ReadResponseMiddle, 1024);
}

#[test]
fn other_transports_and_flags() {
    let all = Bth {
        solicited: true,
        ack_request: true,
        fecn: true,
        becn: true,
        migrated: true,
        ..Bth::new(Qpn::new(0x11), Psn::new(1))
    };
    let line = "UC SEND_ONLY psn=1 len=3 solicited ackreq fecn becn migrated";
    expect_with(line, all, Transport::Uc, Body::SendOnly, 3);
    let deth = Deth { queue_key: QKey::GSI, reserved: 0, source: Qpn::GSI };
    let line = "UD SEND_ONLY psn=1 qkey=0x80010000 src=0x000001 len=256";
    let plain = Bth::new(Qpn::GSI, Psn::new(1));
    expect_with(line, plain, Transport::Ud(deth), Body::SendOnly, 256);
}

#[test]
fn reliable_datagrams() {
    let plain = Bth::new(Qpn::new(0x11), Psn::new(9));
    let rdeth = Rdeth { reserved: 0, ee_context: 0x21 };
    let deth = Deth { queue_key: QKey::new(0x1234), reserved: 0, source: Qpn::new(7) };
    let request = Transport::Rd(rdeth, Some(deth));
    let line = "RD SEND_ONLY psn=9 eec=0x21 qkey=0x00001234 src=0x000007 len=2";
    expect_with(line, plain, request, Body::SendOnly, 2);
    let line = "RD RESYNC psn=9 eec=0x21 qkey=0x00001234 src=0x000007";
    expect_with(line, plain, request, Body::Resync, 0);
    let line = "RD ACKNOWLEDGE psn=9 eec=0x21 ack msn=1";
    let response = Transport::Rd(rdeth, None);
    expect_with(line, plain, response, Body::Acknowledge(aeth(Syndrome::ACK, 1)), 0);
}

#[test]
fn extended_reliable_connections() {
    let plain = Bth::new(Qpn::new(0x11), Psn::new(9));
    let request = Transport::Xrc(Some(Xrceth { reserved: 0, shared_receive_queue: 5 }));
    expect_with("XRC SEND_ONLY psn=9 srq=0x5 len=0", plain, request, Body::SendOnly, 0);
    let line = "XRC WRITE_ONLY psn=9 srq=0x5 va=0x1000 rkey=0x200 dmalen=8 len=8";
    expect_with(line, plain, request, Body::WriteOnly(RETH), 8);
    let acknowledge = Body::Acknowledge(aeth(Syndrome::ACK, 1));
    expect_with("XRC ACKNOWLEDGE psn=9 ack msn=1", plain, Transport::Xrc(None), acknowledge, 0);
}

#[test]
fn congestion_notification() {
    let bth = Bth { becn: true, ..Bth::new(Qpn::new(0x118), Psn::new(0)) };
    expect_with("CNP psn=0 len=16 becn", bth, Transport::Cnp, Body::CongestionNotification, 16);
}

#[test]
fn memory_placement() {
    let feth = Feth { reserved: 0, selectivity: Feth::REGION, placement: Feth::PERSISTENCE };
    let line = "FLUSH psn=9 selectivity=1 placement=2 va=0x1000 rkey=0x200 dmalen=8";
    expect(line, 9, Body::Flush(feth, RETH), 0);
    let line = "ATOMIC_WRITE psn=9 va=0x1000 rkey=0x200 dmalen=8 len=8";
    expect(line, 9, Body::AtomicWrite(RETH), 8);
}

#[test]
fn broken_packets_say_what_is_wrong() {
    assert_eq!(
        RawPacket::parse(&[]).to_string(),
        "nothing [BTH at byte 0: truncated, needs 12 bytes, has 0]"
    );
    let line = "RC_WRITE_ONLY cut off [BTH at byte 0: truncated, needs 12 bytes, has 3]";
    assert_eq!(RawPacket::parse(&[0x0a, 0, 0]).to_string(), line);
    let mut write = Bth::new(Qpn::new(1), Psn::new(9)).encode(Opcode(0x0a)).to_vec();
    write.extend_from_slice(&[1, 2, 3]);
    let line = "WRITE_ONLY psn=9 len=3 [RETH at byte 12: truncated, needs 16 bytes, has 3]";
    assert_eq!(RawPacket::parse(&write).to_string(), line);
    let mut unknown = Bth::new(Qpn::new(1), Psn::new(9)).encode(Opcode(0x9f)).to_vec();
    unknown.extend_from_slice(&[0; 8]);
    let line = "OPCODE_0x9f psn=9 len=4 [BTH at byte 0: opcode has the bad value 0x9f]";
    assert_eq!(RawPacket::parse(&unknown).to_string(), line);
}
