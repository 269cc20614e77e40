//! What can go wrong between the program and the operating system: which device, why, and what to do.

use std::io;

/// An error of the operating system. Each variant's text names the device and the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// `/dev/net/tun` is missing or closed to us.
    #[error(
        "cannot open /dev/net/tun ({source}): load the driver with `modprobe tun`; in a container, start it \
         with `--device /dev/net/tun --cap-add NET_ADMIN`"
    )]
    NoDriver {
        /// What the kernel answered.
        source: io::Error,
    },
    /// The name can be no device's.
    #[error(
        "{device:?} cannot be the name of a device: it takes 1 to 15 bytes, without '/', ':' and white space, \
         and is neither \".\" nor \"..\""
    )]
    BadName {
        /// The name asked for.
        device: String,
    },
    /// The kernel lets us neither create nor attach to the device.
    #[error(
        "not permitted to use TAP device {device}: run as root, or let root prepare it once with \
         `ip tuntap add mode tap name {device} user $USER`"
    )]
    NotPermitted {
        /// The device.
        device: String,
    },
    /// The kernel does not let us change the device.
    #[error("not permitted to change TAP device {device}: run as root, or let root do it with `{command}`")]
    ChangeNotPermitted {
        /// The device.
        device: String,
        /// The command that does the same.
        command: String,
    },
    /// Another program holds the device.
    #[error("TAP device {device} is in use by another program: stop that program or take another name")]
    Busy {
        /// The device.
        device: String,
    },
    /// A device of that name exists and is no TAP device with a single queue.
    #[error(
        "device {device} exists and is not a single-queue TAP device: take another name, or remove it with \
         `ip link delete {device}`"
    )]
    WrongKind {
        /// The device.
        device: String,
    },
    /// There is no device of that name.
    #[error("there is no device {device} in this network namespace: `ip link` lists those that are")]
    NoSuchDevice {
        /// The name asked for.
        device: String,
    },
    /// The kernel does not let us send and receive frames on a device of its own.
    #[error(
        "not permitted to open a packet socket on {device}: run as root, or let root give the program the right \
         once with `setcap cap_net_raw+ep PROGRAM`; in a container, start it with `--cap-add NET_RAW`"
    )]
    NoRawSockets {
        /// The device.
        device: String,
    },
    /// The device does not carry Ethernet frames.
    #[error("device {device} is no Ethernet interface: take another one")]
    NotEthernet {
        /// The device.
        device: String,
    },
    /// The MAC address for the emulated host is the kernel's.
    #[error(
        "the MAC address is that of {device} itself, which the kernel answers to: give the host another one"
    )]
    KernelsMac {
        /// The device.
        device: String,
    },
    /// The device is down, so it takes no frames.
    #[error("device {device} is down: `ip link set {device} up`")]
    Down {
        /// The device.
        device: String,
    },
    /// The device was deleted, or its driver unloaded, while we held it.
    #[error("device {device} was deleted while in use: create it again and restart")]
    Gone {
        /// The device.
        device: String,
    },
    /// The frame cannot be an Ethernet frame.
    #[error("a frame of {length} bytes for {device} is shorter than an Ethernet header (14 bytes)")]
    FrameTooShort {
        /// The device.
        device: String,
        /// Bytes in the frame.
        length: usize,
    },
    /// Another program listens on RoCE's port at this address.
    #[error("UDP port {port} of {address} is in use: stop the program that has it, or take another address")]
    PortInUse {
        /// The address.
        address: std::net::IpAddr,
        /// The port.
        port: u16,
    },
    /// The kernel has no such address.
    #[error("{address} is no address of this machine (`ip address` lists them; 127.0.0.0/8 are all its own)")]
    NotOurAddress {
        /// The address.
        address: std::net::IpAddr,
    },
    /// A link-local address that several interfaces have.
    #[error("{address} is an address of {links}: say of which, as in {address}%{first}", links = interfaces.join(" and "), first = interfaces.first().map_or("eth0", String::as_str))]
    ManyLinks {
        /// The address.
        address: std::net::Ipv6Addr,
        /// Who has it.
        interfaces: Vec<String>,
    },
    /// The interface does not have the link-local address.
    #[error("{address} is no address of {interface}: `ip address show dev {interface}` lists them")]
    NotOnLink {
        /// The address.
        address: std::net::Ipv6Addr,
        /// The interface that was named.
        interface: String,
    },
    /// The kernel had the address, and has it no more.
    #[error("{device}: {address} is no address of this machine any more: `ip address add` it again")]
    AddressGone {
        /// The socket.
        device: String,
        /// The address.
        address: std::net::IpAddr,
    },
    /// Anything else the kernel refused.
    #[error("{device}: cannot {action}: {source}")]
    System {
        /// The device, or what stands for it.
        device: String,
        /// What was tried, as a verb phrase.
        action: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
}
