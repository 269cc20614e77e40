//! Encoding and decoding undo each other, for any bytes; what is cut off or too long is told; no bytes panic.

use proptest::prelude::*;
use rdmalab_wire::mad::{
    ApStatus, DATA_LENGTH, IpCmHeader, MadClass, MadMethod, Mra, Path, RejReason, Rtu, SidrStatus,
    private_data, response_timeout_nanoseconds,
};
use rdmalab_wire::{CmMad, CmMessage, EncodeError, Layer, Mad, MadHeader, ParseError, RawMad};

use crate::{ATTRIBUTES, data, mads};

proptest! {
    #[test]
    fn header_is_its_bytes(bytes in any::<[u8; 24]>()) {
        prop_assert_eq!(MadHeader::decode(&bytes).encode(), bytes);
    }

    #[test]
    fn ip_cm_header_is_its_bytes(bytes in prop::collection::vec(any::<u8>(), 36)) {
        let bytes = *bytes.first_chunk().unwrap();
        prop_assert_eq!(IpCmHeader::decode(&bytes).encode(), bytes);
    }

    #[test]
    fn path_is_its_bytes(bytes in prop::collection::vec(any::<u8>(), 44)) {
        let bytes = *bytes.first_chunk().unwrap();
        prop_assert_eq!(Path::decode(&bytes).encode(), bytes);
    }

    #[test]
    fn every_message_is_its_bytes(attribute in ATTRIBUTES, data in data()) {
        let message = CmMessage::decode(attribute, &data).unwrap();
        prop_assert_eq!(message.attribute_id(), attribute);
        prop_assert_eq!(message.encode(), data);
    }

    #[test]
    fn every_mad_of_communication_management_survives(
        attribute in ATTRIBUTES,
        data in data(),
        (transaction_id, status, class_specific, reserved) in any::<(u64, u16, u16, u16)>(),
        attribute_modifier in any::<u32>(),
    ) {
        let message = CmMessage::decode(attribute, &data).unwrap();
        let cm = CmMad { transaction_id, status, class_specific, reserved, attribute_modifier, message };
        let bytes = cm.encode();
        prop_assert_eq!(Mad::parse(&bytes), Ok(Mad::Cm(cm)));
        prop_assert_eq!(Mad::Cm(cm).encode(), bytes);
        prop_assert_eq!(RawMad::parse(&bytes).message(), Some(message));
    }

    #[test]
    fn every_other_mad_survives(header in any::<[u8; 24]>(), data in data()) {
        let header = MadHeader::decode(&header);
        let mad = Mad::Other { header, data: &data };
        let bytes = mad.encode();
        prop_assert_eq!(Mad::parse(&bytes), Ok(mad));
    }
}

/// Everything there is to do with bytes that claim to be a MAD.
fn check(bytes: &[u8]) {
    let raw = RawMad::parse(bytes);
    let line = raw.to_string();
    assert!(!line.is_empty());
    let mut again = vec![0; bytes.len()];
    assert_eq!(raw.encode(&mut again), Ok(bytes.len()), "{line}");
    assert_eq!(again, bytes, "{line}");
    for group in raw.field_groups() {
        for field in group.fields {
            let (_, text) = field.text(&bytes[group.base..]).unwrap();
            assert!(!text.to_string().is_empty());
        }
    }
    match Mad::parse(bytes) {
        Ok(mad) => {
            assert_eq!((raw.error, raw.mad()), (None, Some(mad)));
            assert_eq!(mad.to_string(), line);
            assert_eq!(mad.encode(), bytes);
        }
        Err(error) => assert_eq!(raw.error, Some(error)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn arbitrary_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&bytes);
    }

    #[test]
    fn arbitrary_messages_are_no_panic(
        attribute in 0x0f..0x1c_u8,
        data in data(),
        (version, method) in (1..4_u8, 2..5_u8),
        service in prop::option::of(any::<u8>()),
        length in 0..300_usize,
    ) {
        let mut bytes = vec![1, 7, version, method];
        bytes.resize(24, 0);
        bytes[17] = attribute;
        bytes.extend_from_slice(&data);
        if let Some(ip_versions) = service {
            bytes[32..40].copy_from_slice(&[0, 0, 0, 0, 1, 6, 0x1c, 6]);
            bytes[41] = ip_versions;
            bytes[165] = ip_versions;
        }
        check(&bytes);
        bytes.resize(length, 0xaa);
        check(&bytes);
    }
}

#[test]
fn every_truncation_names_what_is_incomplete() {
    let (_, whole) = mads("rping").remove(0);
    for length in 0..whole.len() {
        let error = if length < 24 {
            ParseError::truncated(Layer::Mad, 0, 24, length)
        } else {
            ParseError::truncated(Layer::MadData, 24, DATA_LENGTH, length - 24)
        };
        assert_eq!(Mad::parse(&whole[..length]), Err(error));
        assert_eq!(RawMad::parse(&whole[..length]).error, Some(error));
        assert_eq!(RawMad::parse(&whole[..length]).mad(), None);
    }
}

