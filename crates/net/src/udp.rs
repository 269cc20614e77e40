//! UDP sockets: RoCE v2 packets without any privilege, by the kernel's own IP.
//!
//! A socket is bound to one address and RoCE's port and is never connected. The kernel writes the IP header, of which the
//! ICRC covers the identification; so the socket must be one whose identifications are known:
//!
//! - unconnected with path MTU discovery on, each datagram of IPv4 goes out with identification 0 (and DF);
//! - a send that the kernel is to cut up (UDP_SEGMENT) gives identifications 0, 1, 2, … to its pieces.
//!
//! What arrives has lost its IP header. The identification of a peer that is not such a socket can then only be told
//! from the ICRC itself; that is not this module's business. Pieces of one send that were not cut up on the way, or put
//! together again on arrival (UDP_GRO), come together.
//!
//! Never blocks: [`crate::Poller`] waits.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::sockopt::{
    IpRecvTos, Ipv6RecvTClass, RcvBuf, RcvBufForce, SndBuf, SndBufForce, UdpGroSegment, UdpGsoSegment,
};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, getsockopt, recvmsg, sendmsg, setsockopt,
};
use rustix::net::sockopt::{
    Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
};

use crate::packet::system;
use crate::{NetError, kernel_addresses};

/// Pieces of one send at most (the kernel's `UDP_MAX_SEGMENTS` of old; newer ones take 128).
pub const SEGMENTS_MAX: usize = 64;
/// Bytes of one send at most: what fits an IPv4 datagram behind its headers.
pub const SEND_MAX: usize = 65_507;
/// Bytes of a buffer that holds whatever arrives together.
pub const ARRIVAL_MAX: usize = 65_535;
/// Bytes of the kernel's buffer for what is sent that are asked for. It may grant less.
const SEND_BUFFER: usize = 4 << 20;
/// Bytes that may wait to be received: what a hundred senders have under way at once, while whoever is to receive does not get
/// the processor. The kernel takes the memory as it is needed; it grants less where `net.core.rmem_max` says so, unless it is
/// asked by somebody privileged.
const RECEIVE_BUFFER: usize = 64 << 20;

/// What arrived: one datagram, or several of one sender, each as long as the first but for the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Bytes of all of them together.
    pub length: usize,
    /// Bytes of each but the last.
    pub segment: usize,
    /// Who sent them.
    pub from: SocketAddr,
    /// Type of service (IPv4) or traffic class (IPv6), as it arrived.
    pub traffic_class: u8,
}

/// A socket on RoCE's port of one of the kernel's addresses.
pub struct DatagramSocket {
    socket: UdpSocket,
    name: String,
    address: IpAddr,
    /// Of a link-local address.
    scope: u32,
    cuts: bool,
    control: Vec<u8>,
}

