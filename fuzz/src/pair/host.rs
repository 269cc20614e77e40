//! One host: an endpoint with the queue pairs of one service, its memory, and what is known of its work.
//!
//! Its memory: what keys give all rights to; what they only let read; what belongs to another protection domain; and what
//! windows and fast registrations open in part. The last three are guarded: nobody may have written where no key lets it.

mod changes;
mod memory;
mod posting;
mod watching;

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use rdmalab_roce::{
    Batch, CongestionControl, DcqcnConfig, Endpoint, EndpointConfig, Profile, QueuePairConfig,
};
use rdmalab_verbs::{
    Capabilities, CompletionQueueId, Context, Path, QueuePairType, SharedReceiveQueueConfig,
    SharedReceiveQueueId, State, Target, XrcUse,
};
use rdmalab_wire::{PathMtu, Psn, QKey, Qpn, RKey};

use super::forge::Aim;
use super::input::{Forged, Input, Place, Service};
use memory::Rooms;

/// Requests that a queue holds.
const DEPTH: u32 = 16;
const QUEUE_KEY: QKey = QKey::new(0x1234);

pub fn address(n: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + n as u8))
}

/// What the other must know of a host.
#[derive(Clone, Copy, Debug)]
pub struct Face {
    pub sender: Qpn,
    pub receiver: Qpn,
    pub shared: Option<SharedReceiveQueueId>,
}

pub struct Host {
    number: usize,
    service: Service,
    context: Context,
    endpoint: Endpoint,
    /// Posts requests.
    sender: Qpn,
    /// Takes those of the other. The same, but over XRC.
    receiver: Qpn,
    shared: Option<SharedReceiveQueueId>,
    completions: CompletionQueueId,
    rooms: Rooms,
    batch: Batch,
    setup: changes::Setup,
    mtu: PathMtu,
    /// The other's face, and where requests go.
    other: Option<Face>,
    target: Target,
    next_id: u64,
    /// Numbers of requests that are posted and not complete, and of receives.
    requests: VecDeque<u64>,
    receives: VecDeque<u64>,
    /// PSNs of the last request and of the last answer that went out.
    last_request: Psn,
    last_answer: Psn,
}

fn mtu(code: u8) -> PathMtu {
    [PathMtu::M256, PathMtu::M512, PathMtu::M1024, PathMtu::M2048, PathMtu::M4096][usize::from(code % 5)]
}

impl Host {
    pub fn new(input: &Input, number: usize) -> Self {
        let mut context = Context::default();
        let profile = Profile::ALL[usize::from(input.profile) % Profile::ALL.len()];
        let congestion_control = match input.congestion % 4 {
            0 => CongestionControl::Fixed(1 << 20),
            1 => CongestionControl::Dcqcn(DcqcnConfig::default()),
            _ => CongestionControl::None,
        };
        let mut endpoint = Endpoint::new(EndpointConfig {
            profile,
            congestion_control,
            report_retries: true,
            ..EndpointConfig::new(vec![address(number)], PathMtu::M4096)
        });
        let domain = context.allocate_protection_domain().expect("an empty context");
        let completions = context.create_completion_queue(16 * DEPTH).expect("an empty context");
        let rooms = Rooms::new(&mut context, domain);
        let is_xrc = input.service == Service::Xrc;
        let xrc_domain = is_xrc.then(|| context.allocate_xrc_domain().expect("an empty context"));
        let shared = (input.shares_receives || is_xrc).then(|| {
            let xrc = xrc_domain.map(|domain| XrcUse { domain, completions });
            let config = SharedReceiveQueueConfig { xrc, max_requests: DEPTH, ..Default::default() };
            context.create_shared_receive_queue(domain, &config).expect("an empty context")
        });
        let capabilities = Capabilities {
            max_send_requests: DEPTH,
            max_receive_requests: DEPTH,
            max_inline: 64,
            ..Capabilities::default()
        };
        let mut create = |kind| {
            let config = QueuePairConfig {
                shared_receive_queue: shared.filter(|_| !is_xrc),
                xrc_domain: xrc_domain.filter(|_| kind == QueuePairType::XrcTarget),
                ..QueuePairConfig::new(kind, domain, completions, capabilities)
            };
            endpoint.create_queue_pair(&mut context, &config).expect("an empty endpoint")
        };
        let sender = create(match input.service {
            Service::Rc => QueuePairType::Rc,
            Service::Uc => QueuePairType::Uc,
            Service::Ud => QueuePairType::Ud,
            Service::Xrc => QueuePairType::XrcInitiator,
        });
        let receiver = if is_xrc { create(QueuePairType::XrcTarget) } else { sender };
        let first_psn = Psn::new(input.first_psn & 0xff_ffff);
        Self {
            number,
            service: input.service,
            context,
            endpoint,
            sender,
            receiver,
            shared,
            completions,
            rooms,
            batch: Batch::new(16, PathMtu::M4096, 0),
            setup: changes::Setup::new(input, first_psn),
            mtu: mtu(input.mtu),
            other: None,
            target: Target::Connected,
            next_id: 0,
            requests: VecDeque::new(),
            receives: VecDeque::new(),
            last_request: first_psn,
            last_answer: first_psn,
        }
    }

