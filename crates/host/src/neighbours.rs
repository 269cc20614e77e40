//! The neighbour table: which MAC goes with which address on the link, and the packets that wait for an answer.
//!
//! It owns the entries and their timers; it never sees a frame. What it wants asked it queues as [`Question`]s, and the
//! host writes ARP or NDP for them.
//!
//! Who is believed: an entry is made only for a neighbour we ask for, or one that asked for one of our addresses (it is
//! about to talk to us, RFC 826). Any later ARP or NDP message of an address in the table may change its MAC: that is
//! how these protocols are, and whoever can forge them is on the link already. Data packets make and change nothing:
//! they only confirm a MAC that is already known, so that a conversation under way needs no more questions.
//!
//! Who is to be sent to soon can be looked for ahead ([`Neighbours::look_for`]), so that no packet has to wait.
//!
//! Bounds: [`ENTRIES_MAX`] entries; [`HELD_MAX`] packets each for at most [`HOLDING_MAX`] addresses, of which packets
//! that somebody else provoked (replies) may open only half. An entry nobody here has used gives way to one that is
//! asked for, never the other way round, so a flood of made-up neighbours pushes out only itself.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use core::net::IpAddr;

use rdmalab_wire::EthernetAddress;

use crate::send::{Reach, SendError};

/// Neighbours remembered.
pub(crate) const ENTRIES_MAX: usize = 256;
/// Addresses that packets may wait for at a time.
pub(crate) const HOLDING_MAX: usize = 16;
/// Packets that may wait for one address: what a connection may have under way.
pub(crate) const HELD_MAX: usize = 128;

const SECOND: u64 = 1_000_000_000;
/// Between two questions about the same neighbour, and after giving up before asking again.
pub(crate) const ASK_INTERVAL: u64 = SECOND;
/// Questions without an answer before giving up.
pub(crate) const ASK_TRIES: u32 = 3;
/// How long an answer is believed without doubt. After that the entry still serves, but its next use asks again.
pub(crate) const FRESH_FOR: u64 = 60 * SECOND;
/// A packet from a neighbour confirms its entry at most this often; sparing the table a search per packet.
const CONFIRM_INTERVAL: u64 = SECOND;

/// Something to be asked on the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) target: IpAddr,
    /// The station to ask, where one is believed to have the address; else all.
    pub(crate) at: Option<EthernetAddress>,
}

/// On whose behalf a packet is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Ours: RoCE packets, connections.
    Own,
    /// A packet that arrived provoked it.
    Reply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing known; this many questions asked.
    Asking { asked: u32 },
    /// Known. `confirmed_at` is `None` while there is reason to doubt it; `asked` counts the questions since then.
    Known { mac: EthernetAddress, confirmed_at: Option<u64>, asked: u32 },
    /// Gave up; not asked again until the timer.
    Silent,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// Packets waiting, oldest first.
    held: VecDeque<Vec<u8>>,
    /// The entry's one timer, also in `Neighbours::timers`.
    timer: Option<u64>,
    /// Whether this host ever sent to it or asked for it.
    used: bool,
    touched_at: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    entries: BTreeMap<IpAddr, Entry>,
    timers: BTreeSet<(u64, IpAddr)>,
    questions: VecDeque<Question>,
    /// Addresses that were resolved while packets waited, in the order of their answers.
    released: VecDeque<IpAddr>,
    /// Addresses with packets waiting.
    holding: usize,
    /// What `confirm` last did, and until when it need not be done again.
    last_confirmed: Option<(IpAddr, EthernetAddress, u64)>,
    /// How often an answer came that was missing, or was given up on.
    settled: u64,
    pub(crate) changed: u64,
    pub(crate) failed: u64,
}

impl Neighbours {
    /// The MAC of a neighbour, if a packet may go out at once: known, and no earlier packet waits.
    pub(crate) fn resolve(&mut self, now: u64, address: IpAddr) -> Option<EthernetAddress> {
        let entry = self.entries.get_mut(&address)?;
        let State::Known { mac, confirmed_at, asked } = entry.state else { return None };
        entry.used = true;
        entry.touched_at = now;
        let doubtful = confirmed_at.is_none_or(|at| now.saturating_sub(at) > FRESH_FOR);
        if doubtful && asked == 0 {
            entry.state = State::Known { mac, confirmed_at: None, asked: 1 };
            self.ask(now, Question { target: address, at: Some(mac) });
        }
        self.entries.get(&address)?.held.is_empty().then_some(mac)
    }

