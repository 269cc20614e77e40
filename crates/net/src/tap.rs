//! A TAP device: an Ethernet interface of the kernel whose cable ends in this program. What the kernel
//! sends out of it is [`Tap::receive`]d here; what is [`Tap::send`]t here, the kernel receives.
//!
//! Frames are bare: from the destination MAC address to the end of the payload, no packet information
//! header in front, no FCS behind. A VLAN tag is in the bytes, as on a wire.
//!
//! **Offloads.** The device is opened without a virtio header and with all offloads turned off (also where
//! an earlier owner of a persistent device had left them on), so the kernel hands over only frames with
//! complete checksums and no larger than the MTU, also those it forwards from a veth pair or a bridge: it
//! finishes checksums and cuts up large segments before they get here. In return it believes no checksum
//! of ours: frames sent must have correct ones.
//!
//! Never blocks: every device is non-blocking, [`crate::Poller`] waits.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use rustix::io::Errno;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::NetError;

/// Bytes of a buffer that holds any frame whole: a TAP device's MTU is at most 65,521, before it stand the
/// Ethernet header and VLAN tags.
pub const FRAME_CAPACITY: usize = 65_600;

/// Bytes of an Ethernet header without tag; the kernel refuses anything shorter.
pub(crate) const ETHERNET_HEADER: usize = 14;

/// Bytes of a device name, without its terminating zero.
const NAME_MAX: usize = 15;

/// One open TAP device. Dropping it detaches; a device that [`Tap::open`] created is then gone, a
/// persistent one (`ip tuntap add`) stays.
pub struct Tap {
    device: SyncDevice,
    name: String,
}

impl Tap {
    /// Attaches to the TAP device `name` in the calling thread's network namespace, or creates it.
    ///
    /// Attaching needs no privilege where the device was made for this user (`ip tuntap add mode tap name
    /// NAME user USER`); creating needs `CAP_NET_ADMIN`. The device keeps its addresses, MTU and up/down
    /// state; a fresh one is down with MTU 1500. A `%d` in the name is replaced by the first free number.
    ///
    /// # Errors
    /// [`NetError::BadName`], [`NetError::NoDriver`], [`NetError::NotPermitted`], [`NetError::Busy`],
    /// [`NetError::WrongKind`], or [`NetError::System`].
    pub fn open(name: &str) -> Result<Self, NetError> {
        if !is_device_name(name) {
            return Err(NetError::BadName { device: name.to_owned() });
        }
        let device = DeviceBuilder::new()
            .name(name)
            .layer(Layer::L2)
            .inherit_enable_state()
            .build_sync()
            .map_err(|source| open_error(name, source))?;
        let failed = |action| move |source| NetError::System { device: name.to_owned(), action, source };
        device.set_nonblocking(true).map_err(failed("make it non-blocking"))?;
        let name = device.name().map_err(failed("read its name"))?;
        Ok(Self { device, name })
    }

    /// The device's name when it was opened.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the next frame the kernel sent, copying it to the front of `buffer`: its length in bytes, or
    /// `None` when there is none now. A buffer of [`FRAME_CAPACITY`] holds every frame; the kernel cuts
    /// off what does not fit into a smaller one without saying so.
    ///
    /// # Errors
    /// [`NetError::Gone`] when the device was deleted, else [`NetError::System`].
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, NetError> {
        loop {
            match self.device.recv(buffer) {
                Ok(length) => return Ok(Some(length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) => {
                    return Err(match Errno::from_io_error(&error) {
                        Some(Errno::BADFD | Errno::IO) => NetError::Gone { device: self.name.clone() },
                        _ => self.system("receive a frame", error),
                    });
                }
            }
        }
    }

    /// Hands `frame` to the kernel as one that arrived on the device: `false` when it cannot take it now
    /// (wait for the device to be writable and try again; nothing was sent).
    ///
    /// # Errors
    /// [`NetError::Down`], [`NetError::Gone`], [`NetError::FrameTooShort`], else [`NetError::System`].
    pub fn send(&mut self, frame: &[u8]) -> Result<bool, NetError> {
        if frame.len() < ETHERNET_HEADER {
            return Err(NetError::FrameTooShort { device: self.name.clone(), length: frame.len() });
        }
        loop {
            match self.device.send(frame) {
                // A TAP device takes a frame whole or not at all.
                Ok(_) => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    return Err(match Errno::from_io_error(&error) {
                        Some(Errno::BADFD) => NetError::Gone { device: self.name.clone() },
                        Some(Errno::IO) => NetError::Down { device: self.name.clone() },
                        _ => self.system("send a frame", error),
                    });
                }
            }
        }
    }

