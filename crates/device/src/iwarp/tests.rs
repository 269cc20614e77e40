//! The table by itself, with the test as carrier and as peer.

use rdmalab_iwarp::{End, Initiator, Profile, Responder, Terms};
use rdmalab_roce::QueuePairConfig;
use rdmalab_verbs::{Capabilities, Context, Operation, QueuePairType, SendRequest, State};
use rdmalab_wire::mad::RejReason;

use super::*;
use crate::connections::{CallFailure, CmError, Offer};

mod terminated;

const READS: Offer = Offer { responder_resources: 4, initiator_depth: 4 };

struct Setup {
    table: IwarpTable,
    context: Context,
    config: QueuePairConfig,
    now: u64,
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], port))
}

fn peer(number: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], number))
}

/// What a caller says first.
fn request(private_data: &[u8]) -> Vec<u8> {
    let terms = Terms::of(&Profile::SPEC, 4, 4);
    Initiator::new(&Profile::SPEC, &terms, private_data).unwrap().request().to_vec()
}

impl Setup {
    fn new() -> Self {
        let mut context = Context::default();
        let domain = context.allocate_protection_domain().unwrap();
        let queue = context.create_completion_queue(64).unwrap();
        let config = QueuePairConfig::new(QueuePairType::Rc, domain, queue, Capabilities::default());
        Self { table: IwarpTable::default(), context, config, now: 1 }
    }

    fn queue_pair(&mut self) -> Qpn {
        self.table.create_queue_pair(&mut self.context, &self.config).unwrap()
    }

    fn pass(&mut self, time: u64) {
        self.table.handle_timeout(&mut self.context, self.now);
        self.now += time;
        self.table.handle_timeout(&mut self.context, self.now);
    }

    fn commands(&mut self) -> Vec<Command> {
        std::iter::from_fn(|| self.table.next_command()).collect()
    }

    fn happenings(&mut self) -> Vec<Happening> {
        std::iter::from_fn(|| self.table.next_happening()).collect()
    }

    fn listen(&mut self, backlog: usize) -> ListenerId {
        let listener = self.table.listen(at(7), backlog).unwrap();
        self.table.listens(listener, Ok(at(7)));
        assert_eq!(self.commands(), [Command::Listen { listener, at: at(7) }]);
        listener
    }

    /// A caller whose request is here.
    fn called(&mut self) -> StreamId {
        let stream = self.table.accepted(at(7), peer(1)).unwrap();
        self.table.set_segments(stream, 1460, false);
        self.table.handle_bytes(&mut self.context, stream, &request(b"hello"));
        stream
    }

    /// One that was accepted, with our reply out.
    fn connected(&mut self) -> (StreamId, Qpn) {
        self.listen(1);
        let (stream, number) = (self.called(), self.queue_pair());
        self.table.accept(&mut self.context, stream, number, READS, b"").unwrap();
        assert!(self.take(stream).starts_with(b"MPA ID Rep Frame"));
        self.happenings();
        (stream, number)
    }

    /// Takes all output of a stream.
    fn take(&mut self, stream: StreamId) -> Vec<u8> {
        let bytes = self.table.output(&mut self.context, stream).to_vec();
        self.table.sent(stream, bytes.len());
        bytes
    }
}

#[test]
fn a_full_backlog_takes_nobody_until_somebody_is_answered() {
    let mut setup = Setup::new();
    let listener = setup.listen(2);
    let first = setup.called();
    let second = setup.table.accepted(at(7), peer(2)).unwrap();
    assert!(!setup.table.has_room(listener) && !setup.table.has_room_at(7));
    assert_eq!(setup.table.accepted(at(7), peer(3)), None);
    assert_eq!(setup.table.counters().refused_callers, 1);
    setup.table.reject(first, b"no").unwrap();
    assert!(setup.table.has_room(listener));
    setup.table.handle_end(&mut setup.context, second, End::Graceful);
    setup.table.accepted(at(7), peer(4)).unwrap();
    setup.table.accepted(at(7), peer(5)).unwrap();
    assert!(!setup.table.has_room(listener));
    setup.table.stop_listening(listener);
    assert_eq!(setup.table.accepted(at(7), peer(6)), None, "nobody listens");
}

