//! What a queue pair was made with and what `modify` set, as plain values. What all of a port share is in its
//! [`EndpointConfig`].

use core::net::IpAddr;

use rdmalab_verbs::{
    Access, Accessor, Attachment, Attributes, CompletionQueueId, Context, Path, ProtectionDomainId,
    QueuePairType, SharedReceiveQueueId, XrcDomainId,
};
use rdmalab_wire::{
    Bth, Datagram, Ecn, NetworkHeader, PKey, PathMtu, Psn, QKey, Qpn, Transport, ack_timeout_nanoseconds,
};

use crate::assembly::checks::MAX_MESSAGE;
use crate::config::{EndpointConfig, QueuePairConfig};
use crate::profile::{Notifications, Profile};
use crate::requester::MAX_OUTSTANDING;

/// In 64 bytes, since each packet wants something of it; what only `modify` and rare packets ask for stands elsewhere.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Settings {
    /// A number that no other queue pair ever has, to which windows are bound.
    pub(crate) serial: u64,
    pub(crate) number: Qpn,
    pub(crate) destination: Qpn,
    pub(crate) protection_domain: ProtectionDomainId,
    pub(crate) send_queue: CompletionQueueId,
    pub(crate) receive_queue: CompletionQueueId,
    pub(crate) shared: Option<SharedReceiveQueueId>,
    pub(crate) queue_key: QKey,
    pub(crate) partition_index: u16,
    pub(crate) partition_key: PKey,
    pub(crate) access: Access,
    pub(crate) kind: QueuePairType,
    pub(crate) mtu: PathMtu,
    pub(crate) signals_all: bool,
    pub(crate) max_destination_reads: u8,
    pub(crate) max_reads: u8,
    pub(crate) min_rnr_timer: u8,
    /// The local ACK timeout as a code; with 0, lost packets are never noticed.
    pub(crate) timeout: u8,
    pub(crate) retry_count: u8,
    pub(crate) rnr_retry: u8,
    pub(crate) xrc_domain: Option<XrcDomainId>,
}

impl Settings {
    pub(crate) fn new(number: Qpn, config: &QueuePairConfig, port: &EndpointConfig, serial: u64) -> Self {
        Self {
            serial,
            number,
            destination: Qpn::default(),
            protection_domain: config.protection_domain,
            send_queue: config.send_queue,
            receive_queue: config.receive_queue,
            shared: config.shared_receive_queue,
            queue_key: QKey::default(),
            partition_index: 0,
            partition_key: port.partition_keys.first().copied().unwrap_or(PKey::DEFAULT),
            access: Access::empty(),
            kind: config.kind,
            // A datagram is as long as the port allows; a connection learns its path MTU later.
            mtu: if config.kind == QueuePairType::Ud { port.max_mtu } else { PathMtu::M256 },
            signals_all: config.signals_all,
            max_destination_reads: 0,
            max_reads: 0,
            min_rnr_timer: 0,
            timeout: 0,
            retry_count: 0,
            rnr_retry: 0,
            xrc_domain: config.xrc_domain,
        }
    }

    /// The objects that the queue pair holds on to.
    pub(crate) fn attachment(&self) -> Attachment {
        Attachment {
            protection_domain: Some(self.protection_domain),
            send_queue: Some(self.send_queue),
            receive_queue: Some(self.receive_queue),
            shared: self.shared,
            xrc_domain: self.xrc_domain,
        }
    }

