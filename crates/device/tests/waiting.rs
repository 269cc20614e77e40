//! Waiting by descriptors: completion channels with armed queues, and asynchronous events.
#![cfg(feature = "net")]

mod way;

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rdmalab_device::{
    Attributes, CompletionChannel, CompletionQueue, Device, DeviceConfig, DeviceError, DeviceEvent, Event,
    HostAddress, NotifyOn, Path, QueuePair, QueuePairOptions, QueuePairType, ReceiveRequest, SendFlags,
    SendRequest, SharedReceiveQueueOptions, State,
};
use rdmalab_net::{Interest, Poller};

use way::{Terms, to_rts};

const PATIENCE: Option<Duration> = Some(Duration::from_secs(20));
/// Long enough for what must not come to come.
const A_WHILE: Option<Duration> = Some(Duration::from_millis(50));

fn open(address: &str) -> Device {
    let address: HostAddress = address.parse().unwrap();
    Device::open_udp(DeviceConfig::new(vec![address])).unwrap()
}

#[track_caller]
fn is_readable(descriptor: &impl AsFd, within: Option<Duration>) -> bool {
    Poller::new().unwrap().wait(descriptor, Interest::Read, within).unwrap().readable
}

fn connect(device: &Device, queue_pair: &QueuePair, peer: &QueuePair) {
    let address = device.gids()[0];
    let terms = Terms { reads: 1, min_rnr_timer: 1, ..Terms::default() };
    for step in &to_rts(Path::new(address, address), peer.number(), terms) {
        queue_pair.modify(step).unwrap();
    }
}

/// A device that talks to itself: what one queue pair sends completes in a queue with a channel at the other.
struct Lab {
    sender: QueuePair,
    receiver: QueuePair,
    received: CompletionQueue,
    channel: CompletionChannel,
    device: Device,
}

impl Lab {
    fn new(address: &str) -> Self {
        let device = open(address);
        let channel = device.completion_channel().unwrap();
        let received = device.completion_queue_with(64, &channel).unwrap();
        let sent = device.completion_queue(64).unwrap();
        let domain = device.protection_domain().unwrap();
        let options = QueuePairOptions::new(QueuePairType::Rc, &sent);
        let sender = domain.queue_pair_with(&options).unwrap();
        let receiver = QueuePairOptions { receive: &received, ..options };
        let receiver = domain.queue_pair_with(&receiver).unwrap();
        connect(&device, &sender, &receiver);
        connect(&device, &receiver, &sender);
        Self { sender, receiver, received, channel, device }
    }

    fn send(&self, flags: SendFlags) {
        self.receiver.post_receive(&ReceiveRequest::default()).unwrap();
        self.sender.post_send(&SendRequest { flags, ..SendRequest::default() }).unwrap();
    }

    #[track_caller]
    fn receive(&self) {
        self.received.wait(PATIENCE).unwrap().expect("a message");
    }
}

#[test]
fn a_queue_tells_once_for_each_time_it_is_armed() {
    let lab = Lab::new("127.7.93.1/8");
    lab.send(SendFlags::empty());
    lab.receive();
    assert!(!is_readable(&lab.channel, A_WHILE), "it is not armed");
    for _ in 0..3 {
        lab.received.arm(NotifyOn::Any).unwrap();
        assert_eq!(lab.channel.poll().unwrap(), None);
        lab.send(SendFlags::empty());
        lab.send(SendFlags::empty());
        assert!(is_readable(&lab.channel, PATIENCE));
        lab.receive();
        lab.receive();
        assert!(is_readable(&lab.channel, A_WHILE), "until the event is taken out");
        assert_eq!(lab.channel.wait(PATIENCE).unwrap(), Some(lab.received.id()));
        assert!(!is_readable(&lab.channel, Some(Duration::ZERO)));
        assert_eq!(lab.channel.poll().unwrap(), None, "one for both messages");
    }
}

#[test]
fn a_queue_armed_for_solicited_completions_passes_over_the_others_but_for_failed_ones() {
    let lab = Lab::new("127.7.93.2/8");
    lab.received.arm(NotifyOn::Solicited).unwrap();
    lab.send(SendFlags::empty());
    lab.receive();
    assert!(!is_readable(&lab.channel, A_WHILE));
    lab.send(SendFlags::SOLICITED);
    assert_eq!(lab.channel.wait(PATIENCE).unwrap(), Some(lab.received.id()));
    lab.receive();
    lab.received.arm(NotifyOn::Solicited).unwrap();
    lab.receiver.post_receive(&ReceiveRequest::default()).unwrap();
    lab.receiver.modify(&Attributes { state: Some(State::Err), ..Attributes::default() }).unwrap();
    assert_eq!(lab.channel.wait(PATIENCE).unwrap(), Some(lab.received.id()));
    // So does one that is posted behind that, which the engine never sees.
    lab.received.arm(NotifyOn::Any).unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| lab.channel.wait(PATIENCE).unwrap());
        lab.receiver.post_receive(&ReceiveRequest::default()).unwrap();
        assert_eq!(waits.join().unwrap(), Some(lab.received.id()));
    });
}

