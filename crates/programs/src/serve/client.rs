//! One client that came by RDMA-CM, with all it needs.

use std::net::SocketAddr;
use std::time::Instant;

use rdmalab_device::{
    Capabilities, CmId, Completion, CompletionQueue, CompletionStatus, ConnectionParameters, Identifier,
    Offer, PathMtu, ProtectionDomain, QueuePair, QueuePairOptions, QueuePairType,
};

use super::{Numbers, Program, Services, Step};
use crate::connect_error::ConnectError;
use crate::{rping, ucmatose, udaddy};

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Accepted, and not yet there.
    Called,
    /// At work.
    Connected,
    /// Told to go, or going.
    Ending,
}

/// What all clients share.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) domain: &'a ProtectionDomain,
    pub(super) completions: &'a CompletionQueue,
    pub(super) services: &'a Services,
    /// The longest datagram.
    pub(super) longest: PathMtu,
}

enum Answerer {
    Rping(rping::Answerer),
    Ucmatose(ucmatose::Answerer),
    Udaddy(udaddy::Answerer),
}

/// One client.
pub(super) struct Client {
    // Dropped in this order: the connection, the queue pair, then what it uses.
    identifier: Identifier,
    queue_pair: QueuePair,
    answerer: Answerer,
    pub(super) program: Program,
    pub(super) peer: Option<SocketAddr>,
    pub(super) stage: Stage,
    /// When it last did something.
    pub(super) last: Instant,
    /// Whether it has done anything since it is there.
    has_spoken: bool,
    messages: u64,
}

/// Completions of one client that may wait to be taken out.
pub(super) fn most_completions(services: &Services) -> u32 {
    let rping = rping::Answerer::SENDS + rping::Answerer::RECEIVES;
    let ucmatose = 2 * ucmatose::Answerer::window(services.messages);
    rping.max(ucmatose).max(2 * udaddy::Answerer::RECEIVES)
}

impl Client {
    /// Lets in who calls.
    pub(super) fn accept(
        program: Program,
        identifier: Identifier,
        offer: &Offer,
        place: &Place<'_>,
        numbers: Numbers,
    ) -> Result<Self, ConnectError> {
        let (queue_pair, answerer) = match furnish(program, &identifier, place, numbers) {
            Ok(furnished) => furnished,
            Err(error) => {
                // It is told so, instead of being left to wait; if it has gone, nobody is.
                let _ = identifier.reject_for_want_of_room();
                return Err(error);
            }
        };
        let peer = identifier.ends()?.1;
        identifier.accept(&ConnectionParameters {
            responder_resources: offer.initiator_depth.clamp(1, 16),
            initiator_depth: offer.responder_resources.clamp(1, 16),
            ..ConnectionParameters::default()
        })?;
        // Who asks for a datagram service is there as soon as he is answered.
        let stage = if program == Program::Udaddy { Stage::Connected } else { Stage::Called };
        Ok(Self {
            identifier,
            queue_pair,
            answerer,
            program,
            peer,
            stage,
            last: Instant::now(),
            has_spoken: false,
            messages: 0,
        })
    }

    /// The connection stands.
    pub(super) fn established(&mut self) -> Result<Step, ConnectError> {
        self.stage = Stage::Connected;
        self.last = Instant::now();
        match &mut self.answerer {
            Answerer::Ucmatose(answerer) => answerer.established(&self.queue_pair),
            _ => Ok(Step::default()),
        }
    }

    /// Something has completed.
    pub(super) fn completed(
        &mut self,
        domain: &ProtectionDomain,
        completion: &Completion,
        tell: &mut dyn FnMut(&str),
    ) -> Result<Step, ConnectError> {
        if self.stage == Stage::Ending {
            return Ok(Step::default());
        }
        self.last = Instant::now();
        self.has_spoken = true;
        if completion.status != CompletionStatus::Success {
            return self.failed(completion.status);
        }
        let step = match &mut self.answerer {
            Answerer::Rping(answerer) => answerer.completed(domain, &self.queue_pair, completion, tell)?,
            Answerer::Ucmatose(answerer) => answerer.completed(&self.queue_pair, completion)?,
            Answerer::Udaddy(answerer) => answerer.completed(domain, &self.queue_pair, completion)?,
        };
        self.messages += step.messages;
        Ok(step)
    }

