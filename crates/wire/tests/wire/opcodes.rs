//! All 256 opcodes: the table against a list written down apart from it, and the packet parser against the
//! table.

use rdmalab_wire::{
    Bth, Header, HeaderSet, Layer, Opcode, Packet, ParseError, PayloadRule, Position, Psn, Qpn, RawPacket,
    row,
};

/// Opcode, how it is displayed, bytes of extended headers.
#[rustfmt::skip]
const KNOWN: [(u8, &str, usize); 85] = [
    (0x00, "RC_SEND_FIRST", 0), (0x01, "RC_SEND_MIDDLE", 0), (0x02, "RC_SEND_LAST", 0),
    (0x03, "RC_SEND_LAST_IMM", 4), (0x04, "RC_SEND_ONLY", 0), (0x05, "RC_SEND_ONLY_IMM", 4),
    (0x06, "RC_WRITE_FIRST", 16), (0x07, "RC_WRITE_MIDDLE", 0), (0x08, "RC_WRITE_LAST", 0),
    (0x09, "RC_WRITE_LAST_IMM", 4), (0x0a, "RC_WRITE_ONLY", 16), (0x0b, "RC_WRITE_ONLY_IMM", 20),
    (0x0c, "RC_READ_REQUEST", 16), (0x0d, "RC_READ_RESPONSE_FIRST", 4), (0x0e, "RC_READ_RESPONSE_MIDDLE", 0),
    (0x0f, "RC_READ_RESPONSE_LAST", 4), (0x10, "RC_READ_RESPONSE_ONLY", 4), (0x11, "RC_ACKNOWLEDGE", 4),
    (0x12, "RC_ATOMIC_ACKNOWLEDGE", 12), (0x13, "RC_COMPARE_SWAP", 28), (0x14, "RC_FETCH_ADD", 28),
    (0x16, "RC_SEND_LAST_INV", 4), (0x17, "RC_SEND_ONLY_INV", 4),
    (0x1c, "RC_FLUSH", 20), (0x1d, "RC_ATOMIC_WRITE", 16),

    (0x20, "UC_SEND_FIRST", 0), (0x21, "UC_SEND_MIDDLE", 0), (0x22, "UC_SEND_LAST", 0),
    (0x23, "UC_SEND_LAST_IMM", 4), (0x24, "UC_SEND_ONLY", 0), (0x25, "UC_SEND_ONLY_IMM", 4),
    (0x26, "UC_WRITE_FIRST", 16), (0x27, "UC_WRITE_MIDDLE", 0), (0x28, "UC_WRITE_LAST", 0),
    (0x29, "UC_WRITE_LAST_IMM", 4), (0x2a, "UC_WRITE_ONLY", 16), (0x2b, "UC_WRITE_ONLY_IMM", 20),

    (0x40, "RD_SEND_FIRST", 12), (0x41, "RD_SEND_MIDDLE", 12), (0x42, "RD_SEND_LAST", 12),
    (0x43, "RD_SEND_LAST_IMM", 16), (0x44, "RD_SEND_ONLY", 12), (0x45, "RD_SEND_ONLY_IMM", 16),
    (0x46, "RD_WRITE_FIRST", 28), (0x47, "RD_WRITE_MIDDLE", 12), (0x48, "RD_WRITE_LAST", 12),
    (0x49, "RD_WRITE_LAST_IMM", 16), (0x4a, "RD_WRITE_ONLY", 28), (0x4b, "RD_WRITE_ONLY_IMM", 32),
    (0x4c, "RD_READ_REQUEST", 28), (0x4d, "RD_READ_RESPONSE_FIRST", 8), (0x4e, "RD_READ_RESPONSE_MIDDLE", 4),
    (0x4f, "RD_READ_RESPONSE_LAST", 8), (0x50, "RD_READ_RESPONSE_ONLY", 8), (0x51, "RD_ACKNOWLEDGE", 8),
    (0x52, "RD_ATOMIC_ACKNOWLEDGE", 16), (0x53, "RD_COMPARE_SWAP", 40), (0x54, "RD_FETCH_ADD", 40),
    (0x55, "RD_RESYNC", 12),

    (0x64, "UD_SEND_ONLY", 8), (0x65, "UD_SEND_ONLY_IMM", 12),

    (0x81, "CNP", 0),

    (0xa0, "XRC_SEND_FIRST", 4), (0xa1, "XRC_SEND_MIDDLE", 4), (0xa2, "XRC_SEND_LAST", 4),
    (0xa3, "XRC_SEND_LAST_IMM", 8), (0xa4, "XRC_SEND_ONLY", 4), (0xa5, "XRC_SEND_ONLY_IMM", 8),
    (0xa6, "XRC_WRITE_FIRST", 20), (0xa7, "XRC_WRITE_MIDDLE", 4), (0xa8, "XRC_WRITE_LAST", 4),
    (0xa9, "XRC_WRITE_LAST_IMM", 8), (0xaa, "XRC_WRITE_ONLY", 20), (0xab, "XRC_WRITE_ONLY_IMM", 24),
    (0xac, "XRC_READ_REQUEST", 20), (0xad, "XRC_READ_RESPONSE_FIRST", 4), (0xae, "XRC_READ_RESPONSE_MIDDLE", 0),
    (0xaf, "XRC_READ_RESPONSE_LAST", 4), (0xb0, "XRC_READ_RESPONSE_ONLY", 4), (0xb1, "XRC_ACKNOWLEDGE", 4),
    (0xb2, "XRC_ATOMIC_ACKNOWLEDGE", 12), (0xb3, "XRC_COMPARE_SWAP", 32), (0xb4, "XRC_FETCH_ADD", 32),
    (0xb6, "XRC_SEND_LAST_INV", 8), (0xb7, "XRC_SEND_ONLY_INV", 8),
];

