//! One communication manager, and a script in the place of its peer.

use rdmalab_cm::{
    AcceptRequest, Cm, Config, ConnectRequest, ConnectionCall, ConnectionId, Counters, Event, Listen,
    ListenKind, ListenerId, Route, Target,
};
use rdmalab_wire::mad::{
    CmMad, CmMessage, Drep, Dreq, IpCmHeader, Mra, MraMessage, Path, PortSpace, Rej, RejMessage, RejReason,
    Rep, Req, Rtu, ServiceId,
};
use rdmalab_wire::{Mad, PKey, Psn, Qpn};

pub const PEER_ID: u32 = 0x1111_1111;
pub const PEER_QPN: Qpn = Qpn::new(0x22);
pub const PEER_GUID: u64 = 7;
pub const OUR_QPN: Qpn = Qpn::new(0x44);
pub const OUR_GUID: u64 = 9;
pub const PORT: u16 = 7174;
pub const SERVICE: ServiceId = ServiceId::rdma_ip(PortSpace::Tcp, PORT);
pub const TRANSACTION: u64 = 0xabcd;
/// 4.096 µs · 2^20 for the answer, and 2 · 4.096 µs · 2^16 for the way.
pub const WAIT: u64 = (4_096 << 20) + (4_096 << 17);
/// How long answers are kept for repetition: sixteen times that, and the longest wait that an MRA may have asked for.
pub const MEMORY: u64 = 16 * WAIT + (4_096 << 24) + (4_096 << 17);
/// 4.096 µs · 2^17, the acknowledgement timeout of the path.
pub const TIME_WAIT: u64 = 4_096 << 17;

pub fn route() -> Route {
    Route::new([10, 9, 0, 1].into(), [10, 9, 0, 2].into(), PKey::DEFAULT)
}

/// Somebody else.
pub fn other_route() -> Route {
    Route::new([10, 9, 0, 1].into(), [10, 9, 0, 3].into(), PKey::DEFAULT)
}

pub struct Side {
    pub cm: Cm,
    pub now: u64,
    /// The connection that the constructors make.
    pub id: ConnectionId,
    pub listener: Option<ListenerId>,
}

/// What a Linux peer at the other end of the route would send.
pub fn req_over(route: &Route) -> Req {
    let header = IpCmHeader::new(route.peer, 40_000, route.local).unwrap();
    let mut private_data = [0; 92];
    private_data[..36].copy_from_slice(&header.encode());
    Req {
        local_communication_id: PEER_ID,
        service_id: SERVICE,
        local_ca_guid: PEER_GUID,
        local_qpn: PEER_QPN,
        starting_psn: Psn::new(77),
        responder_resources: 3,
        initiator_depth: 5,
        remote_response_timeout: 20,
        local_response_timeout: 20,
        retry_count: 6,
        rnr_retry_count: 4,
        partition_key: PKey::DEFAULT,
        path_mtu_code: 3,
        max_cm_retries: 15,
        primary: Path {
            local_lid: 0xffff,
            remote_lid: 0xffff,
            local_gid: route.peer.into(),
            remote_gid: route.local.into(),
            hop_limit: 64,
            local_ack_timeout: 17,
            ..Path::default()
        },
        private_data,
        ..Req::default()
    }
}

pub fn req() -> Req {
    req_over(&route())
}

impl Side {
    pub fn with(config: Config) -> Self {
        let mut cm = Cm::new(config, 1);
        let kind = ListenKind::Connections;
        let listener = cm.listen(&Listen { service_id: SERVICE, address: None, kind, backlog: 2 }).ok();
        let id = cm.connect(0, &connect_request()).unwrap();
        cm.destroy(0, id).unwrap();
        while cm.poll_transmit().is_some() {}
        Side { cm, now: 1_000, id, listener }
    }

    /// Listens for [`SERVICE`] with a backlog of 2. Its ID is of no connection.
    pub fn new() -> Self {
        Side::with(Config::new(OUR_GUID))
    }

    /// A call waits for a decision.
    pub fn called() -> (Self, ConnectionCall) {
        let mut side = Side::new();
        side.deliver(CmMessage::Req(req()));
        let Some(Event::ConnectRequest { id, call, .. }) = side.cm.poll_event() else { panic!("no call") };
        side.id = id;
        (side, *call)
    }

    /// The call is accepted; the REP has gone out.
    pub fn accepted() -> Self {
        let (mut side, call) = Side::called();
        side.accept(&call);
        assert!(matches!(side.sent(), CmMessage::Rep(_)));
        side
    }

    /// A connection that the peer has made.
    pub fn connected_by_peer() -> Self {
        let mut side = Side::accepted();
        side.deliver(CmMessage::Rtu(side.rtu()));
        assert!(matches!(side.event(), Event::Established { .. }));
        side
    }

    /// Our call has gone out.
    pub fn calling() -> Self {
        let mut side = Side::new();
        side.id = side.cm.connect(side.now, &connect_request()).unwrap();
        assert!(matches!(side.sent(), CmMessage::Req(_)));
        side
    }

