//! Packets that are dropped without an answer, each counted under its reason.
//!
//! Rule: rc-silent-drop: A packet that is malformed, of another peer or partition, or with a wrong ICRC is
//! dropped without an answer.

use rdmalab_roce::Discard;
use rdmalab_verbs::State;
use rdmalab_wire::Qpn;

use crate::script::*;
use crate::side::address;

/// Delivers bytes and expects that nothing but a count comes of them.
#[track_caller]
fn expect_dropped(t: &mut Script, bytes: &[u8], reason: Discard) {
    let received = t.counters().rcvd_pkts;
    t.deliver_bytes(bytes);
    t.expect_discard(reason);
    t.expect_nothing();
    t.expect_untouched(0);
    assert_eq!(t.counters().rcvd_pkts, received, "only sound packets count as received");
    // The packet it might have been is still expected.
    t.expect_state(State::Rts);
}

#[test]
fn a_packet_from_another_address_is_dropped() {
    let mut t = Script::new();
    let bytes = t.encode_between(address(3), address(1), &write_only(0, 0, 8));
    expect_dropped(&mut t, &bytes, Discard::Address);
}

#[test]
fn a_packet_to_another_address_is_dropped() {
    let mut t = Script::new();
    let bytes = t.encode_between(address(2), address(3), &write_only(0, 0, 8));
    expect_dropped(&mut t, &bytes, Discard::Address);
}

#[test]
fn a_packet_over_the_other_internet_protocol_is_dropped() {
    let mut t = Script::new();
    let v6 = |n: u16| std::net::IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, n]);
    let bytes = t.encode_between(v6(2), v6(1), &write_only(0, 0, 8));
    expect_dropped(&mut t, &bytes, Discard::Address);
}

#[test]
fn a_packet_of_another_partition_is_dropped() {
    for key in [0x0001, 0x8001, 0x7ffe, 0xfffe, 0] {
        let mut t = Script::new();
        let bytes = t.encode(&write_only(0, 0, 8).partition(key));
        expect_dropped(&mut t, &bytes, Discard::PartitionKey);
    }
}

#[test]
fn a_limited_member_of_the_partition_may_talk_to_a_full_one() {
    let mut t = Script::new();
    t.deliver(write_only(0, 0, 8).partition(0x7fff));
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn a_packet_with_any_flipped_bit_that_the_icrc_covers_is_not_carried_out() {
    let t = Script::new();
    let good = t.encode(&write_only(0, 0, 8));
    drop(t);
    let base_header = 28 * 8;
    for bit in base_header..good.len() * 8 {
        if (base_header + 32..base_header + 40).contains(&bit) {
            continue; // FECN, BECN and six reserved bits are not covered.
        }
        let mut t = Script::new();
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        t.deliver_bytes(&bytes);
        t.expect_nothing();
        t.expect_untouched(0);
        t.expect_state(State::Rts);
        assert_eq!(t.counters().rcvd_pkts, 0, "bit {bit}");
    }
}

#[test]
fn a_wrong_icrc_is_counted_as_such() {
    let mut t = Script::new();
    let mut bytes = t.encode(&write_only(0, 0, 8));
    *bytes.last_mut().unwrap() ^= 0x80;
    expect_dropped(&mut t, &bytes, Discard::Icrc);
    let mut bytes = t.encode(&write_only(0, 0, 8));
    let payload = bytes.len() - 5;
    bytes[payload] ^= 1;
    expect_dropped(&mut t, &bytes, Discard::Icrc);
}

#[test]
fn bits_that_the_icrc_does_not_cover_do_not_matter() {
    let mut t = Script::new();
    let mut bytes = t.encode(&write_only(0, 0, 8));
    bytes[28 + 4] = 0xff;
    t.deliver_bytes(&bytes);
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn the_migration_request_bit_does_not_matter() {
    let mut t = Script::new();
    let mut request = write_only(0, 0, 8);
    request.bth.migrated = true;
    t.deliver(request);
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn a_packet_for_an_unknown_queue_pair_is_dropped() {
    let own = Script::new().side.queue_pair.value();
    for number in [1, 2, own + 1, own - 1, own << 1, 0xff_ffff] {
        let mut t = Script::new();
        let bytes = t.encode(&write_only(0, 0, 8).to(Qpn::new(number)));
        expect_dropped(&mut t, &bytes, Discard::UnknownQueuePair);
    }
}

#[test]
fn a_state_that_does_not_receive_drops_everything() {
    for state in [State::Reset, State::Init, State::Err] {
        let mut t = Script::in_state(state, Setup::default());
        for packet in [write_only(0, 0, 8), send_only(0, 8), read_request(0, 0, 8), ack(0)] {
            t.deliver(packet);
            t.expect_discard(Discard::State);
        }
        t.expect_nothing();
        t.expect_untouched(0);
        t.expect_state(state);
    }
}

#[test]
fn every_truncation_is_dropped() {
    let mut t = Script::new();
    let good = t.encode(&write_only(0, 0, 8));
    for length in 0..good.len() {
        let bytes = &good[..length];
        expect_dropped(&mut t, bytes, Discard::Malformed);
    }
    t.deliver_bytes(&good);
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}

#[test]
fn lengths_that_agree_with_each_other_but_not_with_the_opcode_are_malformed() {
    let mut t = Script::new();
    let good = t.encode(&write_only(0, 0, 8));
    for cut in [8, 12, 16, 24] {
        let bytes = with_right_icrc(good[..good.len() - cut].to_vec());
        t.deliver_bytes(&bytes);
        let counters = *t.counters();
        assert_eq!(counters.rcvd_pkts, u64::from(cut == 8), "cut by {cut}");
        if cut == 8 {
            // Whole, but without the payload that it announces.
            t.expect("ACKNOWLEDGE psn=0 nak=invalid_request msn=0");
            t = Script::new();
        } else {
            t.expect_discard(Discard::Malformed);
        }
    }
    t.expect_nothing();
}

#[test]
fn a_pad_count_larger_than_the_payload_is_malformed() {
    let mut t = Script::new();
    let mut bytes = t.encode(&write_only(0, 0, 0));
    bytes[29] |= 0x30;
    expect_dropped(&mut t, &with_right_icrc(bytes), Discard::Malformed);
}

#[test]
fn another_header_version_is_dropped() {
    let mut t = Script::new();
    let mut bytes = t.encode(&write_only(0, 0, 8));
    bytes[29] |= 0x01;
    expect_dropped(&mut t, &with_right_icrc(bytes), Discard::Malformed);
}

#[test]
fn ethernet_padding_behind_the_packet_is_ignored() {
    let mut t = Script::new();
    let mut bytes = t.encode(&write_only(0, 0, 8));
    bytes.extend([0xaa; 11]);
    t.deliver_bytes(&bytes);
    t.expect("ACKNOWLEDGE psn=0 ack msn=1");
}
