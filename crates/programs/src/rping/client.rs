//! The client: fills the source, tells where it is, and compares the sink with it.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use rdmalab_device::{
    Access, Capabilities, CmEventKind, CompletionKind, CompletionQueue, CompletionStatus,
    ConnectionParameters, Device, EventChannel, MemoryRegion, Operation, PortSpace, ProtectionDomain,
    QueuePair, QueuePairOptions, QueuePairType, ReceiveRequest, SendFlags, SendRequest,
};

use super::advert::{self, Advert};
use super::{Options, SIZES, text};
use crate::calling::{cause_of_end, next_event, patiently, refusal, way};
use crate::connect_error::ConnectError;
use crate::report::Report;

/// Pings a server; `tell` gets the text of each ping that has come back, and says whether to go on.
pub fn connect(
    device: &Device,
    options: &Options,
    mut tell: impl FnMut(&str) -> ControlFlow<()>,
) -> Result<Report, ConnectError> {
    if !SIZES.contains(&options.size) {
        return Err(ConnectError::Options("a ping has 23 to 65535 bytes"));
    }
    let channel = device.event_channel()?;
    let begun = Instant::now();
    let identifier = way(&channel, PortSpace::Tcp, options.source, options.server)?;
    let client = Client::open(device, options, &channel, &identifier)?;
    identifier.connect(&ConnectionParameters::default())?;
    let event =
        next_event(&channel, options.patience, &options.stop, &options.herald, "an answer to the call")?;
    match event.kind {
        CmEventKind::Established { .. } => {}
        kind => {
            return Err(refusal(&kind, options.server).unwrap_or(ConnectError::Unreachable(options.server)));
        }
    }
    let connecting = begun.elapsed();
    let begun = Instant::now();
    let mut done = 0;
    let mut outcome = Ok(ControlFlow::Continue(()));
    while options.count.is_none_or(|count| done < count) && matches!(outcome, Ok(ControlFlow::Continue(()))) {
        outcome = client.ping(done, &mut tell);
        done += u64::from(outcome.is_ok());
    }
    let time = begun.elapsed();
    let _ = identifier.disconnect();
    // The peer should know, whatever came of it; if it does not answer, it is none of ours any more.
    let _ = channel.wait(Some(Duration::from_secs(2)));
    let _ = outcome?;
    Ok(Report { connections: 1, messages: done, size: options.size, connecting, time })
}

const SEND: u64 = 1;
const RECEIVE: u64 = 2;

struct Client<'a> {
    options: &'a Options,
    channel: &'a EventChannel,
    // Dropped in this order: the queue pair before what it uses.
    queue_pair: QueuePair,
    completions: CompletionQueue,
    /// What the server reads, writes, and what SENDs and receives need.
    source: MemoryRegion,
    sink: MemoryRegion,
    messages: MemoryRegion,
    _domain: ProtectionDomain,
}

impl<'a> Client<'a> {
    fn open(
        device: &Device,
        options: &'a Options,
        channel: &'a EventChannel,
        identifier: &rdmalab_device::Identifier,
    ) -> Result<Self, ConnectError> {
        let domain = device.protection_domain()?;
        let size = options.size as usize;
        let source = domain.register(size, Access::LOCAL_WRITE | Access::REMOTE_READ)?;
        let sink = domain.register(size, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
        let messages = domain.register(2 * advert::LENGTH, Access::LOCAL_WRITE)?;
        let completions = device.completion_queue(8)?;
        let capabilities = Capabilities {
            max_send_requests: 2,
            max_receive_requests: 2,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: advert::LENGTH as u32,
        };
        let usual = QueuePairOptions::new(QueuePairType::Rc, &completions);
        let queue_pair = identifier.queue_pair(&domain, &QueuePairOptions { capabilities, ..usual })?;
        let client =
            Self { options, channel, queue_pair, completions, source, sink, messages, _domain: domain };
        client.receive()?;
        Ok(client)
    }

    fn receive(&self) -> Result<(), ConnectError> {
        let elements = [self.messages.element(0, advert::LENGTH as u32)];
        self.queue_pair.post_receive(&ReceiveRequest { id: RECEIVE, elements: &elements })?;
        Ok(())
    }

    fn ping(
        &self,
        ping: u64,
        tell: &mut impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ConnectError> {
        let size = self.options.size as usize;
        let (mut sent, mut back) = (vec![0; size], vec![0; size]);
        text::fill(ping, &mut sent);
        // The regions are as long as a ping.
        let _ = self.source.write(0, &sent);
        self.turn(ping, &self.source, "go-ahead after the READ")?;
        self.turn(ping, &self.sink, "word that the WRITE is done")?;
        let _ = self.sink.read(0, &mut back);
        if self.options.validate {
            let mut pairs = back.iter().zip(&sent).enumerate();
            if let Some((offset, (&found, &expected))) = pairs.find(|(_, (back, sent))| back != sent) {
                return Err(ConnectError::Data { message: ping, offset, found, expected });
            }
        }
        Ok(tell(&text::shown(&back)))
    }

    /// Tells the server where a region is, and waits for its word.
    fn turn(&self, ping: u64, region: &MemoryRegion, what: &'static str) -> Result<(), ConnectError> {
        let advert = Advert { remote: region.remote(0), length: self.options.size };
        self.queue_pair.post_send(&SendRequest {
            id: SEND,
            operation: Operation::Send,
            inline: Some(&advert.encode()),
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        })?;
        let (mut sent, mut answered) = (false, false);
        while !(sent && answered) {
            let wait = |patience| self.completions.wait(Some(patience));
            let completion =
                patiently(self.options.patience, &self.options.stop, &self.options.herald, what, wait)?;
            if completion.status != CompletionStatus::Success {
                return Err(self.failure(ping, completion.id, completion.status));
            }
            if completion.kind == CompletionKind::Receive {
                if completion.length != advert::LENGTH as u32 {
                    let (found, expected) = (completion.length, advert::LENGTH as u32);
                    return Err(ConnectError::Length { message: ping, found, expected });
                }
                answered = true;
                self.receive()?;
            } else {
                sent = true;
            }
        }
        Ok(())
    }

    /// Why a request failed: for want of a connection, if that has ended.
    fn failure(&self, ping: u64, id: u64, status: CompletionStatus) -> ConnectError {
        match cause_of_end(self.channel) {
            Some(cause) => ConnectError::Disconnected { done: ping, of: self.options.count, cause },
            None => {
                let request = if id == SEND { "send" } else { "receive" };
                ConnectError::Failed { message: ping, request, status }
            }
        }
    }
}
