//! Bytes taken as steps of a peer, an application and a clock that do anything.

use std::collections::BTreeSet;

use rdmalab_cm::{
    AcceptRequest, AnswerRequest, Cm, Config, ConnectRequest, ConnectionCall, ConnectionId, Event, Listen,
    ListenKind, RejectRequest, ResolutionId, ResolveRequest, Route, Service, Target,
};
use rdmalab_wire::mad::{
    ApStatus, Apr, CmMad, CmMessage, Drep, Dreq, IpCmHeader, Lap, Mra, MraMessage, Path, PortSpace, Rej,
    RejMessage, RejReason, Rep, Req, Rtu, ServiceId, SidrRep, SidrReq, SidrStatus, TransportService,
};
use rdmalab_wire::{Mad, PKey, Psn, QKey, Qpn};

const SERVICES: [ServiceId; 3] =
    [ServiceId::rdma_ip(PortSpace::Tcp, 1), ServiceId::rdma_ip(PortSpace::Udp, 1), ServiceId(1)];

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    /// Zero when nothing is left.
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.next()) % from.len()]
    }
}

/// What a peer that is to be believed would know of a connection.
#[derive(Clone)]
struct Known {
    /// None of a connection that is none; its number counts.
    id: Option<ConnectionId>,
    number: u32,
    route: Route,
    /// The peer's ID, and its queue pair's number.
    theirs: u32,
    qpn: Qpn,
    call: Option<Box<ConnectionCall>>,
}

struct Player<'a> {
    bytes: Bytes<'a>,
    now: u64,
    cm: Cm,
    /// The last few of each, live or not.
    connections: Vec<Known>,
    resolutions: Vec<ResolutionId>,
    told: BTreeSet<String>,
}

/// Plays the steps, and then lets time pass until nothing is left. The kinds of events that were told, and the names of
/// counters that have counted.
pub fn play(bytes: &[u8]) -> BTreeSet<String> {
    let mut config = Config::new(1);
    let limits = &mut config.limits;
    (limits.connections, limits.rejections, limits.resolutions) = (12, 3, 4);
    (limits.answers, limits.events, limits.transmits) = (2, 6, 8);
    config.max_retries = 2;
    let mut cm = Cm::new(config, 1);
    for service_id in SERVICES {
        for kind in [ListenKind::Connections, ListenKind::Datagrams] {
            cm.listen(&Listen { service_id, address: None, kind, backlog: 3 }).unwrap();
        }
    }
    let mut player = Player {
        bytes: Bytes(bytes),
        now: 0,
        cm,
        connections: Vec::new(),
        resolutions: Vec::new(),
        told: BTreeSet::new(),
    };
    while !player.bytes.0.is_empty() {
        player.step();
        player.cm.assert_sound();
    }
    player.end()
}

