//! RoCE v2: the UDP datagram over IPv4 or IPv6 that carries an InfiniBand packet.
//!
//! [`Datagram`] takes one apart, [`NetworkHeader`] puts one together. Both speak of packets from the IP
//! header on; the Ethernet header in front is somebody else's. Neither looks into the InfiniBand packet.

mod datagram;
mod identification;
mod network_header;

pub use datagram::Datagram;
pub use network_header::NetworkHeader;