    /// Looks for a neighbour ahead of packets. Unlike for a packet, one that was silent lately is asked at once again.
    pub(crate) fn look_for(&mut self, now: u64, address: IpAddr) -> Reach {
        if let Some(entry) = self.entries.get_mut(&address)
            && entry.state == State::Silent
        {
            entry.state = State::Asking { asked: 1 };
            (entry.used, entry.touched_at) = (true, now);
            self.ask(now, Question { target: address, at: None });
        } else if !self.entries.contains_key(&address) {
            return if self.begin(now, address) { Reach::Asking } else { Reach::Silent };
        }
        // Refreshes one that is old.
        let _ = self.resolve(now, address);
        self.reach(address)
    }

    /// How it stands with a neighbour that was looked for.
    pub(crate) fn reach(&self, address: IpAddr) -> Reach {
        match self.entries.get(&address).map(|entry| entry.state) {
            Some(State::Known { .. }) => Reach::Known,
            Some(State::Asking { .. }) => Reach::Asking,
            // One that is not in the table had to give way to others.
            Some(State::Silent) | None => Reach::Silent,
        }
    }

    /// Changes whenever a neighbour that was looked for is found or given up.
    pub(crate) fn settled(&self) -> u64 {
        self.settled
    }

    /// Makes an entry and asks, if there is room.
    fn begin(&mut self, now: u64, address: IpAddr) -> bool {
        if !self.make_room(true) {
            return false;
        }
        let state = State::Asking { asked: 1 };
        let entry = Entry { state, held: VecDeque::new(), timer: None, used: true, touched_at: now };
        self.entries.insert(address, entry);
        self.ask(now, Question { target: address, at: None });
        true
    }

    /// What the table knows, without touching it.
    pub(crate) fn known(&self, address: IpAddr) -> Option<EthernetAddress> {
        match self.entries.get(&address)?.state {
            State::Known { mac, .. } => Some(mac),
            _ => None,
        }
    }

    /// Whether a packet to this address could be held now; asks for it if nobody has.
    pub(crate) fn prepare(&mut self, now: u64, address: IpAddr, origin: Origin) -> Result<(), SendError> {
        let opens = match self.entries.get(&address) {
            Some(Entry { state: State::Silent, .. }) => return Err(SendError::Unreachable),
            Some(entry) if entry.held.len() >= HELD_MAX => return Err(SendError::QueueFull),
            Some(entry) => entry.held.is_empty(),
            None => true,
        };
        let limit = match origin {
            Origin::Own => HOLDING_MAX,
            Origin::Reply => HOLDING_MAX / 2,
        };
        if opens && self.holding >= limit {
            return Err(SendError::QueueFull);
        }
        if self.entries.contains_key(&address) || self.begin(now, address) {
            Ok(())
        } else {
            Err(SendError::QueueFull)
        }
    }

    /// Keeps a packet for a neighbour; right after [`prepare`](Self::prepare) said so.
    pub(crate) fn hold(&mut self, address: IpAddr, packet: Vec<u8>) {
        if let Some(entry) = self.entries.get_mut(&address) {
            self.holding += usize::from(entry.held.is_empty());
            entry.held.push_back(packet);
        }
    }

    /// A neighbour asked for one of our addresses and told its own.
    pub(crate) fn learn_from_request(&mut self, now: u64, address: IpAddr, mac: EthernetAddress) {
        if !self.entries.contains_key(&address) {
            if !self.make_room(false) {
                return;
            }
            let state = State::Known { mac, confirmed_at: Some(now), asked: 0 };
            let entry = Entry { state, held: VecDeque::new(), timer: None, used: false, touched_at: now };
            self.entries.insert(address, entry);
        }
        self.learn(now, address, mac, true);
    }

    /// A neighbour told its MAC, asked or unasked; only an address already in the table is taken in. Without
    /// `overrides` a different MAC that is known already stays, but is doubted (RFC 4861 §7.2.5).
    pub(crate) fn learn(&mut self, now: u64, address: IpAddr, mac: EthernetAddress, overrides: bool) {
        let Some(entry) = self.entries.get_mut(&address) else { return };
        if let State::Known { mac: known, asked, .. } = entry.state
            && known != mac
        {
            if !overrides {
                entry.state = State::Known { mac: known, confirmed_at: None, asked };
                self.last_confirmed = None;
                return;
            }
            self.changed += 1;
        }
        let was_missing = !matches!(entry.state, State::Known { .. });
        let waited = was_missing && !entry.held.is_empty();
        self.settled += u64::from(was_missing);
        entry.state = State::Known { mac, confirmed_at: Some(now), asked: 0 };
        entry.touched_at = now;
        if waited {
            self.released.push_back(address);
        }
        self.last_confirmed = None;
        self.set_timer(address, None);
    }

