//! What a queue pair tells besides completions, and what it is told of its byte stream.

use rdmalab_wire::iwarp::TerminateError;

/// Who sent the Terminate message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TerminatedBy {
    /// We found something wrong.
    Us,
    /// The peer did.
    Peer,
}

/// Something for whoever owns the byte stream, or for those who watch. Each comes at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// All that there is to send was written: the stream is to be closed in our direction (TCP's FIN).
    CloseSending,
    /// The stream is to be reset (TCP's RST): there is no other way to tell the peer.
    Reset,
    /// A Terminate message ends the connection (RFC 5040 §5.4). Ours is still to be written.
    Terminated {
        /// Whose.
        by: TerminatedBy,
        /// What it says.
        error: TerminateError,
    },
    /// Both directions are closed; nothing comes any more.
    Closed {
        /// Nothing was under way, and nobody complained.
        graceful: bool,
    },
    /// A queue pair with a shared receive queue is in ERR and takes no more receives from it
    /// (`IBV_EVENT_QP_LAST_WQE_REACHED`).
    LastReceiveReached,
    /// A completion queue has overrun; the queue pair is in ERR (`IBV_EVENT_QP_FATAL`).
    Fatal,
}

impl Event {
    const fn bit(self) -> u8 {
        match self {
            Self::CloseSending => 1,
            Self::Reset => 2,
            Self::Terminated { .. } => 4,
            Self::Closed { .. } => 8,
            Self::LastReceiveReached => 16,
            Self::Fatal => 32,
        }
    }
}

/// How the peer's direction of the stream ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// In order, behind the last byte (TCP's FIN).
    Graceful,
    /// The connection is lost: reset, timed out.
    Abortive,
}

/// Events that wait to be taken out.
///
/// Invariant: each kind comes once at most, so that there is room for all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Events {
    waiting: [Option<Event>; 6],
    /// Bits of the kinds that came.
    told: u8,
}

impl Events {
    /// Adds an event, unless one of its kind has come before.
    pub(crate) fn push(&mut self, event: Event) {
        if self.has_told(event) {
            return;
        }
        if let Some(place) = self.waiting.iter_mut().find(|place| place.is_none()) {
            *place = Some(event);
            self.told |= event.bit();
        }
    }

    /// Whether an event of this kind has come, taken out or not.
    pub(crate) fn has_told(&self, event: Event) -> bool {
        self.told & event.bit() != 0
    }

    pub(crate) fn pop(&mut self) -> Option<Event> {
        let event = self.waiting[0].take();
        self.waiting.rotate_left(1);
        event
    }
}
