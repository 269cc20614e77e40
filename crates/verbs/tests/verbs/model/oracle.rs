//! What keys should give access to, worked out in the plainest way.

use rdmalab_verbs::{Access, FastRegistration, WindowBinding};

/// Bytes of every memory.
pub const MEMORY: u64 = 8;

/// What every memory holds, so that one byte tells where it was read.
pub fn byte(memory: usize, at: u64) -> u8 {
    (memory as u64 * MEMORY + at) as u8
}

/// A row of bytes of a memory, known by an address.
#[derive(Clone, Copy, Debug)]
struct Mapping {
    memory: usize,
    start: u64,
    address: u64,
    length: u64,
    access: Access,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Region,
    FastRegion { memory: usize },
    Window { is_type_2: bool },
}

#[derive(Debug)]
struct Thing {
    key: u32,
    what: What,
    mapping: Option<Mapping>,
    /// Of a window that is bound: the region's key, and by which queue pair.
    bound: Option<(u32, usize)>,
}

/// What a step would like to be about.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    Anything,
    Window,
    FastRegion,
    MappedRegion,
}

/// Everything lives in the domain of queue pairs 0 and 1.
#[derive(Debug, Default)]
pub struct Oracle {
    things: Vec<Thing>,
    keys: Vec<u32>,
}

const WRITES: Access = Access::REMOTE_WRITE.union(Access::REMOTE_ATOMIC);

/// What a row is known by.
fn address(access: Access, address: u64) -> u64 {
    if access.contains(Access::ZERO_BASED) { 0 } else { address }
}

impl Oracle {
    /// All keys that ever were.
    pub fn keys(&self) -> &[u32] {
        &self.keys
    }

    /// One of all keys that ever were; seven times out of eight that of something present, of the wanted kind if there is
    /// one.
    pub fn key(&self, which: usize, wanted: Wanted) -> u32 {
        let of = |keys: Vec<u32>| keys.get((which / 8) % keys.len().max(1)).copied();
        let is_wanted = |thing: &&Thing| match wanted {
            Wanted::Anything => true,
            Wanted::Window => matches!(thing.what, What::Window { .. }),
            Wanted::FastRegion => matches!(thing.what, What::FastRegion { .. }),
            Wanted::MappedRegion => !matches!(thing.what, What::Window { .. }) && thing.mapping.is_some(),
        };
        let present = || of(self.things.iter().filter(is_wanted).map(|thing| thing.key).collect());
        let chosen = if which.is_multiple_of(8) { None } else { present() };
        chosen.or_else(|| of(self.keys.clone())).unwrap_or(0)
    }

    fn add(&mut self, key: u32, what: What, mapping: Option<Mapping>) {
        self.things.push(Thing { key, what, mapping, bound: None });
        self.keys.push(key);
    }

    fn find(&self, key: u32) -> Option<usize> {
        self.things.iter().position(|thing| thing.key == key)
    }

    fn has_windows(&self, key: u32) -> bool {
        self.things.iter().any(|thing| thing.bound.is_some_and(|(region, _)| region == key))
    }

    pub fn register(&mut self, key: Option<u32>, memory: usize, at: u64, access: Access) -> bool {
        if access.intersects(WRITES) && !access.contains(Access::LOCAL_WRITE) {
            return false;
        }
        let mapping = Mapping { memory, start: 0, address: address(access, at), length: MEMORY, access };
        if let Some(key) = key {
            self.add(key, What::Region, Some(mapping));
        }
        true
    }

    pub fn allocate_fast(&mut self, key: u32, memory: usize) {
        self.add(key, What::FastRegion { memory }, None);
    }

    pub fn allocate_window(&mut self, key: u32, is_type_2: bool) {
        self.add(key, What::Window { is_type_2 }, None);
    }

    pub fn remove(&mut self, key: u32) -> bool {
        let Some(index) = self.find(key) else { return false };
        if self.has_windows(key) {
            return false;
        }
        self.things.remove(index);
        true
    }

