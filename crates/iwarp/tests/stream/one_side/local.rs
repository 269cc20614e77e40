//! What is our own application's doing.
//!
//! Rule: qp-local-fault: A request whose own memory cannot be used ends with a local protection error when all before it are
//! done, and the connection by a Terminate message of a local error (RFC 5040 §7).
//! Rule: qp-local-work: Local work takes its turn among the requests, and nothing on the wire.
//! Rule: qp-iwarp-operations: What iWARP lacks is refused by name when it is posted.
//! Rule: qp-limits: Queues hold what they were made for, and no more.
//! Rule: cq-overrun-iwarp: A completion queue that overruns ends its queue pairs.

use rdmalab_iwarp::{CreateError, Event, Identity, QueuePair, QueuePairConfig, TerminatedBy};
use rdmalab_verbs::{
    Access, Capabilities, CompletionStatus, Context, Operation, Placement, PostError, Selectivity, Sge, State,
};
use rdmalab_wire::iwarp::TerminateError;
use rdmalab_wire::{ImmDt, Qpn, RKey};

use crate::script::*;
use crate::side::{BASE, Setup};

#[test]
fn a_request_with_a_bad_key_fails_in_its_turn() {
    for bad in [send(0), write(0), read(0)] {
        let mut t = Script::new();
        let element = Sge { address: BASE, length: 10, key: 0xbad };
        t.post(send(1));
        t.post(bad.in_elements(&[element]));
        t.post(send(2));
        t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
        t.expect_alive();
        t.expect("RDMAP TERMINATE msn=1 error=rdmap_local_catastrophic");
        t.expect_done(0);
        t.expect_completion(1, CompletionStatus::LocalProtectionError);
        t.expect_flushed([2]);
        let error = TerminateError::RDMAP_LOCAL_CATASTROPHIC;
        t.expect_event(Event::Terminated { by: TerminatedBy::Us, error });
        t.expect_event(Event::CloseSending);
        t.expect_nothing();
    }
}

#[test]
fn nothing_of_it_is_sent_while_older_ones_wait_for_answers() {
    let mut t = Script::new();
    let element = Sge { address: BASE, length: 10, key: 0xbad };
    t.post(read(1));
    t.post(send(0).in_elements(&[element]));
    t.post(send(2));
    assert_eq!(t.lines().len(), 1);
    assert!(!t.side.queue_pair.has_work());
    // Answers to the peer still go out.
    t.deliver(t.incoming_read(1, 0, 1));
    t.expect("RDMAP READ_RESPONSE stag=0x777 to=0x2000 len=1 last");
    t.deliver(t.response(0, 1));
    t.expect_done(0);
    assert_eq!(t.poll_ulpdu().map(|it| it[1] & 0xf), Some(7));
    t.expect_completion(1, CompletionStatus::LocalProtectionError);
    t.expect_flushed([2]);
    t.expect_state(State::Err);
}

#[test]
fn a_read_into_memory_that_may_not_be_written_fails() {
    let mut t = Script::with(Setup { rights: Access::REMOTE_READ, ..Setup::default() });
    t.post(send(1));
    t.post(read(1));
    t.expect("RDMAP SEND msn=1 mo=0 len=1 last");
    t.expect_done(0);
    t.expect("RDMAP TERMINATE msn=1 error=rdmap_local_catastrophic");
    t.expect_completion(1, CompletionStatus::LocalProtectionError);
}

#[test]
fn memory_that_goes_away_within_a_message_cuts_it_off() {
    let mut t = Script::new();
    t.post(read(1));
    t.post(send(3000));
    assert!(t.line().is_some() && t.line().is_some());
    t.side.context.deregister(t.side.key).unwrap();
    t.expect_state(State::Rts);
    assert_eq!(t.poll_ulpdu().map(|it| it[1] & 0xf), Some(7));
    t.expect_completion(0, CompletionStatus::WorkRequestFlushed);
    t.expect_completion(1, CompletionStatus::LocalProtectionError);
    t.expect_event(Event::Terminated {
        by: TerminatedBy::Us,
        error: TerminateError::RDMAP_LOCAL_CATASTROPHIC,
    });
}

#[test]
fn local_work_takes_its_turn_and_completes_in_order() {
    let mut t = Script::new();
    t.post(read(1));
    let memory = std::sync::Arc::clone(&t.side.memory);
    let region = RKey::new(t.side.context.allocate_fast_region(t.side.domain, memory).unwrap());
    let registration = rdmalab_verbs::FastRegistration {
        region,
        key: region,
        offset: 0,
        length: 100,
        address: BASE,
        access: Access::LOCAL_WRITE,
    };
    t.post(operation(Operation::FastRegister(registration), 0));
    let element = Sge { address: BASE, length: 100, key: region.value() };
    t.post(send(0).in_elements(&[element]));
    assert_eq!(t.lines().len(), 2, "carried out before the answer came");
    t.expect_no_completion();
    t.deliver(t.response(0, 1));
    t.expect_all_done(0..3);
}

