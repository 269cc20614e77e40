//! Which multicast groups the host is in, and when routers and switches are told of it: IGMPv3 (RFC 3376) and MLDv2
//! (RFC 3810), and IGMPv2 (RFC 2236) and MLDv1 (RFC 2710) where somebody asks by these.
//!
//! It owns the groups and their timers; it never sees a packet. What is to be told comes out as [`Report`]s, and
//! `igmp.rs` and `mld.rs` know the bytes. A group is always joined for whatever source ("exclude mode without sources").
//!
//! A group is told when it is joined and when it is left, each a second time some moments later in case the first was
//! lost, and to whoever asks, some moments after the question. Which moments follows from the host's seed. The groups of
//! all nodes are never told of.
//!
//! Not done: keeping silent when another member has answered the same question (RFC 2236 §3 would allow it), IGMPv1, and
//! answers about single sources (all of the group is told instead).
//!
//! Bounds: [`GROUPS_MAX`] groups beside those of the host's own addresses. However many questions come, one answer at a
//! time is pending for each group, at a random moment in no less than a tenth of a second.

pub(crate) mod igmp;
pub(crate) mod mld;

use std::collections::BTreeMap;

use core::fmt;
use core::net::IpAddr;

use crate::config::HostConfig;
use crate::receive::{ALL_NODES, ALL_SYSTEMS};

/// Groups that may be joined at a time.
pub const GROUPS_MAX: usize = 64;
/// Groups in one report: with the largest IPv6 records it fits the smallest MTU.
const RECORDS_MAX: usize = 32;

const SECOND: u64 = 1_000_000_000;
/// Defaults of RFC 3376 §8 and RFC 3810 §9: how often a change is told, the time in which that is repeated (the older
/// versions take ten times as long), and how long an older version counts after its last question: twice the time
/// between questions, and the time for an answer.
const ROBUSTNESS: u8 = 2;
const REPEAT_WITHIN: u64 = SECOND;
const OLD_REPEAT_WITHIN: u64 = 10 * SECOND;
const OLD_FOR: u64 = 260 * SECOND;
/// The least time in which an answer is due.
const ANSWER_WITHIN: u64 = SECOND / 10;

/// Why a group was not joined or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// The address is no group's.
    NotAGroup,
    /// The host is in [`GROUPS_MAX`] groups.
    TooMany,
    /// The host has not joined it, or has left it as often as joined it.
    NotJoined,
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAGroup => f.write_str("not the address of a multicast group"),
            Self::TooMany => write!(f, "the host is in {GROUPS_MAX} multicast groups already"),
            Self::NotJoined => f.write_str("the host is not in this multicast group"),
        }
    }
}

impl core::error::Error for GroupError {}

/// What a report says of a group. The numbers are those of both protocols (RFC 3376 §4.2.12, RFC 3810 §5.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Record {
    Member = 2,
    Left = 3,
    Joined = 4,
}

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// In one message of the current version; all of one family, and never none.
    Records(Vec<(Record, IpAddr)>),
    /// In the older versions: we are in this group.
    Member(IpAddr),
    /// We are not any more.
    Left(IpAddr),
}

/// A question that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    /// The group asked for; all, if it is unspecified, which also tells the family.
    pub(crate) group: IpAddr,
    /// How long answers may take, in nanoseconds.
    pub(crate) within: u64,
    /// How often a change is to be told; the current versions only.
    pub(crate) robustness: Option<u8>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    /// It goes with an address of ours.
    own: bool,
    /// How often it was joined and not left.
    users: u32,
    /// A change to tell, how often still, and when next.
    change: Option<(Record, u8, u64)>,
    /// When a question is to be answered.
    answer_at: Option<u64>,
}

impl Group {
    fn is_joined(&self) -> bool {
        self.own || self.users > 0
    }
}

/// What is known of those who ask in one family.
#[derive(Clone, Debug)]
struct Querier {
    /// Until when only the older version is spoken.
    old_until: Option<u64>,
    robustness: u8,
    /// When a question for all groups is to be answered.
    answer_at: Option<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Memberships {
    groups: BTreeMap<IpAddr, Group>,
    v4: Querier,
    v6: Querier,
    /// The earliest of all timers.
    next: Option<u64>,
    random: u64,
}

impl Memberships {
    /// From a validated configuration: in the groups of the host's own addresses.
    pub(crate) fn new(config: &HostConfig, own: impl Iterator<Item = IpAddr>) -> Self {
        let groups = own.map(|group| (group, Group { own: true, ..Group::default() })).collect();
        let querier = Querier { old_until: None, robustness: ROBUSTNESS, answer_at: None };
        Self { groups, v4: querier.clone(), v6: querier, next: None, random: config.seed }
    }

