//! A live device.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rdmalab_host::{Host, HostAddress};
use rdmalab_net::{PacketSocket, Poller, Signal, Tap, WallClock, kernel_addresses};
use rdmalab_roce::{CongestionControl, Counters, EndpointConfig, Profile};
use rdmalab_sim::{Counts, RuleSet, Seed};
use rdmalab_wire::{EthernetHeader, PKey, PathMtu, VlanTag};

use super::cable::Cable;
use super::completion_channel::CompletionChannel;
use super::completion_queue::CompletionQueue;
use super::connection::EventChannel;
use super::error::DeviceError;
use super::frame_device::FrameDevice;
use super::node::Node;
use super::notices::Notices;
use super::protection_domain::ProtectionDomain;
use super::sleepers::{Awaited, Sleepers};
use super::sockets::Sockets;
use super::stream::{Listener, Stream};
use super::wire::Wire;
use super::xrc_domain::XrcDomain;
use super::{Inner, Shared, engine};
use crate::adapter::{Adapter, AdapterConfig, mac_for};
use crate::event::DeviceEvent;
use crate::iwarp::{IwarpCounters, IwarpSettings, Transport};
use crate::port::Port;
use crate::recorder::Recorder;

/// How long a device that is closed waits for its TCP peers to confirm what was sent to them.
const PARTING: Duration = Duration::from_millis(500);
/// How long it waits for those that have confirmed all to finish, too: who closes at the same time is answered.
const COURTESY: Duration = Duration::from_millis(30);

/// What a live device is made with, whatever moves its frames.
pub struct DeviceConfig {
    /// Our addresses.
    pub addresses: Vec<HostAddress>,
    /// MTU of the link; what the link has, if it is not given.
    pub mtu: Option<usize>,
    /// The VLAN in which the emulated host lives.
    pub vlan: Option<VlanTag>,
    /// The next hop to where no prefix leads.
    pub gateways: Vec<IpAddr>,
    /// The interface of a link-local IPv6 address over a UDP socket; needed where several have it.
    pub zone: Option<String>,
    /// What happens to frames between us and the link. `End::A` is our side.
    pub rules: Option<RuleSet>,
    /// Where to record all frames. A capture that cannot go on ends whole, and the device goes on; see
    /// [`Device::capture_fault`].
    pub record: Option<PathBuf>,
    /// Seed of TCP's initial numbers, of connection management's and of queue pair numbers: by default the time, since peers
    /// that remember an earlier run take equal numbers for the same connections.
    pub seed: u64,
    /// Over what identifiers talk of which nothing else is said.
    pub transport: Transport,
    /// How connections over iWARP are made.
    pub iwarp: IwarpSettings,
    /// The implementation whose habits the transport of RoCE has.
    pub profile: Profile,
    /// What slows a flow down when the network is congested.
    pub congestion_control: CongestionControl,
    /// The port's table of partition keys.
    pub partition_keys: Vec<PKey>,
}

impl DeviceConfig {
    /// A device with these addresses and the habits of Linux' rxe, without rules and recording.
    pub fn new(addresses: Vec<HostAddress>) -> Self {
        Self {
            addresses,
            mtu: None,
            vlan: None,
            gateways: Vec::new(),
            zone: None,
            rules: None,
            record: None,
            seed: WallClock::now(),
            transport: Transport::default(),
            iwarp: IwarpSettings::default(),
            profile: Profile::RXE,
            congestion_control: CongestionControl::None,
            partition_keys: vec![PKey::DEFAULT],
        }
    }

    /// A device with one address; see [`new`](Self::new).
    pub fn at(address: HostAddress) -> Self {
        Self::new(vec![address])
    }

    /// Where queue pair numbers begin: elsewhere in each run.
    fn first_generation(&self) -> u8 {
        Seed::new(self.seed).branch(2).random().below(1 << 7) as u8
    }

    /// An emulated host on a link of this MTU.
    fn adapter(&self, link_mtu: usize) -> Result<Adapter, DeviceError> {
        let mut adapter = AdapterConfig {
            profile: self.profile,
            congestion_control: self.congestion_control,
            partition_keys: self.partition_keys.clone(),
            first_generation: self.first_generation(),
            ..AdapterConfig::new(self.addresses.clone(), self.mtu.unwrap_or(link_mtu))
        };
        adapter.host.seed = self.seed;
        adapter.host.vlan = self.vlan;
        for gateway in &self.gateways {
            match gateway {
                IpAddr::V4(gateway) => adapter.host.gateway_v4 = Some(*gateway),
                IpAddr::V6(gateway) => adapter.host.gateway_v6 = Some(*gateway),
            }
        }
        let mut adapter = Adapter::new(&adapter)?;
        // Neighbours may remember another MAC for the addresses.
        adapter.host.announce();
        Ok(adapter)
    }
}

