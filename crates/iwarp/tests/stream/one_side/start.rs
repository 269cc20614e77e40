//! The first FPDU.
//!
//! Rule: mpa-initiator-first: A responder sends no FPDU before it has the initiator's first (RFC 5044 §7.1.2).
//! Rule: mpa-rtr-sent: An initiator whose peer-to-peer model was agreed to sends the ready-to-receive message first
//! (RFC 6581 §9.2).
//! Rule: mpa-rtr-taken: A responder takes the ready-to-receive message, tells nobody of it, and may send from then on
//! (RFC 6581 §9.2).
//! Rule: mpa-rtr-empty: An FPDU without a ULPDU is the first of a stream where that was agreed on, or wrong
//! (RFC 6581 §9.2).

use rdmalab_iwarp::{ReadyToReceive, Role};
use rdmalab_verbs::{PostError, State};
use rdmalab_wire::iwarp::{Opcode, TerminateError};

use crate::script::*;
use crate::side::{BASE, Setup};

fn with(role: Role, ready: Option<ReadyToReceive>) -> Script {
    Script::with(Setup { role, ready, ..Setup::default() })
}

fn ready_read() -> Incoming {
    use rdmalab_wire::iwarp::{ReadRequest, Stag};
    let (sink_stag, source_stag) = (Stag::new(1), Stag::new(1));
    let request = ReadRequest { sink_stag, source_stag, ..ReadRequest::default() };
    untagged(Opcode::READ_REQUEST, 1, 1, &request.encode())
}

#[test]
fn nothing_is_posted_before_there_is_a_connection() {
    let mut side = crate::side::Side::unconnected(&Setup::default());
    side.receive(0, 0, 100);
    assert_eq!(side.post(&Default::default()), Err(PostError::WrongState(State::Init)));
    assert!(!side.queue_pair.has_work());
    side.queue_pair.handle_bytes(&mut side.context, &[1; 100]);
    assert_eq!(side.queue_pair.state(), State::Init, "what comes before the connection is nothing to it");
    let setup = Setup::default();
    side.queue_pair.establish(&side.context, &setup.negotiated(), &setup.stream()).unwrap();
    let again = side.queue_pair.establish(&side.context, &setup.negotiated(), &setup.stream());
    assert!(again.is_err(), "a queue pair has one connection in its life");
}

#[test]
fn a_responder_waits_for_the_first_fpdu_with_a_right_crc() {
    let mut t = Script::responder();
    t.post(send(1));
    t.expect_nothing();
    assert!(!t.side.queue_pair.has_work());
    let fpdu = t.encode(&tagged(Opcode::WRITE, 0, 0, &[]));
    let (front, last) = fpdu.split_at(fpdu.len() - 1);
    t.deliver_bytes(front);
    t.expect_nothing();
    t.deliver_bytes(last);
    t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
}

#[test]
fn a_responder_that_need_not_wait_waits_for_a_ready_to_receive_message_only() {
    for ready in [None, Some(ReadyToReceive::Empty), Some(ReadyToReceive::Write), Some(ReadyToReceive::Read)]
    {
        let setup = Setup { role: Role::Responder, ready, waits: false, ..Setup::default() };
        let mut t = Script::with(setup);
        t.post(send(1));
        if ready.is_some() {
            t.expect_nothing();
            t.deliver(tagged(Opcode::WRITE, 0, 0, &[]));
        }
        t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
        t.expect_done(0);
        t.expect_alive();
    }
}

#[test]
fn a_responder_tells_what_is_wrong_with_the_first_fpdu() {
    let mut t = Script::responder();
    t.post(send(1));
    t.deliver(incoming_send(1, 1));
    t.expect_terminate(TerminateError::DDP_NO_BUFFER, "SEND length=19");
    t.expect_flushed([0]);
}

#[test]
fn an_initiator_says_first_what_was_agreed_on() {
    for (ready, line) in [
        (ReadyToReceive::Empty, "RDMAP empty [DDP at offset 0: truncated, need 14 bytes, have 0]"),
        (ReadyToReceive::Write, "RDMAP WRITE stag=0x1 to=0x0 len=0 last"),
        (
            ReadyToReceive::Read,
            "RDMAP READ_REQUEST msn=1 sink_stag=0x1 sink_to=0x0 size=0 src_stag=0x1 src_to=0x0",
        ),
    ] {
        let mut t = with(Role::Initiator, Some(ready));
        assert!(t.side.queue_pair.has_work(), "without being asked");
        t.post(send(1));
        let found = t.line().unwrap();
        assert_eq!(found.split(" [").next(), line.split(" [").next());
        t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
        t.expect_done(0);
        t.expect_nothing();
        t.expect_alive();
    }
}

