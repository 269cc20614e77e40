//! Multicast groups: which UD queue pairs get the datagrams of a group.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use rdmalab_wire::Qpn;

/// Most groups of a port.
const MAX_GROUPS: usize = 1024;
/// Most queue pairs attached to a group.
const MAX_MEMBERS: usize = 64;

/// Why a queue pair was not attached or detached. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MulticastError {
    /// There is no such queue pair.
    NoSuchQueuePair,
    /// Only UD queue pairs take part in multicast.
    NotDatagram,
    /// The address is not a multicast address.
    NotMulticast,
    /// The queue pair is not attached to the group.
    NotAttached,
    /// The port has as many groups as it can have.
    TooManyGroups,
    /// The group has as many queue pairs as it can have.
    TooManyMembers,
}

impl core::fmt::Display for MulticastError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchQueuePair => f.write_str("there is no such queue pair"),
            Self::NotDatagram => f.write_str("only a UD queue pair can be attached to a multicast group"),
            Self::NotMulticast => f.write_str("the address is not a multicast address"),
            Self::NotAttached => f.write_str("the queue pair is not attached to this group"),
            Self::TooManyGroups => write!(f, "the port has {MAX_GROUPS} multicast groups already"),
            Self::TooManyMembers => write!(f, "the group has {MAX_MEMBERS} queue pairs already"),
        }
    }
}

impl core::error::Error for MulticastError {}

/// The groups of a port. Invariant: no group is empty, and no queue pair is in a group twice.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<IpAddr, Vec<Qpn>>);

impl Groups {
    /// Attaches a queue pair; one that is attached already stays so.
    pub(crate) fn join(&mut self, number: Qpn, group: IpAddr) -> Result<(), MulticastError> {
        if !group.is_multicast() {
            return Err(MulticastError::NotMulticast);
        }
        if self.0.len() >= MAX_GROUPS && !self.0.contains_key(&group) {
            return Err(MulticastError::TooManyGroups);
        }
        let members = self.0.entry(group).or_default();
        if members.contains(&number) {
            return Ok(());
        }
        if members.len() >= MAX_MEMBERS {
            return Err(MulticastError::TooManyMembers);
        }
        members.push(number);
        Ok(())
    }

    pub(crate) fn leave(&mut self, number: Qpn, group: IpAddr) -> Result<(), MulticastError> {
        let members = self.0.get_mut(&group).ok_or(MulticastError::NotAttached)?;
        let place = members.iter().position(|&member| member == number).ok_or(MulticastError::NotAttached)?;
        members.remove(place);
        if members.is_empty() {
            self.0.remove(&group);
        }
        Ok(())
    }

    /// Takes a queue pair that goes out of all groups.
    pub(crate) fn leave_all(&mut self, number: Qpn) {
        self.0.retain(|_, members| {
            members.retain(|&member| member != number);
            !members.is_empty()
        });
    }

    /// How many queue pairs a group has, if it exists.
    pub(crate) fn members(&self, group: IpAddr) -> Option<usize> {
        self.0.get(&group).map(Vec::len)
    }

    pub(crate) fn member(&self, group: IpAddr, place: usize) -> Option<Qpn> {
        self.0.get(&group)?.get(place).copied()
    }
}