#[test]
fn table_knows_exactly_the_opcodes_there_are() {
    for opcode in 0..=255 {
        let known = KNOWN.iter().find(|(known, ..)| *known == opcode);
        let found = row(opcode);
        assert_eq!(found.is_some(), known.is_some(), "{opcode:#04x}");
        let (Some((_, name, headers)), Some(row)) = (known, found) else {
            assert_eq!(Opcode(opcode).to_string(), format!("{opcode:#04x}"));
            continue;
        };
        assert_eq!(row.opcode, opcode);
        assert_eq!(Opcode(opcode).to_string(), *name);
        assert_eq!(row.headers.length(), *headers, "{name}");
        assert_eq!(row.transport as u8, opcode >> 5, "{name}");
    }
}

#[test]
fn rows_agree_with_their_names() {
    for row in (0..=255).filter_map(row) {
        let name = row.name;
        let position = if name.contains("FIRST") {
            Position::First
        } else if name.contains("MIDDLE") {
            Position::Middle
        } else if name.contains("LAST") {
            Position::Last
        } else {
            Position::Only
        };
        assert_eq!(row.position, position, "{name}");
        assert_eq!(row.ends_message, matches!(position, Position::Last | Position::Only), "{name}");
        assert_eq!(row.headers.contains(Header::ImmDt), name.ends_with("_IMM"), "{name}");
        assert_eq!(row.headers.contains(Header::Ieth), name.ends_with("_INV"), "{name}");
        let response = name.contains("RESPONSE") || name.contains("ACKNOWLEDGE") || name == "CNP";
        assert_eq!(row.is_request, !response, "{name}");
        let takes_receive = name.starts_with("SEND") && matches!(position, Position::First | Position::Only)
            || name.starts_with("WRITE") && name.ends_with("IMM");
        assert_eq!(row.consumes_receive, takes_receive, "{name}");
        let carries = name.starts_with("SEND") || name.starts_with("WRITE") || name.contains("RESPONSE");
        let rule = match (carries, position) {
            (true, Position::First | Position::Middle) => PayloadRule::PathMtu,
            (true, Position::Last) => PayloadRule::UpToPathMtu,
            (true, Position::Only) => PayloadRule::AtMostPathMtu,
            (false, _) if name == "CNP" => PayloadRule::Exactly(16),
            (false, _) if name == "ATOMIC_WRITE" => PayloadRule::Exactly(8),
            (false, _) => PayloadRule::None,
        };
        assert_eq!(row.payload, rule, "{name}");
    }
}

