//! The system calls of packet sockets that no safe crate offers: `SOL_PACKET` options, the link-layer address to
//! bind to, batches of messages, an interface's MTU and flags.
//!
//! All `unsafe` of the crate is here. Each call borrows what it is given for its own duration only: no pointer
//! outlives the function that made it. Decides nothing; errors are the kernel's, as they come.
#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use libc::{c_int, c_short, c_uint, c_void, socklen_t};

/// Messages in one call.
pub(super) const BATCH: usize = 32;

/// Bytes of the virtio header in front of each frame, in either direction (virtio specification, "Network Device",
/// without the field for merged buffers).
pub(super) const OFFLOAD_HEADER: usize = 10;

/// A packet socket that receives nothing before it is bound. Needs `CAP_NET_RAW`.
pub(super) fn open() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers; the descriptor that comes back is ours alone.
    unsafe {
        let socket = done(libc::socket(libc::AF_PACKET, kind, 0))?;
        Ok(OwnedFd::from_raw_fd(socket))
    }
}

/// Sets an option whose value is one integer.
pub(super) fn set(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
    set_option(socket, level, option, &value)
}

/// Lets a UDP socket of IPv6 take datagrams without a checksum, as RoCE v2 packets are (RFC 6936).
pub(crate) fn take_without_checksum(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::SOL_UDP, libc::UDP_NO_CHECK6_RX, 1)
}

/// `T` must be the plain C type that the kernel knows the option by; private, so that only this file can err.
fn set_option<T>(socket: BorrowedFd<'_>, level: c_int, option: c_int, value: &T) -> io::Result<()> {
    let length = size_of::<T>() as socklen_t;
    // SAFETY: the kernel reads `length` bytes from `value`, which lives through the call.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), length)
    };
    done(result).map(drop)
}

/// Joins the interface in one of the ways `PACKET_MR_*`; the address counts for unicast and multicast only.
pub(super) fn join(socket: BorrowedFd<'_>, index: c_int, kind: c_int, address: [u8; 6]) -> io::Result<()> {
    let [a, b, c, d, e, f] = address;
    let request = libc::packet_mreq {
        mr_ifindex: index,
        mr_type: kind as libc::c_ushort,
        mr_alen: 6,
        mr_address: [a, b, c, d, e, f, 0, 0],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
}

/// Lets only those frames in that the program passes.
pub(super) fn attach_filter(socket: BorrowedFd<'_>, program: &mut [libc::sock_filter]) -> io::Result<()> {
    let length = program.len().try_into().map_err(|_| io::ErrorKind::InvalidInput)?;
    // The kernel copies the program within the call.
    let program = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Binds to one interface, and begins to receive the frames of every protocol there, or none.
pub(super) fn bind(socket: BorrowedFd<'_>, index: c_int, receives: bool) -> io::Result<()> {
    // SAFETY: all zero is a value of this plain structure.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = if receives { (libc::ETH_P_ALL as u16).to_be() } else { 0 };
    address.sll_ifindex = index;
    let length = size_of::<libc::sockaddr_ll>() as socklen_t;
    // SAFETY: the kernel reads `length` bytes from `address`, which lives through the call.
    done(unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), length) }).map(drop)
}

/// The kind of interface (`ARPHRD_*`) that a socket is bound to, and the interface's MAC address.
pub(super) fn bound_to(socket: BorrowedFd<'_>) -> io::Result<(u16, [u8; 6])> {
    let mut length = size_of::<libc::sockaddr_ll>() as socklen_t;
    // SAFETY: all zero is a value of this plain structure; the kernel writes at most `length` bytes of it.
    let address = unsafe {
        let mut address: libc::sockaddr_ll = zeroed();
        done(libc::getsockname(socket.as_raw_fd(), std::ptr::from_mut(&mut address).cast(), &mut length))?;
        address
    };
    let [a, b, c, d, e, f, ..] = address.sll_addr;
    Ok((address.sll_hatype, [a, b, c, d, e, f]))
}

/// Frames that the kernel had no room for since it was asked last.
pub(super) fn overruns(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `statistics`, which lives through the call.
    let result = unsafe {
        let value = std::ptr::from_mut(&mut statistics).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, value, &mut length)
    };
    done(result).map(|_| statistics.tp_drops)
}

/// The MTU of an interface, in bytes.
pub(crate) fn mtu(socket: BorrowedFd<'_>, name: &str) -> io::Result<c_int> {
    let request = interface_request(socket, name, libc::SIOCGIFMTU)?;
    // SAFETY: the kernel has filled this member in.
    Ok(unsafe { request.ifr_ifru.ifru_mtu })
}

/// The flags of an interface, `IFF_*`.
pub(super) fn flags(socket: BorrowedFd<'_>, name: &str) -> io::Result<c_int> {
    let request = interface_request(socket, name, libc::SIOCGIFFLAGS)?;
    // SAFETY: the kernel has filled this member in.
    let flags: c_short = unsafe { request.ifr_ifru.ifru_flags };
    Ok(flags.into())
}