#[test]
fn surplus_bytes_are_refused_and_shown() {
    let (_, mut bytes) = mads("rping").remove(2);
    bytes.push(0x55);
    let error = ParseError::bad_value(Layer::Mad, 0, "length", 257);
    assert_eq!(Mad::parse(&bytes), Err(error));
    let raw = RawMad::parse(&bytes);
    assert_eq!((raw.error, raw.surplus), (Some(error), &[0x55][..]));
    assert!(matches!(raw.message(), Some(CmMessage::Rtu(_))));
    let refused = EncodeError::BufferTooSmall { need: 257, have: 256 };
    assert_eq!(raw.encode(&mut [0; 256]), Err(refused));
}

#[test]
fn every_reserved_bit_stays_visible() {
    for attribute in ATTRIBUTES {
        let zero = CmMessage::decode(attribute, &[0; DATA_LENGTH]).unwrap();
        for bit in 0..DATA_LENGTH * 8 {
            let mut data = [0; DATA_LENGTH];
            data[bit / 8] = 0x80 >> (bit % 8);
            let message = CmMessage::decode(attribute, &data).unwrap();
            assert_ne!(message, zero, "bit {bit} of {}", zero.name());
            assert_eq!(message.encode(), data, "bit {bit} of {}", zero.name());
        }
    }
}

/// Another version, method or attribute is no message, but whoever looks closer finds one.
#[test]
fn message_under_the_wrong_header_is_another_mad() {
    let cm = CmMad::new(7, CmMessage::Rtu(Rtu::default()));
    let right = MadHeader { transaction_id: 7, ..cm.header() };
    let wrong = [
        MadHeader { base_version: 2, ..right },
        MadHeader { class_version: 1, ..right },
        MadHeader { method: MadMethod::GET, ..right },
        MadHeader { class: MadClass::PERFORMANCE, ..right },
        MadHeader { attribute_id: 0x0f, ..right },
    ];
    let data = [0; DATA_LENGTH];
    for header in wrong {
        let bytes = Mad::Other { header, data: &data }.encode();
        let mad = Mad::parse(&bytes).unwrap();
        assert_eq!(mad, Mad::Other { header, data: &data });
        assert_eq!(mad.header(), header);
        let seen = header.class == MadClass::COMMUNICATION && header.attribute_id == 0x14;
        assert_eq!(RawMad::parse(&bytes).message().is_some(), seen);
    }
    assert_eq!(Mad::parse(&cm.encode()).unwrap().header(), right);
}

#[test]
fn value_too_wide_for_its_field_touches_no_other() {
    let mra = Mra { service_timeout: 0xff, reserved_after_message: 0xc0, ..Mra::default() };
    let again = Mra::decode(&mra.encode());
    assert_eq!(again, Mra { service_timeout: 0x1f, reserved_after_message: 0, ..Mra::default() });
}

#[test]
fn private_data_are_filled_up_with_zero_and_never_cut_off() {
    assert_eq!(private_data(b"abc"), Some(*b"abc\0\0"));
    assert_eq!(private_data(b"abcde"), Some(*b"abcde"));
    assert_eq!(private_data::<5>(b"abcdef"), None);
}

#[test]
fn response_timeouts_double_and_none_is_infinite() {
    assert_eq!(response_timeout_nanoseconds(0), 4_096);
    assert_eq!(response_timeout_nanoseconds(20), 4_294_967_296);
    assert_eq!(response_timeout_nanoseconds(31), 4_096 << 31);
    assert_eq!(response_timeout_nanoseconds(32), response_timeout_nanoseconds(0));
}

/// The tables as the specification counts them: reasons 1 to 33, statuses from 0 on, without a gap.
#[test]
fn codes_are_named_without_a_gap() {
    let reasons: Vec<u16> = RejReason::NAMED.iter().map(|(reason, _)| reason.0).collect();
    assert_eq!(reasons, (1..=33).collect::<Vec<_>>());
    let statuses: Vec<u8> = SidrStatus::NAMED.iter().map(|(status, _)| status.0).collect();
    assert_eq!(statuses, (0..=5).collect::<Vec<_>>());
    let statuses: Vec<u8> = ApStatus::NAMED.iter().map(|(status, _)| status.0).collect();
    assert_eq!(statuses, (0..=13).collect::<Vec<_>>());
    assert_eq!(RejReason::CONSUMER_REJECT.to_string(), "consumer_reject");
    assert_eq!(RejReason(0x1234).to_string(), "0x1234");
    assert_eq!(RejReason(34).name(), None);
}
