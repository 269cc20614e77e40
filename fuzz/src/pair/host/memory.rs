//! The memory of a host, the keys that open it, and the guard over what none opens.

use std::ops::Range;
use std::sync::Arc;

use rdmalab_verbs::{
    Access, Context, FastRegistration, HeapMemory, Memory, Operation, ProtectionDomainId, RemoteAddress, Sge,
    WindowBinding, WindowType,
};
use rdmalab_wire::RKey;

use super::super::input::{Key, Place};

/// Address of the first byte of every region.
const BASE: u64 = 0x10_0000;
const SIZE: usize = 8 * 1024;
/// What windows and fast registrations open of their memory.
const OPEN: Range<usize> = 1024..5120;

pub struct Rooms {
    pub domain: ProtectionDomainId,
    memory: Arc<HeapMemory>,
    usual: u32,
    may_go: Option<u32>,
    read_only: (u32, Arc<HeapMemory>),
    foreign: (u32, Arc<HeapMemory>),
    /// Gives peers no right by itself; windows open a part of it.
    windowed: (u32, Arc<HeapMemory>),
    window_one: RKey,
    window_two: RKey,
    fast: (u32, Arc<HeapMemory>),
}

impl Rooms {
    pub fn new(context: &mut Context, domain: ProtectionDomainId) -> Self {
        let other = context.allocate_protection_domain().expect("an empty context");
        let mut register = |domain, access| {
            let memory = Arc::new(HeapMemory::new(SIZE));
            let key = context.register(domain, BASE, memory.clone(), access).expect("an empty context");
            (key, memory)
        };
        let (usual, memory) = register(domain, Access::FULL);
        let read_only = register(domain, Access::REMOTE_READ);
        let foreign = register(other, Access::FULL);
        let windowed = register(domain, Access::LOCAL_WRITE | Access::MW_BIND);
        let may_go = context.register(domain, BASE, memory.clone(), Access::FULL).expect("an empty context");
        let fast_memory = Arc::new(HeapMemory::new(SIZE));
        let fast = context.allocate_fast_region(domain, fast_memory.clone()).expect("an empty context");
        Self {
            domain,
            memory,
            usual,
            may_go: Some(may_go),
            read_only,
            foreign,
            windowed,
            window_one: context.allocate_window(domain, WindowType::One).expect("an empty context"),
            window_two: context.allocate_window(domain, WindowType::Two).expect("an empty context"),
            fast: (fast, fast_memory),
        }
    }

    fn key(&self, key: Key) -> u32 {
        let numbered = |key: u32, number: u8| key & !0xff | u32::from(number);
        match key {
            Key::Usual => self.usual,
            Key::ReadOnly => self.read_only.0,
            Key::MayGo => self.may_go.unwrap_or(0),
            Key::Foreign => self.foreign.0,
            // Few numbers, so that they meet again.
            Key::WindowOne(number) => numbered(self.window_one.value(), number % 4),
            Key::WindowTwo(number) => numbered(self.window_two.value(), number % 4),
            Key::Fast(number) => numbered(self.fast.0, number % 4),
            Key::Any(key) => key,
        }
    }

    pub fn resolve(&self, place: Place) -> (RKey, u64) {
        let start = match place.key {
            Key::WindowOne(_) | Key::WindowTwo(_) | Key::Fast(_) => BASE + OPEN.start as u64,
            _ => BASE,
        };
        (RKey::new(self.key(place.key)), start.wrapping_add_signed(place.offset.into()))
    }

    pub fn remote(&self, place: Place) -> RemoteAddress {
        let (key, address) = self.resolve(place);
        RemoteAddress { address, key }
    }

    /// A local element, mostly of memory that is there.
    pub fn sge(&self, at: u16, length: u32) -> Sge {
        let key = match at & 7 {
            0 => self.foreign.0,
            1 => self.may_go.unwrap_or(self.usual),
            _ => self.usual,
        };
        Sge { address: BASE + u64::from(at), length, key }
    }

    /// Binds or registers; `place` says what and under which number, and its offset under which it is known now.
    pub fn open(&self, place: Place) -> Operation {
        let before = Key::Fast((place.offset & 3) as u8);
        let key = RKey::new(self.key(place.key));
        let (address, length) = (BASE + OPEN.start as u64, OPEN.len() as u64);
        if let Key::Fast(_) = place.key {
            return Operation::FastRegister(FastRegistration {
                region: RKey::new(self.key(before)),
                key,
                offset: OPEN.start as u64,
                length,
                address,
                access: Access::REMOTE | Access::LOCAL_WRITE,
            });
        }
        let number = (place.offset & 3) as u8;
        let window = match place.key {
            Key::WindowTwo(_) => Key::WindowTwo(number),
            _ => Key::WindowOne(number),
        };
        // Now and then to no bytes, which unbinds one of type 1.
        let length = if place.offset & 0x40 == 0 { length } else { 0 };
        Operation::BindWindow(WindowBinding {
            window: RKey::new(self.key(window)),
            key,
            region: self.windowed.0,
            address,
            length,
            access: Access::REMOTE,
        })
    }

    pub fn change_region(&mut self, context: &mut Context) {
        self.may_go = match self.may_go.take() {
            Some(key) => {
                context.deregister(key).expect("no windows are bound to it");
                None
            }
            None => context.register(self.domain, BASE, self.memory.clone(), Access::FULL).ok(),
        };
    }

    /// A window, or the fast region, goes and comes back. Under which number it is known, only its work tells; all are
    /// tried.
    pub fn renew(&mut self, context: &mut Context, which: u8) {
        let numbers = |key: u32| (0..4).map(move |number| key & !0xff | number);
        match which % 3 {
            2 => {
                if numbers(self.fast.0).any(|key| context.deregister(key).is_ok()) {
                    let memory = self.fast.1.clone();
                    self.fast.0 =
                        context.allocate_fast_region(self.domain, memory).expect("one went just now");
                }
            }
            kind => {
                let window = if kind == 0 { &mut self.window_one } else { &mut self.window_two };
                let kind = if kind == 0 { WindowType::One } else { WindowType::Two };
                if numbers(window.value()).any(|key| context.deallocate_window(RKey::new(key)).is_ok()) {
                    *window = context.allocate_window(self.domain, kind).expect("one went just now");
                }
            }
        }
    }

    /// Nobody wrote where no key lets it.
    pub fn check(&self) {
        let untouched = |memory: &HeapMemory, range: Range<usize>| {
            let mut bytes = vec![0; range.len()];
            memory.read(range.start, &mut bytes).expect("inside");
            assert!(bytes.iter().all(|&byte| byte == 0), "memory changed that nobody may write");
        };
        untouched(&self.read_only.1, 0..SIZE);
        untouched(&self.foreign.1, 0..SIZE);
        for memory in [&self.windowed.1, &self.fast.1] {
            untouched(memory, 0..OPEN.start);
            untouched(memory, OPEN.end..SIZE);
        }
    }
}
