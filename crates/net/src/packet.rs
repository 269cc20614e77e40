//! An existing Ethernet interface, shared with the kernel: frames go out of it and come in from it beside the kernel's
//! own (AF_PACKET, `packet(7)`).
//!
//! The emulated host behind it has a MAC address and IP addresses of its own. The kernel takes no frame for a MAC that
//! it does not have, so nothing of it answers for the host; and only frames for the host's MAC and for groups get
//! here, so the host answers for nothing of the kernel's.
//!
//! **The kernel of the same machine is not reachable on the same interface**, neither is another emulated host there:
//! what leaves an interface does not come in again (but on the loopback interface, where hosts find each other). A veth pair,
//! or a bridge with TAP devices, joins them.
//!
//! **Frames are bare and whole**, as on a wire and as a TAP device has them: from the destination address to the end of
//! the payload, a VLAN tag in the bytes, checksums written, none longer than the sender's MTU. Where stacks leave work to
//! hardware, as over veth pairs, it is done here (`offload.rs`).
//!
//! **Sending is batched**: [`PacketSocket::send`] keeps frames, [`PacketSocket::flush`] hands them to the kernel in few
//! calls, and runs of datagrams as one superframe each (`outbox.rs`), which a kernel cuts up again where frames leave for
//! a wire. Measured over a veth pair, this is what counts; a ring mapped into memory is not (`ARCHITECTURE.md`).
//!
//! Never blocks. Invariant: frames handed in are either in the outbox, with the kernel, or counted as lost.

mod checksum;
mod filter;
mod inbox;
mod offload;
mod outbox;
pub(crate) mod system;

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netdevice::{index_to_name, name_to_index};

use crate::tap::{ETHERNET_HEADER, is_device_name};
use crate::{FRAME_CAPACITY, NetError};
use inbox::Inbox;
use outbox::Outbox;

/// Bytes that the kernel keeps for us while we are not looking; it counts its own overhead too.
const RECEIVE_QUEUE: c_int = 4 << 20;
/// Bytes that may wait in the kernel for the link.
const SEND_QUEUE: c_int = 1 << 20;
/// Calls to the kernel in which nothing usable came, before it is somebody else's turn.
const FRUITLESS_MAX: usize = 16;

/// One interface, for one emulated host. Dropping it leaves the interface as it was; frames that were not
/// [flushed](Self::flush) are lost.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
    name: String,
    index: u32,
    kernel_mac: [u8; 6],
    inbox: Inbox,
    outbox: Outbox,
    refused: u64,
    overruns: u64,
}

/// Frames that got lost in a [`PacketSocket`], where a wire would have lost them too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketLosses {
    /// Received: longer than 64 KiB, or left unfinished in a way that cannot be finished here.
    pub unusable: u64,
    /// Received: the kernel had no room for more, since we did not take them in time. A superframe counts once.
    pub overruns: u64,
    /// Sent: longer than the MTU, or the interface's own queue was full. A run of datagrams counts once.
    pub refused: u64,
}