#[test]
fn a_caller_that_says_nothing_is_let_go_and_the_application_never_hears_of_it() {
    let mut setup = Setup::new();
    let listener = setup.listen(1);
    let silent = setup.table.accepted(at(7), peer(1)).unwrap();
    setup.pass(REQUEST_PATIENCE - 1);
    assert_eq!(setup.commands(), []);
    setup.pass(1);
    assert_eq!(setup.commands(), [Command::Reset(silent)]);
    assert!(setup.table.has_room(listener) && setup.happenings().is_empty());
    // One whose application thinks about it may wait as long as it likes.
    setup.called();
    setup.pass(100 * REQUEST_PATIENCE);
    assert_eq!(setup.commands(), []);
}

#[test]
fn whatever_is_no_request_resets_the_stream_and_nothing_else() {
    let long = [request(b"hello"), b"data".to_vec()].concat();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n  "[..], &long] {
        let mut setup = Setup::new();
        let listener = setup.listen(4);
        let good = setup.called();
        let bad = setup.table.accepted(at(7), peer(2)).unwrap();
        setup.table.handle_bytes(&mut setup.context, bad, bytes);
        assert_eq!(setup.commands(), [Command::Reset(bad)]);
        assert_eq!(setup.happenings(), [Happening::Called { listener, stream: good }]);
        assert_eq!(setup.table.counters().failed_start_ups, 1);
        setup.table.handle_bytes(&mut setup.context, bad, bytes);
        assert_eq!(setup.commands(), []);
    }
}

#[test]
fn a_caller_that_goes_on_before_it_is_answered_is_gone() {
    let mut setup = Setup::new();
    let listener = setup.listen(1);
    let stream = setup.called();
    setup.table.handle_bytes(&mut setup.context, stream, b"too early");
    assert_eq!(setup.commands(), [Command::Reset(stream)]);
    assert_eq!(setup.happenings(), [Happening::Called { listener, stream }, Happening::Gone(stream)]);
    let number = setup.queue_pair();
    let outcome = setup.table.accept(&mut setup.context, stream, number, READS, b"");
    assert_eq!(outcome, Err(CmError::WrongState("over")));
}

#[test]
fn our_call_ends_by_what_the_carrier_tells() {
    let refused = RejReason::INVALID_SERVICE_ID;
    for loss in [Loss::Refused, Loss::TimedOut, Loss::NoRoom, Loss::Broken] {
        let mut setup = Setup::new();
        let number = setup.queue_pair();
        let stream = setup.table.call((at(0).ip(), peer(7)), number, READS, b"").unwrap();
        let connect = Command::Connect { stream, source: at(0).ip(), peer: peer(7) };
        assert_eq!(setup.commands(), [connect]);
        setup.table.failed(&mut setup.context, stream, loss);
        let told = match loss {
            Loss::Refused => Happening::Rejected { stream, reason: refused, private_data: vec![] },
            Loss::TimedOut => Happening::Unreachable(stream),
            Loss::NoRoom => Happening::Failed(stream, CallFailure::NoRoom),
            Loss::Broken => Happening::Failed(stream, CallFailure::Closed),
        };
        assert_eq!(setup.happenings(), [told]);
        // The queue pair had its chance only where the connection is given up.
        setup.table.give_up(&mut setup.context, number);
        assert_eq!(setup.table.state(number), Some(State::Err));
    }
}

#[test]
fn a_peer_that_never_replies_is_unreachable() {
    let mut setup = Setup::new();
    let number = setup.queue_pair();
    let stream = setup.table.call((at(0).ip(), peer(7)), number, READS, b"").unwrap();
    setup.table.connected(stream, at(1), 1460, false);
    assert!(setup.take(stream).starts_with(b"MPA ID Req Frame"));
    setup.commands();
    setup.pass(CALL_PATIENCE);
    assert_eq!(setup.commands(), [Command::Reset(stream)]);
    assert_eq!(setup.happenings(), [Happening::Unreachable(stream)]);
}

#[test]
fn a_peer_that_does_not_end_its_direction_is_given_up() {
    let mut setup = Setup::new();
    let (stream, number) = setup.connected();
    setup.table.disconnect(&mut setup.context, stream);
    assert_eq!(setup.commands(), [Command::ShutDown(stream)]);
    setup.pass(CLOSE_PATIENCE);
    assert_eq!(setup.commands(), [Command::Reset(stream)]);
    let cause = rdmalab_cm::DisconnectCause::NoAnswer;
    assert_eq!(setup.happenings(), [Happening::Ended { stream, cause }]);
    assert_eq!(setup.table.state(number), Some(State::Err));
    assert!(setup.table.streams.is_empty() && setup.table.next_timeout().is_none());
}