    pub fn bind(&mut self, by: usize, work: &WindowBinding) -> bool {
        let Some(index) = self.find(work.window.value()) else { return false };
        let What::Window { is_type_2 } = self.things[index].what else { return false };
        if by == 2 || is_type_2 && (self.things[index].bound.is_some() || work.length == 0) {
            return false;
        }
        if !is_type_2 && work.key == work.window {
            return false;
        }
        let (mapping, bound) = if work.length == 0 {
            (None, None)
        } else {
            let Some(mapping) = self.window_mapping(is_type_2, work) else { return false };
            (Some(mapping), Some((work.region, by)))
        };
        let thing = &mut self.things[index];
        (thing.key, thing.mapping, thing.bound) = (work.key.value(), mapping, bound);
        self.keys.push(work.key.value());
        true
    }

    fn window_mapping(&self, is_type_2: bool, work: &WindowBinding) -> Option<Mapping> {
        let region = &self.things[self.find(work.region)?];
        if matches!(region.what, What::Window { .. }) {
            return None;
        }
        let under = region.mapping?;
        let WindowBinding { access, length, .. } = *work;
        let is_allowed = under.access.contains(Access::MW_BIND)
            && !access.intersects(Access::LOCAL_WRITE | Access::MW_BIND)
            && (is_type_2 || !access.contains(Access::ZERO_BASED))
            && (under.access.contains(Access::LOCAL_WRITE) || !access.intersects(WRITES))
            && work.address >= under.address
            && u128::from(work.address) + u128::from(length) <= u128::from(under.address + under.length);
        is_allowed.then(|| Mapping {
            memory: under.memory,
            start: under.start + (work.address - under.address),
            address: address(access, work.address),
            length,
            access,
        })
    }

    pub fn fast_register(&mut self, by: usize, work: &FastRegistration) -> bool {
        let Some(index) = self.find(work.region.value()) else { return false };
        let What::FastRegion { memory } = self.things[index].what else { return false };
        let FastRegistration { access, offset, length, .. } = *work;
        let is_refused = by == 2
            || self.things[index].mapping.is_some()
            || access.intersects(WRITES) && !access.contains(Access::LOCAL_WRITE)
            || u128::from(offset) + u128::from(length) > u128::from(MEMORY);
        if is_refused {
            return false;
        }
        let address = address(access, work.address);
        let thing = &mut self.things[index];
        thing.key = work.key.value();
        thing.mapping = Some(Mapping { memory, start: offset, address, length, access });
        self.keys.push(work.key.value());
        true
    }

    pub fn invalidate(&mut self, by: usize, key: u32, remote: bool) -> bool {
        let Some(index) = self.find(key) else { return false };
        let (thing, has_windows) = (&self.things[index], self.has_windows(key));
        let Some(mapping) = thing.mapping else { return false };
        let may = match thing.what {
            What::Region | What::Window { is_type_2: false } => false,
            What::FastRegion { .. } => by != 2 && !has_windows,
            What::Window { is_type_2: true } => thing.bound.is_some_and(|(_, owner)| owner == by),
        };
        if !may || remote && !mapping.access.intersects(WRITES | Access::REMOTE_READ) {
            return false;
        }
        (self.things[index].mapping, self.things[index].bound) = (None, None);
        true
    }

    /// The byte that a queue pair reaches by a key at an address, if any.
    pub fn reach(&self, by: usize, key: u32, address: u64, access: Access) -> Option<u8> {
        let thing = &self.things[self.find(key)?];
        let mapping = thing.mapping?;
        let is_owner = match (thing.what, thing.bound) {
            (What::Window { is_type_2: true }, Some((_, owner))) => owner == by,
            _ => by != 2,
        };
        let is_inside = (mapping.address..mapping.address + mapping.length).contains(&address);
        (is_owner && is_inside && mapping.access.contains(access))
            .then(|| byte(mapping.memory, mapping.start + (address - mapping.address)))
    }
}