    pub(crate) fn is_joined(&self, group: IpAddr) -> bool {
        self.groups.get(&group).is_some_and(Group::is_joined)
    }

    pub(crate) fn join(&mut self, now: u64, group: IpAddr) -> Result<(), GroupError> {
        if !group.is_multicast() {
            return Err(GroupError::NotAGroup);
        }
        if !self.groups.contains_key(&group) && !self.make_room() {
            return Err(GroupError::TooMany);
        }
        let robustness = self.querier(group).robustness;
        let entry = self.groups.entry(group).or_default();
        let was_joined = entry.is_joined();
        entry.users = entry.users.saturating_add(1);
        if !was_joined && is_told(group) {
            entry.change = Some((Record::Joined, robustness, now));
        }
        self.find_next();
        Ok(())
    }

    pub(crate) fn leave(&mut self, now: u64, group: IpAddr) -> Result<(), GroupError> {
        let robustness = self.querier(group).robustness;
        let entry = self.groups.get_mut(&group).filter(|entry| entry.users > 0);
        let entry = entry.ok_or(GroupError::NotJoined)?;
        entry.users -= 1;
        if !entry.is_joined() {
            entry.answer_at = None;
            if is_told(group) {
                entry.change = Some((Record::Left, robustness, now));
            } else {
                self.groups.remove(&group);
            }
        }
        self.find_next();
        Ok(())
    }

    /// Tells all groups as if they had just been joined.
    pub(crate) fn announce(&mut self) {
        let robustness = [self.v4.robustness, self.v6.robustness];
        for (group, entry) in &mut self.groups {
            if entry.is_joined() && is_told(*group) {
                entry.change = Some((Record::Joined, robustness[usize::from(group.is_ipv6())], 0));
            }
        }
        self.find_next();
    }

    pub(crate) fn handle_query(&mut self, now: u64, query: Query) {
        let is_ipv4 = query.group.is_ipv4();
        let querier = if is_ipv4 { &mut self.v4 } else { &mut self.v6 };
        match query.robustness {
            Some(robustness) => querier.robustness = if robustness == 0 { ROBUSTNESS } else { robustness },
            None => {
                if querier.old_until.is_none_or(|until| until <= now) {
                    // RFC 3376 §7.2.1: what is pending is forgotten, all of it was about to be said otherwise.
                    querier.answer_at = None;
                    self.forget_pending(is_ipv4);
                }
                self.querier_mut(is_ipv4).old_until = Some(now.saturating_add(OLD_FOR));
            }
        }
        let within = query.within.max(ANSWER_WITHIN);
        if query.group.is_unspecified() && !self.is_old(is_ipv4, now) {
            let mut random = self.random;
            let querier = self.querier_mut(is_ipv4);
            querier.answer_at = Some(answer_at(querier.answer_at, now, within, &mut random));
            self.random = random;
        } else {
            let mut random = self.random;
            for (group, entry) in &mut self.groups {
                let concerned =
                    query.group == *group || query.group.is_unspecified() && group.is_ipv4() == is_ipv4;
                if concerned && entry.is_joined() && is_told(*group) {
                    entry.answer_at = Some(answer_at(entry.answer_at, now, within, &mut random));
                }
            }
            self.random = random;
        }
        self.find_next();
    }

    /// When [`next_report`](Self::next_report) has something.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        self.next
    }

    /// The next thing to be told by `now`.
    pub(crate) fn next_report(&mut self, now: u64) -> Option<Report> {
        while self.next.is_some_and(|at| at <= now) {
            let due = [true, false].into_iter().find_map(|is_ipv4| self.due(now, is_ipv4));
            self.groups.retain(|_, entry| entry.is_joined() || entry.change.is_some());
            self.find_next();
            if due.is_some() {
                return due;
            }
        }
        None
    }

