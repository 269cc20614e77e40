//! The server's side of one connection: a state machine that is told what has completed.

use rdmalab_device::{
    Access, Completion, CompletionKind, CompletionStatus, MemoryRegion, Operation, ProtectionDomain,
    QueuePair, ReceiveRequest, SendFlags, SendRequest,
};

use super::WINDOW;
use crate::connect_error::ConnectError;
use crate::serve::{Numbers, Step};

const RECEIVE: u64 = 0;
const SEND: u64 = 1;

/// The server's side of one connection.
pub(crate) struct Answerer {
    numbers: Numbers,
    /// All messages come from, and go into, the same place, as with the real program.
    memory: MemoryRegion,
    messages: u32,
    size: u32,
    posted: u32,
    sent: u32,
    /// Receives posted so far, and messages received.
    expected: u32,
    received: u32,
    /// The client takes no messages.
    is_mute: bool,
}

impl Answerer {
    /// Requests that each queue of a queue pair has room for.
    pub(crate) fn window(messages: u32) -> u32 {
        messages.clamp(1, WINDOW)
    }

    /// A connection that is about to be accepted.
    pub(crate) fn open(
        domain: &ProtectionDomain,
        queue_pair: &QueuePair,
        numbers: Numbers,
        messages: u32,
        size: u32,
    ) -> Result<Self, ConnectError> {
        let memory = domain.register(size as usize, Access::LOCAL_WRITE)?;
        let mut answerer = Self {
            numbers,
            memory,
            messages,
            size,
            posted: 0,
            sent: 0,
            expected: 0,
            received: 0,
            is_mute: false,
        };
        while answerer.expected < messages.min(WINDOW) {
            answerer.receive(queue_pair)?;
        }
        Ok(answerer)
    }

    /// The connection stands.
    pub(crate) fn established(&mut self, queue_pair: &QueuePair) -> Result<Step, ConnectError> {
        while self.posted < self.messages.min(WINDOW) {
            self.send(queue_pair)?;
        }
        Ok(Step { finished: self.messages == 0, ..Step::default() })
    }

    /// Something has completed, with success.
    pub(crate) fn completed(
        &mut self,
        queue_pair: &QueuePair,
        completion: &Completion,
    ) -> Result<Step, ConnectError> {
        let mut step = Step::default();
        if completion.kind == CompletionKind::Receive {
            if completion.length != self.size {
                let (message, found, expected) = (self.received.into(), completion.length, self.size);
                return Err(ConnectError::Length { message, found, expected });
            }
            self.received += 1;
            step = Step { messages: 1, bytes: u64::from(self.size) * 2, ..Step::default() };
            if self.expected < self.messages {
                self.receive(queue_pair)?;
            }
        } else {
            self.sent += 1;
            if self.posted < self.messages {
                self.send(queue_pair)?;
            }
        }
        step.finished = self.sent == self.messages && self.received == self.messages;
        Ok(step)
    }

    /// Whether a failure means that the client, as cmtime, never posts a receive; it ends the connection itself.
    pub(crate) fn takes_nothing(&mut self, status: CompletionStatus) -> bool {
        self.is_mute |= status == CompletionStatus::RnrRetryExceeded && self.sent == 0;
        self.is_mute
    }

    /// Whether a client that goes now has done what it came for.
    pub(crate) fn is_content(&self) -> bool {
        self.received == self.messages || self.received == 0
    }

    /// Whether the client has sent all its messages, which it does when it has got all of ours.
    pub(crate) fn has_all(&self) -> bool {
        self.messages > 0 && self.received == self.messages
    }

    fn receive(&mut self, queue_pair: &QueuePair) -> Result<(), ConnectError> {
        let elements = [self.memory.element(0, self.size)];
        queue_pair.post_receive(&ReceiveRequest { id: self.numbers.number(RECEIVE), elements: &elements })?;
        self.expected += 1;
        Ok(())
    }

    fn send(&mut self, queue_pair: &QueuePair) -> Result<(), ConnectError> {
        queue_pair.post_send(&SendRequest {
            id: self.numbers.number(SEND),
            operation: Operation::Send,
            elements: &[self.memory.element(0, self.size)],
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        })?;
        self.posted += 1;
        Ok(())
    }
}