    pub(crate) fn apply(&mut self, attributes: &Attributes, port: &EndpointConfig) {
        fn set<T>(value: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *value = new;
            }
        }
        set(&mut self.partition_index, attributes.partition_index);
        if let Some(&key) = port.partition_keys.get(usize::from(self.partition_index)) {
            self.partition_key = key;
        }
        set(&mut self.queue_key, attributes.queue_key);
        set(&mut self.access, attributes.access);
        set(&mut self.mtu, attributes.path_mtu);
        set(&mut self.destination, attributes.destination);
        set(&mut self.max_destination_reads, attributes.max_destination_reads);
        set(&mut self.max_reads, attributes.max_reads);
        set(&mut self.min_rnr_timer, attributes.min_rnr_timer);
        set(&mut self.retry_count, attributes.retry_count);
        set(&mut self.rnr_retry, attributes.rnr_retry);
        set(&mut self.timeout, attributes.timeout);
    }

    /// Who we are when memory is asked for.
    pub(crate) fn accessor(&self) -> Accessor {
        Accessor { protection_domain: self.protection_domain, queue_pair: self.serial }
    }

    /// The local ACK timeout in nanoseconds, if there is one.
    pub(crate) fn ack_timeout(&self) -> Option<u64> {
        ack_timeout_nanoseconds(self.timeout)
    }

    /// The transport of answers to the peer.
    pub(crate) fn response_transport(&self) -> Transport {
        if self.kind.is_xrc() { Transport::Xrc(None) } else { Transport::Rc }
    }

    /// Whether completions are lost, since one of the queues they go to has overrun.
    pub(crate) fn has_overrun(&self, context: &Context) -> bool {
        context.is_overrun(self.send_queue) || context.is_overrun(self.receive_queue)
    }

    /// The base header of a packet to the peer.
    #[inline]
    pub(crate) fn bth(&self, psn: Psn, profile: &Profile) -> Bth {
        Bth {
            partition_key: self.partition_key,
            migrated: profile.migrated,
            ..Bth::new(self.destination, psn)
        }
    }

    /// Whether the peer is told how many receives are posted. A shared queue's cannot be promised to one peer.
    pub(crate) fn grants_credits(&self, profile: &Profile) -> bool {
        profile.credits && self.kind == QueuePairType::Rc && self.shared.is_none()
    }

    /// Whether the peer's credits limit what is sent.
    pub(crate) fn honours_credits(&self, profile: &Profile) -> bool {
        profile.credits && self.kind == QueuePairType::Rc
    }

    /// Longest message of a reliable connection: its PSNs must be told from duplicates.
    pub(crate) fn longest_reliable(&self) -> u32 {
        (u64::from(MAX_OUTSTANDING) * self.mtu.bytes() as u64).min(u64::from(MAX_MESSAGE)) as u32
    }

    /// Longest message of an unreliable queue pair: one packet, if it is a datagram.
    pub(crate) fn longest_unreliable(&self) -> u32 {
        if self.kind == QueuePairType::Ud { self.mtu.bytes() as u32 } else { self.longest_reliable() }
    }
}

/// The headers in front of every packet of a flow.
pub(crate) fn network_header(
    path: &Path,
    number: Qpn,
    destination: Qpn,
    port: &EndpointConfig,
) -> Option<NetworkHeader> {
    let ecn = match Ecn::from_bits(path.traffic_class) {
        Ecn::NotEct if port.profile.ecn_capable => Ecn::Ect0,
        ecn => ecn,
    };
    let source_port = port.ip_layer.source_port().unwrap_or_else(|| source_port(number, destination));
    let dscp = path.traffic_class >> 2;
    NetworkHeader::new(path.source, path.destination, source_port, dscp, ecn, path.hop_limit)
}

/// The headers in front of a congestion notification to the peer.
pub(crate) fn notification_header(
    path: &Path,
    settings: &Settings,
    port: &EndpointConfig,
    notifications: &Notifications,
) -> Option<NetworkHeader> {
    let source_port = port.ip_layer.source_port().or(notifications.source_port);
    let source_port = source_port.unwrap_or_else(|| self::source_port(settings.number, settings.destination));
    let ecn = if port.profile.ecn_capable { Ecn::Ect0 } else { Ecn::NotEct };
    NetworkHeader::new(path.source, path.destination, source_port, notifications.dscp, ecn, path.hop_limit)
}

/// Whether a packet goes the opposite way of those that have this header. It is compared with the header and not with
/// the path, since the header is what the queue pair needs anyway.
pub(crate) fn is_answered_by(header: &NetworkHeader, datagram: &Datagram<'_>) -> bool {
    match (header, datagram.source, datagram.destination) {
        (NetworkHeader::V4(ours), IpAddr::V4(source), IpAddr::V4(destination)) => {
            ours[12..16] == destination.octets() && ours[16..20] == source.octets()
        }
        (NetworkHeader::V6(ours), IpAddr::V6(source), IpAddr::V6(destination)) => {
            ours[8..24] == destination.octets() && ours[24..40] == source.octets()
        }
        _ => false,
    }
}

/// The UDP source port of a flow, in the dynamic range, so that routers can spread flows: the product of the two numbers,
/// folded into the 20 bits of a flow label and those into 14. Linux and adapters agreed on it:
/// <https://lore.kernel.org/linux-rdma/de3aeeb7-41ef-fadc-7865-e3e9fc005476@mellanox.com/t/>.
fn source_port(number: Qpn, destination: Qpn) -> u16 {
    let product = u64::from(number.value()) * u64::from(destination.value());
    let label = (product ^ product >> 20 ^ product >> 40) & 0xf_ffff;
    0xc000 | ((label ^ label >> 14) & 0x3fff) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_ports_are_those_of_rxe_in_captures() {
        for (number, port) in [(17, 49441), (24, 49728), (25, 49777)] {
            assert_eq!(source_port(Qpn::new(number), Qpn::new(number)), port);
        }
    }

    #[test]
    fn both_directions_of_a_flow_have_one_source_port_from_the_dynamic_range() {
        for (a, b) in [(0x12_3456, 0xff_fffe), (1, 0xff_ffff), (0x80, 0x81), (0xff_ffff, 0xff_ffff)] {
            let port = source_port(Qpn::new(a), Qpn::new(b));
            assert_eq!(port, source_port(Qpn::new(b), Qpn::new(a)));
            assert!(port >= 0xc000);
        }
    }
}
