//! A queue pair: what an application posts to, before there is a connection, while it stands, and behind its end.
//!
//! * `post` takes work, `receive` takes the stream apart, `transmit` puts it together, `ending` knows all ways to the end.
//! * [`QueuePair::next`] says what could be sent now, and feeds both sending and [`has_work`](QueuePair::has_work).
//!
//! It knows no clock. How long the peer may take to close its direction behind ours is for the owner of the stream to say.

mod ending;
mod post;
mod receive;
mod transmit;

use rdmalab_verbs::{Context, ModifyError, SendQueue, State};
use rdmalab_wire::Qpn;
use rdmalab_wire::iwarp::{Framer, Framing};

use crate::config::{CreateError, Identity, QueuePairConfig, StreamSettings};
use crate::event::{Event, Events};
use crate::inbound::Inbound;
use crate::negotiated::{Negotiated, ReadyToReceive, Role};
use crate::outlet::Outlet;
use crate::receives::Receives;
use crate::requester::Requester;
use crate::responder::Responder;
use crate::settings::Settings;
use crate::terminate::Outgoing;
use receive::Arrival;

/// An iWARP queue pair, sans-IO.
///
/// ```
/// use std::sync::Arc;
///
/// use rdmalab_iwarp::{Identity, Negotiated, QueuePair, QueuePairConfig, Role, StreamSettings};
/// use rdmalab_verbs::{
///     Access, Capabilities, Context, HeapMemory, Memory, Operation, RemoteAddress, SendFlags, SendRequest,
/// };
/// use rdmalab_wire::{Qpn, RKey};
///
/// // Two ends, each with a context of its own; what joins them is two rows of bytes.
/// let [mut near, mut far] = [Role::Initiator, Role::Responder].map(|role| {
///     let mut context = Context::default();
///     let domain = context.allocate_protection_domain().unwrap();
///     let completions = context.create_completion_queue(16).unwrap();
///     let config = QueuePairConfig::new(domain, completions, Capabilities { max_inline: 16, ..Default::default() });
///     let identity = Identity { number: Qpn::new(1), accessor: 1 };
///     let mut queue_pair = QueuePair::new(&mut context, identity, &config).unwrap();
///     // What the start-up has settled.
///     let negotiated = Negotiated {
///         role,
///         revision: 2,
///         crc: true,
///         send_markers: false,
///         receive_markers: false,
///         ird: 4,
///         ord: 4,
///         ready_to_receive: None,
///     };
///     queue_pair.establish(&context, &negotiated, &StreamSettings::new(1460)).unwrap();
///     (context, domain, completions, queue_pair)
/// });
///
/// let memory = Arc::new(HeapMemory::new(64));
/// let access = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
/// let key = far.0.register(far.1, 0x1000, memory.clone(), access).unwrap();
///
/// let remote = RemoteAddress { address: 0x1010, key: RKey::new(key) };
/// let write = SendRequest {
///     id: 7,
///     operation: Operation::RdmaWrite(remote),
///     inline: Some(b"hello"),
///     flags: SendFlags::SIGNALED,
///     ..SendRequest::default()
/// };
/// near.3.post_send(&mut near.0, &write).unwrap();
///
/// let mut fpdu = vec![0; near.3.max_fpdu()];
/// let length = near.3.poll_transmit(&mut near.0, &mut fpdu);
/// for piece in fpdu[..length].chunks(10) {
///     far.3.handle_bytes(&mut far.0, piece);
/// }
///
/// let mut found = [0; 5];
/// memory.read(0x10, &mut found).unwrap();
/// assert_eq!(&found, b"hello");
/// assert_eq!(near.0.poll_completion(near.2).unwrap().id, 7);
/// ```
///
/// States: INIT from the start (receives may be posted), RTS by [`establish`](Self::establish), SQD while a
/// [`disconnect`](Self::disconnect) goes on, ERR at the end. It never comes back from there.
#[derive(Debug)]
pub struct QueuePair {
    settings: Settings,
    state: State,
    /// Both sides use CRCs.
    crc: bool,
    rfc7306: bool,
    swapped_terminates: bool,
    /// The initiator's first FPDU is awaited, before which we send none (RFC 5044 §7.1.2, RFC 6581 §9.2).
    held_back: bool,
    /// It may be one without a ULPDU (RFC 6581 §9.2).
    expects_empty: bool,
    /// Whether a request goes first when an answer could, too, so that neither starves.
    request_first: bool,
    /// The peer's direction of the stream has ended in order.
    peer_ended: bool,
    /// Of the context, when we looked last.
    overruns: u64,
    requester: Requester,
    responder: Responder,
    inbound: Inbound,
    outlet: Outlet,
    framer: Framer,
    arrival: Arrival,
    terminate: Option<Outgoing>,
    events: Events,
}

