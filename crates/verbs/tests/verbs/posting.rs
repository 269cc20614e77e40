//! Posting to a send queue, with elements and inline.
//!
//! Rule: qp-posting: A request that does not fit its queue pair is refused when it is posted, and nothing changes.

use rdmalab_verbs::{Operation, PostError, RemoteAddress, SendFlags, SendQueue, SendRequest, SendWork, Sge};
use rdmalab_wire::RKey;

const LIMIT: u32 = 1 << 20;

fn element(length: u32) -> Sge {
    Sge { address: 1, length, key: 2 }
}

fn inline(id: u64, bytes: &[u8]) -> SendRequest<'_> {
    SendRequest { id, inline: Some(bytes), ..SendRequest::default() }
}

#[test]
fn a_request_comes_back_as_it_was_posted() {
    let mut queue = SendQueue::new(2, 2, 8);
    let operation = Operation::RdmaRead(RemoteAddress { address: 5, key: RKey::new(6) });
    let elements = [element(3), element(4)];
    let flags = SendFlags::SIGNALED | SendFlags::FENCE;
    let request = SendRequest { id: 9, operation, elements: &elements, flags, ..Default::default() };
    queue.push(&request, LIMIT).unwrap();
    let expected = SendWork { id: 9, operation, flags, length: 7, ..SendWork::default() };
    assert_eq!(queue.get(0), Some((&expected, &elements[..])));
    assert_eq!(queue.inline(0), None);
    assert_eq!(queue.pop(), Some(expected));
    assert!(queue.is_empty());
}

#[test]
fn inline_bytes_are_copied_and_stay_with_their_request_across_the_ring_s_end() {
    let mut queue = SendQueue::new(3, 1, 4);
    for round in 0..10u8 {
        let mut bytes = [round; 4];
        queue.push(&inline(u64::from(round), &bytes), LIMIT).unwrap();
        queue.push(&inline(100, &bytes[..2]), LIMIT).unwrap();
        bytes.fill(0xff);
        assert_eq!(queue.inline(0), Some(&[round; 4][..]));
        assert_eq!(queue.inline(1), Some(&[round; 2][..]));
        assert_eq!(queue.inline(2), None);
        let (work, elements) = queue.get(0).unwrap();
        assert_eq!((work.id, work.length, work.inline, elements.len()), (u64::from(round), 4, true, 0));
        queue.pop().unwrap();
        queue.pop().unwrap();
    }
}

#[test]
fn an_inline_message_may_be_empty() {
    let mut queue = SendQueue::new(1, 1, 0);
    queue.push(&inline(1, &[]), LIMIT).unwrap();
    assert_eq!(queue.inline(0), Some(&[][..]));
    assert!(queue.get(0).unwrap().0.inline);
}

#[test]
fn inline_bytes_are_limited() {
    let mut queue = SendQueue::new(2, 1, 4);
    assert_eq!(queue.push(&inline(1, &[0; 4]), LIMIT), Ok(()));
    let error = PostError::InlineTooLong { length: 5, limit: 4 };
    assert_eq!(queue.push(&inline(1, &[0; 5]), LIMIT), Err(error));
    assert_eq!(queue.push(&inline(1, &[0; 4]), 3), Err(PostError::TooLong { length: 4, limit: 3 }));
    assert_eq!(queue.len(), 1, "nothing was queued");
}

#[test]
fn a_request_has_elements_or_inline_bytes() {
    let mut queue = SendQueue::new(1, 1, 4);
    let elements = [element(1)];
    let request = SendRequest { elements: &elements, ..inline(1, b"a") };
    assert_eq!(queue.push(&request, LIMIT), Err(PostError::InlineAndElements));
}

#[test]
fn only_what_is_sent_may_be_inline() {
    let mut queue = SendQueue::new(8, 1, 8);
    let remote = RemoteAddress::default();
    let mut push = |operation| queue.push(&SendRequest { operation, ..inline(1, &[0; 8]) }, LIMIT);
    assert_eq!(push(Operation::RdmaWrite(remote)), Ok(()));
    assert_eq!(push(Operation::SendWithInvalidate(RKey::new(1))), Ok(()));
    for (operation, name) in [
        (Operation::RdmaRead(remote), "RDMA_READ"),
        (Operation::FetchAndAdd { remote, add: 1 }, "ATOMIC_FETCH_AND_ADD"),
        (Operation::AtomicWrite { remote, value: [0; 8] }, "ATOMIC_WRITE"),
        (Operation::LocalInvalidate(RKey::new(1)), "LOCAL_INV"),
    ] {
        assert_eq!(push(operation), Err(PostError::InlineNotAllowed { operation: name }));
    }
}

#[test]
fn what_needs_no_elements_takes_none() {
    let mut queue = SendQueue::new(8, 1, 0);
    let elements = [element(8)];
    for operation in [
        Operation::AtomicWrite { remote: RemoteAddress::default(), value: [0; 8] },
        Operation::BindWindow(Default::default()),
        Operation::LocalInvalidate(RKey::new(1)),
    ] {
        let request = SendRequest { operation, elements: &elements, ..Default::default() };
        let error = PostError::HasElements { operation: operation.name() };
        assert_eq!(queue.push(&request, LIMIT), Err(error));
        assert_eq!(queue.push(&SendRequest { elements: &[], ..request }, LIMIT), Ok(()));
    }
}

#[test]
fn an_atomic_s_result_is_eight_bytes() {
    let mut queue = SendQueue::new(1, 2, 0);
    let operation = Operation::FetchAndAdd { remote: RemoteAddress::default(), add: 1 };
    let mut push =
        |elements: &[Sge]| queue.push(&SendRequest { operation, elements, ..Default::default() }, LIMIT);
    assert_eq!(push(&[element(7)]), Err(PostError::AtomicResultNotEightBytes));
    assert_eq!(push(&[]), Err(PostError::AtomicResultNotEightBytes));
    assert_eq!(push(&[element(4), element(4)]), Ok(()));
}

#[test]
fn a_full_queue_and_a_long_list_are_refused() {
    let mut queue = SendQueue::new(1, 1, 0);
    let elements = [element(1); 2];
    let long = SendRequest { elements: &elements, ..Default::default() };
    assert_eq!(queue.push(&long, LIMIT), Err(PostError::TooManyElements { limit: 1 }));
    queue.push(&SendRequest::default(), LIMIT).unwrap();
    assert_eq!(queue.push(&SendRequest::default(), LIMIT), Err(PostError::QueueFull { capacity: 1 }));
}

#[test]
fn queued_work_stays_small() {
    // A queue pair has 128 of these by default, and there may be 100,000 queue pairs.
    assert!(size_of::<SendWork>() <= 96, "{}", size_of::<SendWork>());
}
