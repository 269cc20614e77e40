//! The two halves of a queue pair, by transport service.

use rdmalab_verbs::{CompletionStatus, Context, PostError, QueuePairType, ReceiveRequest, SendRequest};
use rdmalab_wire::{Psn, Qpn};

use crate::config::{EndpointConfig, QueuePairConfig};
use crate::counters::Served;
use crate::datagram_receiver::DatagramReceiver;
use crate::outlet::Outlet;
use crate::port::Owner;
use crate::receives::Receives;
use crate::requester::{Failure, Requester};
use crate::responder::{Broken, Responder};
use crate::settings::Settings;
use crate::unreliable_receiver::UnreliableReceiver;
use crate::unreliable_sender::UnreliableSender;

/// What turns work requests into packets.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // RC, the usual one, is the largest
pub(crate) enum SendHalf {
    Reliable(Requester),
    Unreliable(UnreliableSender),
    /// An XRC target has none.
    None,
}

impl SendHalf {
    pub(crate) fn new(config: &QueuePairConfig) -> Self {
        let capabilities = config.capabilities;
        let (requests, elements, inline) =
            (capabilities.max_send_requests, capabilities.max_send_elements, capabilities.max_inline);
        match config.kind {
            QueuePairType::Rc | QueuePairType::XrcInitiator => {
                Self::Reliable(Requester::new(requests, elements, inline))
            }
            QueuePairType::Uc | QueuePairType::Ud => {
                Self::Unreliable(UnreliableSender::new(requests, elements, inline))
            }
            QueuePairType::XrcTarget => Self::None,
        }
    }

    pub(crate) fn start(&mut self, psn: Psn, settings: &Settings, port: &EndpointConfig) {
        match self {
            Self::Reliable(requester) => requester.start(psn, settings, port),
            Self::Unreliable(sender) => sender.start(psn),
            Self::None => {}
        }
    }

    /// Follows a change of the retry counts.
    pub(crate) fn set_budgets(&mut self, settings: &Settings) {
        if let Self::Reliable(requester) = self {
            requester.set_budgets(settings);
        }
    }

    pub(crate) fn reset(&mut self) {
        match self {
            Self::Reliable(requester) => requester.reset(),
            Self::Unreliable(sender) => sender.reset(),
            Self::None => {}
        }
    }

    pub(crate) fn post(&mut self, request: &SendRequest<'_>, settings: &Settings) -> Result<(), PostError> {
        match self {
            Self::Reliable(requester) => requester.post(request, settings),
            Self::Unreliable(sender) => sender.post(request, settings.longest_unreliable()),
            Self::None => {
                Err(PostError::NotSupported { operation: request.operation.name(), kind: settings.kind })
            }
        }
    }

    pub(crate) fn is_drained(&self) -> bool {
        match self {
            Self::Reliable(requester) => requester.is_drained(),
            Self::Unreliable(sender) => sender.is_drained(),
            Self::None => true,
        }
    }

