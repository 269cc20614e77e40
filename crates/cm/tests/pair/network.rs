//! Two communication managers in virtual time, a link that mistreats one message, and applications at both ends that do
//! what the scenario says.

use rdmalab_cm::{
    AcceptRequest, AnswerRequest, Cm, Config, ConnectRequest, ConnectionId, Event, Listen, ListenKind,
    RejectRequest, ResolveRequest, Route, Target,
};
use rdmalab_wire::mad::{PortSpace, ServiceId, SidrStatus};
use rdmalab_wire::{Mad, PKey, Psn, QKey, Qpn};

pub const MILLISECOND: u64 = 1_000_000;
/// One way.
const LATENCY: u64 = 5 * MILLISECOND;
const PORT: u16 = 7174;
pub const CALLER: usize = 0;
pub const CALLED: usize = 1;

/// What happens to the one message that is counted out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistreatment {
    None,
    Lost,
    Doubled,
    /// Twice, the second time much later, but within the life time of a packet.
    DoubledLate,
    /// Comes behind what is sent after it.
    Delayed,
    /// Every message is mistreated in one way or another or none, as this seed has it.
    All(u64),
}

/// What the applications do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// The caller ends the connection as soon as it is made.
    CallerLeaves,
    /// The called side ends it as soon as it knows that it is made.
    CalledLeaves,
    /// Both end it at the same time.
    BothLeave,
    /// Both sides ask for more time first.
    SlowThenCallerLeaves,
    /// A packet comes on the queue pair, and only then an RTU, if at all.
    DataFirst,
    Rejected,
    NobodyListens,
    ReplyRefused,
    CallTakenBack,
    AcceptanceTakenBack,
    Question,
    QuestionRefused,
    QuestionToNobody,
}

impl Scenario {
    fn is_question(self) -> bool {
        matches!(self, Scenario::Question | Scenario::QuestionRefused | Scenario::QuestionToNobody)
    }

    fn has_listener(self) -> bool {
        !matches!(self, Scenario::NobodyListens | Scenario::QuestionToNobody)
    }
}

/// A message on its way.
struct Flight {
    at: u64,
    to: usize,
    bytes: [u8; 256],
}

/// Something an application does later.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Accept(ConnectionId),
    Confirm(ConnectionId),
    Leave(ConnectionId),
    Destroy(ConnectionId),
    Data,
}

pub struct Network {
    now: u64,
    scenario: Scenario,
    sides: [Cm; 2],
    flights: Vec<Flight>,
    deeds: Vec<(u64, usize, Deed)>,
    call: Option<Box<rdmalab_cm::ConnectionCall>>,
    /// The message to mistreat, counted from 0, and how.
    victim: usize,
    mistreatment: Mistreatment,
    /// How many messages were sent.
    pub sent: usize,
    /// What each side was told, without what may differ: causes and data are told apart by the scenarios' own checks.
    pub told: [Vec<String>; 2],
    /// The lines of all messages.
    pub log: Vec<String>,
}

pub fn route(from: usize) -> Route {
    let address = |side: usize| [10, 9, 0, [2, 1][side]].into();
    Route::new(address(from), address(1 - from), PKey::DEFAULT)
}

impl Network {
    pub fn new(scenario: Scenario, victim: usize, mistreatment: Mistreatment) -> Self {
        let side = |number: u64| Cm::new(Config::new(number), number);
        let mut network = Network {
            now: 0,
            scenario,
            sides: [side(2), side(1)],
            flights: Vec::new(),
            deeds: Vec::new(),
            call: None,
            victim,
            mistreatment,
            sent: 0,
            told: [Vec::new(), Vec::new()],
            log: Vec::new(),
        };
        let (space, kind) = if scenario.is_question() {
            (PortSpace::Udp, ListenKind::Datagrams)
        } else {
            (PortSpace::Tcp, ListenKind::Connections)
        };
        if scenario.has_listener() {
            let service_id = ServiceId::rdma_ip(space, PORT);
            network.sides[CALLED].listen(&Listen { service_id, address: None, kind, backlog: 4 }).unwrap();
        }
        let target = Target::Ip { space, port: PORT, source_port: 40_000 };
        let caller = &mut network.sides[CALLER];
        if scenario.is_question() {
            let request = ResolveRequest { route: route(CALLER), target, private_data: b"question" };
            caller.resolve_service(0, &request).unwrap();
        } else {
            let request = ConnectRequest::new(route(CALLER), target, Qpn::new(0x12), Psn::new(1_000));
            let id = caller.connect(0, &ConnectRequest { private_data: b"call", ..request }).unwrap();
            if scenario == Scenario::CallTakenBack {
                network.deeds.push((50 * MILLISECOND, CALLER, Deed::Destroy(id)));
            }
        }
        network
    }

