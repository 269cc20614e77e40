//! Random work on keys against an oracle: a plain list of what was made, searched from one end to the other.
//!
//! After every step, every key that ever was is tried by every queue pair at every address, and must reach the very
//! byte that the oracle says, or none.
//!
//! Rule: key-whole: A key gives access only if all its bits are those of the present one, through whatever was bound
//! and invalidated before.

mod oracle;

use std::sync::Arc;

use proptest::prelude::*;
use rdmalab_verbs::{
    Access, Accessor, Context, FastRegistration, HeapMemory, Invalidation, Memory, ProtectionDomainId,
    WindowBinding, WindowType,
};
use rdmalab_wire::RKey;

use oracle::{MEMORY, Oracle, Wanted};

/// Region addresses are about here, so that they overlap and 0 is outside.
const BASE: u64 = 4;
/// Addresses above this reach nothing.
const HIGHEST: u64 = BASE + MEMORY + 4;

/// Keys are chosen by number among all that ever were.
#[derive(Clone, Debug)]
enum Step {
    Register(Access),
    AllocateFast,
    AllocateWindow(WindowType),
    Remove(usize),
    Bind { by: usize, window: usize, low: u8, region: usize, address: u64, length: u64, access: Access },
    FastRegister { by: usize, region: usize, low: u8, offset: u64, length: u64, address: u64, access: Access },
    Invalidate { by: usize, key: usize, remote: bool },
}

fn access() -> impl Strategy<Value = Access> {
    const SOME: [Access; 6] = [
        Access::REMOTE_READ,
        Access::REMOTE_WRITE,
        Access::LOCAL_WRITE,
        Access::ZERO_BASED,
        Access::REMOTE_ATOMIC,
        Access::MW_BIND,
    ];
    prop::sample::subsequence(&SOME[..], 0..=SOME.len())
        .prop_map(|rights| rights.into_iter().fold(Access::REMOTE_READ, |all, right| all ^ right))
}

/// Rights that a region with windows has, and that a window can have; more often than chance would have it.
fn region_access() -> impl Strategy<Value = Access> {
    prop_oneof![1 => access(), 3 => access().prop_map(|access| access | Access::LOCAL_WRITE | Access::MW_BIND)]
}

fn window_access() -> impl Strategy<Value = Access> {
    prop_oneof![1 => access(), 3 => access().prop_map(|access| access & Access::REMOTE)]
}

fn step() -> impl Strategy<Value = Step> {
    let length = || prop_oneof![8 => 1..MEMORY / 2, 2 => 1..=MEMORY, 1 => Just(0), 1 => Just(u64::MAX)];
    let address = || BASE - 1..BASE + MEMORY;
    let which = any::<usize>;
    let who = || prop_oneof![4 => Just(0usize), 2 => Just(1), 1 => Just(2)];
    prop_oneof![
        2 => region_access().prop_map(Step::Register),
        1 => Just(Step::AllocateFast),
        2 => prop_oneof![Just(WindowType::One), Just(WindowType::Two)].prop_map(Step::AllocateWindow),
        2 => which().prop_map(Step::Remove),
        8 => (who(), which(), any::<u8>(), which(), address(), length(), window_access()).prop_map(
            |(by, window, low, region, address, length, access)| Step::Bind {
                by, window, low, region, address, length, access
            }
        ),
        4 => (who(), which(), any::<u8>(), 0..MEMORY, length(), address(), region_access()).prop_map(
            |(by, region, low, offset, length, address, access)| Step::FastRegister {
                by, region, low, offset, length, address, access
            }
        ),
        3 => (who(), which(), any::<bool>())
            .prop_map(|(by, key, remote)| Step::Invalidate { by, key, remote }),
    ]
}

/// The context and the oracle side by side.
struct World {
    context: Context,
    oracle: Oracle,
    domains: [ProtectionDomainId; 2],
    memories: usize,
}

impl World {
    fn new() -> Self {
        let mut context = Context::default();
        let domains = [0, 1].map(|_| context.allocate_protection_domain().unwrap());
        Self { context, oracle: Oracle::default(), domains, memories: 0 }
    }

