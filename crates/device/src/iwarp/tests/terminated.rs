//! Connections that a Terminate message ends.
//!
//! Rule: rdmap-terminate-once-closing: Who has sent a Terminate message ends its own direction and waits for the peer's end,
//! for so long at most, before the connection is given up (RFC 5040 §5.4, §6.8).

use super::*;

/// A READ request without the bit of the last segment, with a CRC.
fn wrong() -> Vec<u8> {
    let mut fpdu = vec![0, 46, 0x01, 0x41];
    fpdu.resize(48, 0);
    let crc = rdmalab_wire::iwarp::crc32c(&fpdu);
    fpdu.extend(crc.to_le_bytes());
    fpdu
}

/// A connection whose peer has said what ends it; our Terminate message is on its way.
fn ended(setup: &mut Setup) -> (StreamId, Qpn) {
    let (stream, number) = setup.connected();
    setup.table.handle_bytes(&mut setup.context, stream, &wrong());
    assert_eq!(setup.table.counters().sent_terminates, 1);
    assert_eq!(setup.commands(), [], "the message is not out");
    assert!(!setup.take(stream).is_empty());
    assert_eq!(setup.commands(), [Command::ShutDown(stream)], "and our direction ends behind it");
    (stream, number)
}

#[test]
fn who_has_sent_a_terminate_message_waits_for_the_peers_end() {
    let mut setup = Setup::new();
    let (stream, number) = ended(&mut setup);
    setup.pass(CLOSE_PATIENCE - 1);
    assert_eq!(setup.commands(), []);
    // What still comes is nothing.
    setup.table.handle_bytes(&mut setup.context, stream, &wrong());
    assert!(setup.take(stream).is_empty());
    setup.table.handle_end(&mut setup.context, stream, End::Graceful);
    assert_eq!(setup.commands(), [Command::Close(stream)]);
    assert_eq!(setup.table.state(number), Some(State::Err));
    assert!(setup.table.streams.is_empty() && setup.table.next_timeout().is_none());
    // The application is told that it was not an end like any other.
    let said = setup.happenings();
    assert!(matches!(said[..], [.., Happening::Ended { cause, .. }] if cause.is_terminate()), "{said:?}");
}

#[test]
fn and_not_for_ever() {
    let mut setup = Setup::new();
    let (stream, _) = ended(&mut setup);
    setup.pass(CLOSE_PATIENCE);
    assert_eq!(setup.commands(), [Command::Reset(stream)]);
    assert!(setup.table.streams.is_empty() && setup.table.next_timeout().is_none());
}
