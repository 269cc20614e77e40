//! A queue pair of a live device.

use std::sync::Arc;

use rdmalab_roce::QueuePairConfig;
use rdmalab_verbs::{Attributes, ModifyError, PostError, ReceiveRequest, SendRequest, State};
use rdmalab_wire::Qpn;

use super::Shared;
use super::error::DeviceError;

/// A reliable connected queue pair. Dropping it destroys it: what is queued vanishes, and its packets are dropped.
pub struct QueuePair {
    shared: Arc<Shared>,
    number: Qpn,
}

impl QueuePair {
    pub(super) fn new(shared: &Arc<Shared>, config: &QueuePairConfig) -> Result<Self, DeviceError> {
        let mut inner = shared.lock();
        let adapter = &mut inner.adapter;
        let number = adapter.endpoint.create_queue_pair(&mut adapter.context, config)?;
        drop(inner);
        Ok(Self { shared: Arc::clone(shared), number })
    }

    /// Its number.
    pub fn number(&self) -> Qpn {
        self.number
    }

    /// Its state.
    pub fn state(&self) -> Option<State> {
        self.shared.lock().adapter.endpoint.state(self.number)
    }

    /// Changes its state or attributes.
    pub fn modify(&self, attributes: &Attributes) -> Result<(), ModifyError> {
        self.shared.with(|adapter| adapter.endpoint.modify(&mut adapter.context, self.number, attributes))
    }

    /// Posts a send request. The elements are copied; their memory is read when the packets are built.
    pub fn post_send(&self, request: &SendRequest<'_>) -> Result<(), PostError> {
        self.shared.with(|adapter| adapter.endpoint.post_send(&mut adapter.context, self.number, request))
    }

    /// Posts a receive.
    pub fn post_receive(&self, request: &ReceiveRequest<'_>) -> Result<(), PostError> {
        let mut inner = self.shared.lock();
        let adapter = &mut inner.adapter;
        adapter.endpoint.post_receive(&mut adapter.context, self.number, request)
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        let mut inner = self.shared.lock();
        let adapter = &mut inner.adapter;
        let _ = adapter.endpoint.destroy_queue_pair(&mut adapter.context, self.number);
    }
}