impl PacketSocket {
    /// Opens the interface `name` in the calling thread's network namespace for a host with this (unicast) MAC address.
    ///
    /// Needs `CAP_NET_RAW`. The interface may be down. The kernel tells it to receive for the MAC and for all groups:
    /// hardware that cannot becomes promiscuous.
    ///
    /// # Errors
    /// [`NetError::BadName`], [`NetError::NoSuchDevice`], [`NetError::NoRawSockets`], [`NetError::NotEthernet`],
    /// [`NetError::KernelsMac`], or [`NetError::System`].
    pub fn open(name: &str, mac: [u8; 6]) -> Result<Self, NetError> {
        let device = || name.to_owned();
        if !is_device_name(name) {
            return Err(NetError::BadName { device: device() });
        }
        let failed = |action| move |source| NetError::System { device: name.to_owned(), action, source };
        let socket = system::open().map_err(|source| match Errno::from_io_error(&source) {
            Some(Errno::PERM | Errno::ACCESS) => NetError::NoRawSockets { device: device() },
            _ => failed("open a packet socket")(source),
        })?;
        let index = name_to_index(&socket, name).map_err(|_| NetError::NoSuchDevice { device: device() })?;
        let signed = index.cast_signed();
        let bind = |receives| {
            system::bind(socket.as_fd(), signed, receives).map_err(|source| {
                match Errno::from_io_error(&source) {
                    Some(Errno::NODEV | Errno::NXIO) => NetError::NoSuchDevice { device: device() },
                    _ => failed("bind a packet socket to it")(source),
                }
            })
        };
        bind(false)?;
        let (kind, kernel_mac) = system::bound_to(socket.as_fd()).map_err(failed("read its address"))?;
        if !matches!(kind, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK) {
            return Err(NetError::NotEthernet { device: device() });
        }
        if kernel_mac == mac {
            return Err(NetError::KernelsMac { device: device() });
        }
        prepare(socket.as_fd(), signed, mac).map_err(failed("prepare a packet socket"))?;
        // Only now do frames come in.
        bind(true)?;
        let (inbox, outbox) = (Inbox::new(), Outbox::new());
        Ok(Self { socket, name: device(), index, kernel_mac, inbox, outbox, refused: 0, overruns: 0 })
    }

    /// The interface's name when it was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The MAC address of the interface itself, which is the kernel's.
    #[must_use]
    pub fn kernel_mac(&self) -> [u8; 6] {
        self.kernel_mac
    }

    /// Takes the next frame, copying it to the front of `buffer`: its length in bytes, or `None` when there is none now.
    /// A buffer of [`FRAME_CAPACITY`] holds every frame; what does not fit into a smaller one is cut off.
    ///
    /// # Errors
    /// As [`next_frame`](Self::next_frame).
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, NetError> {
        Ok(self.next_frame()?.map(|frame| {
            let length = frame.len().min(buffer.len());
            buffer[..length].copy_from_slice(&frame[..length]);
            length
        }))
    }