    /// A data packet came from this neighbour with this MAC.
    pub(crate) fn confirm(&mut self, now: u64, address: IpAddr, mac: EthernetAddress) {
        if self.last_confirmed.is_some_and(|(a, m, until)| a == address && m == mac && now < until) {
            return;
        }
        let Some(entry) = self.entries.get_mut(&address) else { return };
        if let State::Known { mac: known, .. } = entry.state
            && known == mac
        {
            entry.state = State::Known { mac, confirmed_at: Some(now), asked: 0 };
            entry.touched_at = now;
            self.last_confirmed = Some((address, mac, now.saturating_add(CONFIRM_INTERVAL)));
            self.set_timer(address, None);
        }
    }

    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether a question or a released packet can be taken out.
    pub(crate) fn has_output(&self) -> bool {
        !self.questions.is_empty() || !self.released.is_empty()
    }

    /// Asks again, and gives up. Returns the neighbours given up with the packets that waited for each.
    pub(crate) fn handle_timeout(&mut self, now: u64) -> Vec<(IpAddr, usize)> {
        let mut given_up = Vec::new();
        while let Some((at, address)) = self.timers.first().copied()
            && at <= now
        {
            self.set_timer(address, None);
            let Some(entry) = self.entries.get_mut(&address) else { continue };
            match &mut entry.state {
                State::Silent => {
                    self.entries.remove(&address);
                }
                State::Asking { asked } | State::Known { asked, .. } if *asked < ASK_TRIES => {
                    *asked += 1;
                    // The believed MAC was asked first; from now on everybody is, should the address have moved.
                    self.ask(now, Question { target: address, at: None });
                }
                State::Asking { .. } | State::Known { .. } => {
                    entry.state = State::Silent;
                    let lost = core::mem::take(&mut entry.held).len();
                    self.holding -= usize::from(lost != 0);
                    self.failed += 1;
                    self.settled += 1;
                    given_up.push((address, lost));
                    self.released.retain(|released| *released != address);
                    self.set_timer(address, Some(now.saturating_add(ASK_INTERVAL)));
                }
            }
        }
        given_up
    }

    pub(crate) fn next_question(&mut self) -> Option<Question> {
        self.questions.pop_front()
    }

    /// The next packet that waited and may go now, in the order they were handed in.
    pub(crate) fn next_released(&mut self) -> Option<(EthernetAddress, Vec<u8>)> {
        while let Some(address) = self.released.front() {
            if let Some(entry) = self.entries.get_mut(address)
                && let State::Known { mac, .. } = entry.state
                && let Some(packet) = entry.held.pop_front()
            {
                if entry.held.is_empty() {
                    self.holding -= 1;
                    self.released.pop_front();
                }
                return Some((mac, packet));
            }
            self.released.pop_front();
        }
        None
    }

    fn ask(&mut self, now: u64, question: Question) {
        // Nobody takes frames out if the queue is this long; the timer will ask again.
        if self.questions.len() < ENTRIES_MAX {
            self.questions.push_back(question);
        }
        self.set_timer(question.target, Some(now.saturating_add(ASK_INTERVAL)));
    }

    fn set_timer(&mut self, address: IpAddr, at: Option<u64>) {
        let Some(entry) = self.entries.get_mut(&address) else { return };
        if let Some(old) = entry.timer.take() {
            self.timers.remove(&(old, address));
        }
        if let Some(at) = at {
            entry.timer = Some(at);
            self.timers.insert((at, address));
        }
    }

    /// Makes sure that one more entry fits. `asked_for` may displace a neighbour in use, the longest unused first.
    fn make_room(&mut self, asked_for: bool) -> bool {
        if self.entries.len() < ENTRIES_MAX {
            return true;
        }
        let victim = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.held.is_empty() && (asked_for || !entry.used))
            .min_by_key(|(_, entry)| (entry.used, entry.touched_at))
            .map(|(address, _)| *address);
        let Some(victim) = victim else { return false };
        self.set_timer(victim, None);
        self.entries.remove(&victim);
        true
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}
