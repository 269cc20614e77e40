//! Two hosts of the emulator that ask each other for one of everything, what is on the link between them, and captures of that.

use std::cell::Cell;
use std::collections::BTreeMap;

use rdmalab_craft::trace::LinkType;
use rdmalab_craft::{Capture, Frame};
use rdmalab_verbs::Operation;
use rdmalab_wire::{ImmDt, icrc_ipv4};

use crate::pair::peer::{Door, Peer, Setup};
use crate::pair::{Fate, PATIENCE, Pair};

/// One way over the link, in nanoseconds; what `pair` has.
const LATENCY: u64 = 1_000;

/// Where a capture is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// What each side sends.
    InFront,
    /// What arrives at each side.
    Behind,
    /// At one side: what it sends, and what arrives there.
    At(usize),
}

/// A packet: when it was sent, by whom, and what happened to it.
pub struct Sent {
    time: u64,
    from: usize,
    fate: Fate,
    bytes: Vec<u8>,
}

/// One side asks for one of everything; the other posts receives, at once or when it is too late.
fn ask(pair: &mut Pair, side: usize, late: bool) {
    let [a, b] = &mut pair.peers;
    let (ours, theirs): (&mut Peer, &mut Peer) = if side == 0 { (a, b) } else { (b, a) };
    if !late {
        receives(theirs);
    }
    let remote = |theirs: &Peer| theirs.remote(Door::Region, 8192);
    let mut id = 0;
    let mut post = |operation, length| {
        // A place of its own for each: what is under way may be sent again.
        ours.post(id, operation, 32_768 + 1024 * id as usize, length).unwrap();
        id += 1;
    };
    post(Operation::Send, 600);
    post(Operation::RdmaWrite(remote(theirs)), 512);
    post(Operation::RdmaRead(remote(theirs)), 767);
    post(Operation::FetchAndAdd { remote: remote(theirs), add: 7 }, 8);
    post(Operation::SendWithImmediate(ImmDt([1, 2, 3, 4])), 1);
    post(Operation::RdmaRead(remote(theirs)), 512);
    post(Operation::CompareAndSwap { remote: remote(theirs), compare: 1, swap: 2 }, 8);
    post(Operation::RdmaWriteWithImmediate(remote(theirs), ImmDt([5; 4])), 257);
    post(Operation::RdmaWrite(remote(theirs)), 0);
    post(Operation::RdmaRead(remote(theirs)), 0);
    post(Operation::Send, 0);
    post(Operation::FetchAndAdd { remote: remote(theirs), add: 1 }, 8);
}

fn receives(peer: &mut Peer) {
    for id in 0..6 {
        peer.receive(1000 + id, 16_384 + 1024 * id as usize, 1024).unwrap();
    }
}

/// Plays it, with one packet mistreated.
pub fn play(setup: &Setup, both: bool, late: bool, unlucky: Option<(u64, Fate)>) -> Vec<Sent> {
    let fate = |number| unlucky.filter(|(which, _)| *which == number).map_or(Fate::Deliver, |(_, fate)| fate);
    play_with(setup, both, late, fate)
}

/// Plays it, with a fate for each packet.
pub fn play_with(setup: &Setup, both: bool, late: bool, fate_of: impl Fn(u64) -> Fate) -> Vec<Sent> {
    let mut pair = Pair::new(setup);
    ask(&mut pair, 0, late);
    if both {
        ask(&mut pair, 1, late);
    }
    let now = Cell::new(0);
    let mut all = Vec::new();
    let mut judge = |number, from, bytes: &[u8]| {
        let fate = fate_of(number);
        all.push(Sent { time: now.get(), from, fate, bytes: bytes.to_vec() });
        fate
    };
    let mut is_late = late;
    loop {
        now.set(pair.now);
        let until = if is_late { 3_000_000 } else { PATIENCE };
        if pair.step(until, &mut judge) {
            continue;
        }
        if !is_late {
            break;
        }
        is_late = false;
        pair.now = until;
        receives(&mut pair.peers[1]);
        if both {
            receives(&mut pair.peers[0]);
        }
    }
    assert!(pair.now < PATIENCE, "the pair does not come to rest");
    all
}

/// What the capturing program does to its capture.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    None,
    /// It misses this packet.
    Missed(usize),
    /// It has this one and the next in each other's place.
    Swapped(usize),
    /// None, but the packets have no IP identification, as those of UDP sockets.
    Unnamed,
}

/// The packet without IP identification.
fn unnamed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 4;
    let (ip, ib) = bytes.split_at_mut(20);
    ip[4..6].fill(0);
    ip[10..12].fill(0);
    let sum: u32 = ip.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    let icrc = icrc_ipv4(ip.first_chunk().unwrap(), ib.first_chunk().unwrap(), &ib[8..end - 20]);
    bytes[end..].copy_from_slice(&icrc.to_le_bytes());
    bytes
}

/// The capture of a place.
pub fn capture(all: &[Sent], place: Place, fault: Fault) -> Vec<u8> {
    let mut seen = BTreeMap::new();
    for (number, sent) in all.iter().enumerate() {
        let number = number as u64;
        let is_sender = match place {
            Place::InFront => true,
            Place::Behind => false,
            Place::At(side) => side == sent.from,
        };
        if is_sender {
            seen.insert((sent.time, 4 * number), sent.bytes.clone());
            continue;
        }
        let mut arrives = |later: u64, order: u64, bytes: &[u8]| {
            seen.insert((sent.time + LATENCY + later, order), bytes.to_vec());
        };
        match sent.fate {
            Fate::Deliver | Fate::Marked => arrives(0, 4 * number, &sent.bytes),
            Fate::Drop => {}
            Fate::Duplicate => {
                arrives(0, 4 * number, &sent.bytes);
                arrives(0, 4 * number + 1, &sent.bytes);
            }
            Fate::Corrupt => {
                let mut bytes = sent.bytes.clone();
                let last = bytes.len() - 5;
                bytes[last] ^= 0x10;
                arrives(0, 4 * number, &bytes);
            }
            Fate::Late => arrives(1, 4 * (number + 1) + 2, &sent.bytes),
            Fate::Held(by) => arrives(by, 4 * number + 3, &sent.bytes),
            Fate::Echo(by) => {
                arrives(0, 4 * number, &sent.bytes);
                arrives(by, 4 * number + 3, &sent.bytes);
            }
        }
    }
    let mut seen: Vec<(u64, Vec<u8>)> = seen.into_iter().map(|((time, _), bytes)| (time, bytes)).collect();
    match fault {
        Fault::None => {}
        Fault::Unnamed => seen.iter_mut().for_each(|(_, bytes)| *bytes = unnamed(std::mem::take(bytes))),
        Fault::Missed(packet) => drop(seen.remove(packet)),
        Fault::Swapped(packet) => {
            let (first, second) = (seen[packet].0, seen[packet + 1].0);
            seen.swap(packet, packet + 1);
            (seen[packet].0, seen[packet + 1].0) = (first, second);
        }
    }
    let mut capture = Capture::pcapng(Vec::new()).unwrap();
    for (time, bytes) in &seen {
        capture.write(&Frame::new(*time, LinkType::RAW_IP, bytes)).unwrap();
    }
    capture.finish().unwrap()
}
