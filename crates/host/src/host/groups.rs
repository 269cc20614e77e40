//! Multicast groups: joining and leaving them, and what routers ask and are told.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rdmalab_wire::Ipv6Header;
use rdmalab_wire::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};

use super::Host;
use crate::addresses::group_address;
use crate::counters::DropReason;
use crate::membership::{GroupError, Record, Report, igmp, mld};

impl Host {
    /// Joins a multicast group: RoCE packets for it are handed on, and the link is told (IGMPv3, MLDv2). Joining again is
    /// counted; it takes as many [`leave`](Self::leave)s.
    pub fn join(&mut self, now: u64, group: IpAddr) -> Result<(), GroupError> {
        self.memberships.join(now, group)
    }

    /// Leaves a multicast group.
    pub fn leave(&mut self, now: u64, group: IpAddr) -> Result<(), GroupError> {
        self.memberships.leave(now, group)
    }

    pub(super) fn handle_igmp(
        &mut self,
        now: u64,
        message: &[u8],
        destination: Ipv4Addr,
    ) -> Result<(), DropReason> {
        // What other members tell is of no use here.
        let query = igmp::query(message, destination).ok_or(DropReason::Ignored)?;
        self.counters.received_queries += 1;
        self.memberships.handle_query(now, query);
        Ok(())
    }

    pub(super) fn handle_mld(
        &mut self,
        now: u64,
        header: &Ipv6Header,
        message: &[u8],
    ) -> Result<(), DropReason> {
        let query = mld::query(header, message).ok_or(DropReason::Ignored)?;
        self.counters.received_queries += 1;
        self.memberships.handle_query(now, query);
        Ok(())
    }

    /// Puts a report on the link.
    pub(super) fn tell(&mut self, report: &Report) {
        let family = match report {
            Report::Records(records) => records.first().map(|(_, group)| *group),
            Report::Member(group) | Report::Left(group) => Some(*group),
        };
        let Some(family) = family else { return };
        let mut packet = self.stack.buffer();
        let to = if family.is_ipv4() {
            self.tell_v4(report, &mut packet)
        } else {
            self.tell_v6(report, &mut packet)
        };
        let ethertype = if family.is_ipv4() { ETHERTYPE_IPV4 } else { ETHERTYPE_IPV6 };
        if let Some(to) = to
            && let Some(mut frame) = self.control_frame(group_address(to), ethertype)
        {
            frame.extend_from_slice(&packet);
            self.frames.push_back(frame);
        }
        self.stack.recycle(packet);
    }

    fn tell_v4(&self, report: &Report, out: &mut Vec<u8>) -> Option<IpAddr> {
        let own = self.addresses.list().iter().find_map(|own| match own.address {
            IpAddr::V4(own) => Some(own),
            IpAddr::V6(_) => None,
        });
        // RFC 3376 §4.2.13 allows it to a host that has no address.
        let source = own.unwrap_or(Ipv4Addr::UNSPECIFIED);
        let v4 = |group: IpAddr| if let IpAddr::V4(group) = group { Some(group) } else { None };
        let to = match report {
            Report::Records(records) => {
                let records: Vec<(Record, Ipv4Addr)> =
                    records.iter().filter_map(|(record, group)| Some((*record, v4(*group)?))).collect();
                igmp::report(source, &records, out)
            }
            Report::Member(group) => igmp::old_report(source, v4(*group)?, false, out),
            Report::Left(group) => igmp::old_report(source, v4(*group)?, true, out),
        };
        Some(to.into())
    }

    fn tell_v6(&self, report: &Report, out: &mut Vec<u8>) -> Option<IpAddr> {
        let own = self.addresses.list().iter().find_map(|own| match own.address {
            IpAddr::V6(own) if own.is_unicast_link_local() => Some(own),
            _ => None,
        });
        // RFC 3810 §5.2.13: a link-local address, or none.
        let source = own.unwrap_or(Ipv6Addr::UNSPECIFIED);
        let v6 = |group: IpAddr| if let IpAddr::V6(group) = group { Some(group) } else { None };
        let to = match report {
            Report::Records(records) => {
                let records: Vec<(Record, Ipv6Addr)> =
                    records.iter().filter_map(|(record, group)| Some((*record, v6(*group)?))).collect();
                mld::report(source, &records, out)
            }
            Report::Member(group) => mld::old_report(source, v6(*group)?, false, out),
            Report::Left(group) => mld::old_report(source, v6(*group)?, true, out),
        };
        Some(to.into())
    }
}