    /// Queue pairs 0 and 1 are of one domain, 2 of another.
    fn accessor(&self, by: usize) -> Accessor {
        Accessor { protection_domain: self.domains[by / 2], queue_pair: 100 + by as u64 }
    }

    fn memory(&mut self) -> Arc<HeapMemory> {
        let memory = Arc::new(HeapMemory::new(MEMORY as usize));
        let bytes: Vec<u8> = (0..MEMORY).map(|at| oracle::byte(self.memories, at)).collect();
        memory.write(0, &bytes).unwrap();
        self.memories += 1;
        memory
    }

    fn step(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Register(access) => {
                let memory = self.memory();
                let key = self.context.register(self.domains[0], BASE, memory, access);
                let expected = self.oracle.register(key.ok(), self.memories - 1, BASE, access);
                prop_assert_eq!(key.is_ok(), expected);
            }
            Step::AllocateFast => {
                let memory = self.memory();
                let key = self.context.allocate_fast_region(self.domains[0], memory).unwrap();
                self.oracle.allocate_fast(key, self.memories - 1);
            }
            Step::AllocateWindow(kind) => {
                let key = self.context.allocate_window(self.domains[0], kind).unwrap();
                self.oracle.allocate_window(key.value(), kind == WindowType::Two);
            }
            Step::Remove(which) => {
                let key = self.oracle.key(which, Wanted::Anything);
                let regions = self.context.deregister(key).is_ok();
                let windows = self.context.deallocate_window(RKey::new(key)).is_ok();
                prop_assert_eq!(regions || windows, self.oracle.remove(key));
            }
            Step::Bind { by, window, low, region, address, length, access } => {
                let (window, region) =
                    (self.oracle.key(window, Wanted::Window), self.oracle.key(region, Wanted::MappedRegion));
                let key = window & !0xff | u32::from(low);
                let (window, key) = (RKey::new(window), RKey::new(key));
                let work = WindowBinding { window, key, region, address, length, access };
                let done = self.context.bind_window(&self.accessor(by), &work);
                prop_assert_eq!(done.is_ok(), self.oracle.bind(by, &work), "{:?}: {:?}", work, done);
            }
            Step::FastRegister { by, region, low, offset, length, address, access } => {
                let region = self.oracle.key(region, Wanted::FastRegion);
                let key = RKey::new(region & !0xff | u32::from(low));
                let region = RKey::new(region);
                let work = FastRegistration { region, key, offset, length, address, access };
                let done = self.context.fast_register(&self.accessor(by), &work);
                prop_assert_eq!(done.is_ok(), self.oracle.fast_register(by, &work), "{:?}: {:?}", work, done);
            }
            Step::Invalidate { by, key, remote } => {
                let key = self.oracle.key(key, Wanted::Anything);
                let kind = if remote { Invalidation::Remote } else { Invalidation::Local };
                let done = self.context.invalidate(&self.accessor(by), RKey::new(key), kind);
                prop_assert_eq!(done.is_ok(), self.oracle.invalidate(by, key, remote), "{:?}", done);
            }
        }
        self.probe()
    }

    fn probe(&self) -> Result<(), TestCaseError> {
        for &key in self.oracle.keys() {
            for by in 0..3 {
                let accessor = self.accessor(by);
                for address in 0..HIGHEST {
                    let mut found = [0];
                    let read = self.context.remote_read(&accessor, RKey::new(key), address, &mut found);
                    let expected = self.oracle.reach(by, key, address, Access::REMOTE_READ);
                    prop_assert_eq!(read.is_ok().then_some(found[0]), expected, "{:#x} {}", key, address);
                    let write = Access::REMOTE_WRITE;
                    let may = self.context.check_remote(&accessor, RKey::new(key), address, 1, write);
                    prop_assert_eq!(may.is_ok(), self.oracle.reach(by, key, address, write).is_some());
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn every_key_reaches_what_it_was_given_and_nothing_else(steps in prop::collection::vec(step(), 1..80)) {
        let mut world = World::new();
        for step in steps {
            world.step(step)?;
        }
    }
}
