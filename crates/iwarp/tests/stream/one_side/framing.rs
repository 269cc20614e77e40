//! CRCs and markers.
//!
//! Rule: mpa-crc-checked: Where CRCs are used, an FPDU with a wrong one ends the connection by that error
//! (RFC 5044 §4.4, §8).
//! Rule: mpa-crc-before-delivery: Nothing is delivered before the CRC of its FPDU was found right; of an FPDU that is here
//! as a whole, nothing is placed either (RFC 5044 §4.4).
//! Rule: mpa-crc-field-always: Where no CRCs are used, the field is there all the same, and not looked at (RFC 5044 §4.4).
//! Rule: mpa-damaged-header: What is wrong with a header is told only if its CRC is right (RFC 5044 §8).
//! Rule: mpa-marker-checked: A marker that does not point to where its FPDU begins ends the connection by that error
//! (RFC 5044 §4.3, §8).
//! Rule: mpa-markers-placed: Markers stand every 512 bytes in the stream, and point to the FPDU that they are in
//! (RFC 5044 §4.3).

use rdmalab_verbs::State;
use rdmalab_wire::iwarp::{Opcode, TerminateError};

use crate::script::*;
use crate::side::{BASE, Setup, pattern};

#[test]
fn a_wrong_crc_ends_the_connection_whatever_bit_is_wrong() {
    let mut t = Script::new();
    let length = t.encode(&incoming_send(1, 10)).len();
    for at in 0..length {
        for piece in [1000, 1] {
            let mut t = Script::new();
            t.side.receive(7, 0, 100);
            let mut fpdu = t.encode(&incoming_send(1, 10));
            fpdu[at] ^= 0x10;
            // A longer length field has it wait for more.
            fpdu.resize(70_000, 0);
            fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
            t.expect_terminate(TerminateError::MPA_CRC, "");
            t.expect_flushed([7]);
            if piece == 1000 {
                t.expect_bytes(0, &[0; 10]);
            }
        }
    }
}

#[test]
fn nothing_is_delivered_before_the_last_byte_of_the_crc() {
    let mut t = Script::new();
    t.side.receive(7, 0, 100);
    for segment in [incoming_send(1, 10), t.incoming_read(1, 0, 1)] {
        let fpdu = t.encode(&segment);
        let (front, last) = fpdu.split_at(fpdu.len() - 1);
        t.deliver_bytes(front);
        t.expect_no_completion();
        t.expect_nothing();
        t.deliver_bytes(last);
        if segment.header.opcode == Opcode::SEND {
            t.expect_done(7);
        } else {
            t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1 last");
        }
    }
}

#[test]
fn without_crcs_the_field_is_not_looked_at() {
    let mut t = Script::with(Setup { crc: false, ..Setup::default() });
    t.side.receive(7, 0, 100);
    let mut fpdu = t.encode(&incoming_send(1, 10));
    let end = fpdu.len();
    fpdu[end - 4..].copy_from_slice(&[1, 2, 3, 4]);
    t.deliver_bytes(&fpdu);
    t.expect_done(7);
    t.expect_alive();
}

#[test]
fn a_header_that_is_damaged_is_told_as_a_wrong_crc_not_as_a_wrong_header() {
    for piece in [1000, 1] {
        let mut t = Script::new();
        let mut fpdu = t.encode(&t.incoming_write(0, 10));
        // The tag.
        fpdu[5] ^= 1;
        fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
        t.expect_terminate(TerminateError::MPA_CRC, "");
        t.expect_bytes(0, &[0; 10]);
    }
}

#[test]
fn the_padding_may_be_anything() {
    let mut t = Script::with(Setup { crc: false, ..Setup::default() });
    t.side.receive(7, 0, 100);
    let mut fpdu = t.encode(&incoming_send(1, 9));
    let end = fpdu.len();
    fpdu[end - 7..].fill(0xee);
    t.deliver_bytes(&fpdu);
    assert_eq!(t.expect_done(7).length, 9);
}

#[test]
fn markers_stand_every_512_bytes_and_point_back() {
    let mut t = Script::with(Setup { markers: true, crc: false, ..Setup::default() });
    t.side.fill(0, &pattern(5, 4000));
    t.post(send(4000));
    let mut stream = Vec::new();
    let mut starts = Vec::new();
    while let Some(fpdu) = t.poll() {
        starts.push(stream.len());
        stream.extend_from_slice(&fpdu);
    }
    assert!(starts.len() > 2);
    for at in (0..stream.len()).step_by(512) {
        let begins = starts.iter().rev().find(|start| **start <= at).unwrap();
        let expected = if *begins == at { 0 } else { at - begins };
        // A marker in front of an FPDU is counted to it, and the FPDU begins behind.
        let expected = if expected > 0 && begins % 512 == 0 { expected - 4 } else { expected };
        assert_eq!(stream[at..at + 4], [0, 0, (expected >> 8) as u8, expected as u8], "at {at}");
    }
}

#[test]
fn a_wrong_marker_ends_the_connection() {
    for crc in [true, false] {
        for piece in [100_000, 1] {
            for (at, value) in [(3, 4), (512 + 3, 8), (1024 + 2, 1)] {
                let mut t = Script::with(Setup { markers: true, crc, ..Setup::default() });
                let mut fpdu = t.encode(&tagged(Opcode::WRITE, t.side.key, BASE, &[1; 1300]));
                fpdu[at] ^= value;
                // A whole FPDU is judged by its CRC first, but for the marker in front.
                let whole = crc && piece > 1 && at > 4;
                let error = if whole { TerminateError::MPA_CRC } else { TerminateError::MPA_MARKER };
                fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
                t.expect_state(State::Err);
                t.expect_terminate(error, "");
            }
        }
    }
}