    fn due(&mut self, now: u64, is_ipv4: bool) -> Option<Report> {
        let is_old = self.is_old(is_ipv4, now);
        let querier = self.querier_mut(is_ipv4);
        if querier.answer_at.is_some_and(|at| at <= now) {
            querier.answer_at = None;
            for (group, entry) in self.groups.iter_mut().filter(|(group, _)| group.is_ipv4() == is_ipv4) {
                if entry.is_joined() && is_told(*group) {
                    entry.answer_at = Some(now);
                }
            }
        }
        let mut records = Vec::new();
        let mut random = self.random;
        let repeat_within = if is_old { OLD_REPEAT_WITHIN } else { REPEAT_WITHIN };
        // Changes and answers are told apart, as RFC 3376 §5.1 and §5.2 do.
        for changes in [true, false] {
            for (group, entry) in self.groups.iter_mut().filter(|(group, _)| group.is_ipv4() == is_ipv4) {
                if records.len() == if is_old { 1 } else { RECORDS_MAX } {
                    break;
                }
                match entry.change {
                    Some((record, left, at)) if changes && at <= now => {
                        // Leaving is told once in the older versions.
                        let left = if is_old && record == Record::Left { 0 } else { left.saturating_sub(1) };
                        let at = now.saturating_add(next_random(&mut random) % repeat_within);
                        entry.change = (left > 0).then_some((record, left, at));
                        records.push((record, *group));
                    }
                    _ if !changes && entry.answer_at.is_some_and(|at| at <= now) => {
                        entry.answer_at = None;
                        records.push((Record::Member, *group));
                    }
                    _ => {}
                }
            }
            if !records.is_empty() {
                break;
            }
        }
        self.random = random;
        match *records {
            [] => None,
            [(Record::Left, group)] if is_old => Some(Report::Left(group)),
            [(_, group)] if is_old => Some(Report::Member(group)),
            _ => Some(Report::Records(records)),
        }
    }

    fn forget_pending(&mut self, is_ipv4: bool) {
        for (_, entry) in self.groups.iter_mut().filter(|(group, _)| group.is_ipv4() == is_ipv4) {
            (entry.change, entry.answer_at) = (None, None);
        }
        self.groups.retain(|_, entry| entry.is_joined());
    }

    /// Makes sure that one more group fits; one that is only remembered for telling that it was left gives way.
    fn make_room(&mut self) -> bool {
        let joined = |(_, entry): &(&IpAddr, &Group)| !entry.own;
        if self.groups.iter().filter(joined).count() < GROUPS_MAX {
            return true;
        }
        let left = self.groups.iter().find(|(_, entry)| !entry.is_joined()).map(|(group, _)| *group);
        left.is_some_and(|group| self.groups.remove(&group).is_some())
    }

    fn find_next(&mut self) {
        let of_group = |group: &Group| [group.change.map(|(_, _, at)| at), group.answer_at];
        let of_groups = self.groups.values().flat_map(of_group);
        self.next = of_groups.chain([self.v4.answer_at, self.v6.answer_at]).flatten().min();
    }

    fn is_old(&self, is_ipv4: bool, now: u64) -> bool {
        let querier = if is_ipv4 { &self.v4 } else { &self.v6 };
        querier.old_until.is_some_and(|until| until > now)
    }

    fn querier(&self, group: IpAddr) -> &Querier {
        if group.is_ipv4() { &self.v4 } else { &self.v6 }
    }

    fn querier_mut(&mut self, is_ipv4: bool) -> &mut Querier {
        if is_ipv4 { &mut self.v4 } else { &mut self.v6 }
    }
}

/// When a question is answered: at some moment within its time, or when an earlier one is, if that is not too late (RFC
/// 2236 §3; so a flood of questions draws no flood of answers).
fn answer_at(pending: Option<u64>, now: u64, within: u64, random: &mut u64) -> u64 {
    let pending = pending.filter(|at| *at <= now.saturating_add(within));
    pending.unwrap_or_else(|| now.saturating_add(next_random(random) % within))
}

/// SplitMix64: spreads answers in time, nothing depends on its quality.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Whether a group is reported: not those of all nodes (RFC 3376 §6, RFC 3810 §6), nor those that reach no other node.
fn is_told(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(v4) => v4 != ALL_SYSTEMS,
        IpAddr::V6(v6) => v6 != ALL_NODES && v6.octets()[1] & 0x0f > 1,
    }
}