#[test]
fn a_stream_that_tcp_has_no_room_for_is_asked_for_nothing_more() {
    let mut setup = Setup::new();
    let (stream, number) = setup.connected();
    let post = |setup: &mut Setup| {
        let request = SendRequest { operation: Operation::Send, ..SendRequest::default() };
        setup.table.post_send(&mut setup.context, number, &request).unwrap();
    };
    // The peer is ready to receive what we send once it has sent something itself: an empty WRITE.
    let hello = [0, 14, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    let crc = rdmalab_wire::iwarp::crc32c(&hello).to_le_bytes();
    setup.table.handle_bytes(&mut setup.context, stream, &[&hello[..], &crc].concat());
    assert_eq!(setup.happenings(), [Happening::Established(stream)]);
    post(&mut setup);
    assert_eq!(setup.table.next_ready(), Some(stream));
    let length = setup.table.output(&mut setup.context, stream).len();
    setup.table.sent(stream, length - 1);
    for _ in 0..10 {
        post(&mut setup);
    }
    assert_eq!(setup.table.next_ready(), None, "it is blocked");
    assert_eq!(setup.table.output(&mut setup.context, stream).len(), 1);
    assert_eq!(setup.table.counters().sent_fpdus, 1, "ten messages wait in the queue pair");
    setup.table.unblocked(stream);
    assert_eq!(setup.table.next_ready(), Some(stream));
    setup.table.sent(stream, 1);
    assert_eq!(setup.take(stream).len(), 10 * 24);
}

#[test]
fn events_that_nobody_takes_out_are_counted() {
    let mut table = IwarpTable::default();
    for _ in 0..MAX_EVENTS + 3 {
        table.event(TransportEvent::Fatal(Qpn::new(0xc0_0000)));
    }
    assert_eq!((table.events.len(), table.lost_events()), (MAX_EVENTS, 3));
}

#[test]
fn queue_pairs_listeners_and_streams_have_limits() {
    let mut setup = Setup::new();
    for port in 1..=MAX_LISTENERS as u16 {
        setup.table.listen(at(port), 1).unwrap();
    }
    let full = setup.table.listen(at(u16::MAX), 1).unwrap_err();
    assert!(matches!(full, CmError::Limit(limit) if limit.limit == MAX_LISTENERS), "{full}");
    let taken = setup.table.listen(at(5), 1).unwrap_err();
    assert_eq!(taken, CmError::PortTaken(at(5)));
    setup.config.capabilities = Capabilities {
        max_send_requests: 1,
        max_receive_requests: 1,
        max_send_elements: 1,
        max_receive_elements: 1,
        max_inline: 0,
    };
    let numbers: Vec<Qpn> = (0..MAX_QUEUE_PAIRS).map(|_| setup.queue_pair()).collect();
    assert!(numbers.iter().all(|number| is_iwarp(*number) && number.value() < 0xff_ffff));
    let full = setup.table.create_queue_pair(&mut setup.context, &setup.config).unwrap_err();
    assert!(matches!(full, CmError::Limit(limit) if limit.limit == MAX_QUEUE_PAIRS), "{full}");
    setup.table.destroy_queue_pair(&mut setup.context, numbers[7]).unwrap();
    assert_ne!(setup.queue_pair(), numbers[7], "another generation");
    assert_eq!(setup.table.state(numbers[7]), None);
}

/// siw does not look at what comes before it has got ready behind its reply (docs/SIW.md).
#[test]
fn a_side_that_calls_is_silent_for_a_while_behind_the_reply() {
    let mut setup = Setup::new();
    let number = setup.queue_pair();
    let stream = setup.table.call((at(0).ip(), peer(7)), number, READS, b"").unwrap();
    setup.table.connected(stream, at(1), 1460, false);
    assert_eq!(setup.table.next_ready(), Some(stream));
    let mut responder = Responder::new(&Profile::SPEC);
    responder.handle_bytes(&setup.take(stream)).unwrap();
    responder.accept(&Terms::of(&Profile::SPEC, 4, 4), b"").unwrap();
    setup.table.handle_bytes(&mut setup.context, stream, responder.reply());
    assert!(matches!(setup.happenings()[..], [Happening::Accepted { .. }]));
    // The ready-to-receive message is there to be sent, and waits.
    let pause = IwarpSettings::PAUSE.as_nanos() as u64;
    setup.pass(pause - 1);
    assert_eq!((setup.table.next_ready(), setup.table.next_timeout()), (None, Some(1 + pause)));
    assert!(setup.take(stream).is_empty());
    setup.pass(1);
    assert_eq!(setup.table.next_ready(), Some(stream));
    assert!(!setup.take(stream).is_empty());
    assert_eq!(setup.table.next_timeout(), None);
}

/// A connection with a caller that knows no ready-to-receive message, over which the called side has a SEND to send. What was
/// sent with the reply.
fn called_without_ready(setup: &mut Setup, profile: Profile) -> (StreamId, Vec<u8>) {
    setup.table.set_settings(IwarpSettings { profile, ..IwarpSettings::default() });
    setup.listen(1);
    let stream = setup.table.accepted(at(7), peer(1)).unwrap();
    setup.table.set_segments(stream, 1460, false);
    let terms = Terms::of(&Profile::SIW, 4, 4);
    let request = Initiator::new(&Profile::SIW, &terms, b"").unwrap().request().to_vec();
    setup.table.handle_bytes(&mut setup.context, stream, &request);
    let number = setup.queue_pair();
    setup.table.accept(&mut setup.context, stream, number, READS, b"").unwrap();
    let send = SendRequest { operation: Operation::Send, ..SendRequest::default() };
    setup.table.post_send(&mut setup.context, number, &send).unwrap();
    assert_eq!(setup.table.next_ready(), Some(stream));
    let reply = setup.take(stream);
    (stream, reply)
}

/// siw ends the connection if something comes with the reply or right behind it (docs/SIW.md).
#[test]
fn a_called_side_that_may_speak_first_is_silent_for_a_while_behind_its_reply() {
    for profile in [Profile::LINUX, Profile::SIW] {
        let mut setup = Setup::new();
        let (stream, reply) = called_without_ready(&mut setup, profile);
        assert!(reply.starts_with(b"MPA ID Rep Frame") && reply.len() == 24, "the reply alone");
        assert!(setup.happenings().contains(&Happening::Established(stream)), "the application may post");
        let pause = IwarpSettings::GREETING_PAUSE.as_nanos() as u64;
        setup.pass(pause - 1);
        assert_eq!((setup.table.next_ready(), setup.table.next_timeout()), (None, Some(1 + pause)));
        assert!(setup.take(stream).is_empty());
        setup.pass(1);
        assert_eq!(setup.table.next_ready(), Some(stream));
        assert!(!setup.take(stream).is_empty());
        assert_eq!(setup.table.next_timeout(), None);
    }
}

#[test]
fn a_called_side_may_speak_as_soon_as_its_caller_has_spoken() {
    for profile in [Profile::LINUX, Profile::SIW, Profile::SPEC] {
        let mut setup = Setup::new();
        let (stream, _) = called_without_ready(&mut setup, profile.clone());
        // An empty WRITE; CRCs are used where our profile has them.
        let hello = [0, 14, 0xc1, 0x40, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        let crc = if profile.crc { rdmalab_wire::iwarp::crc32c(&hello) } else { 0 };
        assert_eq!(setup.table.next_ready(), None);
        setup.table.handle_bytes(&mut setup.context, stream, &[&hello[..], &crc.to_le_bytes()].concat());
        assert_eq!(setup.table.next_ready(), Some(stream));
        assert!(!setup.take(stream).is_empty(), "{}", profile.name);
        setup.pass(SECOND);
        assert_eq!(setup.table.next_timeout(), None);
    }
}

#[test]
fn by_the_specification_a_called_side_waits_for_its_caller_however_long_that_takes() {
    let mut setup = Setup::new();
    let (stream, _) = called_without_ready(&mut setup, Profile::SPEC);
    setup.pass(1000 * SECOND);
    assert_eq!((setup.table.next_ready(), setup.table.next_timeout()), (None, None));
    assert!(setup.take(stream).is_empty());
}