    /// Runs until nothing is left to happen. A scenario that does not end within an hour of virtual time never will.
    pub fn run(&mut self) {
        loop {
            self.drain();
            let Some(at) = self.next() else { break };
            assert!(at < 3_600_000 * MILLISECOND, "no end in sight: {:#?}", self.log);
            self.now = at;
            self.arrive();
            self.act();
            for side in &mut self.sides {
                side.handle_timeout(at);
            }
        }
    }

    fn next(&self) -> Option<u64> {
        let flights = self.flights.iter().map(|flight| flight.at);
        let deeds = self.deeds.iter().map(|(at, ..)| *at);
        let timers = self.sides.iter().filter_map(Cm::next_timeout);
        flights.chain(deeds).chain(timers).min()
    }

    /// Everything that was put out goes on its way, and everything that was told is heeded.
    fn drain(&mut self) {
        loop {
            let mut is_quiet = true;
            for from in [CALLER, CALLED] {
                while let Some(outgoing) = self.sides[from].poll_transmit() {
                    is_quiet = false;
                    assert_eq!(outgoing.route, route(from));
                    self.launch(from, outgoing.bytes);
                }
                while let Some(event) = self.sides[from].poll_event() {
                    is_quiet = false;
                    self.heed(from, event);
                }
            }
            if is_quiet {
                break;
            }
        }
    }

    fn launch(&mut self, from: usize, bytes: [u8; 256]) {
        let at = self.now + LATENCY;
        let mistreatment = match self.mistreatment {
            Mistreatment::All(seed) => any_mistreatment(seed, self.sent),
            one if self.sent == self.victim => one,
            _ => Mistreatment::None,
        };
        let delays: &[u64] = match mistreatment {
            Mistreatment::None | Mistreatment::All(_) => &[0],
            Mistreatment::Lost => &[],
            Mistreatment::Doubled => &[0, 0],
            Mistreatment::DoubledLate => &[0, 250 * MILLISECOND],
            Mistreatment::Delayed => &[250 * MILLISECOND],
        };
        let mad = Mad::parse(&bytes).unwrap();
        self.log.push(format!("{:>6} ms {from} {mad} {delays:?}", self.now / MILLISECOND));
        self.sent += 1;
        self.flights.extend(delays.iter().map(|delay| Flight { at: at + delay, to: 1 - from, bytes }));
    }

    fn arrive(&mut self) {
        let now = self.now;
        let (due, later) = self.flights.drain(..).partition::<Vec<_>, _>(|flight| flight.at <= now);
        self.flights = later;
        for flight in due {
            self.sides[flight.to].handle_mad(now, route(flight.to), &flight.bytes);
        }
    }

    fn act(&mut self) {
        let now = self.now;
        let (due, later) = self.deeds.drain(..).partition::<Vec<_>, _>(|(at, ..)| *at <= now);
        self.deeds = later;
        for (_, who, deed) in due {
            let side = &mut self.sides[who];
            match deed {
                Deed::Accept(id) => {
                    let call = self.call.as_deref().unwrap();
                    let request = AcceptRequest::new(call, Qpn::new(0x34), Psn::new(2_000));
                    side.accept(now, id, &AcceptRequest { private_data: b"reply", ..request }).unwrap();
                    if self.scenario == Scenario::AcceptanceTakenBack {
                        self.deeds.push((now + MILLISECOND, who, Deed::Destroy(id)));
                    }
                }
                Deed::Confirm(id) => {
                    side.confirm(id, b"ready").unwrap();
                    if self.scenario == Scenario::DataFirst {
                        self.deeds.push((now + 4 * MILLISECOND, CALLED, Deed::Data));
                    }
                }
                // The other side may have been faster by so much that nothing is left.
                Deed::Leave(id) if self.scenario == Scenario::BothLeave => {
                    let _ = side.disconnect(now, id, b"bye");
                }
                Deed::Leave(id) => side.disconnect(now, id, b"bye").unwrap(),
                Deed::Destroy(id) => {
                    // Whether the other side was faster is a matter of luck.
                    let _ = side.destroy(now, id);
                }
                Deed::Data => assert!(side.communication_established(Qpn::new(0x34))),
            }
        }
    }

    fn soon(&mut self, milliseconds: u64, who: usize, deed: Deed) {
        self.deeds.push((self.now + milliseconds * MILLISECOND, who, deed));
    }

