//! What SENDs and WRITEs are cut into.
//!
//! Rule: ddp-msn-from-one: The messages of each untagged queue are numbered from 1 on, all segments of one alike
//! (RFC 5041 §4.3).
//! Rule: ddp-message-offset: The message offset of an untagged segment says where in its message its payload begins, and a
//! tagged offset goes on from segment to segment (RFC 5041 §5.1).
//! Rule: ddp-last: The last segment of a message, and no other, has the bit L (RFC 5041 §4.2).
//! Rule: ddp-fits-mulpdu: No segment is longer than the longest ULPDU that MPA takes (RFC 5041 §5.1, RFC 5044 §5).
//! Rule: mpa-fpdu-fits-segment: No FPDU, its markers counted, is longer than a TCP segment (RFC 5044 §5.1).
//! Rule: rdmap-send-kinds: SENDs with and without solicited event, with and without invalidation, have opcodes of their
//! own; the tag to invalidate is in the DDP header (RFC 5040 §4.3, §4.4).
//! Rule: rdmap-zero-length: Messages may have no bytes (RFC 5040 §5.1).
//! Rule: rdmap-immediate-behind-write: A WRITE with immediate data is a WRITE, and behind it immediate data with a number
//! among those of the SENDs (RFC 7306 §6).
//! Rule: rdmap-send-completes: A SEND or WRITE is complete when the stream below has taken it (RFC 5040 §5.5).

use rdmalab_verbs::{Operation, SendFlags};
use rdmalab_wire::{ImmDt, RKey};

use crate::script::*;
use crate::side::{Setup, pattern};

#[test]
fn a_send_is_cut_into_segments_of_one_number_with_offsets() {
    let mut t = Script::new();
    t.post(send(3000));
    t.post(send(5));
    t.expect("RDMAP SEND msn=1 mo=0 len=1436");
    t.expect("RDMAP SEND msn=1 mo=1436 len=1436");
    t.expect_no_completion();
    t.expect("RDMAP SEND msn=1 mo=2872 len=128 last");
    t.expect_done(0);
    t.expect("RDMAP SEND msn=2 mo=0 len=5 last");
    t.expect_done(1);
    t.expect_nothing();
}

#[test]
fn a_write_is_cut_into_segments_whose_tagged_offset_goes_on() {
    let mut t = Script::new();
    t.post(write(3000));
    t.expect("RDMAP WRITE stag=0x777 to=0x2000 len=1440");
    t.expect("RDMAP WRITE stag=0x777 to=0x25a0 len=1440");
    t.expect_no_completion();
    t.expect("RDMAP WRITE stag=0x777 to=0x2b40 len=120 last");
    t.expect_done(0);
}

#[test]
fn segments_carry_the_bytes_of_the_elements_in_order() {
    let mut t = Script::new();
    t.side.fill(0, &pattern(1, 5000));
    let elements = [t.side.sge(4000, 700), t.side.sge(0, 0), t.side.sge(10, 800)];
    t.post(send(0).in_elements(&elements));
    let (first, second) = (t.poll_ulpdu().unwrap(), t.poll_ulpdu().unwrap());
    let sent = [&first[18..], &second[18..]].concat();
    let data = pattern(1, 5000);
    assert_eq!(sent, [&data[4000..4700], &data[10..810]].concat());
}

#[test]
fn inline_bytes_are_those_of_the_moment_of_posting() {
    let mut t = Script::new();
    t.post(Work { inline: Some(vec![7; 60]), ..send(0) });
    assert_eq!(t.poll_ulpdu().unwrap()[18..], [7; 60]);
    t.expect_done(0);
}

#[test]
fn the_four_kinds_of_send_have_their_opcodes() {
    let mut t = Script::new();
    let invalidate = Operation::SendWithInvalidate(RKey::new(0xabc));
    t.post(send(1));
    t.post(send(1).with(SendFlags::SOLICITED));
    t.post(operation(invalidate, 2000));
    t.post(operation(invalidate, 1).with(SendFlags::SOLICITED));
    t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
    t.expect("RDMAP SEND_SE msn=2 mo=0 len=1 last");
    t.expect("RDMAP SEND_INV msn=3 mo=0 inv=0xabc len=1436");
    t.expect("RDMAP SEND_INV msn=3 mo=1436 inv=0xabc len=564 last");
    t.expect("RDMAP SEND_SE_INV msn=4 mo=0 inv=0xabc len=1 last");
}

