//! Who listens for what.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::mad::ServiceId;

use crate::error::CommandError;
use crate::ids::ListenerId;

/// What a listener waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen {
    /// The service. Of an IP port it is [`ServiceId::rdma_ip`]; callers then must bring RDMA-CM's header.
    pub service_id: ServiceId,
    /// The address that is called: `None` for any, `0.0.0.0` for any of IPv4, `::` for any of IPv6. The most exact listener
    /// is chosen.
    pub address: Option<IpAddr>,
    /// Connections or datagrams.
    pub kind: ListenKind,
    /// How many requests may wait for a decision; more are not answered, so that they are repeated later.
    pub backlog: usize,
}

/// What is behind a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListenKind {
    /// Queue pairs that are connected.
    Connections,
    /// Queue pairs that are told of when asked.
    Datagrams,
}

type Key = (ListenKind, ServiceId, Option<IpAddr>);

#[derive(Debug)]
struct Listener {
    key: Key,
    backlog: usize,
    waiting: usize,
}

/// Whether one more may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub id: ListenerId,
    pub is_full: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Listeners {
    by_id: BTreeMap<ListenerId, Listener>,
    by_key: BTreeMap<Key, ListenerId>,
    last_id: u32,
}

impl Listeners {
    pub fn add(&mut self, listen: &Listen, limit: usize) -> Result<ListenerId, CommandError> {
        let key = (listen.kind, listen.service_id, listen.address.map(|address| address.to_canonical()));
        if self.by_key.contains_key(&key) {
            return Err(CommandError::ServiceInUse);
        }
        if self.by_id.len() >= limit {
            return Err(CommandError::TooMany);
        }
        let id = loop {
            self.last_id = self.last_id.wrapping_add(1);
            if !self.by_id.contains_key(&ListenerId(self.last_id)) {
                break ListenerId(self.last_id);
            }
        };
        self.by_id.insert(id, Listener { key, backlog: listen.backlog, waiting: 0 });
        self.by_key.insert(key, id);
        Ok(id)
    }

    pub fn remove(&mut self, id: ListenerId) -> Result<(), CommandError> {
        let listener = self.by_id.remove(&id).ok_or(CommandError::UnknownListener)?;
        self.by_key.remove(&listener.key);
        Ok(())
    }

    /// Who listens for this at this address: the address itself goes before any of its family, and that before any.
    pub fn find(&self, kind: ListenKind, service_id: ServiceId, address: IpAddr) -> Option<Found> {
        let any: IpAddr = match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let id = [Some(address), Some(any), None]
            .into_iter()
            .find_map(|address| self.by_key.get(&(kind, service_id, address)))?;
        let listener = &self.by_id[id];
        Some(Found { id: *id, is_full: listener.waiting >= listener.backlog })
    }

    pub fn begin_waiting(&mut self, id: ListenerId) {
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.waiting += 1;
        }
    }

    pub fn end_waiting(&mut self, id: ListenerId) {
        if let Some(listener) = self.by_id.get_mut(&id) {
            listener.waiting = listener.waiting.saturating_sub(1);
        }
    }

    /// How many requests wait for a decision; `None` for an unknown listener.
    pub fn waiting(&self, id: ListenerId) -> Option<usize> {
        self.by_id.get(&id).map(|listener| listener.waiting)
    }
}