    /// The peer has accepted our call.
    pub fn replied() -> Self {
        let mut side = Side::calling();
        side.deliver(CmMessage::Rep(side.rep()));
        assert!(matches!(side.event(), Event::ConnectResponse { .. }));
        side
    }

    /// A connection that we have made.
    pub fn connected_by_us() -> Self {
        let mut side = Side::replied();
        side.cm.confirm(side.id, &[]).unwrap();
        assert!(matches!(side.sent(), CmMessage::Rtu(_)));
        side
    }

    /// Both kinds of connection: nothing that follows depends on who has called.
    pub fn connected() -> [Self; 2] {
        [Side::connected_by_peer(), Side::connected_by_us()]
    }

    pub fn accept(&mut self, call: &ConnectionCall) {
        let request = AcceptRequest::new(call, OUR_QPN, Psn::new(88));
        self.cm.accept(self.now, self.id, &request).unwrap();
    }

    pub fn deliver(&mut self, message: CmMessage) {
        self.deliver_from(route(), TRANSACTION, message);
    }

    pub fn deliver_from(&mut self, route: Route, transaction_id: u64, message: CmMessage) {
        let bytes = CmMad::new(transaction_id, message).encode();
        self.cm.handle_mad(self.now, route, &bytes);
    }

    /// The next message that goes out, which is the only one.
    #[track_caller]
    pub fn sent(&mut self) -> CmMessage {
        let message = self.sent_mad().message;
        self.expect_silence();
        message
    }

    #[track_caller]
    pub fn sent_mad(&mut self) -> CmMad {
        let outgoing = self.cm.poll_transmit().expect("a message goes out");
        match Mad::parse(&outgoing.bytes) {
            Ok(Mad::Cm(mad)) => mad,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub fn sent_rej(&mut self) -> Rej {
        match self.sent() {
            CmMessage::Rej(rej) => rej,
            other => panic!("{other}"),
        }
    }

    #[track_caller]
    pub fn expect_silence(&mut self) {
        if let Some(outgoing) = self.cm.poll_transmit() {
            panic!("{}", Mad::parse(&outgoing.bytes).unwrap());
        }
    }

    #[track_caller]
    pub fn event(&mut self) -> Event {
        self.cm.poll_event().expect("an event")
    }

    #[track_caller]
    pub fn expect_no_event(&mut self) {
        assert_eq!(self.cm.poll_event(), None);
    }

    /// Neither a message nor an event.
    #[track_caller]
    pub fn expect_nothing(&mut self) {
        self.expect_silence();
        self.expect_no_event();
    }

    /// Lets time pass until just before the next timer, and then to it.
    #[track_caller]
    pub fn expect_timer_after(&mut self, nanoseconds: u64) {
        assert_eq!(self.cm.next_timeout(), Some(self.now + nanoseconds));
        self.cm.handle_timeout(self.now + nanoseconds - 1);
        self.expect_nothing();
        self.now += nanoseconds;
        self.cm.handle_timeout(self.now);
    }

    pub fn counters(&self) -> Counters {
        *self.cm.counters()
    }

    pub fn rep(&self) -> Rep {
        Rep {
            local_communication_id: PEER_ID,
            remote_communication_id: self.id.value(),
            local_qpn: PEER_QPN,
            starting_psn: Psn::new(77),
            responder_resources: 3,
            initiator_depth: 5,
            target_ack_delay: 15,
            rnr_retry_count: 4,
            local_ca_guid: PEER_GUID,
            ..Rep::default()
        }
    }

    pub fn rtu(&self) -> Rtu {
        Rtu { local_communication_id: PEER_ID, remote_communication_id: self.id.value(), ..Rtu::default() }
    }

    pub fn dreq(&self) -> Dreq {
        Dreq {
            local_communication_id: PEER_ID,
            remote_communication_id: self.id.value(),
            remote_qpn: OUR_QPN,
            ..Dreq::default()
        }
    }

    pub fn drep(&self) -> Drep {
        Drep { local_communication_id: PEER_ID, remote_communication_id: self.id.value(), ..Drep::default() }
    }

    pub fn rej(&self, message: RejMessage, reason: RejReason) -> Rej {
        Rej {
            local_communication_id: PEER_ID,
            remote_communication_id: self.id.value(),
            message,
            reason,
            ..Rej::default()
        }
    }

    pub fn mra(&self, message: MraMessage, service_timeout: u8) -> Mra {
        Mra {
            local_communication_id: PEER_ID,
            remote_communication_id: self.id.value(),
            message,
            service_timeout,
            ..Mra::decode(&[0; 232])
        }
    }
}

pub fn connect_request() -> ConnectRequest<'static> {
    let target = Target::Ip { space: PortSpace::Tcp, port: PORT, source_port: 50_000 };
    ConnectRequest::new(route(), target, OUR_QPN, Psn::new(88))
}
