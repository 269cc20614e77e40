//! The sending half of unreliable queue pairs, connected (UC) and datagram (UD): packets go out once, and a request is
//! done when its last packet has gone.
//!
//! Nothing is ever sent again and nothing is awaited, so there are no timers. An error of a request stops the queue
//! (the queue pair goes to SQE); requests before it are done, those behind it are flushed.

use rdmalab_verbs::{
    Access, CompletionKind, CompletionStatus, Context, PostError, SendQueue, SendRequest, Target,
};
use rdmalab_wire::{Bth, Deth, NetworkHeader, Psn, QKey, Qpn, Transport};

use crate::outlet::Outlet;
use crate::port::Owner;
use crate::requester::segment::{self, Segment};
use crate::requester::{carry_out, report};
use crate::settings::Settings;
use crate::settings::network_header;

#[derive(Debug)]
pub(crate) struct UnreliableSender {
    queue: SendQueue,
    /// PSN of the next packet.
    psn: Psn,
    /// Packets of the oldest request that have gone.
    sent: u32,
}

impl UnreliableSender {
    pub(crate) fn new(requests: u32, elements: u32, inline: u32) -> Self {
        Self { queue: SendQueue::new(requests, elements, inline), psn: Psn::default(), sent: 0 }
    }

    /// Makes it ready to send from a PSN on.
    pub(crate) fn start(&mut self, psn: Psn) {
        self.psn = psn;
    }

    /// Forgets everything, without completions.
    pub(crate) fn reset(&mut self) {
        while self.queue.pop().is_some() {}
        self.sent = 0;
    }

    pub(crate) fn post(&mut self, request: &SendRequest<'_>, limit: u32) -> Result<(), PostError> {
        self.queue.push(request, limit)
    }

    /// Whether no message is half sent.
    pub(crate) fn is_drained(&self) -> bool {
        self.sent == 0
    }

    /// Whether no request is left.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a packet could go out now. `starts` says whether new requests may be begun.
    pub(crate) fn may_send(&self, starts: bool) -> bool {
        self.sent > 0 || (starts && !self.queue.is_empty())
    }

    /// Sends the next packet; [`may_send`](Self::may_send) said that it may go. An error is that of the oldest request.
    pub(crate) fn send(
        &mut self,
        context: &mut Context,
        owner: &mut Owner<'_>,
        outlet: &mut Outlet<'_>,
    ) -> Result<(), CompletionStatus> {
        let Some((work, elements)) = self.queue.get(0) else { return Ok(()) };
        if work.operation.is_local() {
            carry_out(&work.operation, context, owner)?;
            self.end(context, owner.number, owner.settings, CompletionStatus::Success);
            return Ok(());
        }
        let settings = owner.settings;
        if self.sent == 0 {
            // Of a message that cannot be sent whole, nothing is.
            context
                .check_local(settings.protection_domain, elements, Access::empty())
                .map_err(|_| CompletionStatus::LocalProtectionError)?;
        }
        let is_send = work.operation.completion_kind() == CompletionKind::Send;
        let packets = segment::packets(work, settings.mtu);
        let segment = segment::segment(work, settings.mtu, self.sent, packets);
        match work.target {
            Target::Datagram { path, queue_pair, queue_key } => {
                let handle = context
                    .address_handle(path)
                    .filter(|handle| handle.protection_domain == settings.protection_domain)
                    .ok_or(CompletionStatus::LocalQueuePairOperationError)?;
                let network = network_header(&handle.path, owner.number, queue_pair, owner.port)
                    .ok_or(CompletionStatus::LocalQueuePairOperationError)?;
                let deth = Deth {
                    queue_key: effective_key(queue_key, settings.queue_key),
                    reserved: 0,
                    source: owner.number,
                };
                let ack_request = owner.port.profile.management_asks && owner.number == Qpn::GSI;
                let bth = Bth { destination: queue_pair, ack_request, ..owner.bth(self.psn) };
                let transport = Transport::Ud(deth);
                self.send_packet(context, settings, outlet, Some(&network), &transport, &bth, &segment)?;
            }
            _ => {
                let bth = owner.bth(self.psn);
                self.send_packet(context, settings, outlet, None, &Transport::Uc, &bth, &segment)?;
            }
        }
        self.psn = self.psn.next();
        self.sent += 1;
        if segment.last {
            owner.counters.rdma_sends += u64::from(is_send);
            self.end(context, owner.number, settings, CompletionStatus::Success);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn send_packet(
        &self,
        context: &Context,
        settings: &Settings,
        outlet: &mut Outlet<'_>,
        network: Option<&NetworkHeader>,
        transport: &Transport,
        bth: &Bth,
        segment: &Segment,
    ) -> Result<(), CompletionStatus> {
        let Some((work, elements)) = self.queue.get(0) else { return Ok(()) };
        let inline = if work.inline { self.queue.inline(0) } else { None };
        let bth = Bth { solicited: segment.solicited, ..*bth };
        let Some(network) = network.or(outlet.network) else { return Ok(()) };
        outlet
            .send_through(network, transport, &bth, &segment.body, segment.payload, |data| {
                segment::fill(work, elements, inline, segment.offset, data, context, settings)
            })
            .map_err(|_| CompletionStatus::LocalProtectionError)
    }

    /// Ends the oldest request.
    fn end(&mut self, context: &mut Context, number: Qpn, settings: &Settings, status: CompletionStatus) {
        self.sent = 0;
        if let Some((work, _)) = self.queue.get(0) {
            report(context, work, number, settings, status);
            self.queue.pop();
        }
    }

    /// Ends the oldest request with a status, and all others as flushed.
    pub(crate) fn fail(
        &mut self,
        context: &mut Context,
        number: Qpn,
        settings: &Settings,
        status: CompletionStatus,
    ) {
        self.end(context, number, settings, status);
        self.flush(context, number, settings);
    }

    /// Ends all requests as flushed.
    pub(crate) fn flush(&mut self, context: &mut Context, number: Qpn, settings: &Settings) {
        while !self.queue.is_empty() {
            self.end(context, number, settings, CompletionStatus::WorkRequestFlushed);
        }
    }
}

/// A request whose queue key has its highest bit set takes the queue pair's own: that is how privileged keys are used.
fn effective_key(requested: QKey, own: QKey) -> QKey {
    if requested.value() & 0x8000_0000 != 0 { own } else { requested }
}