    /// Whether it has nothing to send, to await or to complete.
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::Reliable(requester) => requester.is_idle(),
            Self::Unreliable(sender) => sender.is_idle(),
            Self::None => true,
        }
    }

    pub(crate) fn may_send(&self, settings: &Settings, port: &EndpointConfig, starts: bool) -> bool {
        match self {
            Self::Reliable(requester) => requester.may_send(settings, port, starts),
            Self::Unreliable(sender) => sender.may_send(starts),
            Self::None => false,
        }
    }

    pub(crate) fn touch(&self) {
        if let Self::Reliable(requester) = self {
            requester.touch();
        }
    }

    pub(crate) fn touch_queues(&self) {
        if let Self::Reliable(requester) = self {
            requester.touch_queues();
        }
    }

    pub(crate) fn send(
        &mut self,
        context: &mut Context,
        now: u64,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Failure> {
        match self {
            Self::Reliable(requester) => requester.send(context, now, owner, outlet),
            Self::Unreliable(sender) => sender.send(context, owner, outlet).map_err(Failure),
            Self::None => Ok(()),
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        match self {
            Self::Reliable(requester) => requester.next_timeout(),
            Self::Unreliable(_) | Self::None => None,
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: u64, owner: &mut Owner<'_>) -> Result<(), Failure> {
        match self {
            Self::Reliable(requester) => requester.handle_timeout(now, owner),
            Self::Unreliable(_) | Self::None => Ok(()),
        }
    }

    pub(crate) fn fail(
        &mut self,
        context: &mut Context,
        number: Qpn,
        settings: &Settings,
        status: CompletionStatus,
    ) {
        match self {
            Self::Reliable(requester) => requester.fail(context, number, settings, status),
            Self::Unreliable(sender) => sender.fail(context, number, settings, status),
            Self::None => {}
        }
    }

    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        match self {
            Self::Reliable(requester) => requester.flush(context, number, settings),
            Self::Unreliable(sender) => sender.flush(context, number, settings),
            Self::None => {}
        }
    }
}

/// What takes packets of the peer's requests.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // as above
pub(crate) enum ReceiveHalf {
    Reliable(Responder),
    Unreliable(UnreliableReceiver),
    Datagram(DatagramReceiver),
    /// An XRC initiator has none.
    None,
}

impl ReceiveHalf {
    pub(crate) fn new(config: &QueuePairConfig) -> Self {
        let capabilities = config.capabilities;
        let is_shared = config.shared_receive_queue.is_some() || config.kind == QueuePairType::XrcTarget;
        let receives =
            || Receives::new(capabilities.max_receive_requests, capabilities.max_receive_elements, is_shared);
        match config.kind {
            QueuePairType::Rc | QueuePairType::XrcTarget => Self::Reliable(Responder::new(receives())),
            QueuePairType::Uc => Self::Unreliable(UnreliableReceiver::new(receives())),
            QueuePairType::Ud => Self::Datagram(DatagramReceiver::new(receives())),
            QueuePairType::XrcInitiator => Self::None,
        }
    }

    pub(crate) fn start(&mut self, psn: Psn, settings: &Settings) {
        match self {
            Self::Reliable(responder) => responder.start(psn, settings),
            Self::Unreliable(receiver) => receiver.start(psn),
            Self::Datagram(_) | Self::None => {}
        }
    }

    /// Follows a change of how many READs and atomics are remembered.
    pub(crate) fn resize(&mut self, settings: &Settings) {
        if let Self::Reliable(responder) = self {
            responder.resize(settings);
        }
    }

    pub(crate) fn reset(&mut self) {
        match self {
            Self::Reliable(responder) => responder.reset(),
            Self::Unreliable(receiver) => receiver.reset(),
            Self::Datagram(receiver) => receiver.reset(),
            Self::None => {}
        }
    }

    /// Posts a receive; `tells` says whether the queue pair may send an acknowledgement for it, with credits.
    pub(crate) fn post(
        &mut self,
        request: &ReceiveRequest<'_>,
        settings: &Settings,
        tells: bool,
    ) -> Result<(), PostError> {
        match self {
            Self::Reliable(responder) => responder.post(request, tells),
            Self::Unreliable(receiver) => receiver.post(request),
            Self::Datagram(receiver) => receiver.post(request),
            Self::None => Err(PostError::NotSupported { operation: "receive", kind: settings.kind }),
        }
    }

    pub(crate) fn served(&self) -> Served {
        match self {
            Self::Reliable(responder) => responder.served(),
            Self::Unreliable(receiver) => receiver.served(),
            Self::Datagram(receiver) => receiver.served,
            Self::None => Served::default(),
        }
    }

    pub(crate) fn forget_replies(&mut self) {
        if let Self::Reliable(responder) = self {
            responder.forget_replies();
        }
    }

    pub(crate) fn keep_last_words(&mut self) {
        if let Self::Reliable(responder) = self {
            responder.keep_last_words();
        }
    }

    pub(crate) fn may_send(&self) -> bool {
        matches!(self, Self::Reliable(responder) if responder.may_send())
    }

    pub(crate) fn sends_data(&self) -> bool {
        matches!(self, Self::Reliable(responder) if responder.sends_data())
    }

    pub(crate) fn touch(&self) {
        if let Self::Reliable(responder) = self {
            responder.touch();
        }
    }

    pub(crate) fn touch_queues(&self) {
        if let Self::Reliable(responder) = self {
            responder.touch_queues();
        }
    }

    pub(crate) fn send(
        &mut self,
        context: &Context,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), Broken> {
        match self {
            Self::Reliable(responder) => responder.send(context, owner, outlet),
            Self::Unreliable(_) | Self::Datagram(_) | Self::None => Ok(()),
        }
    }

    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        match self {
            Self::Reliable(responder) => responder.flush(context, number, settings),
            Self::Unreliable(receiver) => receiver.flush(context, number, settings),
            Self::Datagram(receiver) => receiver.flush(context, number, settings),
            Self::None => {}
        }
    }
}
