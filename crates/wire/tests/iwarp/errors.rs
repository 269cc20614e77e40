//! What makes a header illegal, and the errors of Terminate messages: RFC 5040 §4.8, RFC 5041 §8.2, RFC 5044
//! §8, RFC 6581 §7.

use std::collections::BTreeSet;

use rdmalab_wire::iwarp::{Header, HeaderFault, Model, Opcode, Place, Segment, Stag, TerminateError, queue};

const TAGGED: Place = Place::Tagged { stag: Stag::new(1), offset: 2 };

fn untagged(queue: u32) -> Place {
    Place::Untagged { upper: 0, queue, msn: 1, offset: 0 }
}

/// Every opcode with every place: the one right place of each known opcode and no other is legal.
#[test]
fn an_opcode_belongs_to_one_place() {
    let places = [TAGGED, untagged(0), untagged(1), untagged(2), untagged(3)];
    for opcode in (0..16).map(Opcode::new) {
        for place in places {
            let right = match (opcode.row().map(|row| row.model), place) {
                (Some(Model::Tagged), Place::Tagged { .. }) => true,
                (Some(Model::Untagged { queue }), Place::Untagged { queue: found, .. }) => queue == found,
                _ => false,
            };
            let header = Header::new(opcode, true, place);
            let fault = match opcode.row() {
                Some(_) => HeaderFault::Misplaced(opcode),
                None => HeaderFault::Opcode(opcode),
            };
            assert_eq!(header.check().map_err(Some), opcode.row().filter(|_| right).ok_or(Some(fault)));
            assert_eq!(fault.terminate_error(), TerminateError::RDMAP_UNEXPECTED_OPCODE);
        }
    }
}

/// RFC 5040 §4.3 and §5, RFC 7306 §4.
#[test]
fn opcodes_as_the_rfcs_have_them() {
    let model = |value| Opcode::new(value).row().map(|row| row.model);
    let queues = [
        None,
        Some(1),
        None,
        Some(0),
        Some(0),
        Some(0),
        Some(0),
        Some(2),
        Some(0),
        Some(0),
        Some(1),
        Some(3),
    ];
    for (value, queue) in queues.into_iter().enumerate() {
        let expected = queue.map_or(Model::Tagged, |queue| Model::Untagged { queue });
        assert_eq!(model(value as u8), Some(expected));
    }
    let which = |of: fn(&rdmalab_wire::iwarp::OpcodeRow) -> bool| -> Vec<u8> {
        (0..16).filter(|value| Opcode::new(*value).row().is_some_and(of)).collect()
    };
    assert_eq!(which(|row| row.consumes_receive), [3, 4, 5, 6, 8, 9]);
    assert_eq!(which(|row| row.solicited), [5, 6, 9]);
    assert_eq!(which(|row| row.invalidates), [4, 6]);
    assert_eq!(which(|row| row.wants_response), [1, 10]);
}

#[test]
fn the_first_fault_counts() {
    let right = Header::new(Opcode::SEND, true, untagged(queue::SEND));
    assert!(right.check().is_ok());
    let mut wrong =
        Header { ddp_version: 0, rdmap_version: 2, opcode: Opcode::new(15), place: untagged(4), ..right };
    let expect = |header: &Header, line: &str, error: TerminateError| {
        let fault = header.check().unwrap_err();
        assert_eq!(fault.to_string(), line);
        assert_eq!(fault.terminate_error(), error);
        let bytes = header.encode();
        let parsed = Segment::parse(&bytes[..header.length()]).unwrap_err();
        assert_eq!(parsed, fault.parse_error());
    };
    expect(&wrong, "DDP version 0", TerminateError::DDP_UNTAGGED_VERSION);
    let tagged = Header { place: TAGGED, ..wrong };
    expect(&tagged, "DDP version 0", TerminateError::DDP_TAGGED_VERSION);
    wrong.ddp_version = 1;
    expect(&wrong, "no queue has the number 4", TerminateError::DDP_INVALID_QUEUE);
    wrong.place = untagged(3);
    expect(&wrong, "RDMAP version 2", TerminateError::RDMAP_VERSION);
    wrong.rdmap_version = 1;
    expect(&wrong, "no operation has the opcode 0xf", TerminateError::RDMAP_UNEXPECTED_OPCODE);
    wrong.opcode = Opcode::SEND;
    expect(&wrong, "SEND has no business here", TerminateError::RDMAP_UNEXPECTED_OPCODE);
}

/// The numbers as tshark 4.0 and the IANA registry of RDDP's errors have them.
#[test]
fn errors_have_their_numbers() {
    let numbers: BTreeSet<(u8, u8, u8)> =
        TerminateError::all().map(|error| (error.layer, error.error_type, error.code)).collect();
    let codes = |layer, error_type| -> Vec<u8> {
        numbers.iter().filter(|(l, t, _)| (*l, *t) == (layer, error_type)).map(|(_, _, code)| *code).collect()
    };
    assert_eq!(codes(0, 0), [0]);
    assert_eq!(codes(0, 1), [0, 1, 2, 3, 4, 9, 0xff]);
    assert_eq!(codes(0, 2), [5, 6, 7, 8, 0xff]);
    assert_eq!(codes(1, 0), [0]);
    assert_eq!(codes(1, 1), [0, 1, 2, 3, 4]);
    assert_eq!(codes(1, 2), [1, 2, 3, 4, 5, 6]);
    assert_eq!(codes(2, 0), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(numbers.len(), 32);
    assert_eq!(TerminateError::all().count(), 32, "none has two names");
    let names: BTreeSet<String> = TerminateError::all().map(|error| error.to_string()).collect();
    assert_eq!(names.len(), 32);
    let unknown = TerminateError { layer: 2, error_type: 1, code: 0x33 };
    assert_eq!((unknown.name(), unknown.to_string()), (None, "0x2/0x1/0x33".to_owned()));
}
