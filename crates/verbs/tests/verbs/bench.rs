//! What the tests of regions and windows stand on: one context with a region in a protection domain, and a queue pair
//! that accesses it.

use std::sync::Arc;

use rdmalab_verbs::{
    Access, Accessor, BindFault, Context, HeapMemory, ProtectionDomainId, RemoteFault, WindowBinding,
    WindowType,
};
use rdmalab_wire::RKey;

/// The region's virtual address.
pub const BASE: u64 = 0x1000;
/// Its length in bytes.
pub const SIZE: u64 = 100;

pub struct Bench {
    pub context: Context,
    pub domain: ProtectionDomainId,
    /// The queue pair.
    pub us: Accessor,
    /// Another queue pair of the same protection domain.
    pub others: Accessor,
    /// A queue pair of another protection domain.
    pub strangers: Accessor,
    /// The region's key.
    pub region: u32,
}

impl Bench {
    /// With a region of these rights.
    pub fn new(access: Access) -> Self {
        let mut context = Context::default();
        let domain = context.allocate_protection_domain().unwrap();
        let elsewhere = context.allocate_protection_domain().unwrap();
        let region = context.register(domain, BASE, memory(), access).unwrap();
        let accessor = |protection_domain, queue_pair| Accessor { protection_domain, queue_pair };
        let (us, others) = (accessor(domain, 1), accessor(domain, 2));
        Self { context, domain, us, others, strangers: accessor(elsewhere, 3), region }
    }

    /// With a region that windows can be bound to, whatever rights they give.
    pub fn bindable() -> Self {
        Self::new(Access::LOCAL_WRITE | Access::MW_BIND)
    }

    pub fn window(&mut self, kind: WindowType) -> RKey {
        self.context.allocate_window(self.domain, kind).unwrap()
    }

    /// Binds a window to bytes 10 to 30 of the region, changed by `change`. Returns the new key.
    #[track_caller]
    pub fn bind(&mut self, window: RKey, change: impl FnOnce(&mut WindowBinding)) -> RKey {
        self.try_bind(window, change).unwrap()
    }

    pub fn try_bind(
        &mut self,
        window: RKey,
        change: impl FnOnce(&mut WindowBinding),
    ) -> Result<RKey, BindFault> {
        let mut binding = WindowBinding {
            window,
            key: next(window),
            region: self.region,
            address: BASE + 10,
            length: 20,
            access: Access::REMOTE_READ | Access::REMOTE_WRITE,
        };
        change(&mut binding);
        self.context.bind_window(&self.us, &binding).map(|()| binding.key)
    }

    /// Reads one byte for a peer of `accessor`.
    pub fn read(&self, accessor: &Accessor, key: RKey, address: u64) -> Result<(), RemoteFault> {
        self.context.remote_read(accessor, key, address, &mut [0])
    }
}

/// `SIZE` bytes.
pub fn memory() -> Arc<HeapMemory> {
    Arc::new(HeapMemory::new(SIZE as usize))
}

/// The next key of the same window or region.
pub fn next(key: RKey) -> RKey {
    RKey::new(key.value() & !0xff | key.value().wrapping_add(1) & 0xff)
}
