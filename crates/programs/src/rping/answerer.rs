//! The server's side of one connection: a state machine that is told what has completed.

use rdmalab_device::{
    Access, Completion, CompletionKind, MemoryRegion, Operation, ProtectionDomain, QueuePair, ReceiveRequest,
    SendFlags, SendRequest,
};

use super::advert::{self, Advert};
use super::{SIZES, text};
use crate::connect_error::ConnectError;
use crate::serve::Numbers;
use crate::serve::Step;

/// Receives that are kept posted, each with its place.
const RECEIVES: u32 = 2;
/// Numbers of requests, behind those of receives.
const SEND: u64 = 100;
const MOVE: u64 = 101;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Where the source is, is not known.
    AwaitsSource,
    Reading,
    /// Where the sink is, is not known.
    AwaitsSink,
    Writing,
}

/// The server's side of one connection.
pub(crate) struct Answerer {
    numbers: Numbers,
    state: State,
    messages: MemoryRegion,
    /// What was read and will be written, as large as the largest ping so far.
    data: Option<MemoryRegion>,
    size: u32,
    pings: u64,
}

impl Answerer {
    /// Requests that a queue pair has room for.
    pub(crate) const SENDS: u32 = 4;
    /// Receives that a queue pair has room for.
    pub(crate) const RECEIVES: u32 = RECEIVES;

    /// A connection that is about to be accepted.
    pub(crate) fn open(
        domain: &ProtectionDomain,
        queue_pair: &QueuePair,
        numbers: Numbers,
    ) -> Result<Self, ConnectError> {
        let messages = domain.register(advert::LENGTH * RECEIVES as usize, Access::LOCAL_WRITE)?;
        let answerer = Self { numbers, state: State::AwaitsSource, messages, data: None, size: 0, pings: 0 };
        for place in 0..RECEIVES {
            answerer.receive(queue_pair, place.into())?;
        }
        Ok(answerer)
    }

    fn receive(&self, queue_pair: &QueuePair, place: u64) -> Result<(), ConnectError> {
        let elements = [self.messages.element(place * advert::LENGTH as u64, advert::LENGTH as u32)];
        queue_pair.post_receive(&ReceiveRequest { id: self.numbers.number(place), elements: &elements })?;
        Ok(())
    }

    /// Something has completed, with success.
    pub(crate) fn completed(
        &mut self,
        domain: &ProtectionDomain,
        queue_pair: &QueuePair,
        completion: &Completion,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Step, ConnectError> {
        let place = Numbers::place(completion.id);
        if completion.kind == CompletionKind::Receive {
            if completion.length != advert::LENGTH as u32 {
                let (message, found, expected) = (self.pings, completion.length, advert::LENGTH as u32);
                return Err(ConnectError::Length { message, found, expected });
            }
            let mut bytes = [0; advert::LENGTH];
            // The receive's own place.
            let _ = self.messages.read(place as usize * advert::LENGTH, &mut bytes);
            self.receive(queue_pair, place)?;
            self.advertised(domain, queue_pair, &Advert::decode(&bytes))?;
            return Ok(Step::default());
        }
        if place != MOVE {
            return Ok(Step::default());
        }
        match self.state {
            State::Reading => {
                self.check(tell)?;
                self.state = State::AwaitsSink;
                self.say(queue_pair)?;
                Ok(Step::default())
            }
            State::Writing => {
                self.state = State::AwaitsSource;
                self.pings += 1;
                self.say(queue_pair)?;
                Ok(Step { messages: 1, bytes: u64::from(self.size) * 2, ..Step::default() })
            }
            State::AwaitsSource | State::AwaitsSink => Ok(Step::default()),
        }
    }

    /// Whether a client that goes now leaves nothing half done.
    pub(crate) fn is_between_pings(&self) -> bool {
        self.state == State::AwaitsSource
    }

    fn advertised(
        &mut self,
        domain: &ProtectionDomain,
        queue_pair: &QueuePair,
        advert: &Advert,
    ) -> Result<(), ConnectError> {
        let foreign = |what| ConnectError::Foreign { program: "rping", what };
        if advert.length == 0 || advert.length > *SIZES.end() {
            return Err(foreign("a ping has 1 to 65535 bytes"));
        }
        let operation = match self.state {
            State::AwaitsSource => {
                self.state = State::Reading;
                self.size = advert.length;
                if self.data.as_ref().is_none_or(|data| data.length() < self.size as usize) {
                    self.data = Some(domain.register(self.size as usize, Access::LOCAL_WRITE)?);
                }
                Operation::RdmaRead(advert.remote)
            }
            State::AwaitsSink if advert.length == self.size => {
                self.state = State::Writing;
                Operation::RdmaWrite(advert.remote)
            }
            State::AwaitsSink => return Err(foreign("the sink has another size than the source")),
            State::Reading | State::Writing => return Err(foreign("it does not wait for its turn")),
        };
        let Some(data) = &self.data else { return Ok(()) };
        self.post(queue_pair, MOVE, operation, &[data.element(0, self.size)])
    }

    /// A SEND with nothing in it, as the real server's.
    fn say(&self, queue_pair: &QueuePair) -> Result<(), ConnectError> {
        let request = SendRequest {
            id: self.numbers.number(SEND),
            operation: Operation::Send,
            inline: Some(&[0; advert::LENGTH]),
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        };
        queue_pair.post_send(&request)?;
        Ok(())
    }

    fn post(
        &self,
        queue_pair: &QueuePair,
        place: u64,
        operation: Operation,
        elements: &[rdmalab_device::Sge],
    ) -> Result<(), ConnectError> {
        let id = self.numbers.number(place);
        let flags = SendFlags::SIGNALED;
        queue_pair.post_send(&SendRequest { id, operation, elements, flags, ..SendRequest::default() })?;
        Ok(())
    }

    /// Judges what was read.
    fn check(&self, tell: &mut dyn FnMut(&str)) -> Result<(), ConnectError> {
        let Some(region) = &self.data else { return Ok(()) };
        let mut data = vec![0; self.size as usize];
        let _ = region.read(0, &mut data);
        if let Some((offset, found, expected)) = text::first_wrong(self.pings, &data) {
            return Err(ConnectError::Data { message: self.pings, offset, found, expected });
        }
        tell(&text::shown(&data));
        Ok(())
    }
}
