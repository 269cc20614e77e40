//! Checksums of one packet.

use rdmalab_trace::{Dissection, Icrc, Network, Record, Roce, Vcrc};
use rdmalab_wire::checksum::{self, Sum};
use rdmalab_wire::{Address, Carrier, Ipv4Header, Ipv6Header, UdpHeader};

use crate::finding::Findings;
use crate::reason::{Reason, Reasons};
use crate::rules::RuleId;

/// Checksums of an InfiniBand packet and of what carries it.
pub(crate) fn of_roce(
    record: &Record<'_>,
    dissection: &Dissection<'_>,
    roce: &Roce<'_>,
    findings: &mut Findings,
    reasons: &mut Reasons,
) {
    if roce.is_several() {
        // Those of each datagram are still to be made, or were looked at before.
        return;
    }
    let frame = [record.frame];
    match roce.icrc {
        Icrc::Wrong { expected, found } => {
            findings
                .add(RuleId::Icrc, None, &frame, || format!("ICRC is {found:08x}, should be {expected:08x}"));
        }
        Icrc::Cut => reasons.add(Reason::Cut),
        Icrc::Right | Icrc::Broken | Icrc::Merged { .. } => {}
    }
    if let Some(Vcrc::Wrong { expected, found }) = roce.vcrc {
        findings.add(RuleId::Vcrc, None, &frame, || format!("VCRC is {found:04x}, should be {expected:04x}"));
    }
    if let Some(Network::V4 { header, header_length }) = &dissection.network
        && usize::from(*header_length) == Ipv4Header::LENGTH
        && header.checksum != 0
        && checksum::ipv4_header(&header.encode()) != 0
    {
        findings.add(RuleId::IpChecksum, None, &frame, || {
            let right = checksum::ipv4_header(&Ipv4Header { checksum: 0, ..*header }.encode());
            format!("IP checksum is {:04x}, should be {right:04x}", header.checksum)
        });
    }
    udp(record, dissection, roce, findings, reasons);
}

fn udp(
    record: &Record<'_>,
    dissection: &Dissection<'_>,
    roce: &Roce<'_>,
    findings: &mut Findings,
    reasons: &mut Reasons,
) {
    let (udp, ip_length) = match (&roce.carrier, &dissection.network) {
        (Carrier::RoceV2Ipv4(_, udp), Some(Network::V4 { header_length, .. })) => {
            (udp, usize::from(*header_length))
        }
        (Carrier::RoceV2Ipv6(_, udp), _) => (udp, Ipv6Header::LENGTH),
        _ => return,
    };
    if udp.checksum == 0 {
        return;
    }
    let (Address::Ip(source), Address::Ip(destination)) = (roce.carrier.source(), roce.carrier.destination())
    else {
        return;
    };
    let data =
        record.data.get(dissection.network_offset + ip_length + UdpHeader::LENGTH..).unwrap_or_default();
    let Some(data) =
        usize::from(udp.length).checked_sub(UdpHeader::LENGTH).and_then(|length| data.get(..length))
    else {
        reasons.add(Reason::Cut);
        return;
    };
    let right = checksum::udp(source, destination, udp, data);
    // What an adapter was to finish begins with the sum of the pseudo header, not complemented.
    let pseudo = [source, destination].into_iter().fold(Sum::new(), |sum, address| match address {
        core::net::IpAddr::V4(address) => sum.bytes(&address.octets()),
        core::net::IpAddr::V6(address) => sum.bytes(&address.octets()),
    });
    let unfinished = !pseudo.number(17).number(udp.length.into()).finish();
    if udp.checksum != right && udp.checksum != unfinished {
        findings.add(RuleId::UdpChecksum, None, &[record.frame], || {
            format!("UDP checksum is {:04x}, should be {right:04x}", udp.checksum)
        });
    }
}