/// A device that runs. Dropping it stops its thread and ends its capture; handles that are left find it stopped.
pub struct Device {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Watches over a device, and stops it, whoever is at work on it. The device itself stays with its owner.
#[derive(Clone)]
pub struct Stopper {
    shared: Arc<Shared>,
}

impl Stopper {
    /// Stops the device and waits, for so long at most, until its capture is whole. Everybody who waits for something of
    /// the device is told [`DeviceError::Stopped`]. Whether the device has stopped.
    pub fn stop(&self, patience: Duration) -> bool {
        let mut inner = self.shared.lock();
        inner.stop = true;
        inner.sleepers.call_all();
        drop(inner);
        self.shared.waker.wake();
        self.shared.wait_for_end(patience)
    }

    /// Whether the device has stopped, with its capture.
    pub fn has_ended(&self) -> bool {
        self.shared.lock().has_ended
    }

    /// What [`Device::capture_fault`] says.
    pub fn capture_fault(&self) -> Option<DeviceError> {
        self.shared.capture_fault()
    }

    /// What [`Device::link_fault`] says.
    pub fn link_fault(&self) -> Option<DeviceError> {
        self.shared.link_fault()
    }
}

impl Device {
    /// An emulated host behind the TAP device `name`, which is made if it does not exist, and brought up where that is
    /// allowed. The addresses must not be the kernel's.
    pub fn open_tap(name: &str, config: DeviceConfig) -> Result<Self, DeviceError> {
        let mut tap = Tap::open(name)?;
        if let Some(mtu) = config.mtu
            && usize::from(tap.mtu()?) != mtu
        {
            tap.set_mtu(u16::try_from(mtu).unwrap_or(u16::MAX))?;
        }
        if !tap.is_up()? {
            tap.bring_up()?;
        }
        refuse_kernels_addresses(&config)?;
        let adapter = config.adapter(tap.mtu()?.into())?;
        Self::start(Poller::new()?, FrameDevice::tap(tap), Node::Host(adapter), config)
    }

    /// An emulated host on the interface `name`, beside the kernel: with a MAC address of its own, and IP addresses that
    /// must not be the kernel's. The kernel of this machine is not reachable through it.
    pub fn open_interface(name: &str, config: DeviceConfig) -> Result<Self, DeviceError> {
        refuse_kernels_addresses(&config)?;
        let first = config.addresses.first().map_or(IpAddr::from([0; 4]), |own| own.address);
        let mut socket = PacketSocket::open(name, mac_for(first).0)?;
        // Superframes would be what a capture at the peer's end shows.
        socket.merge_datagrams(config.record.is_none());
        let adapter = config.adapter(socket.mtu()?.into())?;
        Self::start(Poller::new()?, FrameDevice::Packet(Box::new(socket)), Node::Host(adapter), config)
    }

    /// A device over a UDP socket on the first of the addresses, which must be the kernel's: nothing privileged, and no
    /// emulated host, since the kernel's own does what one would do. One process can have a device on each address.
    ///
    /// iWARP goes over the kernel's TCP then, which neither [rules](DeviceConfig::rules) nor a [recording](DeviceConfig::record)
    /// reach: with iWARP as the [usual transport](DeviceConfig::transport) they are refused
    /// ([`DeviceError::KernelsTcp`]), and otherwise concern RoCE only.
    pub fn open_udp(config: DeviceConfig) -> Result<Self, DeviceError> {
        if config.transport == Transport::Iwarp && (config.rules.is_some() || config.record.is_some()) {
            return Err(DeviceError::KernelsTcp);
        }
        let address = config.addresses.first().ok_or(DeviceError::NoAddress)?.address;
        let scope = rdmalab_net::scope(address, config.zone.as_deref())?;
        let sockets = Sockets::open(address, scope)?;
        let link_mtu = config.mtu.unwrap_or(sockets.socket.mtu()?.into());
        let mtu = PathMtu::from_link_mtu(link_mtu).unwrap_or(PathMtu::M256);
        let endpoint = EndpointConfig {
            profile: config.profile,
            congestion_control: config.congestion_control,
            partition_keys: config.partition_keys.clone(),
            first_generation: config.first_generation(),
            ip_layer: sockets.ip_layer(config.rules.is_none()),
            window: window(sockets.socket.receive_buffer()?, mtu),
            ..EndpointConfig::new(vec![address], mtu)
        };
        let port = Port::new(endpoint, EthernetHeader::LENGTH);
        Self::start(
            Poller::new()?,
            FrameDevice::Sockets(Box::new(sockets)),
            Node::Port(port, address, scope),
            config,
        )
    }

