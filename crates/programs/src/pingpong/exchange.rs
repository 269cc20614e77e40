//! The game itself, on a connected queue pair.

use std::net::IpAddr;
use std::time::Instant;

use rdmalab_device::{
    Access, Attributes, Capabilities, Completion, CompletionQueue, CompletionStatus, Device, MemoryRegion,
    Operation, Path, ProtectionDomain, Psn, QueuePair, ReceiveRequest, SendFlags, SendRequest, State,
};

use super::error::PingpongError;
use super::hello::Side;
use super::report::Report;
use super::{Options, data};

/// The work requests' numbers.
const RECEIVE: u64 = 1;
const SEND: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Answers.
    Server,
    /// Begins.
    Client,
}

/// Everything one side needs: as in the real program, one buffer that is received into and sent from.
pub(super) struct Session<'a> {
    options: &'a Options,
    // Dropped in this order: the queue pair before what it uses.
    queue_pair: QueuePair,
    completions: CompletionQueue,
    memory: MemoryRegion,
    _domain: ProtectionDomain,
}

impl<'a> Session<'a> {
    pub(super) fn open(device: &Device, options: &'a Options) -> Result<Self, PingpongError> {
        let domain = device.protection_domain()?;
        let memory = domain.register(options.size as usize, Access::LOCAL_WRITE)?;
        let depth = options.receive_depth.max(1);
        let completions = device.completion_queue(depth.saturating_add(1))?;
        let capabilities = Capabilities {
            max_send_requests: 1,
            max_receive_requests: depth,
            max_send_elements: 1,
            max_receive_elements: 1,
            max_inline: 0,
        };
        let queue_pair = domain.queue_pair(&completions, &completions, capabilities)?;
        queue_pair.modify(&Attributes {
            state: Some(State::Init),
            partition_index: Some(0),
            access: Some(Access::empty()),
            ..Attributes::default()
        })?;
        let session = Self { options, queue_pair, completions, memory, _domain: domain };
        for _ in 0..depth {
            session.post_receive()?;
        }
        Ok(session)
    }

    /// Our queue pair, as the peer is told of it.
    pub(super) fn side(&self, address: IpAddr) -> Side {
        Side { queue_pair: self.queue_pair.number(), psn: Psn::new(self.options.first_psn), address }
    }

    /// Brings the queue pair to RTS, with the attributes that the real program sets, but for the ACK timeout if asked.
    pub(super) fn connect(&self, local: &Side, remote: &Side) -> Result<(), PingpongError> {
        if local.address.is_ipv4() != remote.address.is_ipv4() {
            return Err(PingpongError::Families { local: local.address, peer: remote.address });
        }
        if local.address == remote.address && local.queue_pair == remote.queue_pair {
            return Err(PingpongError::Echo);
        }
        self.queue_pair.modify(&Attributes {
            state: Some(State::Rtr),
            path: Some(Path::new(local.address, remote.address)),
            path_mtu: Some(self.options.mtu),
            destination: Some(remote.queue_pair),
            receive_psn: Some(remote.psn),
            max_destination_reads: Some(1),
            min_rnr_timer: Some(12),
            ..Attributes::default()
        })?;
        self.queue_pair.modify(&Attributes {
            state: Some(State::Rts),
            timeout: Some(self.options.ack_timeout),
            retry_count: Some(7),
            rnr_retry: Some(7),
            send_psn: Some(local.psn),
            max_reads: Some(1),
            ..Attributes::default()
        })?;
        Ok(())
    }

    fn post_receive(&self) -> Result<(), PingpongError> {
        let elements = [self.memory.element(0, self.options.size)];
        self.queue_pair.post_receive(&ReceiveRequest { id: RECEIVE, elements: &elements })?;
        Ok(())
    }

    fn post_send(&self) -> Result<(), PingpongError> {
        let elements = [self.memory.element(0, self.options.size)];
        self.queue_pair.post_send(&SendRequest {
            id: SEND,
            operation: Operation::Send,
            elements: &elements,
            flags: SendFlags::SIGNALED,
            ..SendRequest::default()
        })?;
        Ok(())
    }

