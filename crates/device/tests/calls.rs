//! Connections that are made and answered in one call each, as in the example `write`.
#![cfg(feature = "net")]

use std::time::Duration;

use rdmalab_device::{
    Access, CompletionQueue, CompletionStatus, Device, DeviceConfig, QueuePair, ReceiveRequest, SendRequest,
};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));

#[track_caller]
fn is_done(queue_pair: &QueuePair, completions: &CompletionQueue, request: &SendRequest<'_>) {
    queue_pair.post_send(request).unwrap();
    let completion = completions.wait(PATIENCE).unwrap().expect("a completion");
    assert_eq!((completion.id, completion.status), (request.id, CompletionStatus::Success));
}

#[test]
fn who_dials_and_is_answered_sends_writes_and_reads() {
    let config = |address: &str| DeviceConfig::at(address.parse().unwrap());
    let (a, b) = Device::pair(config("10.0.0.1/24"), config("10.0.0.2/24")).unwrap();
    let at = "10.0.0.2:7471".parse().unwrap();
    let (domain_a, domain_b) = (a.protection_domain().unwrap(), b.protection_domain().unwrap());
    let (done_a, done_b) = (a.completion_queue(16).unwrap(), b.completion_queue(16).unwrap());
    let ours = domain_a.register(32, Access::LOCAL_WRITE).unwrap();
    let theirs = domain_b.register(32, Access::FULL).unwrap();
    ours.write(0, b"hello").unwrap();
    let listener = b.listen_for_calls(at, 1).unwrap();
    std::thread::scope(|scope| {
        let answering = scope
            .spawn(|| listener.next(PATIENCE).unwrap().expect("a call").answer(&domain_b, &done_b).unwrap());
        let caller = a.dial(at, &domain_a, &done_a).unwrap();
        let answered = answering.join().unwrap();

        let hello = [ours.element(0, 5)];
        is_done(
            &caller.queue_pair,
            &done_a,
            &SendRequest { id: 7, ..SendRequest::write(&hello, theirs.remote(3)) },
        );
        is_done(&caller.queue_pair, &done_a, &SendRequest::read(&[ours.element(8, 8)], theirs.remote(0)));
        let mut back = [0; 8];
        ours.read(8, &mut back).unwrap();
        assert_eq!(&back, b"\0\0\0hello");

        let whole = [theirs.element(0, 32)];
        answered.queue_pair.post_receive(&ReceiveRequest { id: 9, elements: &whole }).unwrap();
        is_done(&caller.queue_pair, &done_a, &SendRequest::send(&hello));
        let received = done_b.wait(PATIENCE).unwrap().expect("a message");
        assert_eq!((received.id, received.length), (9, 5));
    });
}

/// So much the README promises.
#[test]
fn a_write_between_two_devices_takes_forty_lines() {
    let lines = include_str!("../examples/write.rs").lines().count();
    assert!(lines <= 40, "{lines}");
}
