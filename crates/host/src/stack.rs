//! smoltcp: IP, ICMP and the TCP sockets, with bare IP packets going in and out.
//!
//! It never sees an Ethernet header, ARP or NDP (its medium is IP): neighbours are resolved in one place, for TCP and
//! RoCE alike, and no request can be answered twice. It never sees UDP port 4791 and no fragment either.
//!
//! Each outgoing packet lies in a buffer of its own behind free bytes for the Ethernet header. At most
//! [`OUTGOING_MAX`] wait; more replies than that are thrown away, and sockets are not asked before the queue is empty.

use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, PollIngressSingleResult, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};

use crate::config::HostConfig;

/// Packets that may wait to be taken out: more than there can be sockets, so that one pass over them always fits.
pub(crate) const OUTGOING_MAX: usize = 160;

/// Buffers kept for use again.
const SPARE_MAX: usize = OUTGOING_MAX;

const NANOSECONDS_PER_MICROSECOND: u64 = 1000;

/// smoltcp counts microseconds; the rest is cut off, which [`nanoseconds`] never undercuts.
fn instant(now: u64) -> Instant {
    Instant::from_micros((now / NANOSECONDS_PER_MICROSECOND).cast_signed())
}

fn nanoseconds(at: Instant) -> u64 {
    u64::try_from(at.total_micros()).unwrap_or(0).saturating_mul(NANOSECONDS_PER_MICROSECOND)
}

pub(crate) struct Stack {
    interface: Interface,
    pub(crate) sockets: SocketSet<'static>,
    outgoing: Outgoing,
    mtu: usize,
}

impl Stack {
    /// From a validated configuration; with so many free bytes in front of each packet.
    pub(crate) fn new(config: &HostConfig, headroom: usize) -> Self {
        let mut outgoing = Outgoing { headroom, ..Outgoing::default() };
        let mut settings = Config::new(HardwareAddress::Ip);
        settings.random_seed = config.seed;
        let mut port = Port { incoming: None, outgoing: &mut outgoing, mtu: config.mtu };
        let mut interface = Interface::new(settings, &mut port, Instant::ZERO);
        interface.update_ip_addrs(|list| {
            for own in &config.addresses {
                // No more than MAX_ADDRESSES, for which smoltcp is built (see Cargo.toml).
                let _ = list.push(IpCidr::new(own.address.into(), own.prefix_length));
            }
        });
        Self { interface, sockets: SocketSet::new(Vec::new()), outgoing, mtu: config.mtu }
    }

    /// The context that connecting a socket asks for.
    pub(crate) fn connecting(&mut self) -> (&mut smoltcp::iface::Context, &mut SocketSet<'static>) {
        (self.interface.context(), &mut self.sockets)
    }

    /// One IP packet in; at most one reply joins the outgoing packets.
    pub(crate) fn handle_packet(&mut self, now: u64, packet: &[u8]) {
        let mut port = Port { incoming: Some(packet), outgoing: &mut self.outgoing, mtu: self.mtu };
        let _: PollIngressSingleResult =
            self.interface.poll_ingress_single(instant(now), &mut port, &mut self.sockets);
    }

    /// Lets each socket send at most one packet.
    pub(crate) fn poll_sockets(&mut self, now: u64) {
        let mut port = Port { incoming: None, outgoing: &mut self.outgoing, mtu: self.mtu };
        self.interface.poll_egress(instant(now), &mut port, &mut self.sockets);
    }

    /// When a socket has something to send next; at once if that is not after `now`.
    pub(crate) fn next_socket_timeout(&mut self, now: u64) -> Option<u64> {
        self.interface.poll_at(instant(now), &self.sockets).map(nanoseconds)
    }

    /// The next outgoing packet, with its headroom in front.
    pub(crate) fn next_outgoing(&mut self) -> Option<Vec<u8>> {
        self.outgoing.packets.pop_front()
    }

    pub(crate) fn has_outgoing(&self) -> bool {
        !self.outgoing.packets.is_empty()
    }

    /// Gives a buffer back for use again.
    pub(crate) fn recycle(&mut self, buffer: Vec<u8>) {
        if self.outgoing.spare.len() < SPARE_MAX && buffer.capacity() != 0 {
            self.outgoing.spare.push(buffer);
        }
    }

    /// An empty buffer.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.outgoing.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer
    }

    /// Replies thrown away because too many were waiting.
    pub(crate) fn replies_dropped(&self) -> u64 {
        self.outgoing.dropped
    }
}

#[derive(Default)]
struct Outgoing {
    headroom: usize,
    packets: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    dropped: u64,
}

/// The device smoltcp sees during one call.
struct Port<'a> {
    incoming: Option<&'a [u8]>,
    outgoing: &'a mut Outgoing,
    mtu: usize,
}

impl Device for Port<'_> {
    type RxToken<'t>
        = Incoming<'t>
    where
        Self: 't;
    type TxToken<'t>
        = Slot<'t>
    where
        Self: 't;

    fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Slot<'_>)> {
        self.incoming.take().map(|packet| (Incoming(packet), Slot(self.outgoing)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Slot<'_>> {
        (self.outgoing.packets.len() < OUTGOING_MAX).then_some(Slot(self.outgoing))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

struct Incoming<'a>(&'a [u8]);

impl RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

struct Slot<'a>(&'a mut Outgoing);

impl TxToken for Slot<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let mut buffer = self.0.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.resize(self.0.headroom + length, 0);
        let result = f(&mut buffer[self.0.headroom..]);
        if self.0.packets.len() < OUTGOING_MAX {
            self.0.packets.push_back(buffer);
        } else {
            self.0.dropped += 1;
            self.0.spare.push(buffer);
        }
        result
    }
}
