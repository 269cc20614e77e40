//! Queue pairs that speak iWARP, by their numbers.
//!
//! Numbers have 24 bits. RoCE's queue pairs have the lower three quarters, and these the rest, so that a number alone says over
//! what it talks.

use rdmalab_iwarp::{CreateError, Identity, QueuePair, QueuePairConfig};
use rdmalab_roce::{CreateError as AnyCreateError, QueuePairConfig as AnyConfig};
use rdmalab_verbs::{
    Attributes, Context, LimitReached, ModifyError, PostError, QueuePairType, ReceiveRequest, SendRequest,
    State, Table,
};
use rdmalab_wire::Qpn;

use super::{IwarpTable, MAX_QUEUE_PAIRS, StreamId};
use crate::connections::CmError;

/// As RoCE's numbers have.
const GENERATION_BITS: u32 = 7;
/// The first number.
const FIRST: u32 = ((1 << 17) - (1 << 15)) << GENERATION_BITS;
/// Tells them from RoCE's queue pairs where rights are kept, for which no two are ever alike.
const ACCESSORS: u64 = 1 << 63;

/// Queue pairs that RoCE may have beside them.
pub(crate) const OTHERS: usize = (1 << 17) - 1 - (1 << 15);

/// A queue pair and its stream.
pub(super) struct Held {
    pub(super) queue_pair: QueuePair,
    pub(super) stream: Option<StreamId>,
}

/// Whether a number is that of a queue pair that speaks iWARP.
pub(crate) fn is_iwarp(number: Qpn) -> bool {
    number.value() >= FIRST
}

/// The place of a queue pair in the table.
pub(super) fn handle(number: Qpn) -> Option<u32> {
    number.value().checked_sub(FIRST)
}

/// A place is empty only while its queue pair is made.
pub(super) fn table() -> Table<Option<Held>> {
    Table::new(MAX_QUEUE_PAIRS, GENERATION_BITS, 0, false)
}

impl IwarpTable {
    pub(super) fn held(&mut self, number: Qpn) -> Option<&mut Held> {
        self.queue_pairs.get_mut(handle(number)?)?.as_mut()
    }

    /// Makes a queue pair, in INIT.
    pub(crate) fn create_queue_pair(
        &mut self,
        context: &mut Context,
        config: &AnyConfig,
    ) -> Result<Qpn, CmError> {
        if config.kind != QueuePairType::Rc {
            return Err(CmError::NotOverIwarp("a queue pair of another kind than RC"));
        }
        if config.xrc_domain.is_some() {
            return Err(AnyCreateError::XrcDomain.into());
        }
        let accessor = ACCESSORS | self.made;
        let made = QueuePairConfig {
            receive_queue: config.receive_queue,
            shared_receive_queue: config.shared_receive_queue,
            signals_all: config.signals_all,
            ..QueuePairConfig::new(config.protection_domain, config.send_queue, config.capabilities)
        };
        let mut failure = None;
        let handle = self.queue_pairs.insert_with(|handle| {
            let identity = Identity { number: Qpn::new(FIRST + handle), accessor };
            match QueuePair::new(context, identity, &made) {
                Ok(queue_pair) => Some(Held { queue_pair, stream: None }),
                Err(error) => {
                    failure = Some(error);
                    None
                }
            }
        });
        let full = LimitReached { what: "iWARP queue pairs", limit: MAX_QUEUE_PAIRS };
        let handle = handle.map_err(|_| CmError::Limit(full))?;
        if let Some(error) = failure {
            self.queue_pairs.remove(handle);
            return Err(match error {
                CreateError::LimitReached(limit) => CmError::Limit(limit),
                CreateError::NoSuchObject => AnyCreateError::NoSuchObject.into(),
            });
        }
        self.made += 1;
        Ok(Qpn::new(FIRST + handle))
    }

    /// Ends a queue pair, without completions for what is queued. Its connection goes on only until what was sent is out.
    pub(crate) fn destroy_queue_pair(
        &mut self,
        context: &mut Context,
        number: Qpn,
    ) -> Result<(), ModifyError> {
        let stream = self.held(number).ok_or(ModifyError::NoSuchQueuePair)?.stream;
        if let Some(stream) = stream {
            self.orphan(stream);
        }
        let removed = handle(number).and_then(|handle| self.queue_pairs.remove(handle));
        if let Some(Some(held)) = removed {
            held.queue_pair.destroy(context);
        }
        Ok(())
    }

    /// The state of a queue pair.
    pub(crate) fn state(&self, number: Qpn) -> Option<State> {
        let held = self.queue_pairs.get(handle(number)?)?.as_ref()?;
        Some(held.queue_pair.state())
    }

    /// Changes a queue pair's state: to ERR, which resets its connection. The other changes are those of its connection.
    pub(crate) fn modify(
        &mut self,
        context: &mut Context,
        number: Qpn,
        attributes: &Attributes,
    ) -> Result<(), ModifyError> {
        let held = self.held(number).ok_or(ModifyError::NoSuchQueuePair)?;
        let from = held.queue_pair.state();
        if *attributes != (Attributes { state: attributes.state, ..Attributes::default() }) {
            return Err(ModifyError::BadValue {
                attribute: "attr_mask",
                allowed: "IBV_QP_STATE alone: over iWARP the rest is a matter of the connection",
            });
        }
        match attributes.state {
            Some(State::Err) => {
                held.queue_pair.abort(context);
                if let Some(stream) = held.stream {
                    self.heed(context, stream);
                }
                Ok(())
            }
            Some(to) => Err(ModifyError::NoSuchTransition { from, to }),
            None => Ok(()),
        }
    }

    /// Posts to the send queue.
    pub(crate) fn post_send(
        &mut self,
        context: &mut Context,
        number: Qpn,
        request: &SendRequest<'_>,
    ) -> Result<(), PostError> {
        let held = self.held(number).ok_or(PostError::NoSuchQueue)?;
        held.queue_pair.post_send(context, request)?;
        if let (Some(stream), true) = (held.stream, held.queue_pair.has_work()) {
            self.make_ready(stream);
        }
        Ok(())
    }

    /// Posts to the receive queue.
    pub(crate) fn post_receive(
        &mut self,
        context: &mut Context,
        number: Qpn,
        request: &ReceiveRequest<'_>,
    ) -> Result<(), PostError> {
        let held = self.held(number).ok_or(PostError::NoSuchQueue)?;
        held.queue_pair.post_receive(context, request)
    }
}