impl QueuePair {
    /// Makes a queue pair, which keeps what it uses of the context.
    pub fn new(
        context: &mut Context,
        identity: Identity,
        config: &QueuePairConfig,
    ) -> Result<Self, CreateError> {
        config.check()?;
        context.attach(&config.attachment()).map_err(|_| CreateError::NoSuchObject)?;
        let capabilities = config.capabilities;
        let queue = SendQueue::new(
            capabilities.max_send_requests,
            capabilities.max_send_elements,
            capabilities.max_inline,
        );
        let receives = Receives::new(
            capabilities.max_receive_requests,
            capabilities.max_receive_elements,
            config.shared_receive_queue.is_some(),
        );
        Ok(Self {
            settings: Settings::new(identity, config),
            state: State::Init,
            crc: false,
            rfc7306: true,
            swapped_terminates: false,
            held_back: false,
            expects_empty: false,
            request_first: false,
            peer_ended: false,
            overruns: context.overruns(),
            requester: Requester::new(queue),
            responder: Responder::default(),
            inbound: Inbound::new(receives),
            outlet: Outlet::new(Framing::default(), 0),
            framer: Framer::new(Framing::default()),
            arrival: Arrival::default(),
            terminate: None,
            events: Events::default(),
        })
    }

    /// Ends it, without completions for what is queued.
    pub fn destroy(self, context: &mut Context) {
        context.detach(&self.settings.attachment());
    }

    /// Connects it to a stream whose start-up is done: from INIT to RTS. The next byte in each direction is the first behind
    /// the start-up frame.
    pub fn establish(
        &mut self,
        context: &Context,
        negotiated: &Negotiated,
        stream: &StreamSettings,
    ) -> Result<(), ModifyError> {
        if self.state != State::Init {
            return Err(ModifyError::NoSuchTransition { from: self.state, to: State::Rts });
        }
        if self.settings.has_overrun(context) {
            return Err(ModifyError::CompletionQueueOverrun);
        }
        let Negotiated { role, crc, send_markers, receive_markers, ready_to_receive, .. } = *negotiated;
        self.crc = crc;
        self.rfc7306 = stream.rfc7306;
        self.swapped_terminates = stream.swapped_terminates;
        let awaits_initiator = stream.waits_for_initiator || ready_to_receive.is_some();
        self.held_back = role == Role::Responder && awaits_initiator;
        self.expects_empty = self.held_back && ready_to_receive == Some(ReadyToReceive::Empty);
        self.outlet = Outlet::new(Framing { markers: send_markers, crc }, stream.segment_size);
        self.framer = Framer::new(Framing { markers: receive_markers, crc });
        self.requester.start(negotiated, stream.rfc7306);
        self.responder.start(negotiated);
        self.state = State::Rts;
        Ok(())
    }

    /// Its number, as in completions.
    pub fn number(&self) -> Qpn {
        self.settings.number
    }

    /// Its state, in the verbs' terms.
    pub fn state(&self) -> State {
        self.state
    }

    /// Takes the oldest event out.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// Bytes of a buffer that is always large enough for [`poll_transmit`](Self::poll_transmit). Known when the connection
    /// is [established](Self::establish).
    pub fn max_fpdu(&self) -> usize {
        self.outlet.max_fpdu()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_queue_pair_is_small() {
        assert!(size_of::<QueuePair>() <= 2048, "{}", size_of::<QueuePair>());
    }
}
