//! RDMA-CM's part: what it puts in front of the private data, and how that is judged.

use core::net::{IpAddr, SocketAddr};

use rdmalab_wire::mad::{IpCmHeader, ServiceId};

use crate::call::IpCall;
use crate::error::CommandError;
use crate::request::Target;
use crate::route::Route;

/// Private data of `N` bytes: behind RDMA-CM's header if an IP port is called, otherwise from the start.
pub(crate) fn write_private_data<const N: usize>(
    route: &Route,
    target: &Target,
    consumer: &[u8],
) -> Result<[u8; N], CommandError> {
    if route.local.is_ipv4() != route.peer.is_ipv4() {
        return Err(CommandError::MixedFamilies);
    }
    let mut data = [0; N];
    let room = match *target {
        Target::Service(_) => &mut data[..],
        Target::Ip { source_port, .. } => {
            let header =
                IpCmHeader::new(route.local, source_port, route.peer).ok_or(CommandError::MixedFamilies)?;
            let (front, room) = data.split_at_mut(IpCmHeader::LENGTH);
            front.copy_from_slice(&header.encode());
            room
        }
    };
    let limit = room.len();
    let given = consumer.len();
    room.get_mut(..given).ok_or(CommandError::PrivateDataTooLong { given, limit })?.copy_from_slice(consumer);
    Ok(data)
}

/// Why a header is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadHeader;

/// Who calls whom, if the service is an IP port, and the application's private data.
///
/// The version must be the only one there is, and the addresses those that the datagram came with: on RoCE v2 a GID is the
/// IP address, so that whoever names another is mistaken or lies.
pub(crate) fn read_private_data<'a>(
    route: &Route,
    service_id: ServiceId,
    data: &'a [u8],
) -> Result<(Option<IpCall>, &'a [u8]), BadHeader> {
    let Some((space, port)) = service_id.to_rdma_ip() else { return Ok((None, data)) };
    let (header, consumer) = data.split_first_chunk().ok_or(BadHeader)?;
    let header = IpCmHeader::decode(header);
    let (Some(source), Some(destination)) = (header.source(), header.destination()) else {
        return Err(BadHeader);
    };
    let same = |named: IpAddr, real: IpAddr| named.to_canonical() == real;
    if header.major_version != 0 || !same(source, route.peer) || !same(destination, route.local) {
        return Err(BadHeader);
    }
    let source = SocketAddr::new(route.peer, header.source_port);
    let destination = SocketAddr::new(route.local, port);
    Ok((Some(IpCall { space, source, destination }), consumer))
}

/// The UDP source port that Linux gives to packets of a connection whose path has this flow label; the same on both
/// sides, since the label travels in the request. Checked against captures of rxe: the label's low 14 bits, its high 6
/// bits mixed in by exclusive or, in the range from 0xc000 up.
pub const fn udp_source_port(flow_label: u32) -> u16 {
    let mixed = flow_label & 0x3fff ^ flow_label >> 14 & 0x3f;
    0xc000 | mixed as u16
}
