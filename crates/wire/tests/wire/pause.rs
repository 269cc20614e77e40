//! PAUSE and priority flow control frames.

use proptest::prelude::*;
use rdmalab_wire::ethernet::ETHERTYPE_FLOW_CONTROL;
use rdmalab_wire::pause::PAUSE_DESTINATION;
use rdmalab_wire::{EthernetAddress, EthernetHeader, Frame, Layer, ParseError, Pause, PriorityPause};

#[test]
fn priority_flow_control_frame_is_read_and_its_padding_ignored() {
    let ethernet = EthernetHeader {
        destination: PAUSE_DESTINATION,
        source: EthernetAddress([2, 0, 0, 0, 0, 1]),
        ethertype: ETHERTYPE_FLOW_CONTROL,
    };
    let pause = PriorityPause { reserved: 0, enabled: 0x18, times: [7, 0, 0, 0xffff, 0, 0, 0, 0] };
    let mut bytes = ethernet.encode().to_vec();
    bytes.extend_from_slice(&Pause::Priorities(pause).encode());
    bytes.resize(60, 0);
    assert_eq!(bytes[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
    assert_eq!(bytes[12..18], [0x88, 0x08, 0x01, 0x01, 0x00, 0x18]);
    assert_eq!(bytes[18..26], [0, 7, 0, 0, 0, 0, 0xff, 0xff]);

    let frame = Frame::parse(&bytes).unwrap();
    assert_eq!(frame.ethertype, ETHERTYPE_FLOW_CONTROL);
    let found = Pause::parse(frame.network).unwrap();
    assert_eq!(found, Pause::Priorities(pause));
    assert_eq!(found.to_string(), "PFC 3=65535 4=0");
    assert_eq!(
        (pause.time(3), pause.time(4), pause.time(0), pause.time(200)),
        (Some(0xffff), Some(0), None, None)
    );
}

#[test]
fn pause_frame_is_read() {
    let pause = Pause::Link { time: 0xffff };
    assert_eq!(pause.length(), 4);
    assert_eq!(pause.encode()[..4], [0x00, 0x01, 0xff, 0xff]);
    assert_eq!(pause.encode()[4..], [0; 16]);
    assert_eq!(Pause::parse(&[0, 1, 0xff, 0xff, 0, 0]), Ok(pause));
    assert_eq!(pause.to_string(), "PAUSE time=65535");
}

#[test]
fn every_truncation_says_what_is_missing() {
    for pause in [Pause::Link { time: 5 }, Pause::Priorities(PriorityPause::default())] {
        let bytes = pause.encode();
        for length in 0..pause.length() {
            let (offset, need) = match length {
                0..2 => (0, 2),
                2..4 => (2, 2),
                _ => (4, 16),
            };
            let error = ParseError::truncated(Layer::FlowControl, offset, need, length - offset);
            assert_eq!(Pause::parse(&bytes[..length]), Err(error));
        }
        assert_eq!(Pause::parse(&bytes[..pause.length()]), Ok(pause));
    }
}

#[test]
fn other_opcodes_of_mac_control_are_refused() {
    let error = ParseError::bad_value(Layer::FlowControl, 0, "opcode", 0x0102);
    assert_eq!(Pause::parse(&[1, 2, 0, 0]), Err(error));
}

proptest! {
    #[test]
    fn flow_control_is_its_bytes(mut bytes in prop::collection::vec(any::<u8>(), 20), priorities in any::<bool>()) {
        bytes[..2].copy_from_slice(if priorities { &[1, 1] } else { &[0, 1] });
        let pause = Pause::parse(&bytes).unwrap();
        prop_assert_eq!(&pause.encode()[..pause.length()], &bytes[..pause.length()]);
    }
}
