//! All connections, and the ways to find one: by our ID, by the caller's ID, by a queue pair's number.
//!
//! Invariant: every index entry names a connection that is here and has that key. The indices of queue pairs hold only
//! connections before time-wait, so that a peer may use a queue pair again.

use alloc::collections::{BTreeMap, VecDeque};

use rdmalab_wire::Qpn;

use crate::connection::{Adapter, Connection, State};

#[derive(Debug, Default)]
pub(crate) struct Connections {
    by_id: BTreeMap<u32, Connection>,
    /// Passive side: by the caller and its ID.
    requests: BTreeMap<(Adapter, u32), u32>,
    /// By the peer's queue pair.
    peer_queue_pairs: BTreeMap<(Adapter, Qpn), u32>,
    /// By our queue pair, while the RTU has not come.
    unready: BTreeMap<Qpn, u32>,
    /// Those in `Rejected`, the oldest first; some may be gone.
    rejected: VecDeque<u32>,
}

impl Connections {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn contains(&self, id: u32) -> bool {
        self.by_id.contains_key(&id)
    }

    pub fn find(&self, id: u32) -> Option<&Connection> {
        self.by_id.get(&id)
    }

    pub fn find_mut(&mut self, id: u32) -> Option<&mut Connection> {
        self.by_id.get_mut(&id)
    }

    /// The connection that a request with this ID began.
    pub fn request(&self, adapter: Adapter, remote_id: u32) -> Option<u32> {
        self.requests.get(&(adapter, remote_id)).copied()
    }

    /// The connection that has this queue pair of the peer's.
    pub fn with_peer_queue_pair(&self, adapter: Adapter, qpn: Qpn) -> Option<u32> {
        self.peer_queue_pairs.get(&(adapter, qpn)).copied()
    }

    /// The accepted connection of this queue pair of ours, if its caller has not said that it is ready.
    pub fn unready(&self, qpn: Qpn) -> Option<u32> {
        self.unready.get(&qpn).copied()
    }

    pub fn insert(&mut self, id: u32, connection: Connection) {
        if let (Some(adapter), false) = (connection.adapter(), connection.is_active_side()) {
            self.requests.insert((adapter, connection.remote_id()), id);
        }
        self.by_id.insert(id, connection);
        self.index_peer_queue_pair(id);
    }

    /// Makes the connection known by its peer's queue pair.
    pub fn index_peer_queue_pair(&mut self, id: u32) {
        let Some(connection) = self.by_id.get(&id) else { return };
        if let (Some(adapter), Some(peer)) = (connection.adapter(), connection.peer) {
            self.peer_queue_pairs.insert((adapter, peer.qpn), id);
        }
    }

    pub fn begin_unready(&mut self, id: u32) {
        if let Some(connection) = self.by_id.get(&id) {
            self.unready.insert(connection.local_qpn, id);
        }
    }

    pub fn end_unready(&mut self, id: u32) {
        let Some(connection) = self.by_id.get(&id) else { return };
        if self.unready.get(&connection.local_qpn) == Some(&id) {
            self.unready.remove(&connection.local_qpn);
        }
    }

    /// Takes the connection out of the indices of queue pairs.
    pub fn release_queue_pairs(&mut self, id: u32) {
        self.end_unready(id);
        let Some(connection) = self.by_id.get(&id) else { return };
        if let (Some(adapter), Some(peer)) = (connection.adapter(), connection.peer)
            && self.peer_queue_pairs.get(&(adapter, peer.qpn)) == Some(&id)
        {
            self.peer_queue_pairs.remove(&(adapter, peer.qpn));
        }
    }

    /// Remembers that this one is in `Rejected`, and says which one is now too many.
    pub fn push_rejected(&mut self, id: u32, limit: usize) -> Option<u32> {
        self.rejected.push_back(id);
        if self.rejected.len() <= limit {
            return None;
        }
        let oldest = self.rejected.pop_front()?;
        self.find(oldest).is_some_and(|connection| connection.state == State::Rejected).then_some(oldest)
    }

    /// Takes the connection out of the index of requests: its caller's ID is somebody else's now.
    pub fn forget_request(&mut self, id: u32) {
        let Some(connection) = self.by_id.get(&id) else { return };
        if let Some(adapter) = connection.adapter() {
            let key = (adapter, connection.remote_id());
            if self.requests.get(&key) == Some(&id) {
                self.requests.remove(&key);
            }
        }
    }

    pub fn remove(&mut self, id: u32) -> Option<Connection> {
        self.release_queue_pairs(id);
        self.forget_request(id);
        self.by_id.remove(&id)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, &Connection)> {
        self.by_id.iter().map(|(id, connection)| (*id, connection))
    }

    /// Panics if an index does not fit the connections.
    pub fn assert_sound(&self) {
        for ((adapter, remote_id), id) in &self.requests {
            let connection = &self.by_id[id];
            assert_eq!((connection.adapter(), connection.remote_id()), (Some(*adapter), *remote_id));
            assert!(!connection.is_active_side());
        }
        for ((adapter, qpn), id) in &self.peer_queue_pairs {
            let connection = &self.by_id[id];
            assert_eq!(connection.adapter(), Some(*adapter));
            assert_eq!(connection.peer.map(|peer| peer.qpn), Some(*qpn));
            assert!(!matches!(connection.state, State::TimeWait | State::Rejected));
        }
        for (id, connection) in &self.by_id {
            let (Some(adapter), Some(peer)) = (connection.adapter(), connection.peer) else { continue };
            if !matches!(connection.state, State::TimeWait | State::Rejected) {
                assert_eq!(self.peer_queue_pairs.get(&(adapter, peer.qpn)), Some(id));
            }
            if !connection.is_active_side() && connection.state != State::TimeWait {
                assert_eq!(self.requests.get(&(adapter, peer.communication_id)), Some(id));
            }
        }
        for (qpn, id) in &self.unready {
            let connection = &self.by_id[id];
            assert_eq!((connection.state, connection.local_qpn), (State::ReplySent, *qpn));
        }
    }
}
