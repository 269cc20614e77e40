//! A communication manager of ours in the place of one host of a capture.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rdmalab_cm::{
    AcceptRequest, AnswerRequest, Cm, Config, ConnectRequest, ConnectionCall, ConnectionId, Event, Listen,
    ListenKind, PathSettings, ResolutionId, ResolveRequest, Route, Service, Target,
};
use rdmalab_wire::mad::{CmMad, CmMessage, Req, ServiceId, TransportService};
use rdmalab_wire::{Mad, PKey};

use super::capture::Heard;

pub struct StandIn {
    host: IpAddr,
    cm: Cm,
    now: u64,
    /// Our IDs by those of the host whose place we take.
    ids: BTreeMap<u32, u32>,
    /// Likewise of exchanges that we begin.
    transactions: BTreeMap<u64, u64>,
    connections: BTreeMap<u32, ConnectionId>,
    calls: BTreeMap<u32, (ConnectionId, Box<ConnectionCall>)>,
    questions: BTreeMap<u32, ResolutionId>,
    /// How many of its messages we have sent in its place.
    pub compared: usize,
    /// What we were told.
    pub told: Vec<Event>,
}

impl StandIn {
    pub fn new(host: IpAddr, ca_guid: u64) -> Self {
        StandIn {
            host,
            cm: Cm::new(Config::new(ca_guid), 99),
            now: 0,
            ids: BTreeMap::new(),
            transactions: BTreeMap::new(),
            connections: BTreeMap::new(),
            calls: BTreeMap::new(),
            questions: BTreeMap::new(),
            compared: 0,
            told: Vec::new(),
        }
    }

    pub fn listen(&mut self, service_id: ServiceId, kind: ListenKind) {
        self.cm.listen(&Listen { service_id, address: None, kind, backlog: 8 }).unwrap();
    }

    pub fn play(&mut self, messages: &[Heard]) {
        for heard in messages {
            self.now += 1_000_000;
            if heard.source == self.host {
                self.speak(heard)
            } else {
                self.hear(heard)
            }
            self.take_events();
        }
        assert_eq!(self.cm.poll_transmit(), None, "one message too many");
    }

    fn take_events(&mut self) {
        while let Some(event) = self.cm.poll_event() {
            match &event {
                Event::ConnectRequest { id, call, .. } => {
                    // The capture's reply finds the call by the caller's queue pair.
                    self.calls.insert(call.qpn.value(), (*id, call.clone()));
                }
                Event::ServiceRequest { id, .. } => {
                    self.questions.insert(self.questions.len() as u32, *id);
                }
                _ => {}
            }
            self.told.push(event);
        }
    }

    /// The peer's message, with our IDs in the place of the host's.
    fn hear(&mut self, heard: &Heard) {
        let mut mad = heard.mad;
        match &mut mad.message {
            CmMessage::Req(_) | CmMessage::SidrReq(_) => {}
            CmMessage::Rep(rep) => rep.remote_communication_id = self.ids[&rep.remote_communication_id],
            CmMessage::Rtu(rtu) => rtu.remote_communication_id = self.ids[&rtu.remote_communication_id],
            CmMessage::Dreq(dreq) => dreq.remote_communication_id = self.ids[&dreq.remote_communication_id],
            CmMessage::Drep(drep) => drep.remote_communication_id = self.ids[&drep.remote_communication_id],
            CmMessage::SidrRep(rep) => rep.request_id = self.ids[&rep.request_id],
            other => panic!("frame {}: {other}", heard.frame),
        }
        if let Some(ours) = self.transactions.get(&mad.transaction_id) {
            mad.transaction_id = *ours;
        }
        self.cm.handle_mad(self.now, self.route(heard.source), &mad.encode());
    }

    fn route(&self, peer: IpAddr) -> Route {
        Route::new(self.host, peer, PKey::DEFAULT)
    }

