//! The device itself: an emulated host with a port in it. Sans-IO, frames in and out.

use std::net::IpAddr;

use rdmalab_host::{ConfigError, Handled, Host, HostAddress, HostConfig, Sent};
use rdmalab_roce::{CongestionControl, EndpointConfig, Profile};
use rdmalab_wire::{EthernetAddress, PKey, PathMtu};

use crate::emulated_streams::EmulatedStreams;
use crate::event::DeviceEvent;
use crate::port::Port;

/// Frames that one call of [`Adapter::transmit`] hands on at most, so that receiving gets its turn.
pub(crate) const TURN: usize = 256;

/// RFC 8200 §5.
const SMALLEST_IPV6_MTU: usize = 1280;

/// What an [`Adapter`] is made with.
#[derive(Clone, Debug)]
pub struct AdapterConfig {
    /// The host: MAC, addresses, gateway, MTU.
    pub host: HostConfig,
    /// The implementation whose habits the transport has.
    pub profile: Profile,
    /// What slows a flow down when the network is congested.
    pub congestion_control: CongestionControl,
    /// The port's table of partition keys.
    pub partition_keys: Vec<PKey>,
    /// Whether the endpoint reports each retry as an event.
    pub report_retries: bool,
    /// Where queue pair numbers begin ([`EndpointConfig::first_generation`]).
    pub first_generation: u8,
}

impl AdapterConfig {
    /// An adapter with these addresses on a link with this MTU (1500 or 4200, say). The MAC address is made from the
    /// first address, so that it is the same every time.
    pub fn new(addresses: Vec<HostAddress>, mtu: usize) -> Self {
        let mac =
            addresses.first().map_or(EthernetAddress([2, 0, 0, 0, 0, 1]), |first| mac_for(first.address));
        let host = HostConfig { addresses, mtu, ..HostConfig::new(mac) };
        Self {
            host,
            profile: Profile::RXE,
            congestion_control: CongestionControl::None,
            partition_keys: vec![PKey::DEFAULT],
            report_retries: false,
            first_generation: 0,
        }
    }
}

/// The MAC address that goes with an IP address, so that it is the same every time.
pub(crate) fn mac_for(address: IpAddr) -> EthernetAddress {
    EthernetAddress(match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            [2, 0, a, b, c, d]
        }
        IpAddr::V6(address) => {
            let [.., a, b, c, d] = address.octets();
            [2, 1, a, b, c, d]
        }
    })
}

/// How far [`Adapter::transmit`] got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is nothing more to send now.
    Done,
    /// There is more; call again after receiving.
    More,
    /// The link took no more frames; call again when it does.
    Blocked,
}

/// Where the frame stands that goes out next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    Nothing,
    /// A frame of the host's own.
    Control,
}

/// A device: frames in, frames out.
///
/// Its parts are open, because the application's calls go straight to them: objects, memory and queue pairs to
/// [`port`](Self::port), TCP to [`host`](Self::host). Afterwards call [`transmit`](Self::transmit) for what they want to
/// send.
pub struct Adapter {
    /// The emulated host.
    pub host: Host,
    /// The transport and what it works on.
    pub port: Port,
    control: Vec<u8>,
    waiting: Waiting,
    /// What [`Host::settled_neighbours`] was when identifiers that wait for neighbours were told last.
    settled: u64,
    streams: EmulatedStreams,
    /// The host got a frame of its own, or did what was due.
    host_stirred: bool,
}

impl Adapter {
    /// An adapter with nothing made in it. Its port has the link-local address of its MAC as GID 0, then the IPv4
    /// addresses that it was given, then the IPv6 ones, as Linux orders them. On a link with less than IPv6's smallest MTU, 1280 bytes, there is no
    /// link-local address.
    pub fn new(config: &AdapterConfig) -> Result<Self, ConfigError> {
        let mut host = config.host.clone();
        let link_local = HostAddress::link_local(host.mac);
        if host.mtu >= SMALLEST_IPV6_MTU && !host.addresses.contains(&link_local) {
            host.addresses.push(link_local);
        }
        let mut gids: Vec<IpAddr> = host.addresses.iter().map(|own| own.address).collect();
        // Stable: those of a family keep their order.
        gids.sort_by_key(|own| (*own != link_local.address, own.is_ipv6()));
        let mtu = PathMtu::from_link_mtu(host.mtu).unwrap_or(PathMtu::M256);
        let endpoint = EndpointConfig {
            profile: config.profile,
            congestion_control: config.congestion_control,
            partition_keys: config.partition_keys.clone(),
            report_retries: config.report_retries,
            first_generation: config.first_generation,
            ..EndpointConfig::new(gids, mtu)
        };
        let host = Host::new(&HostConfig { every_group: false, ..host })?;
        let mut port = Port::new(endpoint, host.headroom());
        port.inquiries.are_answered();
        Ok(Self {
            port,
            host,
            control: Vec::new(),
            waiting: Waiting::Nothing,
            settled: 0,
            streams: EmulatedStreams::default(),
            host_stirred: false,
        })
    }