#[test]
fn no_completion_between_looking_and_arming_is_missed() {
    const MESSAGES: u64 = 2000;
    let lab = Lab::new("127.7.93.3/8");
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for sent in 0..MESSAGES {
                // Few at once, so that the other side goes to sleep again and again.
                while sent > taken.load(Ordering::Acquire) + (sent * 7 % 3) {
                    std::hint::spin_loop();
                }
                lab.send(SendFlags::empty());
            }
        });
        let mut rounds = 0;
        while taken.load(Ordering::Acquire) < MESSAGES {
            lab.received.arm(NotifyOn::Any).unwrap();
            while lab.received.poll().is_some() {
                taken.fetch_add(1, Ordering::AcqRel);
            }
            if taken.load(Ordering::Acquire) == MESSAGES {
                break;
            }
            assert!(is_readable(&lab.channel, PATIENCE), "sleeps though something came, round {rounds}");
            assert_eq!(lab.channel.poll().unwrap(), Some(lab.received.id()));
            rounds += 1;
        }
    });
}

#[test]
fn one_channel_tells_of_many_queues_and_not_of_those_that_are_gone() {
    let lab = Lab::new("127.7.93.4/8");
    let domain = lab.device.protection_domain().unwrap();
    // A queue pair that is in the error state completes what is posted to it at once.
    let broken = |queue: &CompletionQueue| {
        let options = QueuePairOptions::new(QueuePairType::Rc, queue);
        let queue_pair = domain.queue_pair_with(&options).unwrap();
        connect(&lab.device, &queue_pair, &queue_pair);
        queue_pair.modify(&Attributes { state: Some(State::Err), ..Attributes::default() }).unwrap();
        queue.arm(NotifyOn::Any).unwrap();
        queue_pair.post_receive(&ReceiveRequest::default()).unwrap();
    };
    let queues = [0, 1, 2].map(|_| lab.device.completion_queue_with(4, &lab.channel).unwrap());
    queues.iter().for_each(broken);
    let [first, gone, last] = queues;
    drop(gone);
    // Armed again before its first event was taken out.
    broken(&first);
    let told: Vec<_> = std::iter::from_fn(|| lab.channel.poll().unwrap()).collect();
    assert_eq!(told, [first.id(), last.id(), first.id()]);
    assert!(!is_readable(&lab.channel, Some(Duration::ZERO)));
}

#[test]
fn a_list_is_posted_up_to_the_first_request_that_is_refused() {
    let lab = Lab::new("127.7.93.9/8");
    let receives = [1, 2, 3].map(|id| ReceiveRequest { id, elements: &[] });
    lab.receiver.post_receive_list(&receives).unwrap();
    let good = SendRequest::default();
    // Nothing can be both.
    let bad = SendRequest { inline: Some(b"too much"), ..good };
    lab.sender.post_send_list(&[]).unwrap();
    lab.sender.post_send_list(&[good]).unwrap();
    let refused = lab.sender.post_send_list(&[good, bad, good]).unwrap_err();
    assert_eq!(refused.index, 1);
    assert!(refused.to_string().starts_with("request 1 of the list was refused: "), "{refused}");
    lab.sender.post_send_list(&[good]).unwrap();
    let arrived = [1, 2, 3].map(|_| lab.received.wait(PATIENCE).unwrap().expect("a message").id);
    assert_eq!(arrived, [1, 2, 3]);

    let domain = lab.device.protection_domain().unwrap();
    let options = SharedReceiveQueueOptions { max_requests: 2, ..Default::default() };
    let shared = domain.shared_receive_queue(&options).unwrap();
    let refused = shared.post_receive_list(&receives).unwrap_err();
    assert_eq!((refused.index, shared.length()), (2, 2), "{refused}");
    assert_eq!(lab.receiver.post_receive_list(&[ReceiveRequest::default(); 3000]).unwrap_err().index, {
        rdmalab_device::Capabilities::default().max_receive_requests as usize
    });
}

#[test]
fn what_cannot_be_armed_says_why() {
    let (one, other) = (open("127.7.93.5/8"), open("127.7.93.6/8"));
    let channel = one.completion_channel().unwrap();
    let made = other.completion_queue_with(4, &channel);
    assert!(matches!(made, Err(DeviceError::OtherDevice)));
    let without = one.completion_queue(4).unwrap();
    assert!(matches!(without.arm(NotifyOn::Any), Err(DeviceError::NoChannel)));
    let queue = one.completion_queue_with(4, &channel).unwrap();
    queue.arm(NotifyOn::Any).unwrap();
    drop(channel);
    assert!(matches!(queue.arm(NotifyOn::Any), Err(DeviceError::NoChannel)));
}

