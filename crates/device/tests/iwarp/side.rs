//! A device with what a test works on, and connections between two of them.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rdmalab_device::{
    Access, Capabilities, Completion, CompletionQueue, CompletionStatus, Connection, ConnectionParameters,
    Device, DeviceConfig, HostAddress, IwarpSettings, MemoryRegion, Operation, ProtectionDomain, QueuePair,
    QueuePairOptions, QueuePairType, ReceiveRequest, SendFlags, SendRequest, Transport,
};

pub const PATIENCE: Option<Duration> = Some(Duration::from_secs(30));
pub const LENGTH: usize = 1 << 20;

pub struct Side {
    // Dropped in this order.
    pub completions: CompletionQueue,
    pub memory: MemoryRegion,
    pub domain: ProtectionDomain,
    pub device: Device,
    pub address: IpAddr,
}

/// Addresses of 127.0.0.0/8, two for each test of this process.
static NEXT: AtomicU16 = AtomicU16::new(1);

pub fn config(address: IpAddr, transport: Transport, iwarp: IwarpSettings) -> DeviceConfig {
    let length = if address.is_ipv4() { 24 } else { 64 };
    let addresses = vec![HostAddress::new(address, length)];
    DeviceConfig { transport, iwarp, seed: 7, ..DeviceConfig::new(addresses) }
}

impl Side {
    pub fn new(device: Device, address: IpAddr) -> Self {
        let domain = device.protection_domain().unwrap();
        let completions = device.completion_queue(1024).unwrap();
        let memory = domain.register(LENGTH, Access::FULL).unwrap();
        Self { completions, memory, domain, device, address }
    }

    /// Two devices over the kernel's TCP.
    pub fn over_kernel(iwarp: [IwarpSettings; 2], transport: Transport) -> [Self; 2] {
        let number = NEXT.fetch_add(2, Ordering::Relaxed);
        // Tests of several processes may run at once.
        let process = (std::process::id() % 200) as u8 + 20;
        let mut next = number;
        iwarp.map(|iwarp| {
            let [high, low] = next.to_be_bytes();
            next += 1;
            let address = IpAddr::from([127, process, high, low]);
            Self::new(Device::open_udp(config(address, transport, iwarp)).unwrap(), address)
        })
    }

    /// Two emulated hosts at the ends of a cable.
    pub fn over_cable(iwarp: [IwarpSettings; 2], transport: Transport) -> [Self; 2] {
        let addresses = [IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
        let [a, b] = iwarp;
        let (a, b) =
            Device::pair(config(addresses[0], transport, a), config(addresses[1], transport, b)).unwrap();
        [Self::new(a, addresses[0]), Self::new(b, addresses[1])]
    }

    /// Every pair of devices that a test should hold for, with its name.
    pub fn pairs(iwarp: &IwarpSettings) -> [(&'static str, [Self; 2]); 2] {
        let both = || [iwarp.clone(), iwarp.clone()];
        [
            ("kernel", Self::over_kernel(both(), Transport::Iwarp)),
            ("cable", Self::over_cable(both(), Transport::Iwarp)),
        ]
    }

    pub fn options(&self) -> QueuePairOptions<'_> {
        let capabilities =
            Capabilities { max_send_requests: 64, max_receive_requests: 64, ..Capabilities::default() };
        QueuePairOptions { capabilities, ..QueuePairOptions::new(QueuePairType::Rc, &self.completions) }
    }

    #[track_caller]
    pub fn completion(&self) -> Completion {
        self.completions.wait(PATIENCE).unwrap().expect("no completion in time")
    }

    #[track_caller]
    pub fn success(&self) -> Completion {
        let completion = self.completion();
        assert_eq!(completion.status, CompletionStatus::Success);
        completion
    }

    pub fn receive(&self, queue_pair: &QueuePair, id: u64, at: usize, length: usize) {
        let elements = [self.memory.element(at as u64, length as u32)];
        queue_pair.post_receive(&ReceiveRequest { id, elements: &elements }).unwrap();
    }

    pub fn post(&self, queue_pair: &QueuePair, id: u64, operation: Operation, at: usize, length: usize) {
        let elements = [self.memory.element(at as u64, length as u32)];
        let flags = SendFlags::SIGNALED;
        let request = SendRequest { id, operation, elements: &elements, flags, ..SendRequest::default() };
        queue_pair.post_send(&request).unwrap();
    }

    pub fn bytes(&self, at: usize, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.memory.read(at, &mut bytes).unwrap();
        bytes
    }
}

/// One calls and the other accepts.
#[track_caller]
pub fn connect(a: &Side, b: &Side) -> [Connection; 2] {
    connect_with(a, b, &ConnectionParameters::default(), |_| ())
}

#[track_caller]
pub fn connect_with(
    a: &Side,
    b: &Side,
    parameters: &ConnectionParameters<'_>,
    prepare: impl Fn(&QueuePair) + Sync,
) -> [Connection; 2] {
    let listener = b.device.listen_for_calls(SocketAddr::new(b.address, 0), 16).unwrap();
    let at = listener.address().unwrap().expect("it listens");
    assert_ne!(at.port(), 0);
    std::thread::scope(|scope| {
        let called = scope.spawn(|| {
            let call = listener.next(PATIENCE).unwrap().expect("a call");
            let prepare = |queue_pair: &QueuePair| {
                prepare(queue_pair);
                Ok(())
            };
            call.accept(&b.domain, &b.options(), parameters, prepare, PATIENCE).unwrap()
        });
        let prepare = |_: &QueuePair| Ok(());
        let caller = a.device.call(at, &a.domain, &a.options(), parameters, prepare, PATIENCE).unwrap();
        [caller, called.join().unwrap()]
    })
}

/// Different at each place.
pub fn pattern(length: usize, salt: u32) -> Vec<u8> {
    (0..length as u32).map(|n| (n.wrapping_mul(7) + n / 251 + salt) as u8).collect()
}