impl Player<'_> {
    fn step(&mut self) {
        match self.bytes.below(8) {
            0..=3 => self.deliver(),
            4 | 5 => self.command(),
            6 => {
                self.now += 1 << self.bytes.pick(&[10, 20, 24, 27, 29, 30, 32, 36]);
                self.cm.handle_timeout(self.now);
                assert!(self.cm.next_timeout().is_none_or(|at| at > self.now));
            }
            _ => self.drain(),
        }
    }

    fn drain(&mut self) {
        while let Some(outgoing) = self.cm.poll_transmit() {
            assert!(matches!(Mad::parse(&outgoing.bytes), Ok(Mad::Cm(_))));
        }
        while let Some(event) = self.cm.poll_event() {
            self.told.insert(kind(&event));
            match event {
                Event::ConnectRequest { id, call, .. } => {
                    let (route, theirs) = (call.route, call.qpn.value());
                    let known = Known {
                        id: Some(id),
                        number: id.value(),
                        route,
                        theirs,
                        qpn: Qpn::new(0),
                        call: Some(call),
                    };
                    self.connections.push(known);
                }
                Event::ServiceRequest { id, .. } => self.resolutions.push(id),
                _ => {}
            }
        }
        let surplus = self.connections.len().saturating_sub(8);
        self.connections.drain(..surplus);
        let surplus = self.resolutions.len().saturating_sub(8);
        self.resolutions.drain(..surplus);
    }

    fn route(&mut self) -> Route {
        let peer = 2 + self.bytes.below(2);
        Route::new([10, 0, 0, 1].into(), [10, 0, 0, peer].into(), PKey::DEFAULT)
    }

    /// A connection as its peer knows it, or, now and then, what no peer would say.
    fn known(&mut self) -> Known {
        let choice = usize::from(self.bytes.next());
        if let Some(known) = self.connections.get(choice % 12) {
            return known.clone();
        }
        let random = u32::from(self.bytes.next());
        let question = self.resolutions.get(choice % 5).map_or(random, |id| id.value());
        let number = self.connections.get(choice % 7).map_or(question, |known| known.number);
        let route = self.route();
        Known { id: None, number, route, theirs: random % 4, qpn: Qpn::new(random >> 2 & 3), call: None }
    }

    fn deliver(&mut self) {
        let known = self.known();
        let transaction_id = u64::from(self.bytes.below(2));
        let message = self.message(&known);
        let mut bytes = CmMad::new(transaction_id, message).encode();
        for _ in 0..self.bytes.below(16).saturating_sub(12) {
            let place = usize::from(self.bytes.next());
            bytes[place] = self.bytes.next();
        }
        let length = match self.bytes.next() {
            255 => usize::from(self.bytes.next()),
            _ => bytes.len(),
        };
        self.cm.handle_mad(self.now, known.route, &bytes[..length]);
    }

    fn message(&mut self, known: &Known) -> CmMessage {
        let kind = self.bytes.below(14);
        let (route, theirs, ours) = (&known.route, known.theirs, known.number);
        let small = self.bytes.next();
        match kind {
            0..=2 => CmMessage::Req(self.req(route, theirs, small)),
            3 => CmMessage::Mra(Mra {
                local_communication_id: theirs,
                remote_communication_id: ours,
                message: MraMessage::from_code(small),
                service_timeout: small >> 3,
                ..Mra::decode(&[0; 232])
            }),
            4 => {
                let mut rej = Rej {
                    local_communication_id: theirs,
                    remote_communication_id: ours,
                    message: RejMessage::from_code(small),
                    information_length: small,
                    reason: RejReason(u16::from(self.bytes.below(34))),
                    ..Rej::default()
                };
                rej.additional_information[7] = small & 1;
                CmMessage::Rej(rej)
            }
            5 | 6 => CmMessage::Rep(Rep {
                local_communication_id: theirs,
                remote_communication_id: ours,
                local_qpn: Qpn::new(theirs),
                local_ca_guid: u64::from(small >> 7),
                ..Rep::default()
            }),
            7 => CmMessage::Rtu(Rtu {
                local_communication_id: theirs,
                remote_communication_id: ours,
                ..Rtu::default()
            }),
            8 => CmMessage::Dreq(Dreq {
                local_communication_id: theirs,
                remote_communication_id: ours,
                remote_qpn: if small == 0 { Qpn::new(9) } else { known.qpn },
                ..Dreq::default()
            }),
            9 => CmMessage::Drep(Drep {
                local_communication_id: theirs,
                remote_communication_id: ours,
                ..Drep::default()
            }),
            10 => self.sidr_req(route, theirs),
            11 => CmMessage::SidrRep(SidrRep {
                request_id: ours,
                status: SidrStatus((small & 7).saturating_sub(3)),
                information_length: small,
                service_id: SERVICES[1],
                ..SidrRep::default()
            }),
            12 => CmMessage::Lap(Lap {
                local_communication_id: theirs,
                remote_communication_id: ours,
                ..Lap::decode(&[0; 232])
            }),
            _ => CmMessage::Apr(Apr {
                local_communication_id: theirs,
                remote_communication_id: ours,
                status: ApStatus(small),
                ..Apr::decode(&[0; 232])
            }),
        }
    }

    fn header(route: &Route) -> [u8; 36] {
        IpCmHeader::new(route.peer, 9, route.local).unwrap().encode()
    }

    fn req(&mut self, route: &Route, theirs: u32, small: u8) -> Req {
        let mut private_data = [0; 92];
        private_data[..36].copy_from_slice(&Self::header(route));
        Req {
            local_communication_id: theirs,
            service_id: self.bytes.pick(&SERVICES),
            local_ca_guid: u64::from(small >> 7),
            local_qpn: Qpn::new(if small & 7 == 7 { 1 } else { theirs }),
            starting_psn: Psn::new(u32::from(small >> 2 & 1)),
            transport_service: TransportService::from_code(small >> 3),
            extended_transport: 1,
            local_response_timeout: small >> 3,
            remote_response_timeout: small >> 3,
            max_cm_retries: small & 3,
            path_mtu_code: 1 + self.bytes.below(5),
            primary: Path {
                local_gid: route.peer.into(),
                remote_gid: route.local.into(),
                local_ack_timeout: small >> 3,
                ..Path::default()
            },
            private_data,
            ..Req::default()
        }
    }

    fn sidr_req(&mut self, route: &Route, theirs: u32) -> CmMessage {
        let mut private_data = [0; 216];
        private_data[..36].copy_from_slice(&Self::header(route));
        let service_id = self.bytes.pick(&SERVICES);
        let partition_key = PKey::DEFAULT;
        let req = SidrReq { request_id: theirs, partition_key, reserved: 0, service_id, private_data };
        CmMessage::SidrReq(req)
    }

    /// An order, sensible or not: errors are as good as success.
    fn command(&mut self) {
        let now = self.now;
        let what = self.bytes.pick(&[0, 1, 2, 3, 4, 4, 5, 6, 6, 6, 7, 8, 9, 10, 11]);
        if what >= 9 {
            self.resolve_or_answer(what);
            return;
        }
        let qpn = Qpn::new(u32::from(self.bytes.below(4)));
        if what == 0 {
            let route = self.route();
            let target = Target::Service(self.bytes.pick(&SERVICES));
            let service = self.bytes.pick(&[Service::Rc, Service::Uc, Service::Xrc]);
            let request = ConnectRequest { service, ..ConnectRequest::new(route, target, qpn, Psn::new(1)) };
            if let Ok(id) = self.cm.connect(now, &request) {
                let theirs = u32::from(self.bytes.below(4));
                self.connections.push(Known {
                    id: Some(id),
                    number: id.value(),
                    route,
                    theirs,
                    qpn,
                    call: None,
                });
            }
            return;
        }
        let choice = usize::from(self.bytes.next()) % self.connections.len().max(1);
        let Some(known) = self.connections.get_mut(choice) else { return };
        let Some(id) = known.id else { return };
        if known.call.is_some() && what <= 2 {
            known.qpn = qpn;
        }
        let call = known.call.clone();
        let _ = match (what, call) {
            (1 | 2, Some(call)) => self.cm.accept(now, id, &AcceptRequest::new(&call, qpn, Psn::new(2))),
            (3, _) => self.cm.reject(now, id, &RejectRequest::consumer(b"no")),
            (4, _) => self.cm.confirm(id, b"yes"),
            (5, _) => self.cm.mra(id, self.bytes.next(), &[]),
            (6, _) => self.cm.disconnect(now, id, &[]),
            (7, _) => self.cm.destroy(now, id),
            _ => {
                self.cm.communication_established(qpn);
                Ok(())
            }
        };
    }

    fn resolve_or_answer(&mut self, what: u8) {
        if what == 9 {
            let route = self.route();
            let request =
                ResolveRequest { route, target: Target::Service(SERVICES[1]), private_data: b"who" };
            if let Ok(id) = self.cm.resolve_service(self.now, &request) {
                self.resolutions.push(id);
            }
            return;
        }
        let choice = usize::from(self.bytes.next());
        let Some(&id) = self.resolutions.get(choice % self.resolutions.len().max(1)) else { return };
        let answer =
            AnswerRequest::QueuePair { qpn: Qpn::new(1), queue_key: QKey::new(1), private_data: &[] };
        if what == 10 {
            let _ = self.cm.answer(self.now, id, &answer);
        } else {
            let _ = self.cm.cancel_resolution(id);
        }
    }

    /// Whoever still has a connection gives it up. Then everything ends by itself, and soon.
    fn end(mut self) -> BTreeSet<String> {
        let listed: Vec<_> = self.cm.connection_ids().collect();
        for id in listed {
            let _ = self.cm.destroy(self.now, id);
        }
        for _ in 0..1_000 {
            self.cm.assert_sound();
            self.drain();
            let Some(at) = self.cm.next_timeout() else { break };
            assert!(at > self.now || at == 0);
            self.now = at;
            self.cm.handle_timeout(at);
        }
        assert_eq!((self.cm.connections(), self.cm.resolutions()), (0, 0));
        assert_eq!(self.cm.next_timeout(), None);
        let counters = format!("{:?}", self.cm.counters());
        let counted =
            counters.split([' ', ',', '{', '}']).filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let names = counted.windows(2).filter(|pair| pair[0].ends_with(':') && pair[1] != "0");
        self.told.extend(names.map(|pair| pair[0].to_owned()));
        self.told
    }
}

/// `Disconnected Peer`, without what differs from run to run.
fn kind(event: &Event) -> String {
    let text = format!("{event:?}");
    let name = text.split_whitespace().next().unwrap_or_default();
    let more = match event {
        Event::Disconnected { cause, .. } => format!("{cause:?}"),
        Event::Established { by, .. } => format!("{by:?}"),
        Event::Unreachable { missing, .. } => format!("{missing:?}"),
        _ => String::new(),
    };
    let more = more.split('(').next().unwrap_or_default();
    format!("{name} {more}").trim_end().to_owned()
}
