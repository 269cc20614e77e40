//! Local protection errors: a request whose own memory may not be used fails in its turn, after all that are older.
//!
//! Rule: rc-local-protection-error: A request whose own elements may not be used ends with
//! IBV_WC_LOC_PROT_ERR once the requests before it are done.

use rdmalab_verbs::{Access, CompletionStatus, Sge, State};

use crate::script::*;

const PROTECTION: CompletionStatus = CompletionStatus::LocalProtectionError;

/// Elements that may not be used, and whether only a READ or atomic minds.
fn bad_elements(t: &mut Script) -> Vec<(Sge, bool)> {
    let good = t.side.sge(0, 8);
    let memory = t.side.memory.clone();
    let context = &mut t.side.context;
    let other_domain = context.allocate_protection_domain().unwrap();
    let foreign = context.register(other_domain, BASE, memory.clone(), Access::FULL).unwrap();
    let read_only = context.register(t.side.domain, BASE, memory, Access::empty()).unwrap();
    vec![
        (Sge { key: 0, ..good }, false),
        (Sge { key: good.key + 1, ..good }, false),
        (Sge { key: foreign, ..good }, false),
        (Sge { address: BASE - 1, ..good }, false),
        (Sge { address: BASE + MEMORY as u64 - 7, ..good }, false),
        (Sge { address: u64::MAX - 3, ..good }, false),
        (Sge { key: read_only, ..good }, true),
    ]
}

#[test]
fn a_send_or_write_with_a_bad_element_fails_and_nothing_of_it_is_sent() {
    let cases = bad_elements(&mut Script::new()).len();
    for case in 0..cases {
        for work in [send(0), write(0)] {
            let mut t = Script::new();
            let (element, for_sinks_only) = bad_elements(&mut t)[case];
            if for_sinks_only {
                continue;
            }
            t.post(work.in_elements(&[element]));
            t.post(send(1));
            t.expect_completion(0, PROTECTION);
            t.expect_flushed([1]);
            t.expect_state(State::Err);
        }
    }
}

#[test]
fn a_read_or_atomic_needs_a_sink_that_may_be_written() {
    let cases = bad_elements(&mut Script::new()).len();
    for case in 0..cases {
        for work in [read(0), fetch_add(1), compare_swap(1, 2)] {
            let mut t = Script::new();
            let (element, _) = bad_elements(&mut t)[case];
            t.post(work.in_elements(&[element]));
            t.expect_completion(0, PROTECTION);
            t.expect_state(State::Err);
        }
    }
}

#[test]
fn reading_locally_is_always_allowed() {
    let mut t = Script::new();
    let (element, _) = bad_elements(&mut t).pop().unwrap();
    t.post(send(0).in_elements(&[element]));
    t.expect("SEND_ONLY psn=0 len=8 ackreq");
}

#[test]
fn all_elements_are_checked_before_the_first_packet_goes_out() {
    let mut t = Script::new();
    let good = t.side.sge(0, 2000);
    t.post(send(0).in_elements(&[good, Sge { key: 0, ..good }]));
    t.expect_completion(0, PROTECTION);
}

#[test]
fn a_bad_request_fails_only_after_the_older_ones_are_done() {
    let mut t = Script::new();
    t.post(send(1));
    t.post(read(1));
    let nowhere = Sge { address: 0, length: 8, key: 0 };
    t.post(send(0).in_elements(&[nowhere]));
    t.post(send(1));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect("READ_REQUEST psn=1 va=0x200000 rkey=0x200 dmalen=1 ackreq");
    t.expect_nothing();
    t.expect_no_completion();
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_no_completion();
    t.deliver(read_response_only(1, 1).msn(2));
    t.expect_done(1);
    t.expect_completion(2, PROTECTION);
    t.expect_flushed([3]);
    t.expect_state(State::Err);
}

#[test]
fn older_requests_are_repeated_while_a_bad_one_waits() {
    let mut t = Script::with(Setup { timeout: 1, ..Setup::default() });
    t.post(send(1));
    t.post(send(0).in_elements(&[Sge { address: 0, length: 8, key: 0 }]));
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.advance(8_192);
    t.expect("SEND_ONLY psn=0 len=1 ackreq");
    t.expect_nothing();
    t.deliver(ack(0).msn(1));
    t.expect_done(0);
    t.expect_completion(1, PROTECTION);
}

#[test]
fn a_region_that_goes_while_its_bytes_are_being_sent_fails_the_request() {
    let mut t = Script::with(Setup { mtu: rdmalab_wire::PathMtu::M256, ..Setup::default() });
    t.post(send(1));
    t.post(write(256 * 200));
    assert_eq!(t.take_lines().len(), 128);
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(ack(63));
    t.expect_done(0);
    t.expect_completion(1, PROTECTION);
    t.expect_state(State::Err);
}

#[test]
fn a_region_that_goes_while_a_read_is_under_way_fails_the_read() {
    let mut t = Script::new();
    t.post(read(3000));
    t.post(fetch_add(1));
    assert_eq!(t.take_lines().len(), 2);
    t.deliver(read_response_first(0, 1024).msn(1));
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(read_response_middle(1, 1024));
    t.expect_completion(0, PROTECTION);
    t.expect_flushed([1]);
    t.expect_state(State::Err);
}

#[test]
fn a_region_that_goes_while_an_atomic_is_under_way_fails_the_atomic() {
    let mut t = Script::new();
    t.post(fetch_add(1));
    assert_eq!(t.take_lines().len(), 1);
    t.side.context.deregister(KEY.value()).unwrap();
    t.deliver(atomic_ack(0, 1).msn(1));
    t.expect_completion(0, PROTECTION);
    t.expect_state(State::Err);
}