    pub fn face(&self) -> Face {
        Face { sender: self.sender, receiver: self.receiver, shared: self.shared }
    }

    /// Learns of the other, gets ready to send, and posts some work.
    pub fn meet(&mut self, other: Face) {
        self.other = Some(other);
        self.target = match (self.service, other.shared) {
            (Service::Ud, _) => {
                let path = Path::new(address(self.number), address(1 - self.number));
                let path = self.context.create_address_handle(self.rooms.domain, path).expect("a good path");
                Target::Datagram { path, queue_pair: other.receiver, queue_key: QUEUE_KEY }
            }
            (Service::Xrc, Some(shared)) => Target::Xrc(shared),
            _ => Target::Connected,
        };
        self.raise(self.sender, 3);
        if self.receiver != self.sender {
            self.raise(self.receiver, 3);
        }
        for n in 0..3 {
            self.receive(1000, 1000 * n, n as u8 + 1);
        }
    }

    pub fn next_timeout(&self) -> Option<u64> {
        self.endpoint.next_timeout()
    }

    pub fn handle_packet(&mut self, now: u64, packet: &[u8]) {
        self.endpoint.handle_packet(&mut self.context, now, packet);
    }

    /// States of its queue pairs.
    pub fn states(&self) -> impl Iterator<Item = State> {
        let state = |number| self.endpoint.state(number).expect("it is never destroyed");
        [state(self.sender), state(self.receiver)].into_iter()
    }

    /// What a place stands for on this host.
    pub fn resolve(&self, place: Place) -> (RKey, u64) {
        self.rooms.resolve(place)
    }

    /// What a forged packet for this host refers to.
    pub fn aim(&self, forged: &Forged) -> Aim {
        let is_answer = (0x0d..=0x12).contains(&(forged.operation & 0x1f));
        let usual = if is_answer { self.sender } else { self.receiver };
        let near = if forged.answers { self.last_answer } else { self.last_request };
        let psn = match forged.psn {
            by @ ..0 => near.sub(u32::from(by.unsigned_abs())),
            by => near.add(by as u32),
        };
        Aim {
            destination: forged.to.map_or(usual, |number| Qpn::new(number & 0xff_ffff)),
            psn,
            transport: forged.transport.map_or(self.transport(), |transport| transport & 7),
            key: RKey::new(0),
            address: 0,
            mtu: self.mtu.bytes(),
            shared_receive_queue: self.shared.map_or(0, SharedReceiveQueueId::number),
            queue_key: QUEUE_KEY,
            source: Qpn::new(0),
        }
    }

    fn transport(&self) -> u8 {
        match self.service {
            Service::Rc => 0,
            Service::Uc => 1,
            Service::Ud => 3,
            Service::Xrc => 5,
        }
    }
}