#[test]
fn payload_rules_at_their_edges() {
    let allowed =
        |rule: PayloadRule| (0..=257).filter(|length| rule.allows(*length, 256)).collect::<Vec<_>>();
    assert_eq!(allowed(PayloadRule::None), [0]);
    assert_eq!(allowed(PayloadRule::PathMtu), [256]);
    assert_eq!(allowed(PayloadRule::UpToPathMtu), (1..=256).collect::<Vec<_>>());
    assert_eq!(allowed(PayloadRule::AtMostPathMtu), (0..=256).collect::<Vec<_>>());
    assert_eq!(allowed(PayloadRule::Exactly(16)), [16]);
}

#[test]
fn header_set_keeps_the_order_of_the_wire() {
    let set = HeaderSet::of(&[Header::ImmDt, Header::Reth, Header::Rdeth]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [Header::Rdeth, Header::Reth, Header::ImmDt]);
    assert_eq!(set.length(), 24);
    assert_eq!(HeaderSet::EMPTY.length(), 0);
}

/// A packet whose extended headers are counted up, so that a header decoded from the wrong place shows.
#[test]
fn an_opcode_names_its_transport_whether_it_has_a_row_or_not() {
    for code in 0..=255 {
        let opcode = Opcode(code);
        if let Some(row) = opcode.row() {
            assert_eq!(opcode.transport(), Some(row.transport), "{opcode}");
        }
        let back = opcode.transport().map(|transport| transport.opcode(opcode.operation()));
        assert_eq!(back, (code < 0xc0).then_some(opcode));
    }
}

#[test]
fn every_opcode_is_parsed_by_its_row_or_refused() {
    let mut parsed = 0;
    for opcode in 0..=255 {
        let mut bytes = Bth::new(Qpn::new(3), Psn::new(4)).encode(Opcode(opcode)).to_vec();
        let (headers, payload) = row(opcode).map_or((0, 0), |row| {
            (row.headers.length(), if let PayloadRule::Exactly(bytes) = row.payload { bytes } else { 0 })
        });
        bytes.extend((1..).take(headers + payload + 4));
        let raw = RawPacket::parse(&bytes);
        assert_eq!(raw.opcode, Some(Opcode(opcode)));
        let unknown = ParseError::bad_value(Layer::Bth, 0, "opcode", u64::from(opcode));
        match row(opcode) {
            None => {
                assert_eq!(raw.error, Some(unknown));
                assert_eq!(Packet::parse(&bytes), Err(unknown));
            }
            Some(row) => {
                assert_eq!(raw.error, None, "{}", Opcode(opcode));
                assert_eq!(raw.headers.set(), row.headers);
                let packet = Packet::parse(&bytes).unwrap();
                assert_eq!(packet.opcode(), Opcode(opcode));
                assert_eq!(packet.to_string(), raw.to_string());
                assert_eq!(packet.encoded_length() + 4, bytes.len());
                let mut again = vec![0; packet.encoded_length()];
                assert_eq!(packet.encode(&mut again), Ok(again.len()));
                assert_eq!(again, bytes[..again.len()], "{packet}");
                parsed += 1;
            }
        }
        let mut again = vec![0; bytes.len()];
        assert_eq!(raw.encode(&mut again), Ok(bytes.len()));
        assert_eq!(again, bytes);
    }
    assert_eq!(parsed, KNOWN.len());
}
