//! A live device.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rdmalab_host::HostAddress;
use rdmalab_net::{Poller, Tap, kernel_addresses};
use rdmalab_roce::{CongestionControl, Counters, Profile};
use rdmalab_sim::{Counts, RuleSet};
use rdmalab_wire::{PKey, PathMtu};

use super::completion_queue::CompletionQueue;
use super::error::DeviceError;
use super::protection_domain::ProtectionDomain;
use super::stream::{Listener, Stream};
use super::wire::Wire;
use super::xrc_domain::XrcDomain;
use super::{Inner, Shared, engine};
use crate::adapter::{Adapter, AdapterConfig};
use crate::event::DeviceEvent;
use crate::recorder::Recorder;

/// How long a device that is closed waits for its TCP peers to confirm what was sent to them.
const PARTING: Duration = Duration::from_millis(500);

/// What a device on a TAP device is made with.
pub struct TapConfig {
    /// The TAP device; made if it does not exist.
    pub name: String,
    /// Our addresses, which must not be those of the kernel on the other side.
    pub addresses: Vec<HostAddress>,
    /// MTU of the link; what the TAP device has, if it is not given.
    pub mtu: Option<usize>,
    /// What happens to frames between us and the TAP device. `End::A` is our side.
    pub rules: Option<RuleSet>,
    /// Where to record all frames.
    pub record: Option<PathBuf>,
    /// Seed of TCP's initial numbers.
    pub seed: u64,
    /// The implementation whose habits the transport has.
    pub profile: Profile,
    /// What slows a flow down when the network is congested.
    pub congestion_control: CongestionControl,
    /// The port's table of partition keys.
    pub partition_keys: Vec<PKey>,
}

impl TapConfig {
    /// A device with these addresses and the habits of Linux' rxe, without rules and recording.
    pub fn new(name: &str, addresses: Vec<HostAddress>) -> Self {
        Self {
            name: name.to_owned(),
            addresses,
            mtu: None,
            rules: None,
            record: None,
            seed: 0,
            profile: Profile::RXE,
            congestion_control: CongestionControl::None,
            partition_keys: vec![PKey::DEFAULT],
        }
    }
}

/// A device that runs. Dropping it stops its thread and ends its capture; handles that are left find it stopped.
pub struct Device {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Device {
    /// Attaches to a TAP device, brings it up where that is allowed, and starts.
    pub fn open_tap(config: TapConfig) -> Result<Self, DeviceError> {
        let mut tap = Tap::open(&config.name)?;
        if let Some(mtu) = config.mtu
            && usize::from(tap.mtu()?) != mtu
        {
            tap.set_mtu(u16::try_from(mtu).unwrap_or(u16::MAX))?;
        }
        if !tap.is_up()? {
            tap.bring_up()?;
        }
        for (device, address) in kernel_addresses()? {
            if config.addresses.iter().any(|own| own.address == address) {
                return Err(DeviceError::KernelsAddress { address, device });
            }
        }
        let mut adapter = AdapterConfig {
            profile: config.profile,
            congestion_control: config.congestion_control,
            partition_keys: config.partition_keys,
            ..AdapterConfig::new(config.addresses, usize::from(tap.mtu()?))
        };
        adapter.host.seed = config.seed;
        let adapter = Adapter::new(&adapter)?;
        let recorder = config.record.map(|path| Recorder::create(&path, &[tap.name()])).transpose()?;
        let poller = Poller::new()?;
        let shared = Arc::new(Shared {
            state: Mutex::new(Inner { adapter, failure: None, stop: false, rule_counts: Counts::default() }),
            changed: Condvar::new(),
            waker: poller.waker(),
        });
        let wire = Wire::new(tap, config.rules, recorder);
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
        self.shared.lock().adapter.endpoint.config().addresses.clone()
    }

    /// The largest path MTU that the link carries.
    pub fn max_mtu(&self) -> PathMtu {
        self.shared.lock().adapter.endpoint.config().max_mtu
    }

    /// What the transport counted so far.
    pub fn counters(&self) -> Counters {
        *self.shared.lock().adapter.endpoint.counters()
    }

    /// Takes an asynchronous event out, if there is one: of queue pairs, or of queues that they share.
    pub fn poll_event(&self) -> Option<DeviceEvent> {
        self.shared.lock().adapter.poll_event()
    }

    /// Waits for an asynchronous event; without a timeout, for ever. `None` if the time is up.
    pub fn wait_event(&self, timeout: Option<Duration>) -> Result<Option<DeviceEvent>, DeviceError> {
        self.shared.wait(timeout, Adapter::poll_event)
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
        CompletionQueue::new(&self.shared, entries)
    }

    /// Listens for TCP connections to the emulated host.
    pub fn listen(&self, port: u16) -> Result<Listener, DeviceError> {
        Listener::new(&self.shared, port)
    }

    /// Opens a TCP connection from the emulated host and waits until it stands.
    pub fn connect(&self, peer: SocketAddr, timeout: Option<Duration>) -> Result<Stream, DeviceError> {
        Stream::connect(&self.shared, peer, timeout)
    }

    /// Stops the device and ends its capture. Errors that nobody has been told of come out here.
    pub fn close(mut self) -> Result<(), DeviceError> {
        self.stop();
        self.shared.lock().failure.take().map_or(Ok(()), Err)
    }

    fn stop(&mut self) {
        // What was written to streams before they were dropped should still arrive.
        let finished = |adapter: &mut Adapter| (adapter.host.unfinished_streams() == 0).then_some(());
        let _ = self.shared.wait(Some(PARTING), finished);
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