    fn failed(&mut self, status: CompletionStatus) -> Result<Step, ConnectError> {
        if let Answerer::Ucmatose(answerer) = &mut self.answerer
            && answerer.takes_nothing(status)
        {
            return Ok(Step::default());
        }
        // Who has all that it came for may go before its last acknowledgement is heard, and its word that it goes may be lost, too.
        if status == CompletionStatus::RetryExceeded && self.has_all() {
            return Ok(Step { gone: true, ..Step::default() });
        }
        // The peer ended the connection, which its own event tells.
        if status == CompletionStatus::WorkRequestFlushed {
            return Ok(Step::default());
        }
        Err(ConnectError::Failed { message: self.messages, request: "request", status })
    }

    /// Whether a client that goes now has done what it came for.
    pub(super) fn is_content(&self) -> bool {
        match &self.answerer {
            Answerer::Rping(answerer) => answerer.is_between_pings(),
            Answerer::Ucmatose(answerer) => answerer.is_content(),
            Answerer::Udaddy(_) => true,
        }
    }

    /// Whether the client is known to have got all that we sent it, be it that not all is acknowledged.
    fn has_all(&self) -> bool {
        match &self.answerer {
            Answerer::Rping(answerer) => answerer.is_between_pings(),
            Answerer::Ucmatose(answerer) => answerer.has_all(),
            Answerer::Udaddy(_) => false,
        }
    }

    /// Whether it is to speak first, as a client of rping does as soon as it is there, and has not.
    pub(super) fn owes_first_word(&self) -> bool {
        self.program == Program::Rping && self.stage == Stage::Connected && !self.has_spoken
    }

    /// What events call it.
    pub(super) fn id(&self) -> CmId {
        self.identifier.id()
    }

    /// Messages done.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    /// Tells the peer to go.
    pub(super) fn end(&mut self) {
        self.stage = Stage::Ending;
        // Where there is no connection (any more), there is nobody to be told.
        let _ = self.identifier.disconnect();
    }
}

/// Makes what a client needs, its receives posted.
fn furnish(
    program: Program,
    identifier: &Identifier,
    place: &Place<'_>,
    numbers: Numbers,
) -> Result<(QueuePair, Answerer), ConnectError> {
    let Place { domain, completions, services, longest } = *place;
    let (sends, receives, inline) = match program {
        Program::Rping => (rping::Answerer::SENDS, rping::Answerer::RECEIVES, 16),
        Program::Ucmatose => {
            let window = ucmatose::Answerer::window(services.messages);
            (window, window, 0)
        }
        _ => (udaddy::Answerer::RECEIVES, udaddy::Answerer::RECEIVES, 0),
    };
    let capabilities = Capabilities {
        max_send_requests: sends,
        max_receive_requests: receives,
        max_send_elements: 1,
        max_receive_elements: 1,
        max_inline: inline,
    };
    let kind = if program == Program::Udaddy { QueuePairType::Ud } else { QueuePairType::Rc };
    let options = QueuePairOptions { capabilities, ..QueuePairOptions::new(kind, completions) };
    let queue_pair = identifier.queue_pair(domain, &options)?;
    let answerer = match program {
        Program::Rping => Answerer::Rping(rping::Answerer::open(domain, &queue_pair, numbers)?),
        Program::Ucmatose => {
            let (messages, size) = (services.messages, services.size);
            Answerer::Ucmatose(ucmatose::Answerer::open(domain, &queue_pair, numbers, messages, size)?)
        }
        _ => Answerer::Udaddy(udaddy::Answerer::open(domain, &queue_pair, numbers, longest)?),
    };
    Ok((queue_pair, answerer))
}
