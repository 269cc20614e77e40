//! A queue pair of a live device.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdmalab_net::MonotonicClock;
use rdmalab_roce::{QueuePairConfig, Served};
use rdmalab_verbs::{
    Attributes, Capabilities, ModifyError, PostError, QueuePairType, ReceiveRequest, SendRequest, State,
};
use rdmalab_wire::Qpn;

use super::completion_queue::CompletionQueue;
use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;
use super::shared_receive_queue::SharedReceiveQueue;
use super::sleepers::Awaited;
use super::xrc_domain::XrcDomain;
use super::{Inner, Shared};
use crate::port::Port;

/// How long a queue pair that is dropped waits until its last answers have gone.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// What a queue pair of a live device is made with.
#[derive(Clone, Copy)]
pub struct QueuePairOptions<'a> {
    /// Its transport service.
    pub kind: QueuePairType,
    /// Gets the completions of send requests.
    pub send: &'a CompletionQueue,
    /// Gets the completions of receives; may be the same.
    pub receive: &'a CompletionQueue,
    /// Its sizes.
    pub capabilities: Capabilities,
    /// Where receives come from, instead of a queue of its own. Not for XRC, where each packet names one.
    pub shared_receive_queue: Option<&'a SharedReceiveQueue>,
    /// The domain whose shared receive queues an XRC target's peers may name; for XRC targets only, and for all of them.
    pub xrc_domain: Option<&'a XrcDomain>,
    /// Every send request is reported, whether it asks for it or not.
    pub signals_all: bool,
}

impl<'a> QueuePairOptions<'a> {
    /// With one completion queue for both directions, the usual sizes and nothing shared.
    pub fn new(kind: QueuePairType, completions: &'a CompletionQueue) -> Self {
        Self {
            kind,
            send: completions,
            receive: completions,
            capabilities: Capabilities::default(),
            shared_receive_queue: None,
            xrc_domain: None,
            signals_all: false,
        }
    }
}

/// A queue pair of any kind. Dropping it destroys it: what is queued vanishes, its packets are dropped, and it leaves its
/// multicast groups. Windows of type 2 that it bound give access to nobody any more.
pub struct QueuePair {
    shared: Arc<Shared>,
    number: Qpn,
    /// The multicast groups that the host joined for it.
    groups: Mutex<Vec<IpAddr>>,
}

impl QueuePair {
    pub(super) fn new(
        domain: &ProtectionDomain,
        options: &QueuePairOptions<'_>,
    ) -> Result<Self, DeviceError> {
        let config = Self::config(domain, options)?;
        let number = domain.shared.lock().port().create_queue_pair(&config)?;
        Ok(Self::of(&domain.shared, number))
    }

    /// A handle for a queue pair that was made.
    pub(super) fn of(shared: &Arc<Shared>, number: Qpn) -> Self {
        Self { shared: Arc::clone(shared), number, groups: Mutex::default() }
    }

    /// What the transport makes a queue pair with.
    pub(super) fn config(
        domain: &ProtectionDomain,
        options: &QueuePairOptions<'_>,
    ) -> Result<QueuePairConfig, DeviceError> {
        let shared = &domain.shared;
        options.send.belongs_to(shared)?;
        options.receive.belongs_to(shared)?;
        options.shared_receive_queue.map_or(Ok(()), |queue| queue.belongs_to(shared))?;
        options.xrc_domain.map_or(Ok(()), |domain| domain.belongs_to(shared))?;
        Ok(QueuePairConfig {
            receive_queue: options.receive.id(),
            shared_receive_queue: options.shared_receive_queue.map(SharedReceiveQueue::id),
            xrc_domain: options.xrc_domain.map(XrcDomain::id),
            signals_all: options.signals_all,
            ..QueuePairConfig::new(options.kind, domain.id, options.send.id(), options.capabilities)
        })
    }

    /// Its number.
    pub fn number(&self) -> Qpn {
        self.number
    }

    /// Its state.
    pub fn state(&self) -> Option<State> {
        self.shared.lock().port().state(self.number)
    }

    /// What its peer's requests came to since it was made: WRITEs that landed and READs that were answered too, of which no
    /// completion tells. Not counted over iWARP.
    pub fn served(&self) -> Option<Served> {
        self.meter().read()
    }

    /// Reads [`served`](Self::served) elsewhere.
    pub fn meter(&self) -> Meter {
        Meter { shared: Arc::clone(&self.shared), number: self.number }
    }

    /// Changes its state or attributes.
    pub fn modify(&self, attributes: &Attributes) -> Result<(), ModifyError> {
        self.shared.with(|port| port.modify(self.number, attributes))
    }

