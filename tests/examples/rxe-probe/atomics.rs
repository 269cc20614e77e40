//! Atomics and ATOMIC WRITEs that come again, changed, or without the right to them.

use crate::packets::{ATOMIC_WRITE, CMP_SWAP, Crafted, FETCH_ADD, READ_REQUEST, packet};
use crate::probe::{LOCAL_WRITE, ORDINARY, PSN, Probe, Psns, REMOTE_ATOMIC, REMOTE_READ, REMOTE_WRITE, Wish};

/// The first eight bytes of the region.
const OLD: u64 = u64::from_le_bytes([0, 7, 14, 21, 28, 35, 42, 49]);

fn swap(address: u64, key: u32, swap: u64, compare: u64) -> Crafted {
    packet(CMP_SWAP, PSN.psn()).asks().atomic(address, key, swap, compare)
}

/// A duplicate atomic that is not what it repeats.
pub fn changed(probe: &mut Probe) -> Result<(), String> {
    type Again = fn(u64, u32) -> Crafted;
    let cases: [(&str, Again); 5] = [
        ("as it was", |va, key| swap(va, key, 0x1111, OLD)),
        ("with other values to swap in and to compare", |va, key| swap(va, key, 0x2222, 0x1111)),
        ("for another address", |va, key| swap(va + 8, key, 0x1111, OLD)),
        ("with a key that there is not", |va, key| swap(va, key ^ 0xff00, 0x1111, OLD)),
        ("as a FETCH_ADD", |va, key| packet(FETCH_ADD, PSN.psn()).asks().atomic(va, key, 0x1111, 0)),
    ];
    for (what, again) in cases {
        probe.open(&format!("a CMP_SWAP that comes again {what}"), Wish::default())?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&swap(va, key, 0x1111, OLD))?;
        probe.ask(&again(va, key))?;
        probe.memory(0, 16)?;
    }
    Ok(())
}

/// What is remembered of one PSN, asked for as if it had been another operation.
pub fn another_operation(probe: &mut Probe) -> Result<(), String> {
    probe.open("a CMP_SWAP, and then a READ with its PSN", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.ask(&swap(va, key, 0x1111, OLD))?;
    probe.ask(&packet(READ_REQUEST, PSN.psn()).asks().reth(va, key, 8))?;
    probe.memory(0, 8)?;

    probe.open("a READ, and then a CMP_SWAP with its PSN", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.ask(&packet(READ_REQUEST, PSN.psn()).asks().reth(va, key, 8))?;
    probe.ask(&swap(va, key, 0x1111, OLD))?;
    probe.memory(0, 8)?;

    probe.open("an ATOMIC WRITE, and then another one with its PSN", Wish::default())?;
    let (va, key) = (probe.va, probe.key);
    probe.ask(&packet(ATOMIC_WRITE, PSN.psn()).asks().reth(va, key, 8).data(b"original"))?;
    probe.ask(&packet(ATOMIC_WRITE, PSN.psn()).asks().reth(va + 8, key, 8).data(b"repeated"))?;
    probe.memory(0, 16)?;
    Ok(())
}

/// Which rights an ATOMIC WRITE needs, and what it may look like.
pub fn writes(probe: &mut Probe) -> Result<(), String> {
    let all = Wish::default();
    let rights = [
        ("all rights", all),
        ("a queue pair without WRITE", Wish { access: LOCAL_WRITE | REMOTE_READ | REMOTE_ATOMIC, ..all }),
        ("a region without WRITE", Wish { memory_access: LOCAL_WRITE | REMOTE_READ | REMOTE_ATOMIC, ..all }),
        ("a queue pair without atomics", Wish { access: LOCAL_WRITE | REMOTE_READ | REMOTE_WRITE, ..all }),
        ("a region without atomics", Wish { memory_access: LOCAL_WRITE | REMOTE_READ | REMOTE_WRITE, ..all }),
    ];
    for (what, wish) in rights {
        probe.open(&format!("an ATOMIC WRITE: {what}"), wish)?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&packet(ATOMIC_WRITE, PSN.psn()).asks().reth(va, key, 8).data(b"eightish"))?;
        probe.memory(0, 8)?;
        probe.state()?;
    }
    type Request = fn(u64, u32) -> Crafted;
    let shapes: [(&str, Request); 4] = [
        ("to an address that is no multiple of eight", |va, key| {
            packet(ATOMIC_WRITE, PSN.psn()).reth(va + 4, key, 8).data(b"eightish")
        }),
        ("whose header says 16 bytes", |va, key| {
            packet(ATOMIC_WRITE, PSN.psn()).reth(va, key, 16).data(b"eightish")
        }),
        ("with four bytes", |va, key| packet(ATOMIC_WRITE, PSN.psn()).reth(va, key, 8).data(b"four")),
        ("with a wrong key", |va, key| {
            packet(ATOMIC_WRITE, PSN.psn()).reth(va, key ^ 0xff00, 8).data(b"eightish")
        }),
    ];
    for (what, request) in shapes {
        probe.open(&format!("an ATOMIC WRITE {what}"), Wish { access: ORDINARY, ..all })?;
        let (va, key) = (probe.va, probe.key);
        probe.ask(&request(va, key).asks())?;
        probe.memory(0, 16)?;
        probe.state()?;
    }
    Ok(())
}
