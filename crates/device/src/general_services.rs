//! The general services interface of a port: queue pair 1, over which connections are managed.
//!
//! It is an ordinary user of the transport, with a domain, a queue and memory of its own. Invariants: [`RECEIVES`] receives
//! are posted at any time; at most [`SENDS`] datagrams are on their way out, each with an address handle that goes when it
//! has gone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use rdmalab_cm::{Outgoing, Route};
use rdmalab_roce::{CreateError, Endpoint, QueuePairConfig};
use rdmalab_verbs::{
    Access, AddressHandleId, Attributes, Capabilities, CompletionKind, CompletionQueueId, CompletionStatus,
    Context, HeapMemory, Memory, Operation, Path, ProtectionDomainId, QueuePairType, ReceiveRequest,
    SendFlags, SendRequest, Sge, State, Target,
};
use rdmalab_wire::mad::Mad;
use rdmalab_wire::{PKey, Psn, QKey, Qpn};

/// Receives that are kept posted.
const RECEIVES: u32 = 512;
/// Datagrams that may be on their way out.
const SENDS: u32 = 64;
/// Bytes of a receive in front of the datagram.
const AREA: usize = 40;
/// Bytes of a place in memory: receives first, then sends.
const PLACE: usize = AREA + Mad::LENGTH;
/// Where the memory begins, for its own domain only.
const BASE: u64 = 0x1000;

pub(crate) struct GeneralServices {
    domain: ProtectionDomainId,
    completions: CompletionQueueId,
    memory: Arc<HeapMemory>,
    key: u32,
    /// Places for sends that are free.
    free: Vec<u32>,
    /// The handle of each place for sends that is not.
    handles: Vec<Option<AddressHandleId>>,
}

impl GeneralServices {
    pub(crate) fn new(endpoint: &mut Endpoint, context: &mut Context) -> Result<Self, CreateError> {
        let full = CreateError::LimitReached;
        let domain = context.allocate_protection_domain().map_err(full)?;
        let completions = context.create_completion_queue(RECEIVES + SENDS).map_err(full)?;
        let memory = Arc::new(HeapMemory::new(PLACE * (RECEIVES + SENDS) as usize));
        let shared = Arc::clone(&memory) as Arc<dyn Memory>;
        let key = context
            .register(domain, BASE, shared, Access::LOCAL_WRITE)
            .map_err(|_| CreateError::NoSuchObject)?;
        let capabilities = Capabilities {
            max_send_requests: SENDS,
            max_receive_requests: RECEIVES,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let config = QueuePairConfig {
            signals_all: true,
            ..QueuePairConfig::new(QueuePairType::Ud, domain, completions, capabilities)
        };
        endpoint.create_gsi(context, &config)?;
        let steps = [
            Attributes {
                state: Some(State::Init),
                partition_index: Some(0),
                queue_key: Some(QKey::GSI),
                ..Attributes::default()
            },
            Attributes { state: Some(State::Rtr), ..Attributes::default() },
            Attributes { state: Some(State::Rts), send_psn: Some(Psn::default()), ..Attributes::default() },
        ];
        for step in &steps {
            // The table of states allows them in this order.
            let _ = endpoint.modify(context, Qpn::GSI, step);
        }
        let free = (RECEIVES..RECEIVES + SENDS).rev().collect();
        let services = Self { domain, completions, memory, key, free, handles: vec![None; SENDS as usize] };
        for place in 0..RECEIVES {
            services.receive_at(endpoint, context, place);
        }
        Ok(services)
    }

    fn receive_at(&self, endpoint: &mut Endpoint, context: &mut Context, place: u32) {
        let elements = [self.element(place, 0, PLACE)];
        let request = ReceiveRequest { id: place.into(), elements: &elements };
        let _ = endpoint.post_receive(context, Qpn::GSI, &request);
    }

    fn element(&self, place: u32, offset: usize, length: usize) -> Sge {
        let address = BASE + (place as usize * PLACE + offset) as u64;
        Sge { address, length: length as u32, key: self.key }
    }

    /// Whether one more datagram can be sent now.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Sends a datagram. One that cannot be sent is lost, as on the way.
    pub(crate) fn send(&mut self, endpoint: &mut Endpoint, context: &mut Context, outgoing: &Outgoing) {
        let Some(place) = self.free.pop() else { return };
        let path = Path::new(outgoing.route.local, outgoing.route.peer);
        let Ok(handle) = context.create_address_handle(self.domain, path) else {
            self.free.push(place);
            return;
        };
        let _ = self.memory.write(place as usize * PLACE, &outgoing.bytes);
        let elements = [self.element(place, 0, Mad::LENGTH)];
        let request = SendRequest {
            id: place.into(),
            operation: Operation::Send,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            target: Target::Datagram { path: handle, queue_pair: Qpn::GSI, queue_key: QKey::GSI },
            ..SendRequest::default()
        };
        if endpoint.post_send(context, Qpn::GSI, &request).is_ok() {
            if let Some(held) = self.handles.get_mut((place - RECEIVES) as usize) {
                *held = Some(handle);
            }
        } else {
            let _ = context.destroy_address_handle(handle);
            self.free.push(place);
        }
    }

    /// The next datagram that came. Takes the places of those that have gone back, too.
    pub(crate) fn receive(
        &mut self,
        endpoint: &mut Endpoint,
        context: &mut Context,
    ) -> Option<(Route, [u8; Mad::LENGTH])> {
        while let Some(completion) = context.poll_completion(self.completions) {
            let place = completion.id as u32;
            if completion.kind != CompletionKind::Receive {
                let held =
                    self.handles.get_mut((place.saturating_sub(RECEIVES)) as usize).and_then(Option::take);
                if let Some(handle) = held {
                    let _ = context.destroy_address_handle(handle);
                    self.free.push(place);
                }
                continue;
            }
            let mut received = None;
            // All of them have one length.
            if completion.status == CompletionStatus::Success && completion.length as usize == PLACE {
                let mut bytes = [0; PLACE];
                let index = usize::from(completion.partition_index);
                let key = endpoint.config().partition_keys.get(index).copied().unwrap_or(PKey::DEFAULT);
                if self.memory.read(place as usize * PLACE, &mut bytes).is_ok()
                    && let Some((area, mad)) = bytes.split_first_chunk()
                    && let Some(mad) = mad.first_chunk()
                    && let Some((local, peer)) = addresses(area)
                {
                    received = Some((Route::new(local, peer, key), *mad));
                }
            }
            self.receive_at(endpoint, context, place);
            if received.is_some() {
                return received;
            }
        }
        None
    }
}

/// Whom a datagram is for, and whom it is from, out of the area in front of it: an IPv6 header, or an IPv4 header in the
/// last twenty bytes.
fn addresses(area: &[u8; AREA]) -> Option<(IpAddr, IpAddr)> {
    if area[0] >> 4 == 6 {
        let source: [u8; 16] = area.get(8..24)?.try_into().ok()?;
        let destination: [u8; 16] = area.get(24..40)?.try_into().ok()?;
        return Some((Ipv6Addr::from(destination).into(), Ipv6Addr::from(source).into()));
    }
    let source: [u8; 4] = area.get(32..36)?.try_into().ok()?;
    let destination: [u8; 4] = area.get(36..40)?.try_into().ok()?;
    Some((Ipv4Addr::from(destination).into(), Ipv4Addr::from(source).into()))
}