    /// Lends the next frame, which [`receive`](Self::receive) would copy; `None` when there is none now.
    ///
    /// # Errors
    /// [`NetError::Down`] once when the interface goes down (it is usable again when it is up), [`NetError::Gone`] when
    /// it was deleted, else [`NetError::System`].
    pub fn next_frame(&mut self) -> Result<Option<&[u8]>, NetError> {
        for _ in 0..FRUITLESS_MAX {
            if let Some(frame) = self.inbox.next() {
                return Ok(Some(self.inbox.frame(frame)));
            }
            match self.inbox.fill(self.socket.as_fd()) {
                Ok(()) => {}
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => return Ok(None),
                    Some(Errno::INTR) => {}
                    // A superframe of a kind that the kernel has no word for; it is gone.
                    Some(Errno::INVAL) => self.inbox.unusable += 1,
                    _ => return Err(self.link_error("receive a frame", error)),
                },
            }
        }
        Ok(None)
    }

    /// Whether frames that came from the kernel wait inside: waiting on the descriptor does not tell of them, so
    /// receive before you wait.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Takes `frame` to be sent: `false` when it cannot take it now (wait for the interface to be writable,
    /// [`flush`](Self::flush) and try again). It goes out at the latest with the next `flush`. A frame that is longer
    /// than the MTU is lost, as on a wire.
    ///
    /// # Errors
    /// [`NetError::FrameTooShort`], and those of [`flush`](Self::flush).
    pub fn send(&mut self, frame: &[u8]) -> Result<bool, NetError> {
        if frame.len() < ETHERNET_HEADER {
            return Err(NetError::FrameTooShort { device: self.name.clone(), length: frame.len() });
        }
        if frame.len() > FRAME_CAPACITY {
            self.refused += 1;
            return Ok(true);
        }
        if self.outbox.push(frame) {
            return Ok(true);
        }
        self.flush()?;
        Ok(self.outbox.push(frame))
    }

    /// Hands the frames that wait to the kernel: `false` when it cannot take them all now (wait for the interface to be
    /// writable and flush again).
    ///
    /// # Errors
    /// [`NetError::Down`], [`NetError::Gone`], else [`NetError::System`]; frames that waited are then lost.
    pub fn flush(&mut self) -> Result<bool, NetError> {
        while !self.outbox.is_empty() {
            match system::send(self.socket.as_fd(), self.outbox.messages()) {
                Ok(count) => self.outbox.sent(count),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => return Ok(false),
                    Some(Errno::INTR) => {}
                    Some(Errno::NOBUFS | Errno::MSGSIZE) => {
                        self.refused += 1;
                        self.outbox.sent(1);
                    }
                    // A kernel before 6.2 cannot be told of superframes of datagrams.
                    Some(Errno::INVAL) if self.outbox.begins_with_superframe() => self.outbox.unmerge(),
                    _ => {
                        self.outbox.clear();
                        return Err(self.link_error("send a frame", error));
                    }
                },
            }
        }
        Ok(true)
    }

    /// Whether runs of datagrams may leave as superframes (the default). They cost a fraction. Datagrams of a run get a
    /// UDP checksum, and who captures at the other end of a veth pair sees the superframes.
    pub fn merge_datagrams(&mut self, may: bool) {
        self.outbox.merges = may;
    }

    /// Frames lost so far.
    pub fn losses(&mut self) -> PacketLosses {
        // Asking cannot fail; should it, the count is as it was.
        self.overruns += u64::from(system::overruns(self.socket.as_fd()).unwrap_or(0));
        PacketLosses { unusable: self.inbox.unusable, overruns: self.overruns, refused: self.refused }
    }

    /// The MTU: bytes of a frame behind the Ethernet header, VLAN tags not counted; 65,535 if it is more.
    ///
    /// # Errors
    /// [`NetError::Gone`] or [`NetError::System`].
    pub fn mtu(&self) -> Result<u16, NetError> {
        let name = self.name_now()?;
        let mtu = system::mtu(self.socket.as_fd(), &name)
            .map_err(|error| self.link_error("read the MTU", error))?;
        Ok(u16::try_from(mtu.max(0)).unwrap_or(u16::MAX))
    }

    /// Whether the interface is up. Frames for one that is down are refused, and none come out of it.
    ///
    /// # Errors
    /// [`NetError::Gone`] or [`NetError::System`].
    pub fn is_up(&self) -> Result<bool, NetError> {
        let name = self.name_now()?;
        let flags = system::flags(self.socket.as_fd(), &name)
            .map_err(|error| self.link_error("read its state", error))?;
        Ok(flags & libc::IFF_UP != 0)
    }

    /// What the interface is called now. It keeps its index when it is renamed; one that is made later never has it.
    fn name_now(&self) -> Result<String, NetError> {
        index_to_name(&self.socket, self.index).map_err(|_| NetError::Gone { device: self.name.clone() })
    }

    fn link_error(&self, action: &'static str, source: io::Error) -> NetError {
        let device = self.name.clone();
        match Errno::from_io_error(&source) {
            Some(Errno::NETDOWN | Errno::NXIO | Errno::NODEV) => match self.name_now() {
                Ok(_) => NetError::Down { device },
                Err(gone) => gone,
            },
            _ => NetError::System { device, action, source },
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Everything that has to be so before the first frame comes in.
fn prepare(socket: BorrowedFd<'_>, index: c_int, mac: [u8; 6]) -> io::Result<()> {
    system::attach_filter(socket, &mut filter::program(mac))?;
    system::set(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, 1)?;
    system::set(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, 1)?;
    // Spares the kernel the copies of what leaves; before 4.20 the filter does.
    let _ = system::set(socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1);
    system::join(socket, index, libc::PACKET_MR_UNICAST, mac)
        .or_else(|_| system::join(socket, index, libc::PACKET_MR_PROMISC, mac))?;
    system::join(socket, index, libc::PACKET_MR_ALLMULTI, mac)?;
    // Beyond what an administrator allows everybody, with CAP_NET_ADMIN; else as much as that.
    for (forced, asked, bytes) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, RECEIVE_QUEUE),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, SEND_QUEUE),
    ] {
        system::set(socket, libc::SOL_SOCKET, forced, bytes)
            .or_else(|_| system::set(socket, libc::SOL_SOCKET, asked, bytes))?;
    }
    Ok(())
}