#[test]
fn local_work_that_fails_ends_the_connection() {
    let mut t = Script::new();
    t.post(operation(Operation::LocalInvalidate(RKey::new(t.side.key)), 0));
    assert!(t.side.queue_pair.has_work());
    t.expect("RDMAP TERMINATE msn=1 error=rdmap_local_catastrophic");
    t.expect_completion(0, CompletionStatus::LocalQueuePairOperationError);
    let mut t = Script::new();
    t.post(operation(Operation::BindWindow(Default::default()), 0));
    t.expect("RDMAP TERMINATE msn=1 error=rdmap_local_catastrophic");
    t.expect_completion(0, CompletionStatus::MemoryWindowBindError);
}

#[test]
fn what_iwarp_lacks_is_refused_by_name() {
    let remote = peer();
    let flush =
        Operation::Flush { remote, length: 0, placement: Placement::GLOBAL, selectivity: Selectivity::Range };
    let never = [
        Operation::SendWithImmediate(ImmDt([0; 4])),
        flush,
        Operation::AtomicWrite { remote, value: [0; 8] },
    ];
    let extensions = [
        Operation::RdmaWriteWithImmediate(remote, ImmDt([0; 4])),
        Operation::FetchAndAdd { remote, add: 1 },
        Operation::CompareAndSwap { remote, compare: 0, swap: 0 },
        Operation::MaskedFetchAndAdd { remote, add: 0, boundary: 0 },
        Operation::MaskedCompareAndSwap { remote, compare: 0, compare_mask: 0, swap: 0, swap_mask: 0 },
    ];
    for rfc7306 in [true, false] {
        let mut t = Script::with(Setup { rfc7306, ..Setup::default() });
        for work in never.into_iter().chain(extensions.into_iter().filter(|_| !rfc7306)) {
            let refused = t.try_post(operation(work, 8));
            assert_eq!(refused, Err(PostError::NotOverIwarp { operation: work.name() }));
        }
        assert!(!t.side.queue_pair.has_work());
        t.post(operation(Operation::RdmaReadWithInvalidate(remote, RKey::new(1)), 8));
    }
}

#[test]
fn queues_hold_what_they_were_made_for() {
    let mut t = Script::with(Setup { depth: 2, ..Setup::default() });
    t.post(send(1));
    t.post(send(1));
    assert_eq!(t.try_post(send(1)), Err(PostError::QueueFull { capacity: 2 }));
    t.lines();
    t.post(send(1));
    t.side.receive(0, 0, 1);
    t.side.receive(1, 0, 1);
    let refused = t.side.queue_pair.post_receive(&mut t.side.context, &Default::default());
    assert_eq!(refused, Err(PostError::QueueFull { capacity: 2 }));
    let many = [t.side.sge(0, 1); 5];
    assert_eq!(t.try_post(send(0).in_elements(&many)), Err(PostError::TooManyElements { limit: 4 }));
    let huge = [Sge { length: u32::MAX, ..t.side.sge(0, 0) }; 1];
    assert!(matches!(t.try_post(send(0).in_elements(&huge)), Err(PostError::TooLong { .. })));
}

#[test]
fn a_queue_pair_that_is_too_large_or_lacks_its_queues_is_not_made() {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let completions = context.create_completion_queue(1).unwrap();
    let identity = Identity { number: Qpn::new(1), accessor: 1 };
    let large = Capabilities { max_send_requests: 1 << 20, ..Capabilities::default() };
    let made = QueuePair::new(&mut context, identity, &QueuePairConfig::new(domain, completions, large));
    assert!(matches!(made, Err(CreateError::LimitReached(_))));
    context.destroy_completion_queue(completions).unwrap();
    let config = QueuePairConfig::new(domain, completions, Capabilities::default());
    assert!(matches!(QueuePair::new(&mut context, identity, &config), Err(CreateError::NoSuchObject)));
    assert!(context.deallocate_protection_domain(domain).is_ok(), "nothing was kept");
}

#[test]
fn a_completion_queue_that_overruns_ends_the_queue_pair() {
    let mut t = Script::with(Setup { entries: 2, ..Setup::default() });
    for _ in 0..3 {
        t.post(send(1));
    }
    t.lines();
    t.expect_state(State::Err);
    t.expect_event(Event::Fatal);
    let error = TerminateError::RDMAP_LOCAL_CATASTROPHIC;
    t.expect_event(Event::Terminated { by: TerminatedBy::Us, error });
    t.expect_event(Event::CloseSending);
}

#[test]
fn a_queue_pair_whose_completion_queue_has_overrun_is_not_connected() {
    let mut side = crate::side::Side::unconnected(&Setup { entries: 1, ..Setup::default() });
    let completions = side.completions;
    (0..2).for_each(|_| side.context.complete(completions, Default::default()));
    let setup = Setup::default();
    let refused = side.queue_pair.establish(&side.context, &setup.negotiated(), &setup.stream());
    assert_eq!(refused, Err(rdmalab_verbs::ModifyError::CompletionQueueOverrun));
}
