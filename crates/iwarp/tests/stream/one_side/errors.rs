//! Every error that a Terminate message can name: how we come to send it, or why we never do.
//!
//! Rule: rdmap-every-error: Each error of the tables is told where it applies (RFC 5040 §4.8, RFC 5041 §8.2, RFC 5044 §8,
//! RFC 6581 §7).
//! Rule: rdmap-terminate-last: Nothing follows a Terminate message, and there is only one (RFC 5040 §5.4).

use rdmalab_iwarp::Event;
use rdmalab_verbs::{Access, State};
use rdmalab_wire::iwarp::{Opcode, RawBody, RawSegment, TerminateError};

use crate::script::*;
use crate::side::{BASE, Setup};

/// Errors that we never send, with the reason.
const NEVER: [(TerminateError, &str); 5] = [
    (TerminateError::RDMAP_PROTECTION_UNSPECIFIED, "each protection error has a closer description"),
    (TerminateError::RDMAP_STREAM_CATASTROPHIC, "what breaks on our side is told as a local error"),
    (TerminateError::RDMAP_GLOBAL_CATASTROPHIC, "nothing breaks for all streams at once"),
    (TerminateError::DDP_LOCAL_CATASTROPHIC, "told as RDMAP's local error"),
    (TerminateError::MPA_CONNECTION_LOST, "there is no stream left to tell it on"),
];

/// Errors of the start-up, which whoever plays it hands over.
const OF_START_UP: [TerminateError; 4] = [
    TerminateError::MPA_STARTUP_FRAME,
    TerminateError::MPA_LOCAL_CATASTROPHIC,
    TerminateError::MPA_INSUFFICIENT_IRD,
    TerminateError::MPA_NO_MATCHING_RTR,
];

fn write(t: &mut Script, key: u32, offset: u64) {
    t.deliver(tagged(Opcode::WRITE, key, offset, &[1; 4]));
}

/// Brings a side to send an error.
fn provoke(error: TerminateError) -> Option<Script> {
    let mut t = Script::new();
    t.side.receive(0, 0, 10);
    let key = t.side.key;
    let other = t.side.context.allocate_protection_domain().unwrap();
    let memory = std::sync::Arc::clone(&t.side.memory);
    let foreign = t.side.context.register(other, BASE, memory, Access::FULL).unwrap();
    match error {
        TerminateError::RDMAP_LOCAL_CATASTROPHIC => {
            t.side.context.deregister(key).unwrap();
            t.deliver(incoming_send(1, 1));
        }
        TerminateError::RDMAP_INVALID_STAG => t.deliver(read_request(1, 1, BASE, 1)),
        TerminateError::RDMAP_BOUNDS => t.deliver(read_request(1, key, BASE - 1, 1)),
        TerminateError::RDMAP_ACCESS => {
            t = Script::with(Setup { rights: Access::LOCAL_WRITE, ..Setup::default() });
            t.deliver(t.incoming_read(1, 0, 1));
        }
        TerminateError::RDMAP_STAG_OF_OTHER_STREAM => t.deliver(read_request(1, foreign, BASE, 1)),
        TerminateError::RDMAP_OFFSET_WRAP => t.deliver(read_request(1, key, u64::MAX, 2)),
        TerminateError::RDMAP_CANNOT_INVALIDATE => {
            t.deliver(incoming_send(1, 1).opcode(Opcode::SEND_INV).upper(key));
        }
        TerminateError::RDMAP_VERSION => {
            let mut segment = incoming_send(1, 1);
            segment.header.rdmap_version = 2;
            t.deliver(segment);
        }
        TerminateError::RDMAP_UNEXPECTED_OPCODE => t.deliver(t.response(0, 1)),
        TerminateError::RDMAP_OPERATION_UNSPECIFIED => t.deliver(untagged(Opcode::READ_REQUEST, 1, 1, &[0])),
        TerminateError::DDP_INVALID_STAG => write(&mut t, 1, BASE),
        TerminateError::DDP_BOUNDS => write(&mut t, key, BASE - 1),
        TerminateError::DDP_STAG_OF_OTHER_STREAM => write(&mut t, foreign, BASE),
        TerminateError::DDP_OFFSET_WRAP => write(&mut t, key, u64::MAX),
        TerminateError::DDP_TAGGED_VERSION => {
            let mut segment = t.incoming_write(0, 1);
            segment.header.ddp_version = 0;
            t.deliver(segment);
        }
        TerminateError::DDP_INVALID_QUEUE => t.deliver(untagged(Opcode::SEND, 4, 1, &[])),
        TerminateError::DDP_NO_BUFFER => {
            t.deliver(incoming_send(1, 1));
            t.deliver(incoming_send(2, 1));
        }
        TerminateError::DDP_MSN_RANGE => t.deliver(incoming_send(2, 1)),
        TerminateError::DDP_INVALID_MESSAGE_OFFSET => t.deliver(incoming_send(1, 1).mo(1)),
        TerminateError::DDP_MESSAGE_TOO_LONG => t.deliver(incoming_send(1, 11)),
        TerminateError::DDP_UNTAGGED_VERSION => {
            let mut segment = incoming_send(1, 1);
            segment.header.ddp_version = 0;
            t.deliver(segment);
        }
        TerminateError::MPA_CRC => {
            let mut fpdu = t.encode(&incoming_send(1, 1));
            fpdu[20] ^= 1;
            t.deliver_bytes(&fpdu);
        }
        TerminateError::MPA_MARKER => {
            t = Script::with(Setup { markers: true, ..Setup::default() });
            t.deliver_bytes(&[0, 0, 0, 4]);
        }
        error if OF_START_UP.contains(&error) => t.side.queue_pair.terminate(&mut t.side.context, error),
        _ => return None,
    }
    Some(t)
}

#[test]
fn every_error_is_sent_somewhere_or_has_a_reason_not_to_be() {
    for error in TerminateError::all() {
        let reason = NEVER.iter().find(|(never, _)| *never == error);
        let Some(mut t) = provoke(error) else {
            assert!(reason.is_some(), "{error} is neither sent nor excused");
            continue;
        };
        assert!(reason.is_none(), "{error} is sent and excused");
        t.post(send(1));
        let ulpdu = t.poll_ulpdu().expect("a Terminate message");
        match RawSegment::parse(&ulpdu).body {
            Some(RawBody::Terminate(terminate)) => assert_eq!(terminate.error, error),
            other => panic!("{error}: {other:?}"),
        }
        t.deliver(incoming_send(9, 1));
        t.expect_nothing();
        t.expect_state(State::Err);
    }
}

#[test]
fn without_a_connection_there_is_nobody_to_tell() {
    let mut side = crate::side::Side::unconnected(&Setup::default());
    side.queue_pair.terminate(&mut side.context, TerminateError::MPA_INSUFFICIENT_IRD);
    assert!(!side.queue_pair.has_work());
    assert_eq!(side.queue_pair.poll_event(), Some(Event::Reset));
    assert_eq!(side.queue_pair.state(), State::Err);
}