impl DatagramSocket {
    /// Binds to `address` and `port` (4791 for RoCE v2). An IPv6 link-local address needs its `scope`, the index of the
    /// interface.
    ///
    /// # Errors
    /// [`NetError::PortInUse`], [`NetError::NotOurAddress`], or [`NetError::System`].
    pub fn bind(address: IpAddr, port: u16, scope: u32) -> Result<Self, NetError> {
        let mut local = SocketAddr::new(address, port);
        if let SocketAddr::V6(v6) = &mut local {
            v6.set_scope_id(scope);
        }
        let name = format!("UDP {local}");
        let socket = UdpSocket::bind(local).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => NetError::PortInUse { address, port },
            io::ErrorKind::AddrNotAvailable => NetError::NotOurAddress { address },
            _ => NetError::System { device: name.clone(), action: "bind a socket", source },
        })?;
        let failed = |action| {
            move |source: io::Error| NetError::System { device: format!("UDP {local}"), action, source }
        };
        socket.set_nonblocking(true).map_err(failed("make it non-blocking"))?;
        let discovers = match address {
            IpAddr::V4(_) => set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO),
            IpAddr::V6(_) => set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO),
        };
        discovers.map_err(|error| failed("turn path MTU discovery on")(error.into()))?;
        // All of these only help: without them there are smaller buffers, no marks, and one datagram for each call.
        let _ = match address {
            IpAddr::V4(_) => setsockopt(&socket, IpRecvTos, &true),
            IpAddr::V6(_) => setsockopt(&socket, Ipv6RecvTClass, &true),
        };
        if address.is_ipv6() {
            // The ICRC covers all that the checksum would, and adapters and rxe send none.
            system::take_without_checksum(socket.as_fd())
                .map_err(failed("let it take packets without checksum"))?;
        }
        if setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER).is_err() {
            let _ = setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER);
        }
        if setsockopt(&socket, SndBufForce, &SEND_BUFFER).is_err() {
            let _ = setsockopt(&socket, SndBuf, &SEND_BUFFER);
        }
        let _ = setsockopt(&socket, UdpGroSegment, &true);
        let cuts = getsockopt(&socket, UdpGsoSegment).is_ok();
        Ok(Self { socket, name, address, scope, cuts, control: cmsg_space!(i32, i32, i32) })
    }

    /// What it is called in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the kernel cuts up sends.
    #[must_use]
    pub fn cuts(&self) -> bool {
        self.cuts
    }

    /// The MTU of the interface that has the address, in bytes; 65,535 if it is more.
    ///
    /// # Errors
    /// [`NetError::NotOurAddress`] when it has gone, or [`NetError::System`].
    pub fn mtu(&self) -> Result<u16, NetError> {
        let address = self.address;
        let interfaces = getifaddrs().map_err(|error| self.failed("list the addresses", error))?;
        let has = |interface: &InterfaceAddress| {
            let own = interface.address.as_ref();
            let v4 = own.and_then(|own| own.as_sockaddr_in()).map(|own| IpAddr::V4(own.ip()));
            let v6 = || own.and_then(|own| own.as_sockaddr_in6()).map(|own| IpAddr::V6(own.ip()));
            // All of 127.0.0.0/8 is the loopback's, but one address is listed.
            let is_loopback = interface.flags.contains(InterfaceFlags::IFF_LOOPBACK);
            let scope = own.and_then(|own| own.as_sockaddr_in6()).map_or(0, |own| own.scope_id());
            (v4.or_else(v6) == Some(address) && [0, scope].contains(&self.scope))
                || (address.is_loopback() && is_loopback)
        };
        let name =
            interfaces.into_iter().find(has).ok_or(NetError::NotOurAddress { address })?.interface_name;
        let mtu = system::mtu(self.socket.as_fd(), &name).map_err(|source| NetError::System {
            device: name,
            action: "read the MTU",
            source,
        })?;
        Ok(u16::try_from(mtu.max(0)).unwrap_or(u16::MAX))
    }

    /// Bytes that may wait to be received, as the kernel counts them: its own overhead included.
    ///
    /// # Errors
    /// [`NetError::System`].
    pub fn receive_buffer(&self) -> Result<usize, NetError> {
        getsockopt(&self.socket, RcvBuf).map_err(|error| self.failed("read the size of its buffer", error))
    }

    /// Takes what arrived next, copying it to the front of `buffer`; `None` when there is nothing now. A buffer of
    /// [`ARRIVAL_MAX`] bytes holds everything; what does not fit into a smaller one is lost.
    ///
    /// # Errors
    /// [`NetError::System`].
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<Arrival>, NetError> {
        loop {
            let mut parts = [IoSliceMut::new(buffer)];
            let descriptor = self.socket.as_raw_fd();
            let received = recvmsg::<SockaddrStorage>(
                descriptor,
                &mut parts,
                Some(&mut self.control),
                MsgFlags::empty(),
            );
            let message = match received {
                Ok(message) => message,
                Err(Errno::EAGAIN) => return Ok(None),
                // An ICMP error about something sent before: the transport notices by itself that it got lost.
                Err(Errno::EINTR | Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) => {
                    continue;
                }
                Err(error) => return Err(self.failed("receive", error)),
            };
            let mut arrival = Arrival {
                length: message.bytes,
                segment: message.bytes,
                from: SocketAddr::new(IpAddr::from([0; 4]), 0),
                traffic_class: 0,
            };
            for control in message.cmsgs().into_iter().flatten() {
                match control {
                    ControlMessageOwned::UdpGroSegments(bytes) if bytes > 0 => {
                        arrival.segment = (bytes as usize).min(message.bytes);
                    }
                    ControlMessageOwned::Ipv4Tos(class) => arrival.traffic_class = class,
                    ControlMessageOwned::Ipv6TClass(class) => arrival.traffic_class = class as u8,
                    _ => {}
                }
            }
            let from = message.address.as_ref().and_then(socket_address);
            // Nobody sends from nowhere.
            let Some(from) = from else { continue };
            return Ok(Some(Arrival { from, ..arrival }));
        }
    }

    /// Sends `parts`, one behind the other, as datagrams of `segment` bytes, the last of which may be shorter: `false`
    /// when the kernel cannot take them now (nothing was sent). At most [`SEGMENTS_MAX`] of them and [`SEND_MAX`] bytes;
    /// more than one only if it [`cuts`](Self::cuts).
    ///
    /// What the network refuses (nobody there, no route, longer than the path's MTU) counts as sent and lost. If it is the
    /// cutting that is refused, there will be none from now on.
    ///
    /// # Errors
    /// [`NetError::AddressGone`] while the kernel does not have the address, else [`NetError::System`].
    pub fn send(
        &mut self,
        to: SocketAddr,
        parts: &[IoSlice<'_>],
        segment: u16,
        traffic_class: u8,
    ) -> Result<bool, NetError> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let class = i32::from(traffic_class);
        let marks = match to {
            SocketAddr::V4(_) => ControlMessage::Ipv4Tos(&traffic_class),
            SocketAddr::V6(_) => ControlMessage::Ipv6TClass(&class),
        };
        let mut control = [marks, ControlMessage::UdpGsoSegments(&segment)];
        // Most datagrams are one by one and of no class.
        let control = match (traffic_class != 0, total > usize::from(segment)) {
            (true, true) => &control[..],
            (true, false) => &control[..1],
            (false, true) => &control[1..],
            (false, false) => &mut control[..0],
        };
        let address = SockaddrStorage::from(to);
        for _ in 0..3 {
            match sendmsg(self.socket.as_raw_fd(), parts, control, MsgFlags::empty(), Some(&address)) {
                Ok(_) => return Ok(true),
                Err(Errno::EAGAIN | Errno::ENOBUFS) => return Ok(false),
                Err(Errno::EINTR) => {}
                // Also an ICMP error about something sent before, which is told only once: try again.
                Err(Errno::ECONNREFUSED) => {}
                // So does the kernel speak, too, when it does not have our address any more.
                Err(Errno::ENETUNREACH | Errno::EINVAL | Errno::EADDRNOTAVAIL) if !self.has_address() => {
                    return Err(NetError::AddressGone { device: self.name.clone(), address: self.address });
                }
                Err(Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EMSGSIZE | Errno::ENETDOWN) => break,
                // The way there cannot be cut up for.
                Err(Errno::EIO | Errno::EINVAL) if total > usize::from(segment) => {
                    self.cuts = false;
                    break;
                }
                Err(error) => return Err(self.failed("send", error)),
            }
        }
        Ok(true)
    }

    /// Whether the kernel still has the address; all of 127.0.0.0/8 it always has.
    fn has_address(&self) -> bool {
        let is_ours = |own: &(String, IpAddr)| own.1 == self.address;
        self.address.is_loopback() || kernel_addresses().is_ok_and(|all| all.iter().any(is_ours))
    }

    fn failed(&self, action: &'static str, error: Errno) -> NetError {
        NetError::System { device: self.name.clone(), action, source: error.into() }
    }
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::from((v4.ip(), v4.port())));
    v4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddr::from((v6.ip(), v6.port()))))
}