    /// Two devices in this process and a cable between them, with an MTU of 4200 if nothing else is said.
    pub fn pair(a: DeviceConfig, b: DeviceConfig) -> Result<(Self, Self), DeviceError> {
        const MTU: usize = 4200;
        let (poller_a, poller_b) = (Poller::new()?, Poller::new()?);
        let (end_a, end_b) = Cable::between(&poller_a, &poller_b);
        let (host_a, host_b) = (a.adapter(MTU)?, b.adapter(MTU)?);
        let a = Self::start(poller_a, FrameDevice::Cable(end_a), Node::Host(host_a), a)?;
        let b = Self::start(poller_b, FrameDevice::Cable(end_b), Node::Host(host_b), b)?;
        Ok((a, b))
    }

    fn start(
        poller: Poller,
        device: FrameDevice,
        mut node: Node,
        config: DeviceConfig,
    ) -> Result<Self, DeviceError> {
        node.port().manage_connections(config.seed)?;
        node.port().set_transport(config.transport, config.iwarp);
        let recorder = config.record.map(|path| Recorder::create(&path, &[device.name()])).transpose()?;
        let asynchronous = Arc::new(Signal::new()?);
        let shared = Arc::new(Shared {
            state: Mutex::new(Inner {
                node,
                notices: Notices::new(&asynchronous),
                sleepers: Sleepers::default(),
                failure: None,
                stop: false,
                has_ended: false,
                link_fault: None,
                capture_fault: None,
                is_cut: false,
                rule_counts: Counts::default(),
            }),
            asynchronous,
            waker: poller.waker(),
        });
        let wire = Wire::new(device, config.rules, recorder);
        let thread = std::thread::Builder::new()
            .name("rdmalab engine".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || engine::run(&shared, poller, wire)
            })
            .map_err(|error| DeviceError::Thread(Arc::new(error)))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// The port's addresses in the order of its GID table.
    pub fn gids(&self) -> Vec<IpAddr> {
        self.shared.lock().port().endpoint.config().addresses.clone()
    }

    /// The largest path MTU that the link carries.
    pub fn max_mtu(&self) -> PathMtu {
        self.shared.lock().port().endpoint.config().max_mtu
    }

    /// What the transport counted so far.
    pub fn counters(&self) -> Counters {
        self.shared.lock().port().counters()
    }

    /// Over what identifiers talk of which nothing else is said.
    pub fn transport(&self) -> Transport {
        self.shared.lock().port().transport()
    }

    /// What iWARP counted so far.
    pub fn iwarp_counters(&self) -> IwarpCounters {
        self.shared.lock().port().iwarp_counters()
    }

    /// Takes an asynchronous event out, if there is one: of queue pairs, or of queues that they share.
    pub fn poll_event(&self) -> Option<DeviceEvent> {
        self.shared.lock().port().poll_asynchronous_event()
    }

    /// Waits for an asynchronous event; without a timeout, for ever. `None` if the time is up.
    pub fn wait_event(&self, timeout: Option<Duration>) -> Result<Option<DeviceEvent>, DeviceError> {
        self.shared.wait(Awaited::AsynchronousEvent, timeout, Port::poll_asynchronous_event)
    }

    /// A descriptor for `poll(2)` and the like that is readable while [asynchronous events](Self::poll_event) wait to be taken
    /// out (the `async_fd` of the verbs), and for ever once the device has ended, which
    /// [`wait_event`](Self::wait_event) then tells. It is not to be read.
    pub fn event_descriptor(&self) -> BorrowedFd<'_> {
        self.shared.asynchronous.as_fd()
    }

    /// Why what is sent is lost at present, if it is: the interface is down, or the address was removed; the error names it.
    /// The device goes on by itself when that is over, which it notices when it sends. One that is gone for good is told by
    /// whatever waits for something of it, and by [`close`](Self::close).
    pub fn link_fault(&self) -> Option<DeviceError> {
        self.shared.link_fault()
    }