    /// What the application on the host has ordered must give the message that the host has sent.
    fn speak(&mut self, heard: &Heard) {
        let route = self.route(heard.destination);
        match &heard.mad.message {
            CmMessage::Req(req) => {
                let id = self.cm.connect(self.now, &connect_request(route, req)).unwrap();
                self.ids.insert(req.local_communication_id, id.value());
                self.connections.insert(req.local_communication_id, id);
            }
            CmMessage::Rep(rep) => {
                let caller = self.told.iter().rev().find_map(|event| match event {
                    Event::ConnectRequest { call, .. } => Some(call.qpn.value()),
                    _ => None,
                });
                let (id, call) = self.calls.remove(&caller.unwrap()).unwrap();
                let request = AcceptRequest {
                    end_to_end_flow_control: rep.end_to_end_flow_control,
                    private_data: trimmed(&rep.private_data),
                    ..AcceptRequest::new(&call, rep.local_qpn, rep.starting_psn)
                };
                self.cm.accept(self.now, id, &request).unwrap();
                self.ids.insert(rep.local_communication_id, id.value());
                self.connections.insert(rep.local_communication_id, id);
            }
            CmMessage::Rtu(rtu) => {
                let id = self.connections[&rtu.local_communication_id];
                self.cm.confirm(id, trimmed(&rtu.private_data)).unwrap();
            }
            CmMessage::Dreq(dreq) => {
                let id = self.connections[&dreq.local_communication_id];
                self.cm.disconnect(self.now, id, trimmed(&dreq.private_data)).unwrap();
            }
            // Nobody orders it.
            CmMessage::Drep(_) => {}
            CmMessage::SidrReq(req) => {
                let (header, consumer) = heard.mad.message.ip_cm().unwrap();
                let (space, port) = req.service_id.to_rdma_ip().unwrap();
                let target = Target::Ip { space, port, source_port: header.source_port };
                let request = ResolveRequest { route, target, private_data: trimmed(consumer) };
                let id = self.cm.resolve_service(self.now, &request).unwrap();
                self.ids.insert(req.request_id, id.value());
            }
            CmMessage::SidrRep(rep) => {
                let (_, id) = self.questions.pop_first().unwrap();
                let answer = AnswerRequest::QueuePair {
                    qpn: rep.qpn,
                    queue_key: rep.queue_key,
                    private_data: trimmed(&rep.private_data),
                };
                self.cm.answer(self.now, id, &answer).unwrap();
            }
            other => panic!("frame {}: {other}", heard.frame),
        }
        self.expect_sent(heard, route);
    }

    /// Everything but our free numbers is as the host has it.
    fn expect_sent(&mut self, heard: &Heard, route: Route) {
        let outgoing = self.cm.poll_transmit().unwrap_or_else(|| panic!("nothing for frame {}", heard.frame));
        assert_eq!(outgoing.route, route);
        let Ok(Mad::Cm(ours)) = Mad::parse(&outgoing.bytes) else { panic!("no message") };
        if let CmMessage::Req(_) | CmMessage::Dreq(_) | CmMessage::SidrReq(_) = ours.message {
            // The caller's DREQ belongs to the exchange of its REQ, with Linux as with us.
            let known = self.transactions.insert(heard.mad.transaction_id, ours.transaction_id);
            assert!(known.is_none_or(|known| known == ours.transaction_id), "frame {}", heard.frame);
        }
        let ours = self.with_their_numbers(ours);
        let differing: Vec<usize> = ours
            .encode()
            .iter()
            .zip(&heard.mad.encode())
            .enumerate()
            .filter_map(|(offset, (ours, theirs))| (ours != theirs).then_some(offset))
            .collect();
        assert!(
            differing.is_empty(),
            "frame {}, bytes {differing:?}\nours:   {ours}\ntheirs: {}",
            heard.frame,
            heard.mad
        );
        self.compared += 1;
    }

    fn with_their_numbers(&self, mut ours: CmMad) -> CmMad {
        let back = |ours: &mut u32| {
            let theirs = self.ids.iter().find(|(_, mine)| **mine == *ours);
            *ours = *theirs.expect("an ID that nobody has").0;
        };
        match &mut ours.message {
            CmMessage::Req(req) => back(&mut req.local_communication_id),
            CmMessage::Rep(rep) => back(&mut rep.local_communication_id),
            CmMessage::Rtu(rtu) => back(&mut rtu.local_communication_id),
            CmMessage::Dreq(dreq) => back(&mut dreq.local_communication_id),
            CmMessage::Drep(drep) => back(&mut drep.local_communication_id),
            CmMessage::SidrReq(req) => back(&mut req.request_id),
            _ => {}
        }
        let begun = self.transactions.iter().find(|(_, mine)| **mine == ours.transaction_id);
        if let Some((theirs, _)) = begun {
            ours.transaction_id = *theirs;
        }
        ours
    }
}

/// What the application gave to Linux. All else in the REQ is our default.
fn connect_request(route: Route, req: &Req) -> ConnectRequest<'_> {
    assert_eq!(req.transport_service, TransportService::Rc);
    let (header, consumer) = req.ip_cm().unwrap();
    let (space, port) = req.service_id.to_rdma_ip().unwrap();
    let target = Target::Ip { space, port, source_port: header.source_port };
    ConnectRequest {
        service: Service::Rc,
        responder_resources: req.responder_resources,
        initiator_depth: req.initiator_depth,
        end_to_end_flow_control: req.end_to_end_flow_control,
        path_mtu: req.path_mtu().unwrap(),
        path: PathSettings { flow_label: req.primary.flow_label, ..PathSettings::default() },
        private_data: trimmed(consumer),
        ..ConnectRequest::new(route, target, req.local_qpn, req.starting_psn)
    }
}

/// Without the zeros at the end, which may be the message's padding.
fn trimmed(data: &[u8]) -> &[u8] {
    let length = data.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &data[..length]
}