    /// Plays all rounds. A side sends its next message when its last one is acknowledged and the peer's is there.
    pub(super) fn play(&self, role: Role) -> Result<Report, PingpongError> {
        let mut game = Game {
            session: self,
            role,
            received: 0,
            sent: 0,
            posted: 0,
            awaits_receive: role == Role::Server,
            awaits_send: false,
            message: vec![0; self.options.size as usize],
            sent_message: vec![0; self.options.size as usize],
            unacknowledged: false,
        };
        let start = Instant::now();
        game.go_on()?;
        while game.received < self.options.rounds || game.sent < self.options.rounds {
            let patience = self.options.patience;
            let completion = self
                .completions
                .wait(patience)?
                .ok_or(PingpongError::Silence { what: "the next message", patience })?;
            game.handle(&completion)?;
        }
        Ok(Report {
            rounds: self.options.rounds,
            size: self.options.size,
            time: start.elapsed(),
            unacknowledged: game.unacknowledged,
        })
    }
}

struct Game<'s> {
    session: &'s Session<'s>,
    role: Role,
    /// Messages received, and messages of ours posted and acknowledged.
    received: u32,
    posted: u32,
    sent: u32,
    awaits_receive: bool,
    awaits_send: bool,
    /// Room for the message that came.
    message: Vec<u8>,
    /// What the client sent last.
    sent_message: Vec<u8>,
    /// Our last message was never acknowledged.
    unacknowledged: bool,
}

impl Game<'_> {
    /// Sends the next message, if it is time.
    fn go_on(&mut self) -> Result<(), PingpongError> {
        if self.awaits_receive || self.awaits_send || self.posted == self.session.options.rounds {
            return Ok(());
        }
        if self.role == Role::Client {
            data::client(self.posted, self.session.options.check, &mut self.sent_message);
            // The region is as large as the message.
            let _ = self.session.memory.write(0, &self.sent_message);
        }
        self.session.post_send()?;
        self.posted += 1;
        (self.awaits_receive, self.awaits_send) = (true, true);
        Ok(())
    }

    fn handle(&mut self, completion: &Completion) -> Result<(), PingpongError> {
        let (request, round) =
            if completion.id == SEND { ("send", self.sent) } else { ("receive", self.received) };
        if request == "send" && completion.status == CompletionStatus::RetryExceeded && self.is_last() {
            self.sent += 1;
            self.unacknowledged = true;
            return Ok(());
        }
        if completion.status != CompletionStatus::Success {
            return Err(PingpongError::Failed { round, request, status: completion.status });
        }
        if completion.id == SEND {
            self.sent += 1;
            self.awaits_send = false;
        } else {
            self.check(round, completion.length)?;
            self.received += 1;
            self.awaits_receive = false;
            self.session.post_receive()?;
        }
        self.go_on()
    }

    /// Whether only the acknowledgement of our last message is missing. The real program leaves at its last completion
    /// and repeats nothing; if that acknowledgement was lost, it never comes.
    fn is_last(&self) -> bool {
        let rounds = self.session.options.rounds;
        self.received == rounds && self.posted == rounds && self.sent + 1 == rounds
    }

    /// Every byte of a message is what it must be.
    fn check(&mut self, round: u32, length: u32) -> Result<(), PingpongError> {
        let Options { size, check, .. } = *self.session.options;
        if length != size {
            return Err(PingpongError::Length { round, found: length, expected: size });
        }
        let _ = self.session.memory.read(0, &mut self.message);
        let wrong = match self.role {
            Role::Client => data::first_difference(&self.message, &self.sent_message),
            Role::Server => data::judge_client(round, check, &self.message),
        };
        match wrong {
            None => Ok(()),
            Some((offset, found, expected)) => Err(PingpongError::Data { round, offset, found, expected }),
        }
    }
}