    /// Does nothing: frames are with the kernel as soon as they are [sent](Self::send).
    ///
    /// # Errors
    /// None.
    pub fn flush(&mut self) -> Result<bool, NetError> {
        Ok(true)
    }

    /// The MTU: bytes of a frame behind the Ethernet header, VLAN tags not counted.
    ///
    /// # Errors
    /// [`NetError::Gone`] or [`NetError::System`].
    pub fn mtu(&self) -> Result<u16, NetError> {
        self.device.mtu().map_err(|error| self.setting("read the MTU", error))
    }

    /// Sets the MTU, 68 to 65,521 bytes. Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// [`NetError::ChangeNotPermitted`], [`NetError::Gone`] or [`NetError::System`].
    pub fn set_mtu(&mut self, mtu: u16) -> Result<(), NetError> {
        let change = format!("mtu {mtu}");
        self.device.set_mtu(mtu).map_err(|error| self.change("set the MTU", &change, error))
    }

    /// Whether the device is up. Frames for a device that is down are refused, and none come out of it.
    ///
    /// # Errors
    /// [`NetError::Gone`] or [`NetError::System`].
    pub fn is_up(&self) -> Result<bool, NetError> {
        let failed = |error| self.setting("read its state", error);
        let name = self.device.name().map_err(failed)?;
        getifaddrs()
            .map_err(|error| failed(error.into()))?
            .find(|interface| interface.interface_name == name)
            .map(|interface| interface.flags.contains(InterfaceFlags::IFF_UP))
            .ok_or_else(|| NetError::Gone { device: self.name.clone() })
    }

    /// Brings the device up (`ip link set NAME up`). Needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// [`NetError::ChangeNotPermitted`], [`NetError::Gone`] or [`NetError::System`].
    pub fn bring_up(&mut self) -> Result<(), NetError> {
        self.device.enabled(true).map_err(|error| self.change("bring it up", "up", error))
    }

    /// The MAC address of the kernel's end of the device. Whoever lives on our end needs another one.
    ///
    /// # Errors
    /// [`NetError::Gone`] or [`NetError::System`].
    pub fn kernel_mac(&self) -> Result<[u8; 6], NetError> {
        self.device.mac_address().map_err(|error| self.setting("read its MAC address", error))
    }

    fn system(&self, action: &'static str, source: io::Error) -> NetError {
        NetError::System { device: self.name.clone(), action, source }
    }

    /// The error of changing a property of the device, for which root says `ip link set NAME {change}`.
    fn change(&self, action: &'static str, change: &str, error: io::Error) -> NetError {
        match Errno::from_io_error(&error) {
            Some(Errno::PERM | Errno::ACCESS) => NetError::ChangeNotPermitted {
                device: self.name.clone(),
                command: format!("ip link set {} {change}", self.name),
            },
            _ => self.setting(action, error),
        }
    }

    /// The error of reading a property of the device.
    fn setting(&self, action: &'static str, error: io::Error) -> NetError {
        match Errno::from_io_error(&error) {
            Some(Errno::BADFD | Errno::NODEV) => NetError::Gone { device: self.name.clone() },
            _ => self.system(action, error),
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl std::fmt::Debug for Tap {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tap").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The kernel's rule for names, checked first because it answers "invalid argument" to this and much else.
pub(crate) fn is_device_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && name != "."
        && name != ".."
        && !name.bytes().any(|byte| matches!(byte, b'/' | b':' | 0 | 0x0b) || byte.is_ascii_whitespace())
}

fn open_error(name: &str, source: io::Error) -> NetError {
    let device = name.to_owned();
    // "Not permitted" and "no such device" may be about the driver or about the one device; opening the
    // driver by itself tells.
    if let Err(driver) = File::options().read(true).write(true).open("/dev/net/tun") {
        return NetError::NoDriver { source: driver };
    }
    match Errno::from_io_error(&source) {
        Some(Errno::PERM | Errno::ACCESS) => NetError::NotPermitted { device },
        Some(Errno::BUSY) => NetError::Busy { device },
        Some(Errno::INVAL) => NetError::WrongKind { device },
        _ => NetError::System { device, action: "open it as a TAP device", source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_the_kernel_would_refuse_is_refused_by_name() {
        for name in ["", ".", "..", "a/b", "a:b", "a b", "a\0b", "sixteen-bytes-xx", "tab\there"] {
            let error = Tap::open(name).unwrap_err();
            assert!(matches!(&error, NetError::BadName { device } if device == name), "{error}");
        }
        for name in ["tap0", "fifteen-bytes-x", "tap%d", "rdma.7"] {
            assert!(is_device_name(name), "{name}");
        }
    }
}