fn interface_request(socket: BorrowedFd<'_>, name: &str, what: libc::Ioctl) -> io::Result<libc::ifreq> {
    // SAFETY: all zero is a value of this plain structure. The name keeps a zero behind it. The two requests
    // asked for here read the name and write one member.
    unsafe {
        let mut request: libc::ifreq = zeroed();
        let room = request.ifr_name.len() - 1;
        if name.len() > room {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from.cast_signed() as libc::c_char;
        }
        done(libc::ioctl(socket.as_raw_fd(), what, std::ptr::from_mut(&mut request)))?;
        Ok(request)
    }
}

/// What came with a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Arrival {
    /// Bytes in the buffer: the virtio header and the frame behind it.
    pub(super) length: usize,
    /// The frame was longer than the buffer.
    pub(super) cut_off: bool,
    /// The outermost VLAN tag, which the kernel has taken out: its protocol and its control information.
    pub(super) vlan: Option<(u16, u16)>,
}

/// Room for one auxiliary message, aligned as the kernel wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

const AUXILIARY_AT: usize = size_of::<libc::cmsghdr>();
const CONTROL: usize = (AUXILIARY_AT + size_of::<libc::tpacket_auxdata>()).next_multiple_of(8);

impl Control {
    /// The VLAN tag, if the message is there and says that there was one. It is the only one that is asked for.
    fn vlan(&self, length: usize) -> Option<(u16, u16)> {
        let number = |at: usize| self.0.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let short = |at: usize| self.0.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes);
        // The length of a control message is a `size_t`; level and type are behind it.
        let level = number(size_of::<usize>())?.cast_signed();
        let kind = number(size_of::<usize>() + 4)?.cast_signed();
        if length < AUXILIARY_AT + size_of::<libc::tpacket_auxdata>()
            || (level, kind) != (libc::SOL_PACKET, libc::PACKET_AUXDATA)
        {
            return None;
        }
        let status = number(AUXILIARY_AT)?;
        if status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let tag = short(AUXILIARY_AT + std::mem::offset_of!(libc::tpacket_auxdata, tp_vlan_tci))?;
        let protocol = short(AUXILIARY_AT + std::mem::offset_of!(libc::tpacket_auxdata, tp_vlan_tpid))?;
        let told = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        Some((if told { protocol } else { libc::ETH_P_8021Q as u16 }, tag))
    }
}

/// Takes up to [`BATCH`] frames, the n-th into the n-th buffer, and says how many.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    buffers: &mut [Box<[u8]>; BATCH],
    arrivals: &mut [Arrival; BATCH],
) -> io::Result<usize> {
    let mut controls = [Control([0; CONTROL]); BATCH];
    let mut pieces = buffers
        .each_mut()
        .map(|buffer| libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() });
    // SAFETY: all zero is a value of these plain structures. The pointers set below are to `pieces` and `controls`,
    // which live to the end of this function and are not touched before the kernel has written, and to `buffers`.
    let (count, messages) = unsafe {
        let mut messages: [libc::mmsghdr; BATCH] = zeroed();
        for ((message, piece), control) in messages.iter_mut().zip(&mut pieces).zip(&mut controls) {
            message.msg_hdr.msg_iov = piece;
            message.msg_hdr.msg_iovlen = 1;
            message.msg_hdr.msg_control = std::ptr::from_mut(control).cast::<c_void>();
            message.msg_hdr.msg_controllen = CONTROL;
        }
        let count = libc::recvmmsg(
            socket.as_raw_fd(),
            messages.as_mut_ptr(),
            BATCH as c_uint,
            libc::MSG_DONTWAIT as _,
            std::ptr::null_mut(),
        );
        (done(count)?, messages)
    };
    let count = usize::try_from(count).unwrap_or(0).min(BATCH);
    for ((arrival, message), control) in arrivals.iter_mut().zip(&messages).zip(&controls).take(count) {
        *arrival = Arrival {
            length: message.msg_len as usize,
            cut_off: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            vlan: control.vlan(message.msg_hdr.msg_controllen),
        };
    }
    Ok(count)
}

/// Sends up to [`BATCH`] messages and says how many the kernel took, at least one unless it gives an error, which is
/// about the first.
pub(super) fn send<'a>(
    socket: BorrowedFd<'_>,
    messages: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    // SAFETY: all zero is a value of these plain structures. The kernel only reads what the pieces point to, which is
    // borrowed for longer than this function runs; `pieces` stays where it is until the call is over.
    unsafe {
        let mut pieces: [libc::iovec; BATCH] = zeroed();
        let mut headers: [libc::mmsghdr; BATCH] = zeroed();
        let mut count = 0;
        for ((message, piece), header) in messages.zip(&mut pieces).zip(&mut headers) {
            *piece = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
            header.msg_hdr.msg_iov = piece;
            header.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        let sent = libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT as _);
        Ok(usize::try_from(done(sent)?).unwrap_or(0))
    }
}

fn done(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
