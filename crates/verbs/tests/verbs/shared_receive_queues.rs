//! Shared receive queues and their limit.
//!
//! Rule: srq-order: Receives are taken from a shared receive queue in the order in which they were posted.
//! Rule: srq-limit-once: When a shared receive queue falls below its armed limit, that is told once, and the limit is
//! disarmed.

use rdmalab_verbs::{
    ArmError, Context, ContextEvent, CreateError, Limits, PostError, ReceiveRequest, ReceiveWork,
    RemoveError, Sge, SharedReceiveQueueConfig, SharedReceiveQueueId,
};

fn queue(config: SharedReceiveQueueConfig) -> (Context, SharedReceiveQueueId) {
    let mut context = Context::default();
    let domain = context.allocate_protection_domain().unwrap();
    let id = context.create_shared_receive_queue(domain, &config).unwrap();
    (context, id)
}

fn post(context: &mut Context, id: SharedReceiveQueueId, count: u64) {
    for id_of_receive in 0..count {
        context.post_shared_receive(id, &ReceiveRequest { id: id_of_receive, elements: &[] }).unwrap();
    }
}

#[test]
fn receives_are_taken_in_order_with_their_elements() {
    let (mut context, id) = queue(SharedReceiveQueueConfig::default());
    let element = |address| Sge { address, length: 3, key: 9 };
    let (first, second) = ([element(1), element(2)], [element(3)]);
    context.post_shared_receive(id, &ReceiveRequest { id: 10, elements: &first }).unwrap();
    context.post_shared_receive(id, &ReceiveRequest { id: 11, elements: &second }).unwrap();
    assert_eq!(context.shared_receive_queue(id).unwrap().len(), 2);

    let mut elements = vec![element(99); 3];
    let taken = context.take_shared_receive(id, &mut elements);
    assert_eq!(taken, Some(ReceiveWork { id: 10, length: 6 }));
    assert_eq!(elements, first);
    let taken = context.take_shared_receive(id, &mut elements);
    assert_eq!(taken, Some(ReceiveWork { id: 11, length: 3 }));
    assert_eq!(elements, second);
    assert_eq!(context.take_shared_receive(id, &mut elements), None);
    assert!(elements.is_empty(), "of no receive, no elements");
}

#[test]
fn taking_allocates_nothing_where_the_elements_fit() {
    let (mut context, id) = queue(SharedReceiveQueueConfig::default());
    let element = Sge::default();
    context.post_shared_receive(id, &ReceiveRequest { id: 1, elements: &[element; 4] }).unwrap();
    let mut elements = Vec::with_capacity(4);
    let (place, capacity) = (elements.as_ptr(), elements.capacity());
    context.take_shared_receive(id, &mut elements).unwrap();
    assert_eq!((elements.as_ptr(), elements.capacity()), (place, capacity));
}

#[test]
fn a_queue_takes_what_it_was_made_for() {
    let config = SharedReceiveQueueConfig { max_requests: 2, max_elements: 1, ..Default::default() };
    let (mut context, id) = queue(config);
    let elements = [Sge::default(); 2];
    let too_many = ReceiveRequest { id: 1, elements: &elements };
    assert_eq!(context.post_shared_receive(id, &too_many), Err(PostError::TooManyElements { limit: 1 }));
    post(&mut context, id, 2);
    let one = ReceiveRequest { id: 1, elements: &[] };
    assert_eq!(context.post_shared_receive(id, &one), Err(PostError::QueueFull { capacity: 2 }));
    let queue = context.shared_receive_queue(id).unwrap();
    assert_eq!((queue.max_requests(), queue.max_elements(), queue.len()), (2, 1, 2));
}

#[test]
fn falling_below_the_limit_is_told_once_and_disarms_it() {
    let (mut context, id) = queue(SharedReceiveQueueConfig { limit: 3, ..Default::default() });
    post(&mut context, id, 5);
    let mut elements = Vec::new();
    let mut take = |context: &mut Context| context.take_shared_receive(id, &mut elements).unwrap();
    take(&mut context);
    take(&mut context);
    assert_eq!(context.poll_event(), None, "3 are left, as many as the limit says");
    assert_eq!(context.shared_receive_queue(id).unwrap().limit(), 3);
    take(&mut context);
    take(&mut context);
    assert_eq!(context.poll_event(), Some(ContextEvent::SharedReceiveLimit(id)));
    assert_eq!(context.poll_event(), None);
    assert_eq!(context.shared_receive_queue(id).unwrap().limit(), 0);

    context.set_shared_receive_limit(id, 1).unwrap();
    take(&mut context);
    assert_eq!(context.poll_event(), Some(ContextEvent::SharedReceiveLimit(id)), "armed again");
}