    /// Takes the next asynchronous event out ([`Port::poll_event`]).
    pub fn poll_event(&mut self) -> Option<DeviceEvent> {
        self.port.poll_event()
    }

    /// A frame from the link.
    pub fn handle_frame(&mut self, now: u64, frame: &[u8]) {
        if let Handled::Roce(packet) = self.host.handle_frame(now, frame) {
            self.port.handle_packet(now, packet);
        } else {
            self.host_stirred = true;
        }
    }

    /// Whether the host got a frame of its own or did what was due since this was asked last.
    #[cfg(feature = "net")]
    pub(crate) fn has_host_stirred(&mut self) -> bool {
        std::mem::take(&mut self.host_stirred)
    }

    /// Does everything that is due by `now`.
    pub fn handle_timeout(&mut self, now: u64) {
        self.host_stirred |= self.host.next_timeout(now).is_some_and(|due| due <= now);
        self.host.handle_timeout(now);
        self.streams.receive(&mut self.host, &mut self.port);
        self.port.handle_timeout(now);
    }

    /// When [`handle_timeout`](Self::handle_timeout) or [`transmit`](Self::transmit) has something to do; at once, if
    /// frames wait already.
    pub fn next_timeout(&self, now: u64) -> Option<u64> {
        if self.waiting != Waiting::Nothing || self.has_answers() {
            return Some(now);
        }
        [self.host.next_timeout(now), self.port.next_timeout(now)].into_iter().flatten().min()
    }

    /// Whether neighbours are to be looked for, or identifiers to be told of them.
    fn has_answers(&self) -> bool {
        self.port.inquiries.is_asking() || self.settled != self.host.settled_neighbours()
    }

    fn look_for_neighbours(&mut self, now: u64) {
        if !self.has_answers() {
            return;
        }
        while let Some(destination) = self.port.inquiries.next() {
            self.host.look_for(now, destination);
        }
        self.settled = self.host.settled_neighbours();
        let host = &self.host;
        self.port.answer(now, |peer| host.reach(peer));
    }

    /// Hands frames to `link` until there are no more or it returns `false`, which means that it did not take the
    /// frame: it gets the same one again next time. An error ends it at once.
    pub fn transmit<E>(
        &mut self,
        now: u64,
        mut link: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<Progress, E> {
        self.look_for_neighbours(now);
        self.streams.receive(&mut self.host, &mut self.port);
        let mut left = TURN;
        loop {
            if left == 0 {
                return Ok(Progress::More);
            }
            if self.waiting == Waiting::Control {
                if !link(&self.control)? {
                    return Ok(Progress::Blocked);
                }
                self.waiting = Waiting::Nothing;
                left -= 1;
            }
            if let Some(frame) = self.port.packet() {
                match self.host.send_roce(now, frame) {
                    Sent::Ready if !link(frame)? => return Ok(Progress::Blocked),
                    Sent::Ours => self.port.loop_back(now),
                    // What is held comes out of the host later; what is dropped the transport sends again.
                    Sent::Ready | Sent::Held | Sent::Dropped(_) => {}
                }
                self.port.pass();
                left -= 1;
            } else if self.host.poll_frame(now, &mut self.control) {
                self.waiting = Waiting::Control;
                self.host_stirred = true;
            } else if self.streams.send(&mut self.host, &mut self.port) {
                // The host has segments now.
            } else if !self.port.fill(now) {
                return Ok(Progress::Done);
            }
        }
    }
}
