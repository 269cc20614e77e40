//! All flows being followed, found by who sends to which queue pair, and in pairs that answer each other.
//!
//! Limits: [`MOST_FLOWS`] flows and [`MOST_REQUESTS`] requests in all of their windows. Beyond them, flows make room that were
//! not heard since the hand last came by (second chance), so that finding one costs the same however many there are.

use std::collections::{HashMap, VecDeque};

use rdmalab_wire::{Address, TransportKind};

use crate::checks::cm::Alternate;
use crate::flow::Flow;
use crate::packet::{FlowKey, OperationKind, Seen};
use crate::reason::Reason;

/// Flows that are followed at once.
pub const MOST_FLOWS: usize = 16_384;
/// Requests that are kept of all of them together.
pub const MOST_REQUESTS: usize = 1 << 19;
/// Flows between two hosts that are looked through for one that an answer belongs to.
const MOST_SEARCHED: usize = 4_096;
/// After so many failures only every time that doubles their number is tried.
const SEARCHES: u32 = 16;
/// An answer further than this from all requests belongs to none of them.
const NEAR: i32 = 4_096;

/// So often, a flow whose PSNs have jumped may get another peer.
const MOST_PARTINGS: u64 = 64;

/// Paths that were refused and are remembered.
const MOST_REFUSED: usize = 1_024;

/// More than one flow that a response could be of.
struct Several;

/// All flows.
pub(crate) struct Table {
    slots: Vec<Option<Flow>>,
    free: Vec<u32>,
    index: HashMap<FlowKey, u32>,
    /// The same flows as they are named over the alternate path that their connection may migrate to.
    migrated: HashMap<FlowKey, u32>,
    /// Flows over paths that were refused, with the frames that tell; in the order in which that was.
    refused: HashMap<FlowKey, [u64; 2]>,
    refused_in_order: VecDeque<FlowKey>,
    /// Flows of one host to another that have no peer.
    alone: HashMap<(Address, Address), Vec<u32>>,
    hand: usize,
    /// Requests in all windows.
    pub requests: usize,
    pub forgotten: u64,
    begun: u64,
}

impl Table {
    pub fn new() -> Table {
        Table {
            slots: Vec::new(),
            free: Vec::new(),
            index: HashMap::new(),
            migrated: HashMap::new(),
            refused: HashMap::new(),
            refused_in_order: VecDeque::new(),
            alone: HashMap::new(),
            hand: 0,
            requests: 0,
            forgotten: 0,
            begun: 0,
        }
    }

    /// The flow of a key, if it is known.
    pub fn find(&self, key: &FlowKey) -> Option<u32> {
        self.index.get(key).or_else(|| self.migrated.get(key)).copied()
    }

    /// An alternate path was offered. Over one that was taken the same flows go on.
    pub fn alternate(&mut self, alternate: &Alternate) {
        for (primary, offered) in alternate.primary.flows().into_iter().zip(alternate.offered.flows()) {
            if primary == offered {
                continue;
            }
            if !alternate.is_taken {
                if self.refused.insert(offered, alternate.frames).is_none() {
                    self.refused_in_order.push_back(offered);
                }
                if self.refused_in_order.len() > MOST_REFUSED
                    && let Some(old) = self.refused_in_order.pop_front()
                {
                    self.refused.remove(&old);
                }
                continue;
            }
            self.refused.remove(&offered);
            let Some(place) = self.find(&primary) else { continue };
            self.stay(place);
            let Some(flow) = self.get_mut(place) else { continue };
            flow.alternate = Some(offered);
            self.migrated.insert(offered, place);
        }
    }

    /// There is no alternate path for a flow any more.
    pub fn stay(&mut self, place: u32) {
        let alternate = self.get_mut(place).and_then(|flow| flow.alternate.take());
        if let Some(alternate) = alternate.filter(|key| self.migrated.get(key) == Some(&place)) {
            self.migrated.remove(&alternate);
        }
    }

    /// The frames that say that this flow goes over a path that was refused.
    pub fn is_refused(&self, key: &FlowKey) -> Option<[u64; 2]> {
        self.refused.get(key).copied()
    }

    fn get(&self, place: u32) -> Option<&Flow> {
        self.slots.get(place as usize)?.as_ref()
    }