#[test]
fn a_limit_that_is_armed_again_before_its_event_is_taken_out_adds_no_second_one() {
    let (mut context, id) = queue(SharedReceiveQueueConfig { limit: 2, ..Default::default() });
    post(&mut context, id, 128);
    let mut elements = Vec::new();
    for _ in 0..64 {
        context.set_shared_receive_limit(id, 128).unwrap();
        context.take_shared_receive(id, &mut elements).unwrap();
    }
    assert_eq!(context.poll_event(), Some(ContextEvent::SharedReceiveLimit(id)));
    assert_eq!(context.poll_event(), None);
}

#[test]
fn a_limit_beyond_the_queue_is_refused() {
    let config = SharedReceiveQueueConfig { max_requests: 4, ..Default::default() };
    let (mut context, id) = queue(config);
    assert_eq!(context.set_shared_receive_limit(id, 5), Err(ArmError::BeyondCapacity { capacity: 4 }));
    assert_eq!(context.set_shared_receive_limit(id, 4), Ok(()));
    let domain = context.shared_receive_queue(id).unwrap().domain();
    let config = SharedReceiveQueueConfig { limit: 5, ..config };
    assert_eq!(
        context.create_shared_receive_queue(domain, &config),
        Err(CreateError::LimitBeyondCapacity { capacity: 4 })
    );
}

#[test]
fn a_queue_that_is_gone_is_gone_with_its_receives_and_its_event() {
    let (mut context, id) = queue(SharedReceiveQueueConfig { limit: 1, ..Default::default() });
    let domain = context.shared_receive_queue(id).unwrap().domain();
    post(&mut context, id, 1);
    context.take_shared_receive(id, &mut Vec::new()).unwrap();
    assert_eq!(context.deallocate_protection_domain(domain), Err(RemoveError::InUse { users: 1 }));
    context.destroy_shared_receive_queue(id).unwrap();
    assert_eq!(context.poll_event(), None);
    assert_eq!(context.destroy_shared_receive_queue(id), Err(RemoveError::NoSuchObject));
    assert!(context.shared_receive_queue(id).is_none());
    assert_eq!(context.take_shared_receive(id, &mut Vec::new()), None);
    assert_eq!(context.set_shared_receive_limit(id, 0), Err(ArmError::NoSuchQueue));
    let receive = ReceiveRequest::default();
    assert_eq!(context.post_shared_receive(id, &receive), Err(PostError::NoSuchQueue));
    assert_eq!(context.deallocate_protection_domain(domain), Ok(()));
    let config = SharedReceiveQueueConfig::default();
    assert_eq!(
        context.create_shared_receive_queue(domain, &config),
        Err(CreateError::NoSuchProtectionDomain)
    );
}

#[test]
fn numbers_fit_in_24_bits_and_lead_back_however_many_queues_are_asked_for() {
    let mut context = Context::new(Limits { shared_receive_queues: usize::MAX, ..Limits::default() });
    let domain = context.allocate_protection_domain().unwrap();
    let config = SharedReceiveQueueConfig { max_requests: 1, max_elements: 0, ..Default::default() };
    let mut last = None;
    let error = loop {
        match context.create_shared_receive_queue(domain, &config) {
            Ok(id) => last = Some(id),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CreateError::LimitReached(limit) if limit.limit == 0xffff));
    let number = last.unwrap().number();
    assert!(number < 1 << 24, "{number:#x}");
    assert_eq!(SharedReceiveQueueId::from_number(number), last.unwrap());
    for nobody in [0, number ^ 1, 1 << 24 | number, u32::MAX] {
        assert!(context.shared_receive_queue(SharedReceiveQueueId::from_number(nobody)).is_none());
    }
}

#[test]
fn sizes_have_limits() {
    let limits = Limits { shared_receive_requests: 8, shared_receive_elements: 2, ..Limits::default() };
    let mut context = Context::new(limits);
    let domain = context.allocate_protection_domain().unwrap();
    let mut create = |max_requests, max_elements| {
        let config = SharedReceiveQueueConfig { max_requests, max_elements, ..Default::default() };
        context.create_shared_receive_queue(domain, &config)
    };
    assert!(matches!(create(9, 2), Err(CreateError::LimitReached(limit)) if limit.limit == 8));
    assert!(matches!(create(8, 3), Err(CreateError::LimitReached(limit)) if limit.limit == 2));
    assert!(create(8, 2).is_ok());
}