    fn heed(&mut self, who: usize, event: Event) {
        let now = self.now;
        let line = match event {
            Event::ConnectRequest { id, call, .. } => {
                assert_eq!((call.qpn, call.starting_psn), (Qpn::new(0x12), Psn::new(1_000)));
                assert!(call.private_data.starts_with(b"call\0") && call.private_data.len() == 56);
                self.call = Some(call);
                let side = &mut self.sides[who];
                match self.scenario {
                    Scenario::Rejected => side.reject(now, id, &RejectRequest::consumer(b"no")).unwrap(),
                    Scenario::CallTakenBack => {}
                    Scenario::SlowThenCallerLeaves => {
                        side.mra(id, 21, &[]).unwrap();
                        self.soon(6_000, who, Deed::Accept(id));
                    }
                    _ => self.soon(1, who, Deed::Accept(id)),
                }
                "request".to_owned()
            }
            Event::ConnectResponse { id, reply } => {
                assert_eq!((reply.qpn, reply.starting_psn), (Qpn::new(0x34), Psn::new(2_000)));
                assert!(reply.private_data.starts_with(b"reply\0") && reply.private_data.len() == 196);
                let side = &mut self.sides[who];
                match self.scenario {
                    Scenario::ReplyRefused => side.reject(now, id, &RejectRequest::consumer(b"no")).unwrap(),
                    Scenario::SlowThenCallerLeaves => {
                        side.mra(id, 21, &[]).unwrap();
                        self.soon(6_000, who, Deed::Confirm(id));
                        self.soon(6_001, who, Deed::Leave(id));
                    }
                    Scenario::CalledLeaves | Scenario::AcceptanceTakenBack => {
                        self.soon(0, who, Deed::Confirm(id));
                    }
                    Scenario::DataFirst => {
                        self.soon(0, who, Deed::Confirm(id));
                        self.soon(2_000, who, Deed::Leave(id));
                    }
                    Scenario::BothLeave => {
                        self.soon(0, who, Deed::Confirm(id));
                        self.soon(20_000, who, Deed::Leave(id));
                    }
                    _ => {
                        self.soon(0, who, Deed::Confirm(id));
                        self.soon(1, who, Deed::Leave(id));
                    }
                }
                "response".to_owned()
            }
            Event::Established { id, .. } => {
                match self.scenario {
                    Scenario::CalledLeaves => self.soon(0, who, Deed::Leave(id)),
                    // Both leave 20 s after the reply was sent, whenever the RTU came.
                    Scenario::BothLeave => {
                        let at = (self.now / (20_000 * MILLISECOND) + 1) * 20_000 * MILLISECOND;
                        self.deeds.push((at + 11 * MILLISECOND, who, Deed::Leave(id)));
                    }
                    _ => {}
                }
                "established".to_owned()
            }
            Event::Rejected { rejection, .. } => {
                let is_ours = rejection.private_data.starts_with(b"no\0");
                let words = if is_ours { " no" } else { "" };
                format!("rejected {}{words}", rejection.reason)
            }
            Event::Disconnected { cause, .. } => format!("disconnected {cause:?}"),
            Event::TimeWaitExit { .. } => "out of time-wait".to_owned(),
            Event::ServiceRequest { id, call, .. } => {
                assert!(call.private_data.starts_with(b"question\0") && call.private_data.len() == 180);
                let answer = match self.scenario {
                    Scenario::QuestionRefused => {
                        AnswerRequest::Refused { status: SidrStatus::REJECTED, private_data: b"no" }
                    }
                    _ => AnswerRequest::QueuePair {
                        qpn: Qpn::new(0x34),
                        queue_key: QKey::new(7),
                        private_data: b"answer",
                    },
                };
                self.sides[who].answer(now, id, &answer).unwrap();
                "question".to_owned()
            }
            Event::ServiceResolved { answer, .. } => {
                assert_eq!((answer.qpn, answer.queue_key), (Qpn::new(0x34), QKey::new(7)));
                assert!(answer.private_data.starts_with(b"answer\0") && answer.private_data.len() == 136);
                "answer".to_owned()
            }
            Event::ServiceRefused { refusal, .. } => format!("refused {}", refusal.status),
            other => format!("{other:?}"),
        };
        self.told[who].push(line);
    }

    /// Nothing is left of anything.
    pub fn expect_empty(&self) {
        for side in &self.sides {
            assert_eq!((side.connections(), side.next_timeout()), (0, None));
        }
    }
}

/// A third is lost, a sixth each doubled and late.
fn any_mistreatment(seed: u64, number: usize) -> Mistreatment {
    let mut z = (seed << 16 | number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    match (z ^ z >> 31) % 6 {
        0 | 1 => Mistreatment::Lost,
        2 => Mistreatment::Doubled,
        3 => Mistreatment::Delayed,
        _ => Mistreatment::None,
    }
}