#[test]
fn messages_without_bytes_are_one_segment() {
    let mut t = Script::new();
    t.post(send(0));
    t.post(write(0));
    t.post(read(0));
    t.expect("RDMAP SEND msn=1 mo=0 len=0 last");
    t.expect("RDMAP WRITE stag=0x777 to=0x2000 len=0 last");
    t.expect("RDMAP READ_REQUEST msn=1 sink_stag=0x0 sink_to=0x0 size=0 src_stag=0x777 src_to=0x2000");
}

#[test]
fn immediate_data_follows_its_write_and_counts_among_the_sends() {
    let mut t = Script::new();
    let immediate = Operation::RdmaWriteWithImmediate(peer(), ImmDt([0xa, 0xb, 0xc, 0xd]));
    t.post(send(1));
    t.post(operation(immediate, 2000));
    t.post(operation(immediate, 0).with(SendFlags::SOLICITED));
    t.post(send(1));
    t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
    t.expect_done(0);
    t.expect("RDMAP WRITE stag=0x777 to=0x2000 len=1440");
    t.expect("RDMAP WRITE stag=0x777 to=0x25a0 len=560 last");
    t.expect_no_completion();
    t.expect("RDMAP IMMEDIATE msn=2 data=0x0a0b0c0d00000000");
    t.expect_done(1);
    t.expect("RDMAP WRITE stag=0x777 to=0x2000 len=0 last");
    t.expect("RDMAP IMMEDIATE_SE msn=3 data=0x0a0b0c0d00000000");
    t.expect("RDMAP SEND msn=4 mo=0 len=1 last");
}

#[test]
fn no_fpdu_is_longer_than_a_segment_and_whole_messages_fill_them() {
    for markers in [false, true] {
        for segment_size in [536, 1448, 1460, 8948, 65_483] {
            let mut t = Script::with(Setup { markers, segment_size, ..Setup::default() });
            t.post(write(60_000));
            t.post(send(60_000));
            let fpdus: Vec<_> = std::iter::from_fn(|| t.poll().map(|fpdu| fpdu.len())).collect();
            assert!(fpdus.iter().all(|length| *length <= segment_size), "{segment_size} {markers}");
            let longest = fpdus.iter().max().unwrap();
            assert!(
                longest + 8 >= segment_size.min(60_000),
                "{longest} of {segment_size}, markers: {markers}"
            );
        }
    }
}

#[test]
fn an_absurd_segment_size_still_lets_every_header_through() {
    let mut t = Script::with(Setup { segment_size: 1, markers: true, ..Setup::default() });
    t.post(send(200));
    t.expect("RDMAP SEND msn=1 mo=0 len=110");
    t.expect("RDMAP SEND msn=1 mo=110 len=90 last");
}

#[test]
fn a_buffer_that_is_too_small_gets_nothing_and_changes_nothing() {
    let mut t = Script::with(Setup { ready: None, ..Setup::default() });
    t.post(send(100));
    t.post(operation(Operation::FetchAndAdd { remote: peer(), add: 1 }, 8));
    t.post(read(8));
    for line in [
        "RDMAP SEND msn=1 mo=0 len=100 last",
        "RDMAP ATOMIC_REQUEST msn=1 fetch_add id=0x0 stag=0x777 to=0x2000 add=0x1 add_mask=0x0",
        "RDMAP READ_REQUEST msn=2 sink_stag=0x1001 sink_to=0x100000 size=8 src_stag=0x777 src_to=0x2000",
    ] {
        for size in 0..50 {
            let side = &mut t.side;
            assert_eq!(side.queue_pair.poll_transmit(&mut side.context, &mut vec![0; size]), 0);
            assert!(side.queue_pair.has_work());
        }
        let line = line.replace("0x1001", &format!("{:#x}", t.side.key));
        t.expect(&line);
    }
}

#[test]
fn only_requests_that_ask_for_it_are_reported() {
    let mut t = Script::new();
    t.post(Work { flags: SendFlags::empty(), ..send(1) });
    t.post(send(1));
    t.lines();
    t.expect_done(1);
    t.expect_no_completion();
}