    /// Why the capture has ended early, if it has: the disk is full, say. The file is whole up to the frame that is named, and the
    /// device goes on without recording. [`close`](Self::close) tells it, too.
    pub fn capture_fault(&self) -> Option<DeviceError> {
        self.shared.capture_fault()
    }

    /// What the rules on the link did to frames that this device sent.
    pub fn rule_counts(&self) -> Counts {
        self.shared.lock().rule_counts
    }

    /// Makes a protection domain.
    pub fn protection_domain(&self) -> Result<ProtectionDomain, DeviceError> {
        ProtectionDomain::new(&self.shared)
    }

    /// Makes an XRC domain.
    pub fn xrc_domain(&self) -> Result<XrcDomain, DeviceError> {
        XrcDomain::new(&self.shared)
    }

    /// Makes a completion queue for this many entries.
    pub fn completion_queue(&self, entries: u32) -> Result<CompletionQueue, DeviceError> {
        CompletionQueue::new(&self.shared, entries, None)
    }

    /// Makes a completion queue for this many entries whose completions a channel tells of when it is armed.
    pub fn completion_queue_with(
        &self,
        entries: u32,
        channel: &CompletionChannel,
    ) -> Result<CompletionQueue, DeviceError> {
        CompletionQueue::new(&self.shared, entries, Some(channel))
    }

    /// Makes a completion channel (`ibv_create_comp_channel`).
    pub fn completion_channel(&self) -> Result<CompletionChannel, DeviceError> {
        CompletionChannel::new(&self.shared)
    }

    /// Makes an event channel for connections by address and port (`rdma_create_event_channel`).
    pub fn event_channel(&self) -> Result<EventChannel, DeviceError> {
        EventChannel::new(&self.shared)
    }

    /// Listens for TCP connections to this host.
    pub fn listen(&self, port: u16) -> Result<Listener, DeviceError> {
        Listener::new(&self.shared, port)
    }

    /// Opens a TCP connection from this host and waits until it stands.
    pub fn connect(&self, peer: SocketAddr, timeout: Option<Duration>) -> Result<Stream, DeviceError> {
        Stream::connect(&self.shared, peer, timeout)
    }

    /// A handle that stops the device from another thread, in answer to a signal, say.
    pub fn stopper(&self) -> Stopper {
        Stopper { shared: Arc::clone(&self.shared) }
    }

    /// Stops the device and ends its capture. Errors that nobody has been told of come out here, and that the capture is not of all.
    pub fn close(mut self) -> Result<(), DeviceError> {
        self.stop();
        let failure = self.shared.lock().failure.take();
        failure.or_else(|| self.shared.capture_fault()).map_or(Ok(()), Err)
    }

    /// Waits until no streams are left, unless nobody is at the other end of the link.
    fn wait_for_streams(&self, patience: Duration, left: impl Fn(&Host) -> usize) {
        let _ = self.shared.wait_for_inner(Awaited::Turn, Some(patience), |inner| {
            let is_done = inner.is_cut || inner.node.host().is_none_or(|host| left(host) == 0);
            is_done.then_some(())
        });
    }

    fn stop(&mut self) {
        // What was written to streams before they were dropped, or completed over iWARP, should still arrive.
        let _ =
            self.shared.wait(Awaited::Turn, Some(PARTING), |port| (!port.iwarp.has_unsent()).then_some(()));
        self.wait_for_streams(PARTING, Host::unfinished_streams);
        self.wait_for_streams(COURTESY, Host::half_closed_streams);
        self.shared.lock().stop = true;
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by the panic handler.
            let _ = thread.join();
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An emulated host needs addresses of its own.
fn refuse_kernels_addresses(config: &DeviceConfig) -> Result<(), DeviceError> {
    for (device, address) in kernel_addresses()? {
        if config.addresses.iter().any(|own| own.address == address) {
            return Err(DeviceError::KernelsAddress { address, device });
        }
    }
    Ok(())
}

/// Packets that may be unacknowledged where the receiver's socket has a buffer of so many bytes, its kernel's overhead
/// included: we take the peer's to be like ours. More would be lost.
fn window(buffer: usize, mtu: PathMtu) -> u32 {
    let packets = buffer / 4 / mtu.bytes();
    u32::try_from(packets).unwrap_or(u32::MAX).clamp(16, 128)
}