/// siw's applications may ask before the ready-to-receive message is there.
#[test]
fn regression_an_initiator_makes_the_peer_ready_before_it_answers_what_came_too_soon() {
    let mut t = with(Role::Initiator, Some(ReadyToReceive::Write));
    let requests = [t.incoming_read(1, 0, 1), t.incoming_read(2, 1, 1)];
    requests.into_iter().for_each(|request| t.deliver(request));
    t.post(send(1));
    let lines = t.lines();
    let opcodes: Vec<_> = lines.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
    assert_eq!(opcodes, ["WRITE", "READ_RESPONSE", "SEND", "READ_RESPONSE"], "{lines:?}");
    t.expect_done(0);
    t.expect_alive();
}

#[test]
fn the_answer_to_a_ready_read_is_swallowed_and_numbers_go_on() {
    let mut t = with(Role::Initiator, Some(ReadyToReceive::Read));
    t.lines();
    t.post(read(1));
    let key = t.side.key;
    t.expect(&format!(
        "RDMAP READ_REQUEST msn=2 sink_stag={key:#x} sink_to={BASE:#x} size=1 src_stag=0x777 src_to=0x2000"
    ));
    t.deliver(tagged(Opcode::READ_RESPONSE, 1, 0, &[]));
    t.expect_no_completion();
    t.deliver(t.response(0, 1));
    t.expect_done(0);
    t.deliver(tagged(Opcode::READ_RESPONSE, 1, 0, &[]));
    t.expect_terminate(TerminateError::RDMAP_UNEXPECTED_OPCODE, "READ_RESPONSE length=14");
}

#[test]
fn the_ready_read_counts_until_it_is_answered() {
    let setup = Setup { ready: Some(ReadyToReceive::Read), ord: 1, ..Setup::default() };
    let mut t = Script::with(setup);
    t.post(read(1));
    assert_eq!(t.lines().len(), 1);
    t.deliver(tagged(Opcode::READ_RESPONSE, 1, 0, &[]));
    assert_eq!(t.lines().len(), 1);
}

#[test]
fn another_answer_to_the_ready_read_ends_the_connection() {
    for answer in [
        tagged(Opcode::READ_RESPONSE, 2, 0, &[]),
        tagged(Opcode::READ_RESPONSE, 1, 1, &[]),
        tagged(Opcode::READ_RESPONSE, 1, 0, &[1]),
        tagged(Opcode::READ_RESPONSE, 1, 0, &[]).not_last(),
    ] {
        let mut t = with(Role::Initiator, Some(ReadyToReceive::Read));
        t.lines();
        t.deliver(answer);
        t.expect_state(State::Err);
    }
}

#[test]
fn a_responder_takes_the_message_that_was_agreed_on_and_tells_nobody() {
    for ird in [0, 4] {
        for (ready, answer) in [
            (ReadyToReceive::Empty, None),
            (ReadyToReceive::Write, None),
            (ReadyToReceive::Read, Some("RDMAP READ_RESPONSE stag=0x1 to=0x0 len=0 last")),
        ] {
            for piece in [1000, 1] {
                let mut t = Script::with(Setup {
                    role: Role::Responder,
                    ready: Some(ready),
                    ird,
                    ..Setup::default()
                });
                t.side.receive(9, 0, 10);
                t.post(send(1));
                t.expect_nothing();
                let fpdu = match ready {
                    ReadyToReceive::Empty => t.encode_ulpdu(&[]),
                    ReadyToReceive::Write => t.encode(&tagged(Opcode::WRITE, 1, 0, &[])),
                    ReadyToReceive::Read => t.encode(&ready_read()),
                };
                fpdu.chunks(piece).for_each(|piece| t.deliver_bytes(piece));
                if let Some(line) = answer {
                    t.expect(line);
                }
                t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
                t.expect_done(0);
                t.expect_no_completion();
                t.expect_alive();
            }
        }
    }
}

#[test]
fn another_legal_first_message_than_agreed_does_as_well() {
    for ready in [ReadyToReceive::Empty, ReadyToReceive::Write, ReadyToReceive::Read] {
        let mut t = with(Role::Responder, Some(ready));
        t.side.receive(9, 0, 10);
        t.deliver(incoming_send(1, 5));
        t.expect_done(9);
        t.post(send(1));
        t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
    }
}

#[test]
fn an_empty_fpdu_is_wrong_anywhere_else() {
    let error = TerminateError::RDMAP_OPERATION_UNSPECIFIED;
    for ready in [None, Some(ReadyToReceive::Write), Some(ReadyToReceive::Read)] {
        let mut t = with(Role::Responder, ready);
        let fpdu = t.encode_ulpdu(&[]);
        t.deliver_bytes(&fpdu);
        t.expect_terminate(error, "");
    }
    let mut t = with(Role::Responder, Some(ReadyToReceive::Empty));
    let fpdu = [t.encode_ulpdu(&[]), t.encode_ulpdu(&[])].concat();
    t.deliver_bytes(&fpdu);
    t.expect_terminate(error, "");
    let mut t = with(Role::Initiator, Some(ReadyToReceive::Empty));
    t.lines();
    let fpdu = t.encode_ulpdu(&[]);
    t.deliver_bytes(&fpdu);
    t.expect_terminate(error, "");
}