    /// Attaches a UD queue pair to a multicast group: it gets the datagrams that are sent to the group. The emulated host
    /// joins the group and tells the link so (IGMPv3, MLDv2); over a UDP socket nobody does.
    pub fn attach_multicast(&self, group: IpAddr) -> Result<(), DeviceError> {
        let mut inner = self.shared.lock();
        inner.port().endpoint.attach_multicast(self.number, group)?;
        if let Some(host) = inner.node.host()
            && let Err(error) = host.join(MonotonicClock::now(), group)
        {
            // It was attached just now.
            let _ = inner.port().endpoint.detach_multicast(self.number, group);
            return Err(error.into());
        }
        self.groups().push(group);
        drop(inner);
        self.shared.waker.wake();
        Ok(())
    }

    /// Detaches a UD queue pair from a multicast group, which the emulated host leaves unless others are attached to it.
    pub fn detach_multicast(&self, group: IpAddr) -> Result<(), DeviceError> {
        let mut inner = self.shared.lock();
        inner.port().endpoint.detach_multicast(self.number, group)?;
        let mut groups = self.groups();
        if let Some(place) = groups.iter().position(|joined| *joined == group) {
            groups.swap_remove(place);
            if let Some(host) = inner.node.host() {
                host.leave(MonotonicClock::now(), group)?;
            }
        }
        drop((inner, groups));
        self.shared.waker.wake();
        Ok(())
    }

    fn groups(&self) -> MutexGuard<'_, Vec<IpAddr>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Posts a send request. The elements are copied; their memory is read when the packets are built. Inline data is
    /// copied, too.
    pub fn post_send(&self, request: &SendRequest<'_>) -> Result<(), PostError> {
        self.shared.with(|port| port.post_send(self.number, request))
    }

    /// Posts send requests in their order, as [`post_send`](Self::post_send) does with one, for the price of one.
    ///
    /// # Errors
    /// At the first that is refused, which is named; those in front of it are posted, those behind it are not
    /// (`ibv_post_send`).
    pub fn post_send_list(&self, requests: &[SendRequest<'_>]) -> Result<(), RefusedRequest> {
        self.shared.with(|port| each(requests, |request| port.post_send(self.number, request)))
    }

    /// Posts receives in their order; see [`post_send_list`](Self::post_send_list).
    ///
    /// # Errors
    /// At the first that is refused.
    pub fn post_receive_list(&self, requests: &[ReceiveRequest<'_>]) -> Result<(), RefusedRequest> {
        let mut inner = self.shared.lock();
        let posted = each(requests, |request| inner.port().post_receive(self.number, request));
        let wakes = has_consequences(&mut inner, self.number);
        drop(inner);
        if wakes {
            self.shared.waker.wake();
        }
        posted
    }

    /// Posts a receive, unless receives come from a shared receive queue.
    pub fn post_receive(&self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        let mut inner = self.shared.lock();
        let posted = inner.port().post_receive(self.number, request);
        let wakes = has_consequences(&mut inner, self.number);
        drop(inner);
        if wakes {
            self.shared.waker.wake();
        }
        posted
    }
}

/// Reads what a queue pair has served so far, from any thread. It does not keep the queue pair.
#[derive(Clone)]
pub struct Meter {
    shared: Arc<Shared>,
    number: Qpn,
}

impl Meter {
    /// What [`QueuePair::served`] says; nothing once the queue pair is gone.
    pub fn read(&self) -> Option<Served> {
        self.shared.lock().port().served(self.number)
    }
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Meter").field(&self.number).finish()
    }
}

/// Which request of a list was refused, and why. Those in front of it were posted (`bad_wr` of the verbs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("request {index} of the list was refused: {reason}")]
pub struct RefusedRequest {
    /// Its place, from 0.
    pub index: usize,
    /// Why.
    #[source]
    pub reason: PostError,
}

/// Posts one after the other, until one is refused.
pub(super) fn each<R>(
    requests: &[R],
    mut post: impl FnMut(&R) -> Result<(), PostError>,
) -> Result<(), RefusedRequest> {
    for (index, request) in requests.iter().enumerate() {
        post(request).map_err(|reason| RefusedRequest { index, reason })?;
    }
    Ok(())
}

/// Whether somebody is to hear of a receive at once: a peer that had run out of credits, or who waits for completions,
/// since one that is posted in the error state completes.
fn has_consequences(inner: &mut Inner, number: Qpn) -> bool {
    let port = inner.port();
    port.endpoint.has_packets() || port.state(number) == Some(State::Err)
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // What it has carried out should still be answered, should the link be slow to take that.
        let said = |port: &mut Port| (!port.endpoint.owes_answers(self.number)).then_some(());
        let _ = self.shared.wait(Awaited::Turn, Some(LAST_WORDS), said);
        let mut inner = self.shared.lock();
        let _ = inner.port().destroy_queue_pair(self.number);
        let Some(host) = inner.node.host() else { return };
        let groups = std::mem::take(&mut *self.groups());
        for group in &groups {
            let _ = host.leave(MonotonicClock::now(), *group);
        }
        drop(inner);
        if !groups.is_empty() {
            self.shared.waker.wake();
        }
    }
}