#[test]
fn the_descriptor_of_asynchronous_events_is_readable_while_there_are_some() {
    let device = open("127.7.93.7/8");
    let (domain, queue) = (device.protection_domain().unwrap(), device.completion_queue(4).unwrap());
    let shared = domain.shared_receive_queue(&SharedReceiveQueueOptions::default()).unwrap();
    let options = QueuePairOptions::new(QueuePairType::Rc, &queue);
    let options = QueuePairOptions { shared_receive_queue: Some(&shared), ..options };
    let pair = [0, 1].map(|_| domain.queue_pair_with(&options).unwrap());
    assert!(!is_readable(&device.event_descriptor(), Some(Duration::ZERO)));
    for queue_pair in &pair {
        connect(&device, queue_pair, queue_pair);
        queue_pair.modify(&Attributes { state: Some(State::Err), ..Attributes::default() }).unwrap();
    }
    for queue_pair in &pair {
        assert!(is_readable(&device.event_descriptor(), PATIENCE));
        let event = Event::LastReceiveReached(queue_pair.number());
        assert_eq!(device.poll_event(), Some(DeviceEvent::QueuePair(event)));
    }
    assert!(!is_readable(&device.event_descriptor(), Some(Duration::ZERO)));
    assert_eq!(device.poll_event(), None);
}

#[test]
fn who_waits_for_a_descriptor_finds_out_that_the_device_has_ended() {
    let lab = Lab::new("127.7.93.8/8");
    lab.received.arm(NotifyOn::Any).unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| is_readable(&lab.channel, PATIENCE));
        assert!(lab.device.stopper().stop(Duration::from_secs(10)));
        assert!(waits.join().unwrap());
    });
    assert!(matches!(lab.channel.poll(), Err(DeviceError::Stopped)));
    assert!(is_readable(&lab.device.event_descriptor(), PATIENCE));
    assert!(matches!(lab.device.wait_event(PATIENCE), Err(DeviceError::Stopped)));
}

/// How often the calling thread has gone to sleep so far.
fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count.unwrap().trim().parse().unwrap()
}

#[test]
fn who_sleeps_for_a_queue_is_not_woken_for_another() {
    const MESSAGES: u64 = 500;
    let lab = Lab::new("127.7.93.20/8");
    let events = lab.device.event_channel().unwrap();
    let quiet = lab.device.completion_queue(1).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let asleep = AtomicU64::new(0);
    let long = Some(Duration::from_millis(200));
    let sleeper = |wait: &dyn Fn()| {
        let before = sleeps();
        asleep.fetch_add(1, Ordering::Relaxed);
        while !is_over.load(Ordering::Relaxed) {
            wait();
        }
        sleeps() - before
    };
    std::thread::scope(|scope| {
        let threads = [
            scope.spawn(|| sleeper(&|| assert!(quiet.wait(long).unwrap().is_none()))),
            scope.spawn(|| sleeper(&|| assert!(lab.channel.wait(long).unwrap().is_none()))),
            scope.spawn(|| sleeper(&|| assert!(events.wait(long).unwrap().is_none()))),
        ];
        while asleep.load(Ordering::Relaxed) < threads.len() as u64 {
            std::thread::yield_now();
        }
        let start = std::time::Instant::now();
        for _ in 0..MESSAGES {
            lab.send(SendFlags::empty());
            lab.receive();
        }
        let rounds = start.elapsed().as_millis() as u64 / 200 + 1;
        is_over.store(true, Ordering::Relaxed);
        for thread in threads {
            // For the lock, some; for each of the messages, a hundred times as many.
            let slept = thread.join().unwrap();
            assert!(slept < 20 + rounds * 4 + MESSAGES / 10, "woken {slept} times in {rounds} rounds");
        }
    });
}

#[test]
fn of_many_who_sleep_for_one_queue_each_gets_what_there_is_for_it() {
    const THREADS: u64 = 8;
    const EACH: u64 = 50;
    let lab = Lab::new("127.7.93.21/8");
    let got = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    lab.received.wait(PATIENCE).unwrap().expect("one for each");
                    got.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for sent in 0..THREADS * EACH {
            lab.send(SendFlags::empty());
            // A queue pair has room for so many receives.
            while sent.saturating_sub(got.load(Ordering::Relaxed)) > 8 {
                std::thread::yield_now();
            }
        }
    });
    assert_eq!(got.load(Ordering::Relaxed), THREADS * EACH);
    assert_eq!(lab.received.poll(), None);
}

#[test]
fn whoever_sleeps_for_whatever_is_told_that_the_device_has_stopped() {
    let lab = Lab::new("127.7.93.22/8");
    let events = lab.device.event_channel().unwrap();
    let stopper = lab.device.stopper();
    std::thread::scope(|scope| {
        let threads = [
            scope.spawn(|| lab.received.wait(None).map(drop)),
            scope.spawn(|| lab.channel.wait(None).map(drop)),
            scope.spawn(|| events.wait(None).map(drop)),
            scope.spawn(|| lab.device.wait_event(None).map(drop)),
        ];
        assert!(stopper.stop(Duration::from_secs(20)));
        for thread in threads {
            assert!(matches!(thread.join().unwrap(), Err(DeviceError::Stopped)));
        }
    });
}