impl AsFd for DatagramSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use crate::{Interest, Poller};

    fn socket(last: u8) -> DatagramSocket {
        DatagramSocket::bind(IpAddr::V4(Ipv4Addr::new(127, 7, 91, last)), 4791, 0).unwrap()
    }

    fn to(last: u8) -> SocketAddr {
        SocketAddr::from(([127, 7, 91, last], 4791))
    }

    fn arrival(socket: &mut DatagramSocket, buffer: &mut [u8]) -> Arrival {
        let mut poller = Poller::new().unwrap();
        poller.wait(socket, Interest::Read, Some(Duration::from_secs(5))).unwrap();
        socket.receive(buffer).unwrap().expect("nothing arrived")
    }

    #[test]
    fn pieces_of_one_send_arrive_with_their_length_and_their_marks() {
        let (mut one, mut other) = (socket(1), socket(2));
        assert_eq!(one.mtu().unwrap(), 65_535, "the loopback's is 65536");
        assert!(one.cuts(), "Linux has had UDP_SEGMENT since 4.18");
        let data: Vec<u8> = (0..2500u32).map(|n| n as u8).collect();
        let parts =
            [IoSlice::new(&data[..1000]), IoSlice::new(&data[1000..2000]), IoSlice::new(&data[2000..])];
        assert!(one.send(to(2), &parts, 1000, 0b10).unwrap());
        let mut buffer = vec![0; ARRIVAL_MAX];
        let arrival = arrival(&mut other, &mut buffer);
        assert_eq!(arrival, Arrival { length: 2500, segment: 1000, from: to(1), traffic_class: 2 });
        assert_eq!(buffer[..2500], data);
        assert_eq!(other.receive(&mut buffer).unwrap(), None);
    }

    #[test]
    fn a_peer_that_is_not_there_is_no_error() {
        let mut one = socket(3);
        for _ in 0..10 {
            assert!(one.send(to(99), &[IoSlice::new(&[1; 64])], 64, 0).unwrap());
            assert_eq!(one.receive(&mut [0; 100]).unwrap(), None);
        }
    }

    #[test]
    fn a_taken_port_and_a_foreign_address_are_told_by_name() {
        let _one = socket(4);
        let taken = DatagramSocket::bind(IpAddr::V4(Ipv4Addr::new(127, 7, 91, 4)), 4791, 0).err().unwrap();
        assert!(matches!(taken, NetError::PortInUse { port: 4791, .. }), "{taken}");
        let foreign = DatagramSocket::bind(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4791, 0).err().unwrap();
        assert!(matches!(foreign, NetError::NotOurAddress { .. }), "{foreign}");
    }
}
