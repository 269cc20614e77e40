//! A live device and its protection domains.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rdmalab_host::HostAddress;
use rdmalab_net::{Poller, Tap, kernel_addresses};
use rdmalab_roce::{Counters, Event, QueuePairConfig};
use rdmalab_sim::{Counts, RuleSet};
use rdmalab_verbs::{Access, Capabilities, ProtectionDomainId, QueuePairType};
use rdmalab_wire::PathMtu;

use super::completion_queue::CompletionQueue;
use super::error::DeviceError;
use super::memory_region::MemoryRegion;
use super::queue_pair::QueuePair;
use super::stream::{Listener, Stream};
use super::wire::Wire;
use super::{Inner, Shared, engine};
use crate::adapter::{Adapter, AdapterConfig};
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
}

impl TapConfig {
    /// A device with these addresses, without rules and recording.
    pub fn new(name: &str, addresses: Vec<HostAddress>) -> Self {
        Self { name: name.to_owned(), addresses, mtu: None, rules: None, record: None, seed: 0 }
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
        let mut adapter = AdapterConfig::new(config.addresses, usize::from(tap.mtu()?));
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

    /// Takes the oldest asynchronous event out, if there is one.
    pub fn poll_event(&self) -> Option<Event> {
        self.shared.lock().adapter.endpoint.poll_event()
    }

    /// What the rules on the link did to frames that this device sent.
    pub fn rule_counts(&self) -> Counts {
        self.shared.lock().rule_counts
    }

    /// Makes a protection domain.
    pub fn protection_domain(&self) -> Result<ProtectionDomain, DeviceError> {
        let id = self.shared.lock().adapter.context.allocate_protection_domain()?;
        Ok(ProtectionDomain { shared: Arc::clone(&self.shared), id })
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

/// A protection domain: regions and queue pairs of one domain may work together.
pub struct ProtectionDomain {
    pub(super) shared: Arc<Shared>,
    pub(super) id: ProtectionDomainId,
}

impl ProtectionDomain {
    /// Allocates and registers `length` bytes of zero.
    pub fn register(&self, length: usize, access: Access) -> Result<MemoryRegion, DeviceError> {
        MemoryRegion::new(self, length, access)
    }

    /// Makes a queue pair, in RESET.
    pub fn queue_pair(
        &self,
        send: &CompletionQueue,
        receive: &CompletionQueue,
        capabilities: Capabilities,
    ) -> Result<QueuePair, DeviceError> {
        let config = QueuePairConfig {
            receive_queue: receive.id(),
            ..QueuePairConfig::new(QueuePairType::Rc, self.id, send.id(), capabilities)
        };
        QueuePair::new(&self.shared, &config)
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // While regions or queue pairs live in it, it stays; it goes with the device.
        let _ = self.shared.lock().adapter.context.deallocate_protection_domain(self.id);
    }
}
