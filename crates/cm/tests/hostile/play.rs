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

struct Player<'a> {
    bytes: Bytes<'a>,
    now: u64,
    cm: Cm,
    /// The last few of each, live or not.
    connections: Vec<(ConnectionId, Option<Box<ConnectionCall>>)>,
    resolutions: Vec<ResolutionId>,
    told: BTreeSet<String>,
}

/// Plays the steps, and then lets time pass until nothing is left. The kinds of events that were told.
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
                self.now += 1 << (self.bytes.next() & 0x27);
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
            let text = format!("{event:?}");
            self.told.extend(text.split_whitespace().next().map(str::to_owned));
            match event {
                Event::ConnectRequest { id, call, .. } => self.connections.push((id, Some(call))),
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

    /// Ours, more often than not.
    fn our_id(&mut self) -> u32 {
        let choice = usize::from(self.bytes.next());
        match self.connections.get(choice % 9) {
            Some((id, _)) => id.value(),
            None => match self.resolutions.get(choice % 8) {
                Some(id) => id.value(),
                None => choice as u32,
            },
        }
    }

    fn deliver(&mut self) {
        let route = self.route();
        let transaction_id = u64::from(self.bytes.below(2));
        let message = self.message(&route);
        let mut bytes = CmMad::new(transaction_id, message).encode();
        for _ in 0..self.bytes.below(8).saturating_sub(4) {
            let place = usize::from(self.bytes.next());
            bytes[place] = self.bytes.next();
        }
        let length = match self.bytes.next() {
            255 => usize::from(self.bytes.next()),
            _ => bytes.len(),
        };
        self.cm.handle_mad(self.now, route, &bytes[..length]);
    }

    fn message(&mut self, route: &Route) -> CmMessage {
        let kind = self.bytes.below(14);
        let theirs = u32::from(self.bytes.below(4));
        let ours = self.our_id();
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
                local_qpn: Qpn::new(u32::from(small & 3)),
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
                remote_qpn: Qpn::new(u32::from(small & 3)),
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
            local_qpn: Qpn::new(u32::from(small & 3)),
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
        let what = self.bytes.below(12);
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
                self.connections.push((id, None));
            }
            return;
        }
        let choice = usize::from(self.bytes.next());
        let Some((id, call)) = self.connections.get(choice % self.connections.len().max(1)) else { return };
        let id = *id;
        let _ = match (what, call) {
            (1 | 2, Some(call)) => self.cm.accept(now, id, &AcceptRequest::new(call, qpn, Psn::new(2))),
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
        self.told
    }
}