    pub fn get_mut(&mut self, place: u32) -> Option<&mut Flow> {
        self.slots.get_mut(place as usize)?.as_mut()
    }

    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there is too much, so that one is to be [taken out](Self::take_oldest) first.
    pub fn is_full(&self) -> bool {
        self.index.len() > MOST_FLOWS || self.requests > MOST_REQUESTS
    }

    /// The number of what begins next, a flow or a direction of a stream.
    pub fn number(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    /// Adds a flow that is not known yet.
    pub fn add(&mut self, key: FlowKey, transport: TransportKind) -> u32 {
        let number = self.number();
        let flow = Some(Flow::new(key, number, transport));
        let place = match self.free.pop() {
            Some(place) => {
                if let Some(slot) = self.slots.get_mut(place as usize) {
                    *slot = flow;
                }
                place
            }
            None => {
                self.slots.push(flow);
                // Slots are no more than flows may be.
                (self.slots.len() - 1) as u32
            }
        };
        self.index.insert(key, place);
        self.alone.entry((key.source, key.destination)).or_default().push(place);
        place
    }

    /// Takes out a flow that was not heard for long.
    pub fn take_oldest(&mut self) -> Option<Flow> {
        for _ in 0..self.slots.len().saturating_mul(2).saturating_add(1) {
            self.hand = (self.hand + 1) % self.slots.len().max(1);
            match self.slots.get_mut(self.hand)? {
                Some(flow) if flow.is_fresh => flow.is_fresh = false,
                Some(_) => {
                    self.forgotten += 1;
                    return self.remove(self.hand as u32);
                }
                None => {}
            }
        }
        None
    }

    fn remove(&mut self, place: u32) -> Option<Flow> {
        self.stay(place);
        let flow = self.slots.get_mut(place as usize)?.take()?;
        self.free.push(place);
        self.index.remove(&flow.key);
        self.not_alone(&flow.key, place);
        self.requests = self.requests.saturating_sub(flow.window.len());
        if let Some(peer) = flow.peer {
            self.part(peer);
        }
        Some(flow)
    }

    /// Takes out all flows, in the order in which they began.
    pub fn take_all(&mut self) -> Vec<Flow> {
        let mut flows: Vec<Flow> = self.slots.drain(..).flatten().collect();
        flows.sort_by_key(|flow| flow.number);
        flows
    }

    /// Another conversation has begun with the requests of a flow, without connection management. Its peer may be another one, too: who
    /// answers tells.
    pub fn separate(&mut self, place: u32) {
        let Some(flow) = self.get_mut(place).filter(|flow| flow.stats.conversations <= MOST_PARTINGS) else {
            return;
        };
        if let Some(peer) = flow.peer {
            self.part(place);
            self.part(peer);
        }
    }

    /// The only flow from one address to another whose peer is not known, if there is one only.
    pub fn only_without_peer(&self, source: Address, destination: Address) -> Option<u32> {
        match self.alone.get(&(source, destination)).map(Vec::as_slice) {
            Some(&[only]) => Some(only),
            _ => None,
        }
    }

    /// A flow has lost its peer.
    fn part(&mut self, place: u32) {
        let Some(flow) = self.get_mut(place) else { return };
        flow.peer = None;
        flow.searches = 0;
        let between = (flow.key.source, flow.key.destination);
        self.alone.entry(between).or_default().push(place);
    }

    fn not_alone(&mut self, key: &FlowKey, place: u32) {
        let between = (key.source, key.destination);
        if let Some(alone) = self.alone.get_mut(&between) {
            if let Some(at) = alone.iter().position(|other| *other == place) {
                alone.swap_remove(at);
            }
            if alone.is_empty() {
                self.alone.remove(&between);
            }
        }
    }

    /// Two flows are the directions of one connection.
    pub fn pair(&mut self, one: u32, other: u32) {
        if self.get_mut(one).is_some_and(|flow| flow.peer == Some(other)) {
            return;
        }
        let key_of = |place: u32| self.get(place).map(|flow| flow.key);
        let (one_key, other_key) = (key_of(one), key_of(other));
        for (place, new, new_key) in [(one, other, other_key), (other, one, one_key)] {
            let Some(flow) = self.get_mut(place) else { continue };
            flow.peer_key = new_key;
            let (key, old) = (flow.key, flow.peer.replace(new));
            match old {
                Some(old) => self.part(old),
                None => self.not_alone(&key, place),
            }
        }
    }

    /// The flow whose requests a response answers, in whose direction `place` it came. What is not certain is not taken.
    pub fn requests_of(&mut self, place: u32, seen: &Seen<'_>) -> Option<u32> {
        let peer = self.get_mut(place)?.peer;
        if peer.is_some_and(|peer| !self.is_far(peer, seen) && !self.is_over(peer)) {
            return peer;
        }
        let flow = self.get_mut(place)?;
        flow.searches += 1;
        let (searches, udp_source) = (flow.searches, flow.udp_source);
        if searches > SEARCHES && !searches.is_power_of_two() {
            return peer;
        }
        let found = match peer {
            // The queue pair may have been another one's when it was paired: that of other requests, if it fits those.
            Some(_) => self.search_fitting(seen, udp_source).ok().flatten(),
            None => self.search(place, seen, udp_source),
        };
        match found {
            Some(found) => self.pair(found, place),
            None if peer.is_none() => self.get_mut(place)?.doubt(Reason::RequestsUnknown),
            None => {}
        }
        found.or(peer)
    }

    /// Whether a response is far from all that a flow has asked for lately, or it has asked for nothing.
    fn is_far(&self, place: u32, seen: &Seen<'_>) -> bool {
        let flow = self.get(place);
        flow.and_then(|flow| flow.requests.as_ref()).is_none_or(|requests| {
            let psn = seen.bth.psn;
            psn.distance(requests.next) > NEAR || psn.distance(requests.completed) < -NEAR
        })
    }

    /// Whether the responder has refused a request of a flow for good: what comes behind that may be of another conversation.
    fn is_over(&self, place: u32) -> bool {
        let flow = self.get(place);
        flow.is_some_and(|flow| flow.answers.failed.is_some())
    }

    /// The only flow without a peer whose requests wait for this response, if any do. `Err` if several do, and nothing tells which.
    fn search_fitting(&self, seen: &Seen<'_>, udp_source: Option<u16>) -> Result<Option<u32>, Several> {
        let Some(there) = self.alone.get(&(seen.key.destination, seen.key.source)) else { return Ok(None) };
        if there.len() > MOST_SEARCHED {
            return Err(Several);
        }
        let psn = seen.bth.psn;
        let of = |place: &u32| self.get(*place);
        let asks = |flow: &&Flow| flow.requests.is_some() && flow.transport == seen.row.transport;
        // What the capture has lost may leave requests waiting that this does not answer.
        let may_answer = |flow: &&Flow| {
            flow.window.held(psn).is_none_or(|entry| match seen.operation() {
                0x12 => entry.kind == OperationKind::Atomic,
                0x11 => true,
                _ => entry.kind.is_answered() && entry.kind != OperationKind::Atomic,
            })
        };
        let fits = |place: &&u32| {
            of(place).filter(asks).filter(may_answer).and_then(|flow| flow.requests.as_ref()).is_some_and(
                |requests| psn.distance(requests.next) < 0 && psn.distance(requests.completed) >= 0,
            )
        };
        let mut fitting = there.iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (only, None) => Ok(only.copied()),
            _ => {
                // Adapters that choose the port by both queue pairs give both directions the same one.
                let mut same = there.iter().filter(fits).filter(|other| {
                    udp_source.is_some() && of(other).is_some_and(|flow| flow.udp_source == udp_source)
                });
                match (same.next(), same.next()) {
                    (Some(only), None) => Ok(Some(*only)),
                    _ => Err(Several),
                }
            }
        }
    }

    fn search(&self, place: u32, seen: &Seen<'_>, udp_source: Option<u16>) -> Option<u32> {
        if let Some(found) = self.search_fitting(seen, udp_source).ok()? {
            return Some(found);
        }
        let there = self.alone.get(&(seen.key.destination, seen.key.source))?;
        let of = |place: &u32| self.get(*place);
        // It fits no requests. Where there is only one connection, it can be of no other.
        let here = self.alone.get(&(seen.key.source, seen.key.destination))?;
        let connected = |places: &[u32]| {
            let mut of_transport = places
                .iter()
                .filter(|place| of(place).is_some_and(|flow| flow.transport == seen.row.transport));
            match (of_transport.next(), of_transport.next()) {
                (Some(only), None) => Some(*only),
                _ => None,
            }
        };
        let only = connected(there).filter(|_| connected(here) == Some(place))?;
        let requests = of(&only)?.requests.as_ref()?;
        (seen.bth.psn.distance(requests.next).abs() <= NEAR).then_some(only)
    }
}
